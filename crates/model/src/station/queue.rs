//! Places of jobs, and the queue of those that wait, which is a list through them.

use super::{Job, NO_SLOT, Phase, Station};

impl Station {
    /// Gives a job a place: a low one if any is free, which is known without a look at the places.
    #[inline]
    pub(super) fn keep(&mut self, job: Job) -> u32 {
        let slot = if self.free != 0 {
            let slot = self.free.trailing_zeros();
            self.free &= self.free - 1;
            slot
        } else if self.free_above != NO_SLOT {
            let slot = self.free_above;
            self.free_above = self.jobs[slot as usize].after;
            slot
        } else {
            self.jobs.push(job);
            return (self.jobs.len() - 1) as u32;
        };
        self.jobs[slot as usize] = job;
        slot
    }

    #[inline]
    pub(super) fn release(&mut self, slot: u32) {
        let job = &mut self.jobs[slot as usize];
        job.phase = Phase::Free;
        if slot < u32::BITS {
            self.free |= 1 << slot;
        } else {
            job.after = self.free_above;
            self.free_above = slot;
        }
    }

    #[inline]
    pub(super) fn enqueue(&mut self, slot: u32) {
        if self.waiting == 0 {
            self.first = slot;
        } else {
            self.jobs[self.last as usize].after = slot;
            self.jobs[slot as usize].before = self.last;
        }
        self.last = slot;
        self.waiting += 1;
    }

    /// Takes a job out of the queue. The link before the first job is not maintained.
    #[inline]
    pub(super) fn dequeue(&mut self, slot: u32) {
        let Job { before, after, .. } = self.jobs[slot as usize];
        self.waiting -= 1;
        if slot == self.first {
            self.first = after;
            return;
        }
        self.jobs[before as usize].after = after;
        if slot == self.last {
            self.last = before;
        } else {
            self.jobs[after as usize].before = before;
        }
    }
}
