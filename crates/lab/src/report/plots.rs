//! The figures.
//!
//! Each is a `<figure>` with an id of its own, a heading, one or more drawings and a caption that says what to see. A
//! figure without data is replaced by a line that says so.

mod canvas;
pub(super) mod chart;
pub(crate) mod costs;
mod curves;
mod dots;
pub mod file;
pub mod hurst;
pub(super) mod ink;
mod legend;
pub mod scan;
mod shares;
mod sweep;
mod unanswered;

use super::html::{behind, engine, escape};
use super::{Answers, Engine, VariantAnswers, compare, number};

/// More variants than this are not drawn one by one beside curves over all of them.
const MANY: usize = 12;
/// More variants than this are left to the tables.
const MOST_VARIANTS: usize = 40;

/// The section with every figure.
pub(super) fn all(report: &Answers) -> String {
    if report.variants.is_empty() {
        return String::new();
    }
    let sweep = sweep::figure(report);
    // The curves have the same numbers, and a row or a panel for each of so many is not looked at.
    let one_by_one = if !sweep.is_empty() && report.variants.len() > MANY {
        left_out("A plot for each variant", "the tables have the numbers of all of them")
    } else {
        [means(report), quantiles(report), curves::figure(report), shares::figure(report)].concat()
    };
    let figures = [sweep, one_by_one, differences(report)].concat();
    format!("<section id=\"plots\">\n<h2>Plots</h2>\n{figures}</section>\n")
}

/// Whether a setting takes enough numbers for a curve, which then says more than any table.
pub(super) fn has_curve(report: &Answers) -> bool {
    !sweep::figure(report).is_empty()
}

/// How many colours of series the section has: what is drawn behind it has others.
pub(super) fn colors_taken(report: &Answers) -> usize {
    sweep::taken(report)
}

/// A figure: drawings and caption are HTML.
struct Figure<'a> {
    id: &'a str,
    heading: &'a str,
    /// How many drawings stand side by side where there is room: `one`, `two` or `three`.
    columns: &'a str,
    legend: String,
    drawings: Vec<String>,
    caption: String,
    /// The numbers behind it, HTML.
    table: String,
}

impl Figure<'_> {
    fn html(&self) -> String {
        format!(
            "<figure id=\"{}\" class=\"{}\">\n<h3>{}</h3>\n{}<div class=\"panels\">\n{}</div>\n\
             <figcaption>{}</figcaption>\n</figure>\n{}",
            self.id,
            self.columns,
            self.heading,
            self.legend,
            self.drawings.concat(),
            self.caption,
            self.table
        )
    }
}

/// A chart as a figure of a page, with the numbers that it draws.
pub(super) fn chart_figure(chart: &chart::Chart) -> String {
    figure_with(chart, chart.table())
}

/// A chart as a figure of a page, with this table behind it.
fn figure_with(chart: &chart::Chart, table: String) -> String {
    let drawing = both(|width| Some(chart.draw(width))).expect("a chart can always be drawn");
    Figure {
        id: &format!("plot-{}", chart.id),
        heading: &escape(&chart.heading),
        columns: "one",
        legend: String::new(),
        drawings: vec![drawing],
        caption: chart.caption.clone(),
        table,
    }
    .html()
}

/// A round time: "20 ms".
pub(crate) fn round_time(seconds: f64) -> String {
    dots::round_time(seconds)
}

/// A round size: "20 kB".
pub(super) fn round_size(bytes: f64) -> String {
    super::number::quantity(bytes, "B").replace(".00", "").replace(".0\u{a0}", "\u{a0}")
}

/// What stands in the place of a figure that has no data.
fn left_out(heading: &str, why: &str) -> String {
    format!("<p class=\"left-out\"><strong>{heading}</strong> is left out: {why}.</p>\n")
}

/// The same drawing for a wide and for a narrow page, whose text is then equally large; the style sheet shows one. A narrow page
/// is a phone's, on which nothing points: its numbers are in the table alone.
fn both(draw: impl Fn(f64) -> Option<String>) -> Option<String> {
    let (wide, narrow) = (draw(500.0)?, canvas::silent(&draw(360.0)?));
    Some(format!("<div class=\"wide\">\n{wide}</div>\n<div class=\"narrow\">\n{narrow}</div>\n"))
}

/// What the markers stand for, for the engines that `shown` holds.
fn legend(shown: &[Engine]) -> String {
    let items: String = shown.iter().map(|e| format!("<li>{}</li>", engine(*e))).collect();
    format!("<ul class=\"legend\" aria-label=\"Engines\">{items}</ul>\n")
}

