//! Guards of a tier, and faults of many servers and of the traffic, as a file writes them.

use std::path::Path;

use sojourn_dispatch::{Breakers, Concurrency, Ejection, Queue, Scope, SlowStart, StartRule};
use sojourn_lab::spec::{Question, SystemQuestion};
use sojourn_lab::{Engine, Experiment, Progress};
use sojourn_model::system::{Fault, Subject, Trouble};
use sojourn_stats::{Estimate, Span, Time};
use sojourn_traffic::Workload;

/// Of the tier, in line 9 and behind, and of the end.
fn text(tier: &str, end: &str) -> String {
    format!(
        "name = \"x\"\n[workload]\nkind = \"open\"\narrivals = \"exponential(rate = 10 /s)\"\n[[system.tier]]\n\
         face = \"gateway\"\npolicy = \"weighted-least-connections\"\ntargets = {{ servers = 5 }}\n{tier}\n[system.server]\n\
         discipline = \"ps\"\ndemand = \"1 ms\"\n[run]\nby = [\"sim\"]\nduration = \"100 s\"\n{end}"
    )
}

fn all(text: String) -> Result<Vec<SystemQuestion>, String> {
    let variants = Experiment::new(Path::new("x.toml"), text, &[]).and_then(|source| source.variants());
    let of = |question| match question {
        Question::System(asked) => *asked,
        Question::Network(_) => unreachable!("it is a system"),
    };
    let variants = variants.map_err(|error| error.to_string())?;
    Ok(variants.into_iter().map(|variant| of(variant.experiment.question)).collect())
}

fn read(tier: &str, end: &str) -> Result<SystemQuestion, String> {
    all(text(tier, end)).map(|mut all| all.remove(0))
}

#[test]
fn guards_are_read_in_the_words_of_the_gateway() {
    let lines = "ejection = { consecutive = 3, max_share = 0.5 }\nlimit = { connections = 4 }\nqueue = { wait = \"2 s\" }\n\
                 breakers = { requests = 50 }\nconcurrency = { of = \"tier\", least = 5 }\n\
                 slow_start = { over = \"20 s\", by = \"haproxy\" }";
    let tier = read(lines, "").unwrap().system.tiers.remove(0);
    let guards = &tier.guards;
    assert_eq!(guards.ejection, Some(Ejection { consecutive: 3, max_share: 0.5, ..Ejection::default() }));
    assert_eq!(guards.queue, Some(Queue { most: 0, wait: Some(Span(2_000_000_000)) }));
    assert_eq!(guards.breakers, Some(Breakers { requests: 50, retries: 3 }));
    assert_eq!(guards.concurrency, Some(Concurrency { of: Scope::Tier, least: 5, ..Concurrency::default() }));
    let slow = SlowStart { over: Span(20_000_000_000), by: StartRule::Haproxy, ..SlowStart::default() };
    assert_eq!(guards.slow_start, Some(slow));
    let limit = tier.limit.unwrap();
    assert_eq!((tier.waits, limit.connections, limit.returns), (true, 4, 3), "where requests wait, one less is enough");
}

#[test]
fn mistakes_about_guards_are_told_where_they_are() {
    for (lines, place, right) in [
        ("ejection = { max_share = 2.0 }", "x.toml:9: ejection: ", "max_share = 2"),
        ("ejection = { consecutiv = 2 }", "x.toml:9", "unknown key `consecutiv`; did you mean `consecutive`?"),
        ("ejection = {}\nqueue = {}", "x.toml:10: queue: ", "nothing is ever full"),
        ("limit = { connections = 2, full = \"refused\" }\nqueue = {}", "x.toml:9: full: ", "in which requests wait"),
        ("limit = { connections = 2 }\nconcurrency = {}", "x.toml:10: concurrency: ", "leave `limit` out"),
        ("breakers = {}\ndispatchers = 2", "x.toml:9: breakers: ", "counts its own requests"),
        ("slow_start = { over = \"5 ms\" }", "x.toml:9: slow_start: ", "at least 1 s"),
    ] {
        let message = read(lines, "").map(drop).expect_err(lines);
        assert!(message.lines().count() == 1 && message.contains(place) && message.contains(right), "{message}");
    }
    let other =
        |from: &str, to: &str| all(text("ejection = {}\nslow_start = {}", "").replace(from, to)).map(drop).unwrap_err();
    let of_policy = other("\"weighted-least-connections\"", "\"round-robin\"");
    assert!(
        of_policy.contains("x.toml:10: slow_start: policy `round-robin` reads no weights that grow"),
        "{of_policy}"
    );
    let gateway = "face = \"gateway\"\npolicy = \"weighted-least-connections\"";
    let of_face = other(gateway, "face = \"redirect\"\npolicy = \"random\"");
    assert!(of_face.contains("x.toml:9: ejection: only a gateway sees how replies end"), "{of_face}");
}

