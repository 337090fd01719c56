//! Guards of a decider: outliers, queue, breakers, limits that follow response times, and slow start.

use sojourn_dispatch::record::{Detail, replay};
use sojourn_dispatch::{
    Action, BackendId, Breakers, Catalogue, Code, Concurrency, Ejection, Event, Front, FrontSettings, Guards,
    LimitRule, News, PanicTo, Queue, Scope, Signals, SlowStart, Standing, StartRule,
};
use sojourn_stats::{Span, Stream, Time};

use crate::common::{REQUEST, equal, every_policy};
use crate::record::Shared;

const SECOND: u64 = 1_000_000_000;
const NONE: [u32; 0] = [];
const MS: Span = Span(1_000_000);

fn at(seconds: u64) -> Time {
    Time(seconds * SECOND)
}

fn front(policy: &str, backends: usize, guards: Guards) -> Front {
    limited(policy, backends, guards, None)
}

fn limited(policy: &str, backends: usize, guards: Guards, limit: Option<&str>) -> Front {
    let limit = limit.map(|limit| limit.parse().unwrap());
    let settings = FrontSettings { limit, ..FrontSettings::new(policy) }.guarded(guards);
    Front::new(&settings, &equal(backends), &Catalogue::default(), Signals::GATEWAY, "front").expect("it can be made")
}

fn ejecting(ejection: Ejection) -> Guards {
    Guards { ejection: Some(ejection), ..Guards::default() }
}

/// A request that ends at a backend: with a reply of this status after so long.
fn ends(front: &mut Front, backend: u32, status: u16, latency: Span, now: Time) {
    let backend = BackendId(backend);
    front.observe(Event::Inherited { backend }, now);
    front.observe(Event::Completed { backend, status, bytes: 0, latency }, now);
}

/// Those that are aside.
fn aside(front: &Front) -> Vec<u32> {
    front.backends().filter(|id| front.standing(*id) == Standing::Aside).map(|id| id.0).collect()
}

#[test]
fn failures_in_a_row_put_a_server_aside_for_longer_each_time() {
    let rule = Ejection { success_rate: 0.0, ..Ejection::default() };
    let mut front = front("round-robin", 10, ejecting(rule));
    let fail = |front: &mut Front, backend, times, now| (0..times).for_each(|_| ends(front, backend, 503, MS, now));
    fail(&mut front, 0, 4, at(1));
    ends(&mut front, 0, 200, MS, at(1));
    fail(&mut front, 0, 4, at(1));
    assert_eq!(aside(&front), NONE);
    ends(&mut front, 0, 429, MS, at(1));
    fail(&mut front, 0, 4, at(1));
    assert_eq!(aside(&front), NONE, "429 is no failure of the server");
    front.observe(Event::Inherited { backend: BackendId(0) }, at(2));
    front.observe(Event::Failed { backend: BackendId(0), after: MS }, at(2));
    assert_eq!(aside(&front), [0]);
    let change = front.take_change().unwrap();
    assert_eq!((change.backend, change.is, front.take_change()), (BackendId(0), Standing::Aside, None));
    assert_eq!(front.table().eligible().len(), 9);
    // A tenth of ten is one: the second one stays.
    fail(&mut front, 1, 5, at(3));
    assert_eq!(aside(&front), [0]);
    // The clock of scans began with the first call at 1 s; 30 s after 2 s the next scan is at 41 s.
    front.due(at(31));
    assert_eq!((aside(&front), front.deadline()), (vec![0], Some(at(41))));
    front.due(at(41));
    assert_eq!((aside(&front), front.table().eligible().len()), (NONE.to_vec(), 10));
    // The second time is twice as long.
    fail(&mut front, 0, 5, at(42));
    (51..101).step_by(10).for_each(|now| _ = front.due(at(now)));
    assert_eq!(aside(&front), [0]);
    (101..=111).step_by(10).for_each(|now| _ = front.due(at(now)));
    assert_eq!(aside(&front), NONE);
    // Two scans that find it in its place, and it is as one that never was aside.
    (121..=141).step_by(10).for_each(|now| _ = front.due(at(now)));
    fail(&mut front, 0, 5, at(142));
    (151..=181).step_by(10).for_each(|now| _ = front.due(at(now)));
    assert_eq!(aside(&front), NONE);
}

/// Where a share f fails equally, each is sqrt((1 - f) / f) deviations below the mean, however often it fails.
#[test]
fn success_rates_are_blind_to_more_than_a_fifth() {
    let found = |servers: u32, failing: u32, failures: u32| {
        let rule = Ejection { consecutive: 0, max_share: 1.0, ..Ejection::default() };
        let mut front = front("round-robin", servers as usize, ejecting(rule));
        for server in 0..servers {
            for number in 0..100 {
                let status = if server < failing && number < failures { 500 } else { 200 };
                ends(&mut front, server, status, MS, at(1));
            }
        }
        front.due(at(11));
        aside(&front).len() as u32
    };
    for (servers, seen) in [(5, 1), (9, 1), (10, 2), (20, 4), (100, 21)] {
        for failures in [2, 50, 100] {
            assert_eq!(found(servers, seen, failures), seen, "{seen} of {servers} fail {failures} %");
            assert_eq!(found(servers, seen + 1, failures), 0, "{} of {servers} fail {failures} %", seen + 1);
        }
    }
    assert_eq!(found(4, 1, 100), 0, "four are too few");
    let z = |share: f64| ((1.0 - share) / share).sqrt();
    assert!(z(0.2169) > 1.9 && z(0.2170) < 1.9);
}

