//! From an input to a workload: laws fitted to what came, written as an experiment that runs.
//!
//! Requests that failed are left out, since a server that fails is not what is asked for. The rate is a profile where it
//! changes by more than chance, and the law of the gaps is of what is left ([`crate::describe::profiled`]), stretched to
//! the measured mean, because the mean is the rate. Laws are the likeliest; one of infinite variance is cut at the largest
//! value seen, since no run of any length would settle with it. What is lost is said in the file: which object was asked for,
//! sessions, and any order beyond the rate's. Long memory of the gaps is offered as `fgn(...)` where it is beyond doubt, and
//! not written unasked: no formula knows it, and a simulation with it takes long to settle.

use std::fmt::Write as _;

use sojourn_stats::fit::Fit;
use sojourn_stats::hurst::{self, Finding};
use sojourn_stats::{Dimension, Law, quantity};
use thiserror::Error;

use super::hurst::{of_counts, undoubted};
use super::log::response_times;
use super::variable::unrounded;
use super::{Memory, Popularity, Profiled, Variable, digits, profiled, spread_s};
use crate::arrivals::Arrivals as Written;
use crate::recorded::capture::{Begin, Capture};
use crate::recorded::log::{Log, RESOLUTION_S};

/// How wide a comment may be: a terminal shows the file too.
const COLUMNS: usize = 80;
/// The utilisation that the server which is written down is given at the profile's peak.
const UTILIZATION: f64 = 0.6;

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
    span_s: f64,
    sizes: Vec<f64>,
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
    let good = |status: u16| status < 400;
    let instants_s = spread_s(log);
    // Within a second instants are exchangeable, so any of its requests may have any of them.
    let kept = || log.entries().iter().zip(&instants_s).filter(|(entry, _)| good(entry.status));
    let failed = log.requests() - kept().count();
    let mut counts = vec![0u64; log.paths().len()];
    kept().for_each(|(entry, _)| counts[entry.object as usize] += 1);
    let popularity = Popularity::of(counts);
    let mut largest = vec![0.0f64; log.paths().len()];
    for (entry, _) in kept() {
        let size = &mut largest[entry.object as usize];
        *size = size.max(entry.bytes as f64);
    }
    largest.retain(|size| *size > 0.0);
    let mut remarks = Vec::new();
    if failed > 0 {
        remarks.push(format!("{failed} requests with a status of 400 or more are left out."));
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
    remarks.push("The log has whole seconds: within them requests are spread evenly.".into());
    if let Some((times, _)) = response_times(log.entries().iter().filter(|entry| good(entry.status)))
        && let Some(best) = times.fits.first()
    {
        let (mean, law) = (quantity::format(digits(times.mean), Dimension::Time), &best.law);
        remarks.push(format!(
            "Response times, by the log ({} of them): {mean} in the mean, and the likeliest law is {law}, within {:.3} of the \
             data. They hold waiting and the client's network too, so they are what a model is to come near, and no demand.",
            times.count, best.kolmogorov
        ));
    }
    arrivals_text(Arrivals {
        what: format!("requests of {name}"),
        instants_s: kept().map(|(_, instant_s)| *instant_s).collect(),
        finest_s: RESOLUTION_S,
        span_s: log.span().as_secs_f64(),
        sizes: kept().map(|(entry, _)| entry.bytes as f64).collect(),
        documents: popularity.zipf.map(|zipf| (largest, zipf.s)),
        clients: log.hosts().len(),
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
        format!("Sizes are of the {} connections whose both ends are in the capture.", whole().count()),
        "A connection counts as one request of all that the server sent in it.".into(),
    ];
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
        span_s: capture.span_s(),
        sizes: whole().map(|one| one.bytes_to_client as f64).collect(),
        documents: None,
        clients: clients.len(),
        remarks,
    })
}

/// The likeliest law of a column of numbers, as text with comments that say how good it is.
///
/// # Errors
/// When no law can be fitted.
pub fn of_numbers(numbers: &[f64], dimension: Dimension) -> Result<String, NoWorkload> {
    let rounded = Some(numbers).filter(|_| dimension == Dimension::Time).and_then(unrounded);
    let values = rounded.as_ref().map_or(numbers, |(values, _)| values);
    let variable = Variable::of("number", "The numbers", values, dimension);
    if variable.not_positive > 0 {
        let (some, all) = (variable.not_positive, numbers.len());
        let times = if dimension == Dimension::Number { "; if they are rounded times, say so: --unit s" } else { "" };
        return Err(NoWorkload(format!(
            "{some} of {all} numbers are not above 0; the laws that are fitted are of positive ones{times}"
        )));
    }
    let best = variable.fits.first().ok_or_else(|| NoWorkload(variable.no_fit.clone().unwrap_or_default()))?;
    let mut text = comment(&variable.verdict());
    rounded.iter().for_each(|(_, remark)| text += &comment(&format!("{remark}.")));
    for fit in &variable.fits {
        let (name, off, behind, law) = (fit.family.name(), fit.kolmogorov, fit.bic - best.bic, &fit.law);
        let _ = writeln!(text, "# {name:<28} distance {off:.4}  BIC {behind:+.1}  {law}");
    }
    let _ = writeln!(text, "{}", best.law);
    Ok(text)
}

