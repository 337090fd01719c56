//! Variants and runs two by two: how many times as long one takes as the other, with the interval of that.

use super::html::escape;
use super::{Answers, Engine, RUN, compare, number};
use crate::answer::NAME;
use crate::compare::{
    Between, How, PAIRED, Within, about_pairs, compared_choice, legend_of_alone, pairs, runs_without_interval,
    within_setting, without_interval,
};

/// Variants that are equal but for one choice, two by two, replication by replication.
pub(super) fn section(report: &Answers) -> String {
    let Some(key) = compared_choice(report) else { return String::new() };
    let (all, left_out) = (pairs(report), without_interval(report));
    let is_by_name = |place: usize| report.variants[place].is_by_name(key);
    let has_names = all.iter().any(|of| is_by_name(of.places.0) || is_by_name(of.places.1));
    let choice = match (key, has_names) {
        (NAME, _) => "variant".to_owned(),
        (key, true) => format!("<code>{}</code> or variant with a name", escape(key)),
        (key, false) => format!("<code>{}</code>", escape(key)),
    };
    let title = format!("Another {choice}, all else equal");
    let Some(first) = all.first() else {
        return if left_out.is_empty() { String::new() } else { empty(&title, &left_out.join(" ")) };
    };
    let lead = format!(
        "Response time of B over that of A by sim, with its 95\u{a0}% interval from {} of replications. {}",
        escape(&first.comparison.how.to_string()),
        escape(&about_pairs(&[report], &all))
    );
    table(&title, &lead, &all, &left_out)
}

/// Runs beside each other, two by two, in what is equal but for the run; `merged` has the variants of all.
pub(super) fn of_runs(merged: &Answers, runs: &[&Answers]) -> String {
    // Runs may differ in more than their names.
    let title = "The runs beside each other";
    let engines = [Engine::Sim, Engine::Live, Engine::Theory];
    let of_metric = |metric: &'static str| within_setting(merged, RUN, metric, &engines);
    let all: Vec<Within> = PAIRED.into_iter().flat_map(of_metric).collect();
    if all.is_empty() {
        return empty(title, "No two of them have a variant in common whose response time has an interval in both.");
    }
    let paired: Vec<Within> = all.iter().filter(|of| matches!(of.comparison.how, How::Pairs(_))).cloned().collect();
    let is_simulated = all.iter().any(|of| of.engine == Engine::Sim);
    let about = match (paired.is_empty(), is_simulated) {
        (false, _) => about_pairs(runs, &paired),
        (true, true) => {
            "Replications are no pairs here, since the runs have different seeds: with one seed for all of them these intervals \
             are mostly narrower."
                .to_owned()
        }
        (true, false) => String::new(),
    };
    let lead = format!(
        "Response time of B over that of A, with its 95\u{a0}% interval; two formulas have none. {}",
        escape(&about)
    );
    // Formulas are asked where nothing else says anything, and have no intervals.
    table(title, lead.trim_end(), &all, &runs_without_interval(merged, &engines[..2]))
}

/// The section where there is no pair, with why.
fn empty(title: &str, why: &str) -> String {
    let why = escape(why);
    format!("<section id=\"pairs\">\n<h2>{title}</h2>\n<p class=\"left-out\">{why}</p>\n</section>\n")
}

