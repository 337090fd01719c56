//! The page of a load: what it measured, how far to trust it, and the run second by second.
//!
//! Each figure has its numbers in a table behind it, and tells them where one points at it. Seconds that raise a doubt
//! are marked, so that what disturbed a run can be looked for at its time.

use sojourn_load::{Passes, Report, Second, StepReport, Verdict};
use sojourn_stats::{Estimate, Measure};

use super::html::{escape, page};
use super::number::{estimate, quantity, significant};
use super::plots::chart::{Chart, Mark, Series, Side};
use super::plots::{chart_figure, round_time};

/// The whole page; `name` is what was loaded, `version` the program's, `objectives` texts with what came of them. The
/// same report gives the same bytes.
pub fn render(report: &Report, name: &str, version: &str, objectives: &[(String, String)]) -> String {
    let mut body = format!(
        "<header>\n<p class=\"kicker\">Sojourn load</p>\n<h1>{}</h1>\n{}<p class=\"facts\">{} requests in {} \u{b7} \
         sojourn {}</p>\n</header>\n",
        escape(name),
        verdict(report),
        report.counts.planned,
        quantity(report.elapsed_s, "s"),
        escape(version)
    );
    if report.counts.wrong() > 0 {
        let statuses: String = report
            .failed_statuses
            .iter()
            .map(|(status, count)| format!("<li>status {status}: {count}</li>\n"))
            .collect();
        let text = escape(&report.counts.trouble());
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
    let figures: String = figures(report).iter().map(|(chart, table)| chart_figure(chart) + table).collect();
    body += &format!("<section id=\"time\">\n<h2>Second by second</h2>\n{figures}</section>\n");
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
        Verdict::Valid => ("good", "VALID", "Nothing disturbed the measurement."),
        Verdict::Suspect(_) => ("warn", "SUSPECT", "Do not rely on it before you know what this did:"),
        Verdict::Incomplete(_) => ("bad", "INCOMPLETE", "It is not a whole run:"),
    };
    let reasons: String =
        report.verdict.reasons().iter().map(|reason| format!("<li>{}</li>\n", escape(reason))).collect();
    let reasons = if reasons.is_empty() { reasons } else { format!("<ul class=\"reasons\">\n{reasons}</ul>\n") };
    format!("<p class=\"verdict {class}\"><strong>{word}</strong> {sentence}</p>\n{reasons}")
}

fn measures(measures: &[Measure]) -> String {
    let row = |measure: &Measure| {
        let unit = if measure.unit == "1" { "" } else { &measure.unit };
        let interval = measure.estimate.interval();
        let interval = interval
            .map_or(String::new(), |(low, high)| format!("{} to {}", quantity(low, unit), quantity(high, unit)));
        let value = match &measure.estimate {
            Estimate::TooFew { .. } => estimate(&measure.estimate, unit),
            known => known.value().map_or(String::new(), |value| quantity(value, unit)),
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

/// A line of a figure: its name, and what it is in a second, where that is known.
type Line = (&'static str, fn(&Second) -> Option<f64>);

/// The figures and the tables behind them.
fn figures(report: &Report) -> Vec<(Chart, String)> {
    let rates: [Line; 4] = [
        ("planned", |second| Some(second.planned as f64)),
        ("begun", |second| Some(second.begun as f64)),
        ("good replies", |second| Some(second.ok as f64)),
        ("failed", |second| Some(second.failed as f64)),
    ];
    let times: [Line; 3] = [
        ("mean", |second| (second.ok > 0).then_some(second.response_time_mean_s)),
        ("median", |second| second.response_time_p50_s),
        ("99th percentile", |second| second.response_time_p99_s),
    ];
    let inside: [Line; 1] = [("due and not over", |second| Some(second.inside as f64))];
    let late: [Line; 1] = [("99th percentile of the lateness", |second| second.lateness_p99_s)];
    let all = [
        figure(report, ("rate", "Requests per second", "per second", number), &rates, |report, second| {
            second.failed as f64 > report.limits.errors * second.planned as f64
        }),
        figure(report, ("response", "Response time", "response time", round_time), &times, |_, _| false),
        figure(report, ("inside", "Requests in flight", "at the end of the second", number), &inside, |_, _| false),
        figure(report, ("lateness", "Lateness of the generator", "lateness", round_time), &late, |report, second| {
            second.lateness_p99_s.is_some_and(|late_s| late_s > report.limits.late_s)
        }),
    ];
    all.into_iter().flatten().collect()
}

/// Lines over the seconds of the run, with those marked of which `doubtful` holds; none where nothing is known.
fn figure(
    report: &Report,
    (id, heading, title, label): (&str, &str, &str, fn(f64) -> String),
    lines: &[Line],
    doubtful: fn(&Report, &Second) -> bool,
) -> Option<(Chart, String)> {
    let seconds = || report.seconds.iter().enumerate().map(|(at, second)| (at as f64, second));
    let mut series: Vec<Series> = lines
        .iter()
        .map(|(name, of)| Series {
            name: (*name).into(),
            mark: Mark::Line,
            points: seconds().filter_map(|(at, second)| Some((at, of(second)?))).collect(),
        })
        .filter(|series| !series.points.is_empty())
        .collect();
    let marked: Vec<(f64, f64)> = seconds()
        .filter(|(_, second)| doubtful(report, second))
        .filter_map(|(at, second)| Some((at, lines.last()?.1(second)?)))
        .collect();
    let most = series.iter().flat_map(|series| &series.points).map(|point| point.1).fold(0.0, f64::max);
    if series.is_empty() {
        return None;
    }
    let doubts = marked.len();
    if doubts > 0 {
        series.push(Series { name: "beyond the limit: doubtful".into(), mark: Mark::Dots, points: marked });
    }
    let caption = match doubts {
        0 => "Each second of the run, warm-up included.".to_owned(),
        count => format!("Each second of the run, warm-up included; {count} of them are doubtful."),
    };
    let chart = Chart {
        id: id.into(),
        heading: heading.into(),
        caption,
        x: Side {
            title: "second of the run".into(),
            log: false,
            label: |value| format!("{value:.0} s"),
            ends: (0.0, report.seconds.len().saturating_sub(1) as f64),
        },
        y: Side { title: title.into(), log: false, label, ends: (0.0, if most > 0.0 { most * 1.05 } else { 1.0 }) },
        series,
    };
    let head: String = lines.iter().map(|(name, _)| format!("<th>{name}</th>")).collect();
    let row = |(number, second): (usize, &Second)| {
        let cell = |(_, of): &Line| of(second).map_or("-".into(), label);
        let cells: String = lines.iter().map(|line| format!("<td class=\"number\">{}</td>", cell(line))).collect();
        let mark = if doubtful(report, second) { "<td>doubtful</td>" } else { "<td></td>" };
        format!("<tr><th>{number}\u{a0}s</th>{cells}{mark}</tr>\n")
    };
    let rows: String = report.seconds.iter().enumerate().map(row).collect();
    let table = format!(
        "<details>\n<summary>{heading}: the numbers</summary>\n<div class=\"scroll\"><table class=\"plain\">\n\
         <thead><tr><th>second</th>{head}<th></th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n</details>\n"
    );
    Some((chart, table))
}

fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { significant(value) }
}
