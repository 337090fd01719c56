//! Retry storms that outlive what set them off. Nothing here is random, so that every number is exact.
//!
//! The settings: requests at equal distances, one server that takes 0.1 s for each, first come, first served; clients that
//! wait just less than 0.5 s and try three times more, 50 ms after each time-out; a server that does not learn that its client
//! has gone; and one pause, in which the server stands still with what it has. A storm is dead once nothing that comes is
//! answered in time any more, although the pause is long over. Bronson, Aghayev, Charapko and Zhu, Metastable Failures in
//! Distributed Systems, HotOS 2021, and Huang et al., Metastable Failures in the Wild, OSDI 2022, tell of such states.
//!
//! A second program, an event loop of sixty lines in another language, gave the same cells.

use sojourn_model::system::{Abandoned, Backoff, Budget, Fault, Retries, Rules, Subject, Trouble};
use sojourn_model::{Server, System};
use sojourn_sim::{Control, Report};
use sojourn_stats::{Law, Span, Time};

use crate::support::{estimate, open};

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// The settings above, with what a case changes in them.
struct Storm {
    rate: f64,
    server: String,
    rules: Rules,
    pause_ms: u64,
    horizon_s: u64,
}

fn storm(rate: f64) -> Storm {
    let retries = Retries { at_most: 3, backoff: Some(Backoff::Law(Law::constant(0.05))), budget: None };
    let rules = Rules {
        timeout: Some(Span(499_999_999)),
        retries: Some(retries),
        abandoned: Abandoned::Served,
        ..Rules::default()
    };
    let server = "discipline = \"fcfs\"\ndemand = \"100 ms\"".to_owned();
    Storm { rate, server, rules, pause_ms: 1000, horizon_s: 300 }
}

impl Storm {
    fn with_server(self, server: &str) -> Storm {
        Storm { server: format!("{server}\ndemand = \"100 ms\""), ..self }
    }

    fn pausing(self, pause_ms: u64) -> Storm {
        Storm { pause_ms, ..self }
    }

    fn until(self, horizon_s: u64) -> Storm {
        Storm { horizon_s, ..self }
    }

    fn with_budget(mut self, per_request: f64) -> Storm {
        let budget = Budget::Tokens { per_request, most: 10 };
        self.rules.retries.iter_mut().for_each(|retries| retries.budget = Some(budget));
        self
    }

    fn run(self) -> Report {
        let mut system = System::single(Server::from_toml(&self.server).unwrap());
        let (at, until) = (Time(30 * SECOND), Some(Time(30 * SECOND + self.pause_ms * MS)));
        system.faults = vec![Fault { at, until, subject: Subject::Host(0), trouble: Trouble::Frozen }];
        system.rules = self.rules;
        let workload = open(&format!("constant({:?} s)", 1.0 / self.rate));
        let horizon = Some(Span(self.horizon_s * SECOND));
        let control = Control { horizon, over_time: Some(Span(SECOND)), ..Control::default() };
        sojourn_sim::run_plan(&system, &workload, &control).unwrap()
    }

    /// Good replies and attempts per request, over the last 100 s.
    fn steady(self) -> (f64, f64) {
        let rate = self.rate;
        let report = self.run();
        let columns = &report.over_time.as_ref().unwrap().columns;
        let mean = |metric: &str| {
            let column = columns.iter().find(|column| column.metric == metric).unwrap();
            let last = &column.values[column.values.len() - 100..];
            last.iter().map(|value| value.value().unwrap()).sum::<f64>() / 100.0
        };
        // A boundary may fall between the attempts of a request: one more or less in 100 s.
        let per_request = |rate_found: f64| (rate_found / rate * 100.0).round() / 100.0;
        (per_request(mean("goodput")), per_request(mean("attempts")))
    }
}

const DEAD: (f64, f64) = (0.0, 4.0);
const ALIVE: (f64, f64) = (1.0, 1.0);

/// 7 requests a second of the 10 that the server can do: 0 answers and 28 attempts a second for ever after one second of rest.
#[test]
fn a_storm_outlives_its_cause() {
    assert_eq!(storm(7.0).steady(), DEAD);
    assert_eq!(storm(7.0).until(2000).steady(), DEAD);
}

/// What keeps the same system alive: no retries, the newest first, and what could not be finished in time not begun.
#[test]
fn what_ends_a_storm() {
    let mut without = storm(7.0);
    without.rules.retries = None;
    assert_eq!(without.steady(), ALIVE);
    assert_eq!(storm(7.0).with_server("discipline = \"lcfs\"").steady(), ALIVE);
    assert_eq!(storm(7.0).with_server("discipline = \"fcfs\"\ndrops = \"too-late\"").steady(), ALIVE);
    assert_eq!(storm(7.0).with_server("discipline = \"fcfs\"\ndrops = \"codel(5 ms, 100 ms)\"").steady(), ALIVE);
    // A server that only passes over what is over already takes what will just miss, again and again.
    assert_eq!(storm(7.0).with_server("discipline = \"fcfs\"\ndrops = \"expired\"").steady(), DEAD);
}

/// A server that learns at once that its client has gone loses only what it has begun: of 7 requests a second it answers
/// 5.25, and 17.5 attempts come, for ever.
#[test]
fn cancelled_work_makes_half_a_storm() {
    let mut cancelled = storm(7.0);
    cancelled.rules.abandoned = Abandoned::Cancelled;
    assert_eq!(cancelled.until(400).steady(), (0.75, 2.5));
}

