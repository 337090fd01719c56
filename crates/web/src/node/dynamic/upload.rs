//! The body of a request on its way to a program.

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::StatusCode;
use hyper::body::{Body, Bytes, Incoming};
use sojourn_stats::Span;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::super::reply::{Reply, text};

/// How long a client may take for the next part of an upload.
const PATIENCE: Span = Span(60_000_000_000);

/// A body of unknown length is gathered up to this size (bytes): programs are told the length first.
const GATHERED_MAX: usize = 1024 * 1024;

/// What is to be sent to a program.
pub(super) enum Upload {
    None,
    Whole(Bytes),
    /// It comes from the client, with so many bytes.
    Coming(Incoming, u64),
}

/// Whether a client is waited for, and not the program.
#[derive(Clone, Default)]
pub(super) struct Awaited(Rc<Cell<bool>>);

impl Upload {
    /// The body of a request; one in chunks comes as a whole.
    pub(super) async fn take(body: Incoming) -> Result<Upload, Reply> {
        if body.is_end_stream() {
            return Ok(Upload::None);
        }
        if let Some(length) = body.size_hint().exact() {
            return Ok(Upload::Coming(body, length));
        }
        match tokio::time::timeout(PATIENCE.as_std(), Limited::new(body, GATHERED_MAX).collect()).await {
            Ok(Ok(body)) => Ok(Upload::Whole(body.to_bytes())),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                let words = format!("a body of more than {GATHERED_MAX} bytes says its length\n");
                Err(text(StatusCode::LENGTH_REQUIRED, words))
            }
            Ok(Err(_)) => Err(text(StatusCode::BAD_REQUEST, "the body of the request broke off\n")),
            Err(_) => Err(text(StatusCode::REQUEST_TIMEOUT, "the body of the request came too slowly\n")),
        }
    }

    /// Its bytes; none where there is no body.
    pub(super) fn length(&self) -> Option<u64> {
        match self {
            Upload::None => None,
            Upload::Whole(bytes) => Some(bytes.len() as u64),
            Upload::Coming(_, length) => Some(*length),
        }
    }

    /// Sends it on in pieces of at most `most` bytes, each as `wrap` has it.
    ///
    /// # Errors
    /// When the client or the program does not go on.
    pub(super) async fn send<W: AsyncWrite + Unpin>(
        self,
        to: &mut W,
        most: usize,
        awaited: &Awaited,
        wrap: impl Fn(&[u8]) -> Vec<u8>,
    ) -> io::Result<()> {
        let mut body = match self {
            Upload::None => return Ok(()),
            Upload::Whole(bytes) => {
                for piece in bytes.chunks(most) {
                    to.write_all(&wrap(piece)).await?;
                }
                return Ok(());
            }
            Upload::Coming(body, _) => body,
        };
        loop {
            awaited.0.set(true);
            let next = tokio::time::timeout(PATIENCE.as_std(), body.frame()).await;
            awaited.0.set(false);
            match next {
                Ok(Some(Ok(frame))) => {
                    for piece in frame.into_data().unwrap_or_default().chunks(most) {
                        to.write_all(&wrap(piece)).await?;
                    }
                }
                Ok(None) => return Ok(()),
                Ok(Some(Err(error))) => return Err(io::Error::other(error)),
                Err(_) => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
    }
}

impl Awaited {
    /// Whether the client is waited for.
    pub(super) fn is_client(&self) -> bool {
        self.0.get()
    }
}
