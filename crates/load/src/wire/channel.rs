//! HTTP/2 on one connection: hyper's client, driven by our own loop.
//!
//! hyper sees no socket and no runtime. It reads from and writes to two buffers in memory ([`Pipe`]), which the loop
//! fills from and empties into the socket or the TLS session, and its futures are polled by an executor of a few lines
//! whenever the loop has brought something. So HTTP/2 has the same epoll, clock, pacing and recorder as HTTP/1.1; the
//! price is a copy and a handful of allocations per request, which is HTTP/2's own affair and not HTTP/1.1's.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::{self, SendRequest};
use hyper::rt::{Executor, Read, ReadBufCursor, Write};
use hyper::{Request, Response};
use sojourn_stats::Time;

use crate::generator::clock::Clock;
use crate::outcome::Outcome;
use crate::wire::reply::{Keeping, Kept};

/// One HTTP/2 connection.
pub(crate) struct Channel {
    pipe: Pipe,
    tasks: Tasks,
    sender: Rc<RefCell<Option<SendRequest<Full<Bytes>>>>>,
    finished: Rc<RefCell<Vec<Finished>>>,
    /// The tasks of the streams under way, by ticket.
    streams: HashMap<u64, usize>,
    /// Requests that came before hyper was ready.
    early: Vec<(u64, Request<Full<Bytes>>, Option<Keeping>)>,
    clock: Clock,
}

/// A stream that is over.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) ticket: u64,
    pub(crate) first_byte: Option<Time>,
    pub(crate) status: u16,
    pub(crate) bytes: u64,
    pub(crate) backend: Vec<u8>,
    pub(crate) cookies: Vec<Vec<u8>>,
    pub(crate) location: Vec<u8>,
    /// What is kept of it, where something is.
    pub(crate) kept: Option<Box<Kept>>,
    /// What went wrong, where something did.
    pub(crate) failed: Option<Outcome>,
    /// The server has not processed the request: it was never sent, or the server said so (RFC 9113, section 8.7).
    pub(crate) not_processed: bool,
}

impl Channel {
    /// A connection whose first bytes are waiting to be taken.
    pub(crate) fn new(clock: Clock) -> Channel {
        let pipe = Pipe::default();
        let tasks = Tasks::default();
        let sender = Rc::new(RefCell::new(None));
        let (own, ready, spawn) = (pipe.clone(), Rc::clone(&sender), tasks.clone());
        tasks.add(async move {
            let mut builder = http2::Builder::new(spawn.clone());
            // Windows that no reply of a load test waits for.
            builder.initial_stream_window_size(4 << 20).initial_connection_window_size(64 << 20);
            if let Ok((send, connection)) = builder.handshake(own).await {
                *ready.borrow_mut() = Some(send);
                spawn.execute(async move {
                    // Its failure is that of the streams on it.
                    let _ = connection.await;
                });
            }
        });
        let mut channel =
            Channel { pipe, tasks, sender, finished: Rc::default(), streams: HashMap::new(), early: Vec::new(), clock };
        channel.run();
        channel
    }

    /// Sends `request`; what becomes of it will be known by `ticket`, with what of the reply is to be kept.
    pub(crate) fn send(&mut self, ticket: u64, request: Request<Full<Bytes>>, keeping: Option<Keeping>) {
        let sender = self.sender.borrow().clone();
        let Some(mut sender) = sender else { return self.early.push((ticket, request, keeping)) };
        let (finished, clock) = (Rc::clone(&self.finished), self.clock);
        let task = self.tasks.add(async move {
            let mut over = Finished::new(ticket, keeping);
            match sender.try_send_request(request).await {
                Ok(response) => over.receive(response, clock).await,
                Err(error) => {
                    over.failed = Some(outcome_of(error.error()));
                    over.not_processed = error.message().is_some() || is_not_processed(error.error());
                }
            }
            finished.borrow_mut().push(over);
        });
        self.streams.insert(ticket, task);
    }

