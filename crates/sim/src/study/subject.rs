//! The subject of a study: what is replicated, and what one replication of it can do.

use rayon::ThreadPool;
use sojourn_stats::{Batches, Histogram};

use crate::control::{OverTime, SimError};
use crate::course::{Course, Phases};
use crate::summary::Row;

/// One replication, whatever it is of.
pub(crate) trait Replication: Send + Sized {
    /// Where in its course it is.
    fn phases(&self) -> &Phases;

    /// Requests that have ended so far, warm-up included.
    fn ended(&self) -> u64;

    /// Requests that have ended since counting began.
    fn counted(&self) -> u64;

    /// How many requests were inside when there was no room for more, and no more was let in.
    fn overflowed(&self) -> Option<usize>;

    /// Takes one event; false when there is none.
    fn step(&mut self) -> bool;

    /// Nothing is left to happen.
    fn finish(&mut self);

    /// Asserts the conservation laws.
    fn settle_books(&self);

    /// Requests that have ended since the warm-up, and count.
    fn measured(&self) -> u64 {
        if self.phases().is_warming_up() { 0 } else { self.counted() }
    }

    /// Takes events until `ended` requests have ended, or nothing is left to happen (then true).
    fn run_until(&mut self, ended: u64) -> bool {
        let mut over = false;
        while self.ended() < ended && !over {
            over = !self.step();
        }
        if over {
            self.finish();
        }
        self.settle_books();
        over
    }

    /// So many are played side by side, where there are as many.
    const SIDE_BY_SIDE: usize = 1;

    /// As [`Replication::run_until`] for each of `group` that has a number.
    fn run_together(group: &mut [Self], until: &[Option<u64>]) -> Vec<bool> {
        group.iter_mut().zip(until).map(|(one, until)| until.is_some_and(|ended| one.run_until(ended))).collect()
    }

    /// The response times measured by all of `replications`.
    fn responses(replications: &[&Self]) -> Histogram;

    /// Every metric of `replications`.
    fn rows(replications: &[&Self]) -> Vec<Row>;

    /// Counting begins anew, at the last event.
    fn begin_anew(&mut self) {}

    /// Response times in the order of their ends, where they are kept for what they tell of the system's memory.
    fn remembered(&self) -> Option<&Batches> {
        None
    }

    /// Where the requests of `replications` went over time, where that is counted; `alike` of them tell as much as one.
    fn over_time(_replications: &[&Self], _alike: f64) -> Option<OverTime> {
        None
    }
}

/// Makes the replication of a seed.
pub(crate) type Make<'a, E> = dyn Fn(u64, &Course) -> Result<E, SimError> + 'a;

/// Rows and notes beside the metrics.
type Closing<'a, E> = dyn Fn(&[E], Option<&ThreadPool>) -> Result<(Vec<Row>, Vec<String>), SimError> + 'a;

/// How a subject of several parts forgets its state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forgets {
    /// No sooner than its slowest part.
    AsOnePart,
    /// Server by server, none of which knows of the others: their sum is soon narrow, and no sooner right than one of them.
    EachAlone,
    /// Perhaps sooner than one server alone: requests go where there is room.
    Together,
}

/// What is replicated.
pub(crate) struct Subject<'a, E> {
    pub(crate) make: Box<Make<'a, E>>,
    /// It ends by itself.
    pub(crate) has_end: bool,
    /// How many servers it has.
    pub(crate) servers: usize,
    /// How many users wait for replies.
    pub(crate) users: u64,
    /// Requests that come by themselves (1/s), where nothing changes that rate or what becomes of them.
    pub(crate) rate: Option<f64>,
    /// How it forgets its state, against one of its parts.
    pub(crate) forgets: Forgets,
    /// The metrics that must be sharp whatever else is asked for.
    pub(crate) always: Vec<String>,
    /// What a reader must know beforehand.
    pub(crate) notes: Vec<String>,
    /// What else is known of all replications at the end.
    pub(crate) closing: Box<Closing<'a, E>>,
}
