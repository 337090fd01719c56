//! Refusals by plan: what a tier's `limit` refuses is outcome and no reason to doubt a run; what else fails is.
//!
//! A client sees a refusal as such: a RST in answer to its SYN from a switch, 503 from a gateway. How many of those came of a
//! limit, the deciders say, which count them. Where one decider stands behind another, what the one refused the other may have
//! given to a further target; so what was tried again is taken off, and less is excused than there was rather than more. The
//! price: deciders count from their start, so failures during the warm-up count here, which are forgiven elsewhere.

use sojourn_load::{Limits, Report};
use sojourn_model::System;
use sojourn_model::system::Face;

use super::parts::Told;

/// The status by which a gateway refuses.
const UNAVAILABLE: u16 = 503;

/// The limits of a load whose refusals are judged here.
pub(super) fn limits(system: &System, limits: Limits) -> Limits {
    if is_limited(system) { Limits { errors: 1.0, ..limits } } else { limits }
}

/// Whether more than this share of the requests failed, what was refused by plan aside.
pub(super) fn doubt(system: &System, report: &Report, told: &Told, errors: f64) -> Option<String> {
    if !is_limited(system) {
        return None;
    }
    let sum = |key: &str| told.deciders.iter().filter_map(|(_, said)| said[key].as_u64()).sum::<u64>();
    let tried_again = sum("retried") + report.connections.retried_addresses;
    let faces = |face: Face| system.tiers.iter().any(|tier| tier.face == face && tier.limit.is_some());
    let by_rst = if faces(Face::Switch) { report.counts.refused } else { 0 };
    let unavailable = report.failed_statuses.iter().filter(|(status, _)| *status == UNAVAILABLE);
    let by_status = if faces(Face::Gateway) { unavailable.map(|(_, count)| count).sum() } else { 0 };
    let planned = by_plan(sum("over_limit"), tried_again, by_rst + by_status);
    let others = report.counts.wrong() - planned;
    let is_beyond = others as f64 > errors * report.counts.planned as f64;
    is_beyond.then(|| {
        format!("{}, of which a limit refused {planned}; the other {others} are a doubt", report.counts.trouble())
    })
}

/// How many of the refusals that clients saw came of a limit, of which deciders count so many: no more than were seen.
fn by_plan(over_limit: u64, tried_again: u64, seen: u64) -> u64 {
    over_limit.saturating_sub(tried_again).min(seen)
}

fn is_limited(system: &System) -> bool {
    system.tiers.iter().any(|tier| tier.limit.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_explains_what_it_refused_and_no_more() {
        assert_eq!(by_plan(10, 0, 10), 10);
        assert_eq!(by_plan(10, 0, 12), 10, "two were refused for another reason");
        assert_eq!(by_plan(10, 3, 12), 7, "three may have been served elsewhere");
        assert_eq!(by_plan(10, 0, 4), 4, "some came before the measurement");
        assert_eq!(by_plan(1, 3, 5), 0);
    }
}