/// At most so many wait, beside the one that is served, as a whole time-out has room for: T / s - 1 = 4. What is more is
/// dropped without an answer.
#[test]
fn a_short_queue_ends_a_storm() {
    let waiting = |most: u32| {
        let server = format!("discipline = \"fcfs\"\nlimits = {{ jobs = {}, overflow = \"dropped\" }}", most + 1);
        storm(7.0).with_server(&server).steady()
    };
    assert_eq!([waiting(1), waiting(3), waiting(4)], [ALIVE; 3]);
    assert_eq!(waiting(5), DEAD);
}

/// The shortest pause that kills, in steps of 50 ms.
#[test]
fn the_shortest_fatal_pause() {
    for (rate, fatal_ms) in [(3.0, 950), (5.0, 650), (7.0, 500), (8.0, 450), (9.0, 400)] {
        assert_eq!(storm(rate).pausing(fatal_ms).steady(), DEAD, "{rate} /s, {fatal_ms} ms");
        assert_eq!(storm(rate).pausing(fatal_ms - 50).steady().0, 1.0, "{rate} /s, {} ms", fatal_ms - 50);
    }
}

/// Above the hidden capacity, what the server can do over the attempts of a request, a long enough pause kills: 10 / 4 = 2.5.
#[test]
fn the_hidden_capacity() {
    assert_eq!(storm(2.6).pausing(10_000).until(600).steady(), DEAD);
    assert_eq!(storm(2.4).pausing(10_000).until(600).steady(), ALIVE);
}

/// A budget b saves up to a rate of 10 / (1 + b), and slowly near it: with 20 % at 8.3 /s the queue shrinks by one job in
/// 25 s, so that 270 s after the pause it is dead still, and alive after 570 s.
#[test]
fn a_budget_saves_below_its_bound() {
    let steady = |rate, share, horizon_s| storm(rate).with_budget(share).until(horizon_s).steady();
    assert_eq!(steady(7.0, 0.1, 300), ALIVE);
    assert_eq!(steady(7.0, 0.2, 300), ALIVE);
    assert_eq!(steady(8.2, 0.2, 300), ALIVE);
    assert_eq!(steady(8.3, 0.2, 300).0, 0.0);
    assert_eq!(steady(8.3, 0.2, 600), ALIVE);
    assert_eq!(steady(9.0, 0.1, 300), ALIVE);
    assert_eq!(steady(9.1, 0.1, 300).0, 0.0);
    assert_eq!(steady(9.1, 0.1, 2000).0, 0.0, "above the bound of 9.09 /s for ever");
}

/// HotOS 2021, section 2.1: a database that can do 300 queries a second, a time-out of 1 s with one retry at once, and an outage
/// of 10 s. Half of the capacity is the bound: 280 and 151 queries a second never recover, and 140 do: what is asked 118 s
/// after it is the first to be answered, and 3 s later all is as fast as before.
#[test]
fn a_database_with_one_retry() {
    let database = |rate| {
        let mut storm = storm(rate).pausing(10_000).until(600);
        storm.server = "discipline = \"fcfs\"\ndemand = \"3333333 ns\"".into();
        storm.rules.timeout = Some(Span(SECOND));
        storm.rules.retries = Some(Retries { at_most: 1, backoff: None, budget: None });
        storm
    };
    assert_eq!(database(280.0).steady(), (0.0, 2.0));
    assert_eq!(database(151.0).steady(), (0.0, 2.0));
    assert_eq!(database(140.0).steady(), ALIVE);
    let report = database(140.0).run();
    let recovery_s = estimate(&report, "recovery_time").value().unwrap();
    assert!((recovery_s - 121.0).abs() < 1e-9, "{recovery_s} s");
    // By the instants at which queries were planned: those of 157.05 s are the first, at their second attempts of 158.05 s.
    let failed = &report.over_time.as_ref().unwrap().failed;
    assert_eq!((40..600).find(|second| failed[*second] < 139.0), Some(157));
    assert_eq!(estimate(&database(151.0).run(), "recovery_time").value(), None, "it does not recover");
}

/// What a run says of a storm: its worst second, what was during the fault, and that it does not recover.
#[test]
fn a_storm_in_numbers() {
    let report = storm(7.0).run();
    let value = |metric: &str| estimate(&report, metric).value();
    assert_eq!(value("recovery_time"), None);
    assert_eq!(value("worst_second_error_ratio"), Some(1.0));
    assert_eq!(value("during(fault).throughput"), Some(0.0));
    let columns = &report.over_time.as_ref().unwrap().columns;
    let at = |metric: &str, second: usize| {
        columns.iter().find(|column| column.metric == metric).unwrap().values[second].value()
    };
    assert_eq!((at("goodput", 29), at("attempts", 29), at("in_flight", 29)), (Some(7.0), Some(7.0), Some(1.0)));
    assert_eq!((at("goodput", 250), at("attempts", 250), at("timed_out", 250)), (Some(0.0), Some(28.0), Some(7.0)));
    assert_eq!((at("failed", 250), at("faults", 250), at("faults", 30)), (Some(7.0), Some(0.0), Some(1.0)));
    assert_eq!(at("response_time_p50", 250), None);
    // Each request is inside for 4 time-outs and 3 waits.
    assert!(matches!(at("in_flight", 250), Some(15.0 | 16.0)));
    let names: Vec<&str> = columns.iter().map(|column| column.metric.as_str()).collect();
    let all = "arrivals attempts goodput failed timed_out in_flight faults response_time_p50 response_time_p99";
    assert_eq!(names.join(" "), all);
}
