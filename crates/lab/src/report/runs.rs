//! Several runs beside each other, in one page: a row of each table and a series of each figure for each run.
//!
//! The decision: the page is that of one report whose variants are those of all runs, so that every table and figure is
//! the same code and has the same axes. Variants of the same name stand together. The price: what is concluded is what one
//! report would conclude of so many variants; `sojourn compare` says of two runs what differs.

use super::html::{count, escape, one_by_one, page};
use super::plots::file::{self, Plot};
use super::seconds::{Timeline, beside, of_variant};
use super::{
    Answers, BEFORE_RUN, RUN, VariantAnswers, Verdict, headline, notes, objectives, pairs, plots, sections, when,
};
use crate::answer::ObjectiveAnswer;
use crate::compare::{
    self, NOT_SET, briefest, differing, filled, in_common_of, is_policy, judged_together, keys_of_runs,
};
use crate::error::SpecError;
use crate::variants::AS_GIVEN;

/// The whole page; each run has a name, and no two the same. The same reports give the same bytes.
pub fn render(runs: &[(String, &Answers)], version: &str) -> String {
    let merged = merged(runs, version);
    let (table, figures) = (sections::summary(&merged), plots::all(&merged));
    // As in the page of one run: curves say more than a long table.
    let [first, second] = if plots::has_curve(&merged) { [figures, table] } else { [table, figures] };
    let body = [
        masthead(runs, &merged),
        differences(runs),
        objectives::section(&merged),
        first,
        second,
        sections::failures(&merged),
        sections::of_faults(&merged),
        pairs::of_runs(&merged, &reports(runs)),
        seconds(runs),
        notes::section(&merged),
        sections::validity(&merged),
        sections::glossary(),
        sections::outcomes(&merged),
    ]
    .concat();
    page(&title(runs), &body)
}

/// The same runs as one plot of a metric, by its full name, in a file of its own.
///
/// # Errors
/// When no engine has a number of it that can be drawn.
pub fn plot(runs: &[(String, &Answers)], version: &str, metric: &str) -> Result<Plot, SpecError> {
    file::plot(&merged(runs, version), metric)
}

fn title(runs: &[(String, &Answers)]) -> String {
    let names: Vec<&str> = runs.iter().map(|(name, _)| name.as_str()).collect();
    names.join(", ")
}

/// The runs as one report.
fn merged(runs: &[(String, &Answers)], version: &str) -> Answers {
    let mut variants: Vec<VariantAnswers> = Vec::new();
    let mut objectives: Vec<ObjectiveAnswer> = Vec::new();
    // Replications of different seeds are no pairs.
    let are_pairs = runs.windows(2).all(|two| two[0].1.seed == two[1].1.seed);
    for Alike { label, variants: alike } in alike(runs) {
        for (run, number, settings) in alike {
            let (name, report) = &runs[run];
            // A run's own file says what it is called.
            let label = report.variants[number].name().unwrap_or(label);
            let asked = report.objectives.iter().filter(|objective| objective.variant == number);
            objectives.extend(asked.map(|objective| ObjectiveAnswer { variant: variants.len(), ..objective.clone() }));
            let label = if label.is_empty() { name.clone() } else { format!("{label}{BEFORE_RUN}{name}") };
            let settings = [vec![(RUN.to_owned(), name.clone())], settings].concat();
            let mut answers = report.variants[number].answers.clone();
            if !are_pairs {
                answers.iter_mut().for_each(|answer| answer.replications.clear());
            }
            variants.push(VariantAnswers { label, settings, answers });
        }
    }
    let settings = [vec![RUN.to_owned()], keys_of_runs(&reports(runs))].concat();
    Answers { name: title(runs), version: version.to_owned(), settings, variants, objectives, ..Answers::default() }
}

/// A longer value does not stand for a run.
const VALUE_MOST: usize = 40;

/// The same report for its headline: runs of one variant each, for which their files have no name, are called by what they differ
/// in, where that is one setting or one policy, else by their own names alone.
fn told(runs: &[(String, &Answers)], merged: &Answers) -> Answers {
    let mut told = merged.clone();
    if runs.iter().any(|(_, report)| report.variants.len() != 1) {
        return told;
    }
    let mut differ = differing(&reports(runs));
    differ.retain(|(key, _)| !["name", "description", "seed"].contains(&key.as_str()));
    let policies: Vec<usize> = (0..differ.len()).filter(|place| is_policy(&differ[*place].0)).collect();
    let values = match (differ.len(), &policies[..]) {
        (1, _) => Some(&differ[0].1),
        (_, [one]) => Some(&differ[*one].1),
        _ => None,
    };
    for variant in told.variants.iter_mut().filter(|of| of.own_label() == AS_GIVEN) {
        let Some(place) = runs.iter().position(|(name, _)| variant.setting(RUN) == Some(name.as_str())) else {
            continue;
        };
        let (run, value) = (&runs[place].0, values.map(|values| values[place].as_str()));
        let value = value.filter(|value| *value != NOT_SET && value.chars().count() <= VALUE_MOST);
        variant.label = value.map_or_else(|| run.clone(), |value| format!("{value}{BEFORE_RUN}{run}"));
    }
    told
}