#[test]
fn a_scan_compares_servers_with_enough_requests() {
    let mut front = front("round-robin", 6, ejecting(Ejection { consecutive: 0, ..Ejection::default() }));
    for server in 0..6 {
        let requests = if server == 0 { 99 } else { 100 };
        (0..requests).for_each(|_| ends(&mut front, server, if server == 0 { 500 } else { 200 }, MS, at(1)));
    }
    front.due(at(11));
    assert_eq!(aside(&front), NONE);
    // What ended before the last scan counts no more; what its client left says nothing.
    for _ in 0..99 {
        front.observe(Event::Inherited { backend: BackendId(0) }, at(12));
        front.observe(Event::Cancelled { backend: BackendId(0), after: Span::ZERO }, at(12));
    }
    ends(&mut front, 0, 500, MS, at(12));
    front.due(at(21));
    assert_eq!(aside(&front), NONE);
}

/// Times are compared with the median, which is not blind below one half.
#[test]
fn slow_servers_are_found_up_to_one_half() {
    let found = |slow: u32, times: u64| {
        let rule = Ejection { consecutive: 0, latency: 3.0, max_share: 1.0, ..Ejection::default() };
        let mut front = front("round-robin", 10, ejecting(rule));
        for server in 0..10 {
            let took = if server < slow { Span(MS.0 * times) } else { MS };
            (0..100).for_each(|_| ends(&mut front, server, 200, took, at(1)));
        }
        front.due(at(11));
        aside(&front).len() as u32
    };
    assert_eq!([1, 2, 4].map(|slow| found(slow, 4)), [1, 2, 4]);
    assert_eq!([found(2, 3), found(6, 10)], [0, 0]);
}

#[test]
fn in_panic_those_that_are_aside_are_chosen_too() {
    let rule = Ejection { success_rate: 0.0, consecutive: 1, max_share: 0.2, panic: 0.5, ..Ejection::default() };
    let mut front = front("round-robin", 10, ejecting(rule));
    ends(&mut front, 0, 500, MS, at(1));
    ends(&mut front, 1, 500, MS, at(1));
    assert_eq!(front.table().eligible().len(), 8);
    (2..5).for_each(|down| _ = front.learn(BackendId(down), News::Refused, at(2)));
    assert_eq!(front.table().eligible().len(), 5, "five of ten are a half");
    front.learn(BackendId(5), News::Refused, at(2));
    assert_eq!(front.table().eligible().len(), 6, "with four up both are chosen too, and none that is down");
    front.learn(BackendId(5), News::Answered, at(3));
    assert_eq!(front.table().eligible().len(), 5);
    // One that has left is none of all.
    front.learn(BackendId(5), News::Left, at(3));
    assert_eq!(front.table().eligible().len(), 6);
    front.learn(BackendId(2), News::Left, at(3));
    assert_eq!(front.table().eligible().len(), 4, "four of eight are a half");
}

/// Envoy's panic (`isHostSetInPanic` in its `load_balancer_impl.cc`): with less than half of the hosts healthy, all are chosen.
/// Healthy is what neither outlier detection nor health checks have taken out. With the usual `max_ejection_percent` of 10 only
/// health can bring a panic; with 100 ejection does by itself. A threshold of 0 is none.
#[test]
fn in_envoys_panic_those_that_are_down_are_chosen_too() {
    let eligible = |max_share: f64, panic: f64, ejected: u32, down: u32| {
        let rule = Ejection { consecutive: 1, max_share, panic, panic_to: PanicTo::All, ..Ejection::default() };
        let mut front = front("round-robin", 10, ejecting(rule));
        (0..ejected).for_each(|bad| ends(&mut front, bad, 500, MS, at(1)));
        (10 - down..10).for_each(|dead| _ = front.learn(BackendId(dead), News::Refused, at(2)));
        front.table().eligible().len()
    };
    assert_eq!([5, 6, 10].map(|ejected| eligible(1.0, 0.5, ejected, 0)), [5, 10, 10]);
    assert_eq!([1, 6, 10].map(|ejected| eligible(0.1, 0.5, ejected, 0)), [9; 3], "one of ten may be aside");
    assert_eq!([4, 5, 9].map(|down| eligible(0.1, 0.5, 9, down)), [5, 10, 10]);
    assert_eq!([5, 6, 10].map(|down| eligible(0.1, 0.5, 0, down)), [5, 10, 10]);
    assert_eq!([5, 9, 10].map(|down| eligible(0.1, 0.0, 0, down)), [5, 1, 0], "without a threshold none is left");
}