#[test]
fn vary_reaches_each_key_of_guards_and_faults() {
    let vary = "[vary]\n\"system.tier.0.ejection.success_rate\" = [1.9, 3.0]\n\
                \"fault.0.what\" = [\"slow(0.5)\", \"errors(0.2)\"]\n\
                \"fault.0.servers\" = [\"20 %\", \"40 %\"]\n\"fault.0.at\" = [\"10 s\", \"20 s\"]\n";
    let fault = "[[fault]]\nat = \"1 s\"\nuntil = \"50 s\"\nservers = \"20 %\"\nwhat = \"down\"\n";
    let all = all(text("ejection = {}", &format!("{fault}{vary}"))).unwrap();
    assert_eq!(all.len(), 16);
    let count = |of: &dyn Fn(&SystemQuestion) -> bool| all.iter().filter(|asked| of(asked)).count();
    assert_eq!(count(&|asked| asked.system.tiers[0].guards.ejection.as_ref().unwrap().success_rate == 3.0), 8);
    assert_eq!(count(&|asked| asked.system.faults[0].trouble == Trouble::Errors(0.2)), 8);
    assert_eq!(count(&|asked| asked.system.faults[0].subject == Subject::Share(0.4)), 8);
    assert_eq!(count(&|asked| asked.system.faults[0].at == Time(20_000_000_000)), 8);
}

fn at(seconds: u64) -> Time {
    Time(seconds * 1_000_000_000)
}

#[test]
fn servers_are_restarted_one_after_another() {
    let lines = "[[fault]]\nat = \"10 s\"\nservers = \"100 %\"\nwhat = \"rolling-restart(5 s)\"\n";
    let faults = read("", lines).unwrap().system.faults;
    let due = |host: usize| {
        let from = 10 + 5 * host as u64;
        Fault { at: at(from), until: Some(at(from + 5)), subject: Subject::Host(host), trouble: Trouble::Drained }
    };
    assert_eq!(faults, (0..5).map(due).collect::<Vec<_>>());
}

/// Of a share each run draws its servers, of which each is away once, in the order of their numbers.
#[test]
fn a_share_of_the_servers_is_restarted_one_after_another() {
    let lines =
        |servers: &str| format!("[[fault]]\nat = \"10 s\"\nservers = {servers}\nwhat = \"rolling-restart(5 s)\"\n");
    for (servers, share, number) in [("\"60 %\"", 0.6, 3), ("3", 0.6, 3), ("1", 0.2, 1)] {
        let system = read("", &lines(servers)).unwrap().system;
        let due = |place: usize| {
            let from = 10 + 5 * place as u64;
            let subject = Subject::OneOf(share, place);
            Fault { at: at(from), until: Some(at(from + 5)), subject, trouble: Trouble::Drained }
        };
        assert_eq!(system.faults, (0..number).map(due).collect::<Vec<_>>(), "{servers}");
        let of = |seed: u64| -> Vec<usize> {
            let hosts = |(number, fault): (usize, &Fault)| fault.hosts(number, &system, seed);
            system.faults.iter().enumerate().flat_map(hosts).collect()
        };
        for seed in 0..20 {
            let hosts = of(seed);
            assert!(hosts.len() == number && hosts.is_sorted_by(|one, next| one < next), "{servers}: {hosts:?}");
        }
        assert!((1..20).any(|seed| of(seed) != of(0)), "{servers}: they are drawn");
    }
    // Those of another fault are drawn apart, and what may be of the same server at the same time is refused.
    let twice = lines("2") + &lines("2").replace("\"10 s\"", "\"50 s\"");
    let system = read("", &twice).unwrap().system;
    let of = |number: usize, seed: u64| system.faults[number].hosts(number, &system, seed);
    assert!((0..20).any(|seed| of(0, seed) != of(2, seed) || of(1, seed) != of(3, seed)));
    let meets = lines("2") + "[[fault]]\nat = \"12 s\"\nuntil = \"13 s\"\nserver = 1\nwhat = \"down\"\n";
    assert!(read("", &meets).map(drop).unwrap_err().contains("overlaps another fault of the same part"));
}

