//! The requests of a log at their servers: when each came there and how long it stayed.

use sojourn_traffic::log::{Entry, Log};

use crate::model::time_text;
use crate::settings::CalibrateError;

/// Fewest requests of a half.
const LEAST: usize = 500;
/// A time at a server is known to so many steps of the log in the median, or nothing can be told from it.
const STEPS_LEAST: f64 = 3.0;
/// Steps up to this (s), with a hair, are the finest that nginx and HAProxy write: 1 ms.
const FINE_S: f64 = 1.001e-3;
/// Requests of a server without a time, as a share, from which on its load is not known well enough to be fitted.
const MISSING_MOST: f64 = 0.02;

/// One of the times that a log may have of a request (s).
type TimeOf = fn(&Entry) -> Option<f64>;

/// A request at its server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Visit {
    /// When it came there (s since the first request of the log).
    pub(super) begin_s: f64,
    /// How long it stayed (s).
    pub(super) taken_s: f64,
    pub(super) bytes: u64,
    pub(super) object: u32,
}

impl Visit {
    pub(super) fn end_s(&self) -> f64 {
        self.begin_s + self.taken_s
    }
}

pub(super) struct Visits {
    /// In the order of their begins, by server.
    pub(super) by_server: Vec<Vec<Visit>>,
    /// How exactly instants and durations were logged (s).
    pub(super) steps_s: (f64, f64),
    pub(super) times_are: &'static str,
    pub(super) notes: Vec<String>,
}

/// Both halves of the requests, by time.
pub(super) struct Halves {
    /// Those of the first half, by server.
    pub(super) first: Vec<Vec<Visit>>,
    /// When the second half begins (s).
    pub(super) split_s: f64,
    pub(super) first_span_s: f64,
    pub(super) second_count: usize,
}

/// The requests of `log` at its servers.
pub(super) fn visits(log: &Log) -> Result<Visits, CalibrateError> {
    let refused = |why: String| Err(CalibrateError::Invalid(why));
    if log.sampled() > 1 {
        return refused(
            "of a sample it is not known how many requests were at a server at once: fit a whole log".into(),
        );
    }
    let has = |of: TimeOf| log.entries().iter().filter(|entry| of(entry).is_some()).count();
    let counts = [has(Entry::to_header_s), has(Entry::at_server_s), has(Entry::response_s)];
    // What only some lines have is not what the log is of.
    let most = counts.into_iter().max().unwrap_or(0);
    let ways: [(TimeOf, &str); 3] = [
        (
            Entry::to_header_s,
            "the time at the server until the head of its reply, which a slow client does not lengthen",
        ),
        (Entry::at_server_s, "the time at the server"),
        (Entry::response_s, "the response time, since the log has no time at the server"),
    ];
    let known = counts.iter().position(|count| most > 0 && *count as f64 >= 0.9 * most as f64);
    let Some((time_s, times_are)) = known.map(|at| ways[at]) else {
        return refused(
            "the log has no response times: nginx writes them with $request_time and $upstream_response_time, Apache with %D, \
             HAProxy with `option httplog`"
                .into(),
        );
    };
    let mut notes = Vec::new();
    let has_servers = !log.servers().is_empty();
    if !has_servers {
        notes.push("the log names no server: all its requests are taken as those of one".into());
    }
    let (mut by_server, mut elsewhere) = (vec![Vec::new(); log.servers().len().max(1)], 0);
    let mut without = vec![Without::default(); by_server.len()];
    let mut gave_up_later = 0;
    let origin_us = log.entries().first().map_or(0, |entry| entry.time_us);
    for entry in log.entries() {
        let Some(server) = entry.server().or((!has_servers).then_some(0)) else {
            elsewhere += 1;
            continue;
        };
        let Some(taken_s) = time_s(entry).filter(|_| entry.status > 0) else {
            without[server as usize].count(entry);
            continue;
        };
        gave_up_later += usize::from(entry.is_abandoned());
        by_server[server as usize].push(Visit {
            begin_s: (entry.time_us - origin_us) as f64 / 1e6 + entry.queue_s().unwrap_or(0.0),
            taken_s: taken_s + log.cut_off_s(),
            bytes: entry.bytes,
            object: entry.object,
        });
    }
    if elsewhere > 0 {
        notes.push(format!("{elsewhere} requests reached no server, and are not fitted to"));
    }
    if gave_up_later > 0 {
        notes.push(format!(
            "{gave_up_later} requests were given up by their clients after the head of the reply: until there their times are \
             the server's, and are fitted to"
        ));
    }
    by_server.iter_mut().for_each(|visits| visits.sort_by(|one, other| one.begin_s.total_cmp(&other.begin_s)));
    let steps_s = (log.resolution_s(), log.response_step_s());
    let mut taken: Vec<f64> = by_server.iter().flatten().map(|visit| visit.taken_s).collect();
    let too_few = (taken.len() < 2 * LEAST).then(|| {
        format!("{} requests with a time at a server: a fit and its judgement need {}", taken.len(), 2 * LEAST)
    });
    let step_s = steps_s.0.max(steps_s.1);
    // First what a longer log would not mend.
    if let Some(why) = too_coarse(&mut taken, steps_s) {
        return refused(too_few.map_or(why.clone(), |few| format!("{why}; and there are {few}")));
    }
    for (server, without) in without.iter().enumerate().filter(|(_, without)| without.all() > 0) {
        let (all, name) =
            (by_server[server].len() + without.all(), log.servers().get(server).map_or("the server", |name| name));
        let they = without.in_words(all, name);
        if without.all() as f64 > MISSING_MOST * all as f64 {
            let most = 100.0 * MISSING_MOST;
            return refused(format!("{they}; so its load is not known: these are more than {most:.0} %"));
        }
        notes.push(format!("{they}; left out"));
    }
    if let Some(few) = too_few {
        return refused(few);
    }
    if step_s > 2e-6 {
        let told = if log.cut_off_s() > 0.0 {
            "durations are cut to it, so half of it was added to each"
        } else {
            "each demand is known to it, and intervals hold half of it"
        };
        notes.push(format!("the log is in steps of {}: {told}", time_text(step_s)));
    }
    Ok(Visits { by_server, steps_s, times_are, notes })
}