/// At every step of a random walk who may be chosen follows from what each is alone, whatever came before; by hand one is out in
/// every panic, and what has left is none of all.
#[test]
fn who_may_be_chosen_in_a_panic_follows_from_what_each_is() {
    for (seed, max_share, panic, panic_to) in [
        (1, 1.0, 0.5, PanicTo::Aside),
        (2, 1.0, 0.5, PanicTo::All),
        (3, 0.3, 0.75, PanicTo::Aside),
        (4, 0.3, 0.75, PanicTo::All),
        (5, 0.5, 0.0, PanicTo::All),
        (6, 0.5, 1.0, PanicTo::All),
    ] {
        let (every, aside_for) = (Span(SECOND), Span(5 * SECOND));
        let times = Ejection { every, base_time: aside_for, max_time: aside_for, ..Ejection::default() };
        let mut front =
            front("round-robin", 8, ejecting(Ejection { consecutive: 1, max_share, panic, panic_to, ..times }));
        let mut draws = Stream::new(seed, "guards", "panic");
        let (mut panics, mut calm) = (0, 0);
        for step in 1..3000 {
            let (backend, now) = (draws.below(8) as u32, Time(step * SECOND / 4));
            let id = BackendId(backend);
            front.due(now);
            if step == 2000 {
                front.learn(BackendId(7), News::Left, now);
            }
            match draws.below(8) {
                0 if front.standing(id) != Standing::Left => ends(&mut front, backend, 500, MS, now),
                1 => _ = front.learn(id, News::Refused, now),
                2..=4 => _ = front.learn(id, News::Answered, now),
                5 => _ = front.learn(id, News::Drained(draws.below(4) == 0), now),
                _ => {}
            }
            let all: Vec<Standing> = front.backends().map(|id| front.standing(id)).collect();
            let count = |standing| all.iter().filter(|of| **of == standing).count();
            let known = all.len() - count(Standing::Left);
            let is_panic = (count(Standing::Up) as f64) < panic * known as f64;
            let is_chosen = |of: &Standing| match of {
                Standing::Up => true,
                Standing::Aside => is_panic || count(Standing::Up) == 0,
                Standing::Down => is_panic && panic_to == PanicTo::All,
                Standing::Drained | Standing::Left => false,
            };
            let due: Vec<BackendId> = front.backends().filter(|id| is_chosen(&all[id.0 as usize])).collect();
            assert_eq!(front.table().eligible(), due, "seed {seed}, step {step}: {all:?}");
            (panics, calm) = (panics + i32::from(is_panic), calm + i32::from(!is_panic));
        }
        let is_seen = (panics > 50 || panic == 0.0) && (calm > 50 || panic == 1.0);
        assert!(is_seen, "seed {seed}: {panics} in panic, {calm} not");
    }
}

#[test]
fn what_leaves_and_who_comes_after_know_of_outliers() {
    let rule = Ejection { success_rate: 0.0, consecutive: 1, max_share: 0.4, ..Ejection::default() };
    let mut old = front("round-robin", 5, ejecting(rule.clone()));
    ends(&mut old, 0, 500, MS, at(1));
    ends(&mut old, 1, 500, MS, at(1));
    old.learn(BackendId(0), News::Left, at(2));
    ends(&mut old, 2, 500, MS, at(2));
    assert_eq!(aside(&old), [1], "two of the four that are left would be more than 40 %");
    old.join("s1", 1.0, at(3)).unwrap();
    ends(&mut old, 2, 500, MS, at(3));
    assert_eq!(aside(&old), [1, 2]);
    let mut new = front("least-connections", 5, ejecting(rule));
    new.take_over(&old, at(4));
    assert_eq!(aside(&new), [1, 2]);
    (11..=41).step_by(10).for_each(|now| _ = new.due(at(now)));
    assert_eq!(aside(&new), NONE);
    let mut without = front("round-robin", 5, Guards::default());
    without.take_over(&old, at(4));
    assert_eq!(aside(&without), NONE, "nothing would bring it back");
}

fn limiting(concurrency: Concurrency) -> Guards {
    Guards { concurrency: Some(concurrency), ..Guards::default() }
}

/// Keeps as many in flight at the only backend as there may be.
fn fill(front: &mut Front, now: Time) {
    while front.choose(&REQUEST, &[], now).forwarded_to().is_some() {}
}

#[test]
fn a_limit_grows_by_one_and_shrinks_by_a_tenth() {
    let mut front = front("round-robin", 1, limiting(Concurrency { least: 1, ..Concurrency::default() }));
    let a = BackendId(0);
    let limit = |front: &Front| front.table().limit_of(a).unwrap().connections();
    fill(&mut front, at(0));
    assert_eq!((front.table().in_flight(a), limit(&front)), (20, 20));
    let mut end = |status, took: Span| {
        front.observe(Event::Completed { backend: a, status, bytes: 0, latency: took }, at(1));
        limit(&front)
    };
    assert_eq!([end(200, MS), end(200, MS), end(200, MS)], [21, 22, 23]);
    assert_eq!([end(500, MS), end(200, MS * 5000), end(200, MS * 5001)], [20, 21, 18]);
    // 14 are left: with fewer than half of the limit in use it stays.
    assert_eq!((0..6).map(|_| end(200, MS)).collect::<Vec<_>>(), [19, 20, 21, 22, 22, 22]);
    front.observe(Event::Cancelled { backend: a, after: Span::ZERO }, at(1));
    assert_eq!(limit(&front), 22);
}

/// Values of `Gradient2Limit` of Netflix's concurrency-limits, played apart.
#[test]
fn a_limit_follows_the_gradient_of_response_times() {
    let mut front =
        front("round-robin", 1, limiting(Concurrency { by: LimitRule::Gradient, ..Concurrency::default() }));
    let a = BackendId(0);
    (0..200).for_each(|_| front.observe(Event::Inherited { backend: a }, at(0)));
    let mut end = |took: Span| {
        front.observe(Event::Inherited { backend: a }, at(1));
        front.observe(Event::Completed { backend: a, status: 200, bytes: 0, latency: took }, at(1));
        front.table().limit_of(a).unwrap().connections()
    };
    let seen: Vec<u32> = [(30, 10), (30, 40), (20, 10)]
        .iter()
        .flat_map(|(times, took)| (0..*times).map(|_| Span(MS.0 * took)).collect::<Vec<_>>())
        .map(&mut end)
        .collect();
    let expected = [
        20, 21, 22, 23, 24, 24, 25, 26, 27, 28, 28, 29, 30, 31, 32, 32, 33, 34, 35, 36, 36, 37, 38, 39, 40, 40, 41, 42,
        43, 44, 40, 37, 34, 31, 29, 27, 25, 23, 21, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20,
        20, 20, 20, 20, 20, 21, 22, 23, 24, 24, 25, 26, 27, 28, 28, 29, 30, 31, 32, 32, 33, 34, 35, 36,
    ];
    assert_eq!(seen, expected);
}

