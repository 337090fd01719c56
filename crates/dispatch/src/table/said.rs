//! What a backend said of itself, and what is believed on top of it until it says more.
//!
//! Rooms are kept in whole millionths of a request per second, so that a reservation that ends gives back what it took,
//! to the last bit. The price: what is more than 17 million requests per second counts as that many.

use crate::{Hardware, LoadBy, Origin, Report};

#[derive(Debug)]
pub(super) struct Said {
    pub(super) report: Option<Report>,
    pub(super) hardware: Hardware,
    pub(super) origin: Origin,
    /// How many reports there were that told a new room.
    pub(super) count: u64,
    /// Product of the relative rises of the choices since the report.
    cpu_rise: f32,
    /// What those choices took of the room.
    taken: u64,
    /// What is reserved of the room, whatever is reported.
    reserved: u64,
}

impl Default for Said {
    fn default() -> Said {
        Said {
            report: None,
            hardware: Hardware::default(),
            origin: Origin::default(),
            count: 0,
            cpu_rise: 1.0,
            taken: 0,
            reserved: 0,
        }
    }
}

impl Said {
    /// Takes a report. One that tells no new room ends nothing of what is believed.
    pub(super) fn take(&mut self, report: &Report) {
        if !(report.is_early && self.report.is_some()) {
            (self.cpu_rise, self.taken) = (1.0, 0);
            self.count += 1;
        }
        match &mut self.report {
            Some(last) => last.clone_from(report),
            none => *none = Some(report.clone()),
        }
    }

    pub(super) fn believe(&mut self, cpu: f32, room: f32) {
        self.cpu_rise *= 1.0 + cpu;
        self.taken = self.taken.saturating_add(micro(room.into()));
    }

    pub(super) fn reserve(&mut self, room: u64) {
        self.reserved += room;
    }

    /// Gives back what was reserved.
    pub(super) fn release(&mut self, room: u64) {
        self.reserved = self.reserved.checked_sub(room).expect("what ends was reserved");
    }

    pub(super) fn cpu(&self) -> Option<f32> {
        self.report.as_ref().map(|report| report.cpu * self.cpu_rise)
    }

    /// How many share the processor, a further request included.
    pub(super) fn cpu_load(&self, by: LoadBy) -> f64 {
        let there = self.report.as_ref().map_or(0.0, |report| by.of(report.cpu, report.queues[0]));
        (1.0 + there) * f64::from(self.cpu_rise)
    }

    pub(super) fn room(&self) -> Option<f32> {
        self.left().map(|left| (left as f64 / 1e6) as f32)
    }

    /// What is left of the room, at least 0; 0 where nothing was reported.
    pub(super) fn free(&self) -> u64 {
        self.left().map_or(0, |left| left.max(0) as u64)
    }

    /// As it was reported; 0 where nothing was.
    pub(super) fn capacity(&self) -> u64 {
        self.report.as_ref().map_or(0, |report| micro(report.capacity.into()))
    }

    /// Whether it has reported neither room nor capacity yet.
    pub(super) fn is_unknown(&self) -> bool {
        self.report.as_ref().is_none_or(|report| report.room == 0.0 && report.capacity == 0.0)
    }

    fn left(&self) -> Option<i64> {
        let taken = self.taken.saturating_add(self.reserved).min(1 << 62) as i64;
        self.report.as_ref().map(|report| micro(report.room.into()) as i64 - taken)
    }
}

/// A rate per second in whole millionths, at most 2^44 of them, so that a million backends can be summed up.
pub(super) fn micro(per_s: f64) -> u64 {
    ((per_s * 1e6).round() as u64).min(1 << 44)
}
