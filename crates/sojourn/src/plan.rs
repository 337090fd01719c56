//! `sojourn plan FILE`.

use std::path::{Path, PathBuf};

use sojourn_lab::objective::Judgement;
use sojourn_lab::plan::advice::Traffic;
use sojourn_lab::plan::{Answered, Plan};
use sojourn_lab::{Context, Engine, Progress, Step};

use crate::exit::{Exit, Failure, failed};
use crate::experiment::{Flags, bar, failure};
use crate::run::Ran;
use crate::table::Scale;
use crate::{interrupt, table};

/// Find the cheapest system that meets the objectives
///
/// The file is an experiment with [objective] and [plan]: what may be chosen, and what each choice costs. Formulas leave
/// out what cannot do, simulation confirms with intervals what can. Also says what the bottleneck is, what relieving it buys,
/// how much the traffic may grow, and what other traffic of the same rate would do.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The experiment with a [plan], a TOML file
    file: PathBuf,
    #[command(flatten)]
    flags: Flags,
    /// Folder to write [default: runs/NAME-N]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Then run the plan live, and show it beside theory and sim
    #[arg(long)]
    live: bool,
    /// Print the plan as JSON
    #[arg(long, conflicts_with = "live")]
    json: bool,
}

pub(crate) fn plan(arguments: &Arguments) -> Result<Exit, Failure> {
    let cancel = interrupt::flag();
    let source = arguments.flags.source(&arguments.file, &[])?;
    let bar = bar(arguments.json);
    let show = |now: Step<'_>| {
        bar.set_prefix(format!("{} of at most {}", now.variant.0 + 1, now.variant.1));
        bar.set_position((now.done * 1000.0) as u64);
        bar.set_message(format!("{} {}", now.label, now.remark));
    };
    let progress = Progress::new(&cancel, &show);
    let context = arguments.flags.context(arguments.out.clone(), command(arguments), &progress)?;
    let result = sojourn_lab::plan::plan(&source, &context);
    bar.finish_and_clear();
    let (path, plan) = result.map_err(|error| failure(error, &cancel))?;
    if arguments.json {
        table::outln(&serde_json::to_string_pretty(&plan).expect("a plan is plain JSON"));
    } else {
        table::outln(&text(&plan, &path));
    }
    if let Some(unwritten) = &plan.unwritten {
        return Err(failed(unwritten));
    }
    let exit = match plan.offers.is_empty() {
        _ if plan.interrupted || plan.cut_short => Exit::Interrupted,
        true => Exit::Missed,
        false => Exit::Ok,
    };
    if !arguments.live || exit != Exit::Ok {
        // What a model in doubt meets was not seen to be met.
        return Ok(if exit == Exit::Ok && plan.doubted().is_some() { Exit::Missed } else { exit });
    }
    let source = arguments.flags.source(&arguments.file, &plan.set)?;
    let context = Context { out: Some(path.join("live")), ..context };
    let engines = [Engine::Theory, Engine::Sim, Engine::Live];
    let answered = sojourn_lab::run(&source, Some(&engines), &context);
    let Ran { path, answers, unwritten } = Ran::of(answered, &cancel)?;
    let printed = table::print(&answers, &path, false);
    unwritten.map_or(printed, |unwritten| Err(failed(unwritten)))
}

/// The command that repeats this plan.
fn command(arguments: &Arguments) -> String {
    let mut words = vec![format!("sojourn plan {}", arguments.file.display())];
    words.extend(arguments.flags.set.iter().map(|set| format!("--set '{set}'")));
    words.extend(arguments.flags.seed.iter().map(|seed| format!("--seed {seed}")));
    words.join(" ")
}

