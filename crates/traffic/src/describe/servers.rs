//! Who served what, and when: requests, errors, load and response times by server and over the day, where a log tells them.
//!
//! The load of a server is the mean number of requests that were there, which is the sum of their times there over the time that
//! the log covers (Little's law). The time at a server is what the format says of it; where it says none, the response time
//! stands for it, and this is said. A request is there from its arrival, or from the end of its wait in the proxy's queue, where
//! that is known; over time, each period has of it what lies within.
//! What its client gave up was there until then; how long is in no response time, and in no time at the server.

mod tables;

use serde::Serialize;

pub use self::tables::Listing;
use super::rate::{self, length_in_words};
use super::{Value, ascending, mean};
use crate::recorded::log::{Entry, Log};
use crate::words::{count, verb};

/// Periods at most: a day by the hour.
const PERIODS_MOST: f64 = 24.0;
/// Servers that are told apart over time at most; more make no table.
const SERVERS_MOST: usize = 8;
/// Shares of the load that are so many times those of the requests are worth a sentence.
const APART: f64 = 1.2;

/// Requests by server and over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Served {
    /// What the load is made of: `time at the server`, or `response time` where the log has no other.
    pub load_is_of: &'static str,
    /// Each server, the one with the most requests first; what no server got is not in it.
    pub servers: Vec<ServerLoad>,
    /// Requests that the log names no server for.
    pub without_server: u64,
    /// Length of a period (s).
    pub period_s: f64,
    /// What happened over time, and at each of the first servers.
    pub periods: Vec<Period>,
    /// The same in sentences.
    pub words: Vec<String>,
    /// How exactly the log says how long requests took (s): its 0 is something below.
    #[serde(skip)]
    step_s: f64,
}

/// What one server got.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerLoad {
    /// As the log calls it.
    pub server: String,
    /// Requests that it served.
    pub requests: u64,
    /// Their share of those that any server got.
    pub share: f64,
    /// Those with a status of 500 or more, or without a reply, but for what clients gave up.
    pub errors: u64,
    /// Those that their clients gave up.
    pub abandoned: u64,
    /// Mean number of requests there; none where the log has no times.
    pub load: Option<f64>,
    /// Its share of the load of all.
    pub load_share: Option<f64>,
    /// Times at the server (s).
    pub at_server: Option<TimesTaken>,
    /// Response times (s).
    pub response: Option<TimesTaken>,
    /// Mean wait in the proxy's queues (s).
    pub queue_mean_s: Option<f64>,
}

/// Times of some requests (s).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TimesTaken {
    /// How many.
    pub count: u64,
    /// Their mean.
    pub mean_s: f64,
    /// Their median.
    pub p50_s: f64,
    /// What one in a hundred exceeds; none where there are too few.
    pub p99_s: Option<f64>,
}

/// What happened in a part of the time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Period {
    /// When it begins, by the log's clock.
    pub start: String,
    /// Requests that came in it.
    pub requests: u64,
    /// Per second of what the log covers of it.
    pub rate: f64,
    /// Requests that failed.
    pub errors: u64,
    /// Requests that their clients gave up.
    pub abandoned: u64,
    /// Mean number of requests at all servers.
    pub load: Option<f64>,
    /// Their response times (s).
    pub response: Option<TimesTaken>,
    /// Mean number of requests at each of the first servers.
    pub load_by_server: Vec<f64>,
}

impl TimesTaken {
    fn of(times_s: impl Iterator<Item = f64>) -> Option<TimesTaken> {
        let sorted = ascending(times_s);
        let rank = |p: f64| ((p * sorted.len() as f64).ceil() as usize).max(1);
        (!sorted.is_empty()).then(|| TimesTaken {
            count: sorted.len() as u64,
            mean_s: mean(&sorted),
            p50_s: sorted[rank(0.5) - 1],
            p99_s: (rank(0.99) < sorted.len()).then(|| sorted[rank(0.99) - 1]),
        })
    }
}

