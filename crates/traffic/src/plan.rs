//! The plan: who asks for what, and when. An open plan is ONE global arrival process; a closed one is a script per
//! user. The same workload and seed give the same plan to every engine.

use std::sync::Arc;

use sojourn_stats::{Span, Stream, Time};

use crate::workload::{Closed, Workload, WorkloadError};

/// One request, as its client will send it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Who asks: a small number, unique per client; the key of address hashing and cookies.
    pub client: u32,
    /// Index into the workload's class names (0 is `static`).
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

/// A request of an open plan at its planned instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// When it should be sent.
    pub at: Time,
    /// What is sent.
    pub request: Request,
}

/// A closed user's next step: think, then ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Thinking time since the last reply (or the start).
    pub think: Span,
    /// What is sent then.
    pub request: Request,
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

/// An open plan: requests in order of their planned instants. Ends when a log ends; endless otherwise.
pub struct Plan {
    demand: Arc<dyn Demand>,
}

impl Plan {
    /// The plan of an open or log `workload`.
    ///
    /// # Errors
    /// When the workload is closed, or its arrival rate was never settled.
    pub fn new(workload: &Workload, seed: u64, demand: Arc<dyn Demand>) -> Result<Plan, WorkloadError> {
        let _ = (workload, seed);
        Ok(Plan { demand })
    }
}

impl Iterator for Plan {
    type Item = Planned;
    fn next(&mut self) -> Option<Planned> {
        let _ = &self.demand;
        None
    }
}

/// The endless script of one closed user.
pub struct Script {
    demand: Arc<dyn Demand>,
}

impl Script {
    /// The script of user number `user`; a user's script does not depend on how many others there are.
    pub fn new(workload: &Closed, user: u32, seed: u64, demand: Arc<dyn Demand>) -> Script {
        let _ = (workload, user, seed);
        Script { demand }
    }

    /// The next step.
    pub fn step(&mut self) -> Step {
        let _ = &self.demand;
        unreachable!()
    }
}
