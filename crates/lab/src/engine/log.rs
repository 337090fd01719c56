//! What happened, by the log that is replayed, and how far the model is from it.
//!
//! The log tells of one system: the one that ran. So there is an answer for the variant that is this system only, which
//! `[workload] ran` names by its policy, else the first one; and only where the log is replayed as it was, at its own speed and
//! without growth. The simulator's answer for that variant is the check: what it says of other variants is worth no more.

use sojourn_load::Limits;
use sojourn_stats::measure::{self, mean_of_batches, mean_of_series, quantile_of_series};
use sojourn_stats::{Estimate, Measure};
use sojourn_traffic::log::{Entry, Log};
use sojourn_traffic::{Replay, Workload};

use crate::answer::{Answer, Trust, Verdict};
use crate::spec::{Engine, Spec, SystemQuestion};

/// A model that is off by no more gives what happened; one that is off by much more gives nothing.
const MISS_MAX: f64 = 0.10;
const MISS_REFUSED: f64 = 0.30;
/// A difference that chance explains counts all the same if it is above this.
const CHANCE_MOST: f64 = 0.25;
/// What the model is judged by.
const JUDGED: [(&str, &str); 4] = [
    ("response_time_mean", "mean"),
    ("response_time_p50", "p50"),
    ("response_time_p90", "p90"),
    ("response_time_p99", "p99"),
];
/// Percentiles that are told.
const TOLD: [(&str, f64); 5] = [
    ("response_time_p50", 0.5),
    ("response_time_p90", 0.9),
    ("response_time_p95", 0.95),
    ("response_time_p99", 0.99),
    ("response_time_p99.9", 0.999),
];
/// Sections of the time for what is counted over it.
const SECTIONS: usize = 40;
/// Servers with a share of their own.
const SHARES_MOST: usize = 16;
/// Corners of the distribution.
const CORNERS: usize = 400;

/// What happened, where the variant number `index` is what ran; none where it is not, or the workload is no log.
pub(crate) fn answer(experiment: &Spec, asked: &SystemQuestion, index: usize) -> Option<Answer> {
    let Workload::Replay(replay) = &asked.workload else { return None };
    let empty = Answer::new(Engine::Log);
    let named = asked.ran.as_ref().map(|policy| policy.replace(' ', ""));
    let is_named =
        |policy: &String| asked.system.tiers.first().is_some_and(|tier| tier.policy.replace(' ', "") == *policy);
    if !named.as_ref().map_or(index == 0, is_named) {
        return None;
    }
    if let Some(why) = differs(replay, asked) {
        // Of other variants it goes without saying.
        return (named.is_none())
            .then(|| Answer { notes: vec![format!("what happened is not beside it: {why}")], ..empty });
    }
    let log = &replay.log;
    let origin_us = log.entries().first().map_or(0, |entry| entry.time_us);
    let run = &experiment.run;
    let from_s = run.warm_up.map_or(0.0, |warm_up| warm_up.as_secs_f64());
    let to_s = run.duration.map_or(f64::INFINITY, |duration| duration.as_secs_f64());
    let at_s = |entry: &Entry| (entry.time_us - origin_us) as f64 / 1e6;
    let entries: Vec<&Entry> = log.entries().iter().filter(|entry| (from_s..to_s).contains(&at_s(entry))).collect();
    let Some((time_s, are)) = times(log, asked.has_network) else {
        let why = "the log has no response times, so what happened is not known";
        return Some(Answer { notes: vec![why.into()], ..empty });
    };
    let good: Vec<&Entry> = entries.iter().copied().filter(|entry| !failed(entry)).collect();
    let series: Vec<f64> =
        good.iter().filter_map(|entry| time_s(entry)).map(|time_s| time_s + log.cut_off_s()).collect();
    let mut measures = vec![Measure::new("response_time_mean", "s", mean_of_series(&series))];
    measures.extend(TOLD.map(|(metric, p)| Measure::new(metric, "s", quantile_of_series(&series, p))));
    let span_s = to_s.min(log.span().as_secs_f64()) - from_s;
    measures.push(Measure::new("throughput", "1/s", rate(&good, &|entry| at_s(entry) - from_s, span_s)));
    let failures = (entries.len() - good.len()) as u64;
    measures.push(Measure::new("error_ratio", "1", measure::ratio(failures, entries.len() as u64)));
    let servers = servers(log);
    if (2..=SHARES_MOST).contains(&servers.len()) {
        let counted =
            |server: &usize| entries.iter().filter(|entry| entry.server() == Some(*server as u32)).count() as u64;
        let share = |(place, server)| {
            Measure::new(format!("share_{}", place + 1), "1", measure::ratio(counted(server), entries.len() as u64))
        };
        measures.extend(servers.iter().enumerate().map(share));
    }
    let mut notes = vec![format!("its response times are {are}")];
    if named.is_none() {
        notes.push("the first variant is taken for what ran; if it was another, name its policy: ran = \"...\"".into());
    }
    if !servers.is_empty() {
        let each: Vec<String> =
            servers.iter().take(SHARES_MOST).map(|server| of_server(log, *server, &entries, &time_s)).collect();
        let more = servers.len().saturating_sub(SHARES_MOST);
        let more = if more > 0 { format!("; and {more} more servers") } else { String::new() };
        notes.push(format!("by server: {}{more}", each.join("; ")));
    }
    if log.left_out() > 0 {
        notes.push(format!("{} requests reached no server, and are not replayed", log.left_out()));
    }
    notes.extend(log.warnings());
    let mut sorted = series;
    sorted.sort_by(f64::total_cmp);
    let corner = |part: usize| {
        let at = (part * sorted.len()).div_ceil(CORNERS).clamp(1, sorted.len());
        (sorted[at - 1], at as f64 / sorted.len() as f64)
    };
    let curve = if sorted.is_empty() { Vec::new() } else { (1..=CORNERS).map(corner).collect() };
    Some(Answer { measures, curve, notes, ..empty })
}

