//! Asks every engine about every variant, and writes down what they say.
//!
//! Theory and simulation come first, for all variants, with every core to themselves; then live runs, one variant after
//! another on an otherwise idle machine, each followed by its twin: the simulation of the very requests that live sent.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use thiserror::Error;

use crate::answer::{Answer, Place};
use crate::engine;
use crate::folder::{
    Connections, Curve, Folder, ObjectiveFile, Places, Replicated, RunFile, SCHEMA, Seconds, VariantFile, Verdict,
    Writer,
};
use crate::host;
use crate::objective::Judgement;
use crate::outcome::Outcome;
use crate::spec::{Engine, SpecError};
use crate::variants::{Experiment, Variant};

/// What a run needs from outside.
pub struct Context<'a> {
    /// This program, whose children the live parts are.
    pub program: PathBuf,
    /// Where to write; none: the next free `runs/NAME-N`.
    pub out: Option<PathBuf>,
    /// Threads of the simulator.
    pub threads: usize,
    /// Set on Ctrl-C: what was measured is kept.
    pub cancel: Arc<AtomicBool>,
    /// The command that repeats the run.
    pub command: String,
    /// Told how far the run is.
    pub progress: &'a (dyn Fn(Progress<'_>) + Sync),
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Number of the variant, and of how many.
    pub variant: (usize, usize),
    /// Its name.
    pub label: &'a str,
    /// The engine at work.
    pub engine: Engine,
    /// How much of this engine's work on this variant is done, 0 to 1.
    pub done: f64,
    /// A remark, e.g. the precision reached.
    pub remark: &'a str,
}

/// Why a run failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The experiment or the output folder is not right.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// An engine failed while running.
    #[error("{engine}, {label}: {message}")]
    Engine {
        /// Which engine.
        engine: &'static str,
        /// On which variant.
        label: String,
        /// What happened.
        message: String,
    },
    /// The run folder could not be written.
    #[error("{0}")]
    Folder(#[from] io::Error),
}

/// Runs `source` by the engines it names, or by `engines`; gives the folder written and what is in it.
///
/// # Errors
/// When the experiment is wrong (nothing is written then), an engine fails, or the folder cannot be written.
pub fn run(
    source: &Experiment,
    engines: Option<&[Engine]>,
    context: &Context<'_>,
) -> Result<(PathBuf, Folder), RunError> {
    let variants = source.variants()?;
    let first = &variants[0].experiment;
    let by = engines.unwrap_or(&first.run.by).to_vec();
    for variant in &variants {
        engine::check(&variant.experiment, &by)
            .map_err(|message| SpecError(format!("{}: {}: {message}", source.file.display(), variant.label())))?;
    }
    let mut writer = Writer::create(context.out.as_deref(), &first.name)?;
    let started = host::date();
    let clock = engine::stopwatch();
    let mut answers: Vec<Vec<(Engine, Answer)>> = variants.iter().map(|_| Vec::new()).collect();
    let result = ask(&variants, &by, context, &mut writer, &mut answers);
    let interrupted = context.cancel.load(Ordering::Relaxed);
    if let Err(error) = result {
        if answers.iter().all(Vec::is_empty) {
            writer.discard();
        }
        return Err(error);
    }
    if interrupted && answers.iter().all(Vec::is_empty) {
        writer.discard();
        return Err(RunError::Engine {
            engine: "run",
            label: first.name.clone(),
            message: "interrupted before anything was measured; nothing was written".into(),
        });
    }
    let run = RunFile {
        schema: SCHEMA,
        name: first.name.clone(),
        description: first.description.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        seed: first.seed,
        spec: source.text(),
        command: context.command.clone(),
        started,
        elapsed_s: clock(),
        host: host::facts(),
        settings: variants[0].settings.iter().map(|setting| setting.key.clone()).collect(),
        variants: variants.iter().zip(&answers).map(|(variant, answers)| describe(variant, answers)).collect(),
        objectives: judge(&variants, &answers),
        verdict: Verdict::Valid,
        reasons: Vec::new(),
    };
    let mut folder = Folder { run, ..Folder::default() };
    for (index, (variant, answers)) in variants.iter().zip(answers).enumerate() {
        for (engine, answer) in answers {
            folder.outcomes.extend(Outcome::rows(&variant.settings, engine, &answer.measures));
            if !answer.curve.is_empty() {
                folder.curves.push(Curve { variant: index, engine: engine.name().into(), points: answer.curve });
            }
            if !answer.seconds.is_empty() {
                folder.seconds.push(Seconds { variant: index, engine: engine.name().into(), seconds: answer.seconds });
            }
            folder.places.extend(answer.over_time.into_iter().map(|Place { name, points }| Places {
                variant: index,
                engine: engine.name().into(),
                place: name,
                points,
            }));
            folder.replications.extend(answer.replications.into_iter().map(|(metric, values)| Replicated {
                variant: index,
                engine: engine.name().into(),
                metric,
                values,
            }));
            if !answer.connections.is_empty() {
                let (engine, points) = (engine.name().into(), answer.connections);
                folder.connections.push(Connections { variant: index, engine, points });
            }
        }
    }
    conclude(&mut folder.run, interrupted);
    writer.finish(&folder)?;
    Ok((writer.path().to_path_buf(), folder))
}

