//! From an input to a workload: laws fitted to what came, written as an experiment that runs.
//!
//! Requests that failed are left out, since a server that fails is not what is asked for, and so are those before or behind a
//! silence at an end of a log. The rate is a profile where it changes by more than chance, and the law of the gaps is of what is
//! left ([`crate::describe::profiled`]), stretched to the measured mean, because the mean is the rate. Which law is taken is
//! decided where quantities are described ([`Taken`](super::Taken)), so that both say the same. What is lost is said in the file:
//! which object was asked for, sessions, and any order beyond the rate's. Long memory of the gaps is offered as `fgn(...)` where
//! it is beyond doubt, and not written unasked: no formula knows it, and a simulation with it takes long to settle.

mod gaps;

use std::fmt::Write as _;

use sojourn_stats::hurst::{self, Finding, Hurst};
use sojourn_stats::{Dimension, Law, quantity};
use thiserror::Error;

use self::gaps::GapLaw;
use super::hurst::{of_counts, undoubted};
use super::log::{end_seconds, is_good, response_times, sizes, traffic};
use super::rate::{gaps_are_known, whole_counts, would_tell_a_change};
use super::{Covered, Memory, Numbers, Popularity, Profiled, Variable, covered, digits, profiled, silence};
use crate::arrivals::Arrivals as Written;
use crate::recorded::capture::{Begin, Capture};
use crate::recorded::log::{EndStep, Log};
use crate::words::{count, verb};

/// How wide a comment may be: a terminal shows the file too.
const COLUMNS: usize = 80;
/// A smaller share of replies without a body moves no mean.
const WITHOUT_BODY_LEAST: f64 = 0.005;
/// The utilisation that the server which is written down is given at the profile's peak.
const UTILIZATION: f64 = 0.6;
/// So many gaps in a step, and long memory is looked for in the counts alone.
const IN_A_STEP: f64 = 4.0;

/// Why nothing can be fitted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct NoWorkload(pub String);

/// What is put into a workload.
struct Arrivals {
    /// What came: `requests of access.log`.
    what: String,
    instants_s: Vec<f64>,
    /// How exactly the instants are known.
    finest_s: f64,
    /// One in how many was recorded.
    sampled: u32,
    span_s: f64,
    /// Of how many replies, those without a body too.
    replies: usize,
    size: Variable,
    mean_size: f64,
    /// The largest size of each document that was asked for, with the exponent of their popularity.
    documents: Option<(Vec<f64>, f64)>,
    clients: usize,
    /// Sentences about what the file leaves out.
    remarks: Vec<String>,
}

