//! The player of replications: on one thread or several, between looks at the outside world.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::iter::{IntoParallelRefMutIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::subject::Replication;
use crate::control::{Control, Progress, SimError};

/// The outside world: it gets progress, and may stop the run.
pub(crate) struct Outside<'a> {
    progress: &'a (dyn Fn(Progress) + Sync),
    cancel: Option<&'a AtomicBool>,
    jobs: AtomicU64,
    pub(crate) planned: u64,
    pub(crate) relative: Option<f64>,
}

impl<'a> Outside<'a> {
    pub(crate) fn new(control: &'a Control, progress: &'a (dyn Fn(Progress) + Sync)) -> Outside<'a> {
        let cancel = control.cancel.as_deref();
        Outside { progress, cancel, jobs: AtomicU64::new(0), planned: 0, relative: None }
    }

    pub(crate) fn cancelled(&self) -> bool {
        self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }

    pub(crate) fn report(&self, jobs: u64) {
        let jobs = self.jobs.fetch_add(jobs, Ordering::Relaxed) + jobs;
        (self.progress)(Progress { jobs, planned: self.planned.max(jobs), relative: self.relative });
    }
}

/// The threads to play on; none: the caller's.
pub(crate) fn pool(control: &Control) -> Result<Option<ThreadPool>, SimError> {
    match control.threads {
        0 | 1 => Ok(None),
        threads => {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build();
            pool.map(Some).map_err(|error| SimError::Threads(error.to_string()))
        }
    }
}

pub(crate) fn play<E: Send>(pool: Option<&ThreadPool>, engines: &mut [E], one: impl Fn(&mut E) + Sync + Send) {
    match pool {
        None => engines.iter_mut().for_each(one),
        Some(pool) => pool.install(|| engines.par_iter_mut().for_each(one)),
    }
}

/// Plays all replications, as many side by side as can be while every thread has as much to do.
pub(super) fn play_groups<E: Replication>(
    pool: Option<&ThreadPool>,
    all: &mut [E],
    some: impl Fn(&mut [E]) + Sync + Send,
) {
    let threads = pool.map_or(1, ThreadPool::current_num_threads);
    let groups = all.len().div_ceil(E::SIDE_BY_SIDE).next_multiple_of(threads);
    let size = all.len().div_ceil(groups.max(1)).max(1);
    match pool {
        None => all.chunks_mut(size).for_each(some),
        Some(pool) => pool.install(|| all.par_chunks_mut(size).for_each(some)),
    }
}

/// Plays replications in steps, between which it looks at the outside world: each up to the number of ended requests that `step`
/// says, while it says one and something is left to happen.
pub(super) fn in_steps<E: Replication>(group: &mut [E], outside: &Outside<'_>, step: impl Fn(&E) -> Option<u64>) {
    let mut over = vec![false; group.len()];
    while !outside.cancelled() {
        let until: Vec<Option<u64>> =
            group.iter().zip(&over).map(|(engine, over)| if *over { None } else { step(engine) }).collect();
        if until.iter().all(Option::is_none) {
            break;
        }
        let before: Vec<u64> = group.iter().map(E::ended).collect();
        let now_over = E::run_together(group, &until);
        over.iter_mut().zip(now_over).for_each(|(over, now)| *over |= now);
        let steps = group.iter().zip(before).map(|(engine, before)| engine.ended() - before);
        steps.filter(|jobs| *jobs > 0).for_each(|jobs| outside.report(jobs));
    }
}
