//! How requests ended: replies by class of status, which of them are errors, and what clients gave up.
//!
//! An error is what the server or its proxy is to blame for: a status of 500 and above, or no reply at all. A status of 4xx is
//! an answer to a client's mistake, or to an attack, and has a share of its own, without those that say that the client gave up
//! (nginx's 499). Shares have intervals, in which what comes
//! together, as in an outage, counts as so much less ([`share_of_series`]); of none seen the upper end is what may have come
//! unseen.

use serde::Serialize;
use sojourn_stats::Estimate;
use sojourn_stats::parts::share_of_series;

use super::{Description, Facts, Listing, Value, ascending, below, mean, servers};
use crate::recorded::log::{Entry, Log, Method};
use crate::words::{count, verb};

/// What [`servers::failed`] counts.
const ERRORS: &str = "status 500 and above, or no reply; not what clients gave up";
/// What `client_error_ratio` counts.
const CLIENT_ERRORS: &str = "status 4xx; not what clients gave up, such as 499";
/// Classes of statuses by their first digit; 0 stands where there was no reply.
const CLASSES: [&str; 10] = ["no reply", "1xx", "2xx", "3xx", "4xx", "5xx", "6xx", "7xx", "8xx", "9xx"];
/// Those that are told where no request is in them either.
const ALWAYS: [usize; 2] = [4, 5];

/// The requests that ended with a class of statuses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Replies {
    /// `2xx`; `no reply`.
    pub class: &'static str,
    /// How many.
    pub requests: u64,
    /// Their share of all.
    pub share: f64,
    /// Lower end of its 95 % interval.
    pub ci_low: f64,
    /// Upper end.
    pub ci_high: f64,
}

impl Description {
    /// The replies of a log by class of status, as a table without rows where there are none.
    pub fn by_status(&self) -> Listing {
        let row = |replies: &Replies| {
            vec![
                Some((Value::Text(replies.class.to_owned()), "")),
                Some((Value::Count(replies.requests), "")),
                Some((Value::Number(replies.share), "1")),
                Some((Value::Text(interval((replies.ci_low, replies.ci_high))), "")),
            ]
        };
        let header = ["status", "requests", "share", "interval (95 %)"].map(str::to_owned).to_vec();
        Listing { header, rows: self.replies.iter().map(row).collect() }
    }
}

/// How the requests of a log ended, as facts; their replies by class, and what is to be known of what clients gave up.
pub(super) fn tell(log: &Log, facts: &mut Facts) -> (Vec<Replies>, Option<String>) {
    tell_share(log, "error_ratio", &servers::failed, facts);
    facts.text("errors_are", ERRORS.to_owned());
    let is_mistaken = |entry: &Entry| !entry.is_abandoned() && (400..500).contains(&entry.status);
    tell_share(log, "client_error_ratio", &is_mistaken, facts);
    facts.text("client_errors_are", CLIENT_ERRORS.to_owned());
    let abandoned = tell_abandoned(log, facts);
    for (class, requests) in log.status_classes().into_iter().enumerate().filter(|(_, requests)| *requests > 0) {
        facts.count(&format!("status_{class}xx"), requests);
    }
    let mut statuses: Vec<(u16, u64)> = Vec::new();
    for entry in log.entries() {
        match statuses.binary_search_by_key(&entry.status, |(status, _)| *status) {
            Ok(index) => statuses[index].1 += 1,
            Err(index) => statuses.insert(index, (entry.status, 1)),
        }
    }
    for (status, requests) in statuses {
        facts.count(&format!("status_{status}"), requests);
    }
    for (method, name) in
        [(Method::Get, "get"), (Method::Head, "head"), (Method::Post, "post"), (Method::Other, "other")]
    {
        let requests = log.entries().iter().filter(|entry| entry.method == method).count();
        if requests > 0 {
            facts.count(&format!("method_{name}"), requests as u64);
        }
    }
    (by_class(log), abandoned)
}

/// The share of the requests that are so, with its interval.
fn tell_share(log: &Log, name: &str, is_so: &dyn Fn(&Entry) -> bool, facts: &mut Facts) {
    let share = share_of_series(log.entries().iter().map(is_so));
    if let (Some(value), Some(ends)) = (share.value(), share.interval()) {
        facts.number(name, value, "1");
        facts.text(&format!("{name}_interval"), interval(ends));
    }
}

fn interval((low, high): (f64, f64)) -> String {
    format!("{} to {}", Value::Number(low), Value::Number(high))
}

fn by_class(log: &Log) -> Vec<Replies> {
    let of_class = |(class, requests): (usize, u64)| {
        let is_of_it = |entry: &Entry| usize::from(entry.status / 100) == class;
        match share_of_series(log.entries().iter().map(is_of_it)) {
            Estimate::Sampled { value, ci_low, ci_high, .. } => {
                Some(Replies { class: CLASSES[class], requests, share: value, ci_low, ci_high })
            }
            _ => None,
        }
    };
    let all = log.status_classes().into_iter().enumerate();
    all.filter(|(class, requests)| *requests > 0 || ALWAYS.contains(class)).filter_map(of_class).collect()
}

/// How many requests their clients gave up, and how long they waited; and what follows from it.
fn tell_abandoned(log: &Log, facts: &mut Facts) -> Option<String> {
    let abandoned = log.entries().iter().filter(|entry| entry.is_abandoned()).count();
    if abandoned == 0 {
        return None;
    }
    facts.count("abandoned", abandoned as u64);
    tell_share(log, "abandoned_ratio", &Entry::is_abandoned, facts);
    let waits = ascending(log.entries().iter().filter_map(Entry::waited_s));
    if !waits.is_empty() {
        let zero = below(log.response_step_s());
        let by_clock = ("s", Some(zero.as_str()));
        facts.number_by_clock("abandoned_after_mean", mean(&waits), by_clock);
        facts.quantiles_by_clock("abandoned_after", &waits, &[0.5, 0.9], by_clock);
    }
    Some(format!(
        "{abandoned} of {} {} before the reply was over: how long these waited \
         (abandoned_after) is no response time; the load has them for as long as they waited, and error_ratio is without them",
        count(log.requests(), "request"),
        verb(&abandoned, "was given up by its client", "were given up by their clients")
    ))
}