/// The experiment of a log's good requests; `name` is what it calls the log.
///
/// # Errors
/// With too few good requests, or sizes without a law.
pub fn of_log(log: &Log, name: &str) -> Result<String, NoWorkload> {
    let traffic = traffic(log);
    let kept = || traffic.iter().filter(|entry| is_good(entry));
    let replies = kept().count();
    let abandoned = traffic.iter().filter(|entry| entry.is_abandoned()).count();
    let failed = traffic.len() - replies - abandoned;
    let unanswered = traffic.iter().filter(|entry| entry.status == 0 && !entry.is_abandoned()).count();
    let without_reply =
        if unanswered == 0 { String::new() } else { format!(", {unanswered} without any reply among them") };
    let mut counts = vec![0u64; log.paths().len()];
    kept().for_each(|entry| counts[entry.object as usize] += 1);
    let popularity = Popularity::of(counts);
    let mut largest = vec![0.0f64; log.paths().len()];
    for entry in kept() {
        let size = &mut largest[entry.object as usize];
        *size = size.max(entry.bytes as f64);
    }
    largest.retain(|size| *size > 0.0);
    let mut remarks = Vec::new();
    if failed > 0 {
        remarks.push(format!(
            "{} with a status of 400 or more {} left out{without_reply}.",
            count(failed, "request"),
            verb(&failed, "is", "are")
        ));
    }
    if abandoned > 0 {
        remarks.push(format!(
            "{} given up before the reply was over {} left out.",
            count(abandoned, "request"),
            verb(&abandoned, "is", "are")
        ));
    }
    if let Some(zipf) = &popularity.zipf {
        remarks.push(format!(
            "Popularity: {} documents, Zipf's law with exponent {:.3} ({:.3} to {:.3}), within {:.3} of the data; {:.0} % \
             of them were asked for once.",
            popularity.objects,
            zipf.s,
            zipf.ci_low,
            zipf.ci_high,
            zipf.kolmogorov,
            popularity.once * 100.0
        ));
    }
    let zipf = popularity.exponent();
    let none = "there is no line with documents(...) beside the law of sizes.";
    if popularity.zipf.is_none() {
        remarks.push(format!("Popularity has no law, so {none}"));
    } else if zipf.is_none() {
        remarks.push(format!("No document is much more popular than others, so {none}"));
    }
    let step = match log.resolution_s() {
        1.0 => "whole seconds".into(),
        step_s => format!("its times in steps of {}", quantity::format(digits(step_s), Dimension::Time)),
    };
    remarks.push(format!("The log has {step}: within them requests are put at random."));
    if log.sampled() > 1 {
        remarks.push(format!(
            "One in {} requests was logged: the rate is that of all. Gaps of a sample look more like those of independent \
             arrivals than all gaps do, so what came may be burstier than what is written; clients and documents are of the \
             sample.",
            log.sampled()
        ));
    }
    remarks.extend(silence::in_words(log).iter().map(|words| format!("{}.", capital(words))));
    let Covered { range, instants_s, span_s } = covered(log);
    if let Some((seconds, them)) = end_seconds(log, EndStep::LeftOut) {
        remarks.push(format!(
            "Of {seconds} it may have a part only: rate and gaps are without {them}, sizes, response times and popularity with \
             what there is of {them}."
        ));
    } else if let Some((seconds, them)) = end_seconds(log, EndStep::Kept) {
        remarks.push(format!(
            "It is too short to leave out {seconds}, of which it may have a part only: rate and gaps are with {them}, so that \
             the rate may be too low."
        ));
    }
    if let Some((times, rounded)) = response_times(kept(), log) {
        let timed = times.count;
        let what = match &times.no_fit {
            Some(why) if times.mean == 0.0 => format!("{why}, so they have no law."),
            _ => {
                let mean = quantity::format(digits(times.mean), Dimension::Time);
                let law = times.taken.as_ref().map_or(String::new(), |taken| format!(", as {}", taken.law));
                let rounded = rounded.map_or(String::new(), |remark| format!(" {}.", capital(&remark)));
                format!("{mean} in the mean{law}. {}{rounded}", times.verdict())
            }
        };
        remarks.push(format!(
            "Response times, by the log ({timed} of them): {what} They hold waiting and the client's network too, so they are \
             what a model is to come near, and no demand."
        ));
    }
    // Within a second instants are exchangeable, so any of its requests may have any of them.
    let came = log.entries()[range].iter().zip(instants_s).filter(|(entry, _)| is_good(entry));
    let mut has_come = vec![false; log.hosts().len()];
    traffic.iter().for_each(|entry| has_come[entry.client as usize] = true);
    arrivals_text(Arrivals {
        what: format!("requests of {name}"),
        instants_s: came.map(|(_, instant_s)| instant_s).collect(),
        finest_s: log.resolution_s(),
        sampled: log.sampled(),
        span_s,
        replies,
        size: sizes(kept()),
        mean_size: kept().map(|entry| entry.bytes as f64).sum::<f64>() / replies as f64,
        documents: zipf.filter(|_| log.sampled() == 1).map(|exponent| (largest, exponent)),
        clients: has_come.into_iter().filter(|has_come| *has_come).count(),
        remarks,
    })
}

