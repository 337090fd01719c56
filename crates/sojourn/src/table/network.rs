//! What is known of a network of queues: a row for each chain and station.

use sojourn_lab::{Answers, Engine, VariantAnswers};

use super::Grid;
use super::scale::plus_minus;

/// More lines than this are not read on a terminal; the report and `outcomes.csv` have them.
const NETWORK_LINES: usize = 40;

/// What is known of each chain and station of a network; none of any other system.
pub(super) fn network_table(answers: &Answers) -> Option<String> {
    let named = |prefix: &str| {
        let mut names: Vec<&str> = Vec::new();
        for name in answers.rows().filter_map(|(_, _, measure)| measure.metric.strip_prefix(prefix)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    };
    let stations = named("queue_length_mean_");
    let chains = named("throughput_").into_iter().filter(|name| !stations.contains(name));
    let names: Vec<&str> = chains.chain(stations.iter().copied()).collect();
    if stations.is_empty() || names.len() * answers.variants.len() > NETWORK_LINES {
        return None;
    }
    let shown = [
        ("response_time_mean", "response time", "s"),
        ("throughput", "throughput", "1/s"),
        ("utilization", "utilization", "1"),
        ("hit_ratio", "hit ratio", "1"),
    ];
    let cell = |variant: &VariantAnswers, (metric, name): (&str, &str), unit: &str, engine| {
        variant.estimate(engine, &format!("{metric}_{name}")).map(|estimate| plus_minus(estimate, unit))
    };
    let columns: Vec<_> = shown
        .into_iter()
        .flat_map(|(metric, title, unit)| [Engine::Theory, Engine::Sim].map(|engine| (metric, title, unit, engine)))
        .filter(|(metric, _, unit, engine)| {
            let known = |variant: &VariantAnswers| {
                names.iter().any(|name| cell(variant, (*metric, *name), unit, *engine).is_some())
            };
            answers.variants.iter().any(known)
        })
        .collect();
    let mut header = vec!["of".to_string()];
    header.extend(columns.iter().map(|(_, title, _, engine)| format!("{title} ({engine})")));
    let of_variant = |variant: &VariantAnswers| {
        let mut table = Grid::new(&header).elsewhere("report.html");
        for name in &names {
            let cells = columns.iter().map(|(metric, _, unit, engine)| {
                cell(variant, (*metric, *name), unit, *engine).unwrap_or_else(|| "-".into())
            });
            table.add_row([(*name).to_owned()].into_iter().chain(cells));
        }
        if answers.variants.len() == 1 { table.to_string() } else { format!("{}\n{table}", variant.label) }
    };
    let tables: Vec<String> = answers.variants.iter().map(of_variant).collect();
    Some(tables.join("\n"))
}
