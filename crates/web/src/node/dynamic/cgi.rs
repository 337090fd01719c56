//! Programs that are started for each request.
//!
//! Each has a thread of its own that starts it, so that no request waits while it does, and stays until it has ended: the system
//! counts by that thread whether a program's parent lives (`PR_SET_PDEATHSIG`, by `setpriv`), so that a node that is killed
//! takes its programs along. A program is the first of a process group, which is killed as a whole: at the end of its request,
//! and as soon as the program itself has ended, so that what it leaves in the background holds up nothing. The price: a
//! thread and some milliseconds of process starts per request.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::body::Bytes;
use hyper::{Request, StatusCode};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::{AccessFlags, Pid, access};
use sojourn_part::ServeError;
use sojourn_part::settings::node::CgiSettings;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;

use super::super::reply::text;
use super::environment::{Call, variables};
use super::relay::{Limits, Outcome, Output, busy, failed, relay};
use super::scripts::{Script, Scripts};
use super::stderr::Errors;
use super::upload::{Awaited, Upload};

/// Bytes that are read at once: what a pipe holds.
const PIECE: usize = 64 * 1024;

/// How long the end of the output is waited for once a program has ended.
const LAST: Duration = Duration::from_millis(100);

/// How long a program may take to end after it has closed its output.
const END: Duration = Duration::from_secs(1);

/// The programs of a node that are started for each request.
pub(super) struct Cgi {
    pub(super) scripts: Scripts,
    limits: (sojourn_stats::Span, u64),
    env: BTreeMap<String, String>,
    errors: Errors,
    free: Arc<Semaphore>,
}

/// A program that has been started.
struct Started {
    stdin: Option<pipe::Sender>,
    stdout: pipe::Receiver,
    group: Killed,
    ended: oneshot::Receiver<ExitStatus>,
}

/// The process group of a program, as long as it is known to be that: none once the program has been waited for.
#[derive(Clone)]
struct Group(Arc<Mutex<Option<Pid>>>);

/// Kills the group when it is dropped.
struct Killed(Group);

impl Cgi {
    pub(super) fn new(settings: &CgiSettings, files: Option<&Path>) -> Result<Cgi, ServeError> {
        settings.check().map_err(|wrong| wrong.inside("cgi"))?;
        Ok(Cgi {
            scripts: Scripts::new("cgi", &settings.scripts, settings.root.as_deref(), files)?,
            limits: (settings.time, settings.output),
            env: settings.env.clone(),
            errors: Errors::open("cgi", settings.errors.as_deref())?,
            free: Arc::new(Semaphore::new(settings.at_once)),
        })
    }

    pub(super) async fn run(&self, script: &Script, request: &Request<()>, call: &Call, upload: Upload) -> Outcome {
        if access(&script.file, AccessFlags::X_OK).is_err() {
            return Outcome::Reply(text(StatusCode::FORBIDDEN, "the program of this page may not be run\n"));
        }
        let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() else {
            return busy("as many programs run as may\n");
        };
        let command = self.command(script, request, call, !matches!(upload, Upload::None));
        let (sender, started) = oneshot::channel();
        let thread = std::thread::Builder::new().name("program".into()).spawn(move || {
            let _permit = permit;
            attend(command, sender);
        });
        if thread.is_err() {
            return busy("the system has no room for a thread\n");
        }
        let Started { stdin, stdout, group, ended } = match started.await {
            Ok(Ok(pipes)) => match pipes.connected() {
                Ok(started) => started,
                Err(error) => return failed(&error.to_string()),
            },
            Ok(Err(error)) => return failed(&error.to_string()),
            Err(_) => return failed("its thread ended"),
        };
        let awaited = Awaited::default();
        let feeding = stdin.map(|mut stdin| {
            let awaited = awaited.clone();
            // A program need not read what it is sent; then the rest is dropped, and the pipe with it.
            tokio::task::spawn_local(async move {
                let _ = upload.send(&mut stdin, PIECE, &awaited, <[u8]>::to_vec).await;
            })
        });
        let (time, output) = self.limits;
        let ended = Some(ended);
        relay(Running { stdout, ended, status: None, feeding, _group: group }, Limits { time, output, awaited }).await
    }