#[test]
fn vary_reaches_the_keys_of_faults_that_are_several() {
    let vary = "[vary]\n\"fault.0.servers\" = [\"100 %\", \"40 %\"]\n\"fault.0.at\" = [\"5 s\", \"10 s\"]\n\
                \"fault.0.what\" = [\"rolling-restart(1 s)\", \"rolling-restart(2 s)\"]\n\
                \"fault.1.what\" = [\"burst(2)\", \"burst(3)\"]\n\"fault.1.until\" = [\"70 s\", \"80 s\"]\n";
    let faults = "[[fault]]\nat = \"5 s\"\nservers = \"100 %\"\nwhat = \"rolling-restart(1 s)\"\n\
                  [[fault]]\nat = \"60 s\"\nuntil = \"70 s\"\nwhat = \"burst(2)\"\n";
    let daily = "kind = \"open\"\nprofile = \"daily(0 h: 1, 12 h: 2, over = 50 s)\"";
    let all = all(text("", &format!("{faults}{vary}")).replace("kind = \"open\"", daily)).unwrap();
    assert_eq!(all.len(), 32);
    let count = |of: &dyn Fn(&SystemQuestion) -> bool| all.iter().filter(|asked| of(asked)).count();
    assert_eq!(count(&|asked| asked.system.faults.len() == 2 + 1), 16);
    assert_eq!(count(&|asked| asked.system.faults[0].at == at(10)), 16);
    assert_eq!(count(&|asked| asked.system.faults[1].at == at(7)), 8, "2 s after 5 s");
    // In the middle of a round of 50 s the level is 2, and 1.5 at a quarter.
    let levels = |asked: &SystemQuestion| {
        let Workload::Open(open) = &asked.workload else { panic!("it is open") };
        let level = |at_s: f64| open.arrivals.profile().expect("it has one").level(at_s);
        [level(25.0), level(62.5), level(75.0), level(125.0)].map(|level| (level * 1e6).round() / 1e6)
    };
    for (at_62_s, at_75_s) in [(3.0, 2.0), (4.5, 2.0), (3.0, 4.0), (4.5, 6.0)] {
        let due = [2.0, at_62_s, at_75_s, 2.0];
        assert_eq!(count(&|asked| levels(asked) == due), 8, "{due:?}");
    }
}

#[test]
fn a_burst_multiplies_the_rate_for_a_while() {
    let burst = "[[fault]]\nat = \"10 s\"\nuntil = \"20 s\"\nwhat = \"burst(3)\"\n";
    let asked = read("", burst).unwrap();
    let fault = Fault { at: at(10), until: Some(at(20)), subject: Subject::Requests, trouble: Trouble::Burst(3.0) };
    assert_eq!(asked.system.faults, [fault]);
    let levels = |asked: &SystemQuestion| {
        let Workload::Open(open) = &asked.workload else { panic!("it is open") };
        let profile = open.arrivals.profile().expect("it has one");
        [5.0, 9.999, 10.0, 19.999, 20.0, 90.0].map(|at_s| profile.level(at_s))
    };
    assert_eq!(levels(&asked), [1.0, 1.0, 3.0, 3.0, 1.0, 1.0]);
    // Over a ramp, the slope is steeper too.
    let ramp = text("", burst)
        .replace("kind = \"open\"", "kind = \"open\"\nprofile = \"ramp(from = 0, to = 1, over = 20 s)\"");
    let seen = levels(&all(ramp).unwrap().remove(0));
    let near = |seen: f64, due: f64| (seen - due).abs() < 0.001;
    assert!(near(seen[0], 0.25) && near(seen[2], 1.5) && near(seen[3], 3.0) && near(seen[4], 1.0), "{seen:?}");
}