fn ask(
    variants: &[Variant],
    by: &[Engine],
    context: &Context<'_>,
    writer: &mut Writer,
    answers: &mut [Vec<(Engine, Answer)>],
) -> Result<(), RunError> {
    let rounds = [&[Engine::Theory, Engine::Sim][..], &[Engine::Live, Engine::Twin][..]];
    for round in rounds {
        for (index, variant) in variants.iter().enumerate() {
            let (mut path, mut faults) = (None, None);
            for &engine in round {
                let asked = if engine == Engine::Twin { Engine::Live } else { engine };
                // A program without a model has no twin.
                let known =
                    engine != Engine::Twin || variant.experiment.system().is_some_and(|asked| asked.is_modelled);
                if !by.contains(&asked) || !known || context.cancel.load(Ordering::Relaxed) {
                    continue;
                }
                let label = variant.label();
                let progress = |done: f64, remark: &str| {
                    let variant = (index, variants.len());
                    (context.progress)(Progress { variant, label: &label, engine, done, remark });
                };
                progress(0.0, "");
                let date = host::date();
                writer.event(&json!({"event": "asked", "variant": index, "engine": engine.name(), "date": date}));
                let conditions = engine::Conditions {
                    program: &context.program,
                    folder: writer.path(),
                    index,
                    threads: context.threads,
                    cancel: &context.cancel,
                    path,
                    faults: faults.as_deref(),
                    progress: &progress,
                };
                let mut answer = engine::ask(engine, &variant.experiment, &conditions)
                    .map_err(|message| RunError::Engine { engine: engine.name(), label: label.clone(), message })?;
                path = path.or(answer.path);
                faults = faults.or(answer.faults.take());
                progress(1.0, "");
                for event in &answer.events {
                    writer.event(event);
                }
                let (date, notes) = (host::date(), &answer.notes);
                writer.event(&json!({
                    "event": "answered", "variant": index, "engine": engine.name(), "date": date, "notes": notes,
                }));
                // An engine that was stopped before it measured anything has no row, not an empty one.
                let stopped = context.cancel.load(Ordering::Relaxed) && answer.measures.is_empty();
                if !stopped {
                    answers[index].push((engine, answer));
                }
            }
        }
    }
    Ok(())
}

fn describe(variant: &Variant, answers: &[(Engine, Answer)]) -> VariantFile {
    let notes = answers
        .iter()
        .flat_map(|(engine, answer)| answer.notes.iter().map(|note| (engine.name().into(), note.clone())));
    VariantFile {
        label: variant.label(),
        settings: variant.settings.iter().map(|s| (s.key.clone(), s.value.clone())).collect(),
        notes: notes.collect(),
        live: answers.iter().find_map(|(_, answer)| answer.live.clone()),
    }
}

fn judge(variants: &[Variant], answers: &[Vec<(Engine, Answer)>]) -> Vec<ObjectiveFile> {
    let mut objectives = Vec::new();
    for (index, (variant, answers)) in variants.iter().zip(answers).enumerate() {
        for objective in &variant.experiment.objectives {
            for (engine, answer) in answers {
                let measure = answer.measures.iter().find(|measure| measure.metric == objective.metric);
                let judgement = measure.map(|measure| objective.judge(&measure.estimate));
                objectives.push(ObjectiveFile {
                    text: objective.text.clone(),
                    variant: index,
                    engine: engine.name().into(),
                    met: match judgement {
                        Some(Judgement::Holds) => Some(true),
                        Some(Judgement::Fails) => Some(false),
                        _ => None,
                    },
                    undecided: matches!(judgement, Some(Judgement::Undecided | Judgement::NoInterval)),
                });
            }
        }
    }
    objectives
}

/// The run is as good as its worst live run.
fn conclude(run: &mut RunFile, interrupted: bool) {
    for variant in &run.variants {
        let Some(live) = &variant.live else { continue };
        run.verdict = run.verdict.max(live.verdict);
        run.reasons.extend(live.reasons.iter().map(|reason| format!("{}: {reason}", variant.label)));
    }
    if interrupted {
        run.verdict = Verdict::Incomplete;
        run.reasons.push("interrupted: what was measured until then is kept".into());
    }
}

impl RunFile {
    /// Whether at least one variant was seen to meet every objective, by each engine that has a number; true without
    /// objectives.
    pub fn objectives_met(&self) -> bool {
        let fails = |variant: usize| {
            self.objectives.iter().any(|o| o.variant == variant && (o.met == Some(false) || o.undecided))
        };
        self.objectives.is_empty() || (0..self.variants.len()).any(|variant| !fails(variant))
    }
}
