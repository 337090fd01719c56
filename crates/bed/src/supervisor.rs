//! The parent's side: starts a child, waits until it is ready, collects its events, and sees how and when it ends.
//!
//! A child is stopped by closing its input; one that does not end in time is killed, by its id. It is not reaped before
//! its parent has done with it, so that its id stays its own and no signal can reach another process. Each child leads a
//! process group of its own, so that Ctrl-C reaches the parent alone, which then keeps what was measured and stops its
//! children in order. The price: three threads per child, which all sleep.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use serde_json::Value;
use sojourn_stats::{Span, Time};
use thiserror::Error;

use crate::{clock, run_queue};

/// How long a child has to end after its input was closed.
const GRACE: Duration = Duration::from_secs(5);

/// How long its outputs may still be read once it has ended: a grandchild that outlives it may hold them open.
const LAST_READ: Duration = Duration::from_secs(1);

/// Lines of a child's standard error that are kept.
const STDERR_LINES_MAX: usize = 20;

/// A child process, from its ready line on. Dropping it stops it.
pub struct Child {
    process: std::process::Child,
    input: Option<ChildStdin>,
    port: u16,
    shared: Arc<Shared>,
    reaped: bool,
}

/// How and when a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When this side saw it, on [`clock::since_boot`]: some tens of microseconds after the end.
    pub at: Time,
    /// Its exit code or the signal that killed it.
    pub status: ExitStatus,
    /// Whether this side had closed its input or killed it before. Without that, it ended unexpectedly.
    pub was_told: bool,
}

/// A span of time in which a child did not run: it was stopped (SIGSTOP), and continued or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// When this side saw that it had been stopped, on [`clock::since_boot`].
    pub from: Time,
    /// When it went on; none where it did not.
    pub until: Option<Time>,
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
    #[error("{program} ended before it was ready ({status}): {stderr}")]
    Ended {
        /// What was run.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// The last lines of its standard error.
        stderr: String,
    },
    /// It did not say that it is ready.
    #[error("{program} was not ready after {timeout:?} and has been stopped: {stderr}")]
    Late {
        /// What was run.
        program: String,
        /// How long it had.
        timeout: Duration,
        /// The last lines of its standard error.
        stderr: String,
    },
}

/// What the threads that watch a child write down.
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// What it said, and when that was read.
    events: Vec<(Time, Value)>,
    port: Option<u16>,
    stderr: VecDeque<String>,
    output_is_closed: bool,
    errors_are_closed: bool,
    was_told: bool,
    pauses: Vec<Pause>,
    ended: Option<Ended>,
}

