//! The bodies that a node sends.
//!
//! They come in pieces that know when the kernel has taken them, so that the log has the bytes that were really sent, also of
//! a reply that broke off; and a request is in flight until the kernel has its last byte, not until hyper has. The price is
//! a counter beside the bytes of each piece.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Buf, Bytes, Frame, SizeHint};
use tokio::sync::mpsc;

use super::log::Line;
use super::requests::InFlight;
use super::section::Section;

/// Bytes per frame of a long body: large enough for few system calls, small enough to stay in the cache.
const CHUNK: u64 = 64 * 1024;

static FILLER: [u8; CHUNK as usize] = [b'x'; CHUNK as usize];

/// A body, and with it the knowledge that its request is still in flight, and the line of the log that tells of it.
pub(crate) struct NodeBody {
    kind: Kind,
    line: Option<Arc<Line>>,
    in_flight: Option<InFlight>,
}

enum Kind {
    Whole(Bytes),
    Filler { left: u64 },
    File(Section),
    Parts { parts: VecDeque<Part>, left: u64 },
    Stream(Stream),
}

/// A part of a body of several.
pub(super) enum Part {
    /// These bytes.
    Bytes(Bytes),
    /// Bytes of a file.
    File(Section),
}

/// A body that comes as a program makes it.
struct Stream {
    pieces: mpsc::Receiver<io::Result<Bytes>>,
    /// What is still to come, where the program has said so.
    left: Option<u64>,
}

/// Bytes on their way, and whose log line counts them.
pub(crate) struct Piece {
    bytes: Bytes,
    line: Option<Arc<Line>>,
    /// Of the last one.
    _in_flight: Option<InFlight>,
}

impl NodeBody {
    /// These bytes.
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> NodeBody {
        NodeBody::of(Kind::Whole(bytes.into()))
    }

    /// `size` bytes of no meaning.
    pub(crate) fn filler(size: u64) -> NodeBody {
        NodeBody::of(Kind::Filler { left: size })
    }

    /// Bytes of a file, read as they are sent.
    pub(super) fn file(section: Section) -> NodeBody {
        NodeBody::of(Kind::File(section))
    }

    /// These parts, one after another.
    pub(super) fn parts(parts: VecDeque<Part>) -> NodeBody {
        let left = parts.iter().map(Part::left).sum();
        NodeBody::of(Kind::Parts { parts, left })
    }

    /// What comes over `pieces`, `size` bytes of it where that is known. An error breaks the reply off, and so does an end
    /// before `size`. When the client has left, the sender's other side is closed.
    pub(crate) fn stream(pieces: mpsc::Receiver<io::Result<Bytes>>, size: Option<u64>) -> NodeBody {
        NodeBody::of(Kind::Stream(Stream { pieces, left: size }))
    }

    fn of(kind: Kind) -> NodeBody {
        NodeBody { kind, line: None, in_flight: None }
    }

    /// The same body, for a request that is in flight until it is sent.
    pub(crate) fn with(self, in_flight: InFlight) -> NodeBody {
        NodeBody { in_flight: Some(in_flight), ..self }
    }

    /// The same body, whose sent bytes are counted in a line of the log.
    pub(super) fn logged(self, line: Arc<Line>) -> NodeBody {
        NodeBody { line: Some(line), ..self }
    }

    /// Bytes still to send, where that is known.
    pub(crate) fn size(&self) -> Option<u64> {
        match &self.kind {
            Kind::Whole(bytes) => Some(bytes.len() as u64),
            Kind::Filler { left } | Kind::Parts { left, .. } => Some(*left),
            Kind::File(section) => Some(section.left()),
            Kind::Stream(stream) => stream.left,
        }
    }
}

impl Part {
    fn left(&self) -> u64 {
        match self {
            Part::Bytes(bytes) => bytes.len() as u64,
            Part::File(section) => section.left(),
        }
    }
}

impl Stream {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.left == Some(0) {
            return Poll::Ready(None);
        }
        let next = ready!(self.pieces.poll_recv(cx));
        Poll::Ready(match (next, &mut self.left) {
            (Some(Ok(mut bytes)), Some(left)) => {
                bytes.truncate((*left).min(bytes.len() as u64) as usize);
                *left -= bytes.len() as u64;
                Some(Ok(bytes))
            }
            (None, Some(left)) => Some(Err(io::Error::other(format!("{left} bytes of the reply are missing")))),
            (next, _) => next,
        })
    }
}

impl Body for NodeBody {
    type Data = Piece;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Piece>>>> {
        if self.size() == Some(0) {
            return Poll::Ready(None);
        }
        let bytes = match &mut self.kind {
            Kind::Whole(bytes) => std::mem::take(bytes),
            Kind::Filler { left } => {
                let size = (*left).min(CHUNK);
                *left -= size;
                Bytes::from_static(&FILLER[..size as usize])
            }
            Kind::File(section) => ready!(section.poll_next(cx, CHUNK))?,
            Kind::Parts { parts, left } => {
                while parts.front().is_some_and(|part| part.left() == 0) {
                    parts.pop_front();
                }
                let bytes = match parts.front_mut() {
                    Some(Part::Bytes(bytes)) => std::mem::take(bytes),
                    Some(Part::File(section)) => ready!(section.poll_next(cx, CHUNK))?,
                    None => unreachable!("what is left is in a part"),
                };
                *left -= bytes.len() as u64;
                bytes
            }
            Kind::Stream(stream) => match ready!(stream.poll_next(cx)) {
                Some(bytes) => bytes?,
                None => return Poll::Ready(None),
            },
        };
        let in_flight = if self.size() == Some(0) { self.in_flight.take() } else { None };
        Poll::Ready(Some(Ok(Frame::data(Piece { bytes, line: self.line.clone(), _in_flight: in_flight }))))
    }

    fn is_end_stream(&self) -> bool {
        self.size() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.size().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        if let Some(line) = &self.line {
            line.count(count as u64);
        }
    }
}
