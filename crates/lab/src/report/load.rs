//! The page of a load: what it measured, how far to trust it, and the run second by second.
//!
//! Each figure has its numbers in a table behind it, and tells them where one points at it. Seconds that raise a doubt
//! are marked, so that what disturbed a run can be looked for at its time.

use sojourn_load::{Passes, Proof, Report, StepReport};
use sojourn_stats::{Estimate, Measure};

use super::failures::{self, NOT_WELL};
use super::html::{escape, page};
use super::number::{estimate, is_share, quantity, quantity_end};
use super::seconds::{Timeline, figures};
use crate::after_failures::after_failures;
use crate::answer::FAILURES;

/// The whole page; `name` is what was loaded, `version` the program's, `objectives` texts with what came of them. The
/// same report gives the same bytes.
pub fn render(report: &Report, name: &str, version: &str, objectives: &[(String, String)]) -> String {
    let mut body = format!(
        "<header>\n<p class=\"kicker\">Sojourn load</p>\n<h1>{}</h1>\n<p class=\"finding\">{}</p>\n{}\
         {}<p class=\"facts\">sojourn {}</p>\n</header>\n",
        escape(name),
        headline(report),
        verdict(report),
        report.unsettled.map_or(String::new(), |unsettled| format!("<p>{}.</p>\n", escape(&unsettled.to_string()))),
        escape(version)
    );
    if report.counts.wrong() > 0 {
        let statuses: String = report
            .failed_statuses
            .iter()
            .map(|(status, count)| format!("<li>status {status}: {count}</li>\n"))
            .collect();
        let when = report.when_failed().map_or(String::new(), |when| format!("; they failed {when}"));
        let after = after_failures(report).map_or(String::new(), |after| format!("; {after}"));
        let text = escape(&format!("{}{when}{after}", report.counts.trouble()));
        body += &format!(
            "<section id=\"failures\">\n<h2>Failures</h2>\n<p>{text}.</p>\n<ul>\n{statuses}</ul>\n</section>\n"
        );
    }
    body += &report.passes.as_ref().map_or(String::new(), passes);
    if !objectives.is_empty() {
        let rows: String = objectives
            .iter()
            .map(|(text, judged)| format!("<tr><th>{}</th><td>{}</td></tr>\n", escape(text), escape(judged)))
            .collect();
        body += &format!(
            "<section id=\"objectives\">\n<h2>Objectives</h2>\n<table class=\"plain\">\n<tbody>\n{rows}</tbody>\n\
             </table>\n</section>\n"
        );
    }
    body += &format!("<section id=\"measures\">\n<h2>Measured</h2>\n{}</section>\n", measures(&report.measures));
    let run = Timeline { name: name.to_owned(), seconds: &report.seconds, limits: report.limits, incidents: &[] };
    body += &format!("<section id=\"time\">\n<h2>Second by second</h2>\n{}</section>\n", figures(&run, ""));
    let facts: String = crate::load_facts(report)
        .iter()
        .map(|(name, value)| format!("<tr><th>{}</th><td>{}</td></tr>\n", escape(name), escape(value)))
        .collect();
    body += &format!(
        "<section id=\"facts\">\n<h2>The generator</h2>\n<table class=\"plain\">\n<tbody>\n{facts}</tbody>\n</table>\n\
         </section>\n"
    );
    page(name, &body)
}

/// What is said first of a load, on its page and on a terminal: how many requests were made in what time, and of those after the
/// warm-up, or of the pages where users browse, how many failed and were given up, and how often each was asked for, where that
/// is not as when all goes well. Plain text, in which spaces at which no line breaks stand before units.
pub fn headline(report: &Report) -> String {
    let made = format!("{} requests in {}.", report.counts.planned, quantity(report.elapsed_s, "s"));
    let (of, measured) = match &report.objects {
        Some(objects) => ("page", &objects.measured),
        None => ("request", &report.measured),
    };
    match went_wrong(&report.measures, of, measured.unfinished > 0) {
        Some(wrong) => format!("{made} {wrong}"),
        None => made,
    }
}

/// What went wrong by these measures; none where all went well. `error_ratio` counts what was cut short at the end too.
fn went_wrong(measures: &[Measure], of: &str, has_unfinished: bool) -> Option<String> {
    let one = |(metric, words): (&'static str, &'static str)| {
        let value = measures.iter().find(|measure| measure.metric == metric)?.estimate.value()?;
        let words = if metric == "error_ratio" && has_unfinished { "failed or were unfinished" } else { words };
        failures::said((metric, words), value, of)
    };
    failures::sentence(NOT_WELL, &FAILURES.into_iter().filter_map(one).collect::<Vec<_>>())
}

/// The steps of the scenarios, and what of them did not come out.
fn passes(passes: &Passes) -> String {
    let Passes { whole, failed, unfinished, steps } = passes;
    let time = |time_s: Option<f64>| time_s.map_or("-".into(), |time_s| quantity(time_s, "s"));
    let row = |step: &StepReport| {
        let faults: Vec<String> =
            step.faults.iter().map(|(fault, count)| format!("{count} times failed: {}", escape(fault))).collect();
        format!(
            "<tr><th>{}</th><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td>{}</td></tr>\n",
            escape(&step.name),
            step.ok,
            step.failed,
            time(step.response_time_mean_s),
            time(step.response_time_p95_s),
            faults.join("<br>")
        )
    };
    let rows: String = steps.iter().map(row).collect();
    format!(
        "<section id=\"steps\">\n<h2>Steps</h2>\n<p>Passes: {whole} whole, {failed} failed, {unfinished} cut short by \
         the end.</p>\n<div class=\"scroll\"><table class=\"plain\">\n<thead><tr><th>Step</th><th>Good</th>\
         <th>Failed</th><th>Mean</th><th>95th percentile</th><th>What failed</th></tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table></div>\n</section>\n"
    )
}