    /// The request of `ticket` is given up: its stream is reset.
    pub(crate) fn cancel(&mut self, ticket: u64) {
        self.early.retain(|(early, ..)| *early != ticket);
        if let Some(task) = self.streams.remove(&ticket) {
            self.tasks.drop_one(task);
        }
    }

    /// Takes what was read.
    pub(crate) fn input(&mut self, bytes: &[u8]) {
        let mut buffers = self.pipe.0.borrow_mut();
        buffers.input.extend_from_slice(bytes);
        buffers.wake();
    }

    /// The server sends no more.
    pub(crate) fn end(&mut self) {
        let mut buffers = self.pipe.0.borrow_mut();
        buffers.ended = true;
        buffers.wake();
    }

    /// Lets hyper do what it can.
    pub(crate) fn run(&mut self) {
        self.tasks.run();
        if !self.early.is_empty() && self.sender.borrow().is_some() {
            for (ticket, request, keeping) in std::mem::take(&mut self.early) {
                self.send(ticket, request, keeping);
            }
            self.tasks.run();
        }
    }

    /// What is to be written.
    pub(crate) fn output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.pipe.0.borrow_mut().output)
    }

    /// The streams that are over since the last time.
    pub(crate) fn finished(&mut self) -> Vec<Finished> {
        let finished = std::mem::take(&mut *self.finished.borrow_mut());
        for over in &finished {
            self.streams.remove(&over.ticket);
        }
        finished
    }

    /// Whether no more can be sent on it.
    pub(crate) fn closed(&self) -> bool {
        self.sender.borrow().as_ref().is_some_and(SendRequest::is_closed)
    }
}

impl Drop for Channel {
    /// hyper's tasks hold the list that holds them.
    fn drop(&mut self) {
        self.tasks.clear();
    }
}

impl Finished {
    fn new(ticket: u64, keeping: Option<Keeping>) -> Finished {
        Finished {
            ticket,
            first_byte: None,
            status: 0,
            bytes: 0,
            backend: Vec::new(),
            cookies: Vec::new(),
            location: Vec::new(),
            kept: keeping.map(|keeping| Box::new(Kept::new(keeping))),
            failed: None,
            not_processed: false,
        }
    }

    async fn receive(&mut self, response: Response<Incoming>, clock: Clock) {
        self.first_byte = Some(clock.now());
        self.status = response.status().as_u16();
        let value = |name: &str| response.headers().get(name).map_or(Vec::new(), |value| value.as_bytes().to_vec());
        self.backend = value("x-sojourn-backend");
        self.location = value("location");
        self.cookies = response.headers().get_all("set-cookie").iter().map(|value| value.as_bytes().to_vec()).collect();
        if let Some(kept) = &mut self.kept {
            response.headers().iter().for_each(|(name, value)| kept.field(name.as_str(), value.as_bytes()));
        }
        let mut body = response.into_body();
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => {
                    let Some(data) = frame.data_ref() else { continue };
                    self.bytes += data.len() as u64;
                    self.kept.iter_mut().for_each(|kept| kept.piece(data));
                }
                Err(error) => {
                    self.failed = Some(outcome_of(&error));
                    return;
                }
            }
        }
    }
}

/// Whether the server says that it has not processed the request: its GOAWAY names an earlier stream as the last, or it has
/// refused the stream.
fn is_not_processed(error: &hyper::Error) -> bool {
    let error = std::error::Error::source(error).and_then(|inner| inner.downcast_ref::<h2::Error>());
    error.is_some_and(|error| {
        error.is_remote() && (error.is_go_away() || error.reason() == Some(h2::Reason::REFUSED_STREAM))
    })
}

/// The outcome that hyper's error is: the end of the connection, or nonsense on it.
fn outcome_of(error: &hyper::Error) -> Outcome {
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        if let Some(io) = inner.downcast_ref::<io::Error>()
            && io.kind() == io::ErrorKind::UnexpectedEof
        {
            return Outcome::ClosedEarly;
        }
        source = inner.source();
    }
    let text = format!("{error:?}");
    if error.is_closed() || error.is_canceled() || error.is_incomplete_message() || text.contains("GoAway") {
        Outcome::ClosedEarly
    } else if text.contains("Reset") {
        Outcome::Reset
    } else {
        Outcome::Protocol
    }
}

