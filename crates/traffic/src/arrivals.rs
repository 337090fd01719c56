//! When the requests of an open workload come: a renewal process, its requests one by one or in batches; gaps with long
//! memory; or many sources that fall silent and speak again. The rate is as it is or shaped by a profile.

pub(crate) mod clock;
mod hurst;
mod on_off;
mod profile;
mod scale;
mod self_similar;

use sojourn_stats::law::{Argument, Expression};
use sojourn_stats::{Dimension, Law, LawError, Span, nearest, quantity};

use self::on_off::Sources;
pub use self::profile::Profile;
use self::scale::Scaled;
use self::self_similar::Correlated;
use crate::error::WorkloadError;

/// The arrivals of an open workload: laws whose scale may still hang on the system (`utilization = 0.7`).
#[derive(Clone, Debug)]
pub struct Arrivals {
    text: String,
    utilization: Option<f64>,
    /// The law at mean 1, where the scale is a utilisation.
    shape: Option<Law>,
    /// Of the gaps; of those of one source while it is on, where there are sources.
    gaps: Option<Law>,
    process: Process,
    profile: Option<Profile>,
}

/// How fast requests come, said apart from their law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OfferedLoad {
    /// Requests per second.
    Rate(f64),
    /// The part of the system's capacity that they take.
    Utilization(f64),
}

/// What is done with the law of the gaps.
#[derive(Clone, Debug)]
pub(crate) enum Process {
    /// Independent gaps, so many requests after each.
    Renewal {
        /// Requests at each instant.
        batch: u32,
    },
    /// Gaps that hang together.
    Correlated(Correlated),
    /// The gaps of many sources, each on and off in turn.
    OnOff(Sources),
}

impl Arrivals {
    /// Reads the law of independent gaps, or one of these:
    ///
    /// | text | arrivals |
    /// |---|---|
    /// | `exponential(rate = 374 /s)`, `erlang(k = 2, mean = 10 ms)`, any law | a renewal process |
    /// | `batches(n = 50, every = 1 s)` | 50 requests at each instant |
    /// | `fgn(h = 0.8, mean = 94.7 ms, cv = 1, marginal = exponential)` | gaps of this law that hang together |
    /// | `on-off(sources = 100, on = pareto(...), off = pareto(...), rate = 50 /s)` | sources that fall silent |
    ///
    /// The scale of each is also a `utilization`, which [`Arrivals::settle`] turns into a rate.
    ///
    /// # Errors
    /// As [`Law::parse`]; also when two scales are given, or none.
    pub fn parse(text: &str) -> Result<Arrivals, WorkloadError> {
        let text = text.trim();
        if let Some(call) = Expression::parse(text)? {
            match call.name {
                "batches" => return batches(text, &call.arguments),
                "fgn" => {
                    let (correlated, scaled) = Correlated::parse(text, &call.arguments)?;
                    return Ok(Arrivals::new(text, scaled, Process::Correlated(correlated)));
                }
                "on-off" => {
                    let (sources, scaled) = Sources::parse(text, &call.arguments)?;
                    return Ok(Arrivals::new(text, scaled, Process::OnOff(sources)));
                }
                _ => {}
            }
        }
        let refused = |error: LawError| misspelt(text).unwrap_or_else(|| of_load(error).into());
        match Law::parse_shape(text, Dimension::Time, "utilization").map_err(refused)? {
            Some((_, utilization)) if !(utilization > 0.0 && utilization.is_finite()) => {
                Err(WorkloadError::Invalid(format!("`{text}`: {UTILIZATION_ABOVE_0}")))
            }
            Some((shape, utilization)) => {
                Ok(Arrivals::new(text, (shape, Some(utilization)), Process::Renewal { batch: 1 }))
            }
            None => {
                if let Some((rate, Dimension::Rate)) = quantity::meant(text) {
                    let fault = format!(
                        "`{text}` is a rate where a law of gaps is expected: write `exponential(rate = {rate})`, \
                         or `constant(rate = {rate})` for even gaps"
                    );
                    return Err(WorkloadError::Invalid(fault));
                }
                let law = Law::parse(text, Dimension::Time).map_err(refused)?;
                if law.mean() > 0.0 {
                    Ok(Arrivals::new(text, (law, None), Process::Renewal { batch: 1 }))
                } else {
                    Err(WorkloadError::Invalid(format!("`{text}`: the mean gap must be above 0")))
                }
            }
        }
    }