/// The plan for a terminal.
fn text(plan: &Plan, path: &Path) -> String {
    let cost = |cost: f64| format!("{cost} {}", plan.unit).trim_end().to_owned();
    let heads = |first: &[&'static str]| -> Vec<String> {
        first.iter().map(|head| (*head).to_owned()).chain(plan.objectives.iter().cloned()).collect()
    };
    let table = |head: &[String], rows: Vec<Vec<String>>| {
        let head: Vec<&str> = head.iter().map(String::as_str).collect();
        let busy = head.iter().position(|head| *head == "busy");
        let spare: Vec<usize> = busy.into_iter().collect();
        let mut table = table::Grid::new(&head).text(&spare).spare(&spare);
        for row in rows {
            table.add_row(row);
        }
        table.to_string()
    };
    let scales = scales(plan);
    let row = |first: Vec<String>, answers: &[Answered]| {
        let told = answers.iter().zip(&scales).map(|(answer, scale)| told(answer, scale.as_ref()));
        [first, told.collect()].concat()
    };
    let say = |text: String| table::paragraph("", &text);
    let mut parts = vec![say(plan.name.clone())];
    parts.push(say(plan.tally.words()));
    if plan.interrupted {
        parts.push("interrupted: something may be cheaper".into());
    } else if plan.cut_short {
        parts.push("interrupted: some of what follows the offers is missing".into());
    }
    if !plan.offers.is_empty() {
        let rows = plan.offers.iter().map(|offer| {
            let busy: Vec<String> = offer
                .simulated
                .parts
                .iter()
                .map(|part| format!("{} {:.0} %", part.name, 100.0 * part.utilization))
                .collect();
            row(vec![offer.label.clone(), cost(offer.cost), busy.join(", ")], &offer.simulated.answers)
        });
        parts.push(table(&heads(&["cheapest first", "cost", "busy"]), rows.collect()));
    }
    parts.extend(plan.decided.iter().map(|why| say(format!("No cheaper: {why}."))));
    if let Some(nearest) = &plan.nearest {
        parts.push("No candidate meets every objective. The nearest of those simulated:".into());
        let of = row(vec![nearest.label.clone(), cost(nearest.cost)], &nearest.answers);
        parts.push(table(&heads(&["candidate", "cost"]), vec![of]));
        parts.extend(nearest.answers.iter().filter_map(Answered::miss).map(|miss| say(format!("It misses {miss}."))));
        parts.extend(nearest.impossible.iter().map(|why| say(format!("None can meet {why}."))));
    } else if let Some(least) = plan.overload() {
        parts.push(say(format!(
            "No candidate can do the work that comes: the best would be at a utilisation of {least:.2}"
        )));
    }
    if !plan.reliefs.is_empty() {
        let rows = plan.reliefs.iter().map(|relief| {
            let what = format!("{} {} instead of {}", relief.key, relief.to, relief.from);
            row(vec![what, cost(relief.cost)], &relief.answers)
        });
        parts.push(table(&heads(&["more would buy", "for another"]), rows.collect()));
    }
    if let Some(growth) = plan.growth {
        parts.push(say(match growth.fails {
            Some(fails) => format!(
                "The cheapest survives {:.2} times the traffic; at {fails:.2} times an objective is missed or undecided.",
                growth.holds
            ),
            None => format!("The cheapest survives {:.2} times the traffic and more.", growth.holds),
        }));
    }
    if !plan.traffic.is_empty() {
        let rows = plan.traffic.iter().map(|traffic| row(vec![traffic.name.clone()], &traffic.answers));
        parts.push(table(&heads(&["the cheapest under"]), rows.collect()));
        parts.extend(beware(&plan.traffic).map(say));
    }
    parts.extend(plan.doubted().map(|doubted| say(format!("SUSPECT: {doubted}"))));
    parts.push(say(format!("Everything is in {0}; open {0}/report.html", path.display())));
    parts.join("\n")
}

/// What an agreement on service must not overlook; none where every objective holds under all other traffic.
fn beware(traffic: &[Traffic]) -> Option<String> {
    let open: Vec<_> = traffic.iter().flat_map(|of| &of.answers).map(|answer| answer.judgement).collect();
    let misses = open.iter().any(|of| matches!(of, Judgement::Fails | Judgement::Unknown | Judgement::NoSample));
    let undecided =
        open.iter().any(|of| matches!(of, Judgement::Undecided | Judgement::NoInterval | Judgement::TooFew));
    let what = match (misses, undecided) {
        (true, true) => "it misses or is undecided",
        (true, false) => "it misses",
        (false, true) => "it is undecided",
        (false, false) => return None,
    };
    Some(format!("Under some of this traffic {what}: an agreement on service has to hold for the worst."))
}

/// The prefix of each objective's numbers, wherever they stand.
fn scales(plan: &Plan) -> Vec<Option<Scale>> {
    let offers = plan.offers.iter().map(|offer| &offer.simulated.answers);
    let others = plan.reliefs.iter().map(|relief| &relief.answers).chain(plan.traffic.iter().map(|of| &of.answers));
    let all: Vec<&Vec<Answered>> = offers.chain(others).collect();
    let of = |objective: usize| {
        let answers = || all.iter().filter_map(move |answers| answers.get(objective));
        let unit = answers().next()?.unit.as_str();
        Scale::common(unit, answers().filter_map(|answer| answer.estimate.as_ref()))
    };
    (0..plan.objectives.len()).map(of).collect()
}

fn told(answer: &Answered, scale: Option<&Scale>) -> String {
    let number = match (&answer.estimate, scale) {
        (None, _) => "not measured".into(),
        (Some(_), _) if answer.share().is_some() => answer.share().unwrap_or_default(),
        (Some(found), Some(scale)) => table::with_interval_in(found, scale),
        (Some(found), None) => table::with_interval(found, &answer.unit),
    };
    match answer.judgement {
        Judgement::Holds => number,
        other => format!("{number} {}", other.to_string().split(':').next().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traffic_that_cannot_be_decided_is_not_said_to_miss() {
        let told = |judgements: &[Judgement]| {
            let answer = |judgement: &Judgement| Answered {
                objective: "p99 < 150 ms".into(),
                under: None,
                metric: "response_time_p99".into(),
                unit: "s".into(),
                limit: 0.15,
                estimate: None,
                judgement: *judgement,
            };
            let answers = judgements.iter().map(answer).collect();
            let holds = judgements.iter().all(|of| *of == Judgement::Holds);
            beware(&[Traffic { name: "bursty".into(), arrivals: String::new(), answers, holds }]).unwrap_or_default()
        };
        assert_eq!(told(&[Judgement::Holds]), "");
        let starts = |judgements: &[Judgement], what: &str| {
            let text = told(judgements);
            assert!(text.starts_with(&format!("Under some of this traffic {what}:")), "{text}");
        };
        starts(&[Judgement::Holds, Judgement::Undecided], "it is undecided");
        starts(&[Judgement::Fails], "it misses");
        starts(&[Judgement::Fails, Judgement::TooFew], "it misses or is undecided");
    }
}
