//! `sojourn agent`: a client host that puts its part of a load on a server when a coordinator says so.

use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, poll};
use serde_json::json;
use sojourn_load::records::RecordFile;
use sojourn_load::{Allowed, Load, Share, realtime_ns, run_share};

use crate::exit::{Exit, Failure, bad_input, failed};
use crate::load::order::Order;
use crate::load::wire::{FRIEND, FromAgent, Messages, STRANGER, ToAgent, nonce, proof, same, send};
use crate::{interrupt, table};

/// Put load on servers for a coordinator: `sojourn load --agents HOST:PORT,...`
///
/// An agent on loopback needs no secret; on any other address it needs --token-file. It serves one coordinator at a
/// time, until Ctrl-C.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Address to listen on; port 0 takes a free one and says which
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// File with a secret that the coordinator has too, at least 16 characters
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Coordinators may have me put load on targets that are neither loopback nor private
    #[arg(long)]
    yes_i_may: bool,
    /// Serve until standard input closes, as a child of a coordinator
    #[arg(long, hide = true)]
    child: bool,
}

/// The variable in which a child finds its secret: other users cannot read it, unlike arguments.
pub(crate) const TOKEN: &str = "SOJOURN_AGENT_TOKEN";

/// How long a coordinator may be silent while a load runs: it says that it is there each second.
const SILENCE: Duration = Duration::from_secs(30);
/// How long a stranger has to say who they are.
const HELLO: Duration = Duration::from_secs(10);
/// How often an agent looks whether it should stop.
const LOOK: Duration = Duration::from_millis(200);

/// Reads a secret.
pub(crate) fn token(path: &Path) -> Result<Vec<u8>, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| bad_input(format!("--token-file: cannot read {}: {error}", path.display())))?;
    let secret = text.trim();
    if secret.len() < 16 {
        return Err(bad_input(format!(
            "--token-file: {} holds less than 16 characters; make one with `head -c 32 /dev/urandom | base64`",
            path.display()
        )));
    }
    Ok(secret.as_bytes().to_vec())
}