fn arrivals_text(arrivals: Arrivals) -> Result<String, NoWorkload> {
    let Arrivals { what, instants_s, finest_s, span_s, sizes, documents, clients, remarks } = arrivals;
    if instants_s.len() < 100 {
        let found = instants_s.len();
        return Err(NoWorkload(format!("a workload is fitted to at least 100 arrivals, and there are {found}")));
    }
    let profiled = profiled(&instants_s, span_s);
    let memory = of_counts(&instants_s, span_s, &profiled, finest_s).pop();
    let Profiled { every_s, levels, gaps_s, .. } = profiled;
    let gap = Variable::of("gap", "Gaps", &gaps_s, Dimension::Time);
    let size = Variable::of("size", "Sizes", &sizes, Dimension::Size);
    let (_, gap_law) = usable(&gap).ok_or_else(|| no_law(&gap, "gaps"))?;
    let mean_gap_s = span_s / instants_s.len() as f64;
    let gap_law = gap_law.rescaled_to_mean(mean_gap_s).ok_or_else(|| no_law(&gap, "gaps"))?;
    let (size_fit, size_law) = usable(&size).ok_or_else(|| no_law(&size, "sizes"))?;
    let zeros = size.not_positive as f64 / sizes.len() as f64;
    let peak = levels.iter().copied().fold(1.0, f64::max);
    let mean_size = sizes.iter().sum::<f64>() / sizes.len() as f64;

    let mut text =
        comment(&format!("Fitted to {} {what} within {span_s:.0} s ({:.3} /s).", instants_s.len(), 1.0 / mean_gap_s));
    remarks.iter().for_each(|remark| text += &comment(remark));
    let _ =
        writeln!(text, "name = \"The {}\"\nseed = 1\n\n[workload]\nkind = \"open\"", what.replace(['"', '\\'], "'"));
    text += &comment(&format!("Gaps. {}", gap.verdict()));
    text += &comment("The law is stretched to the measured mean, which is the rate.");
    let _ = writeln!(text, "arrivals = \"{gap_law}\"");
    text += &long_memory(&gaps_s, &gap_law, memory.as_ref());
    if levels.is_empty() {
        text += &comment("The rate changes by no more than chance: there is no profile.");
    } else {
        text += &comment("The rate changes by more than chance: its levels over the mean.");
        let levels: Vec<String> = levels.iter().map(f64::to_string).collect();
        let _ = writeln!(text, "profile = \"steps({}, every = {every_s} s)\"", levels.join(", "));
    }
    text += &comment(&format!("Sizes. {}", size.verdict()));
    if size_law != size_fit.law {
        text += &comment("Its variance is infinite, so it is cut at the largest size that was seen.");
    }
    let off = size_law.mean() / size.mean - 1.0;
    text += &comment(&format!("The law's mean, as written, is {:+.1} % off the data's.", off * 100.0));
    let size_text = if zeros > 0.0 {
        text += &comment(&format!("{:.1} % of the replies had no body.", zeros * 100.0));
        let part = ((1.0 - zeros) * 1e6).round() / 1e6;
        format!("mix({part}: {size_law}, {}: 0 B)", ((1.0 - part) * 1e6).round() / 1e6)
    } else {
        size_law.to_string()
    };
    let _ = writeln!(text, "size = \"{size_text}\"");
    if let Some((law, zipf, n)) = documents.and_then(|(sizes, zipf)| Some((document_law(&sizes)?, zipf, sizes.len()))) {
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
    let fixed = readable(0.5 * demand_s, Dimension::Time);
    let per_byte = readable(0.5 * demand_s / mean_size, Dimension::TimePerSize);
    let _ = writeln!(text, "[system.server]\ndiscipline = \"ps\"\ndemand = \"{fixed} + {per_byte}\"\n\n[run]");
    if levels.is_empty() {
        text += "by = [\"theory\", \"sim\"]\n";
    } else {
        let _ = writeln!(text, "by = [\"sim\"]\nduration = \"{} s\"", span_s.ceil());
    }
    Ok(text)
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
        let verdict = |what: &str, verdict: &str| comment(&format!("Of the {what}: {verdict}"));
        let gaps = gaps.map_or(String::new(), |gaps| verdict("gaps", &gaps.verdict));
        let counts = counts.map_or(String::new(), |counts| {
            let title = counts.title.trim_start_matches("Counts ");
            verdict(&format!("counts {title}"), &counts.hurst.verdict)
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

/// The likeliest law, and what is written of it: cut at the largest value where its variance is infinite.
fn usable(variable: &Variable) -> Option<(&Fit, Law)> {
    let fit = variable.fits.first()?;
    if fit.law.variance().is_finite() {
        return Some((fit, fit.law.clone()));
    }
    let largest = variable.ccdf.last().map(|(x, _)| *x)?;
    let text = fit.law.to_string();
    let inner = text.strip_suffix(')')?;
    let cut = Law::parse(&format!("{inner}, max = {largest} {})", variable.unit), variable.dimension).ok()?;
    Some((fit, cut))
}

/// The law of the documents' sizes, each counted once.
fn document_law(sizes: &[f64]) -> Option<Law> {
    usable(&Variable::of("document", "Documents", sizes, Dimension::Size)).map(|(_, law)| law)
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