/// From how many comparisons the headline picks: from all that are judged where two of the runs are compared, as `sojourn
/// compare` does, so that both see the same.
fn comparisons(reports: &[&Answers]) -> usize {
    let pairs = (0..reports.len()).flat_map(|a| (a + 1..reports.len()).map(move |b| (a, b)));
    // Runs that have no variant in common are not compared.
    let compared = pairs.filter_map(|(a, b)| compare::runs(reports[a], reports[b]).ok());
    compared.map(|all| judged_together(&all)).sum()
}

/// More settings that differ are not listed.
const DIFFERENCES_MOST: usize = 40;

/// In which settings of their experiments the runs differ, with the value of each.
fn differences(runs: &[(String, &Answers)]) -> String {
    let rows = differing(&reports(runs));
    let lead = match rows.len() {
        0 => "<p class=\"lead\">In nothing: they are the same.</p>\n".to_owned(),
        all if all > DIFFERENCES_MOST => format!("<p class=\"lead\">The first {DIFFERENCES_MOST} of {all}.</p>\n"),
        _ => String::new(),
    };
    let row = |(key, values): &(String, Vec<String>)| {
        let cells: String = values.iter().map(|value| format!("<td>{}</td>", escape(value))).collect();
        format!("<tr><th scope=\"row\"><code>{}</code></th>{cells}</tr>\n", escape(key))
    };
    let head: String = runs.iter().map(|(name, _)| format!("<th scope=\"col\">{}</th>", escape(name))).collect();
    let body: String = rows.iter().take(DIFFERENCES_MOST).map(row).collect();
    let table = format!(
        "<div class=\"scroll\"><table class=\"plain\">\n<thead><tr><th scope=\"col\">setting</th>{head}</tr></thead>\n\
         <tbody>\n{body}</tbody></table></div>\n"
    );
    let table = if rows.is_empty() { String::new() } else { table };
    format!("<section id=\"differences\">\n<h2>In what the experiments differ</h2>\n{lead}{table}</section>\n")
}

fn reports<'a>(runs: &[(String, &'a Answers)]) -> Vec<&'a Answers> {
    runs.iter().map(|(_, report)| *report).collect()
}

/// A variant of several runs: the place of its run, its own place there, and its settings at the keys that vary in any run.
type OfRun = (usize, usize, Vec<(String, String)>);

/// Variants that several runs have in common.
struct Alike<'a> {
    label: &'a str,
    variants: Vec<OfRun>,
}

/// The variants of all runs in the order in which they come, those that are alike together, run by run.
fn alike<'a>(runs: &[(String, &'a Answers)]) -> Vec<Alike<'a>> {
    let reports: Vec<&'a Answers> = reports(runs);
    let keys = keys_of_runs(&reports);
    let settings: Vec<_> = reports.iter().map(|report| filled(report, &keys)).collect();
    let of_group = |group: Vec<(usize, usize)>| {
        let of: Vec<&'a VariantAnswers> = group.iter().map(|(run, number)| &reports[*run].variants[*number]).collect();
        let variants = group.iter().map(|(run, number)| (*run, *number, settings[*run][*number].clone())).collect();
        Alike { label: briefest(&of), variants }
    };
    in_common_of(&reports).into_iter().map(of_group).collect()
}

fn masthead(runs: &[(String, &Answers)], merged: &Answers) -> String {
    let row = |(name, report): &(String, &Answers)| {
        let is_judged = report.verdict != Verdict::Valid || report.variants.iter().any(|of| of.trust().is_some());
        // Nothing was measured that could be doubted: that is no verdict.
        let verdict = if is_judged { report.verdict.word() } else { "no live run" }.to_owned();
        let cells = [&report.name, &when(report), &report.seed.to_string(), &report.version, &verdict];
        let cells: String = cells.iter().map(|cell| format!("<td>{}</td>", escape(cell))).collect();
        format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", escape(name))
    };
    let finding = headline::finding_among(&told(runs, merged), comparisons(&reports(runs)));
    let finding = finding.map_or(String::new(), |text| format!("<p class=\"finding\">{text}</p>\n"));
    let head: String = ["run", "experiment", "when", "seed", "version", "verdict"]
        .map(|name| format!("<th scope=\"col\">{name}</th>"))
        .concat();
    format!(
        "<header>\n<p class=\"kicker\">Sojourn runs beside each other</p>\n<h1>{}</h1>\n{finding}<div class=\"scroll\">\
         <table class=\"plain\">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{}</tbody></table></div>\n\
         <p class=\"facts\">{} \u{b7} sojourn {}</p>\n</header>\n",
        escape(&title(runs)),
        runs.iter().map(row).collect::<String>(),
        count(runs.len(), "run"),
        escape(&merged.version),
    )
}

