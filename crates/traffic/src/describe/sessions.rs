//! Sessions: what one client asks for without a long break.
//!
//! A log knows clients by their address and nothing of where a visit ends, so a session ends where a client is silent for
//! more than half an hour, as is usual (Catledge and Pitkow, Computer Networks and ISDN Systems 27(6), 1995, found 25.5
//! minutes). Several people behind one proxy are one client.

use super::{Facts, ascending, mean};
use crate::recorded::log::Entry;

/// A longer silence ends a session (s).
pub(super) const TIMEOUT_S: i64 = 1800;
/// A longer gap is thinking, a shorter one the browser fetching what a page shows: a log of whole seconds tells no finer.
const THINK_LEAST_S: i64 = 2;

struct Session {
    start_s: i64,
    last_s: i64,
    requests: u64,
}

/// Sessions in a log's requests, in order, of clients numbered below `clients`.
pub(super) fn tell(entries: &[Entry], clients: usize, facts: &mut Facts) {
    let mut open: Vec<Option<Session>> = Vec::new();
    open.resize_with(clients, || None);
    let (mut ended, mut gaps, mut thinks): (Vec<Session>, Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new(), Vec::new());
    for entry in entries {
        let place = &mut open[entry.client as usize];
        match place {
            Some(session) if entry.time_s() - session.last_s <= TIMEOUT_S => {
                let gap_s = entry.time_s() - session.last_s;
                gaps.push(gap_s as f64);
                if gap_s >= THINK_LEAST_S {
                    thinks.push(gap_s as f64);
                }
                session.last_s = entry.time_s();
                session.requests += 1;
            }
            _ => {
                let session = Session { start_s: entry.time_s(), last_s: entry.time_s(), requests: 1 };
                ended.extend(place.replace(session));
            }
        }
    }
    ended.extend(open.into_iter().flatten());
    facts.count("sessions", ended.len() as u64);
    let single = ended.iter().filter(|session| session.requests == 1).count();
    facts.number("sessions_of_one_request_share", single as f64 / ended.len() as f64, "1");
    let lengths = ascending(ended.iter().map(|session| session.requests as f64));
    facts.number("session_requests_mean", mean(&lengths), "1");
    facts.quantiles("session_requests", &lengths, &[0.5, 0.9, 0.99], "1");
    let durations =
        ascending(ended.iter().filter(|one| one.requests > 1).map(|session| (session.last_s - session.start_s) as f64));
    facts.number("session_duration_mean", mean(&durations), "s");
    facts.quantiles("session_duration", &durations, &[0.5, 0.9], "s");
    facts.number("session_gap_mean", mean(&gaps), "s");
    let thinks = ascending(thinks);
    facts.number("think_time_mean", mean(&thinks), "s");
    facts.quantiles("think_time", &thinks, &[0.5, 0.9], "s");
}