impl Child {
    /// Runs `program` with `arguments` and waits at most `timeout` for its ready line.
    ///
    /// # Errors
    /// When it cannot be run, ends first or is late; it is gone then, and the error has what it said last.
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
        // A child's complaints are read line by line, however wide the parent's terminal is.
        command.env_remove("COLUMNS");
        let cannot = |source| SpawnError::Run { program: program.clone(), source };
        let mut process = command.spawn().map_err(cannot)?;
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() });
        let input = process.stdin.take();
        let output = process.stdout.take().expect("the output is piped");
        let errors = process.stderr.take().expect("the errors are piped");
        let mut child = Child { process, input, port: 0, shared: Arc::clone(&shared), reaped: false };
        let pid = child.process_id();
        let watch = |name: &str, body: Box<dyn FnOnce(&Shared) + Send>| {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new().name(name.into()).spawn(move || body(&shared)).map(drop).map_err(cannot)
        };
        if let Err(error) = watch("child end", Box::new(move |shared| shared.await_end(pid))) {
            // Nothing would see the end of a child that is stopped in order.
            let _ = child.process.kill();
            child.reap();
            return Err(error);
        }
        watch("child events", Box::new(|shared| shared.read_events(output)))?;
        watch("child errors", Box::new(|shared| shared.read_errors(errors)))?;

        let (port, has_closed) = {
            let state = shared.wait(timeout, |state| state.port.is_some() || state.output_is_closed);
            (state.port, state.output_is_closed)
        };
        if let Some(port) = port {
            child.port = port;
            return Ok(child);
        }
        let status = child.end(if has_closed { GRACE } else { Duration::ZERO }).status;
        // All that it said has been read at its end.
        let stderr = child.stderr_tail();
        Err(if has_closed {
            SpawnError::Ended { program, status, stderr }
        } else {
            SpawnError::Late { program, timeout, stderr }
        })
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
        self.shared.lock().events.iter().map(|(_, event)| event.clone()).collect()
    }

    /// The same, each with the instant at which it was read, on the clock of [`clock::since_boot`].
    pub fn dated_events(&self) -> Vec<(Time, Value)> {
        self.shared.lock().events.clone()
    }

    /// Waits at most `timeout` until what it has said so far is enough; whether it is.
    pub fn has_said(&self, timeout: Duration, enough: impl Fn(&[(Time, Value)]) -> bool) -> bool {
        enough(&self.shared.wait(timeout, |state| state.ended.is_some() || enough(&state.events)).events)
    }

    /// Waits at most so long until it stands still, stopped by a signal; whether it does.
    pub fn stands_still(&self, timeout: Duration) -> bool {
        let stands = |state: &State| state.pauses.last().is_some_and(|pause| pause.until.is_none());
        stands(&self.shared.wait(timeout, |state| state.ended.is_some() || stands(state)))
    }

    /// When it did not run because it had been stopped.
    pub fn pauses(&self) -> Vec<Pause> {
        self.shared.lock().pauses.clone()
    }

    /// How long its threads have waited for a core, together, where the kernel counts it; none once it has ended.
    pub fn waited(&self) -> Option<Span> {
        run_queue::of_process(self.pid())
    }

    /// The last lines of its standard error.
    pub fn stderr_tail(&self) -> String {
        let state = self.shared.lock();
        if state.stderr.is_empty() { "it said nothing".into() } else { Vec::from(state.stderr.clone()).join("\n") }
    }

    /// How and when it ended; none while it runs. A child that was stopped by `SIGSTOP` runs.
    pub fn ended(&self) -> Option<Ended> {
        self.shared.lock().ended
    }

    /// Waits at most `timeout` for its end, and then until what it said has been read.
    pub fn wait(&mut self, timeout: Duration) -> Option<Ended> {
        let ended = self.shared.wait(timeout, |state| state.ended.is_some()).ended?;
        drop(self.shared.wait(LAST_READ, |state| state.output_is_closed && state.errors_are_closed));
        Some(ended)
    }

    /// Stops it where it stands (SIGSTOP), until [`Child::thaw`].
    pub fn freeze(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// Lets it go on (SIGCONT).
    pub fn thaw(&self) {
        self.signal(Signal::SIGCONT);
    }

    /// Says one line to it, over its input.
    ///
    /// # Errors
    /// When it reads nothing any more.
    pub fn say(&mut self, line: &Value) -> std::io::Result<()> {
        match &mut self.input {
            Some(input) => writeln!(input, "{line}"),
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Closes its input, so that it ends in order, and does not wait for that.
    pub fn dismiss(&mut self) {
        self.shared.lock().was_told = true;
        drop(self.input.take());
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

    fn end(&mut self, grace: Duration) -> Ended {
        if grace.is_zero() {
            self.shared.lock().was_told = true;
            self.signal(Signal::SIGKILL);
        }
        self.dismiss();
        let ended = self.wait(grace).or_else(|| {
            self.signal(Signal::SIGKILL);
            self.wait(Duration::MAX)
        });
        self.reap();
        ended.expect("a killed process ends")
    }

    fn signal(&self, signal: Signal) {
        if !self.reaped {
            // One that has ended meanwhile is not reaped, and ignores it.
            let _ = kill(self.process_id(), signal);
        }
    }

    fn reap(&mut self) {
        // Its end has been seen already; a second call returns what the first one did.
        let _ = self.process.wait();
        self.reaped = true;
    }

    fn process_id(&self) -> Pid {
        Pid::from_raw(self.process.id() as i32)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.reaped {
            self.end(GRACE);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("the threads of a child do not panic")
    }

    /// Waits at most `timeout` until the state is as `wanted`.
    fn wait(&self, timeout: Duration, wanted: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waited = self.changed.wait_timeout_while(self.lock(), timeout, |state| !wanted(state));
        waited.expect("the threads of a child do not panic").0
    }

    fn read_events(&self, output: impl Read) {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // Anything else on the output (a library's banner) is no event.
            let Ok(event) = serde_json::from_str::<Value>(&line) else { continue };
            if !event.is_object() {
                continue;
            }
            let mut state = self.lock();
            if event["event"] == "ready" {
                state.port = event["port"].as_u64().and_then(|port| u16::try_from(port).ok());
            }
            state.events.push((clock::since_boot(), event));
            self.changed.notify_all();
        }
        self.lock().output_is_closed = true;
        self.changed.notify_all();
    }

    fn read_errors(&self, errors: impl Read) {
        for line in BufReader::new(errors).lines().map_while(Result::ok) {
            let mut state = self.lock();
            if state.stderr.len() == STDERR_LINES_MAX {
                state.stderr.pop_front();
            }
            state.stderr.push_back(line);
        }
        self.lock().errors_are_closed = true;
        self.changed.notify_all();
    }

    fn await_end(&self, pid: Pid) {
        // An end is only looked at (WNOWAIT), which leaves the child unreaped: its id stays its own until the parent has
        // done with it. That it was stopped or continued is taken, or it would be seen again and again.
        let anything = WaitPidFlag::WEXITED | WaitPidFlag::WSTOPPED | WaitPidFlag::WCONTINUED;
        let status = loop {
            match waitid(Id::Pid(pid), anything | WaitPidFlag::WNOWAIT) {
                Ok(WaitStatus::Exited(_, code)) => break ExitStatus::from_raw((code & 0xff) << 8),
                Ok(WaitStatus::Signaled(_, signal, _)) => break ExitStatus::from_raw(signal as i32),
                Ok(WaitStatus::Stopped(..) | WaitStatus::Continued(_)) => self.take_pause(pid),
                Err(Errno::EINTR) => {}
                other => unreachable!("a child that is not reaped has an end: {other:?}"),
            }
        };
        let at = clock::since_boot();
        let mut state = self.lock();
        let was_told = state.was_told;
        state.ended = Some(Ended { at, status, was_told });
        drop(state);
        self.changed.notify_all();
    }

    /// Notes that a child was stopped or goes on.
    fn take_pause(&self, pid: Pid) {
        let now = clock::since_boot();
        let changes = WaitPidFlag::WSTOPPED | WaitPidFlag::WCONTINUED | WaitPidFlag::WNOHANG;
        let change = waitid(Id::Pid(pid), changes);
        let mut state = self.lock();
        match change {
            Ok(WaitStatus::Stopped(..)) => state.pauses.push(Pause { from: now, until: None }),
            Ok(WaitStatus::Continued(_)) => {
                if let Some(pause) = state.pauses.last_mut() {
                    pause.until = Some(now);
                }
            }
            // It changed again in between, which the next look takes.
            _ => {}
        }
        drop(state);
        self.changed.notify_all();
    }
}