/// The experiment of a capture's connections, each taken as one request of as many bytes as the server sent; `name` is what
/// it calls the capture.
///
/// # Errors
/// As [`of_log`].
pub fn of_capture(capture: &Capture, name: &str) -> Result<String, NoWorkload> {
    let opened = || capture.connections().iter().filter(|one| one.begin == Begin::Syn);
    let mut clients: Vec<_> = opened().map(|one| one.client.ip()).collect();
    clients.sort_unstable();
    clients.dedup();
    let whole = || opened().filter(|one| one.is_whole());
    let mut remarks = vec![
        format!("Sizes are of the {} whose both ends are in the capture.", count(whole().count(), "connection")),
        "A connection counts as one request of all that the server sent in it.".into(),
    ];
    let sizes: Vec<f64> = whole().map(|one| one.bytes_to_client as f64).collect();
    let requests: u64 = whole().map(|one| u64::from(one.requests)).sum();
    if requests > whole().count() as u64 {
        remarks.push(format!(
            "They carried {requests} plain HTTP requests, so a request of this workload stands for {:.1} of them in the \
             mean: the server's log has them one by one.",
            requests as f64 / whole().count() as f64
        ));
    }
    arrivals_text(Arrivals {
        what: format!("connections of {name}"),
        instants_s: capture.openings_s(),
        finest_s: 0.0,
        sampled: 1,
        span_s: capture.span_s(),
        replies: sizes.len(),
        size: Variable::of("size", "Sizes", &sizes, Dimension::Size),
        mean_size: sizes.iter().sum::<f64>() / sizes.len() as f64,
        documents: None,
        clients: clients.len(),
        remarks,
    })
}

/// The likeliest law of a column of numbers, as text with comments that say how good it is.
///
/// # Errors
/// When no law can be fitted.
pub fn of_numbers(column: &Numbers, dimension: Dimension) -> Result<String, NoWorkload> {
    let (variable, rounded) = column.variable(dimension);
    if variable.not_positive > 0 {
        let (some, all) = (variable.not_positive, column.values.len());
        let times = if dimension == Dimension::Number { "; if they are rounded times, say so: --unit s" } else { "" };
        return Err(NoWorkload(format!(
            "{some} of {} {} not above 0; the laws that are fitted are of positive ones{times}",
            count(all, "number"),
            verb(&some, "is", "are")
        )));
    }
    let Some(taken) = &variable.taken else { return Err(NoWorkload(variable.no_fit.unwrap_or_default())) };
    let mut text = comment(&variable.verdict());
    rounded.iter().for_each(|remark| text += &comment(&format!("{remark}.")));
    for fit in &variable.fits {
        let (name, off, behind, law) = (fit.family.name(), fit.kolmogorov, fit.bic - variable.fits[0].bic, &fit.law);
        let _ = writeln!(text, "# {name:<28} distance {off:.4}  BIC {behind:+.1}  {law}");
    }
    let _ = writeln!(text, "{}", taken.law);
    Ok(text)
}