/// Of 20 at first: the queue is 20 (1 - shortest / last), log 20 counts as 1.
#[test]
fn a_limit_follows_the_queue_that_response_times_betray() {
    let rule = Concurrency { by: LimitRule::Vegas, least: 1, most: 1000, ..Concurrency::default() };
    let mut front = front("round-robin", 1, limiting(rule));
    let a = BackendId(0);
    (0..300).for_each(|_| front.observe(Event::Inherited { backend: a }, at(0)));
    let mut end = |status, took: u64| {
        front.observe(Event::Inherited { backend: a }, at(1));
        front.observe(Event::Completed { backend: a, status, bytes: 0, latency: Span(took * 10_000) }, at(1));
        front.table().limit_of(a).unwrap().connections()
    };
    // The shortest so far; no queue; then 2 of 26, 5 of 27, 8 of 27, and a failure.
    assert_eq!([end(200, 1000), end(200, 1000), end(200, 1080)], [20, 26, 27]);
    assert_eq!([end(200, 1220), end(200, 1400), end(500, 1000)], [27, 26, 25]);
}

/// The rules once more, as plainly as Netflix's sources have them: `AIMDLimit`, `Gradient2Limit` with its `ExpAvgMeasurement`,
/// and `VegasLimit`, whose instant of measuring anew is not drawn here.
struct AsPublished {
    rule: Concurrency,
    limit: f64,
    /// Of the long mean.
    sum: f64,
    count: u32,
    long: f64,
    /// Of Vegas.
    shortest: f64,
    probes: f64,
}

impl AsPublished {
    fn new(rule: &Concurrency) -> AsPublished {
        let (limit, rule) = (f64::from(rule.first), rule.clone());
        AsPublished { rule, limit, sum: 0.0, count: 0, long: 0.0, shortest: 0.0, probes: 0.0 }
    }

    /// The limit after a response of so long (s), or a failure, at which so many were in flight.
    fn update(&mut self, took: Option<f64>, in_flight: u32) -> u32 {
        let in_flight = f64::from(in_flight);
        let new = match self.rule.by {
            LimitRule::Aimd => self.aimd(took, in_flight),
            LimitRule::Gradient => took.map_or(self.limit, |took| self.gradient(took, in_flight)),
            LimitRule::Vegas => self.vegas(took, in_flight),
        };
        self.limit = f64::from(self.rule.most).min(f64::from(self.rule.least).max(new));
        self.limit as u32
    }

    fn aimd(&self, took: Option<f64>, in_flight: f64) -> f64 {
        if took.is_none_or(|took| took > self.rule.timeout.as_secs_f64()) {
            (self.limit * self.rule.backoff).floor()
        } else if in_flight * 2.0 >= self.limit {
            self.limit + 1.0
        } else {
            self.limit
        }
    }

    fn gradient(&mut self, short: f64, in_flight: f64) -> f64 {
        if self.count < 10 {
            self.count += 1;
            self.sum += short;
            self.long = self.sum / f64::from(self.count);
        } else {
            let factor = 2.0 / f64::from(self.rule.window + 1);
            self.long = self.long * (1.0 - factor) + short * factor;
        }
        let long = self.long;
        if long / short > 2.0 {
            self.long *= 0.95;
        }
        if in_flight < self.limit / 2.0 {
            return self.limit;
        }
        let gradient = f64::max(0.5, f64::min(1.0, self.rule.tolerance * long / short));
        let new = self.limit * gradient + f64::from(self.rule.headroom);
        self.limit * (1.0 - self.rule.smoothing) + new * self.rule.smoothing
    }

    fn vegas(&mut self, took: Option<f64>, in_flight: f64) -> f64 {
        let log = (self.limit.log10() as i32).max(1) as f64;
        let Some(took) = took else { return self.limit - log };
        self.probes += 1.0;
        if self.shortest == 0.0 || took < self.shortest || self.probes >= 30.0 * self.limit {
            (self.shortest, self.probes) = (took, 0.0);
            return self.limit;
        }
        if in_flight * 2.0 < self.limit {
            return self.limit;
        }
        let queue = (self.limit * (1.0 - self.shortest / took)).ceil();
        let (threshold, alpha, beta) = (log, 3.0 * log, 6.0 * log);
        if queue <= threshold {
            self.limit + beta
        } else if queue < alpha {
            self.limit + log
        } else if queue > beta {
            self.limit - log
        } else {
            self.limit
        }
    }
}