/// Who served what, and when; none of a log that names no server and has no times.
pub(super) fn served(log: &Log) -> Option<Served> {
    let has = |is_at_server: bool| log.entries().iter().any(|entry| entry.there_s(is_at_server).is_some());
    let has_times = has(true) || has(false);
    if log.servers().is_empty() && !has_times {
        return None;
    }
    let is_at_server = has(true);
    let time_s = |entry: &Entry| entry.there_s(is_at_server);
    let (from_us, to_us) = log.covered();
    let span_s = (to_us - from_us) as f64 / 1e6;
    let inside = |entry: &&Entry| (from_us..to_us).contains(&entry.time_us);
    let times = f64::from(log.sampled());
    let mut by_server: Vec<Vec<&Entry>> = vec![Vec::new(); log.servers().len()];
    let mut without_server = 0;
    for entry in log.entries() {
        match entry.server() {
            Some(server) => by_server[server as usize].push(entry),
            None => without_server += 1,
        }
    }
    let all_named: usize = by_server.iter().map(Vec::len).sum();
    let mut servers: Vec<(usize, ServerLoad)> = by_server
        .iter()
        .enumerate()
        .map(|(place, entries)| {
            let there_s = entries.iter().copied().filter(inside).filter_map(time_s).sum::<f64>();
            let waits: Vec<f64> = entries.iter().filter_map(|entry| entry.queue_s()).collect();
            let load = ServerLoad {
                server: log.servers()[place].clone(),
                requests: entries.len() as u64,
                share: entries.len() as f64 / all_named as f64,
                errors: entries.iter().filter(|entry| failed(entry)).count() as u64,
                abandoned: entries.iter().filter(|entry| entry.is_abandoned()).count() as u64,
                load: has_times.then_some(there_s / span_s * times),
                load_share: None,
                at_server: TimesTaken::of(entries.iter().filter_map(|entry| entry.at_server_s())),
                response: TimesTaken::of(entries.iter().filter_map(|entry| entry.response_s())),
                queue_mean_s: (!waits.is_empty()).then(|| mean(&waits)),
            };
            (place, load)
        })
        .collect();
    servers.sort_by_key(|(_, one)| std::cmp::Reverse(one.requests));
    let all: f64 = servers.iter().filter_map(|(_, one)| one.load).sum();
    for (_, one) in &mut servers {
        one.load_share = one.load.filter(|_| all > 0.0).map(|load| load / all);
    }
    let places: Vec<usize> = servers.iter().map(|(place, _)| *place).take(SERVERS_MOST).collect();
    let (period_s, periods) = periods(log, &places, has_times, &time_s);
    let mut served = Served {
        load_is_of: if is_at_server { "time at the server" } else { "response time" },
        servers: servers.into_iter().map(|(_, one)| one).collect(),
        without_server,
        period_s,
        periods,
        words: Vec::new(),
        step_s: log.response_step_s(),
    };
    served.words = served.in_words(has_times);
    Some(served)
}

/// Whether the server, or its proxy, is to blame: a client's mistakes are answers, and what it gave up is told apart.
pub(super) fn failed(entry: &Entry) -> bool {
    !entry.is_abandoned() && (entry.status >= 500 || entry.status == 0)
}

/// The parts of the time that the log covers, by its clock; how long one is (s).
fn periods(
    log: &Log,
    places: &[usize],
    has_times: bool,
    time_s: &impl Fn(&Entry) -> Option<f64>,
) -> (f64, Vec<Period>) {
    let (from_us, to_us) = log.covered();
    let (from_s, to_s) = (from_us as f64 / 1e6, to_us as f64 / 1e6);
    let every_s = rate::length(to_s - from_s, PERIODS_MOST).max(log.resolution_s());
    // On the clock: from 14:00 to 15:00, not from 14:07.
    let since_midnight_s = log.second_of_day(from_us.div_euclid(1_000_000)) as f64;
    let mut first_s = if every_s >= 1.0 { from_s.floor() - since_midnight_s % every_s } else { from_s };
    let mut count = (((to_s - first_s) / every_s) - 1e-9).ceil().max(1.0) as usize;
    // What is said to come in a part of a step may have come in all of it: at an end it belongs to the period beside it.
    let is_part = |length_s: f64| length_s < log.resolution_s() - 1e-9;
    if count > 1 && is_part(first_s + every_s - from_s) {
        (first_s, count) = (first_s + every_s, count - 1);
    }
    if count > 1 && is_part(to_s - (first_s + (count - 1) as f64 * every_s)) {
        count -= 1;
    }
    let begin_of = |period: usize| first_s + period as f64 * every_s;
    let end_of = |period: usize| if period + 1 == count { to_s } else { begin_of(period + 1) };
    let mut requests: Vec<Vec<&Entry>> = vec![Vec::new(); count];
    let mut loads_s = vec![vec![0.0; places.len() + 1]; count];
    let column = {
        let mut column = vec![None; log.servers().len()];
        places.iter().enumerate().for_each(|(at, place)| column[*place] = Some(at + 1));
        column
    };
    for entry in log.entries().iter().filter(|entry| (from_us..to_us).contains(&entry.time_us)) {
        let at_s = entry.time_us as f64 / 1e6;
        requests[(((at_s - first_s) / every_s) as usize).min(count - 1)].push(entry);
        let Some(taken_s) = time_s(entry) else { continue };
        let (begin_s, mut left_s) = (at_s + entry.queue_s().unwrap_or(0.0), taken_s);
        let mut period = (((begin_s - first_s) / every_s).max(0.0) as usize).min(count - 1);
        let mut at_s = begin_s;
        while left_s > 0.0 && period < count {
            let end_s = end_of(period);
            let within_s = left_s.min((end_s - at_s).max(0.0));
            loads_s[period][0] += within_s;
            if let Some(at) = entry.server().and_then(|server| column[server as usize]) {
                loads_s[period][at] += within_s;
            }
            (left_s, at_s, period) = (left_s - within_s, end_s, period + 1);
        }
    }
    let times = f64::from(log.sampled());
    let periods = requests.iter().zip(&loads_s).enumerate().map(|(period, (came, loads_s))| {
        let begin_s = begin_of(period);
        // The first and the last are covered in part, or have a part of a step beside them.
        let long_s = (end_of(period) - if period == 0 { from_s } else { begin_s }).max(1e-9);
        Period {
            start: log.local_time(begin_s.floor() as i64),
            requests: came.len() as u64,
            rate: came.len() as f64 / long_s * times,
            errors: came.iter().filter(|entry| failed(entry)).count() as u64,
            abandoned: came.iter().filter(|entry| entry.is_abandoned()).count() as u64,
            load: has_times.then_some(loads_s[0] / long_s * times),
            response: TimesTaken::of(came.iter().filter_map(|entry| entry.response_s())),
            load_by_server: if has_times {
                loads_s[1..].iter().map(|load| load / long_s * times).collect()
            } else {
                Vec::new()
            },
        }
    });
    (every_s, periods.collect())
}