/// These pairs in rows, and in sentences what is left out of them.
fn table(title: &str, lead: &str, all: &[Within], left_out: &[String]) -> String {
    let row = |of: &Within| {
        let ratio = match (of.comparison.told_ratio(), of.engine) {
            (Some(ratio), Engine::Theory) => format!("{:.3}", ratio.value),
            (Some(ratio), _) => {
                let told = || number::ratio(ratio.value, (ratio.low, ratio.high));
                of.comparison.not_known().unwrap_or_else(told)
            }
            (None, _) => {
                let Between { value, low, high } = of.comparison.difference;
                format!("B \u{2212} A {}", number::difference(value, (low, high), &of.comparison.unit))
            }
        };
        let ratio = if of.is_of_few { format!("{ratio} *") } else { ratio };
        let what = compare::short(&of.comparison.metric).to_owned();
        let by = of.engine.name().to_owned();
        let verdict = of.comparison.marked_verdict(all.len());
        let cells = [&what, &by, &of.others, &of.values.1, &of.values.0, &ratio, &verdict];
        let cells: Vec<String> = cells.iter().map(|cell| format!("<td>{}</td>", escape(cell))).collect();
        format!("<tr>{}</tr>\n", cells.concat())
    };
    let rows: String = all.iter().map(row).collect();
    let few = match all.iter().any(|of| of.is_of_few) {
        true => {
            "<p>*: more than 1\u{a0}% of the requests of A or of B failed or were given up: response times are of those that \
             were answered well.</p>\n"
        }
        false => "",
    };
    let alone = match all.iter().any(|of| of.comparison.has_mark(all.len())) {
        true => format!("<p>{}</p>\n", escape(&legend_of_alone(all.len()))),
        false => String::new(),
    };
    let left_out = match left_out.is_empty() {
        true => String::new(),
        false => format!("<p class=\"left-out\">{}</p>\n", escape(&left_out.join(" "))),
    };
    let head: String = ["of", "by", "at", "B", "A", "B / A", "which says"]
        .map(|name| format!("<th scope=\"col\">{name}</th>"))
        .concat();
    format!(
        "<section id=\"pairs\">\n<h2>{title}</h2>\n<p class=\"lead\">{lead}</p>\n<div class=\"scroll\">\
         <table class=\"plain\">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n\
         {few}{alone}{left_out}</section>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{ALONE, Comparison};

    /// A ratio of the few that were answered is marked on the page as on a terminal.
    #[test]
    fn ratios_of_few_are_marked() {
        let told = |is_of_few: bool| {
            let comparison =
                Comparison::of_pairs("response_time_mean", "s", &[(1.0, 1.5), (2.0, 2.6), (3.0, 3.4)]).unwrap();
            let values = ("random".to_owned(), "jsq".to_owned());
            let (engine, others, replications) = (Engine::Sim, String::new(), (3, 3));
            let pair = Within { engine, others, values, places: (0, 1), comparison, is_of_few, replications };
            table("", "", &[pair], &[])
        };
        assert!(told(true).contains(") *</td>") && told(true).contains("<p>*: more than 1"), "{}", told(true));
        assert!(!told(false).contains('*'), "{}", told(false));
    }

    /// Of so many rows like this one.
    fn rows(pairs: &[(f64, f64)], count: usize) -> String {
        let comparison = Comparison::of_pairs("response_time_mean", "s", pairs).unwrap();
        let values = ("random".to_owned(), "jsq".to_owned());
        let (engine, others, replications) = (Engine::Sim, String::new(), (3, 3));
        let places = (0, 1);
        let one = Within { engine, others, values, places, comparison, is_of_few: false, replications };
        table("", "", &vec![one; count], &[]).replace('\u{a0}', " ")
    }

    /// Where the ratio's interval alone would see a difference that the difference's does not, the difference is told.
    #[test]
    fn no_verdict_stands_beside_an_interval_that_denies_it() {
        // The ratio is 1.105 (1.006 to 1.214).
        let told = rows(&[(1.0, 1.1), (2.0, 2.3), (3.0, 3.2)], 1);
        let interval = "<td>B \u{2212} A 200 (\u{2212}49 to 449) ms</td><td>no difference seen";
        assert!(told.contains(interval) && !told.contains("1.105"), "{told}");
    }

    /// Two replications that go apart say nothing of the ratio, and why is beside it.
    #[test]
    fn a_ratio_of_which_nothing_is_known_has_no_number() {
        let told = rows(&[(1.0, 10.0), (1.0, 1.0)], 1);
        let cells =
            "<td>not known (2 pairs)</td><td>no difference seen: the interval from 2 pairs spans more than a factor of";
        assert!(told.contains(cells), "{told}");
    }

    /// What a headline does not see among all pairs has a mark in the table that judges each alone.
    #[test]
    fn a_difference_seen_alone_is_marked() {
        let pairs = [(1.0, 1.1), (1.0, 1.2), (1.0, 1.05), (1.0, 1.15), (1.0, 1.02)];
        let (one, many) = (rows(&pairs, 1), rows(&pairs, 40));
        assert!(one.contains("<td>B is slower</td>") && !one.contains(ALONE), "{one}");
        assert_eq!(many.matches("<td>B is slower \u{2020}</td>").count(), 40, "{many}");
        assert!(many.contains("<p>\u{2020}: seen by this interval alone; where all 40 are judged together"), "{many}");
    }
}
