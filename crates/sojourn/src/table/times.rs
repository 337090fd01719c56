//! Response times by engine: their means, with how far engines are apart, and their tails.

use sojourn_lab::{Answers, Engine, VariantAnswers};
use sojourn_stats::Estimate;

use super::scale::{Scale, in_scale, plus_minus, titled};
use super::text::paragraph;
use super::{Grid, names};

/// What marks response times of some requests only, and what is made of them.
pub(super) const MARK_OF_FEW: &str = " *";
const OF_FEW: &str = "more than 1 % of the requests failed or were given up: response times are of those that were answered \
                      well";

/// None where no engine knows it.
pub(super) fn mean_table(answers: &Answers) -> Option<String> {
    const MEAN: &str = "response_time_mean";
    let knows = |engine: &Engine| answers.variants.iter().any(|of| of.estimate(*engine, MEAN).is_some());
    let engines: Vec<Engine> = Engine::ALL.into_iter().filter(knows).collect();
    if engines.is_empty() {
        return None;
    }
    let mut header = vec!["variant"];
    header.extend(engines.iter().map(|engine| engine.name()));
    let against = [
        (Engine::Theory, Engine::Sim, "sim - theory"),
        (Engine::Twin, Engine::Live, "live - twin"),
        (Engine::Log, Engine::Sim, "sim - log"),
    ];
    let against: Vec<_> = against.into_iter().filter(|(a, b, _)| engines.contains(a) && engines.contains(b)).collect();
    let all = answers.variants.iter().flat_map(|of| engines.iter().map(|engine| of.estimate(*engine, MEAN)));
    let (title, scale) = titled("Mean response time", Scale::common("s", all.flatten()));
    header.extend(against.iter().map(|(_, _, title)| *title));
    // The twin is in its difference from live, which is what a reader wants of it.
    let spare = ["twin", "sim - theory", "live - twin", "theory", "live"];
    let spare: Vec<usize> = spare.iter().filter_map(|name| header.iter().position(|head| head == name)).collect();
    let mut table = Grid::new(&header).spare(&spare).elsewhere("report.html");
    names::add_rows(&mut table, &names::all_variants(answers), |variant| {
        let numbers = engines.iter().map(|engine| {
            let mark = if variant.is_of_few(*engine) { MARK_OF_FEW } else { "" };
            estimate(variant, *engine, MEAN, &scale) + mark
        });
        let differences = against.iter().map(|(reference, of, _)| {
            let value = |engine: &Engine| variant.estimate(*engine, MEAN).and_then(Estimate::value);
            match (value(reference), value(of)) {
                (Some(reference), Some(of)) if reference > 0.0 => format!("{:+.1} %", (of / reference - 1.0) * 100.0),
                _ => String::new(),
            }
        });
        numbers.chain(differences).collect()
    });
    let few = answers.variants.iter().any(|of| engines.iter().any(|engine| of.is_of_few(*engine)));
    Some(format!("\n{title}\n{table}{}", if few { legend_of_few() } else { String::new() }))
}

/// None where no engine knows anything of it; of a long sweep a line that says where it stands.
pub(super) fn tail_table(answers: &Answers) -> Option<String> {
    let metric = |p: &str| format!("response_time_{p}");
    let columns: Vec<(&str, Engine)> = ["p90", "p99"]
        .into_iter()
        .flat_map(|p| Engine::ALL.map(|engine| (p, engine)))
        .filter(|(p, engine)| answers.variants.iter().any(|of| of.estimate(*engine, &metric(p)).is_some()))
        .collect();
    if columns.is_empty() {
        return None;
    }
    if answers.variants.len() > names::LONG {
        let title = format!("Tail of the response time: {} variants, in report.html", answers.variants.len());
        return Some(format!("\n{}", paragraph("", &format!("{title} and, with all percentiles, in outcomes.csv"))));
    }
    let of_variant =
        |of: &'_ VariantAnswers| columns.iter().map(|(p, engine)| of.estimate(*engine, &metric(p)).cloned()).collect();
    let all: Vec<Vec<Option<Estimate>>> = answers.variants.iter().map(of_variant).collect();
    let (title, scale) = titled("Tail of the response time", Scale::common("s", all.iter().flatten().flatten()));
    let mut header = vec!["variant".to_string()];
    header.extend(columns.iter().map(|(p, engine)| format!("{p} {engine}")));
    // Live stands beside its twin last of all.
    let spare = [
        ("p90", Engine::Theory),
        ("p99", Engine::Theory),
        ("p90", Engine::Twin),
        ("p90", Engine::Sim),
        ("p99", Engine::Sim),
        ("p90", Engine::Live),
    ];
    let place = |of: &(&str, Engine)| columns.iter().position(|column| column == of).map(|index| index + 1);
    let spare: Vec<usize> = spare.iter().filter_map(place).collect();
    let mut table = Grid::new(&header).spare(&spare).elsewhere("report.html");
    names::add_rows(&mut table, &names::all_variants(answers), |variant| {
        columns.iter().map(|(p, engine)| estimate(variant, *engine, &metric(p), &scale)).collect()
    });
    Some(format!("\n{title}\n{table}"))
}

/// What the mark of so few means, on a line of its own.
pub(super) fn legend_of_few() -> String {
    format!("\n{}", paragraph("  ", &format!("{}: {OF_FEW}", MARK_OF_FEW.trim())))
}

/// In the table's scale, or where it has none in the number's own.
fn estimate(variant: &VariantAnswers, engine: Engine, metric: &str, scale: &Option<Scale>) -> String {
    match (variant.estimate(engine, metric), scale) {
        (None, _) => "-".into(),
        (Some(estimate), Some(scale)) => in_scale(estimate, scale),
        (Some(estimate), None) => plus_minus(estimate, "s"),
    }
}
