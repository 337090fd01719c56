//! Asks every engine about every variant.
//!
//! Theory and simulation come first, for all variants, with every core to themselves; then live runs, one variant after
//! another on an otherwise idle machine, each followed by its twin: the simulation of the very requests that live sent.
//! [`Experiment::ask`] hands the answers over in memory; [`run`] does the same beside a run folder, in which live parts
//! record while they run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use sojourn_traffic::Workload;
use thiserror::Error;

use crate::answer::{Answer, Answers, Traces, VariantAnswers, Verdict};
use crate::engine;
use crate::exact::missed;
use crate::folder::{SCHEMA, Unwritten, Writer};
use crate::host;
use crate::judged::Judge;
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
    /// The command that repeats the run.
    pub command: String,
    /// Who may stop it, and is shown how far it is.
    pub progress: &'a Progress<'a>,
}

/// Who is shown how far a run is, and may stop it.
pub struct Progress<'a> {
    cancel: Arc<AtomicBool>,
    show: &'a (dyn Fn(Step<'_>) + Sync),
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
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

impl Progress<'static> {
    /// Nothing is shown, and the run goes on to its end.
    pub fn none() -> Progress<'static> {
        Progress { cancel: Arc::default(), show: &|_| {} }
    }
}

impl<'a> Progress<'a> {
    /// `show` is called as the run goes on, from any thread; when `cancel` is set, the run ends soon and keeps what it
    /// has.
    pub fn new(cancel: &Arc<AtomicBool>, show: &'a (dyn Fn(Step<'_>) + Sync)) -> Progress<'a> {
        Progress { cancel: Arc::clone(cancel), show }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    pub(crate) fn cancel(&self) -> &Arc<AtomicBool> {
        &self.cancel
    }

    pub(crate) fn show(&self, step: Step<'_>) {
        (self.show)(step);
    }
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
    /// It was stopped too early to have anything to say.
    #[error("run, {0}: interrupted before anything was measured; nothing was written")]
    Interrupted(String),
    /// The run is over, but not all of its folder could be written.
    #[error("{unwritten}")]
    Unwritten {
        /// What could not, and what could.
        unwritten: Unwritten,
        /// What the run has found.
        answers: Box<Answers>,
    },
}

impl Experiment {
    /// Asks `engines` about every variant, in this process, and hands over what they say. The same seed gives the same
    /// answers, on any number of cores. Once `progress` is cancelled it comes to its end soon, with what there is until
    /// then and the verdict [`Verdict::Incomplete`].
    ///
    /// # Errors
    /// When the experiment is wrong, an engine fails, or it was cancelled before there was any answer; and with
    /// [`Engine::Live`], whose parts are children of the command line's program: that is what [`run`] is for.
    pub fn ask(&self, engines: impl AsRef<[Engine]>, progress: &Progress<'_>) -> Result<Answers, RunError> {
        let by = engines.as_ref();
        if by.iter().any(|engine| matches!(engine, Engine::Live | Engine::Twin)) {
            let why = "live starts children of the program: ask it with `sojourn run`, and leave it out here";
            return Err(SpecError(format!("{}: {why}", self.file.display())).into());
        }
        let threads = self.threads();
        let surroundings = Surroundings { program: Path::new(""), folder: Path::new(""), threads, progress };
        let mut inquiry = Inquiry::new(self, by)?;
        inquiry.ask(&surroundings, &mut |_| {})?;
        Ok(Answers { command: self.command(by), ..inquiry.answers })
    }
}

