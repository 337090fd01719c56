//! The bodies that a gateway sends to backends, and whose fault it is when one stops: the client's, which sends it, or
//! the backend's, which takes it.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

/// The body of a request on its way to a backend.
pub(super) enum RequestBody {
    Empty,
    Stream(Incoming, Rc<Upload>),
}

/// How far an upload is, for what waits for the reply.
#[derive(Default)]
pub(super) struct Upload {
    stage: Cell<Stage>,
    has_moved: Cell<bool>,
}

/// What an upload waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// For the client to send more.
    #[default]
    Client,
    /// For the backend to take what there is.
    Backend,
    /// For nothing more: all of it has been handed over.
    Whole,
    /// For nothing more: it was malformed, or the client broke it off.
    Spoiled,
}

impl Upload {
    pub(super) fn stage(&self) -> Stage {
        self.stage.get()
    }

    /// Whether more of it has come since this was asked last.
    pub(super) fn has_moved(&self) -> bool {
        self.has_moved.take()
    }

    pub(super) fn note(&self, stage: Stage) {
        self.stage.set(stage);
        if stage != Stage::Client {
            self.has_moved.set(true);
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let RequestBody::Stream(body, upload) = &mut *self else { return Poll::Ready(None) };
        let polled = Pin::new(&mut *body).poll_frame(context);
        upload.note(match &polled {
            Poll::Pending => Stage::Client,
            Poll::Ready(Some(Ok(_))) if !body.is_end_stream() => Stage::Backend,
            Poll::Ready(Some(Ok(_)) | None) => Stage::Whole,
            Poll::Ready(Some(Err(_))) => Stage::Spoiled,
        });
        polled
    }

    fn is_end_stream(&self) -> bool {
        match self {
            RequestBody::Empty => true,
            RequestBody::Stream(body, _) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            RequestBody::Empty => SizeHint::with_exact(0),
            RequestBody::Stream(body, _) => body.size_hint(),
        }
    }
}
