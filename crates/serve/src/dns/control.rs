//! What people ask of a running DNS and tell it: lines of JSON over a Unix socket that only its own user can open.
//!
//! `{"ask": "state"}`, `{"ask": "explain", "last": 5}`, `{"ask": "drain", "site": "c1"}`, `{"ask": "undrain", "site": "c1"}`,
//! `{"ask": "weight", "site": "c1", "weight": 2}` and `{"ask": "reload"}`; each is answered by one line, with `refused` where it
//! is wrong.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use super::decider::Change;
use super::running::Running;
use crate::{ServeError, clock};

/// Decisions that are explained where nothing else is asked for.
const LAST: usize = 10;

/// Time between two attempts to take a connection in.
const RETRY: Duration = Duration::from_millis(20);

/// Bytes of the longest question.
const QUESTION_MAX: u64 = 4096;

#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase", deny_unknown_fields)]
enum Question {
    State {},
    Explain { last: Option<usize> },
    Drain { site: String },
    Undrain { site: String },
    Weight { site: String, weight: f64 },
    Reload {},
}

/// The socket, which is gone when this is.
pub(super) struct Door {
    listener: StdListener,
    path: PathBuf,
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Door {
    /// Opens the socket. One that a DNS left behind is taken over; one that answers is not.
    pub(super) fn open(path: &Path) -> Result<Door, ServeError> {
        let cannot = || format!("control {}: cannot listen there", path.display());
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            let what = format!("control {}: another DNS answers there; stop it, or name another path", path.display());
            return Err(ServeError::Config(what));
        }
        match fs::symlink_metadata(path) {
            Ok(found) if std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()) => {
                fs::remove_file(path).map_err(ServeError::system(cannot()))?;
            }
            Ok(_) => {
                let what = format!("control {}: a file is there that is no socket; name another path", path.display());
                return Err(ServeError::Config(what));
            }
            Err(_) => {}
        }
        let listener = StdListener::bind(path).map_err(ServeError::system(cannot()))?;
        let door = Door { listener, path: path.to_owned() };
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(ServeError::system(cannot()))?;
        door.listener.set_nonblocking(true).map_err(ServeError::system(cannot()))?;
        Ok(door)
    }

    /// Answers for as long as it is polled.
    pub(super) async fn answer(self, running: Arc<Running>) -> io::Result<()> {
        let listener = UnixListener::from_std(self.listener.try_clone()?)?;
        let mut open = JoinSet::new();
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // Out of descriptors: it stays in the backlog until some are free again.
                tokio::time::sleep(RETRY).await;
                continue;
            };
            while open.try_join_next().is_some() {}
            open.spawn_local(converse(stream, Arc::clone(&running)));
        }
    }
}

async fn converse(stream: UnixStream, running: Arc<Running>) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    loop {
        let mut line = Vec::new();
        let length = (&mut read).take(QUESTION_MAX).read_until(b'\n', &mut line).await?;
        if length == 0 {
            return Ok(());
        }
        let answer = match serde_json::from_slice(&line) {
            Ok(question) => answer(question, &running),
            Err(error) => json!({"refused": format!("no question: {error}")}),
        };
        write.write_all(format!("{answer}\n").as_bytes()).await?;
    }
}

fn answer(question: Question, running: &Running) -> Value {
    let (now, decider) = (clock::now(), &running.decider);
    let done = |outcome: Result<(), String>| match outcome {
        Ok(()) => json!({"done": true}),
        Err(why) => json!({"refused": why}),
    };
    match question {
        Question::State {} => running.state(),
        Question::Explain { last } => json!({"decisions": decider.last(last.unwrap_or(LAST), now)}),
        Question::Drain { site } => done(decider.change(&site, Change::Drained(true), now)),
        Question::Undrain { site } => done(decider.change(&site, Change::Drained(false), now)),
        Question::Weight { site, weight } if weight.is_finite() && weight >= 0.0 => {
            done(decider.change(&site, Change::Weight(weight), now))
        }
        Question::Weight { weight, .. } => done(Err(format!("weight {weight}: it is a number of at least 0"))),
        Question::Reload {} => done(running.reload()),
    }
}
