//! What several threads or shares recorded, as one.

use std::collections::BTreeMap;

use super::Recorder;
use super::slice::Slice;

impl Recorder {
    /// What several threads or shares recorded, as one: backends in order of name, records in order of number.
    pub(crate) fn merged(recorders: Vec<Recorder>) -> Recorder {
        let mut names: BTreeMap<Vec<u8>, [u64; 2]> = BTreeMap::new();
        for (name, [replies, bytes]) in recorders.iter().flat_map(|recorder| &recorder.backends) {
            let all = names.entry(name.clone()).or_default();
            all[0] += replies;
            all[1] += bytes;
        }
        let backends: Vec<(Vec<u8>, [u64; 2])> = names.into_iter().collect();
        let mut recorders = recorders.into_iter().map(|recorder| recorder.renumbered(&backends));
        let mut all = recorders.next().expect("a run has at least one thread");
        for recorder in recorders {
            all.absorb(recorder);
        }
        if let Some(records) = &mut all.records {
            records.sort_by_key(|record| (record.k, record.planned));
        }
        all.backends = backends;
        all
    }

    /// With the numbers of all `backends` for its own.
    fn renumbered(mut self, backends: &[(Vec<u8>, [u64; 2])]) -> Recorder {
        let number = |(name, _): &(Vec<u8>, [u64; 2])| {
            backends.binary_search_by(|(other, _)| other.cmp(name)).expect("every name is in it") as u16
        };
        let numbers: Vec<u16> = self.backends.iter().map(number).collect();
        for record in self.records.iter_mut().flatten() {
            record.backend = record.backend.map(|backend| numbers[usize::from(backend)]);
        }
        if let Some(objects) = &mut self.objects {
            objects.renumber(&numbers, backends.len());
        }
        self
    }

    /// Adds what another thread's recorder holds, its backends numbered in the same way.
    fn absorb(&mut self, other: Recorder) {
        self.whole.add(&other.whole);
        for (window, more) in self.windows.iter_mut().zip(&other.windows) {
            window.response.merge(&more.response);
            window.service_sum_ns += more.service_sum_ns;
            window.counts.add(&more.counts);
        }
        self.service.merge(&other.service);
        self.lateness.merge(&other.lateness);
        if self.slices.len() < other.slices.len() {
            self.slices.resize(other.slices.len(), Slice::default());
        }
        for (slice, more) in self.slices.iter_mut().zip(&other.slices) {
            slice.planned += more.planned;
            slice.begun += more.begun;
            slice.ok += more.ok;
            slice.failed += more.failed;
            slice.response_sum_ns += more.response_sum_ns;
            slice.bytes += more.bytes;
            slice.objects += more.objects;
            slice.wrong += more.wrong;
            slice.abandoned += more.abandoned;
            slice.again += more.again;
        }
        self.may_leave |= other.may_leave;
        self.may_try_again |= other.may_try_again;
        if let (Some(emitted), Some(more)) = (&mut self.emitted, other.emitted) {
            emitted.absorb(more);
        }
        self.begun_in_time += other.begun_in_time;
        if let (Some(records), Some(mut more)) = (&mut self.records, other.records) {
            records.append(&mut more);
        }
        if let (Some(objects), Some(more)) = (&mut self.objects, other.objects) {
            objects.absorb(more);
        }
        if let (Some(passes), Some(more)) = (&mut self.passes, other.passes) {
            passes.absorb(more);
        }
        self.intervals.absorb(other.intervals);
        for (steps, more) in self.steps.iter_mut().zip(other.steps) {
            steps.absorb(more);
        }
        self.refusals.absorb(other.refusals);
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.connections.add(&other.connections);
        self.bytes += other.bytes;
        self.area_ns += other.area_ns;
        self.inside_sum_ns += other.inside_sum_ns;
        self.last_done = self.last_done.max(other.last_done);
    }
}