/// In what a replay is another day than the log's.
fn differs(replay: &Replay, asked: &SystemQuestion) -> Option<String> {
    let (logged, here) = (replay.log.servers().len(), asked.system.hosts.len());
    match () {
        () if replay.speed != 1.0 => Some(format!("it is replayed {:.3} times as fast", replay.speed)),
        () if replay.growth != 1.0 => Some(format!("it is replayed with {} times as many requests", replay.growth)),
        () if logged > 0 && logged != here => Some(format!("the log has {logged} servers, and this system {here}")),
        () if !asked.system.faults.is_empty() => Some("faults are planned".into()),
        () => None,
    }
}

/// One of the times that a log may have of a request (s).
type TimeOf = fn(&Entry) -> Option<f64>;

/// How long a request took (s), from several of them.
type Taken = Box<dyn Fn(&Entry) -> Option<f64>>;

/// What a request took, as the simulated system takes it: without a network, until the head of the server's reply.
fn times(log: &Log, has_network: bool) -> Option<(Taken, &'static str)> {
    let count = |of: TimeOf| log.entries().iter().filter(|entry| of(entry).is_some()).count();
    let counts = [count(Entry::to_header_s), count(Entry::at_server_s), count(Entry::response_s)];
    let most = counts.into_iter().max().filter(|most| *most > 0)?;
    let is_known = |at: usize| counts[at] as f64 >= 0.9 * most as f64;
    let with_queue = |of: TimeOf| -> Taken { Box::new(move |entry| Some(of(entry)? + entry.queue_s().unwrap_or(0.0))) };
    match () {
        () if has_network && is_known(2) => {
            Some((Box::new(Entry::response_s), "those of the log, with the transfer to the client"))
        }
        () if is_known(0) => Some((
            with_queue(Entry::to_header_s),
            "from the queue of the balancer to the head of the server's reply, which is what is simulated without a network",
        )),
        () if is_known(1) => {
            Some((with_queue(Entry::at_server_s), "the times in the balancer's queue and at the server"))
        }
        () => Some((Box::new(Entry::response_s), "those of the log, with the transfer to the client")),
    }
}

/// The servers that served something, in the order of their names: the first is the simulated system's first.
fn servers(log: &Log) -> Vec<usize> {
    let mut servers: Vec<usize> = (0..log.servers().len()).collect();
    servers.sort_by_key(|server| &log.servers()[*server]);
    servers
}

