//! Where intervals end: no time is negative, however uneven a run is.

use sojourn_stats::Estimate;

use super::{MS, clean};

/// In one of twenty parts of the run replies take four hundred times as long. By the spread of the parts alone the mean could be
/// below 0: half of its interval is 2.09 x 0.22 / sqrt(20) of what the slow part takes, and the mean a twentieth.
#[test]
fn no_interval_of_a_run_says_what_cannot_be() {
    let mut script = clean();
    let slow = script.requests.len() / 20;
    script.requests.iter_mut().take(slow).for_each(|one| one.done += 2_000 * MS);
    let report = script.report();
    let mean = report.measures.iter().find(|measure| measure.metric == "response_time_mean").unwrap();
    let Estimate::Sampled { value, ci_low, ci_high, .. } = mean.estimate else { panic!("{mean:?}") };
    assert!(ci_low == 0.0 && ci_high > 2.0 * value, "{mean:?}");
    for measure in &report.measures {
        assert_eq!(*measure, measure.within_range());
    }
}
