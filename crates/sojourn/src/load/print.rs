//! What a run measured, for people and for programs.

use serde_json::{Value, json};
use sojourn_lab::objective::Objective;
use sojourn_lab::report::load::headline;
use sojourn_lab::search::{Judged, judge};
use sojourn_load::agents::AgentClock;
use sojourn_load::records::Recorded;
use sojourn_load::{Connections, Counts, Passes, Proof, Report};

use crate::exit::Exit;
use crate::table;

/// Prints a report with what it says about `objectives`, and says how the program should end.
pub(crate) fn report(report: &Report, objectives: &[Objective], clocks: &[AgentClock], as_json: bool) -> Exit {
    let judged: Vec<(&Objective, Judged)> = objectives.iter().map(|o| (o, judge(o, report))).collect();
    if as_json {
        let mut told = to_json(report);
        if !objectives.is_empty() {
            let rows = judged.iter().map(|(objective, judgement)| {
                let measured = measured_words(objective, report);
                json!({"objective": objective.text, "met": judgement.is_met, "why": judgement.words, "measured": measured})
            });
            told["objectives"] = rows.collect();
        }
        if !clocks.is_empty() {
            let clock = |clock: &AgentClock| {
                let (ahead, within) = (clock.offset_ns as f64 * 1e-9, clock.within_ns as f64 * 1e-9);
                json!({"name": clock.name, "clock_ahead_s": ahead, "within_s": within})
            };
            told["clients"] = clocks.iter().map(clock).collect();
        }
        table::outln(&serde_json::to_string_pretty(&told).expect("a report is plain JSON"));
    } else {
        for_people(report);
        for clock in clocks {
            let (ahead, within) = (clock.offset_ns as f64 * 1e-9, clock.within_ns as f64 * 1e-9);
            let (ahead, within) = (table::quantity(ahead, "s"), table::quantity(within, "s"));
            let text = format!("{}: clock ahead by {ahead}, known within {within}", clock.name);
            table::outln(&table::hanging("  ", "    ", &text));
        }
        if !objectives.is_empty() {
            table::outln(&objectives_table(report, &judged));
        }
        let (verdict, reasons) = verdict(report);
        table::outln(&format!("\n{verdict}"));
        reasons.iter().for_each(|reason| table::outln(&table::hanging("  ", "    ", reason)));
    }
    let missed = judged.iter().any(|(_, judgement)| !judgement.is_met);
    let unwritten = report.record_files.iter().any(|file| file.error.is_some());
    let worst = if unwritten {
        Exit::Failed
    } else if missed {
        Exit::Missed
    } else {
        Exit::Ok
    };
    exit(report).max(worst)
}

/// How the program should end after this run.
pub(crate) fn exit(report: &Report) -> Exit {
    match report.verdict {
        Proof::Valid => Exit::Ok,
        Proof::Suspect(_) => Exit::Missed,
        Proof::Incomplete(_) => Exit::Interrupted,
    }
}

/// The verdict in a word, and its reasons.
pub(crate) fn verdict(report: &Report) -> (&'static str, Vec<String>) {
    let word = match &report.verdict {
        Proof::Valid => "VALID",
        Proof::Suspect(_) => "SUSPECT",
        Proof::Incomplete(_) => "INCOMPLETE",
    };
    (word, report.verdict.reasons())
}

/// What to know of its numbers beside the verdict, which is about the generator.
pub(crate) fn remarks(report: &Report) -> Vec<String> {
    report.unsettled.iter().map(ToString::to_string).collect()
}

/// The same in words, behind the number that decides it.
pub(crate) fn judge_in_words(objective: &Objective, report: &Report) -> String {
    format!("{}: {}", measured_words(objective, report), judge(objective, report).words)
}

/// A report as an object of rows, facts and counts.
pub(crate) fn to_json(report: &Report) -> Value {
    let (verdict, reasons) = verdict(report);
    let rows: Vec<_> = report.measures.iter().map(sojourn_lab::outcome::measure_to_json).collect();
    let facts: serde_json::Map<_, _> =
        sojourn_lab::load_facts(report).into_iter().map(|(k, v)| (k, json!(v))).collect();
    let mut told = json!({
        "verdict": verdict,
        "reasons": reasons,
        "remarks": remarks(report),
        "outcomes": rows,
        "facts": facts,
        "counts": report.counts,
        "connections": report.connections,
        "bytes": report.bytes,
        "failed_statuses": report.failed_statuses,
        "after_failures": sojourn_lab::after_failures(report),
        "started_at_ns": report.started_at_ns,
        "seconds": report.seconds,
    });
    if !report.record_files.is_empty() {
        told["records"] = json!(report.record_files);
    }
    if let Some(objects) = &report.objects {
        told["objects"] = json!(objects.counts);
    }
    if let Some(passes) = &report.passes {
        told["passes"] = json!(passes);
    }
    told
}

