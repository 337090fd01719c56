//! How to run an experiment, as `[run]` and `[run.live]` write it.

use std::collections::BTreeMap;

use serde::Deserialize;
use sojourn_load::Limits;
use sojourn_model::Knowledge;
use sojourn_sim::Precision;
use sojourn_stats::Span;
use toml::Spanned;

use super::message::AUTO_WARM_UP;
use super::{Engine, Reader, SpecError, Text, unknown};
use crate::objective;

/// How to run an experiment.
#[derive(Clone, Debug)]
pub struct Run {
    /// Engines asked.
    pub by: Vec<Engine>,
    /// What the simulator leaves out at the start; none: found by MSER-5.
    pub warm_up: Option<Span>,
    /// The length of one simulated replication; none: as long as the precision takes.
    pub duration: Option<Span>,
    /// Relative half-width and confidence that every mean must reach; none: exactly so many replications.
    pub precision: Option<Precision>,
    /// The metrics that it is of; none: mean, p90 and p99 of the response time.
    pub precise: Option<Vec<String>>,
    /// Requests after which the simulator stops asking for more precision.
    pub max_jobs: u64,
    /// Least number of replications.
    pub replications: u32,
    /// What the simulator predicts response times from; none: it does not.
    pub predict: Option<Knowledge>,
    /// The simulator plays every replication event by event, also where it need not.
    pub events: bool,
    /// The live run.
    pub live: Live,
}

/// How to run live.
#[derive(Clone, Debug)]
pub struct Live {
    /// How long requests are sent.
    pub duration: Span,
    /// What is left out at the start.
    pub warm_up: Span,
    /// A request without a whole reply after this long has failed.
    pub timeout: Span,
    /// Every request has a connection of its own (HTTP/1.0); users who browse say it themselves.
    pub one_request_per_connection: bool,
    /// Most connections at once of an open workload; further requests wait for one, and the run is SUSPECT. None: as many as it
    /// needs.
    pub connections: Option<u32>,
    /// Threads of the load generator.
    pub load_threads: u32,
    /// Spin before each send instead of sleeping up to it.
    pub spin: bool,
    /// Live and its twin have the TCP of this kernel, whatever the file says of TCP for the simulator.
    pub kernel_tcp: bool,
    /// Record every decision in the run folder.
    pub record: bool,
    /// How much the run may be disturbed before it is SUSPECT.
    pub limits: Limits,
}

impl Run {
    /// The precision where none is written.
    pub(crate) const PRECISION: Precision = Precision { relative: 0.05, confidence: 0.95 };
    /// Requests where none are written.
    pub(crate) const MAX_JOBS: u64 = 50_000_000;
}