/// The variants that are drawn, and a sentence about those that are not.
fn drawn(report: &Answers) -> (&[VariantAnswers], String) {
    let all = &report.variants;
    if all.len() <= MOST_VARIANTS {
        return (all, String::new());
    }
    let rest = all.len() - MOST_VARIANTS;
    (&all[..MOST_VARIANTS], format!(" {rest} more variants are not drawn; their numbers are in the tables."))
}

fn means(report: &Answers) -> String {
    let heading = "Mean response time";
    let (variants, rest) = drawn(report);
    let Some(drawing) = both(|width| dots::estimates(variants, compare::MEAN, heading, width)) else {
        return left_out(heading, "no engine gave one");
    };
    let has = |engine: Engine| variants.iter().any(|v| v.estimate(engine, compare::MEAN).is_some());
    let mut caption = "Further left is faster. Each marker is an engine\u{2019}s answer, the line through it its \
                       confidence interval (not drawn where the marker would hide it)."
        .to_owned();
    if has(Engine::Theory) {
        caption += " Theory has no interval: a filled diamond is exact for this system, a hollow one approximate.";
    }
    if has(Engine::Live) && has(Engine::Twin) {
        caption += " Look first at <em>live</em> and its <em>twin</em>: where the two lie together, the \
                    real system did what the model says. Where both lie apart from <em>sim</em>, the live run was too \
                    short to be the long run.";
    }
    caption += suspects(variants);
    caption += &crosses(variants, &[compare::MEAN.to_owned()]);
    Figure {
        id: "plot-means",
        heading,
        columns: "one",
        legend: String::new(),
        drawings: vec![drawing],
        caption: caption + &rest,
        table: estimates_table(heading, variants, &[compare::MEAN.to_owned()]),
    }
    .html()
}

fn quantiles(report: &Answers) -> String {
    let heading = "What slow requests see";
    let (variants, rest) = drawn(report);
    let drawings: Vec<String> = compare::quantiles(report)
        .iter()
        .filter_map(|metric| {
            let title = format!("{} of the response time", compare::short(metric));
            let drawing = both(|width| dots::estimates(variants, metric, &title, width))?;
            Some(format!("<div>{drawing}</div>\n"))
        })
        .collect();
    if drawings.is_empty() {
        return left_out(heading, "no engine gave a quantile of the response time");
    }
    let columns = if drawings.len() == 1 { "one" } else { "two" };
    let caption = format!(
        "The times within which nine in ten requests (p90) and all but one in a hundred (p99) were answered, as far as \
         asked for. The further into the tail, the wider the intervals, and the more a policy\u{2019}s mistakes \
         show. Each plot has its own scale.{}{}{rest}",
        suspects(variants),
        crosses(variants, &compare::quantiles(report))
    );
    let table = estimates_table(heading, variants, &compare::quantiles(report));
    Figure { id: "plot-quantiles", heading, columns, legend: String::new(), drawings, caption, table }.html()
}

fn differences(report: &Answers) -> String {
    let heading = "Live against its twin";
    let (variants, rest) = drawn(report);
    let mut metrics = vec![compare::MEAN.to_owned()];
    metrics.extend(compare::quantiles(report));
    let Some(drawing) = both(|width| dots::differences(variants, &metrics, compare::AGREEMENT, width)) else {
        let live = report.variants.iter().any(|v| v.answer(Engine::Live).is_some());
        let why = if live { "no run has both a live answer and its simulated twin" } else { "nothing was run live" };
        return left_out(heading, why);
    };
    let caption = format!(
        "How much longer (right) or shorter (left) response times were live than in the simulator given the very same \
         requests. Inside the shaded band they differ by less than {:.0}\u{a0}%. An interval that crosses zero means \
         that chance alone may explain the difference; the intervals treat the two runs as independent, which is \
         cautious, since they share their traffic.{}{rest}",
        compare::AGREEMENT * 100.0,
        suspects(variants)
    );
    let head: Vec<String> =
        std::iter::once("variant").chain(metrics.iter().map(|m| compare::short(m))).map(escape).collect();
    let cell = |variant: &VariantAnswers, metric: &String| match compare::difference(variant, metric) {
        Some(d) => [d.value, d.low, d.high].map(number::signed_percent),
        None => Default::default(),
    };
    let row = |variant: &VariantAnswers| {
        let cells = metrics.iter().map(|metric| match cell(variant, metric) {
            [value, low, high] if !value.is_empty() => format!("{value} ({low} to {high})"),
            _ => NOTHING.into(),
        });
        std::iter::once(escape(&variant.label)).chain(cells).collect()
    };
    let table = behind(heading, &head, &variants.iter().map(row).collect::<Vec<_>>(), "");
    let drawings = vec![drawing];
    Figure { id: "plot-differences", heading, columns: "one", legend: String::new(), drawings, caption, table }.html()
}