#[test]
fn mistakes_about_faults_of_many_are_told() {
    let open = "[[fault]]\nat = \"10 s\"\n";
    for (lines, right) in [
        ("servers = \"0 %\"\nwhat = \"down\"", "how many servers, from 1 on, or a share of them"),
        ("servers = \"2\"\nwhat = \"down\"", "how many servers, from 1 on, or a share of them"),
        ("servers = 0\nwhat = \"down\"", "how many servers, from 1 on, or a share of them"),
        ("servers = 99\nwhat = \"down\"", "servers: there are no more than"),
        ("servers = \"100 %\"\nwhat = \"rolling-restart(0 s)\"", "what: say how long each server is away"),
        ("servers = \"20 %\"\nshare = 0.2\nwhat = \"down\"", "say once what it happens to"),
        ("servers = \"100 %\"\nwhat = \"rolling-restart\"", "what: say how long each server is away"),
        ("server = 2\nwhat = \"rolling-restart(5 s)\"", "say which, servers = \"50 %\", or those of a `site`"),
        ("servers = \"100 %\"\nuntil = \"20 s\"\nwhat = \"rolling-restart(5 s)\"", "until: it ends when the last"),
        ("servers = \"100 %\"\nwhat = \"rolling-restart(30 s)\"", "it begins after the run of 100 s has ended"),
        ("what = \"burst(3)\"", "what: a burst has an end"),
        ("until = \"20 s\"\nservers = \"20 %\"\nwhat = \"burst(3)\"", "what: a burst is of all requests"),
        ("until = \"20 s\"\nwhat = \"burst(0)\"", "how many times as many"),
        ("until = \"20 s\"\nwhat = \"bursts(2)\"", "unknown fault `bursts`; did you mean `burst`?"),
    ] {
        let message = read("", &format!("{open}{lines}\n")).map(drop).expect_err(lines);
        assert!(message.lines().count() == 1 && message.starts_with("x.toml:") && message.contains(right), "{message}");
    }
    let again = text("", &format!("{open}until = \"20 s\"\nwhat = \"burst(3)\"\n"));
    let quick = again.replace("kind = \"open\"", "kind = \"open\"\nprofile = \"daily(0 h: 1, 12 h: 2, over = 10 us)\"");
    assert!(all(quick).map(drop).unwrap_err().contains("what: a million steps of the `profile` come before the burst"));
    let open = "kind = \"open\"\narrivals = \"exponential(rate = 10 /s)\"";
    let closed = again.replace(open, "kind = \"closed\"\nusers = 5\nthink = \"1 s\"");
    assert!(all(closed).map(drop).unwrap_err().contains("what: a burst is of requests that come by themselves"));
}

/// A fault that is there from the beginning and never ends is a steady state: with one of three servers down each of the two
/// that are left is M/M/1, of 100 ms at 40 of 50 /s.
#[test]
fn a_run_without_an_end_bears_faults_that_last() {
    let asked = |fault: &str, by: Engine| {
        let text = format!(
            "name = \"x\"\n[workload]\nkind = \"open\"\narrivals = \"exponential(rate = 80 /s)\"\n[[system.tier]]\n\
             face = \"gateway\"\npolicy = \"random\"\ntargets = {{ servers = 3 }}\n[system.server]\ndiscipline = \"ps\"\n\
             demand = \"exponential(mean = 20 ms)\"\n[[fault]]\n{fault}\n"
        );
        let experiment = Experiment::new(Path::new("x.toml"), text, &[]).unwrap();
        experiment.ask([by], &Progress::none()).map_err(|error| error.to_string())
    };
    for (fault, right) in [
        ("at = \"1 s\"\nservers = 1\nwhat = \"down\"", "how long a run with faults is"),
        ("at = \"0 s\"\nuntil = \"9 s\"\nservers = 1\nwhat = \"down\"", "how long a run with faults is"),
        ("at = \"0 s\"\nservers = 3\nwhat = \"down\"", "no server is left"),
        ("at = \"0 s\"\nservers = 2\nwhat = \"down\"", "at a utilisation of 1.60"),
    ] {
        let error = asked(fault, Engine::Sim).map(drop).expect_err(fault);
        assert!(error.contains(right), "{fault}: {error}");
    }
    let answers = asked("at = \"0 s\"\nservers = 1\nwhat = \"down\"", Engine::Theory).unwrap();
    let answer = answers.iter().next().unwrap();
    let mean = answer.estimate("response_time_mean").and_then(Estimate::value).expect("it is known");
    assert!((mean - 0.1).abs() < 1e-9, "{mean}");
    assert!(answer.notes.iter().any(|note| note.starts_with("of what is left")), "{:?}", answer.notes);
}
