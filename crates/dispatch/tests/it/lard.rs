//! A backend for each path, another one when that is much busier: `lard`, held to the procedures of figures 2 and 3 of Pai et al.
//! (ASPLOS 1998), written again here.

use std::collections::HashMap;

use sojourn_dispatch::{BackendId, Code, Dispatcher, Event, Information, Request, Signals, key};
use sojourn_stats::{Span, Stream, Time};

use crate::common::{REQUEST, dispatcher, equal};

const SERVERS: usize = 5;

fn asking(path: u64) -> Request {
    Request { key: key(&format!("/{path}")), ..REQUEST }
}

fn ended(dispatcher: &mut Dispatcher, backend: BackendId, now: Time) {
    dispatcher.observe(Event::Completed { backend, status: 200, bytes: 1, latency: Span(1) }, now);
}

/// The figures as they are printed; of equal backends any may be the least loaded one, so `chosen` says which it was.
struct Printed {
    low: u32,
    high: u32,
    replicates: bool,
    sets: HashMap<u64, (Vec<usize>, Time)>,
}

impl Printed {
    /// What may be chosen for `path`.
    fn due(&self, path: u64, load: &[u32]) -> Vec<usize> {
        let least = |of: &[usize]| {
            let least = of.iter().map(|n| load[*n]).min().expect("some");
            of.iter().copied().filter(|n| load[*n] == least).collect::<Vec<_>>()
        };
        let all = least(&(0..load.len()).collect::<Vec<_>>());
        let Some((set, _)) = self.sets.get(&path) else { return all };
        let own = least(set);
        let is_unbalanced = load[own[0]] > self.high && load.iter().any(|load| *load < self.low);
        if is_unbalanced || load[own[0]] >= 2 * self.high { all } else { own }
    }

    fn took(&mut self, path: u64, chosen: usize, load: &[u32], now: Time) {
        let (set, changed) = self.sets.entry(path).or_insert((Vec::new(), now));
        if !set.contains(&chosen) {
            if !self.replicates {
                set.clear();
            }
            set.push(chosen);
            *changed = now;
        }
        if set.len() > 1 && now.0 - changed.0 > 20_000_000_000 {
            let most = set.iter().map(|n| load[*n]).max().expect("some");
            // Which of several busiest ones leaves is not printed: the last, as in the policy.
            let place = set.iter().rposition(|n| load[*n] == most).expect("one");
            set.remove(place);
            *changed = now;
        }
    }
}

#[test]
fn choices_are_those_of_the_published_figures() {
    for (policy, replicates) in
        [("lard(low = 3, high = 6)", false), ("lard(low = 3, high = 6, replicates = true)", true)]
    {
        let mut lard = dispatcher(policy, &equal(SERVERS));
        let mut printed = Printed { low: 3, high: 6, replicates, sets: HashMap::new() };
        let mut draw = Stream::new(1, "lard", "test");
        let mut load = [0_u32; SERVERS];
        let (mut moved, mut most) = (0, 0);
        for step in 0..20_000_u64 {
            let now = Time(step * 40_000_000);
            // The load swings, so that paths move and come to rest.
            let target = if step / 500 % 2 == 0 { 5 } else { 30 };
            while load.iter().sum::<u32>() > target {
                let busy: Vec<usize> = (0..SERVERS).filter(|n| load[*n] > 0).collect();
                let n = busy[draw.below(busy.len())];
                ended(&mut lard, BackendId(n as u32), now);
                load[n] -= 1;
            }
            let path = (draw.uniform().powi(3) * 12.0) as u64;
            let decision = lard.choose(&asking(path), &[], now);
            let chosen = decision.forwarded_to().expect("all are up").0 as usize;
            let due = printed.due(path, &load);
            assert!(due.contains(&chosen), "{policy}, step {step}: {chosen} of {load:?}, due {due:?}");
            assert_eq!(decision.reason.code, Code::PathHome);
            let before = printed.sets.get(&path).map(|(set, _)| set.clone());
            printed.took(path, chosen, &load, now);
            moved += usize::from(before.is_some_and(|set| !set.contains(&chosen)));
            most = most.max(printed.sets[&path].0.len());
            load[chosen] += 1;
        }
        assert!(moved > 50, "{policy}: {moved} moves");
        assert_eq!(most > 1, replicates, "{policy}: sets of {most}");
    }
}

#[test]
fn a_path_leaves_a_backend_that_is_down() {
    for policy in ["lard", "lard(replicates = true)"] {
        let mut lard = dispatcher(policy, &equal(3));
        let home = lard.choose(&asking(1), &[], Time(0)).forwarded_to().expect("all are up");
        let other = lard.choose(&asking(1), &[home], Time(1)).forwarded_to().expect("two are left");
        assert_ne!(other, home, "{policy}: a retry goes elsewhere");
        lard.observe(Event::Down { backend: home }, Time(2));
        for n in 3..20 {
            assert_ne!(lard.choose(&asking(1), &[], Time(n)).forwarded_to(), Some(home), "{policy}");
        }
    }
}

#[test]
fn the_paths_asked_for_last_are_remembered() {
    let mut lard = dispatcher("lard(low = 1, high = 1000000)", &equal(SERVERS));
    let mut home = |path: u64| {
        let chosen = lard.choose(&asking(path), &[], Time(path)).forwarded_to().expect("all are up");
        ended(&mut lard, chosen, Time(path));
        chosen
    };
    let before: Vec<_> = (0..1_000).map(&mut home).collect();
    (1_000..70_000).for_each(|path| {
        home(path);
    });
    assert_eq!((0..1_000).map(&mut home).collect::<Vec<_>>(), before);
    (70_000..270_000).for_each(|path| {
        home(path);
    });
    assert_ne!((0..1_000).map(&mut home).collect::<Vec<_>>(), before, "they were forgotten and are drawn anew");
}

#[test]
fn what_cannot_be_is_said() {
    for (policy, right) in [
        ("lard(low = 70)", "low = 70 is above high = 65"),
        ("lard(high = 0)", "high = 0: it is a number from 1"),
        ("lard(replicates = yes)", "it is `true` or `false`"),
        ("lard(keep = 3)", "keep = 3"),
    ] {
        let signals = Signals::PATH | Signals::IN_FLIGHT;
        let made = Dispatcher::new(policy, &equal(2), Information::Immediate, signals, 1, "gateway");
        let why = made.expect_err(policy).to_string();
        assert!(why.contains(right), "{policy}: {why}");
    }
}
