//! What happened, by the log that is replayed, and how far the model is from it.
//!
//! The log tells of one system: the one that ran. So there is an answer for the variant that is this system only, which
//! `[workload] ran` names by its policy, else the first one; and only where the log is replayed as it was, at its own speed and
//! without growth. The simulator's answer for that variant is the check: what it says of other variants is worth no more.

use sojourn_stats::measure::{mean_of_batches, mean_of_series};
use sojourn_stats::parts::{quantiles_of_series, share_of_series};
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
/// Times below so many steps of the log's clock are short beside it, as for a fit to a log.
const STEPS_LEAST: f64 = 3.0;
/// Steps up to this (s), with a hair, are the finest that nginx and HAProxy write: 1 ms.
const FINE_S: f64 = 1.001e-3;
/// Share of the requests that came in the step of another one at their server; above it the order within a step matters.
const TOGETHER_MOST: f64 = 0.05;
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
    let good: Vec<&Entry> = entries.iter().copied().filter(|entry| !failed(entry) && !entry.is_abandoned()).collect();
    let series: Vec<f64> =
        good.iter().filter_map(|entry| time_s(entry)).map(|time_s| time_s + log.cut_off_s()).collect();
    let step_s = log.response_step_s();
    let mut measures = vec![Measure::new("response_time_mean", "s", by_clock(mean_of_series(&series), step_s))];
    let told = quantiles_of_series(&series, &TOLD.map(|(_, p)| p)).into_iter().map(|of| by_clock(of, step_s));
    measures.extend(TOLD.iter().zip(told).map(|((metric, _), quantile)| Measure::new(*metric, "s", quantile)));
    let span_s = to_s.min(log.span().as_secs_f64()) - from_s;
    measures.push(Measure::new("throughput", "1/s", rate(&good, &|entry| at_s(entry) - from_s, span_s)));
    // What fails in an outage fails together, and tells less than as many alone.
    measures.push(Measure::new("error_ratio", "1", share_of_series(entries.iter().map(|entry| failed(entry)))));
    let abandoned = entries.iter().filter(|entry| entry.is_abandoned()).count() as u64;
    if abandoned > 0 {
        let share = share_of_series(entries.iter().map(|entry| entry.is_abandoned()));
        measures.push(Measure::new("abandoned_ratio", "1", share));
    }
    let servers = servers(log, &entries, &time_s);
    if (2..=SHARES_MOST).contains(&servers.len()) {
        let rows = servers.iter().enumerate().flat_map(|(place, server)| server.rows(place + 1, &entries, step_s));
        measures.extend(rows);
    }
    let mut notes = vec![format!("its response times are {are}")];
    if named.is_none() {
        notes.push("the first variant is taken for what ran; if it was another, name its policy: ran = \"...\"".into());
    }
    if !servers.is_empty() {
        let each: Vec<String> = servers.iter().take(SHARES_MOST).map(Served::in_words).collect();
        let more = servers.len().saturating_sub(SHARES_MOST);
        let more = if more > 0 { format!("; and {more} more servers") } else { String::new() };
        notes.push(format!("by server: {}{more}", each.join("; ")));
    }
    if log.left_out() > 0 {
        notes.push(format!("{} requests reached no server, and are not replayed", log.left_out()));
    }
    if abandoned > 0 {
        notes.push(format!(
            "{abandoned} requests were given up by their clients: how long these waited is in no response time; they are \
             replayed, and wait to the end"
        ));
    }
    notes.extend(log.warnings());
    let mut sorted = series;
    sorted.sort_unstable_by(f64::total_cmp);
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
    if replay.sampled != 1 {
        let why = "one in {} requests was logged, and the others are copies of these: when they came is made up";
        return Some(why.replace("{}", &replay.sampled.to_string()));
    }
    if replay.speed != 1.0 {
        return Some(format!("it is replayed {:.3} times as fast", replay.speed));
    }
    if replay.growth != 1.0 {
        return Some(format!("it is replayed with {} times as many requests", replay.growth));
    }
    if logged > 0 && logged != here {
        let s = if logged == 1 { "" } else { "s" };
        return Some(format!("the log has {logged} server{s}, and this system {here}"));
    }
    (!asked.system.faults.is_empty()).then(|| "faults are planned".into())
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
    if !(has_network && is_known(2)) {
        if is_known(0) {
            let are = "from the queue of the balancer to the head of the server's reply, which is what is simulated without a \
                       network";
            return Some((with_queue(Entry::to_header_s), are));
        }
        if is_known(1) {
            return Some((with_queue(Entry::at_server_s), "the times in the balancer's queue and at the server"));
        }
    }
    Some((Box::new(Entry::response_s), "those of the log, with the transfer to the client"))
}