fn arrivals_text(arrivals: Arrivals) -> Result<String, NoWorkload> {
    let Arrivals { what, instants_s, finest_s, sampled, span_s, replies, size, mean_size, documents, clients, remarks } =
        arrivals;
    if instants_s.len() < 100 {
        let found = instants_s.len();
        return Err(NoWorkload(format!("a workload is fitted to at least 100 arrivals, and there are {found}")));
    }
    let profiled = profiled(&instants_s, span_s, finest_s);
    let memory = of_counts(&instants_s, span_s, &profiled, finest_s).pop();
    let Profiled { every_s, levels, gaps_s, .. } = profiled;
    let gap = Variable::of("gap", "Gaps", &gaps_s, Dimension::Time);
    let of_gaps = match gaps_are_known(instants_s.len(), span_s, finest_s) {
        true => gap.taken.as_ref().map(|taken| GapLaw { law: taken.law.clone(), said: gap.verdict() }),
        false => Some(GapLaw::of_counts(&whole_counts(&instants_s, span_s, finest_s), finest_s)),
    };
    let GapLaw { law: gap_law, said: said_of_gaps } = of_gaps.ok_or_else(|| no_law(&gap, "gaps"))?;
    let mean_gap_s = span_s / instants_s.len() as f64 / f64::from(sampled);
    let gap_law = gap_law.rescaled_to_mean(mean_gap_s).ok_or_else(|| no_law(&gap, "gaps"))?;
    let WrittenSizes { lines: size_lines, mean: written_mean } = written_sizes(&size, replies)?;
    let peak = levels.iter().copied().fold(1.0, f64::max);

    let mut text =
        comment(&format!("Fitted to {} {what} within {span_s:.0} s ({:.3} /s).", instants_s.len(), 1.0 / mean_gap_s));
    remarks.iter().for_each(|remark| text += &comment(remark));
    let _ =
        writeln!(text, "name = \"The {}\"\nseed = 1\n\n[workload]\nkind = \"open\"", what.replace(['"', '\\'], "'"));
    text += &comment(&format!("Gaps. {said_of_gaps}"));
    text += &comment("The law is stretched to the measured mean, which is the rate.");
    let _ = writeln!(text, "arrivals = \"{gap_law}\"");
    // Of many gaps in a step nearly all are by chance.
    let are_mostly_known = mean_gap_s * f64::from(sampled) * IN_A_STEP >= finest_s;
    text += &long_memory(if are_mostly_known { &gaps_s } else { &[] }, &gap_law, memory.as_ref());
    if levels.is_empty() {
        text += &comment(match would_tell_a_change(span_s, every_s) {
            true => "The rate changes by no more than chance: there is no profile.",
            false => "What came is too little to tell whether the rate changes: there is no profile.",
        });
    } else {
        text += &comment("The rate changes by more than chance: its levels over the mean.");
        let levels: Vec<String> = levels.iter().map(f64::to_string).collect();
        let _ = writeln!(text, "profile = \"steps({}, every = {every_s} s)\"", levels.join(", "));
    }
    text += &size_lines;
    let has_popularity = documents.is_some();
    let documents = documents.and_then(|(sizes, zipf)| Some((document_law(&sizes)?, zipf, sizes.len())));
    if has_popularity && documents.is_none() {
        text += &comment("There is no line with documents(...) beside it: the sizes of the documents have no law.");
    }
    if let Some((law, zipf, n)) = documents {
        text += &comment(
            "For caches, or where it matters which document is asked for, write this instead: documents as many, as popular \
             and as large as the log's, of the same mean request.",
        );
        let (zipf, mean) = (digits(zipf), digits(mean_size));
        let _ = writeln!(text, "# size = \"documents(n = {n}, zipf = {zipf}, size = {law}, mean = {mean} B)\"");
    }
    let _ = writeln!(text, "clients = {}\n", clients.max(1));

    text += &comment(
        "A server to begin with, which the rate at its highest would keep busy for 60 % of the time: put your own in its \
         place (`sojourn calibrate` measures it).",
    );
    let demand_s = UTILIZATION * mean_gap_s / peak;
    let readable = |value: f64, dimension| quantity::format(digits(value), dimension);
    // By the sizes that are written, which may have another mean than those that came.
    let demand = match written_mean > 0.0 {
        true => {
            let fixed = readable(0.5 * demand_s, Dimension::Time);
            format!("{fixed} + {}", readable(0.5 * demand_s / written_mean, Dimension::TimePerSize))
        }
        false => readable(demand_s, Dimension::Time),
    };
    let _ = writeln!(text, "[system.server]\ndiscipline = \"ps\"\ndemand = \"{demand}\"\n\n[run]");
    if levels.is_empty() {
        text += "by = [\"theory\", \"sim\"]\n";
    } else {
        let _ = writeln!(text, "by = [\"sim\"]\nduration = \"{} s\"", span_s.ceil());
    }
    Ok(text)
}

/// The sizes as they are written.
struct WrittenSizes {
    /// Comments, and the line `size = "..."`.
    lines: String,
    /// The mean of what is written (bytes).
    mean: f64,
}