/// The live runs of each variant, second by second on the same axes.
fn seconds(runs: &[(String, &Answers)]) -> String {
    let of_label = |(index, Alike { label, variants }): (usize, Alike<'_>)| {
        let of_run = |(run, number, _): &OfRun| {
            let (name, report) = &runs[*run];
            (name.clone(), report.variants[*number].clone())
        };
        let found: Vec<(String, VariantAnswers)> = variants.iter().map(of_run).collect();
        let timelines: Vec<Timeline> = found
            .iter()
            .filter_map(|(name, variant)| Some(Timeline { name: name.clone(), ..of_variant(variant)? }))
            .collect();
        if timelines.is_empty() {
            return None;
        }
        let mut names: Vec<&str> = Vec::new();
        for (run, number, _) in &variants {
            let name = runs[*run].1.variants[*number].name().unwrap_or(label);
            names.extend(Some(name).filter(|name| !names.contains(name)));
        }
        let name = if label.is_empty() { "the only variant".to_owned() } else { names.join(" / ") };
        Some((name, beside(&timelines, &format!("-{index}"))))
    };
    let all: Vec<(String, String)> = alike(runs).into_iter().enumerate().filter_map(of_label).collect();
    if all.is_empty() {
        return String::new();
    }
    let of_each = ("variant", "seconds.csv of each run");
    let drawn = one_by_one(&all, |(name, _)| name.as_str(), |_, (_, figures)| figures.clone(), of_each);
    format!("<section id=\"time\">\n<h2>The live runs, second by second</h2>\n{drawn}</section>\n")
}

#[cfg(test)]
mod tests {
    use sojourn_stats::{Estimate, Measure};

    use super::*;
    use crate::answer::Answer;
    use crate::spec::Engine;

    /// A run of an experiment with this text, whose mean response time has these replications (s), with so many other numbers.
    fn run(spec: &str, replications: [f64; 5], others: usize) -> Answers {
        let sampled = |value: f64| Estimate::Sampled { value, ci_low: 0.8 * value, ci_high: 1.2 * value, samples: 100 };
        let mean = Measure::new("response_time_mean", "s", sampled(replications.iter().sum::<f64>() / 5.0));
        let others = (0..others).map(|of| Measure::new(format!("share_{of}"), "1", sampled(0.5)));
        let measures = std::iter::once(mean).chain(others).collect();
        let replications = vec![("response_time_mean".to_owned(), replications.map(Some).to_vec())];
        let answer = Answer { measures, replications, ..Answer::new(Engine::Sim) };
        let variant = VariantAnswers { label: AS_GIVEN.to_owned(), answers: vec![answer], ..VariantAnswers::default() };
        Answers { spec: spec.to_owned(), variants: vec![variant], ..Answers::default() }
    }

    /// The headline judges as `sojourn compare` does, and calls runs by what they differ in.
    #[test]
    fn the_headline_sees_what_a_comparison_sees() {
        let headline = |specs: [&str; 2], others: usize| {
            let rr = run(specs[0], [1.1, 1.2, 1.05, 1.15, 1.02], others);
            let lc = run(specs[1], [1.0; 5], others);
            let runs = [("rr".to_owned(), &rr), ("lc".to_owned(), &lc)];
            masthead(&runs, &merged(&runs, "0"))
        };
        let policies = ["[[system.tier]]\npolicy = \"round-robin\"\n", "[[system.tier]]\npolicy = \"random\"\n"];
        let one = headline(policies, 0);
        assert!(one.contains("<strong>random \u{b7} lc</strong> has the lowest mean response time"), "{one}");
        assert!(one.contains("<strong>round-robin \u{b7} rr</strong> the highest"), "{one}");
        // By its interval alone one of 13 is likely where nothing differs.
        let many = headline(policies, 12);
        assert!(many.contains("no difference is seen") && !many.contains("has the lowest"), "{many}");
        assert!(many.contains("Here all 13 comparisons are judged at once"), "{many}");
        // Neither of two settings is what they differ in.
        let two = headline(["[system]\nservers = 4\ncores = 1\n", "[system]\nservers = 2\ncores = 2\n"], 0);
        assert!(two.contains("<strong>lc</strong> has the lowest mean response time"), "{two}");
        let unset = headline([policies[0], ""], 0);
        assert!(unset.contains("<strong>lc</strong> has the lowest"), "{unset}");
    }

    #[test]
    fn the_page_says_in_what_the_experiments_differ() {
        let with = |spec: &str| Answers { spec: spec.into(), ..Answers::default() };
        let (four, eight) =
            (with("[system]\nservers = 4\nkind = \"x\"\n"), with("[system]\nservers = 8\nkind = \"x\"\n"));
        let told = differences(&[("a".into(), &four), ("b".into(), &eight)]);
        assert!(told.contains("system.servers") && told.contains("<td>4</td><td>8</td>"), "{told}");
        assert!(!told.contains("system.kind"), "{told}");
        assert!(differences(&[("a".into(), &four), ("b".into(), &four)]).contains("In nothing"));
    }
}
