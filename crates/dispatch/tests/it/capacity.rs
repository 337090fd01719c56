//! Capacity, estimated from 30 reports of emulated servers whose capacity is known.

use sojourn_dispatch::Report;
use sojourn_dispatch::capacity::{ESTIMATORS, Interval, Rule, estimator};
use sojourn_dispatch::reports::{Account, Totals};
use sojourn_stats::{Dimension, Law, Span, Stream, Time};

const MEAN_S: f64 = 0.01;
const REPORTS: u32 = 30;
/// 800 requests per core at full load, so that 30 reports tell of some 15,000 and the mean of demands with a coefficient of
/// variation of 3 is off by 2.5 %.
const LENGTH_S: f64 = 8.0;

/// A server with `cores`, of which at most so many requests at once get an equal share; the others wait in a queue.
struct Server {
    cores: f64,
    places: usize,
    /// Work left (s) and arrival (s) of those in service, then of those that wait.
    inside: Vec<(f64, f64)>,
}

impl Server {
    /// Plays an interval with Poisson arrivals of this rate.
    fn play(&mut self, start: f64, rate: f64, demand: &Law, draws: &mut Stream) -> Interval {
        let (gap, end) = (Law::exponential(1.0 / rate), start + LENGTH_S);
        let (mut now, mut next) = (start, start + gap.sample(draws));
        let (mut sent, mut completed, mut sum, mut busy) = (0, 0, 0.0, 0.0);
        loop {
            let served = self.inside.len().min(self.places);
            let speed = (self.cores / served as f64).min(1.0);
            let first = (0..served).min_by(|a, b| self.inside[*a].0.total_cmp(&self.inside[*b].0));
            let done = first.map_or(f64::INFINITY, |first| now + self.inside[first].0 / speed);
            let event = done.min(next).min(end);
            self.inside[..served].iter_mut().for_each(|(left, _)| *left -= (event - now) * speed);
            busy += (event - now) * (served as f64).min(self.cores);
            now = event;
            match first {
                Some(first) if event == done => {
                    sum += now - self.inside.remove(first).1;
                    completed += 1;
                }
                _ if event == next => {
                    self.inside.push((demand.sample(draws), now));
                    sent += 1;
                    next = now + gap.sample(draws);
                }
                _ => break,
            }
        }
        Interval {
            length: Span::from_secs_f64(LENGTH_S),
            sent,
            completed,
            latency: (completed > 0).then(|| Span::from_secs_f64(sum / f64::from(completed))),
            busy: Some(busy / self.cores / LENGTH_S),
            in_flight: self.inside.len() as u32,
        }
    }
}

/// The estimate over the known capacity after 30 reports under a load that swings from `low` to `high`.
fn ratio(name: &str, cores: u32, places: usize, demand: &str, (low, high): (f64, f64), seed: u64) -> f64 {
    let demand = Law::parse(demand, Dimension::Time).expect("a law");
    assert!((demand.mean() - MEAN_S).abs() < 1e-12);
    let capacity = f64::from(cores) / MEAN_S;
    let mut server = Server { cores: cores.into(), places, inside: Vec::new() };
    let mut draws = Stream::new(seed, "server", "arrivals and demands");
    let mut estimator = estimator(name).expect("a known name");
    for report in 0..REPORTS {
        let swing = (f64::from(report) * std::f64::consts::TAU / 10.0).sin();
        let load = low.midpoint(high) + (high - low) / 2.0 * swing;
        estimator.learn(&server.play(f64::from(report) * LENGTH_S, load * capacity, &demand, &mut draws));
    }
    estimator.capacity().expect("much was served") / capacity
}

const ALL: usize = usize::MAX;
/// Cores and places: PS, FCFS, limited PS, four cores under FCFS and PS.
const SERVERS: [(u32, usize); 5] = [(1, ALL), (1, 1), (1, 8), (4, 4), (4, ALL)];
const DEMANDS: [&str; 4] = [
    "constant(10 ms)",
    "exponential(mean = 10 ms)",
    "lognormal(mean = 10 ms, cv = 3)",
    "bounded-pareto(alpha = 1.5, min = 1 ms, max = 1 s, mean = 10 ms)",
];

#[test]
fn the_busy_share_gives_the_capacity_of_any_server() {
    // The limit is 6 standard deviations of the mean demand or more: less than one false alarm in a hundred million.
    for (cores, places) in SERVERS {
        for demand in DEMANDS {
            let ratio = ratio("busy-share", cores, places, demand, (0.2, 1.1), 1);
            assert!((0.8..1.2).contains(&ratio), "{cores} cores, {places} places, {demand}: {ratio}");
        }
    }
    // It needs no load.
    let idle = ratio("busy-share", 4, ALL, "exponential(mean = 10 ms)", (0.02, 0.1), 1);
    assert!((0.8..1.2).contains(&idle), "{idle}");
}