/// What happened at a server.
struct Served<'a> {
    name: &'a str,
    /// Its number in the log.
    number: u32,
    requests: u64,
    failed: u64,
    abandoned: u64,
    /// The times of good replies (s), in the order of the requests.
    times_s: Vec<f64>,
}

/// The servers of the log, in the order of their names: the first is the simulated system's first.
fn servers<'a>(log: &'a Log, entries: &[&Entry], time_s: &dyn Fn(&Entry) -> Option<f64>) -> Vec<Served<'a>> {
    let of_name = |(number, name): (u32, &'a String)| Served {
        name,
        number,
        requests: 0,
        failed: 0,
        abandoned: 0,
        times_s: Vec::new(),
    };
    let mut servers: Vec<Served<'a>> = (0..).zip(log.servers()).map(of_name).collect();
    for entry in entries {
        let Some(server) = entry.server().and_then(|server| servers.get_mut(server as usize)) else { continue };
        server.requests += 1;
        match (failed(entry), entry.is_abandoned()) {
            (true, _) => server.failed += 1,
            (_, true) => server.abandoned += 1,
            _ => server.times_s.extend(time_s(entry).map(|time_s| time_s + log.cut_off_s())),
        }
    }
    servers.sort_by_key(|server| server.name);
    servers
}

impl Served<'_> {
    /// Its rows, as server number `number`, of all these requests, whose times have steps of `step_s`.
    fn rows(&self, number: usize, entries: &[&Entry], step_s: f64) -> Vec<Measure> {
        let is_here = |entry: &Entry| entry.server() == Some(self.number);
        let failures: Vec<bool> = entries.iter().filter(|entry| is_here(entry)).map(|entry| failed(entry)).collect();
        let row = |metric: &str, unit: &'static str, of| Measure::new(format!("{metric}_{number}"), unit, of);
        let [p90, p99] =
            <[Estimate; 2]>::try_from(quantiles_of_series(&self.times_s, &[0.9, 0.99])).expect("two of two");
        vec![
            row("share", "1", share_of_series(entries.iter().map(|entry| is_here(entry)))),
            row("error_ratio", "1", share_of_series(failures.into_iter())),
            row("response_time_mean", "s", by_clock(mean_of_series(&self.times_s), step_s)),
            row("response_time_p90", "s", by_clock(p90, step_s)),
            row("response_time_p99", "s", by_clock(p99, step_s)),
        ]
    }

    fn in_words(&self) -> String {
        let figures = match self.times_s.is_empty() {
            true => String::new(),
            false => {
                let mean_s = self.times_s.iter().sum::<f64>() / self.times_s.len() as f64;
                let mut sorted = self.times_s.clone();
                sorted.sort_unstable_by(f64::total_cmp);
                let rank = |p: f64| sorted[((p * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1];
                format!(", mean {}, p90 {}, p99 {}", in_unit(mean_s), in_unit(rank(0.9)), in_unit(rank(0.99)))
            }
        };
        let abandoned = match self.abandoned {
            0 => String::new(),
            some => format!(", {some} given up"),
        };
        format!("{}: {} requests, {} failed{abandoned}{figures}", self.name, self.requests, self.failed)
    }
}

/// Three digits, in the unit that they need.
fn in_unit(seconds: f64) -> String {
    let (number, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "us"),
    };
    let decimals = if number < 10.0 { 2 } else { usize::from(number < 100.0) };
    format!("{number:.decimals$} {unit}")
}

/// A number of times that a clock has told in steps of `step_s`: it may be off by one of them, whatever chance does.
fn by_clock(estimate: Estimate, step_s: f64) -> Estimate {
    match estimate {
        Estimate::Sampled { value, ci_low, ci_high, samples } => {
            Estimate::Sampled { value, ci_low: (ci_low - step_s).max(0.0), ci_high: ci_high + step_s, samples }
        }
        other => other,
    }
}