    fn command(&self, script: &Script, request: &Request<()>, call: &Call, has_body: bool) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(&script.file).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()));
        for (name, value) in variables(request, script, &self.scripts.root, call) {
            use std::os::unix::ffi::OsStringExt;
            command.env(name, std::ffi::OsString::from_vec(value));
        }
        command.envs(&self.env).process_group(0);
        command.current_dir(script.file.parent().unwrap_or(&self.scripts.root));
        command.stdin(if has_body { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(self.errors.for_process());
        command
    }
}

/// The ends of a program's pipes, not yet on a runtime.
struct Pipes {
    stdin: Option<OwnedFd>,
    stdout: OwnedFd,
    group: Killed,
    ended: oneshot::Receiver<ExitStatus>,
}

impl Pipes {
    fn connected(self) -> io::Result<Started> {
        let Pipes { stdin, stdout, group, ended } = self;
        let stdin = stdin.map(pipe::Sender::from_owned_fd).transpose()?;
        Ok(Started { stdin, stdout: pipe::Receiver::from_owned_fd(stdout)?, group, ended })
    }
}

/// Starts a program and waits until it has ended, on a thread of its own.
fn attend(mut command: Command, started: oneshot::Sender<io::Result<Pipes>>) {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return drop(started.send(Err(error))),
    };
    let pid = Pid::from_raw(child.id() as i32);
    let group = Group(Arc::new(Mutex::new(Some(pid))));
    let (told, ended) = oneshot::channel();
    let stdin = child.stdin.take().map(OwnedFd::from);
    let stdout = child.stdout.take().expect("it was asked for").into();
    // Where the client has left meanwhile, this is dropped, and the program killed.
    let _ = started.send(Ok(Pipes { stdin, stdout, group: Killed(group.clone()), ended }));
    // It is looked at before it is waited for: until then its number is no other's.
    while waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) == Err(nix::errno::Errno::EINTR) {}
    group.kill();
    if let Ok(status) = child.wait() {
        let _ = told.send(status);
    }
}

impl Group {
    fn kill(&self) {
        let mut pid = self.0.lock().expect("nothing panics while it holds a number");
        if let Some(pid) = pid.take() {
            let _ = killpg(pid, Signal::SIGKILL);
        }
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        self.0.kill();
    }
}

/// A program that runs.
struct Running {
    stdout: pipe::Receiver,
    /// None once it has ended.
    ended: Option<oneshot::Receiver<ExitStatus>>,
    /// How it has, until that is asked for.
    status: Option<ExitStatus>,
    feeding: Option<JoinHandle<()>>,
    _group: Killed,
}

impl Output for Running {
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        let mut piece = Vec::with_capacity(PIECE);
        if let Some(ended) = &mut self.ended {
            tokio::select! {
                biased;
                read = self.stdout.read_buf(&mut piece) => {
                    return Ok((read? > 0).then(|| piece.into()));
                }
                status = ended => {
                    self.ended = None;
                    self.status = status.ok();
                }
            }
        }
        // What is in the pipe is its last. A process that has left the group may hold it open for as long as it likes.
        match tokio::time::timeout(LAST, self.stdout.read_buf(&mut piece)).await {
            Ok(read) => Ok((read? > 0).then(|| piece.into())),
            Err(_) => Ok(None),
        }
    }

    async fn end(&mut self) -> io::Result<()> {
        let status = match self.ended.take() {
            // What goes on without output is ended with this.
            Some(ended) => tokio::time::timeout(END, ended).await.ok().and_then(Result::ok),
            None => self.status.take(),
        };
        status.map_or(Ok(()), whole)
    }
}

/// A program that was killed by a signal has not come to its end, whatever it wrote.
fn whole(status: ExitStatus) -> io::Result<()> {
    match status.signal() {
        Some(signal) => Err(io::Error::other(format!("it was ended by signal {signal}"))),
        None => Ok(()),
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(feeding) = self.feeding.take() {
            feeding.abort();
        }
    }
}