/// The law of the sizes, with the part that had no body; 0 B where no reply had one.
fn written_sizes(size: &Variable, replies: usize) -> Result<WrittenSizes, NoWorkload> {
    if size.count == 0 && replies > 0 {
        let none = "Sizes. No reply had a body, by the log, so they have no law: all are written as 0 B.";
        return Ok(WrittenSizes { lines: comment(none) + "size = \"0 B\"\n", mean: 0.0 });
    }
    let law = &size.taken.as_ref().ok_or_else(|| no_law(size, "sizes"))?.law;
    let without_body = size.not_positive as f64 / replies as f64;
    let zeros = if without_body < WITHOUT_BODY_LEAST { 0.0 } else { without_body };
    let mut lines = comment(&format!("Sizes. {}", size.verdict()));
    let off = law.mean() / size.mean - 1.0;
    lines += &comment(&format!("The law's mean, as written, is {:+.1} % off the data's.", off * 100.0));
    let text = if zeros > 0.0 {
        lines += &comment(&format!("{:.1} % of the replies had no body.", zeros * 100.0));
        let part = ((1.0 - zeros) * 1e6).round() / 1e6;
        format!("mix({part}: {law}, {}: 0 B)", ((1.0 - part) * 1e6).round() / 1e6)
    } else {
        if without_body > 0.0 {
            let some = size.not_positive;
            lines += &comment(&format!("{some} of {replies} replies had no body: too few to be written."));
        }
        law.to_string()
    };
    let _ = writeln!(lines, "size = \"{text}\"");
    Ok(WrittenSizes { lines, mean: (1.0 - zeros) * law.mean() })
}

/// What there is of long memory, as comments: arrivals that have it, where it is beyond doubt in the gaps or, failing that, in
/// the counts (which have the same H in the long run), or why there are none.
fn long_memory(gaps_s: &[f64], law: &Law, counts: Option<&Memory>) -> String {
    let gaps = hurst::estimate(gaps_s).ok();
    // Gaps with memory make counts with memory: counts that have none in the long run are a doubt, whatever gaps say.
    let against = [Finding::Independent, Finding::ShortRange, Finding::Antipersistent, Finding::NotStationary];
    let is_doubted = counts.is_some_and(|counts| against.contains(&counts.hurst.finding));
    let of_gaps = gaps.as_ref().filter(|_| !is_doubted).and_then(undoubted).map(|h| ("gaps", h));
    let found = of_gaps.or_else(|| counts.and_then(Memory::undoubted).map(|h| ("counts", h)));
    let Some((of, h)) = found else {
        let verdict = |what: &str, hurst: &Hurst| {
            let warnings = hurst.warnings.iter().map(|warning| comment(&format!("Warning: {warning}")));
            comment(&format!("Of the {what}: {}", hurst.verdict)) + &warnings.collect::<String>()
        };
        let gaps = gaps.map_or(String::new(), |gaps| verdict("gaps", &gaps));
        let counts = counts.map_or(String::new(), |counts| {
            let title = counts.title.trim_start_matches("Counts ");
            verdict(&format!("counts {title}"), &counts.hurst)
        });
        let why = match (gaps.is_empty(), counts.is_empty()) {
            (true, true) => "Long memory: there are too few arrivals to tell.",
            _ => "Long memory: none is written, since none is beyond doubt.",
        };
        return comment(why) + &gaps + &counts;
    };
    let arrivals = format!("fgn(h = {}, marginal = {law})", (h * 100.0).round() / 100.0);
    match Written::parse(&arrivals) {
        Ok(_) => {
            let offer = format!(
                "The {of} have long memory beyond doubt, H = {h:.2}. Gaps of the same law that have it too, for sim and load:"
            );
            comment(&offer) + &format!("# arrivals = \"{arrivals}\"\n")
        }
        Err(error) => comment(&format!("The {of} have long memory beyond doubt, H = {h:.2}, but: {error}")),
    }
}

fn capital(text: &str) -> String {
    text[..1].to_uppercase() + &text[1..]
}

/// The law of the documents' sizes, each counted once.
fn document_law(sizes: &[f64]) -> Option<Law> {
    Variable::of("document", "Documents", sizes, Dimension::Size).taken.map(|taken| taken.law)
}

fn no_law(variable: &Variable, of: &str) -> NoWorkload {
    NoWorkload(format!("no law for the {of}: {}", variable.no_fit.as_deref().unwrap_or("it has no finite mean")))
}

/// As comment lines of at most [`COLUMNS`] characters, but for longer words.
fn comment(text: &str) -> String {
    let mut lines = String::new();
    let mut line = String::from("#");
    for word in text.split_whitespace() {
        if line.len() + 1 + word.len() > COLUMNS {
            let _ = writeln!(lines, "{line}");
            line = String::from("#");
        }
        let _ = write!(line, " {word}");
    }
    let _ = writeln!(lines, "{line}");
    lines
}
