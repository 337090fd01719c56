//! What an access log holds.

use std::ops::Range;

use sojourn_stats::{Dimension, Stream, quantity};

use super::variable::Rounding;
use super::{
    Description, Facts, Popularity, Rate, Variable, ascending, below, cache, counts, hurst, mean, outcomes, profiled,
    rate, scv, servers, sessions, silence,
};
use crate::recorded::log::{EndStep, Entry, Log, Method, Silences};

/// What a log holds: how much, how long, how fast, how large, how concentrated, how bursty, how bad.
pub fn describe(log: &Log) -> Description {
    let mut facts = Facts::default();
    let mut remarks = Vec::new();
    let span_s = log.span().as_secs_f64();
    facts.group("requests");
    facts.count("requests", log.requests() as u64);
    facts.count("hosts", log.hosts().len() as u64);
    facts.count("paths", log.paths().len() as u64);
    if let (Some(first), Some(last)) = (log.entries().first(), log.entries().last()) {
        facts.text("first", log.local_time(first.time_s()));
        facts.text("last", log.local_time(last.time_s()));
    }
    facts.number("duration", span_s, "s");
    let Covered { range, instants_s, span_s } = covered(log);
    let sampled = log.sampled();
    facts.number("arrival_rate", instants_s.len() as f64 / span_s * f64::from(sampled), "1/s");
    silence::tell(log, &mut facts);
    if sampled > 1 {
        facts.count("sampled_one_in", u64::from(sampled));
        remarks.push(format!(
            "one in {sampled} requests was logged: rates and loads are those of all, everything else is of the sample; gaps and \
             bursts of a sample look more like those of independent arrivals, clients and paths are fewer than they are, and \
             what a cache hits of a sample is not what it hits of all"
        ));
    }
    for (name, length_s) in [("second", 1), ("minute", 60), ("hour", 3600)] {
        if let Some((start_s, requests)) = log.busiest(length_s) {
            facts.text(&format!("busiest_{name}"), log.local_time(start_s));
            facts.count(&format!("busiest_{name}_requests"), requests as u64);
        }
    }

    facts.group("gaps and bursts");
    let gaps: Vec<f64> =
        log.entries()[range.clone()].windows(2).map(|pair| (pair[1].time_us - pair[0].time_us) as f64 / 1e6).collect();
    // Of shorter ones whole seconds tell nothing: at a constant 100 /s they are 99 times 0 and once 1, and the last second, which
    // nothing ends, would be missing. Their mean is that of the rate.
    let are_known = rate::gaps_are_known(instants_s.len(), span_s, log.resolution_s()) && !gaps.is_empty();
    facts.number("gap_mean", if are_known { mean(&gaps) } else { span_s / instants_s.len() as f64 }, "s");
    if are_known {
        facts.number("gap_scv", scv(&gaps), "1");
    }
    facts.number("dispersion_per_second", dispersion_per_second(&instants_s, span_s), "1");
    let arrivals = profiled(&instants_s, span_s, log.resolution_s());
    // Laws are of what `fit` takes, so that it takes those that are told here.
    let came = log.entries()[range].iter().zip(&instants_s).filter(|(entry, _)| is_good(entry));
    let good_s: Vec<f64> = came.map(|(_, at_s)| *at_s).collect();
    let good = profiled(&good_s, span_s, log.resolution_s());
    let (name, title) = if good.levels.is_empty() {
        ("gap", "Gaps between requests")
    } else {
        remarks.push(format!(
            "the rate changes by more than chance: gaps are those left when its level over each {} is taken out",
            rate::length_in_words(good.every_s)
        ));
        ("gap_at_level_1", "Gaps between requests, the change of the rate taken out")
    };
    remarks.push(resolution_in_words(log));
    remarks.extend(ends_in_words(log));
    let gap = Variable::of(name, title, &good.gaps_s, Dimension::Time);
    let gap = match rate::gaps_are_known(good_s.len(), span_s, log.resolution_s()) {
        true => gap,
        false => gap.without_laws(
            "gaps are shorter than the step of the log's times, so that where in it requests came is made up; \
             dispersion_per_second says how evenly they came"
                .into(),
        ),
    };
    gap.tell(&mut facts);
    remarks.extend(evenness_in_words(&good_s, span_s, log.resolution_s()));
    remarks.extend(silence::in_words(log));
    let memory = hurst::of_counts(&instants_s, span_s, &arrivals, log.resolution_s());
    hurst::tell(&memory, &mut facts);

    let traffic = traffic(log);
    let kept = || traffic.iter().filter(|entry| is_good(entry));
    remarks.extend(laws_are_of(kept().count(), log.requests()));

    facts.group("sizes");
    facts.count("bytes", log.bytes());
    let all = ascending(log.entries().iter().map(|entry| entry.bytes as f64));
    facts.number("size_mean", mean(&all), "B");
    facts.number("size_scv", scv(&all), "1");
    facts.quantiles("size", &all, &[0.5, 0.9, 0.99], "B");
    facts.number("size_max", all.last().copied().unwrap_or(f64::NAN), "B");
    let size = sizes(kept());
    size.tell(&mut facts);

    let response = response_times(kept(), log);
    let sorted = ascending(log.entries().iter().filter_map(Entry::response_s));
    if !sorted.is_empty() {
        facts.group("response times (by the log)");
        facts.count("response_times", sorted.len() as u64);
        let zero = below(log.response_step_s());
        let by_clock = ("s", Some(zero.as_str()));
        facts.number_by_clock("response_time_mean", mean(&sorted), by_clock);
        // There is none where all are 0.
        facts.number("response_time_scv", scv(&sorted), "1");
        facts.quantiles_by_clock("response_time", &sorted, &[0.5, 0.9, 0.99, 0.999], by_clock);
        facts.number_by_clock("response_time_max", sorted[sorted.len() - 1], by_clock);
        if let Some((response, _)) = &response {
            response.tell(&mut facts);
        }
    }

    facts.group("popularity and caching");
    let mut counts = vec![0u64; log.paths().len()];
    for entry in log.entries() {
        counts[entry.object as usize] += 1;
    }
    let popularity = Popularity::of(counts);
    popularity.tell(&mut facts);
    let cache = tell_caching(log, &mut facts);

    facts.group("sessions (half an hour of silence ends one)");
    sessions::tell(log.entries(), log.hosts().len(), &mut facts);

    facts.group("outcomes");
    let (replies, abandoned) = outcomes::tell(log, &mut facts);
    remarks.extend(abandoned);

    facts.group("the file");
    facts.text("format", log.formats().join("; "));
    facts.text("arrivals_are", log.arrivals_in_words());
    facts.count("lines", log.lines());
    facts.count("bad_lines", log.bad_lines());
    for (fault, lines) in log.bad_by_reason() {
        facts.count(&format!("bad_lines: {fault}"), lines);
    }
    if log.with_more_fields() > 0 {
        facts.count("lines_with_more_fields", log.with_more_fields());
    }
    let (unsorted, step_back_s) = log.unsorted();
    facts.count("unsorted", unsorted);
    if unsorted > 0 {
        facts.number("largest_step_back", step_back_s, "s");
    }
    remarks.extend(gap.remarks());
    remarks.extend(size.remarks());
    let mut variables = vec![size, gap];
    if let Some((response, remark)) = response {
        remarks.extend(response.remarks());
        remarks.extend(remark.map(|remark| format!("response_time: {remark}")));
        variables.insert(1, response);
    }
    let rate = rate_over_time(log, &instants_s, span_s);
    Description {
        of: "access log",
        facts: facts.all,
        variables,
        memory,
        rate: Some(rate),
        served: servers::served(log),
        replies,
        popularity: Some(popularity),
        cache,
        remarks,
    }
}

