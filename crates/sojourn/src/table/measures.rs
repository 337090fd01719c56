//! Measures without a run: a row for each, of one engine or of several beside each other.

use serde_json::json;
use sojourn_lab::outcome::measure_to_json;
use sojourn_stats::{Estimate, Measure};

use super::Grid;
use super::scale::{Scale, in_scale};
use super::text::{outln, paragraph};

/// Prints measures of one engine, for verbs without a run folder.
pub(crate) fn print_measures(measures: &[Measure], notes: &[String]) {
    // Theory has no intervals, and then there is no column for them.
    let sampled = measures.iter().any(|measure| measure.estimate.interval().is_some());
    let header: &[&str] =
        if sampled { &["metric", "estimate", "interval (95 %)", "from"] } else { &["metric", "estimate", "how"] };
    let mut table = Grid::new(header);
    for measure in measures.iter().map(Measure::within_range) {
        let scale = Scale::of_measure(&measure);
        let value = measure.estimate.value().map_or("too few samples".into(), |value| scale.unit(value));
        let interval = match measure.estimate {
            Estimate::Sampled { .. } if measure.estimate.is_sharp() => Some("exactly".into()),
            Estimate::Sampled { ci_low, ci_high, .. } => Some(scale.ends(ci_low, ci_high)),
            Estimate::WithoutInterval { why, .. } => Some(format!("none: {}", why.words())),
            _ => None,
        };
        let from = match measure.estimate {
            Estimate::Sampled { samples, .. }
            | Estimate::WithoutInterval { samples, .. }
            | Estimate::TooFew { samples } => format!("{samples} samples"),
            Estimate::Exact { .. } => "exact".into(),
            Estimate::Approximate { .. } => "approximate".into(),
        };
        let interval = sampled.then(|| interval.unwrap_or_default());
        table.add_row([Some(measure.metric.clone()), Some(value), interval, Some(from)].into_iter().flatten());
    }
    outln(&table.to_string());
    for note in notes {
        outln(&paragraph("  ", note));
    }
}

/// Prints measures of engines as JSON: a row for each, which names its engine, whether there is one or there are several.
pub(crate) fn print_rows(engines: &[(&str, &[Measure])]) {
    let row = |engine: &str, measure: &Measure| {
        let mut row = measure_to_json(measure);
        row["engine"] = json!(engine);
        row
    };
    let rows: Vec<_> =
        engines.iter().flat_map(|(engine, all)| all.iter().map(|measure| row(engine, measure))).collect();
    outln(&serde_json::to_string_pretty(&rows).expect("outcome rows are plain JSON"));
}

/// Prints measures of several engines beside each other, for verbs without a run folder.
pub(crate) fn print_beside(engines: &[(&str, &[Measure])], notes: &[String]) {
    let mut table =
        Grid::new(&[&["metric"], &engines.iter().map(|(engine, _)| *engine).collect::<Vec<_>>()[..]].concat());
    let names = |all: &'_ [Measure]| all.iter().map(|measure| measure.metric.clone()).collect::<Vec<String>>();
    let metrics = merged(engines.iter().map(|(_, all)| names(all)));
    for metric in &metrics {
        let cell = |all: &[Measure]| {
            let found = all.iter().find(|measure| measure.metric == *metric).map(Measure::within_range);
            found.map_or("-".into(), |measure| in_scale(&measure.estimate, &Scale::of_measure(&measure)))
        };
        table.add_row(std::iter::once(metric.clone()).chain(engines.iter().map(|(_, all)| cell(all))));
    }
    outln(&table.to_string());
    for note in notes {
        outln(&paragraph("  ", note));
    }
}

/// Lists as one, each in its own order: what only a later one has stands behind what is before it there.
fn merged(lists: impl Iterator<Item = Vec<String>>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for list in lists {
        let mut place = 0;
        for name in list {
            match all.iter().position(|of| *of == name) {
                Some(at) => place = place.max(at + 1),
                None => {
                    all.insert(place, name);
                    place += 1;
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The simulator's mean is the first row, whether a formula has one or not.
    #[test]
    fn rows_of_several_engines_have_one_order() {
        let of = |lists: &[&[&str]]| {
            merged(lists.iter().map(|list| list.iter().map(|name| (*name).to_owned()).collect())).join(" ")
        };
        let sim = ["mean", "p50", "throughput", "number"];
        assert_eq!(of(&[&["mean", "wait", "p50", "throughput"], &sim]), "mean wait p50 throughput number");
        assert_eq!(of(&[&["service", "throughput", "share"], &sim]), "mean p50 service throughput number share");
        assert_eq!(of(&[&[], &sim]), "mean p50 throughput number");
        assert_eq!(of(&[&["number", "mean"], &sim]), "number mean p50 throughput");
    }
}
