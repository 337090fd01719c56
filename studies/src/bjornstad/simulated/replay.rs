//! Replays: one queue with given gaps and demands, under each discipline that could explain his measurements.

use sojourn_model::Discipline;
use sojourn_sim::single::{self, Arrival, Queue};
use sojourn_stats::{Moments, Span, Time};

use crate::bjornstad::series::targets_s;

/// The disciplines, and their names on the page. Turns of round robin and time slices are relative to the mean demand.
pub(in crate::bjornstad) const DISCIPLINES: [(&str, Kind); 12] = [
    ("FCFS", Kind::Fcfs),
    ("PS", Kind::Ps),
    ("LAS", Kind::LeastAttained),
    ("LCFS-PR", Kind::LastFirst),
    ("RR, E[S]/8", Kind::Turns(0.125)),
    ("RR, E[S]/2", Kind::Turns(0.5)),
    ("RR, E[S]", Kind::Turns(1.0)),
    ("RR, 2 E[S]", Kind::Turns(2.0)),
    ("slices, E[S]/2", Kind::Slices(0.5)),
    ("slices, E[S]", Kind::Slices(1.0)),
    // Linux 2.6 gave a process 100 ms, and his mean demand is 90.
    ("slices, 1.1 E[S]", Kind::Slices(100.0 / 90.0)),
    ("slices, 2 E[S]", Kind::Slices(2.0)),
];

/// The index of FCFS, PS and LAS in [`DISCIPLINES`].
pub(in crate::bjornstad) const FCFS: usize = 0;
pub(in crate::bjornstad) const PS: usize = 1;
pub(in crate::bjornstad) const LAS: usize = 2;

/// A discipline, with the mean demand as its unit of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::bjornstad) enum Kind {
    Fcfs,
    Ps,
    LeastAttained,
    /// Preemptive last come, first served.
    LastFirst,
    /// Round robin with turns of this fraction of the mean demand.
    Turns(f64),
    /// The same with newcomers first, as a kernel favours a process that has slept.
    Slices(f64),
}

impl Kind {
    fn discipline(self, service_s: f64) -> Discipline {
        match self {
            Kind::Fcfs => Discipline::Fcfs,
            Kind::Ps => Discipline::Ps,
            Kind::LeastAttained => Discipline::LeastAttained,
            Kind::LastFirst => Discipline::Lcfs { preemptive: true },
            Kind::Turns(part) => Discipline::RoundRobin { quantum: Span::from_secs_f64(part * service_s) },
            Kind::Slices(part) => {
                Discipline::TimeSlices { quantum: Span::from_secs_f64(part * service_s), helpers: u32::MAX }
            }
        }
    }
}

/// Calls `tell` with every job's number and response time (s); `service_s` is the mean demand.
fn play(kind: Kind, service_s: f64, gaps_s: &[f64], demands_s: &[f64], mut tell: impl FnMut(u64, f64)) {
    let mut now_s = 0.0;
    let arrivals = gaps_s.iter().zip(demands_s).map(|(gap_s, demand_s)| {
        now_s += gap_s;
        Arrival { at: Time::from_secs_f64(now_s), demand: Span::from_secs_f64(*demand_s), class: 0 }
    });
    let queue = Queue { discipline: kind.discipline(service_s), cores: 1, capacity: None };
    single::play(&queue, arrivals, |job| tell(job.number, (job.left - job.arrival.at).as_secs_f64()));
}

/// The response time of each job (s), in order of arrival.
pub(in crate::bjornstad) fn responses_s(kind: Kind, service_s: f64, gaps_s: &[f64], demands_s: &[f64]) -> Vec<f64> {
    let mut responses = vec![0.0; gaps_s.len()];
    play(kind, service_s, gaps_s, demands_s, |number, response_s| responses[number as usize] = response_s);
    responses
}

/// Mean and standard deviation of the response times, and the times of [`TARGETS`](crate::bjornstad::series::TARGETS) (s).
pub(super) fn summary(kind: Kind, service_s: f64, gaps_s: &[f64], demands_s: &[f64]) -> (f64, f64, [f64; 4]) {
    let mut responses_s = responses_s(kind, service_s, gaps_s, demands_s);
    let moments: Moments = responses_s.iter().copied().collect();
    (moments.mean(), moments.variance().sqrt(), targets_s(&mut responses_s))
}

/// Mean and standard deviation of the response times (s).
pub(super) fn moments(kind: Kind, service_s: f64, gaps_s: &[f64], demands_s: &[f64]) -> (f64, f64) {
    let mut moments = Moments::default();
    play(kind, service_s, gaps_s, demands_s, |_, response_s| moments.push(response_s));
    (moments.mean(), moments.variance().sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_jobs_by_hand() {
        // At 1, 2 and 2.5 s, with 2, 1 and 0.25 s of work; turns of a quarter of a second.
        let (gaps, demands) = ([1.0, 1.0, 0.5], [2.0, 1.0, 0.25]);
        let of = |kind| responses_s(kind, 1.0, &gaps, &demands);
        assert_eq!(of(Kind::Fcfs), [2.0, 2.0, 1.75]);
        // LCFS-PR: the third is through at once, then the second, then the first.
        assert_eq!(of(Kind::LastFirst), [3.25, 1.25, 0.25]);
        // Slices of a quarter: the second has 2 to 2.25, the first 2.25 to 2.5, the third 2.5 to 2.75; the second 2.75 to
        // 3, the first to 3.25, the second to 3.5, the first to 3.75, where it has 0.25 left; the second to 4.
        assert_eq!(of(Kind::Slices(0.25)), [3.25, 2.0, 0.25]);
        // LAS: at 2.5 the second has had 0.5 and the first 1; the newcomer goes first. Then the second alone up to 1,
        // where it is done.
        assert_eq!(of(Kind::LeastAttained), [3.25, 1.25, 0.25]);
        // PS: 2 to 2.5 halves; 2.5 to 3.25 thirds, which serves the third's 0.25; the second has 0.5 left, the first
        // 0.5: both at 4.25.
        let shared = of(Kind::Ps);
        for (ours, wanted) in shared.iter().zip([3.25, 2.25, 0.75]) {
            assert!((ours - wanted).abs() < 1e-8, "{shared:?}");
        }
        let (mean, std) = moments(Kind::Fcfs, 1.0, &gaps, &demands);
        assert!((mean - 23.0 / 12.0).abs() < 1e-12 && (std - (1.0f64 / 48.0).sqrt()).abs() < 1e-12);
    }
}
