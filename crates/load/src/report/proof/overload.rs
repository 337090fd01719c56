//! A server that is asked for more than it can do: the load was the one asked for, and its times are of no steady state.

use super::{MS, clean};
use crate::report::Report;
use crate::report::verdict::Proof;

/// Requests a millisecond apart, of which a server that takes them one by one does each in so many milliseconds.
fn served_in(each: u64) -> Report {
    let mut script = clean();
    let mut free = 0;
    for one in &mut script.requests {
        free = free.max(one.begun) + each;
        one.done = free;
    }
    script.report()
}

#[test]
fn times_of_a_queue_that_grows_to_the_end_have_no_interval() {
    let estimate = |report: &Report, metric: &str| {
        let found = report.measures.iter().find(|measure| measure.metric == metric);
        found.unwrap_or_else(|| panic!("{metric}")).estimate.clone()
    };
    let hang_on_length = ["response_time_mean", "response_time_p50", "response_time_p90", "error_ratio"];
    let well = served_in(MS / 2);
    assert_eq!((well.unsettled, &well.verdict), (None, &Proof::Valid));
    for metric in hang_on_length {
        assert!(estimate(&well, metric).interval().is_some(), "{metric}");
    }
    let grown = served_in(3 * MS);
    let unsettled = grown.unsettled.expect("three times what it can do");
    // 10,000 gaps of 1 ms are 10 s give or take 1 %, and a third of them is done.
    assert!((unsettled.came - 1000.0).abs() < 60.0 && (unsettled.ended - 333.3).abs() < 1.0, "{unsettled:?}");
    assert_eq!(grown.verdict, Proof::Valid, "the generator did what it was to do");
    for metric in hang_on_length {
        let of = estimate(&grown, metric);
        assert!(of.value().is_some() && of.interval().is_none(), "{metric}: {of:?}");
    }
    for metric in ["throughput", "lateness_p99"] {
        assert!(estimate(&grown, metric).interval().is_some(), "{metric}");
    }
}
