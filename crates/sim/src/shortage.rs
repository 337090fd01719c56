//! Faults that leave less than is asked for, and numbers that hide what they do.
//!
//! While one lasts the queues grow, and how long responses take then depends on how long the fault, or the run, is. That is said
//! beside the numbers. Servers are taken together: what is left over may be enough for all, and still not for one of them.

use sojourn_model::System;
use sojourn_model::system::Trouble;
use sojourn_stats::{Span, Time};

use crate::control::WarmUp;

/// What to say of the faults of `system` under `rate` requests (1/s), of which the servers together can do `stable`; none where
/// enough is left until the run ends at `end`, if it is known when it does. Which servers a share has is drawn by `seed`.
pub(crate) fn note(system: &System, seed: u64, rate: f64, stable: f64, end: Option<Time>) -> Option<String> {
    let is_in_time = |from: Time| end.is_none_or(|end| from < end);
    let short = |(from, _, left): &(Time, Option<Time>, f64)| is_in_time(*from) && rate >= *left;
    let (from, until, left) = spans(system, seed, stable).into_iter().find(short)?;
    let until = until.map_or("the end".into(), |until| Span(until.0).to_string());
    Some(format!(
        "from {} to {until} the servers that are left can do {left:.1} requests/s, and {rate:.1} /s come: queues grow as long as \
         that lasts, and response times say how long it was",
        Span(from.0)
    ))
}

/// What to say of numbers that are of the time before the first fault and after it, or of which the warm-up leaves out what was
/// under way when it began; none where there is no such fault before the end.
pub(crate) fn mixed(system: &System, warm_up: WarmUp, end: Option<Time>) -> Option<String> {
    let first = system.faults.iter().map(|fault| fault.at).min().filter(|at| end.is_none_or(|end| *at < end))?;
    let is_left_out = matches!(warm_up, WarmUp::Fixed(warm_up) if Time::ZERO + warm_up >= first);
    let at = Span(first.0);
    (first > Time::ZERO).then(|| match is_left_out {
        false => format!(
            "the numbers are of the whole run, and what was before the fault at {at} is in them too: `run.warm_up = \"{at}\"` \
             leaves it out, and with it the requests that were under way then"
        ),
        true => format!(
            "requests that were under way when the fault at {at} began had come in the warm-up, and are not counted"
        ),
    })
}

/// The times between beginnings and ends of faults, each with what the servers can do meanwhile (1/s).
fn spans(system: &System, seed: u64, stable: f64) -> Vec<(Time, Option<Time>, f64)> {
    let mut ends: Vec<Time> = system.faults.iter().flat_map(|fault| [Some(fault.at), fault.until]).flatten().collect();
    ends.sort_unstable();
    ends.dedup();
    let size = |host: usize| f64::from(system.hosts[host].server.cores) * system.hosts[host].server.speed;
    let all: f64 = (0..system.hosts.len()).map(size).sum();
    let left = |at: Time| {
        let mut parts = vec![1.0_f64; system.hosts.len()];
        let active = |until: Option<Time>| until.is_none_or(|until| at < until);
        for (number, fault) in
            system.faults.iter().enumerate().filter(|(_, fault)| fault.at <= at && active(fault.until))
        {
            let part = match fault.trouble {
                Trouble::Down | Trouble::Frozen | Trouble::Drained => 0.0,
                Trouble::Slow(part) => part,
                Trouble::Errors(_) | Trouble::Cut | Trouble::Loss(_) | Trouble::Restarted | Trouble::Burst(_) => {
                    continue;
                }
            };
            fault.hosts(number, system, seed).into_iter().for_each(|host| parts[host] = parts[host].min(part));
        }
        parts.iter().enumerate().map(|(host, part)| part * size(host)).sum::<f64>() / all * stable
    };
    ends.iter().enumerate().map(|(number, at)| (*at, ends.get(number + 1).copied(), left(*at))).collect()
}

#[cfg(test)]
mod tests {
    use sojourn_model::system::{Face, Fault, Subject, Tier};
    use sojourn_model::{Discipline, Server};

    use super::*;

    /// Four servers that can do 400 /s together, with these faults.
    fn system(faults: &[Fault]) -> System {
        let server = Server {
            discipline: Discipline::Fcfs,
            cores: 1,
            speed: 1.0,
            demand: Vec::new(),
            capacity: None,
            drops_overflow: false,
            machine: None,
        };
        let system = System::balanced(Tier::new(Face::Gateway, "random"), vec![server; 4]);
        System { faults: faults.to_vec(), ..system }
    }

    #[test]
    fn what_is_left_is_held_against_what_comes() {
        let second = |at: u64| Time(at * 1_000_000_000);
        let fault = |at, until: Option<u64>, host, trouble| Fault {
            at: second(at),
            until: until.map(second),
            subject: Subject::Host(host),
            trouble,
        };
        let told = |rate: f64, faults: &[Fault]| note(&system(faults), 1, rate, 400.0, Some(second(60)));
        let dead = [fault(5, None, 0, Trouble::Down)];
        assert_eq!(told(299.0, &dead), None, "three are enough");
        let text = told(300.0, &dead).unwrap();
        assert!(text.starts_with("from 5 s to the end the servers that are left can do 300.0 "), "{text}");
        let two = [fault(5, Some(30), 0, Trouble::Slow(0.5)), fault(10, Some(20), 1, Trouble::Frozen)];
        assert_eq!(told(249.0, &two), None);
        let text = told(250.0, &two).unwrap();
        assert!(text.starts_with("from 10 s to 20 s the servers"), "both at once: {text}");
        let whole = |warm_up, faults: &[Fault]| mixed(&system(faults), warm_up, Some(second(60)));
        let after = |seconds: u64| WarmUp::Fixed(Span(second(seconds).0));
        let text = whole(WarmUp::Auto, &two).unwrap();
        assert!(text.contains("before the fault at 5 s") && text.contains("`run.warm_up = \"5 s\"`"), "{text}");
        assert!(whole(after(4), &two).unwrap().contains("before the fault"));
        let text = whole(after(5), &two).unwrap();
        assert!(text.starts_with("requests that were under way when the fault at 5 s began"), "{text}");
        for none in [&[][..], &[fault(0, None, 0, Trouble::Down)], &[fault(60, None, 0, Trouble::Down)]] {
            assert_eq!(whole(WarmUp::Auto, none), None, "{none:?}");
        }
        assert_eq!(told(300.0, &[fault(60, None, 0, Trouble::Down)]), None, "the run is over");
        assert_eq!(told(399.0, &[fault(5, None, 0, Trouble::Errors(0.9))]), None, "an error takes no time");
    }
}
