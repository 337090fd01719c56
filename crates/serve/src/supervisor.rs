//! The parent's side: starts a child, waits until it is ready, collects its events, and sees that it ends.
//!
//! A child is stopped by closing its input; one that does not end in time is killed, by its id, while it is known not
//! to have been reaped. Each child leads a process group of its own, so that Ctrl-C reaches the parent alone, which
//! then keeps what was measured and stops its children in order.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use serde_json::Value;
use thiserror::Error;

/// How long a child has to end after its input was closed.
const GRACE: Duration = Duration::from_secs(5);

/// How long its outputs may still be read once it has ended: a grandchild that outlives it may hold them open.
const LAST_READ: Duration = Duration::from_secs(1);

/// Lines of a child's standard error that are kept.
const LAST_WORDS: usize = 20;

/// A running child. Dropping it stops it.
pub struct Child {
    process: std::process::Child,
    input: Option<ChildStdin>,
    port: u16,
    shared: Arc<Shared>,
    ended: Receiver<()>,
    /// Disconnected when both of its outputs have been read to their end.
    read: Receiver<()>,
    status: Option<ExitStatus>,
}

/// Why a child is not ready.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The program cannot be run.
    #[error("cannot run {program}: {source}")]
    Run {
        /// What was to be run.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// It ended first.
    #[error("{program} ended before it was ready ({status}): {words}")]
    Ended {
        /// What was run.
        program: String,
        /// How it ended.
        status: String,
        /// The last that it said on standard error.
        words: String,
        /// Its exit code, where it had one.
        code: Option<i32>,
    },
    /// It did not say that it is ready.
    #[error("{program} was not ready after {timeout:?} and has been stopped: {words}")]
    Late {
        /// What was run.
        program: String,
        /// How long it had.
        timeout: Duration,
        /// The last that it said on standard error.
        words: String,
    },
}

struct Shared {
    heard: Mutex<Heard>,
    news: Condvar,
}

#[derive(Default)]
struct Heard {
    events: Vec<Value>,
    port: Option<u16>,
    words: VecDeque<String>,
    silent: bool,
}

impl Child {
    /// Runs `program` with `arguments` and waits at most `timeout` for its ready line.
    ///
    /// # Errors
    /// When it cannot be run, ends first or is late; it is gone then, and the error has its last words.
    pub fn spawn<S: AsRef<OsStr>>(
        program: &Path,
        arguments: impl IntoIterator<Item = S>,
        timeout: Duration,
    ) -> Result<Child, SpawnError> {
        let mut command = Command::new(program);
        command.args(arguments);
        Child::start(command, timeout)
    }

    /// As [`Child::spawn`], with a command that the caller has made (its environment, its folder).
    ///
    /// # Errors
    /// As [`Child::spawn`].
    pub fn start(mut command: Command, timeout: Duration) -> Result<Child, SpawnError> {
        let program = command.get_program().to_string_lossy().into_owned();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let run = |source| SpawnError::Run { program: program.clone(), source };
        let mut process = command.spawn().map_err(run)?;
        let shared = Arc::new(Shared { heard: Mutex::default(), news: Condvar::new() });
        let output = process.stdout.take().expect("the output is piped");
        let errors = process.stderr.take().expect("the errors are piped");
        let (report, ended) = mpsc::channel();
        let (reading, read) = mpsc::channel::<()>();
        let pid = Pid::from_raw(process.id() as i32);
        let mut child = Child {
            input: process.stdin.take(),
            process,
            port: 0,
            shared: Arc::clone(&shared),
            ended,
            read,
            status: None,
        };
        let thread = |name: &str, body: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new().name(name.into()).spawn(body).map(drop).map_err(run)
        };
        let (hear, listen) = (Arc::clone(&shared), Arc::clone(&shared));
        let also_reading = reading.clone();
        thread(
            "child events",
            Box::new(move || {
                hear.events(output);
                drop(reading);
            }),
        )?;
        thread(
            "child errors",
            Box::new(move || {
                listen.words(errors);
                drop(also_reading);
            }),
        )?;
        let watch = move || {
            // WNOWAIT leaves the child unreaped: its id stays its own until this side has seen the end.
            let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
            while waitid(Id::Pid(pid), flags) == Err(nix::errno::Errno::EINTR) {}
            // Nobody listens once the child was dropped.
            let _ = report.send(());
        };
        thread("child end", Box::new(watch))?;