/// Step by step, over response times that wander, with failures, times of little load and clients that go away, and up to both
/// ends of what a limit may be.
#[test]
fn limits_follow_the_rules_as_they_were_published() {
    let of = |by, least, most| Concurrency { by, first: 20, least, most, ..Concurrency::default() };
    let timeout = Span(25 * MS.0);
    let mut ends = [false; 2];
    for (seed, rule) in [
        (1, Concurrency { timeout, ..of(LimitRule::Aimd, 20, 200) }),
        (2, Concurrency { timeout, backoff: 0.5, ..of(LimitRule::Aimd, 3, 40) }),
        (3, of(LimitRule::Gradient, 20, 200)),
        (4, Concurrency { tolerance: 1.0, window: 20, ..of(LimitRule::Gradient, 1, 45) }),
        (5, Concurrency { tolerance: 2.0, smoothing: 0.7, headroom: 9, ..of(LimitRule::Gradient, 2, 100) }),
        (6, of(LimitRule::Vegas, 1, 1000)),
        (7, of(LimitRule::Vegas, 15, 60)),
    ] {
        let mut front = front("round-robin", 1, limiting(rule.clone()));
        let mut published = AsPublished::new(&rule);
        let (a, mut draws) = (BackendId(0), Stream::new(seed, "guards", "limits"));
        let (mut usual_ms, mut in_flight, mut seen) = (20.0_f64, 0u32, Vec::new());
        for step in 0..4000u64 {
            let now = Time(step * MS.0);
            // What is usual changes for good now and then, and each response is off by up to a half of it.
            if step % 500 == 0 {
                usual_ms = [5.0, 10.0, 20.0, 60.0][draws.below(4)];
            }
            let wanted = if step / 100 % 5 == 4 { 1 } else { 1 + draws.below(rule.most as usize) as u32 };
            while in_flight < wanted {
                front.observe(Event::Inherited { backend: a }, now);
                in_flight += 1;
            }
            while in_flight > wanted {
                front.observe(Event::Cancelled { backend: a, after: MS * 3000 }, now);
                in_flight -= 1;
            }
            let fails = step / 250 % 4 == 3 && draws.below(10) == 0;
            // The first ones are farther off: the long mean shrinks while it is still a plain one.
            let times = if step < 12 { [3.0, 0.3][step as usize % 2] } else { 0.5 + draws.uniform() };
            let latency = Span((usual_ms * times * 1e6) as u64);
            match fails {
                true => front.observe(Event::Failed { backend: a, after: latency }, now),
                false => front.observe(Event::Completed { backend: a, status: 200, bytes: 0, latency }, now),
            }
            let due = published.update((!fails).then(|| latency.as_secs_f64()), in_flight);
            in_flight -= 1;
            let limit = front.table().limit_of(a).unwrap().connections();
            assert_eq!(limit, due, "seed {seed}, step {step}: {rule:?}");
            seen.push(limit);
        }
        let (least, most) = (*seen.iter().min().unwrap(), *seen.iter().max().unwrap());
        let turns = seen.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!(turns > 100 && least < most, "seed {seed}: {turns} times another limit, from {least} to {most}");
        ends = [ends[0] || least == rule.least, ends[1] || most == rule.most];
    }
    assert_eq!(ends, [true; 2], "some came to the least, and some to the most");
}

/// What all have together is limited; the policy is asked as usual.
#[test]
fn a_limit_of_all_holds_at_every_instant() {
    let rule = Concurrency { of: Scope::Tier, first: 3, least: 3, most: 5, ..Concurrency::default() };
    let queue = Queue::default();
    let guards = Guards { queue: Some(queue), ..limiting(rule.clone()) };
    let mut front = front("least-connections", 2, guards);
    let mut all = Vec::new();
    while let Some(to) = front.choose(&REQUEST, &[], at(0)).forwarded_to() {
        all.push(to);
    }
    assert_eq!(all.len(), 3);
    let decision = front.choose(&REQUEST, &[], at(0));
    assert_eq!((decision.action, decision.reason.code), (Action::Queue, Code::Full));
    (7..10).for_each(|name| _ = front.wait(name, at(0)));
    assert_eq!(front.let_in(|_| REQUEST, at(0)), None);
    // One ends, and the limit is one more: two go on.
    front.observe(Event::Completed { backend: all[0], status: 200, bytes: 0, latency: MS }, at(1));
    let next = |front: &mut Front| front.let_in(|_| REQUEST, at(1)).map(|admitted| admitted.name);
    assert_eq!([next(&mut front), next(&mut front), next(&mut front)], [Some(7), Some(8), None]);
    assert_eq!(front.waiting(), 1);
    let total: u32 = front.backends().map(|id| front.table().in_flight(id)).sum();
    assert_eq!(total, 4);
}

#[test]
fn shares_of_a_start_are_those_of_the_products() {
    let rule = |by, aggression| SlowStart { over: Span(60 * SECOND), by, aggression, least: 0.1 };
    let shares = |rule: SlowStart| [0, 1, 6, 15, 30, 59, 60].map(|at| rule.share(Span(at * SECOND)));
    let close = |seen: [f64; 7], due: [f64; 7]| seen.iter().zip(due).all(|(seen, due)| (seen - due).abs() < 1e-9);
    assert!(close(shares(rule(StartRule::Envoy, 1.0)), [0.1, 0.1, 0.1, 0.25, 0.5, 59.0 / 60.0, 1.0]));
    assert!(close(
        shares(rule(StartRule::Envoy, 2.0)),
        [1.0 / 60f64.sqrt(), 1.0 / 60f64.sqrt(), 0.1f64.sqrt(), 0.5, 0.5f64.sqrt(), (59.0 / 60.0f64).sqrt(), 1.0]
    ));
    // HAProxy counts weights in sixteenths.
    let sixteenths = [1.0, 1.0, 2.0, 5.0, 9.0, 16.0, 16.0].map(|share| share / 16.0);
    assert!(close(shares(rule(StartRule::Haproxy, 1.0)), sixteenths));
    let limits = |by| [0, 1, 6, 15, 30, 59, 60].map(|at| rule(by, 1.0).limit(Span(at * SECOND), 40));
    assert_eq!(limits(StartRule::Haproxy), [1, 1, 4, 10, 20, 39, 40]);
    assert_eq!(limits(StartRule::Envoy), [40; 7]);
}