/// Asks about `experiment` by the engines that it names, or by `engines`; gives the folder written and what is in it.
///
/// # Errors
/// When the experiment is wrong (nothing is written then), an engine fails, or the folder cannot be written.
pub fn run(
    experiment: &Experiment,
    engines: Option<&[Engine]>,
    context: &Context<'_>,
) -> Result<(PathBuf, Answers), RunError> {
    let variants = experiment.variants()?;
    let by = engines.unwrap_or(&variants[0].experiment.run.by).to_vec();
    let mut inquiry = Inquiry::of_variants(experiment, variants, &by)?;
    let mut writer = Writer::create(context.out.as_deref(), &inquiry.answers.name)?;
    let path = writer.path().to_path_buf();
    let Context { program, threads, progress, .. } = context;
    let surroundings = Surroundings { program, folder: &path, threads: *threads, progress };
    if let Err(error) = inquiry.ask(&surroundings, &mut |event| writer.event(event)) {
        if inquiry.answers.all().next().is_none() {
            writer.discard();
        }
        return Err(error);
    }
    let answers = Answers { command: context.command.clone(), ..inquiry.answers };
    match writer.finish(&answers) {
        Ok(()) => Ok((path, answers)),
        Err(unwritten) => Err(RunError::Unwritten { unwritten, answers: Box::new(answers) }),
    }
}

/// Where engines are asked.
struct Surroundings<'a> {
    /// See [`Context::program`].
    program: &'a Path,
    /// Where live parts record.
    folder: &'a Path,
    threads: usize,
    progress: &'a Progress<'a>,
}

/// What is asked of which engines, and what is answered so far.
struct Inquiry {
    variants: Vec<Variant>,
    by: Vec<Engine>,
    answers: Answers,
}

impl Inquiry {
    fn new(experiment: &Experiment, by: &[Engine]) -> Result<Inquiry, SpecError> {
        Inquiry::of_variants(experiment, experiment.variants()?, by)
    }

    /// Refuses, before anything starts, what an engine cannot do.
    fn of_variants(experiment: &Experiment, variants: Vec<Variant>, by: &[Engine]) -> Result<Inquiry, SpecError> {
        for variant in &variants {
            engine::check(&variant.experiment, by).map_err(|message| {
                SpecError(format!("{}: {}: {message}", experiment.file.display(), variant.label()))
            })?;
        }
        let first = &variants[0].experiment;
        let unanswered = |variant: &Variant| VariantAnswers {
            label: variant.label(),
            settings: variant.settings.iter().map(|s| (s.key.clone(), s.value.clone())).collect(),
            answers: Vec::new(),
        };
        let answers = Answers {
            schema: SCHEMA,
            name: first.name.clone(),
            description: first.description.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            seed: first.seed,
            spec: experiment.text(),
            settings: variants[0].settings.iter().map(|setting| setting.key.clone()).collect(),
            variants: variants.iter().map(unanswered).collect(),
            host: host::facts(),
            ..Answers::default()
        };
        Ok(Inquiry { variants, by: by.to_vec(), answers })
    }

    /// Asks everything, until it is cancelled; each event is handed to `log` as it happens.
    fn ask(&mut self, surroundings: &Surroundings<'_>, log: &mut dyn FnMut(&Value)) -> Result<(), RunError> {
        self.answers.started = host::date();
        let clock = engine::stopwatch();
        let rounds = [&[Engine::Theory, Engine::Sim, Engine::Log][..], &[Engine::Live, Engine::Twin][..]];
        for round in rounds {
            for index in 0..self.variants.len() {
                self.ask_about(index, round, surroundings, log)?;
            }
        }
        let interrupted = surroundings.progress.is_cancelled();
        if interrupted && self.answers.all().next().is_none() {
            return Err(RunError::Interrupted(self.answers.name.clone()));
        }
        self.answers.elapsed_s = clock();
        self.conclude(interrupted);
        Ok(())
    }