pub(crate) fn agent(arguments: &Arguments) -> Result<Exit, Failure> {
    let secret = match (&arguments.token_file, arguments.child) {
        (Some(path), _) => Some(token(path)?),
        (None, true) => std::env::var(TOKEN).ok().map(String::into_bytes),
        (None, false) => None,
    };
    if secret.is_none() && !arguments.listen.ip().is_loopback() {
        return Err(bad_input(format!(
            "--listen {}: an agent that others can reach needs --token-file, or anybody could use it",
            arguments.listen
        )));
    }
    let listener = TcpListener::bind(arguments.listen)
        .map_err(|error| bad_input(format!("cannot listen on {}: {error}", arguments.listen)))?;
    let address = listener.local_addr().map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let quit = interrupt::flag();
    if arguments.child {
        let quit = Arc::clone(&quit);
        std::thread::spawn(move || {
            let _ = io::copy(&mut io::stdin().by_ref(), &mut io::sink());
            quit.store(true, Ordering::Relaxed);
        });
    }
    table::outln(&json!({"event": "ready", "kind": "agent", "port": address.port(), "address": address}).to_string());
    let host = Host { secret, yes_i_may: arguments.yes_i_may, quit };
    while !host.quit.load(Ordering::Relaxed) {
        let mut waiting = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
        // Woken by a signal or in vain, it looks again.
        let _ = poll(&mut waiting, LOOK.as_millis() as u16);
        match listener.accept() {
            // What goes wrong with one coordinator is told to it; the agent serves the next.
            Ok((stream, _)) => drop(host.serve(stream)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(failed(format!("cannot accept connections: {error}"))),
        }
    }
    Ok(Exit::Ok)
}

struct Host {
    secret: Option<Vec<u8>>,
    yes_i_may: bool,
    quit: Arc<AtomicBool>,
}

impl Host {
    /// Serves a coordinator until it goes away.
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(HELLO))?;
        let mut messages = Messages::new(stream.try_clone()?);
        let output = Mutex::new(stream.try_clone()?);
        let say = |message: &FromAgent| send(&*output.lock().expect("nobody panics while holding it"), message);
        let version = env!("CARGO_PKG_VERSION").to_string();
        let nonce = nonce()?;
        say(&FromAgent::Hello { version: version.clone(), nonce: nonce.clone() })?;
        let refuse = |message: String| say(&FromAgent::Failed { message });
        match messages.next(STRANGER)? {
            Some(ToAgent::Hello { version: theirs, .. }) if theirs != version => {
                return refuse(format!("it is version {version} and the coordinator {theirs}"));
            }
            Some(ToAgent::Hello { proof: theirs, .. }) => {
                if self.secret.as_ref().is_some_and(|secret| !same(&proof(secret, &nonce), &theirs)) {
                    return refuse("the coordinator does not know its secret: give both the same --token-file".into());
                }
            }
            _ => return Ok(()),
        }
        say(&FromAgent::Welcome)?;
        stream.set_read_timeout(Some(LOOK))?;

        let cancel = Arc::new(AtomicBool::new(false));
        std::thread::scope(|scope| {
            let mut ready: Option<Load> = None;
            let mut running: Option<std::thread::ScopedJoinHandle<'_, ()>> = None;
            let mut silent = Duration::ZERO;
            let result = loop {
                let busy = running.as_ref().is_some_and(|thread| !thread.is_finished());
                if self.quit.load(Ordering::Relaxed) {
                    break Ok(());
                }
                let message = match messages.next(FRIEND) {
                    Ok(Some(message)) => message,
                    Ok(None) => break Ok(()),
                    Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                        silent += LOOK;
                        if busy && silent >= SILENCE {
                            break Err(error);
                        }
                        continue;
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) => break Err(error),
                };
                silent = Duration::ZERO;
                let told = match message {
                    ToAgent::Ping { number } => say(&FromAgent::Pong { number, at_ns: realtime_ns() }),
                    ToAgent::Prepare { order, part, watched } => match self.prepare(&order, part, watched) {
                        Ok(load) => {
                            ready = Some(load);
                            say(&FromAgent::Prepared)
                        }
                        Err(failure) => refuse(failure.message),
                    },
                    ToAgent::Start { at_ns } => match ready.take() {
                        Some(load) => {
                            cancel.store(false, Ordering::Relaxed);
                            let (cancel, say) = (&cancel, &say);
                            running =
                                Some(scope.spawn(move || work(Load { start_at: Some(at_ns), ..load }, cancel, say)));
                            Ok(())
                        }
                        None => refuse("it was not told what to start".into()),
                    },
                    ToAgent::Stop => {
                        cancel.store(true, Ordering::Relaxed);
                        Ok(())
                    }
                    ToAgent::Alive | ToAgent::Hello { .. } => Ok(()),
                };
                if let Err(error) = told {
                    break Err(error);
                }
            };
            cancel.store(true, Ordering::Relaxed);
            if self.quit.load(Ordering::Relaxed) {
                let _ = refuse("it was told to stop".into());
            }
            result
        })
    }

    fn prepare(&self, order: &Order, part: Share, watched: bool) -> Result<Load, Failure> {
        if self.secret.is_none() && !order.flags.files().is_empty() {
            return Err(bad_input("without --token-file it reads and writes no files for others"));
        }
        let load = order.load()?;
        let allowed = if self.yes_i_may { load.allowed } else { Allowed::Private };
        // Parts write files of their own, which may lie side by side.
        let record_file = load.record_file.map(|file| match part.of {
            1 => file,
            _ => RecordFile { path: numbered(&file.path, part.index + 1), ..file },
        });
        Ok(Load { share: part, watched, allowed, record_file, ..load })
    }
}

/// `records.csv` as `records-2.csv`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let end = path.extension().map_or(String::new(), |end| format!(".{}", end.to_string_lossy()));
    path.with_file_name(format!("{stem}-{number}{end}"))
}

/// Runs the load and says what came of it.
fn work(load: Load, cancel: &Arc<AtomicBool>, say: &(impl Fn(&FromAgent) -> io::Result<()> + Sync)) {
    // A coordinator that went away is noticed by who reads.
    let result = run_share(load, cancel, &|now| drop(say(&FromAgent::Progress(Box::new(now)))));
    let _ = match result {
        Ok(report) => say(&FromAgent::Report(Box::new(report))),
        Err(error) => say(&FromAgent::Failed { message: crate::load::run::refused(error).message }),
    };
}