/// In a table, where there is no number.
const NOTHING: &str = "\u{2013}";

/// The numbers behind a figure of estimates: a row for each variant, a column for each metric and engine that has one.
fn estimates_table(heading: &str, variants: &[VariantAnswers], metrics: &[String]) -> String {
    let columns: Vec<(&String, Engine)> =
        metrics.iter().flat_map(|metric| Engine::ALL.map(|engine| (metric, engine))).collect();
    let known = |(metric, engine): &(&String, Engine)| variants.iter().any(|v| v.estimate(*engine, metric).is_some());
    let columns: Vec<(&String, Engine)> = columns.into_iter().filter(known).collect();
    let name = |(metric, engine): &(&String, Engine)| escape(&format!("{} {}", compare::short(metric), engine.name()));
    let head: Vec<String> = std::iter::once("variant".into()).chain(columns.iter().map(name)).collect();
    let row = |variant: &VariantAnswers| {
        let cell = |(metric, engine): &(&String, Engine)| {
            let lost = unanswered::share(variant, *engine, metric).map_or_else(String::new, unanswered::told);
            variant.estimate(*engine, metric).map_or(NOTHING.into(), |estimate| number::estimate(estimate, "s") + &lost)
        };
        std::iter::once(escape(&variant.label)).chain(columns.iter().map(cell)).collect()
    };
    behind(heading, &head, &variants.iter().map(row).collect::<Vec<_>>(), "")
}

fn suspects(variants: &[VariantAnswers]) -> &'static str {
    if variants.iter().any(|v| v.is_suspect()) { " A hollow square is a live run that is not valid." } else { "" }
}

/// What crosses say, where there are some on numbers of these metrics.
fn crosses(variants: &[VariantAnswers], metrics: &[String]) -> String {
    let is_any = metrics.iter().any(|metric| unanswered::is_any(variants, metric));
    if is_any { unanswered::sentence() } else { String::new() }
}

/// A variant's name above its panel.
fn panel(variant: &VariantAnswers, drawing: &str) -> String {
    format!("<div class=\"panel\"><h4>{}</h4>\n{drawing}</div>\n", escape(&variant.label))
}

/// `text` cut to about `most` characters, for a drawing, which cannot wrap.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    short.truncate(short.trim_end().len());
    short + "\u{2026}"
}

/// The same of several, which stay apart: what long ones have in common at their beginning is left out.
fn apart(texts: &[&str], most: usize) -> Vec<String> {
    let short: Vec<String> = texts.iter().map(|text| cut(text, most)).collect();
    let of_one = |(number, text): (usize, &&str)| {
        let alike: Vec<&&str> =
            texts.iter().zip(&short).filter(|(_, cut)| **cut == short[number]).map(|of| of.0).collect();
        let common = |other: &str| text.char_indices().zip(other.chars()).take_while(|((_, a), b)| a == b).count();
        match alike.iter().filter(|other| **other != text).map(|other| common(other)).max() {
            Some(common) => {
                let words: String = text.chars().take(common).collect();
                let from = words.rfind([' ', ',', '(']).map_or(0, |at| words[..=at].chars().count());
                let rest: String = text.chars().skip(from).collect();
                cut(&format!("\u{2026}{rest}"), most)
            }
            None => short[number].clone(),
        }
    };
    texts.iter().enumerate().map(of_one).collect()
}

#[cfg(test)]
mod tests {
    use super::{apart, cut};

    #[test]
    fn long_labels_stay_apart() {
        let labels = ["exponential(rate = 5 /s), random", "exponential(rate = 5 /s), round-robin", "ps"];
        assert_eq!(apart(&labels, 20), ["\u{2026}random", "\u{2026}round-robin", "ps"]);
        assert_eq!(apart(&labels, 60), labels);
    }

    #[test]
    fn long_labels_are_cut_between_characters() {
        assert_eq!(cut("round-robin", 20), "round-robin");
        assert_eq!(cut("\u{e9}\u{e9}\u{e9} \u{e9}\u{e9}", 5), "\u{e9}\u{e9}\u{e9}\u{2026}");
    }
}
