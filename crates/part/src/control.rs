//! Where a running program is asked and told what to do: lines of JSON over a Unix socket that only its own user can open, each
//! answered by one line, with `refused` where it is wrong.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sojourn_stats::config::of_json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use crate::ServeError;

/// Time between two attempts to take a connection in.
const RETRY: Duration = Duration::from_millis(20);

/// Bytes of the longest question.
const QUESTION_MAX: u64 = 4096;

/// What a part in front of servers is asked and told: `{"ask": "counts"}`, `{"ask": "drain", "name": "a"}` and
/// `{"ask": "undrain", "name": "a"}`.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase", deny_unknown_fields)]
pub enum Order {
    /// What it has done so far.
    Counts {},
    /// A server is to end what it has, and gets nothing new.
    Drain {
        /// Its name.
        #[serde(alias = "server")]
        name: String,
    },
    /// A server that was drained is used again.
    Undrain {
        /// Its name.
        #[serde(alias = "server")]
        name: String,
    },
}

impl Order {
    /// What is said to it: `counts`, or what came of `drain`, which is called with a server's name and whether it is to be
    /// drained, and gives an error in words where there is none of this name.
    pub fn answer(self, counts: impl Fn() -> Value, drain: impl Fn(&str, bool) -> Result<(), String>) -> Value {
        let done = |outcome| match outcome {
            Ok(()) => json!({"done": true}),
            Err(why) => json!({"refused": why}),
        };
        match self {
            Order::Counts {} => counts(),
            Order::Drain { name } => done(drain(&name, true)),
            Order::Undrain { name } => done(drain(&name, false)),
        }
    }
}

/// The socket, which is gone when this is.
pub struct Door {
    listener: StdListener,
    path: PathBuf,
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Door {
    /// Opens the socket of a `program`. One that was left behind is taken over; one that answers is not.
    pub fn open(path: &Path, program: &str) -> Result<Door, ServeError> {
        let cannot = || format!("control {}: cannot listen there", path.display());
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            let right = "stop it, or name another path";
            let what = format!("control {}: another {program} answers there; {right}", path.display());
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

    /// Answers questions for as long as it is polled.
    pub async fn serve<Q: DeserializeOwned + 'static>(self, answer: impl Fn(Q) -> Value + 'static) -> io::Result<()> {
        let answer: Rc<dyn Fn(Q) -> Value> = Rc::new(answer);
        let listener = UnixListener::from_std(self.listener.try_clone()?)?;
        let mut open = JoinSet::new();
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // Out of descriptors: it stays in the backlog until some are free again.
                tokio::time::sleep(RETRY).await;
                continue;
            };
            while open.try_join_next().is_some() {}
            open.spawn_local(converse(stream, Rc::clone(&answer)));
        }
    }
}

async fn converse<Q: DeserializeOwned>(stream: UnixStream, answer: Rc<dyn Fn(Q) -> Value>) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    loop {
        let mut line = Vec::new();
        let length = (&mut read).take(QUESTION_MAX).read_until(b'\n', &mut line).await?;
        if length == 0 {
            return Ok(());
        }
        let answer = match serde_json::from_slice(&line) {
            Ok(question) => answer(question),
            Err(error) => json!({"refused": format!("no question: {}", of_json(error))}),
        };
        write.write_all(format!("{answer}\n").as_bytes()).await?;
    }
}
