//! What a policy in another language sees of the table: rows of numbers, one per server, and the request.

use pyo3::prelude::*;
use sojourn_dispatch::{Ask, BackendId, Signals};

/// A row of whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// What a policy compares: requests in flight and leases, or what the last poll said.
    Load,
    /// Requests forwarded and not yet ended.
    InFlight,
    /// Complete replies so far.
    Completed,
    /// Requests without a reply, or with a broken one, so far.
    Failed,
}

/// A row of numbers; what is not known is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Real {
    Weight,
    /// Mean time to the first byte in the averaging window (s).
    RoundTrip,
    /// Busy share of the processor, as reported and raised by choices since.
    Cpu,
    /// Requests per second that it could take in addition, as reported and lowered by choices since.
    Room,
    /// Requests per second that it can take in all, as reported.
    Capacity,
    /// Requests that it had, as reported.
    Reported,
    /// How old the last report is (s).
    ReportAge,
}

pub(crate) const COUNTS: [(&str, Count); 4] =
    [("load", Count::Load), ("in_flight", Count::InFlight), ("completed", Count::Completed), ("failed", Count::Failed)];

pub(crate) const REALS: [(&str, Real); 7] = [
    ("weight", Real::Weight),
    ("round_trip", Real::RoundTrip),
    ("cpu", Real::Cpu),
    ("room", Real::Room),
    ("capacity", Real::Capacity),
    ("reported", Real::Reported),
    ("report_age", Real::ReportAge),
];

/// What one choice is made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sheet {
    counts: Vec<Count>,
    reals: Vec<Real>,
    /// Row after row.
    pub(crate) whole: Vec<i64>,
    pub(crate) real: Vec<f64>,
    pub(crate) servers: usize,
    pub(crate) candidates: Vec<i64>,
    /// Client, key of the path, class, object, bytes of the reply (-1 where they are not known).
    pub(crate) request: [i64; 5],
    /// The time (s).
    pub(crate) now_s: f64,
}

impl Sheet {
    /// A sheet with these rows.
    pub(crate) fn new(counts: Vec<Count>, reals: Vec<Real>) -> Sheet {
        Sheet { counts, reals, ..Sheet::default() }
    }

    /// All rows that these signals fill.
    pub(crate) fn of_signals(signals: Signals) -> Sheet {
        let count = |count: &Count| match count {
            Count::Load => signals.intersects(Signals::IN_FLIGHT | Signals::REPORTS),
            _ => signals.contains(Signals::IN_FLIGHT),
        };
        let real = |real: &Real| match real {
            Real::Weight => true,
            Real::RoundTrip => signals.intersects(Signals::FIRST_BYTE | Signals::CLIENT_FIRST_BYTE),
            Real::Cpu => signals.contains(Signals::UTILIZATION),
            Real::Room | Real::Capacity => signals.contains(Signals::ROOM),
            Real::Reported | Real::ReportAge => signals.contains(Signals::REPORTS),
        };
        let counts = COUNTS.map(|(_, row)| row).into_iter().filter(count).collect();
        Sheet::new(counts, REALS.map(|(_, row)| row).into_iter().filter(real).collect())
    }

    /// Copies what is known now.
    pub(crate) fn fill(&mut self, ask: &Ask<'_>) {
        let Ask { request, table, now, .. } = *ask;
        self.servers = table.len();
        self.candidates.clear();
        self.candidates.extend(ask.candidates().map(|id| i64::from(id.0)));
        self.whole.clear();
        self.real.clear();
        let ids = (0..table.len() as u32).map(BackendId);
        for row in &self.counts {
            match row {
                Count::Load => self.whole.extend(ids.clone().map(|id| i64::from(table.load(id)))),
                Count::InFlight => self.whole.extend(ids.clone().map(|id| i64::from(table.in_flight(id)))),
                Count::Completed => self.whole.extend(ids.clone().map(|id| table.totals(id).completed as i64)),
                Count::Failed => self.whole.extend(ids.clone().map(|id| table.totals(id).failed as i64)),
            }
        }
        let known = |value: Option<f32>| value.map_or(f64::NAN, f64::from);
        for row in &self.reals {
            let of = |id: BackendId| match row {
                Real::Weight => table.weight(id),
                Real::RoundTrip => table.window(id).mean_round_trip().map_or(f64::NAN, |mean| mean.as_secs_f64()),
                Real::Cpu => known(table.believed_cpu(id)),
                Real::Room => known(table.believed_room(id)),
                Real::Capacity => known(table.report(id).map(|report| report.capacity)),
                Real::Reported => table.report(id).map_or(f64::NAN, |report| f64::from(report.in_flight)),
                Real::ReportAge => table.report_age(id, now).map_or(f64::NAN, |age| age.as_secs_f64()),
            };
            self.real.extend(ids.clone().map(of));
        }
        let size = request.size.map_or(-1, |size| size as i64);
        let class = i64::from(request.class);
        self.request = [request.client as i64, request.key as i64, class, i64::from(request.object), size];
        self.now_s = now.0 as f64 / 1e9;
    }

    /// A server's number in a row of counts; none where the row is not there.
    pub(crate) fn count(&self, row: Count, server: usize) -> Option<i64> {
        let place = self.counts.iter().position(|one| *one == row)?;
        self.whole.get(place * self.servers + server).copied().filter(|_| server < self.servers)
    }

    /// The same of a row of reals.
    pub(crate) fn real(&self, row: Real, server: usize) -> Option<f64> {
        let place = self.reals.iter().position(|one| *one == row)?;
        self.real.get(place * self.servers + server).copied().filter(|_| server < self.servers)
    }

    pub(crate) fn has_count(&self, row: Count) -> bool {
        self.counts.contains(&row)
    }

    pub(crate) fn has_real(&self, row: Real) -> bool {
        self.reals.contains(&row)
    }
}

/// The rows of these names.
pub(crate) fn rows<T: Copy>(known: &[(&str, T)], names: &[String]) -> PyResult<Vec<T>> {
    let of = |name: &String| {
        let found = known.iter().find(|(of, _)| of == name).map(|(_, row)| *row);
        found.ok_or_else(|| crate::error::input(format!("there is no row `{name}` to read")))
    };
    names.iter().map(of).collect()
}