fn verdict(report: &Report) -> String {
    let (class, word, sentence) = match &report.verdict {
        Proof::Valid => ("good", "VALID", "Nothing disturbed the measurement."),
        Proof::Suspect(_) => ("warn", "SUSPECT", "Do not rely on it before you know what this did:"),
        Proof::Incomplete(_) => ("bad", "INCOMPLETE", "It is not a whole run:"),
    };
    let reasons: String =
        report.verdict.reasons().iter().map(|reason| format!("<li>{}</li>\n", escape(reason))).collect();
    let reasons = if reasons.is_empty() { reasons } else { format!("<ul class=\"reasons\">\n{reasons}</ul>\n") };
    format!("<p class=\"verdict {class}\"><strong>{word}</strong> {sentence}</p>\n{reasons}")
}

fn measures(measures: &[Measure]) -> String {
    let row = |measure: &Measure| {
        // A share is told in per cent; attempts at each request are a plain number.
        let (factor, unit) = match measure.unit.as_str() {
            "1" if is_share(&measure.metric) => (100.0, "%"),
            "1" => (1.0, ""),
            unit => (1.0, unit),
        };
        let shown = |value: f64| quantity(value * factor, unit);
        let interval = match measure.estimate {
            Estimate::Sampled { .. } if measure.estimate.is_sharp() => "exactly".to_owned(),
            Estimate::Sampled { ci_low, ci_high, .. } => {
                let end = |value: f64, is_upper| quantity_end(value * factor, unit, is_upper);
                format!("{} to {}", end(ci_low, false), end(ci_high, true))
            }
            Estimate::WithoutInterval { why, .. } => format!("none: {}", why.words()),
            _ => String::new(),
        };
        let value = match &measure.estimate {
            Estimate::TooFew { .. } => estimate(&measure.estimate, unit),
            known => known.value().map_or(String::new(), shown),
        };
        let samples = measure.estimate.samples().map_or(String::new(), |samples| samples.to_string());
        format!(
            "<tr><th>{}</th><td class=\"number\">{value}</td><td class=\"number\">{interval}</td>\
             <td class=\"number\">{samples}</td></tr>\n",
            escape(&measure.metric)
        )
    };
    let rows: String = measures.iter().map(row).collect();
    format!(
        "<div class=\"scroll\"><table class=\"plain\">\n<thead><tr><th>Metric</th><th>Estimate</th>\
         <th>Interval (95 %)</th><th>Samples</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The row of a metric with an interval of a tenth to either side.
    fn row(metric: &str, value: f64) -> String {
        let estimate = Estimate::Sampled { value, ci_low: 0.9 * value, ci_high: 1.1 * value, samples: 99 };
        measures(&[Measure::new(metric, "1", estimate)]).replace('\u{a0}', " ")
    }

    /// A request is asked for 1.13 times on average: that is no share of anything.
    #[test]
    fn shares_are_in_per_cent_and_attempts_are_a_number() {
        let shares = row("error_ratio", 0.02);
        assert!(shares.contains(">2.00 %</td>") && shares.contains(">1.80 % to 2.20 %</td>"), "{shares}");
        let attempts = row("attempts_ratio", 1.13);
        assert!(attempts.contains(">1.13</td>") && !attempts.contains(" %</td>"), "{attempts}");
    }

    /// What went wrong is said with its share, whichever it is, and nothing where all went well.
    #[test]
    fn a_headline_tells_failures_those_who_left_and_attempts() {
        let of = |shares: &[(&str, f64)], has_unfinished| {
            let measure = |(metric, value): &(&str, f64)| Measure::new(*metric, "1", Estimate::Exact { value: *value });
            let measures: Vec<Measure> = shares.iter().map(measure).collect();
            went_wrong(&measures, "request", has_unfinished).map(|told| told.replace('\u{a0}', " "))
        };
        let well = [("error_ratio", 0.0), ("abandoned_ratio", 0.0), ("attempts_ratio", 1.0)];
        assert_eq!(of(&well, false), None);
        let told = of(&[("error_ratio", 0.02), ("abandoned_ratio", 0.03), ("attempts_ratio", 1.13)], false).unwrap();
        let expected = "Not all went well: 2.00 % of the requests failed, 3.00 % of the requests were given up, 1.13 \
                        attempts at each request.";
        assert_eq!(told, expected);
        // Who left is told where nothing failed.
        let told = of(&[("error_ratio", 0.0), ("abandoned_ratio", 0.03)], false).unwrap();
        assert_eq!(told, "Not all went well: 3.00 % of the requests were given up.");
        let told = of(&[("error_ratio", 0.03)], true).unwrap();
        assert_eq!(told, "Not all went well: 3.00 % of the requests failed or were unfinished.");
    }
}
