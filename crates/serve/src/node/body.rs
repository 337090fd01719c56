//! The bodies that a node sends.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

use super::requests::InFlight;

/// Bytes per frame of a long body: large enough for few system calls, small enough to stay in the cache.
const CHUNK: u64 = 64 * 1024;

static FILLER: [u8; CHUNK as usize] = [b'x'; CHUNK as usize];

/// A body, and with it the knowledge that its request is still in flight.
pub(crate) struct NodeBody {
    kind: Kind,
    _in_flight: Option<InFlight>,
}

enum Kind {
    Whole(Bytes),
    Filler { left: u64 },
    File { file: File, at: u64, left: u64 },
}

impl NodeBody {
    /// These bytes.
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> NodeBody {
        NodeBody { kind: Kind::Whole(bytes.into()), _in_flight: None }
    }

    /// `size` bytes of no meaning.
    pub(crate) fn filler(size: u64) -> NodeBody {
        NodeBody { kind: Kind::Filler { left: size }, _in_flight: None }
    }

    /// The first `size` bytes of a file, read as they are sent.
    pub(crate) fn file(file: File, size: u64) -> NodeBody {
        NodeBody { kind: Kind::File { file, at: 0, left: size }, _in_flight: None }
    }

    /// The same body, for a request that is in flight until it is sent.
    pub(crate) fn with(self, in_flight: InFlight) -> NodeBody {
        NodeBody { _in_flight: Some(in_flight), ..self }
    }

    /// Bytes still to send.
    pub(crate) fn size(&self) -> u64 {
        match &self.kind {
            Kind::Whole(bytes) => bytes.len() as u64,
            Kind::Filler { left } | Kind::File { left, .. } => *left,
        }
    }
}

impl Body for NodeBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let size = self.size().min(CHUNK);
        if size == 0 {
            return Poll::Ready(None);
        }
        let bytes = match &mut self.kind {
            Kind::Whole(bytes) => std::mem::take(bytes),
            Kind::Filler { left } => {
                *left -= size;
                Bytes::from_static(&FILLER[..size as usize])
            }
            Kind::File { file, at, left } => {
                let mut chunk = vec![0; size as usize];
                // A file that shrank meanwhile breaks the reply off: its length has been promised.
                if let Err(error) = file.read_exact_at(&mut chunk, *at) {
                    return Poll::Ready(Some(Err(error)));
                }
                *at += size;
                *left -= size;
                chunk.into()
            }
        };
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.size() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.size())
    }
}
