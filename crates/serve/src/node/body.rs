//! The bodies that a node sends.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::mpsc;

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
    Stream { frames: mpsc::Receiver<io::Result<Bytes>>, left: Option<u64> },
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

    /// What comes from elsewhere, and how many bytes, where that is known.
    pub(crate) fn stream(frames: mpsc::Receiver<io::Result<Bytes>>, size: Option<u64>) -> NodeBody {
        NodeBody { kind: Kind::Stream { frames, left: size }, _in_flight: None }
    }

    /// The same body, for a request that is in flight until it is sent.
    pub(crate) fn with(self, in_flight: InFlight) -> NodeBody {
        NodeBody { _in_flight: Some(in_flight), ..self }
    }

    /// Bytes still to send, where that is known.
    pub(crate) fn size(&self) -> Option<u64> {
        match &self.kind {
            Kind::Whole(bytes) => Some(bytes.len() as u64),
            Kind::Filler { left } | Kind::File { left, .. } => Some(*left),
            Kind::Stream { left, .. } => *left,
        }
    }
}

impl Body for NodeBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Kind::Stream { frames, left } = &mut self.kind {
            let frame = ready!(frames.poll_recv(context));
            if let (Some(Ok(bytes)), Some(left)) = (&frame, left) {
                *left = left.saturating_sub(bytes.len() as u64);
            }
            return Poll::Ready(frame.map(|bytes| bytes.map(Frame::data)));
        }
        let size = self.size().unwrap_or(0).min(CHUNK);
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
            Kind::Stream { .. } => unreachable!("it has been polled"),
        };
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.size() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.size().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
