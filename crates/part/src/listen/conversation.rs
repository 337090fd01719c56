//! One connection of a client, from the handshake of TLS to its end, over HTTP/1 or HTTP/2.

use std::convert::Infallible;
use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::service::{Service, service_fn};
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use socket2::SockRef;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::activity::{Activity, Look, Watched};
use super::counts::{Counts, bump};
use super::head::{HeadTimer, Heard, REST, TOO_LATE, timed};
use super::interim::Interim;
use super::rules::Rules;
use super::stream::Stream;
use crate::memory::Crowd;

/// How long a client may take to read a last word, and to end what it still sends.
const FAREWELL: Duration = Duration::from_secs(1);

/// For how long what a client still sends is read and thrown away, so that it can read why.
const LINGER: Duration = Duration::from_secs(10);

/// A connection that was taken in.
pub(super) struct Conversation {
    pub(super) rules: Arc<Rules>,
    pub(super) counts: Arc<Counts>,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) interim: Interim,
    /// The connections that do not rest.
    pub(super) awake: Arc<Crowd>,
}

impl Conversation {
    /// Speaks until the connection ends; once told to stop, until what has arrived is answered.
    pub(super) async fn speak<S, B>(self, stream: TcpStream, tls: Option<Arc<ServerConfig>>, service: S)
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + 'static,
        S::Future: 'static,
        B: Body + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        // Replies leave whole; waiting for more to send would only add delay.
        let _ = stream.set_nodelay(true);
        // A client that takes nothing of its reply blocks the write; only the kernel sees for how long.
        let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(self.rules.patience.as_std()));
        let stream = match tls {
            None => Stream::Plain(stream),
            // In boxes, what only TLS needs: every connection would be as large.
            Some(config) => match Box::pin(self.shake_hands(stream, config)).await {
                Some(stream) => stream,
                None => return,
            },
        };
        if stream.is_http2() {
            let _awake = self.awake.join();
            Box::pin(self.speak_http2(stream, service)).await;
        } else {
            self.speak_http1(stream, service).await;
        }
    }

    async fn shake_hands(&self, stream: TcpStream, config: Arc<ServerConfig>) -> Option<Stream> {
        let accepting = TlsAcceptor::from(config).accept(stream);
        let (stream, count) = match timeout(self.rules.handshake_timeout.as_std(), accepting).await {
            Ok(Ok(stream)) => (Some(Stream::Tls(Box::new(stream))), &self.counts.handshakes),
            Ok(Err(_)) => (None, &self.counts.handshakes_failed),
            Err(_) => (None, &self.counts.handshakes_late),
        };
        bump(count);
        stream
    }

    async fn speak_http1<S, B>(self, stream: Stream, service: S)
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + 'static,
        S::Future: 'static,
        B: Body + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        // What came with a handshake is not in the socket any more.
        let mut patience = if stream.is_tls() { None } else { Some(self.rules.idle()) };
        let (mut stream, timer) = timed(stream, self.rules.head_timeout.as_std(), self.interim.clone());
        let activity = Rc::new(Activity::new(Arc::clone(&self.counts)));
        loop {
            if let Some(patience) = patience {
                let mut stop = self.stop.clone();
                tokio::select! {
                    biased;
                    () = stream.comes() => {}
                    // What has arrived meanwhile is answered.
                    _ = stop.wait_for(|stop| *stop) => {}
                    () = timer.until(Instant::now() + patience) => return,
                }
            }
            let awake = self.awake.join();
            // In a box, so that a connection that rests is no larger than what it needs for that.
            let rests = Box::pin(self.answer_http1(stream, timer.clone(), &service, &activity)).await;
            drop(awake);
            match rests {
                Some(rests) => stream = rests,
                None => return,
            }
            patience = Some(self.rules.idle().saturating_sub(REST));
        }
    }

    /// Answers what comes, until the connection ends; gives it back when it rests.
    async fn answer_http1<S, B>(
        &self,
        stream: Heard,
        timer: HeadTimer,
        service: &S,
        activity: &Rc<Activity>,
    ) -> Option<Heard>
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + 'static,
        S::Future: 'static,
        B: Body + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let enough = Rc::new(Notify::new());
        let service = service_fn(|request| self.answer(service, request, activity, &enough));
        let mut connection = self.rules.http1(timer.clone()).serve_connection(stream, service);
        let mut stop = self.stop.clone();
        let told = async {
            let _ = stop.wait_for(|stop| *stop).await;
            // What has arrived meanwhile is read before the connection may count as idle.
            tokio::task::yield_now().await;
        };
        let rests_or_ends = poll_fn(|cx| match std::pin::Pin::new(&mut connection).poll(cx) {
            Poll::Pending if timer.may_rest() && self.interim.is_flushed() => Poll::Ready(None),
            polled => polled.map(Some),
        });
        let ended = tokio::select! {
            biased;
            ended = rests_or_ends => ended,
            () = told => {
                std::pin::Pin::new(&mut connection).graceful_shutdown();
                Some((&mut connection).await)
            }
        };
        let mut parts = connection.into_parts();
        let Some(ended) = ended else {
            parts.io.put_back(parts.read_buf);
            return Some(parts.io);
        };
        let stream = parts.io.stream();
        match ended {
            // A socket that is closed with something unread takes back what was sent.
            Ok(()) if activity.is_cut_short() => {
                let unread = async { drop(tokio::io::copy(stream, &mut tokio::io::sink()).await) };
                let hurry = async {
                    let _ = self.stop.clone().wait_for(|stop| *stop).await;
                    sleep(FAREWELL).await;
                };
                tokio::select! {
                    _ = timeout(LINGER, unread) => {}
                    () = hurry => {}
                }
            }
            Ok(()) => {}
            // An error is mostly the client's: it left, or was idle for too long; its requests clean up by themselves. But a
            // reply that broke off must not look whole, even to a client of HTTP/1.0, which reads to the connection's end.
            Err(error) if error.is_user() => {
                let _ = SockRef::from(stream.socket()).set_linger(Some(Duration::ZERO));
            }
            Err(error) if error.is_timeout() && !parts.read_buf.is_empty() => {
                let last_word = async {
                    stream.write_all(TOO_LATE).await?;
                    stream.flush().await
                };
                let _ = timeout(FAREWELL, last_word).await;
            }
            // The kernel has waited for so long that the client takes something.
            Err(error) if is_late(&error) => bump(&self.counts.too_slow),
            Err(_) => {}
        }
        None
    }

    async fn speak_http2<S, B>(self, stream: Stream, service: S)
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + 'static,
        S::Future: 'static,
        B: Body + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let activity = Rc::new(Activity::watched(Arc::clone(&self.counts)));
        let enough = Rc::new(Notify::new());
        let service = service_fn(|request| self.answer(&service, request, &activity, &enough));
        let mut connection = pin!(self.rules.http2().serve_connection(TokioIo::new(stream), service));
        let mut stop = self.stop.clone();
        let mut told = pin!(async { drop(stop.wait_for(|stop| *stop).await) });
        let mut is_ending = false;
        let mut rest = self.rules.head_timeout.min(self.rules.patience).as_std();
        loop {
            tokio::select! {
                biased;
                _ = &mut connection => return,
                () = &mut told, if !is_ending => is_ending = true,
                () = enough.notified(), if !is_ending => is_ending = true,
                // It was told to go, has nothing to wait for, and does not go.
                () = sleep(rest), if is_ending && activity.is_empty() => return,
                () = sleep(rest) => match activity.look(&self.rules) {
                    Look::Well(span) => {
                        rest = if is_ending { FAREWELL } else { span.as_std() };
                        continue;
                    }
                    Look::Idle => is_ending = true,
                    Look::TooSlow => {
                        bump(&self.counts.too_slow);
                        return;
                    }
                },
            }
            // GOAWAY: what was asked is answered, nothing more is taken in.
            connection.as_mut().graceful_shutdown();
            rest = FAREWELL;
        }
    }

    /// Answers a request, and says in the reply where its connection ends with it.
    fn answer<S, B>(
        &self,
        service: &S,
        request: Request<Incoming>,
        activity: &Rc<Activity>,
        enough: &Rc<Notify>,
    ) -> impl Future<Output = Result<Response<Watched<B>>, Infallible>> + 'static + use<S, B>
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + 'static,
        S::Future: 'static,
        B: Body + 'static,
    {
        let is_http1 = request.version() < Version::HTTP_2;
        let exchange = activity.begin();
        let is_last = self.rules.requests.is_some_and(|most| activity.begun() >= most);
        let (stopping, activity, enough) = (self.stop.clone(), Rc::clone(activity), Rc::clone(enough));
        let interim = self.interim.clone();
        let reply = service.call(request);
        async move {
            let mut reply = reply.await?;
            interim.end();
            let is_cut_short = reply.status() == StatusCode::PAYLOAD_TOO_LARGE;
            if is_cut_short {
                activity.cut_short();
            }
            if is_last {
                enough.notify_one();
            }
            // A reply that ends after the stop says that its connection ends with it, even where that was not heard yet.
            if is_http1 && (is_last || is_cut_short || *stopping.borrow()) {
                reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok(reply.map(|body| exchange.send(body)))
        }
    }
}

fn is_late(error: &hyper::Error) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
}