#[test]
fn response_times_give_the_capacity_of_one_processor_under_load() {
    for places in [ALL, 1, 8] {
        for demand in ["constant(10 ms)", "exponential(mean = 10 ms)"] {
            let ratio = ratio("response-time", 1, places, demand, (0.2, 1.1), 2);
            assert!((0.8..1.2).contains(&ratio), "{places} places, {demand}: {ratio}");
        }
    }
    // One processor that is shared needs no more than a middling load: there the law is exact for all demands.
    for demand in ["constant(10 ms)", "exponential(mean = 10 ms)"] {
        let ratio = ratio("response-time", 1, ALL, demand, (0.3, 0.7), 2);
        assert!((0.85..1.15).contains(&ratio), "{demand}: {ratio}");
    }
    // The documented price: at low load four cores look like one of a quarter of their speed.
    let idle = ratio("response-time", 4, ALL, "exponential(mean = 10 ms)", (0.02, 0.1), 2);
    assert!((0.2..0.4).contains(&idle), "{idle}");
}

#[test]
fn nothing_is_known_before_something_was_served() {
    for (name, summary) in ESTIMATORS {
        assert!(!summary.is_empty());
        let mut estimator = estimator(name).expect("a known name");
        let nothing = Interval { length: Span(1_000_000_000), busy: Some(0.0), ..Interval::default() };
        let unsound = Interval { completed: 5, busy: Some(f64::NAN), length: Span(1), ..Interval::default() };
        let no_time = Interval { completed: 5, busy: Some(0.5), latency: Some(Span(5)), ..Interval::default() };
        for interval in [nothing, unsound, no_time] {
            estimator.learn(&interval);
            assert_eq!(estimator.capacity(), None, "{name}");
        }
    }
    let said = estimator("busy-sahre").err().expect("it is misspelt").to_string();
    assert_eq!(said, "unknown estimator of capacity `busy-sahre`; did you mean `busy-share`?");
}

#[test]
fn a_server_that_slows_down_is_followed() {
    let mut estimator = estimator("busy-share").expect("a known name");
    let served = |completed| Interval { length: Span(500_000_000), completed, busy: Some(0.5), ..Interval::default() };
    (0..200).for_each(|_| estimator.learn(&served(50)));
    assert_eq!(estimator.capacity().map(f64::round), Some(200.0));
    (0..200).for_each(|_| estimator.learn(&served(25)));
    let slow = estimator.capacity().expect("it is known");
    assert!((100.0..105.0).contains(&slow), "{slow}");
}

/// What says nothing teaches nothing: no time, no load, or a busy share that is none.
#[test]
fn reports_that_say_nothing_are_left_out() {
    let length = Span::from_secs_f64(1.0);
    let told = |intervals: &[Interval]| {
        let mut estimator = estimator("busy-share").unwrap();
        intervals.iter().for_each(|interval| estimator.learn(interval));
        estimator.capacity()
    };
    let sound = Interval { length, completed: 10, busy: Some(0.5), ..Interval::default() };
    assert_eq!(told(&[sound]), Some(20.0));
    for busy in [None, Some(-0.5), Some(f64::INFINITY), Some(f64::NAN)] {
        assert_eq!(told(&[Interval { busy, ..sound }, sound]), Some(20.0), "{busy:?}");
    }
    assert_eq!(told(&[Interval { length: Span::ZERO, ..sound }, sound]), Some(20.0));
    assert_eq!(told(&[Interval { completed: 0, ..sound }]), None, "busy with what is not over yet");
    assert_eq!(told(&[Interval { busy: Some(0.0), ..sound }]), None, "too quick to be seen");
    assert_eq!(told(&[Interval { completed: 0, busy: Some(0.0), ..sound }]), None);
    // One request inside on average is half of a processor's time, by 10 per second.
    let latency = Some(Span::from_secs_f64(0.1));
    let sound = Interval { latency, busy: None, ..sound };
    let mut estimator = estimator("response-time").unwrap();
    [Interval { length: Span::ZERO, ..sound }, Interval { latency: None, ..sound }, sound].iter().for_each(
        |interval| {
            estimator.learn(interval);
        },
    );
    assert_eq!(estimator.capacity(), Some(20.0));
}

/// A share of saturation is that share of what is learned, and room is what it leaves. Above it nothing is free.
#[test]
fn a_share_of_saturation_counts_as_capacity() {
    let second = 1_000_000_000;
    let told = |at: f64, rate: u64| {
        let rule = Rule::new("busy-share", at).expect("a share");
        let totals = |done: u64, busy_ns| Totals { completed: done, busy_ns: Some(busy_ns), ..Totals::default() };
        let mut account = Account::learning(Time::ZERO, totals(0, (0, 0)), rule);
        let mut report = Report { measured: Time(second), ..Report::default() };
        // Each request keeps the only core busy for 10 ms: saturation is 100 per second.
        let done = totals(rate, (u128::from(rate) * 10_000_000, u128::from(second)));
        account.understand(&mut report, &done, Span(second));
        (report.capacity.round(), report.room.round())
    };
    assert_eq!(
        [told(1.0, 50), told(0.7, 50), told(0.7, 70), told(0.7, 90)],
        [(100.0, 50.0), (70.0, 20.0), (70.0, 0.0), (70.0, 0.0)]
    );
    for at in [0.0, -0.5, 1.01, f64::NAN, f64::INFINITY] {
        let said = Rule::new("busy-share", at).expect_err("no share").to_string();
        assert!(said.ends_with("write a share above 0 and at most 1, e.g. 0.7"), "{said}");
    }
}
