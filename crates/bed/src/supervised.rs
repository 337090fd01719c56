//! The child's side: what a process does that a parent supervises.
//!
//! One JSON object per line on the output: first `{"event":"ready","port":41234,"kind":"node",...}`, then what happens,
//! last `{"event":"stopped",...}` with the counts. The child stops when its input ends, or on SIGTERM or SIGINT; told
//! again by one of these signals, it ends at once, with exit code 130. On SIGHUP a child that has a file reads it anew, and on
//! SIGUSR1 one that has a log opens it anew; to others it is said and changes nothing. A parent that is killed or panics closes
//! that pipe, whatever else it fails to do, so nothing survives it. PR_SET_PDEATHSIG is not used: it fires when the *thread* that
//! spawned the child ends.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// Where a child's events go: one JSON object per line.
#[derive(Clone)]
pub struct Events(Arc<Mutex<Lines>>);

struct Lines {
    output: Box<dyn Write + Send>,
    /// What happened before the ready line; none once that has been written, or where none is waited for.
    early: Option<Vec<Value>>,
}

/// Stops this process where it stands, until its parent lets it go on; returns then.
pub fn stand_still() {
    // It fails for no signal that exists.
    let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGSTOP);
}

impl Events {
    /// Events written to `output`, each line at once.
    pub fn to(output: impl Write + Send + 'static) -> Events {
        Events(Arc::new(Mutex::new(Lines { output: Box::new(output), early: None })))
    }

    /// The same, but what happens before the child is ready is written after its ready line.
    pub fn once_ready(output: impl Write + Send + 'static) -> Events {
        Events(Arc::new(Mutex::new(Lines { output: Box::new(output), early: Some(Vec::new()) })))
    }

    /// Events that are thrown away.
    pub fn nowhere() -> Events {
        Events::to(io::sink())
    }

    /// Writes one event.
    pub fn emit(&self, event: &Value) {
        let mut lines = self.lock();
        match &mut lines.early {
            Some(early) => early.push(event.clone()),
            // A parent that no longer reads is about to close the input, which stops the child in order.
            None => _ = lines.write(event),
        }
    }

    /// Writes the ready line, and then what has happened before.
    fn ready(&self, ready: &Value) -> io::Result<()> {
        let mut lines = self.lock();
        let early = lines.early.take().unwrap_or_default();
        [ready].into_iter().chain(&early).try_for_each(|event| lines.write(event))
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines {
    fn write(&mut self, event: &Value) -> io::Result<()> {
        writeln!(self.output, "{event}").and_then(|()| self.output.flush())
    }
}

/// What a child is told by a signal, besides to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signalled {
    /// SIGHUP: to read its file anew.
    Reload,
    /// SIGUSR1: to open its log anew.
    Reopen,
}

/// The exit code of a child that was told twice.
const INTERRUPTED: i32 = 130;

/// Says `ready` and waits until the process is told to stop. `input` is the standard input, or none where its end means
/// nothing (a service manager that connects it to `/dev/null`). Each line of it that is JSON is given to `heard`.
///
/// # Errors
/// When the system refuses a runtime, a thread or a signal handler, or the ready line cannot be written.
pub fn until_told_to_stop(
    events: &Events,
    ready: &Value,
    input: Option<impl Read + Send + 'static>,
    heard: impl FnMut(&Value) + Send + 'static,
) -> io::Result<()> {
    until_told_to_stop_or(events, ready, input, heard, |told| nothing_to_do(events, told))
}

/// Says that a signal changes nothing.
pub fn nothing_to_do(events: &Events, told: Signalled) {
    match told {
        Signalled::Reload => {
            events.emit(&json!({"event": "hung_up", "why": "there is nothing to reload; it serves on"}))
        }
        Signalled::Reopen => {
            events.emit(&json!({"event": "reopened", "why": "there is no log to open anew; it serves on"}))
        }
    }
}

/// The same; what signals tell besides is given to `does`.
///
/// # Errors
/// As [`until_told_to_stop`].
pub fn until_told_to_stop_or(
    events: &Events,
    ready: &Value,
    input: Option<impl Read + Send + 'static>,
    mut heard: impl FnMut(&Value) + Send + 'static,
    mut does: impl FnMut(Signalled),
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (mut terminate, mut interrupt) = runtime.block_on(async {
        // The handlers are there before the ready line, so that a parent may stop the child as soon as it has read it.
        let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let (mut hang_up, mut user) = (signal(SignalKind::hangup())?, signal(SignalKind::user_defined1())?);
        let (ended, mut end) = mpsc::channel::<()>(1);
        let kept = match input {
            Some(input) => {
                // Its own thread, left behind when a signal comes first: a read of standard input cannot be called off.
                let read = move || {
                    read_to_end(input, &mut heard);
                    drop(ended);
                };
                std::thread::Builder::new().name("input".into()).spawn(read)?;
                None
            }
            None => Some(ended),
        };
        let unsaid = |error: io::Error| io::Error::new(error.kind(), format!("the ready line is not written: {error}"));
        events.ready(ready).map_err(unsaid)?;
        loop {
            tokio::select! {
                _ = end.recv() => break,
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
                _ = hang_up.recv() => does(Signalled::Reload),
                _ = user.recv() => does(Signalled::Reopen),
            }
        }
        drop(kept);
        Ok::<_, io::Error>((terminate, interrupt))
    })?;
    // What is stopped in order may take its time. Signalled again, it ends in the middle of it.
    let again = move || {
        runtime.block_on(async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        });
        std::process::exit(INTERRUPTED);
    };
    std::thread::Builder::new().name("told again".into()).spawn(again).map(drop)
}

fn read_to_end(input: impl Read, heard: &mut dyn FnMut(&Value)) {
    for line in BufReader::new(input).split(b'\n').map_while(Result::ok) {
        if let Ok(said) = serde_json::from_slice(&line) {
            heard(&said);
        }
    }
}