        let heard = shared.heard.lock().expect("readers do not panic");
        let wait = shared.news.wait_timeout_while(heard, timeout, |heard| heard.port.is_none() && !heard.silent);
        let (heard, _) = wait.expect("readers do not panic");
        let (port, silent) = (heard.port, heard.silent);
        drop(heard);
        match port {
            Some(port) => {
                child.port = port;
                Ok(child)
            }
            None => {
                let status = child.end(if silent { GRACE } else { Duration::ZERO });
                // The readers have ended with the child, so its last words are all here.
                let words = shared.last_words();
                Err(if silent {
                    let text = status.map_or_else(|| "unknown status".into(), |status| status.to_string());
                    SpawnError::Ended { program, status: text, words, code: status.and_then(|status| status.code()) }
                } else {
                    SpawnError::Late { program, timeout, words }
                })
            }
        }
    }

    /// The port of its ready line.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// What it has said so far, the ready line first.
    pub fn events(&self) -> Vec<Value> {
        self.shared.heard.lock().expect("readers do not panic").events.clone()
    }

    /// The last lines of its standard error.
    pub fn last_words(&self) -> String {
        self.shared.last_words()
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        if self.status.is_none() && self.ended.try_recv().is_ok() {
            self.reap();
        }
        self.status.is_some()
    }

    /// Waits at most `timeout` for its end; whether it has ended.
    pub fn wait(&mut self, timeout: Duration) -> bool {
        if self.status.is_none() && self.ended.recv_timeout(timeout).is_ok() {
            self.reap();
        }
        self.status.is_some()
    }

    /// Kills it at once (SIGKILL), as a crash would, and waits for its end.
    pub fn kill(&mut self) {
        self.end(Duration::ZERO);
    }

    /// Closes its input, waits for its end (and kills it when that takes more than five seconds), and returns all that
    /// it said.
    pub fn stop(mut self) -> Vec<Value> {
        self.end(GRACE);
        self.events()
    }

    fn end(&mut self, grace: Duration) -> Option<ExitStatus> {
        drop(self.input.take());
        if self.status.is_none() {
            if self.ended.recv_timeout(grace).is_err() {
                let pid = Pid::from_raw(self.process.id() as i32);
                // It cannot have been reaped: only this function and `has_ended` reap, and neither has.
                let _ = kill(pid, Signal::SIGKILL);
                let _ = self.ended.recv();
            }
            self.reap();
        }
        self.status
    }

    fn reap(&mut self) {
        self.status = self.process.wait().ok();
        let _ = self.read.recv_timeout(LAST_READ);
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end(GRACE);
    }
}

impl Shared {
    fn events(&self, output: impl Read) {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // Anything else on the output (a library's banner) is no event.
            let Ok(event) = serde_json::from_str::<Value>(&line) else { continue };
            if !event.is_object() {
                continue;
            }
            let mut heard = self.heard.lock().expect("readers do not panic");
            if event["event"] == "ready" {
                heard.port = event["port"].as_u64().and_then(|port| u16::try_from(port).ok());
            }
            heard.events.push(event);
            self.news.notify_all();
        }
        self.heard.lock().expect("readers do not panic").silent = true;
        self.news.notify_all();
    }

    fn words(&self, errors: impl Read) {
        for line in BufReader::new(errors).lines().map_while(Result::ok) {
            let mut heard = self.heard.lock().expect("readers do not panic");
            if heard.words.len() == LAST_WORDS {
                heard.words.pop_front();
            }
            heard.words.push_back(line);
        }
    }

    fn last_words(&self) -> String {
        let heard = self.heard.lock().expect("readers do not panic");
        if heard.words.is_empty() { "it said nothing".into() } else { Vec::from(heard.words.clone()).join("\n") }
    }
}
