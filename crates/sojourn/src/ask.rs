//! Questions to a program that runs, over its control socket: one line of JSON each way.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::exit::{Failure, bad_input, failed};

/// How long an answer may take: a reload reads whole files.
const PATIENCE: Duration = Duration::from_secs(60);

/// Who is asked.
pub(crate) struct Asked {
    pub(crate) program: &'static str,
    /// What would be right where none answers.
    pub(crate) right: &'static str,
}

/// Asks, and gives the answer; a refusal is what the user typed wrong.
pub(crate) fn ask(asked: &Asked, socket: &Path, question: &Value) -> Result<Value, Failure> {
    let (Asked { program, right }, path) = (asked, socket.display());
    let mut stream = UnixStream::connect(socket)
        .map_err(|error| bad_input(format!("--socket {path}: no {program} answers there ({error}); {right}")))?;
    let unanswered = |error: std::io::Error| failed(format!("the {program} at {path} does not answer: {error}"));
    stream.set_read_timeout(Some(PATIENCE)).map_err(unanswered)?;
    writeln!(stream, "{question}").map_err(unanswered)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).map_err(unanswered)?;
    let said: Value = serde_json::from_str(&line).map_err(|error| unanswered(error.into()))?;
    match said["refused"].as_str() {
        Some(why) => Err(bad_input(why)),
        None => Ok(said),
    }
}
