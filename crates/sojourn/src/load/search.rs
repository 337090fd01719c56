//! `sojourn load --search 'p99 < 50 ms'`: the highest rate that holds.

use serde_json::json;
use sojourn_lab::objective::Objective;
use sojourn_lab::search::{Finding, Found, Measured, STRETCH_MOST, Search, Seen, Trial, number, search as look};
use sojourn_load::order::{Order, Tuning, span};
use sojourn_load::{LoadError, estimate};
use sojourn_stats::{Dimension, Estimate, quantity};

use super::run::{Runner, refused};
use crate::exit::{Exit, Failure, bad_input};
use crate::table;

/// What may be done about a rate that nothing could be decided at.
const UNDECIDED: &str = "What may decide it: longer runs (`--duration`, or `-n` requests), a machine with less else to do, \
                         or, where a doubt does not matter to you, its limit (`--limit`).";

/// Searches, prints what was found, and says how the program should end.
pub(crate) fn search(
    order: &Order,
    objective: &Objective,
    within: f64,
    runner: &Runner,
    as_json: bool,
) -> Result<Exit, Failure> {
    let Some(start) = order.rate().map_err(refused)? else {
        return Err(bad_input(
            "--search changes the rate: say with --rate or --arrivals where to begin, e.g. --rate '100 /s'",
        ));
    };
    if let Some(told) = too_short(order, objective, start).map_err(refused)? {
        table::errln(&format!("note: {told}"));
    }
    let mut run = |rate: f64, stretch: u32| {
        let tuning = Tuning { rate: Some(rate), stretch, ..Tuning::default() };
        let report = runner.run(&order.tuned(tuning), &format!("{} /s", number(rate)))?;
        if runner.interrupted() {
            return Ok(None);
        }
        Ok::<_, Failure>(Some(Measured::from_report(objective, &report)))
    };
    let found = look(objective, Search { start, within }, &mut run)?;
    if as_json {
        table::outln(&serde_json::to_string_pretty(&to_json(objective, &found)).expect("plain JSON"));
    } else {
        table::outln(&text(objective, &found, &order.length()));
    }
    Ok(match found {
        Found { complete: false, .. } => Exit::Interrupted,
        Found { holds: None, .. } => Exit::Missed,
        _ => Exit::Ok,
    })
}

/// That a run at the first rate (1/s) measures too few requests for the percentile that is asked for, and how long one would
/// have to be; none where it does not, or nothing is known of it.
fn too_short(order: &Order, objective: &Objective, rate: f64) -> Result<Option<String>, LoadError> {
    let needed = objective.quantile().and_then(estimate::requests_needed).map(|needed| needed as f64);
    let (Some(needed), Some(measured)) = (needed, order.measured()?) else { return Ok(None) };
    if measured >= needed {
        return Ok(None);
    }
    let enough = match order.settings.requests {
        Some(requests) => format!("-n {:.0}", requests as f64 + (needed - measured).ceil()),
        None => {
            let seconds = span("--warm-up", &order.settings.warm_up)?.as_secs_f64() + needed / rate;
            // Rounded up to two digits.
            let step = 10_f64.powf(seconds.log10().floor() - 1.0);
            format!("--duration '{}'", quantity::format((seconds / step).ceil() * step, Dimension::Time))
        }
    };
    Ok(Some(format!(
        "at {} /s a run of {} measures about {measured:.0} requests, and {} has an interval from about {needed:.0} on: \
         `{enough}` would do. A run that cannot decide is made longer, {STRETCH_MOST} times at most",
        number(rate),
        order.length(),
        objective.metric,
    )))
}

/// The trials, each on one line of 80 columns.
fn trials(objective: &Objective, found: &Found, length_asked: &str) -> table::Grid {
    // A number of requests is long enough without the word.
    let (length, asked) = match length_asked.strip_suffix(" requests") {
        Some(requests) => ("requests", requests),
        None => ("length", length_asked),
    };
    let mut rows = table::Grid::new(&["rate", objective.metric.as_str(), length, "judged"]).text(&[3]).spare(&[2]);
    for trial in &found.trials {
        let measured = match &trial.measured.estimate {
            // Why, is said below the table.
            Some(estimate @ Estimate::WithoutInterval { why, .. }) => {
                objective.measured(estimate).replace(&format!("(no interval: {})", why.words()), "(no interval)")
            }
            Some(estimate) => objective.measured(estimate),
            None => "-".into(),
        };
        let length = if trial.stretch > 1 { format!("{asked} x {}", trial.stretch) } else { asked.into() };
        // Why something is open takes more room than a row has.
        let judged = match &trial.finding {
            Finding::Open(_) => "undecided".to_owned(),
            Finding::Holds | Finding::Fails => trial.words(),
        };
        rows.add_row([format!("{} /s", number(trial.rate)), measured, length, judged]);
    }
    rows
}

