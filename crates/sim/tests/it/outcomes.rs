//! Outcomes over time, of events that are told one by one.

use sojourn_sim::{Failure, OutcomesOverTime};
use sojourn_stats::{Span, Time};

const MS: u64 = 1_000_000;

/// All that is counted belongs to the interval in which it happens, and percentiles to that of the reply: intervals without one
/// have none, and the last one, which nothing has followed yet, has its own.
#[test]
fn each_interval_has_its_own() {
    let mut outcomes = OutcomesOverTime::new(Span(1000 * MS), Vec::new(), Time(5000 * MS));
    for (at_ms, count, response_ms) in [(500, 10, 5), (2500, 196, 10), (2600, 4, 900), (3999, 1, 70)] {
        for _ in 0..count {
            outcomes.arrived(Time((at_ms - response_ms) * MS));
            outcomes.answered(Time(at_ms * MS), Span(response_ms * MS));
        }
    }
    outcomes.again(Time(1000 * MS));
    outcomes.arrived(Time(999 * MS));
    outcomes.failed(Time(1999 * MS), Failure::TimedOut);
    let (columns, measures) = outcomes.told(Time::ZERO);
    let values = |metric: &str| -> Vec<Option<f64>> {
        let column = columns.iter().find(|column| column.metric == metric).unwrap_or_else(|| panic!("no {metric}"));
        column.values.iter().map(|estimate| estimate.value()).collect()
    };
    let all = |values: [f64; 4]| values.map(Some).to_vec();
    assert_eq!(values("arrivals"), all([11.0, 4.0, 196.0, 1.0]));
    assert_eq!(values("attempts"), all([11.0, 5.0, 196.0, 1.0]));
    assert_eq!(values("goodput"), all([10.0, 0.0, 200.0, 1.0]));
    assert_eq!(values("timed_out"), all([0.0, 1.0, 0.0, 0.0]));
    assert_eq!(values("in_flight"), all([1.0, 4.0, 0.0, 0.0]));
    // A bucket is within 0.4 % of what is in it.
    let is_near = |found: Option<f64>, expected: f64| found.is_some_and(|found| (found / expected - 1.0).abs() < 0.004);
    let p50 = values("response_time_p50");
    assert!(is_near(p50[0], 0.005) && p50[1].is_none() && is_near(p50[2], 0.01), "{p50:?}");
    let p99 = values("response_time_p99");
    assert!(p99[0].is_none() && p99[1].is_none() && is_near(p99[2], 0.9), "{p99:?}");
    let worst = measures.iter().find(|measure| measure.metric == "worst_second_p99").expect("it is told");
    assert!(is_near(worst.estimate.value(), 0.9), "{worst:?}");
}