/// How many requests came when: in all of the log, or, where it has a silence at an end, in the time that it covers, in which
/// these instants (s from its start) are within `span_s`. Beside a silence of a day the traffic would be one bar of a plot.
fn rate_over_time(log: &Log, instants_s: &[f64], span_s: f64) -> Rate {
    let silences = log.silences();
    let is_cut = silences.at_start.is_some() || silences.at_end.is_some();
    let start_s = match is_cut {
        true => Some(log.covered().0.div_euclid(1_000_000)),
        false => log.entries().first().map(Entry::time_s),
    };
    let rate = match is_cut {
        true => Rate::of(instants_s, span_s),
        false => Rate::of(&spread_s(log), log.span().as_secs_f64()),
    };
    let start = start_s.map(|start_s| log.local_time(start_s));
    Rate { start, start_of_day_s: start_s.map(|start_s| log.second_of_day(start_s) as f64), ..rate }
}

/// The requests of the traffic: without those before a silence at the start of the log and behind one at its end, as its rate is.
/// Its first and its last second are in it: of these requests may be missing, but those that are there are whole.
pub(super) fn traffic(log: &Log) -> &[Entry] {
    let Silences { at_start, at_end, .. } = log.silences();
    let start = at_start.map_or(0, |silence| silence.before);
    &log.entries()[start..at_end.map_or(log.requests(), |silence| silence.before)]
}

