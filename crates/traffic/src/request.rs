//! A request, and what is drawn with it wherever it comes from: the work that it costs and the client's patience.
//!
//! These are the types that plans, scripts and visitors share. A request is small, because the simulator keeps one for
//! every job; whatever a policy can derive from it is not in it.

use sojourn_stats::{Law, Span, Stream};

/// The class of every request of a workload without classes.
pub(crate) const STATIC: u8 = 0;

/// One request, as its client will send it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Who asks: a small number, unique per client; the key of address hashing and cookies.
    pub client: u32,
    /// Index into [`Workload::classes`]; 0 where a workload has no classes of its own.
    pub class: u8,
    /// What is asked for: an index into the workload's objects, or a number of its own where there are none.
    pub object: u32,
    /// Bytes of the reply's body.
    pub size: u64,
    /// Work on a server of speed 1.
    pub demand: Span,
    /// How long the client waits before it gives up, from the planned instant; [`Span::FOREVER`] when it never does.
    pub patience: Span,
}

/// The work that a request costs a server of speed 1. The server model's, lent to the plan so that both engines get
/// the same draw.
pub trait Demand: Send + Sync {
    /// Draws the demand of a request of `class` with a reply of `size` bytes.
    fn draw(&self, class: u8, size: u64, stream: &mut Stream) -> Span;
}

impl<F: Fn(u8, u64, &mut Stream) -> Span + Send + Sync> Demand for F {
    fn draw(&self, class: u8, size: u64, stream: &mut Stream) -> Span {
        self(class, size, stream)
    }
}

/// How long clients wait.
pub(crate) struct Patience(Option<(Law, Stream)>);

impl Patience {
    pub(crate) fn new(law: Option<&Law>, seed: u64, entity: &str) -> Patience {
        Patience(law.map(|law| (law.clone(), Stream::new(seed, entity, "patience"))))
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Span {
        match &mut self.0 {
            None => Span::FOREVER,
            Some((law, stream)) => Span::from_secs_f64(law.sample(stream)),
        }
    }
}
