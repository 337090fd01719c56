//! The jobs inside: where each of them is, and the work it brings.

use sojourn_stats::{Span, Time};

/// A job inside.
#[derive(Clone, Copy)]
pub(super) struct Job {
    /// When it came into the network.
    pub(super) asked: Time,
    /// When it came to the station where it is.
    pub(super) came: Time,
    pub(super) chain: u32,
    /// Its user, where its chain is closed.
    pub(super) user: u32,
    pub(super) branch: u32,
    /// Its class of sizes.
    pub(super) size_class: u32,
    /// The step of its branch that it is at.
    pub(super) step: u32,
    pub(super) inside: bool,
}

/// The jobs inside, and the work of all steps of each: a slab.
pub(super) struct Jobs {
    slab: Vec<Job>,
    /// The work of the job in slot i begins at i x `stride`.
    work: Vec<Span>,
    /// Steps of the longest branch.
    stride: usize,
    free: Vec<u32>,
    /// There is no room for more than these.
    most: u32,
}

impl Jobs {
    /// No jobs yet, and room for `most`; none takes more than `stride` steps.
    pub(super) fn new(stride: usize, most: u32) -> Jobs {
        Jobs { slab: Vec::new(), work: Vec::new(), stride, free: Vec::new(), most }
    }

    /// How many jobs were inside when there was no room for more at some time.
    #[inline]
    pub(super) fn overflowed(&self) -> Option<usize> {
        (self.slab.len() >= self.most as usize).then_some(self.slab.len())
    }

    /// A job comes in.
    #[inline]
    pub(super) fn put(&mut self, job: Job) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slab[slot as usize] = job;
                slot
            }
            None => {
                self.slab.push(job);
                self.work.resize(self.slab.len() * self.stride, Span::ZERO);
                (self.slab.len() - 1) as u32
            }
        }
    }

    #[inline]
    pub(super) fn at(&mut self, slot: u32) -> &mut Job {
        &mut self.slab[slot as usize]
    }

    /// The work of a job, step by step.
    #[inline]
    pub(super) fn work(&mut self, slot: u32) -> &mut [Span] {
        let start = slot as usize * self.stride;
        &mut self.work[start..start + self.stride]
    }

    /// A job goes out.
    #[inline]
    pub(super) fn release(&mut self, slot: u32) {
        self.slab[slot as usize].inside = false;
        self.free.push(slot);
    }

    /// All of them.
    pub(super) fn inside(&self) -> impl Iterator<Item = &Job> {
        self.slab.iter().filter(|job| job.inside)
    }
}
