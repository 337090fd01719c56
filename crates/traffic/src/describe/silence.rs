//! Silences of a log, in numbers and in words: which are in its rate, which are not, and how to have it otherwise.

use sojourn_stats::{Dimension, quantity};

use super::{Facts, digits};
use crate::recorded::log::{Log, Silence, Silences};

/// How long `1995-08-01 00:00:00` is: an instant without its zone.
const CLOCK: usize = 19;

/// The silences of a log as facts, each with the rate as it is otherwise.
pub(super) fn tell(log: &Log, facts: &mut Facts) {
    let Silences { at_start, at_end, amid, rate } = log.silences();
    for (name, silence) in [("silence_at_start", at_start), ("silence_at_end", at_end)] {
        if let Some(silence) = silence {
            facts.number(name, silence.length_s(), "s");
        }
    }
    if at_start.is_some() || at_end.is_some() {
        facts.number("arrival_rate_with_silence", rate_with_silences(log), "1/s");
    }
    if let Some(longest) = longest(&amid) {
        facts.count("silences_amid", amid.len() as u64);
        facts.number("longest_silence_amid", longest.length_s(), "s");
        facts.number("arrival_rate_without_silence", rate * f64::from(log.sampled()), "1/s");
    }
}

/// The same in sentences without an end, for who describes the log and who fits to it.
pub(super) fn in_words(log: &Log) -> Vec<String> {
    let Silences { at_start, at_end, amid, rate } = log.silences();
    let requests = log.requests();
    let time = |silence: &Silence| quantity::format(digits(silence.length_s()), Dimension::Time);
    let others = digits(rate * f64::from(log.sampled()));
    let mut words = Vec::new();
    let mut at_end_of_log = |silence: &Silence, place: String, behind_or_before: &str, keeps: String| {
        words.push(format!(
            "the log has a silence of {} {place} of {requests} requests, which is no chance at the rate of the others ({others} \
             /s): rates, gaps, bursts, loads, and all laws, those of sizes and response times too, are of the time \
             {behind_or_before} it; with it the rate is {} /s, and {keeps} keeps it",
            time(silence),
            digits(rate_with_silences(log))
        ));
    };
    if let Some(silence) = at_start {
        let keeps = format!("--from '{}'", first_and_last(log).0);
        at_end_of_log(&silence, format!("after its first {}", silence.before), "behind", keeps);
    }
    if let Some(silence) = at_end {
        let keeps = format!("--to '{}'", first_and_last(log).1);
        at_end_of_log(&silence, format!("before its last {}", requests - silence.before), "before", keeps);
    }
    if let Some(longest) = longest(&amid) {
        let (found, are, them) = match amid.len() {
            1 => (format!("a silence of {}", time(longest)), "is", "it"),
            several => (format!("{several} silences, the longest of {}", time(longest)), "are", "them"),
        };
        words.push(format!(
            "the log has {found} from {} on, after {} of {requests} requests, which {are} no chance at the rate of the others \
             ({others} /s): rates, gaps, loads and what is fitted have {them} in them, as a part of what happened; without \
             {them} the rate is {others} /s, and --from and --to take a part of the log",
            log.local_time(longest.from_us.div_euclid(1_000_000)),
            longest.before
        ));
    }
    words
}

/// Requests per second of the time that the log covers with the silences at its ends.
fn rate_with_silences(log: &Log) -> f64 {
    let (from_us, to_us) = log.covered_with_silences();
    let inside = log.entries().iter().filter(|entry| (from_us..to_us).contains(&entry.time_us)).count();
    inside as f64 / ((to_us - from_us) as f64 / 1e6) * f64::from(log.sampled())
}

/// Of equals the first.
fn longest(silences: &[Silence]) -> Option<&Silence> {
    silences.iter().rev().max_by(|one, other| one.length_s().total_cmp(&other.length_s()))
}

/// When the first request came, and the second behind the last one, as --from and --to take them.
fn first_and_last(log: &Log) -> (String, String) {
    let clock = |time_s: i64| log.local_time(time_s)[..CLOCK].to_owned();
    let first_s = log.entries().first().map_or(0, |entry| entry.time_s());
    let last_s = log.entries().last().map_or(0, |entry| entry.time_s());
    (clock(first_s), clock(last_s + 1))
}