/// Requests at a server of which it is not known how long they were there.
#[derive(Clone, Default)]
struct Without {
    /// Those that their clients gave up.
    abandoned: usize,
    /// The others.
    missing: usize,
}

impl Without {
    fn count(&mut self, entry: &Entry) {
        let kind = if entry.is_abandoned() { &mut self.abandoned } else { &mut self.missing };
        *kind += 1;
    }

    fn all(&self) -> usize {
        self.abandoned + self.missing
    }

    fn in_words(&self, all: usize, name: &str) -> String {
        let missing = format!("{} of {all} requests at {name} have no time or no reply", self.missing);
        let abandoned = format!(
            "{} of {all} requests at {name} were given up by their clients, and how long these waited is not what the server \
             needed",
            self.abandoned
        );
        match (self.missing, self.abandoned) {
            (_, 0) => missing,
            (0, _) => abandoned,
            _ => format!("{missing}; {abandoned}"),
        }
    }
}

/// Why clocks of these steps (s), of instants and of durations, are too coarse for requests that took so long (s), and what
/// helps; none where they are not, or none took any time.
fn too_coarse(taken: &mut [f64], (instants_s, durations_s): (f64, f64)) -> Option<String> {
    if taken.is_empty() {
        return None;
    }
    let step_s = instants_s.max(durations_s);
    let median_s = *taken.select_nth_unstable_by(taken.len() / 2, f64::total_cmp).1;
    // Below the step no number is known.
    let take = if median_s < step_s { "less than that".to_owned() } else { time_text(median_s) };
    let is_coarse = |step_s: f64| step_s > FINE_S;
    // Durations may be too coarse for these requests whatever the step of the instants is.
    let helps = match (is_coarse(instants_s), is_coarse(durations_s)) {
        (true, true) => {
            "log finer instants (nginx: $msec in place of $time_local; Apache: %{usec}t) and finer durations (nginx: \
             $request_time; Apache: %D)"
        }
        (true, false) if median_s >= STEPS_LEAST * durations_s => {
            "log finer instants (nginx: $msec in place of $time_local; Apache: %{usec}t)"
        }
        (false, true) => "log finer durations (nginx: $request_time; Apache: %D)",
        (_, false) => {
            "nginx and HAProxy write no finer steps than 1 ms, too coarse for these requests however long the log is: measure \
             the server itself (`sojourn calibrate URL`), or log microseconds where they can be had (Apache: %{usec}t and %D)"
        }
    };
    (median_s < STEPS_LEAST * step_s).then(|| {
        format!(
            "requests are logged in steps of {} and take {take} in the median: it is not known which of them were at a server \
             together; {helps}",
            time_text(step_s)
        )
    })
}

/// Halves of the requests: what came before the middle one, and the others.
pub(super) fn halves(by_server: &[Vec<Visit>]) -> Halves {
    let mut begins: Vec<f64> = by_server.iter().flatten().map(|visit| visit.begin_s).collect();
    begins.sort_by(f64::total_cmp);
    let split_s = begins[begins.len() / 2];
    let before = |visits: &Vec<Visit>| visits[..visits.partition_point(|visit| visit.begin_s < split_s)].to_vec();
    let first: Vec<Vec<Visit>> = by_server.iter().map(before).collect();
    let second_count = begins.len() - first.iter().map(Vec::len).sum::<usize>();
    Halves { first, split_s, first_span_s: (split_s - begins[0]).max(1e-9), second_count }
}
