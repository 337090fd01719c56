//! Replaying a log.

use std::sync::Arc;

use sojourn_stats::{Span, Time};
use sojourn_traffic::{Plan, Planned, Replay, Workload};

use crate::support::{demand, first, line, read, replay};

/// Seconds with 1, 2, ... requests and gaps between them.
fn uneven() -> String {
    (0..200).flat_map(|n| (0..n % 17).map(move |k| line(n * 3, &format!("/{k}"), u64::from(n * 100 + k)))).collect()
}

fn all(workload: &Workload, seed: u64) -> Vec<Planned> {
    Plan::new(workload, seed, demand()).unwrap().collect()
}

#[test]
fn requests_stay_in_order_and_in_their_second() {
    let log = read(uneven()).unwrap();
    let plan = all(&replay(&uneven(), 1.0), 1);
    assert_eq!(plan.len(), log.requests());
    assert!(plan.windows(2).all(|pair| pair[0].at <= pair[1].at));
    for (planned, entry) in plan.iter().zip(log.entries()) {
        assert_eq!(planned.at.0 / 1_000_000_000, (entry.time_s() - log.entries()[0].time_s()) as u64);
        let request = planned.request;
        assert_eq!((request.client, request.object, request.size), (entry.client, entry.object, entry.bytes));
        assert_eq!(request.patience, Span::FOREVER);
    }
    assert_eq!(replay(&uneven(), 1.0).objects(), log.paths());
}

#[test]
fn spreading_is_seeded() {
    let workload = replay(&uneven(), 1.0);
    assert_eq!(all(&workload, 1), all(&workload, 1));
    assert!(all(&workload, 1).iter().zip(all(&workload, 2)).all(|(a, b)| a.at != b.at));
}

/// False alarm: under 1e-6 (5.1 sigma two-sided is 3e-7, twice). The first and the last of three uniform numbers have
/// means 1/4 and 3/4 and variance 3/80.
#[test]
fn the_spread_is_uniform() {
    let n = 10_000;
    let text: String = (0..n).map(|second| line(second, "/a", 1).repeat(3)).collect();
    let plan = all(&replay(&text, 1.0), 1);
    let place = |planned: &Planned| (planned.at.0 % 1_000_000_000) as f64 * 1e-9;
    let sigma = (3.0 / 80.0 / f64::from(n)).sqrt();
    for (which, expected) in [(0, 0.25), (2, 0.75)] {
        let mean = plan.chunks(3).map(|second| place(&second[which])).sum::<f64>() / f64::from(n);
        assert!((mean - expected).abs() < 5.1 * sigma, "{mean} for {expected}");
    }
}

#[test]
fn a_speed_squeezes_the_same_plan() {
    let (slow, fast) = (all(&replay(&uneven(), 1.0), 1), all(&replay(&uneven(), 60.0), 1));
    assert_eq!(slow.len(), fast.len());
    for (slow, fast) in slow.iter().zip(&fast) {
        assert_eq!(slow.request, fast.request);
        assert!((slow.at.0 as f64 / 60.0 - fast.at.0 as f64).abs() <= 1.0);
    }
    assert!(fast.windows(2).all(|pair| pair[0].at <= pair[1].at));
}

#[test]
fn a_day_can_last_a_minute() {
    let log = Arc::new(read([line(0, "/a", 1), line(86_399, "/b", 1)].concat()).unwrap());
    let day = Replay { log, path: "access.log".into(), speed: 1.0, classes: None, growth: 1.0, sampled: 1 };
    assert_eq!(day.span().as_secs_f64(), 86_400.0);
    let minute = day.lasting(Span::from_secs_f64(60.0));
    assert_eq!(minute.speed, 1440.0);
    assert_eq!(minute.span(), Span::from_secs_f64(60.0));
    let plan = all(&Workload::Replay(minute), 1);
    assert!(plan.iter().all(|planned| planned.at.as_secs_f64() < 60.0));
}

#[test]
fn a_log_ends_and_says_when() {
    let mut plan = Plan::new(&replay(&uneven(), 1.0), 1, demand()).unwrap();
    let length = plan.size_hint().0;
    assert_eq!(plan.size_hint(), (length, Some(length)));
    plan.next();
    assert_eq!(plan.size_hint().0, length - 1);
    assert_eq!(plan.by_ref().count(), length - 1);
    assert_eq!(plan.next(), None);
}

#[test]
fn impossible_speeds_are_refused() {
    for speed in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = Plan::new(&replay(&uneven(), speed), 1, demand()).err().unwrap().to_string();
        assert!(error.contains("speed"), "{error}");
    }
    assert!(!first(&replay(&uneven(), 0.5), 1, 3).is_empty());
}

/// A clock that once was two thousand years off must not make time wrap around.
#[test]
fn absurd_dates_saturate() {
    let text = line(0, "/a", 1).replace("1995", "0001") + &line(0, "/b", 1);
    let plan = all(&replay(&text, 1.0), 1);
    assert!(plan[0].at.as_secs_f64() < 1.0);
    assert_eq!(plan[1].at, Time::NEVER);
}