/// The two buffers between hyper and the loop.
#[derive(Clone, Debug, Default)]
struct Pipe(Rc<RefCell<Buffers>>);

#[derive(Debug, Default)]
struct Buffers {
    input: Vec<u8>,
    output: Vec<u8>,
    ended: bool,
    waker: Option<Waker>,
}

impl Buffers {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Read for Pipe {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, mut cursor: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let mut buffers = self.0.borrow_mut();
        if buffers.input.is_empty() {
            if buffers.ended {
                return Poll::Ready(Ok(()));
            }
            buffers.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let taken = cursor.remaining().min(buffers.input.len());
        cursor.put_slice(&buffers.input[..taken]);
        buffers.input.drain(..taken);
        Poll::Ready(Ok(()))
    }
}

impl Write for Pipe {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.borrow_mut().output.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// hyper's tasks on one connection, polled when they were woken.
#[derive(Clone, Default)]
struct Tasks(Rc<RefCell<TaskList>>);

#[derive(Default)]
struct TaskList {
    tasks: Vec<Slot>,
    vacant: Vec<usize>,
    woken: Arc<Mutex<Vec<usize>>>,
}

enum Slot {
    Vacant,
    /// Being polled just now, or dropped meanwhile.
    Taken,
    Task(Pin<Box<dyn Future<Output = ()>>>),
}

/// Wakes one task. Behind a lock because a waker may go to another thread, which none does here.
struct Bell {
    task: usize,
    woken: Arc<Mutex<Vec<usize>>>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.woken.lock().expect("nothing panics while it is held").push(self.task);
    }
}

impl Tasks {
    fn add(&self, future: impl Future<Output = ()> + 'static) -> usize {
        let mut list = self.0.borrow_mut();
        let task = match list.vacant.pop() {
            Some(task) => task,
            None => {
                list.tasks.push(Slot::Vacant);
                list.tasks.len() - 1
            }
        };
        list.tasks[task] = Slot::Task(Box::pin(future));
        list.woken.lock().expect("nothing panics while it is held").push(task);
        task
    }

    fn drop_one(&self, task: usize) {
        let dropped = {
            let mut list = self.0.borrow_mut();
            let dropped = std::mem::replace(&mut list.tasks[task], Slot::Vacant);
            list.vacant.push(task);
            dropped
        };
        // Outside of the borrow: what is dropped may wake or spawn others.
        drop(dropped);
    }

    fn clear(&self) {
        let dropped = std::mem::take(&mut self.0.borrow_mut().tasks);
        drop(dropped);
    }

    /// Polls the tasks that were woken, until none is. A wake-up of a task that is over may reach its place's next one, which
    /// is then polled once for nothing.
    fn run(&self) {
        loop {
            let woken = {
                let list = self.0.borrow();
                let mut woken = list.woken.lock().expect("nothing panics while it is held");
                std::mem::take(&mut *woken)
            };
            if woken.is_empty() {
                return;
            }
            for task in woken {
                let (slot, bell) = {
                    let mut list = self.0.borrow_mut();
                    if !matches!(list.tasks[task], Slot::Task(_)) {
                        continue;
                    }
                    let bell = Bell { task, woken: Arc::clone(&list.woken) };
                    (std::mem::replace(&mut list.tasks[task], Slot::Taken), bell)
                };
                let Slot::Task(mut future) = slot else { continue };
                let waker = Waker::from(Arc::new(bell));
                let done = future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
                let mut list = self.0.borrow_mut();
                if done {
                    list.tasks[task] = Slot::Vacant;
                    list.vacant.push(task);
                } else {
                    list.tasks[task] = Slot::Task(future);
                }
                drop(list);
            }
        }
    }
}

impl<F: Future<Output = ()> + 'static> Executor<F> for Tasks {
    fn execute(&self, future: F) {
        self.add(future);
    }
}