impl Served {
    fn in_words(&self, has_times: bool) -> Vec<String> {
        let mut words = Vec::new();
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        if let [most, .., least] = &self.servers[..] {
            words.push(format!(
                "{} servers: {} has the most requests ({}), {} the fewest ({}).",
                self.servers.len(),
                most.server,
                percent(most.share),
                least.server,
                percent(least.share)
            ));
        }
        let by_load = |one: &&ServerLoad| one.load.unwrap_or(0.0);
        let busiest = self.servers.iter().max_by(|one, other| by_load(one).total_cmp(&by_load(other)));
        if let (Some(busiest), true) = (busiest.filter(|_| self.servers.len() > 1), has_times) {
            let (load, share) = (by_load(&busiest), busiest.load_share.unwrap_or(0.0));
            let compared = match share / busiest.share {
                more if more > APART => {
                    let times = Value::Number(more);
                    format!(": its requests stay {times} times as long as those of all")
                }
                _ => ", about as its share of the requests".into(),
            };
            words.push(format!(
                "The busiest is {} with {} requests there in the mean, {} of the load of all{compared}.",
                busiest.server,
                Value::Number(load),
                percent(share)
            ));
        }
        let abandoned: u64 = self.servers.iter().map(|one| one.abandoned).sum();
        let left = self.servers.iter().max_by(|one, other| abandoned_share(one).total_cmp(&abandoned_share(other)));
        if let (Some(left), true) = (left, abandoned > 0 && self.servers.len() > 1) {
            words.push(format!(
                "{} at a server {} given up; most often at {}, {} of its requests.",
                count(abandoned, "request"),
                verb(&abandoned, "was", "were"),
                left.server,
                percent(abandoned_share(left))
            ));
        }
        let errors: u64 = self.servers.iter().map(|one| one.errors).sum();
        let worst = self.servers.iter().max_by(|one, other| error_share(one).total_cmp(&error_share(other)));
        if let (Some(worst), true) = (worst, errors > 0 && self.servers.len() > 1) {
            words.push(format!(
                "{} failed at a server; {} failed most often, {} of its requests.",
                count(errors, "request"),
                worst.server,
                percent(error_share(worst))
            ));
        }
        if self.without_server > 0 && !self.servers.is_empty() {
            words.push(format!("{} reached no server, by the log.", count(self.without_server, "request")));
        }
        // By requests, of equals the first, as in the facts: a rate over a period of which the log covers a part is chance.
        let most = self.periods.iter().map(|one| one.requests).max();
        let peak = self.periods.iter().find(|one| Some(one.requests) == most);
        if let (Some(peak), true) = (peak, self.periods.len() > 1) {
            let load =
                // Times that the clock has all rounded to 0 say nothing of it.
                peak.load.filter(|load| *load > 0.0).map_or(String::new(), |load| {
                    format!(", {} requests there in the mean", Value::Number(load))
                });
            words.push(format!(
                "The busiest {} begins at {}: {} requests/s{load}.",
                period_in_words(self.period_s),
                peak.start,
                Value::Number(peak.rate)
            ));
        }
        if has_times && self.load_is_of == "response time" {
            words.push(
                "The log has no time at the server, so the response time stands for it: the load holds what waits and is sent."
                    .into(),
            );
        }
        words
    }
}

fn error_share(one: &ServerLoad) -> f64 {
    one.errors as f64 / one.requests.max(1) as f64
}

fn abandoned_share(one: &ServerLoad) -> f64 {
    one.abandoned as f64 / one.requests.max(1) as f64
}

/// `second`, `minute` and `hour`, as the facts call the periods of the clock; `period of 5 min`.
fn period_in_words(length_s: f64) -> String {
    match length_s {
        1.0 => "second".into(),
        60.0 => "minute".into(),
        3600.0 => "hour".into(),
        other => format!("period of {}", length_in_words(other)),
    }
}