#[test]
fn a_server_that_comes_back_gets_its_share_again() {
    let rule = SlowStart { over: Span(20 * SECOND), ..SlowStart::default() };
    let guards = Guards { slow_start: Some(rule), ..Guards::default() };
    let mut front = front("weighted-round-robin", 2, guards);
    let a = BackendId(0);
    let share = |front: &mut Front, now| {
        let chosen = (0..1000).filter(|_| {
            let to = front.choose(&REQUEST, &[], now).forwarded_to().unwrap();
            front.observe(Event::Cancelled { backend: to, after: Span::ZERO }, now);
            to == a
        });
        chosen.count()
    };
    assert_eq!(share(&mut front, at(0)), 500, "what is there from the beginning does not start slowly");
    front.learn(a, News::Drained(true), at(1));
    front.learn(a, News::Drained(false), at(2));
    for (now, weight) in [(2, 0.1), (12, 0.5), (21, 0.95), (22, 1.0)] {
        let seen = share(&mut front, at(now)) as f64;
        assert_eq!(front.table().weight(a), weight, "{now} s");
        assert!((seen - 1000.0 * weight / (1.0 + weight)).abs() <= 1.0, "{now} s: {seen}");
    }
    assert_eq!(front.deadline(), None);
    // One that goes down again is as before, with its whole weight, and begins anew.
    front.learn(a, News::Refused, at(30));
    front.learn(a, News::Answered, at(31));
    assert_eq!(front.table().weight(a), 0.1);
    front.due(at(36));
    front.learn(a, News::Refused, at(36));
    assert_eq!(front.table().weight(a), 1.0);
    front.learn(a, News::Answered, at(37));
    assert_eq!(front.table().weight(a), 0.1);
    front.join("s1", 4.0, at(38)).unwrap();
    front.due(at(47));
    assert_eq!(front.table().weight(a), 2.0);
}

#[test]
fn with_the_rule_of_haproxy_a_limit_grows_too() {
    let rule = SlowStart { over: Span(20 * SECOND), by: StartRule::Haproxy, ..SlowStart::default() };
    let guards = Guards { slow_start: Some(rule), ..Guards::default() };
    let mut front = limited("round-robin", 2, guards, Some("40,39"));
    let a = BackendId(0);
    let limit = |front: &Front| front.table().limit_of(a).unwrap().connections();
    front.learn(a, News::Drained(true), at(1));
    front.learn(a, News::Drained(false), at(2));
    assert_eq!(limit(&front), 40, "it was not down");
    front.learn(a, News::Refused, at(3));
    front.learn(a, News::Answered, at(4));
    let mut after = |now| {
        front.due(at(now));
        limit(&front)
    };
    assert_eq!([4, 5, 14, 23, 24].map(&mut after), [1, 2, 20, 38, 40]);
}

/// A policy that says that parts of weights count does so: one of ten servers with a tenth of the weight gets less than half
/// of what the others get, with as many in flight as a system at work has. Shares are exact or drawn: 20,000 choices leave
/// the bound at more than five standard deviations.
#[test]
fn policies_that_weigh_give_a_part_of_a_weight_a_part() {
    for policy in every_policy() {
        let settings = FrontSettings::new(policy);
        let front = Front::new(&settings, &equal(10), &Catalogue::default(), Signals::GATEWAY, "front");
        let Ok(mut front) = front else { continue };
        if !front.weighs() {
            let guards = Guards { slow_start: Some(SlowStart::default()), ..Guards::default() };
            let wrong =
                Front::new(&settings.guarded(guards), &equal(10), &Catalogue::default(), Signals::GATEWAY, "front");
            assert!(wrong.unwrap_err().to_string().contains("reads no weights that grow"), "{policy}");
            continue;
        }
        let mut draws = Stream::new(1, "guards", policy);
        let mut inside = Vec::new();
        let mut counts = [0u32; 10];
        for step in 0..40_000u64 {
            if step == 20_000 {
                front.set_weight(BackendId(0), 0.1, Time(step));
                counts = [0; 10];
            }
            let to = front.choose(&REQUEST, &[], Time(step)).forwarded_to().unwrap();
            counts[to.0 as usize] += 1;
            inside.push(to);
            if inside.len() > 40 {
                let backend = inside.swap_remove(draws.below(inside.len()));
                front.observe(Event::Completed { backend, status: 200, bytes: 0, latency: MS }, Time(step));
            }
        }
        let others = f64::from(counts[1..].iter().sum::<u32>()) / 9.0;
        assert!(f64::from(counts[0]) < 0.5 * others && counts[0] > 0, "{policy}: {counts:?}");
    }
}

fn waiting(most: u32, wait: Option<u64>) -> Guards {
    let queue = Queue { most, wait: wait.map(|seconds| Span(seconds * SECOND)) };
    Guards { queue: Some(queue), ..Guards::default() }
}