fn text(objective: &Objective, found: &Found, length_asked: &str) -> String {
    let rows = trials(objective, found, length_asked);
    let stopped = if found.complete { "" } else { "interrupted; until then: " };
    let seen = Seen::of(&found.trials);
    let conclusion = seen.sentence();
    let mut lines = vec![rows.to_string()];
    let mut said: Vec<&str> = Vec::new();
    for trial in &found.trials {
        if let Finding::Open(why) = &trial.finding
            && !said.contains(&why.as_str())
        {
            said.push(why);
            lines.push(table::hanging("  ", "    ", &format!("undecided at {} /s: {why}", number(trial.rate))));
        }
    }
    // What was found to leave the objective alone is told all the same.
    for trial in found.trials.iter().filter(|trial| trial.holds() && Some(trial.rate) == found.holds) {
        let doubts = trial.measured.doubts.iter().map(|doubt| table::paragraph("    ", &doubt.text));
        lines.extend((doubts.len() > 0).then(|| format!("  it holds at {} /s in spite of this:", number(trial.rate))));
        lines.extend(doubts);
    }
    lines.push(format!("\n{}", table::paragraph("", &format!("{}: {stopped}{conclusion}", objective.text))));
    if found.complete && !seen.unknown().is_empty() {
        lines.push(table::paragraph("", UNDECIDED));
    }
    lines.join("\n")
}