    /// As [`Arrivals::parse`], but at this load, whatever scale the text gives; it may give none: `erlang(k = 2)`. Batches stay
    /// as large, and come more often.
    ///
    /// # Errors
    /// As [`Arrivals::parse`]; also when the load is not above 0 and finite, or the law has no mean that could be set.
    pub fn parse_at(text: &str, load: OfferedLoad) -> Result<Arrivals, WorkloadError> {
        let fault = |what: &str| WorkloadError::Invalid(format!("`{}`: {what}", text.trim()));
        let (OfferedLoad::Rate(value) | OfferedLoad::Utilization(value)) = load;
        if !(value > 0.0 && value.is_finite()) {
            let wrong = match load {
                OfferedLoad::Rate(_) => "the rate must be above 0 and finite, such as 8 /s",
                OfferedLoad::Utilization(_) => UTILIZATION_ABOVE_0,
            };
            return Err(WorkloadError::Invalid(wrong.into()));
        }
        let arrivals = Arrivals::parse(text).or_else(|fault| {
            // A law that takes its scale as a parameter, and has none yet.
            let open = text.trim().strip_suffix(')').map(|call| format!("{call}, "));
            let open = open.unwrap_or_else(|| format!("{}(", text.trim()));
            Arrivals::parse(&format!("{open}utilization = 1)")).map_err(|_| fault)
        })?;
        let law = arrivals.shape.as_ref().or(arrivals.gaps.as_ref()).and_then(|law| law.rescaled_to_mean(1.0));
        let shape = law.ok_or_else(|| fault("it has no finite mean that a load could set"))?;
        let (gaps, utilization) = match load {
            OfferedLoad::Rate(rate) => (Some(shape.scaled(arrivals.requests_per_gap() / rate)), None),
            OfferedLoad::Utilization(share) => (None, Some(share)),
        };
        Ok(Arrivals { shape: Some(shape), gaps, utilization, ..arrivals })
    }

    /// Arrivals whose gaps (seconds) are independent draws of this law.
    pub fn of(law: Law) -> Arrivals {
        Arrivals::new(&law.to_string(), (law, None), Process::Renewal { batch: 1 })
    }

    fn new(text: &str, (law, utilization): Scaled, process: Process) -> Arrivals {
        let (shape, gaps) = if utilization.is_some() { (Some(law), None) } else { (None, Some(law)) };
        Arrivals { text: text.into(), utilization, shape, gaps, process, profile: None }
    }

    /// The same arrivals at a rate that `profile` multiplies: each instant is moved to where the profile's integral is
    /// what the instant was, so that gaps keep their law and order at any rate.
    pub fn with_profile(self, profile: Profile) -> Arrivals {
        Arrivals { profile: Some(profile), ..self }
    }

    /// The same arrivals at another rate (1/s, above 0), which every gap is stretched to. None for batches, of which
    /// there would be two ways to come at another rate, and where no rate is known yet.
    pub fn at_rate(&self, rate: f64) -> Option<Arrivals> {
        let (law, now) = (self.gaps.as_ref()?, self.rate()?);
        let gaps = (self.batch() == 1).then(|| law.scaled(now / rate))?;
        Some(Arrivals { gaps: Some(gaps), ..self.clone() })
    }

    /// Says how many requests will be asked for, at least. Gaps with long memory are drawn as one path, whose length is
    /// known before the first of them: this many, where that is more than the usual length ([`Arrivals::memory`]). The
    /// plan is another one then. Nothing happens where the length is written, or to other arrivals.
    pub fn reach(&mut self, requests: u64) {
        if let Process::Correlated(correlated) = &mut self.process {
            correlated.reach(requests);
        }
    }

    /// As [`Arrivals::reach`], for as many requests as come up to `end`, and a quarter more. Once the rate is settled.
    pub fn reach_until(&mut self, end: Span) {
        let end_s = end.as_secs_f64();
        let levels_s = self.profile.as_ref().map_or(end_s, |profile| profile.integral(end_s));
        self.reach((1.25 * levels_s * self.rate().unwrap_or(0.0)) as u64);
    }

    /// The text that was read, for messages.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The utilisation asked for, where the rate was given so: at level 1 of a profile.
    pub fn utilization(&self) -> Option<f64> {
        self.utilization
    }

    /// Settles a rate given as utilisation: `capacity` > 0 is the rate (1/s) at which the system would be at 1. Does nothing
    /// where the rate was given otherwise; may be called again for another system.
    pub fn settle(&mut self, capacity: f64) {
        if let (Some(utilization), Some(shape)) = (self.utilization, &self.shape) {
            self.gaps = Some(shape.scaled(self.requests_per_gap() / (utilization * capacity)));
        }
    }