    fn ask_about(
        &mut self,
        index: usize,
        round: &[Engine],
        surroundings: &Surroundings<'_>,
        log: &mut dyn FnMut(&Value),
    ) -> Result<(), RunError> {
        let variant = &self.variants[index];
        let count = self.variants.len();
        let (mut path, mut faults) = (None, None);
        for &engine in round {
            let asked = match engine {
                Engine::Twin => Engine::Live,
                // What happened stands beside what would happen.
                Engine::Log => Engine::Sim,
                engine => engine,
            };
            let system = variant.experiment.system();
            let known = match engine {
                // A program without a model has no twin.
                Engine::Twin => system.is_some_and(|asked| asked.is_modelled),
                Engine::Log => system.is_some_and(|asked| matches!(asked.workload, Workload::Replay(_))),
                _ => true,
            };
            if !self.by.contains(&asked) || !known || surroundings.progress.is_cancelled() {
                continue;
            }
            let label = variant.label();
            let progress = |done: f64, remark: &str| {
                surroundings.progress.show(Step { variant: (index, count), label: &label, engine, done, remark });
            };
            let mut log = |event: Value| {
                log(&event);
                self.answers.events.push(event);
            };
            progress(0.0, "");
            log(json!({"event": "asked", "variant": index, "engine": engine.name(), "date": host::date()}));
            let conditions = engine::Conditions {
                program: surroundings.program,
                folder: surroundings.folder,
                index,
                threads: surroundings.threads,
                cancel: surroundings.progress.cancel(),
                path,
                faults: faults.as_deref(),
                progress: &progress,
            };
            let (answer, traces) = engine::ask(engine, &variant.experiment, &conditions)
                .map_err(|message| RunError::Engine { engine: engine.name(), label: label.clone(), message })?;
            let Traces { events, path: measured, faults: happened } = traces;
            path = path.or(measured);
            faults = faults.or(happened);
            progress(1.0, "");
            events.into_iter().for_each(&mut log);
            let (date, notes) = (host::date(), &answer.notes);
            log(json!({
                "event": "answered", "variant": index, "engine": engine.name(), "date": date, "notes": notes,
            }));
            // An engine that was stopped before it measured anything has no row, not an empty one.
            let stopped = surroundings.progress.is_cancelled() && answer.measures.is_empty();
            if !stopped && !answer.is_silent() {
                self.answers.variants[index].answers.push(Answer { variant: label, ..answer });
            }
        }
        Ok(())
    }

    /// Judges models by the log, and the objectives. The run is as good as its worst live run.
    fn conclude(&mut self, interrupted: bool) {
        let answers = &mut self.answers;
        // How far a model is to be believed is known before anything is said by it.
        for (variant, answered) in self.variants.iter().zip(&mut answers.variants) {
            if let (Some(happened), Some(sim)) = (answered.answer(Engine::Log), answered.answer(Engine::Sim))
                && let Some(asked) = variant.experiment.system()
                && let Some((trust, note)) = engine::log::judged(happened, sim, asked)
            {
                let happened = answered.answer_mut(Engine::Log);
                happened.trust = Some(trust);
                happened.notes.insert(0, note);
            }
            let known = answered.answer(Engine::Theory).zip(answered.answer(Engine::Sim));
            let missed = known.and_then(|(theory, sim)| missed(&theory.measures, &sim.measures));
            if let Some(missed) = missed {
                answered.answer_mut(Engine::Sim).notes.push(missed);
            }
        }
        // Said once of each variant, by the engine that is told first.
        for (variant, answered) in self.variants.iter().zip(&mut answers.variants) {
            if let Some(first) = answered.answers.first_mut() {
                first.notes.extend(variant.remarks.iter().cloned());
            }
        }
        let judge = Judge::of(&answers.variants);
        for (index, (variant, answered)) in self.variants.iter().zip(&mut answers.variants).enumerate() {
            answers.objectives.extend(judge.objectives(index, &variant.experiment, answered));
            for trust in answered.trust().into_iter().chain(answered.model_trust()) {
                answers.verdict = answers.verdict.max(trust.verdict);
                answers.reasons.extend(trust.reasons.iter().map(|reason| format!("{}: {reason}", answered.label)));
            }
            // Judged by the whole interval, and told without the part of it that cannot be.
            let measures = answered.answers.iter_mut().flat_map(|answer| &mut answer.measures);
            measures.for_each(|measure| *measure = measure.within_range());
        }
        if interrupted {
            answers.verdict = Verdict::Incomplete;
            answers.reasons.push("interrupted: what was measured until then is kept".into());
        }
    }
}