fn to_json(objective: &Objective, found: &Found) -> serde_json::Value {
    let row = |trial: &Trial| {
        let estimate = trial.measured.estimate.as_ref();
        let ends = estimate.and_then(Estimate::interval);
        json!({
            "rate": trial.rate,
            "length": trial.stretch,
            "estimate": estimate.and_then(Estimate::value),
            "ci_low": ends.map(|ends| ends.0),
            "ci_high": ends.map(|ends| ends.1),
            "samples": estimate.and_then(Estimate::samples),
            "holds": trial.holds(),
            "why": trial.words(),
            "reasons": trial.measured.doubts.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    };
    let seen = Seen::of(&found.trials);
    json!({
        "objective": objective.text,
        "complete": found.complete,
        "highest_rate_that_holds": seen.highest(),
        "lowest_rate_that_does_not": seen.lowest(),
        "rates_undecided": seen.open.iter().map(|(rate, _)| rate).collect::<Vec<_>>(),
        "conclusion": seen.sentence(),
        "trials": found.trials.iter().map(row).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};
    use sojourn_lab::objective::Judgement;
    use sojourn_load::order::LoadSettings;
    use sojourn_stats::measure::NoInterval;

    use super::*;

    /// Numbers as long as they may become: rates of six digits, a percentile of five near its limit, a hundred million requests.
    #[test]
    fn a_trial_is_a_line_of_80_columns() {
        let objective = Objective::parse("p99.9 < 12300 ms").unwrap();
        let trial = |estimate: Option<Estimate>, stretch, finding| {
            let measured = Measured {
                estimate,
                lateness_s: 0.0,
                failed_by_server: 0.0,
                doubts: Vec::new(),
                bears_failures: false,
                outdone: None,
                unsettled: None,
            };
            Trial { rate: 123_456.7, stretch, measured, judgement: Judgement::Undecided, finding }
        };
        let sampled = |value, ci_low, ci_high| Some(Estimate::Sampled { value, ci_low, ci_high, samples: 1_000_000 });
        let open = || Finding::Open("the limit lies inside the interval".into());
        let bare = |why| Some(Estimate::WithoutInterval { value: 12.3456, samples: 1000, why });
        let trials = vec![
            trial(sampled(12.30031, 12.2511, 12.3502), 4, open()),
            trial(sampled(98.7654, 12.3456, 99.9876), 2, Finding::Fails),
            trial(sampled(0.0123, 0.0121, 0.0126), 1, Finding::Holds),
            trial(bare(NoInterval::TooShort), 4, open()),
            trial(bare(NoInterval::TooFew), 4, open()),
            trial(Some(Estimate::TooFew { samples: 7 }), 4, open()),
            trial(None, 4, open()),
        ];
        let found = Found { trials, ..Found::default() };
        for length in ["10 s", "1 h 30 min", "10000000 requests"] {
            let rows = super::trials(&objective, &found, length);
            let drawn = rows.at_most(80);
            assert!(drawn.lines().all(|line| line.chars().count() <= 80), "{drawn}");
            // Below the names and their line, above the frame.
            let body = drawn.lines().skip_while(|line| !line.contains('\u{2550}')).skip(1);
            let lines: Vec<&str> = body.take_while(|line| !line.contains('\u{2518}')).collect();
            assert_eq!(lines.len(), found.trials.len(), "{drawn}");
            assert!(lines.iter().all(|line| line.contains("123457 /s")), "{drawn}");
            let numbers = ["12300.3 ms (12251 to 12351 ms)", "98765 ms (12345 to 99988 ms)", "12346 ms (no interval)"];
            for part in numbers.into_iter().chain(["x 4", "does not hold", "undecided", "too few samples"]) {
                assert!(drawn.contains(part), "{part}: {drawn}");
            }
        }
    }

    /// The bracket of a search takes what is undecided for its upper end. Neither the sentence nor JSON says that it fails there.
    #[test]
    fn the_end_of_a_search_says_what_its_rows_say() {
        let objective = Objective::parse("mean < 8 ms").unwrap();
        let trial = |rate, finding| {
            let measured = Measured {
                estimate: None,
                lateness_s: 0.0,
                failed_by_server: 0.0,
                doubts: Vec::new(),
                bears_failures: false,
                outdone: None,
                unsettled: None,
            };
            Trial { rate, stretch: 1, measured, judgement: Judgement::Undecided, finding }
        };
        let trials = vec![trial(200.0, Finding::Holds), trial(400.0, Finding::Open("it was late".into()))];
        let mut found = Found { trials, holds: Some(200.0), fails: Some(400.0), complete: false };
        let told = |found: &Found| {
            let text = text(&objective, found, "10 s");
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let end = "highest rate seen to hold: 200 /s; at 400 /s it could not be decided: it was late";
        assert!(told(&found).ends_with(&format!("mean < 8 ms: interrupted; until then: {end}")), "{}", told(&found));
        found.complete = true;
        assert!(told(&found).contains(&format!("{end} What may decide it:")), "{}", told(&found));
        let json = to_json(&objective, &found);
        assert!(json["lowest_rate_that_does_not"].is_null() && json["highest_rate_that_holds"] == 200.0, "{json}");
        assert_eq!((&json["rates_undecided"], &json["conclusion"]), (&json!([400.0]), &json!(end)));
    }

    /// What is said before a search with these flags.
    fn told(objective: &str, flags: &[&str]) -> Option<String> {
        let command = LoadSettings::augment_args(Command::new("load"));
        let matches = command.try_get_matches_from([&["load"], flags].concat()).unwrap();
        let settings = LoadSettings::from_arg_matches(&matches).unwrap();
        let order = Order::new(&["http://127.0.0.1:1/".to_owned()], &settings).unwrap();
        let rate = order.rate().unwrap().unwrap();
        too_short(&order, &Objective::parse(objective).unwrap(), rate).unwrap()
    }

    /// Ten requests have to lie beyond a percentile.
    #[test]
    fn runs_too_short_for_a_percentile_are_told_before_they_begin() {
        let rate = ["--rate", "100 /s"];
        let with = |flags: &[&'static str]| [&rate[..], flags].concat();
        let said = told("p99 < 50 ms", &with(&["-d", "2s"]));
        let expected = "at 100 /s a run of 2s measures about 200 requests, and response_time_p99 has an interval from about \
                        1000 on: `--duration '10 s'` would do. A run that cannot decide is made longer, 4 times at most";
        assert_eq!(said.as_deref(), Some(expected));
        assert_eq!(told("p99 < 50 ms", &with(&["-d", "10s"])), None);
        let said = told("p99.9 < 50 ms", &with(&["-d", "10s", "--warm-up", "4s"])).unwrap();
        assert!(said.contains("about 600 requests") && said.contains("`--duration '110 s'`"), "{said}");
        let said = told("p99 < 50 ms", &with(&["-n", "400"])).unwrap();
        assert!(said.contains("a run of 400 requests") && said.contains("`-n 1000`"), "{said}");
        for objective in ["p50 < 50 ms", "mean < 50 ms", "error_ratio < 1%"] {
            assert_eq!(told(objective, &with(&["-d", "2s"])), None, "{objective}");
        }
    }
}