fn failed(entry: &Entry) -> bool {
    !entry.is_abandoned() && (entry.status >= 500 || entry.status == 0)
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
///
/// It is SUSPECT whatever it gives where the fit of the model is, and where the log's clock is too coarse to say which requests
/// were at a server together: the agreement is then one with instants that are made up.
pub(crate) fn judged(happened: &Answer, sim: &Answer, asked: &SystemQuestion) -> Option<(Trust, String)> {
    let Workload::Replay(Replay { log, .. }) = &asked.workload else { return None };
    let step_s = log.response_step_s();
    let mut told = Vec::new();
    let (mut worst, mut is_missed, mut is_below) = (0.0_f64, false, false);
    for (metric, name) in JUDGED {
        let (Some(was), Some(is)) = (happened.estimate(metric), sim.estimate(metric)) else { continue };
        let (Some(seen), Some(simulated)) = (was.value(), is.value()) else { continue };
        // Below a step of its clock the log says nothing but that.
        is_below |= seen < step_s;
        if seen.is_nan() || seen.max(simulated) < step_s {
            continue;
        }
        let (least, than) = if seen < step_s { ("at least ", step_s) } else { ("", seen) };
        let error = simulated / than - 1.0;
        // Of what has no interval it is not known how far chance moves it.
        let overlap = was.interval().zip(is.interval()).is_none_or(|(was, is)| was.0 <= is.1 && is.0 <= was.1);
        is_missed |= error.abs() > if overlap { CHANCE_MOST } else { MISS_MAX };
        worst = worst.max(error.abs());
        told.push(format!("{name} {least}{:+.1} %", 100.0 * error));
    }
    if told.is_empty() {
        let why = format!(
            "what happened took less than {}, the step of the log's times: no model is judged by it",
            in_unit(step_s)
        );
        let trust = Trust { verdict: Verdict::Suspect, reasons: vec![why.clone()], ..Trust::default() };
        return is_below.then_some((trust, why));
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
    let mut reasons = if verdict == Verdict::Valid { Vec::new() } else { vec![meaning.clone()] };
    reasons.extend(coarse(asked));
    reasons.extend(asked.findings.doubts.iter().map(|doubt| format!("the server model is SUSPECT: {doubt}")));
    let verdict = if reasons.is_empty() { verdict } else { verdict.max(Verdict::Suspect) };
    let meaning = [&[meaning], &reasons[usize::from(is_missed)..]].concat().join("; ");
    let facts = vec![("simulated day against the log".to_owned(), told)];
    Some((Trust { verdict, reasons, facts, ..Trust::default() }, meaning))
}

/// Why the instants of the log that is replayed are too coarse, where they are: what a request takes is short beside the step of
/// the log's clock, and requests share steps at their server.
fn coarse(asked: &SystemQuestion) -> Option<String> {
    let Workload::Replay(Replay { log, .. }) = &asked.workload else { return None };
    let (time_s, _) = times(log, asked.has_network)?;
    let mut taken: Vec<f64> = log.entries().iter().filter_map(&time_s).collect();
    let (middle, step_s) = (taken.len() / 2, log.resolution_s());
    let median_s = *taken.select_nth_unstable_by(middle, f64::total_cmp).1;
    if median_s >= STEPS_LEAST * step_s {
        return None;
    }
    let nowhere = log.servers().len();
    let mut last_s = vec![f64::NEG_INFINITY; nowhere + 1];
    let is_together = |entry: &&Entry| {
        let last_s = &mut last_s[entry.server().map_or(nowhere, |server| server as usize)];
        let at_s = entry.time_us as f64 / 1e6;
        at_s - std::mem::replace(last_s, at_s) < step_s
    };
    let share = log.entries().iter().filter(is_together).count() as f64 / log.requests() as f64;
    let helps = match step_s > FINE_S {
        true => "log finer instants (nginx: $msec in place of $time_local; Apache: %{usec}t)",
        false => "nginx and HAProxy write no finer instants than 1 ms; Apache does (%{usec}t)",
    };
    (share > TOGETHER_MOST).then(|| {
        format!(
            "the log has its instants in steps of {}, and requests take {} in the median: where in a step each came is made up, \
             and so is which request waits for which; {:.0} % came in the step of another one at their server; {helps}",
            in_unit(step_s),
            in_unit(median_s),
            100.0 * share
        )
    })
}