#[test]
fn what_finds_all_full_waits_in_the_order_in_which_it_comes() {
    let mut front = limited("least-connections", 2, waiting(4, Some(2)), Some("1,0"));
    let [a, b] = [BackendId(0), BackendId(1)];
    fill(&mut front, at(0));
    let mut numbers = Vec::new();
    for name in 10..14 {
        let now = at((name - 10) / 2);
        assert_eq!(front.choose(&REQUEST, &[], now).action, Action::Queue);
        numbers.push(front.wait(name, now));
    }
    let decision = front.choose(&REQUEST, &[], at(1));
    assert_eq!((decision.action, decision.reason.code, decision.reason.value), (Action::Refuse, Code::Breaker, 4.0));
    // Two came at 0 s, two at 1 s.
    assert_eq!([front.overdue(at(2)), front.overdue(at(2)), front.overdue(at(2))], [Some(10), Some(11), None]);
    assert_eq!((front.waiting(), front.deadline()), (2, Some(at(3))));
    front.leave(numbers[2]);
    front.leave(numbers[2]);
    front.leave(numbers[0]);
    assert_eq!(front.waiting(), 1);
    // Two have room by now, and one waits.
    assert_eq!(front.let_in(|_| REQUEST, at(2)), None);
    for backend in [b, a] {
        front.observe(Event::Completed { backend, status: 200, bytes: 0, latency: MS }, at(2));
    }
    let admitted = front.let_in(
        |name| {
            assert_eq!(name, 13);
            REQUEST
        },
        at(2),
    );
    let admitted = admitted.unwrap();
    assert_eq!((admitted.name, admitted.since, admitted.decision.forwarded_to()), (13, at(1), Some(b)));
    assert_eq!((front.let_in(|_| REQUEST, at(2)), front.waiting(), front.deadline()), (None, 0, None));
    assert_eq!(front.choose(&REQUEST, &[], at(2)).forwarded_to(), Some(a));
}

#[test]
fn nothing_waits_for_what_never_comes() {
    let mut front = limited("round-robin", 2, waiting(0, None), Some("1,0"));
    fill(&mut front, at(0));
    front.wait(1, at(0));
    front.wait(2, at(0));
    assert_eq!(front.hopeless(), None);
    front.learn(BackendId(0), News::Refused, at(1));
    assert_eq!(front.hopeless(), None);
    front.learn(BackendId(1), News::Refused, at(1));
    assert_eq!([front.hopeless(), front.hopeless(), front.hopeless()], [Some(1), Some(2), None]);
    // One that comes back takes what waits.
    front.learn(BackendId(0), News::Answered, at(2));
    fill(&mut front, at(2));
    let backend = BackendId(0);
    front.observe(Event::Failed { backend, after: MS }, at(2));
    fill(&mut front, at(2));
    front.wait(3, at(2));
    front.learn(BackendId(1), News::Answered, at(3));
    front.observe(Event::Failed { backend: BackendId(1), after: MS }, at(3));
    assert_eq!(front.let_in(|_| REQUEST, at(3)).map(|admitted| admitted.name), Some(3));
}

#[test]
fn breakers_count_requests_and_retries() {
    let breakers = Breakers { requests: 5, retries: 2 };
    let mut front = front("round-robin", 3, Guards { breakers: Some(breakers), ..Guards::default() });
    let a = BackendId(0);
    let mut choose = |tried: &[BackendId]| front.choose(&REQUEST, tried, at(0));
    assert!(choose(&[a]).forwarded_to().is_some() && choose(&[a]).forwarded_to().is_some());
    let third = choose(&[a]);
    assert_eq!((third.action, third.reason.code, third.reason.value), (Action::Refuse, Code::Breaker, 2.0));
    assert_eq!(third.reason.to_string(), "2 are there already, and no more may be");
    let others = [0; 3].map(|_| choose(&[]).forwarded_to().unwrap());
    let sixth = choose(&[]);
    assert_eq!((sixth.action, sixth.reason.code, sixth.reason.value), (Action::Refuse, Code::Breaker, 5.0));
    front.observe(Event::Cancelled { backend: others[0], after: Span::ZERO }, at(1));
    assert_eq!(front.choose(&REQUEST, &[a], at(1)).action, Action::Refuse);
    front.retry_ended();
    assert!(front.choose(&REQUEST, &[a], at(1)).forwarded_to().is_some());
}

/// A record knows no guards: what follows from them is in it.
#[test]
fn a_record_of_a_guarded_front_replays() {
    let record = Shared::default();
    let guards = Guards {
        ejection: Some(Ejection {
            consecutive: 2,
            max_share: 0.5,
            min_requests: 5,
            min_servers: 2,
            ..Ejection::default()
        }),
        queue: Some(Queue { most: 3, wait: Some(Span(2 * SECOND)) }),
        breakers: Some(Breakers { requests: 12, retries: 2 }),
        concurrency: Some(Concurrency { first: 2, least: 1, most: 6, ..Concurrency::default() }),
        slow_start: Some(SlowStart { over: Span(5 * SECOND), ..SlowStart::default() }),
    };
    let mut front = front("weighted-least-connections", 4, guards);
    front.record_to(Box::new(record.clone()), Detail::Decisions).unwrap();
    let mut draws = Stream::new(1, "guards", "record");
    let (mut inside, mut queued, mut went_on, mut asides) = (Vec::new(), 0, 0, 0);
    for step in 0..3000u64 {
        let now = Time(step * SECOND / 20);
        front.due(now);
        match draws.below(3) {
            0 if !inside.is_empty() => {
                let backend = inside.swap_remove(draws.below(inside.len()));
                let status = if draws.below(3) == 0 { 500 } else { 200 };
                front.observe(Event::Completed { backend, status, bytes: 0, latency: MS }, now);
            }
            _ => match front.choose(&REQUEST, &[], now).action {
                Action::Forward(backend) => inside.push(backend),
                Action::Queue => {
                    queued += 1;
                    front.wait(step, now);
                }
                _ => {}
            },
        }
        while let Some(admitted) = front.let_in(|_| REQUEST, now) {
            went_on += 1;
            inside.extend(admitted.decision.forwarded_to());
        }
        while front.overdue(now).is_some() {}
        asides += aside(&front).len();
        let counted: u32 = front.backends().map(|id| front.table().in_flight(id)).sum();
        assert_eq!(counted as usize, inside.len());
    }
    assert!(queued > 50 && went_on > 50 && asides > 50, "{queued} {went_on} {asides}");
    assert_eq!(front.finish_record(), None);
    let replayed = replay(record.taken().as_slice()).unwrap();
    assert_eq!((replayed.choices > 500, replayed.first_difference), (true, None));
}