    /// The law of the gaps (seconds) between requests, once settled; none where no law says it, because they come in
    /// batches, hang together, are those of many sources, or come at a rate that changes.
    pub fn law(&self) -> Option<&Law> {
        let is_renewal = match &self.process {
            Process::Renewal { batch } => *batch == 1,
            // Without memory the gaps are independent draws.
            Process::Correlated(correlated) => correlated.h == 0.5,
            Process::OnOff(_) => false,
        };
        self.gaps.as_ref().filter(|_| is_renewal && self.profile.is_none())
    }

    /// The law of the gaps (seconds), once settled, where each of them is drawn by itself from the stream of arrivals; none of
    /// batches, gaps that hang together or may, sources, and a rate that changes.
    pub fn renewal(&self) -> Option<&Law> {
        let is_renewal = matches!(self.process, Process::Renewal { batch: 1 });
        self.gaps.as_ref().filter(|_| is_renewal && self.profile.is_none())
    }

    /// The law of the gaps (seconds) between instants with requests, at level 1 of a profile, once settled. None of many
    /// sources.
    pub fn gaps(&self) -> Option<&Law> {
        self.gaps.as_ref().filter(|_| !matches!(self.process, Process::OnOff(_)))
    }

    /// Requests at each instant: 1, or the size of the batches.
    pub fn batch(&self) -> u32 {
        match self.process {
            Process::Renewal { batch } => batch,
            Process::Correlated(_) | Process::OnOff(_) => 1,
        }
    }

    /// How the rate changes; none: it does not.
    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// The Hurst parameter that arrivals with long memory are made for, before any profile: of their gaps (`fgn`), or of
    /// the counts that sources with heavy tails tend to (`on-off`). None of a renewal process.
    pub fn hurst(&self) -> Option<f64> {
        match &self.process {
            Process::Renewal { .. } => None,
            Process::Correlated(correlated) => Some(correlated.h),
            Process::OnOff(sources) => Some(sources.hurst()),
        }
    }

    /// How many gaps in a row hang together as they should: those of one path. What comes after is independent of it.
    /// None where there is no such bound.
    pub fn memory(&self) -> Option<u64> {
        match &self.process {
            Process::Correlated(correlated) if correlated.h != 0.5 => Some(correlated.points() as u64),
            _ => None,
        }
    }

    /// What to know of `requests` of them, in sentences that may be none: that they outlast their memory (`what` names those who
    /// had so many: `this run`), and that their H below 0.5 is not kept.
    pub fn caveats(&self, what: &str, requests: u64) -> Vec<String> {
        let outlasted = self.memory().filter(|memory| requests > *memory).map(|memory| {
            format!(
                "gaps hang together over {memory} requests at a time, and {what} had {requests}: `length = {}` in fgn(...) joins \
                 them all",
                requests.next_power_of_two()
            )
        });
        let alternates = self.hurst().filter(|h| *h < 0.5 && !self.is_normal()).map(|h| {
            format!(
                "gaps made for H = {h} keep it where their law is normal: under any other the alternation dies out, and over \
                 long times they are as independent ones; arrivals_hurst is what came out"
            )
        });
        outlasted.into_iter().chain(alternates).collect()
    }

    fn is_normal(&self) -> bool {
        self.gaps.as_ref().or(self.shape.as_ref()).is_some_and(|law| law.to_string().starts_with("normal("))
    }

    /// Mean arrival rate (1/s) at level 1 of a profile, once settled; 0 where the mean gap is infinite.
    pub fn rate(&self) -> Option<f64> {
        self.gaps.as_ref().map(|law| self.requests_per_gap() / law.mean())
    }

    /// The highest arrival rate (1/s) of the profile, or the rate where there is none.
    pub fn peak_rate(&self) -> Option<f64> {
        Some(self.rate()? * self.profile.as_ref().map_or(1.0, Profile::peak))
    }