/// Whether it is of what users ask for, to which laws are fitted: it got a reply and did not fail, and its client did not give
/// up. 0 is the status of what got no reply.
pub(super) fn is_good(entry: &Entry) -> bool {
    (1..400).contains(&entry.status) && !entry.is_abandoned()
}

/// Of which requests the laws are, where these are not all.
fn laws_are_of(kept: usize, all: usize) -> Option<String> {
    (kept < all).then(|| {
        format!(
            "laws and tails are of {kept} of {all} requests, those that `fit` takes: without what failed (a status of 400 or \
             more, or no reply), what clients gave up, and what is beyond a silence at an end; means and percentiles of sizes \
             and response times are of all"
        )
    })
}

/// The sizes of the replies to these requests.
pub(super) fn sizes<'a>(entries: impl Iterator<Item = &'a Entry>) -> Variable {
    let sizes: Vec<f64> = entries.map(|entry| entry.bytes as f64).collect();
    Variable::of("size", "Sizes of the replies", &sizes, Dimension::Size)
}

/// The response times of these requests of a log, and what is to be known of those that were rounded; none where no line has one.
pub(super) fn response_times<'a>(
    entries: impl Iterator<Item = &'a Entry>,
    log: &Log,
) -> Option<(Variable, Option<String>)> {
    let times_s: Vec<f64> = entries.filter_map(Entry::response_s).collect();
    let of = || {
        let (name, title) = ("response_time", "Response times by the log");
        let rounding = Rounding { step: log.response_step_s(), is_cut: log.cut_off_s() > 0.0 };
        Variable::of_rounded(name, title, &times_s, Some(rounding), Dimension::Time)
    };
    (!times_s.is_empty()).then(of)
}

/// The requests' instants (s from the start of the first one's second), each spread evenly inside its second, or the finer step
/// that the log has, seeded, in order.
pub fn spread_s(log: &Log) -> Vec<f64> {
    spread_of(log.entries(), log.resolution_s())
}

/// The same of these requests, whose instants have steps of `step_s`.
fn spread_of(entries: &[Entry], step_s: f64) -> Vec<f64> {
    let mut stream = Stream::new(1, "log", "spread");
    let first_us = entries.first().map_or(0, |entry| entry.time_us);
    let begins_s = entries.iter().map(|entry| (entry.time_us - first_us) as f64 / 1e6);
    // The steps of two requests may lie across one another: then too the first of the instants is in the first of the steps.
    ascending(begins_s.map(|begin_s| begin_s + step_s * stream.uniform()))
}

/// What of a log is in the time that it covers whole ([`Log::covered`]).
#[derive(Clone, Debug)]
pub struct Covered {
    /// Which of its entries.
    pub range: Range<usize>,
    /// Their instants (s from the start of that time), in order, as [`spread_s`] has them.
    pub instants_s: Vec<f64>,
    /// How long it is (s).
    pub span_s: f64,
}

/// What came in the time that `log` covers whole.
pub fn covered(log: &Log) -> Covered {
    let (from_us, to_us) = log.covered();
    let span_s = (to_us - from_us) as f64 / 1e6;
    // What came before a silence at its start draws no places: they are those of the same log without it.
    let outside = log.silences().at_start.map_or(0, |silence| silence.before);
    let entries = &log.entries()[outside..];
    let start_s = (entries.first().map_or(0, |first| first.time_us) - from_us) as f64 / 1e6;
    let mut instants_s = spread_of(entries, log.resolution_s());
    instants_s.iter_mut().for_each(|at_s| *at_s += start_s);
    // By these instants, since a step may begin before that time and reach into it: what is counted is all inside.
    let before = |time_s: f64| instants_s.partition_point(|at_s| *at_s < time_s);
    let (start, end) = (before(0.0), before(span_s));
    let instants_s = instants_s[start..end].to_vec();
    Covered { range: outside + start..outside + end, instants_s, span_s }
}

