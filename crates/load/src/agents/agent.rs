//! An agent: it runs its share of a load when a coordinator says so, and reports what it measured.

use std::io::{self, ErrorKind};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, poll};
use serde::de::DeserializeOwned;

use super::message::{FromAgent, Heard, Messages, PROVED_MAX, ToAgent, UNPROVED_MAX, send};
use super::secret::{new_secret, proves};
use crate::error::LoadError;
use crate::generator::clock::realtime_ns;
use crate::generator::load::Load;
use crate::generator::run::run_share;
use crate::recorder::records::RecordFile;
use crate::share::Share;

/// What the program that an agent runs in decides.
pub trait Host {
    /// What a coordinator orders.
    type Order: DeserializeOwned;

    /// The whole load of an order, of which the agent runs its share.
    ///
    /// # Errors
    /// Why there is none, in one line for the coordinator.
    fn prepare(&self, order: Self::Order) -> Result<Load, String>;

    /// Why there was no run, in one line for the coordinator.
    fn explain(&self, error: LoadError) -> String {
        error.to_string()
    }
}

/// An agent. It serves one coordinator at a time.
#[derive(Debug)]
pub struct Agent<H> {
    /// The program that it runs in.
    pub host: H,
    /// What a coordinator has to know; none: anyone may be the coordinator.
    pub secret: Option<Vec<u8>>,
    /// How long a coordinator has for its proof.
    pub patience: Duration,
    /// Set when it is to stop.
    pub quit: Arc<AtomicBool>,
}

/// How long a coordinator has for a message that it has begun, may be silent while a load runs (it says that it is
/// there each second), and may leave unread what it is told.
const SILENCE: Duration = Duration::from_secs(30);
/// How often an agent looks whether it should stop.
const LOOK: Duration = Duration::from_millis(200);

impl<H: Host + Sync> Agent<H> {
    /// Serves one coordinator after another, until `quit` is set.
    ///
    /// # Errors
    /// When `listener` takes no connections. What goes wrong with one coordinator is said to that one.
    pub fn serve(&self, listener: &TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        while !self.quit.load(Ordering::Relaxed) {
            let mut waiting = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
            // Woken by a signal or in vain, it looks again.
            let _ = poll(&mut waiting, LOOK.as_millis() as u16);
            match listener.accept() {
                Ok((stream, _)) => drop(self.attend(stream)),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Serves a coordinator until it goes away.
    fn attend(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_write_timeout(Some(SILENCE))?;
        let mut messages = Messages::new(stream.try_clone()?);
        let output = Mutex::new(stream.try_clone()?);
        let reply = |message: &FromAgent| {
            let output = output.lock().expect("no thread panics while it sends");
            // Half a message is the last one: what follows would not be understood.
            send(&*output, message).inspect_err(|_| drop(output.shutdown(Shutdown::Both)))
        };
        let refuse = |message: String| reply(&FromAgent::Failed { message });
        let (version, nonce) = (env!("CARGO_PKG_VERSION").to_string(), new_secret()?);
        reply(&FromAgent::Hello { version: version.clone(), nonce: nonce.clone() })?;
        match self.first(&mut messages)? {
            Some(ToAgent::<H::Order>::Hello { version: theirs, .. }) if theirs != version => {
                return refuse(format!("it is version {version} and the coordinator {theirs}"));
            }
            Some(ToAgent::Hello { proof, .. }) => {
                if self.secret.as_ref().is_some_and(|secret| !proves(&proof, secret, &nonce)) {
                    return refuse("the coordinator does not know its secret: give both the same --token-file".into());
                }
            }
            _ => return Ok(()),
        }
        reply(&FromAgent::Welcome)?;

        let cancel = Arc::new(AtomicBool::new(false));
        std::thread::scope(|scope| {
            let mut ready: Option<Load> = None;
            let mut running: Option<ScopedJoinHandle<'_, ()>> = None;
            let (mut heard_at, mut midway) = (realtime_ns(), false);
            let result = loop {
                let busy = running.as_ref().is_some_and(|thread| !thread.is_finished());
                if self.quit.load(Ordering::Relaxed) {
                    break Ok(());
                }
                if (busy || midway) && passed(heard_at) >= SILENCE {
                    break Err(ErrorKind::TimedOut.into());
                }
                let message = match messages.hear(PROVED_MAX) {
                    Ok(Heard::Message(message)) => message,
                    Ok(Heard::Part) => {
                        // One who was silent for long with nothing to say begins to speak.
                        heard_at = if midway || busy { heard_at } else { realtime_ns() };
                        midway = true;
                        continue;
                    }
                    Ok(Heard::End) => break Ok(()),
                    Err(error) if is_a_pause(&error) => continue,
                    Err(error) => break Err(error),
                };
                (heard_at, midway) = (realtime_ns(), false);
                let replied = match message {
                    ToAgent::Ping { number } => reply(&FromAgent::Pong { number, at_ns: realtime_ns() }),
                    ToAgent::Prepare { order, share, watched } => match self.host.prepare(*order) {
                        Ok(load) => {
                            ready =
                                Some(Load { share, watched, record_file: own_file(load.record_file, share), ..load });
                            reply(&FromAgent::Prepared)
                        }
                        Err(why) => refuse(why),
                    },
                    ToAgent::Start { at_ns } => match ready.take() {
                        Some(load) => {
                            cancel.store(false, Ordering::Relaxed);
                            let (load, cancel, reply) = (Load { start_at: Some(at_ns), ..load }, &cancel, &reply);
                            running = Some(scope.spawn(move || self.work(load, cancel, reply)));
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
                if let Err(error) = replied {
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

    /// The coordinator's first message; none where it does not come in time, or the agent is to stop.
    fn first(&self, messages: &mut Messages<TcpStream>) -> io::Result<Option<ToAgent<H::Order>>> {
        let began = realtime_ns();
        while passed(began) < self.patience && !self.quit.load(Ordering::Relaxed) {
            match messages.hear(UNPROVED_MAX) {
                Ok(Heard::Message(message)) => return Ok(Some(message)),
                Ok(Heard::Part) => {}
                Ok(Heard::End) => break,
                Err(error) if is_a_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Runs the share and sends what came of it.
    fn work(&self, load: Load, cancel: &Arc<AtomicBool>, reply: &(impl Fn(&FromAgent) -> io::Result<()> + Sync)) {
        // A coordinator that went away is noticed where messages are read.
        let result = run_share(load, cancel, &|now| drop(reply(&FromAgent::Progress(Box::new(now)))));
        let _ = match result {
            Ok(report) => reply(&FromAgent::Report(Box::new(report))),
            Err(error) => reply(&FromAgent::Failed { message: self.host.explain(error) }),
        };
    }
}

/// Nothing came for a moment.
fn is_a_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Time since the clock said this (ns).
fn passed(since_ns: u64) -> Duration {
    Duration::from_nanos(realtime_ns().saturating_sub(since_ns))
}

/// The file of records that a share writes: each has its own, so that they may lie side by side.
fn own_file(file: Option<RecordFile>, share: Share) -> Option<RecordFile> {
    file.map(|file| match share.of {
        1 => file,
        _ => RecordFile { path: numbered(&file.path, share.index + 1), ..file },
    })
}

/// `records.csv` as `records-2.csv`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let end = path.extension().map_or(String::new(), |end| format!(".{}", end.to_string_lossy()));
    path.with_file_name(format!("{stem}-{number}{end}"))
}
