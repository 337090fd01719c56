//! A program's output becomes a reply: its head is read, and then its body goes to the client as it comes.

use std::io;
use std::time::Duration;

use hyper::body::Bytes;
use hyper::header::{HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode, Uri};
use sojourn_part::clock;
use sojourn_stats::Span;
use tokio::sync::mpsc;

use super::super::body::NodeBody;
use super::super::reply::{Reply, text};
use super::head::{HEAD_MAX, Said, end, parse};
use super::upload::Awaited;

/// Pieces that may wait for a slow client.
const AHEAD: usize = 2;

/// What a program's output comes to.
pub(super) enum Outcome {
    Reply(Reply),
    /// What this path of the site answers.
    Local(Uri),
}

/// What a program writes. Dropped, it ends the program's work.
pub(super) trait Output {
    /// The next bytes; none after the last ones.
    ///
    /// # Errors
    /// When the program did not come to its end.
    async fn next(&mut self) -> io::Result<Option<Bytes>>;

    /// Waits for its end after its last bytes, which takes no time that counts.
    ///
    /// # Errors
    /// As of [`Output::next`].
    async fn end(&mut self) -> io::Result<()>;
}

/// What a program may take.
#[derive(Clone)]
pub(super) struct Limits {
    /// How long it may still be waited for.
    pub(super) time: Span,
    /// How many bytes it may still write.
    pub(super) output: u64,
    /// While a client is waited for, its time stands still.
    pub(super) awaited: Awaited,
}

/// Why a program's output is not whole.
enum Broken {
    TooLate,
    TooMuch,
    Ended(io::Error),
}

/// The reply that `output` makes, within `limits`.
pub(super) async fn relay<O: Output + 'static>(mut output: O, mut limits: Limits) -> Outcome {
    let mut head = Vec::new();
    let body_at = loop {
        match limits.next(&mut output).await {
            Ok(Some(bytes)) => head.extend_from_slice(&bytes),
            Ok(None) => return failed("it ended before its head was whole"),
            Err(Broken::TooLate) => return Outcome::Reply(too_late()),
            Err(Broken::TooMuch) => return failed("it wrote too much"),
            Err(Broken::Ended(error)) => return failed(&error.to_string()),
        }
        if let Some(at) = end(&head) {
            break at;
        }
        if head.len() > HEAD_MAX {
            return failed("its head is too long");
        }
    };
    let body = head.split_off(body_at);
    let (status, headers, length) = match parse(&head) {
        Ok(Said::Local(uri)) => return Outcome::Local(uri),
        Ok(Said::Page(status, headers, length)) => (status, headers, length),
        Err(why) => return failed(why),
    };
    let (sender, receiver) = mpsc::channel(AHEAD);
    tokio::task::spawn_local(pump(output, limits, body.into(), sender));
    let mut reply = Response::new(NodeBody::stream(receiver, length));
    *reply.status_mut() = status;
    *reply.headers_mut() = headers;
    Outcome::Reply(reply)
}

/// 502, with what the program did.
pub(super) fn failed(why: &str) -> Outcome {
    Outcome::Reply(text(StatusCode::BAD_GATEWAY, format!("the program of this page failed: {why}\n")))
}

/// 503, for now.
pub(super) fn busy(why: &'static str) -> Outcome {
    let mut reply = text(StatusCode::SERVICE_UNAVAILABLE, why);
    reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    Outcome::Reply(reply)
}

/// 504.
pub(super) fn too_late() -> Reply {
    text(StatusCode::GATEWAY_TIMEOUT, "the program of this page took too long\n")
}

async fn pump<O: Output>(mut output: O, mut limits: Limits, first: Bytes, to: mpsc::Sender<io::Result<Bytes>>) {
    let mut next = Ok(Some(first));
    loop {
        match next {
            // An empty frame would look like the end.
            Ok(Some(bytes)) if bytes.is_empty() => {}
            Ok(Some(bytes)) => {
                if to.send(Ok(bytes)).await.is_err() {
                    return;
                }
            }
            Ok(None) => match output.end().await {
                Ok(()) => return,
                Err(error) => return drop(to.send(Err(error)).await),
            },
            Err(broken) => {
                let why = match broken {
                    Broken::TooLate => io::ErrorKind::TimedOut.into(),
                    Broken::TooMuch => io::Error::other("the program wrote too much"),
                    Broken::Ended(error) => error,
                };
                return drop(to.send(Err(why)).await);
            }
        }
        next = tokio::select! {
            next = limits.next(&mut output) => next,
            // The client has left.
            () = to.closed() => return,
        };
    }
}

impl Limits {
    async fn next<O: Output>(&mut self, output: &mut O) -> Result<Option<Bytes>, Broken> {
        /// How often it is looked whether it is the client that is waited for.
        const LOOK: Duration = Duration::from_millis(100);
        let mut asked = std::pin::pin!(output.next());
        loop {
            let began = clock::now();
            let done = tokio::time::timeout(LOOK.min(self.time.as_std()), asked.as_mut()).await;
            if !self.awaited.is_client() {
                self.time.0 = self.time.0.saturating_sub(clock::now().saturating_since(began).0);
            }
            match done {
                Ok(Ok(Some(bytes))) if bytes.len() as u64 > self.output => return Err(Broken::TooMuch),
                Ok(Ok(bytes)) => {
                    self.output -= bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
                    return Ok(bytes);
                }
                Ok(Err(error)) => return Err(Broken::Ended(error)),
                Err(_) if self.time == Span::ZERO => return Err(Broken::TooLate),
                Err(_) => {}
            }
        }
    }
}