#[test]
fn guards_are_plain_data_and_what_cannot_be_is_told() {
    let read = |text: &str| serde_json::from_str::<FrontSettings>(text).map_err(|error| error.to_string());
    let text = r#"{"ejection":{},"queue":{"wait":"2 s"},"breakers":{"retries":9},"concurrency":{"by":"gradient"},
                   "slow_start":{"over":"20 s","by":"haproxy"}}"#;
    let settings = read(text).unwrap();
    assert_eq!(settings.ejection, Some(Ejection::default()));
    assert_eq!(settings.queue, Some(Queue { most: 0, wait: Some(Span(2 * SECOND)) }));
    assert_eq!(settings.breakers, Some(Breakers { requests: 1024, retries: 9 }));
    let again = serde_json::to_string(&settings).unwrap();
    assert_eq!(read(&again).as_ref(), Ok(&settings));
    assert_eq!(FrontSettings::default().guarded(settings.guards()).guards(), settings.guards());
    for (text, right) in [
        (r#"{"ejection":{"consecutiv":5}}"#, "unknown field `consecutiv`"),
        (r#"{"ejection":{"every":10}}"#, "`10` has no unit"),
        (r#"{"ejection":{"panic_to":"none"}}"#, "unknown variant `none`, expected `aside` or `all`"),
        (r#"{"concurrency":{"by":"magic"}}"#, "unknown variant `magic`"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(right), "{text}: {error}");
    }
    let wrong = |text: &str, signals: Signals| {
        let settings = FrontSettings { policy: Some("round-robin".into()), ..read(text).unwrap() };
        Front::new(&settings, &equal(2), &Catalogue::default(), signals, "front").map(drop).unwrap_err().to_string()
    };
    for (text, right) in [
        (r#"{"ejection":{"consecutive":0,"success_rate":0}}"#, "ejection: no rule is left"),
        (r#"{"ejection":{"success_rate":-1}}"#, "ejection: success_rate = -1"),
        (r#"{"ejection":{"latency":0.5}}"#, "ejection: latency = 0.5"),
        (r#"{"ejection":{"every":"0 s"}}"#, "ejection: every"),
        (r#"{"ejection":{"base_time":"0 s"}}"#, "ejection: base_time"),
        (r#"{"ejection":{"max_time":"1 s"}}"#, "ejection: max_time = 1 s: at least base_time, 30 s"),
        (r#"{"ejection":{"max_share":1.5}}"#, "ejection: max_share = 1.5"),
        (r#"{"ejection":{"panic":2}}"#, "ejection: panic = 2"),
        (r#"{"ejection":{"min_servers":1}}"#, "ejection: min_servers"),
        (r#"{"ejection":{"min_requests":0}}"#, "ejection: min_requests"),
        (r#"{"queue":{}}"#, "queue: nothing is ever full"),
        (r#"{"limit":2,"queue":{"wait":"0 s"}}"#, "queue: wait"),
        (r#"{"breakers":{"requests":0,"retries":0}}"#, "breakers: both are 0"),
        (r#"{"limit":2,"concurrency":{}}"#, "concurrency: the limit of each server follows"),
        (r#"{"concurrency":{"least":0}}"#, "concurrency: least = 0"),
        (r#"{"concurrency":{"first":10}}"#, "concurrency: first = 10: from 20 to 200"),
        (r#"{"concurrency":{"timeout":"0 s"}}"#, "concurrency: timeout"),
        (r#"{"concurrency":{"backoff":1}}"#, "concurrency: backoff = 1"),
        (r#"{"concurrency":{"tolerance":0.5}}"#, "concurrency: tolerance = 0.5"),
        (r#"{"concurrency":{"smoothing":0}}"#, "concurrency: smoothing = 0"),
        (r#"{"concurrency":{"window":0}}"#, "concurrency: window = 0"),
        (r#"{"slow_start":{"over":"1 ms"}}"#, "slow_start: over = 1 ms"),
        (r#"{"slow_start":{"aggression":0}}"#, "slow_start: aggression = 0"),
        (r#"{"slow_start":{"least":0}}"#, "slow_start: least = 0"),
        (r#"{"slow_start":{}}"#, "slow_start: policy `round-robin` reads no weights"),
    ] {
        let error = wrong(text, Signals::GATEWAY);
        assert!(error.starts_with(right), "{text}: {error}");
    }
    let error = wrong(r#"{"ejection":{}}"#, Signals::IN_FLIGHT);
    assert!(error.contains("go by how replies end, which this face does not see"), "{error}");
}

/// A client may leave in the same instant in which it has waited for too long.
#[test]
fn what_leaves_when_it_is_overdue_is_told_once() {
    let mut front = limited("round-robin", 1, waiting(0, Some(2)), Some("1,0"));
    fill(&mut front, at(0));
    let [first, second] = [5, 6].map(|name| front.wait(name, at(0)));
    assert_eq!(front.deadline(), Some(at(2)));
    front.due(at(2));
    assert_eq!((front.waiting(), front.deadline()), (0, None));
    front.leave(first);
    assert_eq!([front.overdue(at(2)), front.overdue(at(2))], [Some(6), None]);
    front.leave(second);
    assert_eq!(front.waiting(), 0);
}