    /// Where no formula can follow, one line that says why.
    pub fn beyond_formulas(&self) -> Option<&'static str> {
        if self.profile.is_some() {
            return Some("no formula for a rate that changes with time: sim answers this");
        }
        match &self.process {
            Process::Renewal { batch: 1 } => None,
            Process::Renewal { .. } => Some("no formula for requests that come in batches: sim answers this"),
            Process::Correlated(correlated) if correlated.h == 0.5 => None,
            Process::Correlated(_) => {
                Some("formulas take gaps to be independent, and those of fgn(...) have long memory: sim answers this")
            }
            Process::OnOff(_) => {
                Some("formulas take gaps to be independent, and those of on-off(...) are not: sim answers this")
            }
        }
    }

    pub(crate) fn process(&self) -> &Process {
        &self.process
    }

    /// The law that the process works on: of the gaps, or of those of one source while it is on. None before the rate is
    /// settled.
    pub(crate) fn base(&self) -> Option<&Law> {
        self.gaps.as_ref()
    }

    /// Mean requests per mean gap of the law.
    fn requests_per_gap(&self) -> f64 {
        match &self.process {
            Process::Renewal { batch } => f64::from(*batch),
            Process::Correlated(_) => 1.0,
            Process::OnOff(sources) => sources.on_at_once(),
        }
    }

    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        match &self.gaps {
            Some(law) if law.mean() <= 0.0 || law.mean().is_nan() => {
                Err(WorkloadError::Invalid(format!("arrivals = \"{}\": the mean gap must be above 0", self.text)))
            }
            _ => Ok(()),
        }
    }
}

/// What a utilization is, for messages.
const UTILIZATION_ABOVE_0: &str = "the utilization must be above 0 and finite, such as 0.7";
/// What others call the utilization.
const LOADS: [&str; 4] = ["rho", "load", "util", "utilisation"];

/// The same error; of arrivals a law has one parameter more than elsewhere.
fn of_load(error: LawError) -> LawError {
    if !error.0.contains("` is not a parameter") {
        return error;
    }
    let is_load = LOADS.iter().any(|name| error.0.starts_with(&format!("`{name}` is not a parameter")));
    let before = if is_load { "; did you mean `utilization`?" } else { "" };
    LawError(error.0.replacen(" (known: ", &format!("{before} (known: utilization, "), 1))
}

/// What is wrong with a load that no law has: `utilization = 0.7`.
fn load_alone(text: &str) -> Option<WorkloadError> {
    let (key, share) = text.split_once('=')?;
    let meant = format!("exponential(utilization = {})", share.trim());
    let is_load = ["utilization"].iter().chain(&LOADS).any(|name| *name == key.trim());
    if !is_load || Arrivals::parse(&meant).is_err() {
        return None;
    }
    Some(WorkloadError::Invalid(format!("`{text}` is a parameter without its law; did you mean `{meant}`?")))
}

/// What is wrong with a name that was probably meant to be that of arrivals which are no law of gaps.
fn misspelt(text: &str) -> Option<WorkloadError> {
    let Some(Expression { name, .. }) = Expression::parse(text).ok()? else { return load_alone(text) };
    let meant = nearest(name, ["batches", "fgn", "on-off"])?;
    Some(WorkloadError::Invalid(format!("unknown law `{name}`; did you mean `{meant}`?")))
}

fn batches(text: &str, arguments: &[Argument<'_>]) -> Result<Arrivals, WorkloadError> {
    let fault = |what: &str| {
        WorkloadError::Invalid(format!(
            "`{text}`: {what}; write `batches(n = 50, every = 1 s)`: 50 requests each second"
        ))
    };
    let (mut n, mut every_s, mut utilization) = (None, None, None);
    for argument in arguments {
        match argument.key {
            Some("n") => n = argument.value.parse::<u32>().ok().filter(|n| *n > 0),
            Some("every") => {
                let span = quantity::parse(argument.value, Dimension::Time).map_err(|e| fault(&e.to_string()))?;
                every_s = Some(span).filter(|span| *span > 0.0 && span.is_finite());
            }
            Some("utilization") => {
                let share = quantity::parse(argument.value, Dimension::Number).map_err(|e| fault(&e.to_string()))?;
                utilization = Some(share).filter(|share| *share > 0.0 && share.is_finite());
            }
            _ => return Err(fault(&argument.foreign(&["n", "every", "utilization"]))),
        }
    }
    let batch = n.ok_or_else(|| fault("n is a whole number of at least 1"))?;
    let process = Process::Renewal { batch };
    match (every_s, utilization) {
        (Some(every_s), None) => Ok(Arrivals::new(text, (Law::constant(every_s), None), process)),
        (None, Some(utilization)) => Ok(Arrivals::new(text, (Law::constant(1.0), Some(utilization)), process)),
        _ => Err(fault("either the time between batches or a utilization, above 0")),
    }
}
