//! A report from what a run folder holds.

use sojourn_load::Limits;

use super::{ENGINES, Engine, EngineAnswer, Objective, Report, Variant, Verdict};
use crate::folder::{self, Folder, LiveFile, RunFile};

impl Report {
    /// The report of a run folder.
    pub fn new(folder: &Folder) -> Report {
        let run = &folder.run;
        let objectives = run.objectives.iter().filter_map(|o| {
            let variant = run.variants.get(o.variant)?.label.clone();
            Some(Objective {
                text: o.text.clone(),
                variant,
                engine: from_name(&o.engine)?,
                met: o.met,
                undecided: o.undecided,
            })
        });
        Report {
            name: run.name.clone(),
            question: run.description.clone(),
            seed: run.seed,
            version: run.version.clone(),
            when: format!("{}, took {}", run.started, duration(run.elapsed_s)),
            verdict: own_verdict(run),
            host: run.host.clone(),
            spec: run.spec.clone(),
            varied: run.settings.clone(),
            variants: (0..run.variants.len()).map(|index| variant(folder, index)).collect(),
            objectives: objectives.collect(),
            commands: vec![run.command.clone()],
        }
    }
}

fn variant(folder: &Folder, index: usize) -> Variant {
    let file = &folder.run.variants[index];
    let engines = ENGINES.into_iter().filter_map(|engine| {
        let name = engine.name();
        let live = file.live.as_ref().filter(|_| engine == Engine::Live);
        let curve = folder.curves.iter().find(|curve| curve.variant == index && curve.engine == name);
        let seconds = folder.seconds.iter().find(|of| of.variant == index && of.engine == name);
        let answer = EngineAnswer {
            engine,
            measures: folder.rows(index, name).map(|row| row.measure.clone()).collect(),
            cdf: curve.map_or_else(Vec::new, |curve| curve.points.clone()),
            notes: file.notes.iter().filter(|(of, _)| of == name).map(|(_, note)| note.clone()).collect(),
            verdict: live.map(live_verdict),
            validity: live.map_or_else(Vec::new, |live| live.facts.clone()),
            seconds: seconds.map_or_else(Vec::new, |of| of.seconds.clone()),
            limits: live.map_or_else(Limits::default, |live| live.limits),
            incidents: live.map_or_else(Vec::new, |live| live.incidents.clone()),
            places: folder
                .places
                .iter()
                .filter(|of| of.variant == index && of.engine == name)
                .map(|of| (of.place.clone(), of.points.clone()))
                .collect(),
        };
        let asked = !answer.measures.is_empty() || !answer.notes.is_empty() || answer.verdict.is_some();
        asked.then_some(answer)
    });
    Variant { label: file.label.clone(), settings: file.settings.clone(), engines: engines.collect() }
}

fn from_name(name: &str) -> Option<Engine> {
    ENGINES.into_iter().find(|engine| engine.name() == name)
}

fn live_verdict(live: &LiveFile) -> Verdict {
    with_reasons(live.verdict, live.reasons.clone())
}

/// The run's verdict without what its live runs say themselves.
fn own_verdict(run: &RunFile) -> Verdict {
    let of_live = |reason: &String| {
        run.variants.iter().any(|variant| {
            let said = variant.live.iter().flat_map(|live| &live.reasons);
            said.into_iter().any(|own| *reason == format!("{}: {own}", variant.label))
        })
    };
    let own: Vec<String> = run.reasons.iter().filter(|reason| !of_live(reason)).cloned().collect();
    if own.is_empty() { Verdict::Valid } else { with_reasons(run.verdict, own) }
}

fn with_reasons(verdict: folder::Verdict, reasons: Vec<String>) -> Verdict {
    match verdict {
        folder::Verdict::Valid => Verdict::Valid,
        folder::Verdict::Suspect => Verdict::Suspect(reasons),
        folder::Verdict::Incomplete => Verdict::Incomplete(reasons.join("; ")),
    }
}

fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match (whole / 60, whole % 60) {
        (0, _) => format!("{seconds:.1} s"),
        (minutes, rest) => format!("{minutes} min {rest} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::{Curve, VariantFile};

    fn folder() -> Folder {
        let live = |verdict, reasons: &[&str]| LiveFile {
            verdict,
            reasons: reasons.iter().map(|r| (*r).to_owned()).collect(),
            facts: vec![("requests".to_owned(), "5603".to_owned())],
            limits: Limits::default(),
            incidents: Vec::new(),
        };
        let variant = |label: &str, live| VariantFile {
            label: label.to_owned(),
            settings: vec![("policy".to_owned(), label.to_owned())],
            notes: vec![("theory".to_owned(), "no formula".to_owned())],
            live: Some(live),
        };
        let run = RunFile {
            schema: folder::SCHEMA,
            name: "n".to_owned(),
            description: None,
            version: "0.1.0".to_owned(),
            seed: 1,
            spec: String::new(),
            command: "sojourn run n.toml".to_owned(),
            started: "2026-11-20T12:00:00Z".to_owned(),
            elapsed_s: 83.2,
            host: Vec::new(),
            settings: vec!["policy".to_owned()],
            variants: vec![
                variant("a", live(folder::Verdict::Valid, &[])),
                variant("b", live(folder::Verdict::Suspect, &["late"])),
            ],
            objectives: Vec::new(),
            verdict: folder::Verdict::Suspect,
            reasons: vec!["b: late".to_owned()],
        };
        let curves = vec![Curve { variant: 1, engine: "live".to_owned(), points: vec![(0.1, 0.5), (0.2, 1.0)] }];
        Folder { run, curves, ..Folder::default() }
    }

    #[test]
    fn engines_that_said_anything_are_in_the_report() {
        let report = Report::new(&folder());
        let engines: Vec<Engine> = report.variants[1].engines.iter().map(|answer| answer.engine).collect();
        assert_eq!(engines, [Engine::Theory, Engine::Live]);
        assert!(report.variants[0].answer(Engine::Live).unwrap().cdf.is_empty());
        assert_eq!(report.variants[1].answer(Engine::Live).unwrap().cdf.len(), 2);
        assert!(report.when.ends_with("took 1 min 23 s"), "{}", report.when);
    }

    #[test]
    fn a_live_run_gives_its_reasons_once() {
        let mut folder = folder();
        let report = Report::new(&folder);
        assert_eq!(report.verdict, Verdict::Valid, "the live run says it itself");
        assert_eq!(report.variants[1].engines[1].verdict, Some(Verdict::Suspect(vec!["late".to_owned()])));
        folder.run.verdict = folder::Verdict::Incomplete;
        folder.run.reasons.push("interrupted".to_owned());
        assert_eq!(Report::new(&folder).verdict, Verdict::Incomplete("interrupted".to_owned()));
    }
}