fn of_server(log: &Log, server: usize, entries: &[&Entry], time_s: &dyn Fn(&Entry) -> Option<f64>) -> String {
    let own: Vec<&&Entry> = entries.iter().filter(|entry| entry.server() == Some(server as u32)).collect();
    let mut times: Vec<f64> = own
        .iter()
        .filter(|entry| !failed(entry))
        .filter_map(|entry| time_s(entry))
        .map(|time_s| time_s + log.cut_off_s())
        .collect();
    times.sort_by(f64::total_cmp);
    let rank = |p: f64| times[((p * times.len() as f64).ceil() as usize).clamp(1, times.len()) - 1];
    let figures = match times.is_empty() {
        true => String::new(),
        false => {
            let mean_s = times.iter().sum::<f64>() / times.len() as f64;
            format!(", mean {}, p90 {}, p99 {}", told(mean_s), told(rank(0.9)), told(rank(0.99)))
        }
    };
    let failures = own.iter().filter(|entry| failed(entry)).count();
    format!("{}: {} requests, {failures} failed{figures}", log.servers()[server], own.len())
}

/// Three digits, in the unit that they need.
fn told(seconds: f64) -> String {
    let (number, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "us"),
    };
    let decimals = if number < 10.0 { 2 } else { usize::from(number < 100.0) };
    format!("{number:.decimals$} {unit}")
}

fn failed(entry: &Entry) -> bool {
    entry.status >= 500 || entry.status == 0
}

/// Good replies per second, from sections of the time.
fn rate(good: &[&Entry], at_s: &dyn Fn(&Entry) -> f64, span_s: f64) -> Estimate {
    let mut counts = vec![0.0_f64; SECTIONS];
    for entry in good {
        counts[((at_s(entry) / span_s * SECTIONS as f64) as usize).min(SECTIONS - 1)] += 1.0;
    }
    let rates: Vec<f64> = counts.iter().map(|count| count * SECTIONS as f64 / span_s).collect();
    mean_of_batches(&rates, good.len() as u64)
}

/// How far the simulated day is from what happened, and what that means for the other variants: for the verdict, and as a note.
pub(crate) fn judged(happened: &Answer, sim: &Answer) -> Option<(Trust, String)> {
    let mut told = Vec::new();
    let (mut worst, mut is_missed) = (0.0_f64, false);
    for (metric, name) in JUDGED {
        let (Some(was), Some(is)) = (happened.estimate(metric), sim.estimate(metric)) else { continue };
        let (Some(seen), Some(simulated)) = (was.value(), is.value()) else { continue };
        if seen.is_nan() || seen <= 0.0 {
            continue;
        }
        let error = simulated / seen - 1.0;
        let overlap = was.interval().zip(is.interval()).is_some_and(|(was, is)| was.0 <= is.1 && is.0 <= was.1);
        is_missed |= error.abs() > if overlap { CHANCE_MOST } else { MISS_MAX };
        worst = worst.max(error.abs());
        told.push(format!("{name} {:+.1} %", 100.0 * error));
    }
    if told.is_empty() {
        return None;
    }
    let (told, percent) = (told.join(", "), format!("{:.0} %", (100.0 * worst).ceil()));
    let (verdict, meaning) = match (is_missed, worst > MISS_REFUSED) {
        (false, _) => (
            Verdict::Valid,
            format!(
                "the simulated day is what happened ({told}): differences between variants of less than {percent} are within that"
            ),
        ),
        (true, false) => (
            Verdict::Suspect,
            format!(
                "the simulated day misses what happened ({told}): what is said of other variants may be off by as much"
            ),
        ),
        (true, true) => (
            Verdict::Suspect,
            format!("the simulated day is not what happened ({told}): do not rely on what is said of other variants"),
        ),
    };
    let reasons = if verdict == Verdict::Valid { Vec::new() } else { vec![meaning.clone()] };
    let facts = vec![("simulated day against the log".to_owned(), told)];
    Some((Trust { verdict, reasons, facts, limits: Limits::default(), incidents: Vec::new() }, meaning))
}
