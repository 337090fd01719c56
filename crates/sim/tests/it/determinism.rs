//! The same seed gives the same bytes, at any number of threads.

use sojourn_sim::{Control, Precision, WarmUp};
use sojourn_stats::Span;

use crate::support::{cluster, simulate};

#[test]
fn threads_change_nothing() {
    let server = "discipline = \"limited-ps\"\nhelpers = 8\ndemand = \"exponential(mean = 10 ms)\"";
    let scenario = cluster("exponential(utilization = 0.7)", "least-connections", 4, server);
    let mut scenario = scenario;
    let sojourn_traffic::Workload::Open(open) = &mut scenario.workload else { unreachable!() };
    open.arrivals.settle(400.0);
    for (warm_up, horizon) in [(WarmUp::Auto, None), (WarmUp::Fixed(Span(2_000_000_000)), Some(Span(20_000_000_000)))] {
        let control = |threads| Control {
            seed: 7,
            warm_up,
            horizon,
            precision: Some(Precision { relative: 0.03, confidence: 0.95 }),
            max_jobs: 400_000,
            threads,
            ..Control::default()
        };
        let [one, four] = [1, 4].map(|threads| simulate(&scenario, &control(threads)).unwrap());
        assert_eq!(one, four);
        assert!(one.converged, "{:?}", one.notes);
        let other = simulate(&scenario, &Control { seed: 8, ..control(1) }).unwrap();
        assert_ne!(one, other);
    }
}