impl Live {
    /// How long a run is (s) where that is not written.
    pub(crate) const DURATION_S: f64 = 15.0;
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRun {
    by: Option<Vec<Text>>,
    warm_up: Option<Text>,
    duration: Option<Text>,
    precision: Option<Text>,
    max_jobs: Option<Spanned<u64>>,
    replications: Option<Spanned<u32>>,
    predict: Option<Text>,
    engine: Option<Text>,
    #[serde(default)]
    live: RawLive,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLive {
    duration: Option<Text>,
    warm_up: Option<Text>,
    timeout: Option<Text>,
    connections: Option<Spanned<u32>>,
    threads: Option<Spanned<u32>>,
    pacing: Option<Text>,
    tcp: Option<Text>,
    record: Option<bool>,
    #[serde(default)]
    limits: BTreeMap<String, Text>,
}

impl Reader<'_> {
    pub(super) fn run(&self, raw: RawRun) -> Result<Run, SpecError> {
        let by = match &raw.by {
            None => vec![Engine::Theory, Engine::Sim],
            Some(words) => words
                .iter()
                .map(|word| Engine::parse(word.get_ref()).map_err(|e| self.at(word, "by", &e)))
                .collect::<Result<_, _>>()?,
        };
        let warm_up = match &raw.warm_up {
            None => None,
            Some(text) if text.get_ref() == "auto" => None,
            Some(text) => {
                // Where another unit is meant, the answer ends with it.
                let or_auto = |error: SpecError| match error.0.contains("did you mean") {
                    true => error,
                    false => SpecError(format!("{}; {AUTO_WARM_UP}", error.0)),
                };
                Some(self.span(text, "warm_up").map_err(or_auto)?)
            }
        };
        let (precision, precise) = match &raw.precision {
            None => (Some(Run::PRECISION), None),
            Some(text) if text.get_ref() == "none" => (None, None),
            Some(text) => {
                let (width, of) = match text.get_ref().split_once(" of ") {
                    Some((width, of)) => (width, Some(of)),
                    None => (text.get_ref().as_str(), None),
                };
                let precision =
                    parse_precision(width).ok_or_else(|| self.at(text, "precision", &wrong_precision(width)))?;
                let metric = |name: &str| {
                    let metric = objective::full_name(name.trim());
                    let known = ["mean", "p50", "p90", "p95", "p99", "p99.9", "throughput", "utilization"];
                    let is_known = objective::dimension(&metric).is_some();
                    is_known
                        .then_some(metric)
                        .ok_or_else(|| self.at(text, "precision", &objective::unknown(name.trim(), &known)))
                };
                let precise = of.map(|of| of.split(',').map(metric).collect::<Result<Vec<_>, _>>()).transpose()?;
                (Some(precision), precise)
            }
        };
        let simulated = raw.duration.as_ref().map(|text| self.span(text, "duration")).transpose()?;
        if simulated == Some(Span::ZERO) {
            return Err(self.at_key("duration", "a simulated run lasts longer than 0 s"));
        }
        if let (Some(lasts), Some(warm_up)) = (simulated, warm_up)
            && warm_up >= lasts
        {
            return Err(
                self.at_key("warm_up", "the warm-up is shorter than the run's `duration`, or nothing is measured")
            );
        }
        let duration = match &raw.live.duration {
            Some(text) => self.span(text, "duration")?,
            None => Span::from_secs_f64(Live::DURATION_S),
        };
        if duration == Span::ZERO {
            return Err(self.at_key("duration", "a live run lasts longer than 0 s"));
        }
        let warm_up_live = match &raw.live.warm_up {
            Some(text) => self.span(text, "warm_up")?,
            None => Span(duration.0 / 10),
        };
        if warm_up_live >= duration {
            return Err(self.at_key("warm_up", "the live warm-up is shorter than the run"));
        }
        let spin = match raw.live.pacing.as_ref().map(|text| (text, text.get_ref().as_str())) {
            None | Some((_, "timer")) => false,
            Some((_, "spin")) => true,
            Some((text, other)) => return Err(self.at(text, "pacing", &unknown("pacing", other, &["timer", "spin"]))),
        };
        let kernel_tcp = match raw.live.tcp.as_ref().map(|text| (text, text.get_ref().as_str())) {
            None => false,
            Some((_, "kernel")) => true,
            Some((text, other)) => return Err(self.at(text, "tcp", &unknown("TCP of a live run", other, &["kernel"]))),
        };
        let mut limits = Limits::default();
        for (name, text) in &raw.live.limits {
            limits.set(name, text.get_ref()).map_err(|error| self.at(text, name, &error.to_string()))?;
        }
        let events = match raw.engine.as_ref().map(|text| (text, text.get_ref().as_str())) {
            None | Some((_, "auto")) => false,
            Some((_, "events")) => true,
            Some((text, other)) => {
                return Err(self.at(text, "engine", &unknown("engine of the simulator", other, &["auto", "events"])));
            }
        };
        let max_jobs = self.count(raw.max_jobs.as_ref(), "max_jobs", 1, "at least 1 request is needed")?;
        let wanted = "at least 2 replications are needed, or there is no interval";
        let replications = self.count(raw.replications.as_ref(), "replications", 2, wanted)?;
        let load_threads = self.count(raw.live.threads.as_ref(), "threads", 1, "at least 1 thread is needed")?;
        let connections = raw.live.connections.as_ref();
        let connections = self.count(connections, "connections", 1, "at least 1 connection is needed")?;
        Ok(Run {
            by,
            warm_up,
            duration: simulated,
            precision,
            precise,
            max_jobs: max_jobs.unwrap_or(Run::MAX_JOBS),
            replications: replications.unwrap_or(10),
            predict: raw.predict.as_ref().map(|text| self.knowledge(text)).transpose()?,
            events,
            live: Live {
                one_request_per_connection: false,
                duration,
                warm_up: warm_up_live,
                timeout: match &raw.live.timeout {
                    Some(text) => self.span(text, "timeout")?,
                    None => Span::from_secs_f64(10.0),
                },
                connections,
                load_threads: load_threads.unwrap_or(1),
                spin,
                kernel_tcp,
                record: raw.live.record.unwrap_or(false),
                limits,
            },
        })
    }

    /// A number of at least `least`, if one is written.
    fn count<N: Copy + PartialOrd>(
        &self,
        number: Option<&Spanned<N>>,
        key: &str,
        least: N,
        wanted: &str,
    ) -> Result<Option<N>, SpecError> {
        match number {
            Some(number) if *number.get_ref() < least => Err(self.at(number, key, wanted)),
            number => Ok(number.map(|number| *number.get_ref())),
        }
    }
}

/// `5% at 95%`.
pub(crate) fn parse_precision(text: &str) -> Option<Precision> {
    let (relative, confidence) = text.split_once(" at ")?;
    let precision = Precision { relative: percent(relative)?, confidence: percent(confidence)? };
    let sane = precision.relative > 0.0 && (0.5..1.0).contains(&precision.confidence);
    sane.then_some(precision)
}

/// `5%`, as 0.05.
fn percent(text: &str) -> Option<f64> {
    Some(text.trim().strip_suffix('%')?.trim().parse::<f64>().ok()? / 100.0)
}

/// What is wrong with a text that is no precision, and what would be right.
fn wrong_precision(text: &str) -> String {
    let (relative, confidence) = text.split_once(" at ").map_or((text, None), |(width, of)| (width, Some(of)));
    let fault = match (percent(relative), confidence.map(percent)) {
        (Some(width), _) if width.is_nan() || width <= 0.0 => {
            "the half-width is above 0, or no run would be long enough; ".into()
        }
        (Some(_), None) => format!("the confidence is missing, as in `{} at 95%`; ", relative.trim()),
        (Some(_), Some(Some(_))) => "a confidence is at least 50% and below 100%; ".into(),
        _ => String::new(),
    };
    format!(
        "{fault}write it as `5% at 95%`: the interval's half-width, and its confidence; also `5% at 95% of mean, p99`; or `none`"
    )
}
