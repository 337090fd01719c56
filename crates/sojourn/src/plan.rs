//! `sojourn plan FILE`.

mod columns;

use std::path::{Path, PathBuf};

use sojourn_lab::objective::Judgement;
use sojourn_lab::plan::advice::Traffic;
use sojourn_lab::plan::{Answered, Offer, Plan};
use sojourn_lab::{Context, Engine, Progress, Step};

use self::columns::{Column, tables};
use crate::exit::{Exit, Failure, failed};
use crate::experiment::{Flags, bar, failure};
use crate::run::Ran;
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
    // The unit stands in the heading: a table of several objectives has no room for it in each row.
    let cost_head = |what: &str| match plan.unit.as_str() {
        "" => what.to_owned(),
        unit => format!("{what} ({unit})"),
    };
    // Whatever sums of decimal fractions leave behind the sixth digit is no cost.
    let cost = |cost: f64| ((cost * 1e6).round() / 1e6).to_string();
    let with_objectives = |first: Vec<Column>, answers: &[&[Answered]]| {
        let of = |(place, objective): (usize, &String)| {
            let cells = answers.iter().map(|of| of.get(place).map_or(String::new(), told)).collect();
            // A number of all requests has words with it, which may take several lines.
            let has_words = answers.iter().any(|of| of.get(place).is_some_and(|answer| answer.of_all.is_some()));
            if has_words { Column::of_text(objective, cells) } else { Column::of_numbers(objective, cells) }
        };
        let all: Vec<Column> = first.into_iter().chain(plan.objectives.iter().enumerate().map(of)).collect();
        tables(&all, table::width())
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
        let busy = |offer: &Offer| -> String {
            let parts = offer.simulated.parts.iter();
            parts.map(|part| format!("{} {:.0} %", part.name, 100.0 * part.utilization)).collect::<Vec<_>>().join(", ")
        };
        let first = vec![
            Column::of_text("cheapest first", plan.offers.iter().map(|offer| offer.label.clone()).collect()),
            Column::of_numbers(&cost_head("cost"), plan.offers.iter().map(|offer| cost(offer.cost)).collect()),
            Column::of_text("busy", plan.offers.iter().map(busy).collect()),
        ];
        let answers: Vec<&[Answered]> = plan.offers.iter().map(|offer| &offer.simulated.answers[..]).collect();
        parts.extend(with_objectives(first, &answers));
    }
    parts.extend(plan.left_out().map(|why| say(format!("{why}."))));
    parts.extend(plan.decided.iter().map(|why| say(format!("No cheaper: {why}."))));
    if let Some(nearest) = &plan.nearest {
        parts.push(format!("{}. The nearest of those simulated:", plan.none_meets()));
        let first = vec![
            Column::of_text("candidate", vec![nearest.label.clone()]),
            Column::of_numbers(&cost_head("cost"), vec![cost(nearest.cost)]),
        ];
        parts.extend(with_objectives(first, &[&nearest.answers[..]]));
        parts.extend(nearest.answers.iter().filter_map(Answered::misses).map(|misses| say(format!("It {misses}."))));
        parts.extend(nearest.impossible.iter().map(|why| say(format!("None can meet {why}."))));
        parts.extend(nearest.hint.iter().map(|hint| say(format!("{hint}."))));
    } else if let Some(why) = plan.no_candidate() {
        parts.push(say(format!("{why}.")));
    }
    if !plan.reliefs.is_empty() {
        let what = plan.reliefs.iter().map(|of| format!("{} {} instead of {}", of.key, of.to, of.from));
        let first = vec![
            Column::of_text("more would buy", what.collect()),
            Column::of_numbers(&cost_head("for another"), plan.reliefs.iter().map(|of| cost(of.cost)).collect()),
        ];
        let answers: Vec<&[Answered]> = plan.reliefs.iter().map(|relief| &relief.answers[..]).collect();
        parts.extend(with_objectives(first, &answers));
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
        let names = plan.traffic.iter().map(|traffic| traffic.name.clone()).collect();
        let answers: Vec<&[Answered]> = plan.traffic.iter().map(|traffic| &traffic.answers[..]).collect();
        parts.extend(with_objectives(vec![Column::of_text("the cheapest under", names)], &answers));
        parts.extend(beware(&plan.traffic).map(say));
    }
    parts.extend(plan.doubted().map(|doubted| say(format!("SUSPECT: {doubted}"))));
    parts.push(say(format!("Everything is in {0}; open {0}/report.html", path.display())));
    parts.join("\n")
}

/// What an agreement on service must not overlook; none where every objective holds under all other traffic.
fn beware(traffic: &[Traffic]) -> Option<String> {
    use Judgement::{Fails, NoInterval, NoSample, NotRecovered, RecoveryUntold, TooFew, Undecided, Unknown};
    let open: Vec<_> = traffic.iter().flat_map(|of| &of.answers).map(|answer| answer.judgement).collect();
    let misses = open.iter().any(|of| matches!(of, Fails | Unknown | NoSample | NotRecovered));
    let undecided = open.iter().any(|of| matches!(of, Undecided | NoInterval | TooFew | RecoveryUntold));
    let what = match (misses, undecided) {
        (true, true) => "it misses or is undecided",
        (true, false) => "it misses",
        (false, true) => "it is undecided",
        (false, false) => return None,
    };
    Some(format!("Under some of this traffic {what}: an agreement on service has to hold for the worst."))
}

/// What was found of an objective, in the unit of its limit, and what came of it where it does not hold.
fn told(answer: &Answered) -> String {
    let number = answer.measured().unwrap_or_else(|| "not measured".into());
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
                reason: String::new(),
                times_outdone: None,
                of_all: None,
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
        starts(&[Judgement::Holds, Judgement::NotRecovered], "it misses");
        starts(&[Judgement::Holds, Judgement::RecoveryUntold], "it is undecided");
    }
}