fn for_people(report: &Report) {
    table::outln(&table::paragraph("", &headline(report).replace('\u{a0}', " ")));
    remarks(report).iter().for_each(|remark| table::outln(&table::paragraph("", remark)));
    if report.counts.wrong() > 0 {
        table::outln(&table::paragraph("", &failures(report)));
    }
    if let Some(passes) = &report.passes {
        table::outln(&steps(passes));
    }
    table::print_measures(&report.measures, &[]);
    for (name, value) in sojourn_lab::load_facts(report) {
        table::outln(&table::hanging("  ", "    ", &format!("{name}: {value}")));
    }
    for Recorded { path, written, lost, error } in &report.record_files {
        let path = path.display();
        let what = match error {
            Some(error) => format!("none, {error}"),
            None if *lost > 0 => format!("{written} in {path}; {lost} LOST, the disk could not follow"),
            None => format!("{written} in {path}"),
        };
        table::outln(&table::hanging("  records: ", "    ", &what));
    }
    let Connections { resolutions, failed_over, returned, .. } = report.connections;
    if resolutions > 0 {
        let further = if failed_over == 1 { "1 connection" } else { &format!("{failed_over} connections") };
        let what = format!("asked for {resolutions} times; {further} at a further address of the answer");
        table::outln(&table::hanging("  names: ", "    ", &what));
    }
    if returned > 0 {
        let what = format!("led {returned} times to a server that took no connection; these came back");
        table::outln(&table::hanging("  redirects: ", "    ", &what));
    }
    if let Some(objects) = &report.objects {
        let Counts { planned, ok, unfinished, .. } = objects.counts;
        let failed = planned - ok - unfinished;
        let pages = format!("{planned} ({failed} failed, {unfinished} unfinished)");
        table::outln(&table::hanging("  pages with all their files: ", "    ", &pages));
        let Connections { opened, reused, closed_by_server, .. } = report.connections;
        let connections = format!("{opened} opened, reused {reused} times, {closed_by_server} closed by the server");
        table::outln(&table::hanging("  connections: ", "    ", &connections));
    }
}

/// The steps of the scenarios, and below each what of it did not come out.
fn steps(passes: &Passes) -> String {
    let Passes { whole, failed, unfinished, steps } = passes;
    let mut rows = table::Grid::new(&["step", "good", "failed", "mean", "p95"]);
    let time = |time_s: Option<f64>| time_s.map_or("-".into(), |time_s| table::quantity(time_s, "s"));
    for step in steps {
        let (mean, p95) = (time(step.response_time_mean_s), time(step.response_time_p95_s));
        rows.add_row([step.name.clone(), step.ok.to_string(), step.failed.to_string(), mean, p95]);
    }
    let mut text = format!("passes: {whole} whole, {failed} failed, {unfinished} cut short by the end\n{rows}\n");
    for step in steps {
        for (fault, count) in &step.faults {
            text += &table::paragraph("", &format!("{}, {count} times failed: {fault}", step.name));
            text += "\n";
        }
    }
    text
}

/// What failed and with which status, which everything below is without.
fn failures(report: &Report) -> String {
    let statuses: Vec<String> =
        report.failed_statuses.iter().map(|(status, count)| format!("{count} times status {status}")).collect();
    let statuses = if statuses.is_empty() { String::new() } else { format!(" ({})", statuses.join(", ")) };
    let when = report.when_failed().map_or(String::new(), |when| format!("; they failed {when}"));
    let after = sojourn_lab::after_failures(report).map_or(String::new(), |after| format!("; {after}"));
    format!("{}{statuses}{when}{after}", report.counts.trouble())
}

/// What `report` measured of the metric of `objective`, as of all requests, in the unit of its limit.
pub(crate) fn measured_words(objective: &Objective, report: &Report) -> String {
    let measured = objective.measured_of_all(&report.measures, &report.response_time_cdf);
    if measured.is_empty() { "-".into() } else { measured }
}

fn objectives_table(report: &Report, judged: &[(&Objective, Judged)]) -> String {
    // A number of all requests has words with it, which may take several lines.
    let has_words = |objective: &Objective| {
        let of_answers = objective.measured_among(&report.measures);
        !of_answers.is_empty() && measured_words(objective, report) != of_answers
    };
    let text: &[usize] = if judged.iter().any(|(objective, _)| has_words(objective)) { &[1, 2] } else { &[2] };
    let mut rows = table::Grid::new(&["objective", "measured", "judged"]).text(text).spare(&[]);
    for (objective, judgement) in judged {
        rows.add_row([objective.text.clone(), measured_words(objective, report), judgement.words.clone()]);
    }
    rows.to_string()
}