/// What a cache could save: of successful GETs, those for something that was asked for before.
fn tell_caching(log: &Log, facts: &mut Facts) -> Vec<super::CachePoint> {
    let good = log.entries().iter().filter(|entry| entry.method == Method::Get && matches!(entry.status, 200 | 304));
    let (mut seen, mut requests) = (vec![false; log.paths().len()], Vec::new());
    let (mut again, mut bytes, mut bytes_again) = (0u64, 0u64, 0u64);
    for entry in good {
        requests.push(entry.object);
        bytes += entry.bytes;
        if std::mem::replace(&mut seen[entry.object as usize], true) {
            again += 1;
            bytes_again += entry.bytes;
        }
    }
    facts.number("hit_ratio_of_endless_cache", again as f64 / requests.len() as f64, "1");
    facts.number("byte_hit_ratio_of_endless_cache", bytes_again as f64 / bytes as f64, "1");
    let cache = cache::lru(&requests, log.paths().len());
    let of_share = |share: f64| {
        let objects = (share * log.paths().len() as f64).ceil() as u64;
        cache.iter().rev().find(|point| point.objects <= objects)
    };
    let mut points: Vec<_> = [0.01, 0.1].into_iter().filter_map(of_share).collect();
    // Of few objects both shares are the same number of them.
    points.dedup_by_key(|point| point.objects);
    for point in points {
        facts.number(&format!("hit_ratio_of_lru_with_{}_objects", point.objects), point.hit_ratio, "1");
    }
    cache
}

/// Variance over mean of the number of requests in a second of those that are whole: 1 for a Poisson process, more for bursty
/// traffic.
fn dispersion_per_second(instants_s: &[f64], span_s: f64) -> f64 {
    let seconds = span_s.floor();
    let counts = counts(instants_s, span_s, 1.0);
    let whole = &counts[..(seconds as usize).min(counts.len())];
    let mean = whole.iter().sum::<u64>() as f64 / seconds;
    let squares: f64 = whole.iter().map(|count| (*count as f64).powi(2)).sum();
    (squares / seconds - mean * mean) / mean
}

/// How exactly the log says when requests came, and what follows from it.
fn resolution_in_words(log: &Log) -> String {
    match log.resolution_s() {
        1.0 => "a log has whole seconds: requests are spread inside theirs, so gaps below a second are made up".into(),
        step_s => format!(
            "the log has its times in steps of {}: requests are spread inside theirs, so shorter gaps are made up",
            quantity::format(super::digits(step_s), Dimension::Time)
        ),
    }
}

/// Of which of its first and its last second a log may have a part, and whether rates are without them.
fn ends_in_words(log: &Log) -> Option<String> {
    if let Some((seconds, them)) = end_seconds(log, EndStep::LeftOut) {
        return Some(format!(
            "of {seconds} the log may have a part, so rate, dispersion, gaps and counts are without {them}"
        ));
    }
    let (seconds, them) = end_seconds(log, EndStep::Kept)?;
    Some(format!(
        "the log is too short to leave out {seconds}, of which it may have a part: rate, dispersion, gaps and counts are with \
         {them}, so that the rate may be too low and the dispersion too high"
    ))
}

/// Those of the first and the last second of a log of which this becomes, and how they are called behind that; none where it is
/// none of them, or where the log has its times in other steps than seconds.
pub(super) fn end_seconds(log: &Log, becomes: EndStep) -> Option<(&'static str, &'static str)> {
    let (first, last) = log.end_steps();
    match (first == becomes, last == becomes) {
        _ if log.resolution_s() != 1.0 => None,
        (true, true) => Some(("its first and its last second", "them")),
        (true, false) => Some(("its first second", "it")),
        (false, true) => Some(("its last second", "it")),
        (false, false) => None,
    }
}

/// That requests of which several came in each step of the log's times came more evenly than independent ones do.
fn evenness_in_words(instants_s: &[f64], span_s: f64, step_s: f64) -> Option<String> {
    let is_told = !rate::gaps_are_known(instants_s.len(), span_s, step_s)
        && rate::are_too_even(&rate::whole_counts(instants_s, span_s, step_s));
    is_told.then(|| {
        format!(
            "requests came too evenly for independent arrivals: the counts of {} differ less than those of a Poisson process \
             do in all but one of 741 logs",
            rate::length_in_words(step_s)
        )
    })
}
