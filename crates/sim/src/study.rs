//! Replications, judged together until they are sharp enough.
//!
//! Without a horizon every replication is one long run whose warm-up is paid once: a round makes each of them longer,
//! by the factor that the widest interval calls for, until all are sharp twice in a row. More replications instead would
//! pay the warm-up again, and keep its remaining bias while the intervals shrink. With a horizon (or a log, which ends) a
//! replication has its length, and a round adds replications. Intervals are Student's t across replications, so neither
//! the correlation within a run nor a wrong batch size can make them short. A round looks at the replications in the
//! order of their numbers.

mod player;
mod precision;
mod subject;

use rayon::ThreadPool;
use sojourn_stats::measure::NoInterval;
use sojourn_stats::{Batches, Histogram, Span, Stream, Time};

pub(crate) use self::player::{Outside, play, pool};
use self::player::{in_steps, play_groups};
pub(crate) use self::precision::{ALWAYS, growth, undecided, widest};
use self::precision::{GROWTH, is_decided, widest_of};
pub(crate) use self::subject::{Forgets, Make, Replication, Subject};
use crate::beginning;
use crate::control::{Control, Progress, Report, SimError, WarmUp};
use crate::course::Course;
use crate::forgetting;
use crate::memory::{self, REPLICATION, STATION, most_inside};
use crate::summary::{self, Row};

/// Requests that each replication measures in the first round, in all and per server: no metric is believed from fewer.
const FLOOR: (u64, u64) = (10_000, 40);
/// With fewer replications the stopping rule stops too often where the intervals are narrow by luck: with 10 they covered
/// the truth 91 to 93 % of the time instead of 95, with 20 it was 94; with pairs of them (`stats::parts`) it is 94 to 97
/// (`benches/coverage.rs`, 4,000 seeds of M/M/1 at 0.5: 96.0 to 96.6).
const LEAST_REPLICATIONS: u32 = 20;
/// Relaxation times that each replication must have measured before its numbers are believed. Those of a shorter one depend
/// on how it began: their spread is small, and their mean far off.
pub(crate) const RELAXATIONS: u64 = 10;
/// From so many servers on the noise of a run is less than what its beginning leaves in the mean: where the relaxation time is
/// known, of which the warm-up takes some; and where it is not, and the first pilot gives each of them 200 requests.
const MANY: (usize, usize) = (250, 25);
/// Requests between two looks at the outside world.
const CHUNK: u64 = 1 << 16;
/// A round that is sharp is confirmed by one so many times as long, which must be sharp too. A run without its share of
/// long busy periods is narrow and low at once: stopped at its first sharp look, it covered the p99 of a queue at
/// utilisation 0.9 92 % of the time, confirmed 94.5 % (of a fixed length: 94.3 %).
const CONFIRMATION: f64 = 2.0;
/// Sections of equal time of one run.
const SECTIONS: u64 = 20;

/// Replications of a subject, and how far they are.
pub(crate) struct Study<'a, E> {
    control: &'a Control,
    course: Course,
    subject: Subject<'a, E>,
    replications: Vec<E>,
    pool: Option<ThreadPool>,
    outside: Outside<'a>,
    /// Replications that there is memory for.
    room: u64,
    /// Requests that each replication must measure before there are intervals; none: that is judged by what is measured.
    long_enough: Option<u64>,
    /// There are so many servers that what is left of the beginning is more than chance: counting begins anew until both halves
    /// of a run have one mean.
    settles: bool,
    /// All was sharp at the last look.
    sharp: bool,
    converged: bool,
    notes: Vec<String>,
}

impl<'a, E: Replication> Study<'a, E> {
    /// The replications that `control` asks for, none of which has begun.
    pub(crate) fn new(
        mut subject: Subject<'a, E>,
        control: &'a Control,
        progress: &'a (dyn Fn(Progress) + Sync),
    ) -> Result<Study<'a, E>, SimError> {
        let finite = control.horizon.is_some() || subject.has_end;
        let least = if control.precision.is_some() && !finite { LEAST_REPLICATIONS } else { 2 };
        let replications = u64::from(control.replications.max(least));
        let relaxation = control.relaxation.filter(|_| !finite).unwrap_or(0);
        let mut long_enough = Some(RELAXATIONS.saturating_mul(relaxation));
        let mut shortest_pilot = beginning::shortest_pilot(relaxation, subject.users);
        let left_out = match control.warm_up {
            WarmUp::Auto => FLOOR.0.max(shortest_pilot),
            WarmUp::Fixed(_) => FLOOR.0,
            WarmUp::Requests(_) if finite => return Err(WarmUp::not_a_time()),
            WarmUp::Requests(requests) => FLOOR.0.saturating_add(requests),
        };
        let needed = RELAXATIONS.saturating_mul(relaxation).saturating_add(left_out).saturating_mul(replications);
        let (max_jobs, each) = (control.max_jobs, control.max_jobs / replications);
        if let WarmUp::Requests(warm_up) = control.warm_up
            && warm_up >= each
        {
            return Err(SimError::AllWarmUp { warm_up, each, replications, needed, max_jobs });
        }
        if relaxation > 0 && needed > max_jobs && long_enough > Some(FLOOR.0) {
            // How long it was is judged by what is measured. Where it began is not seen there.
            shortest_pilot = match subject.forgets {
                Forgets::AsOnePart => return Err(SimError::TooSlow { relaxation, replications, needed, max_jobs }),
                Forgets::EachAlone => shortest_pilot,
                Forgets::Together => beginning::shortest_pilot(0, subject.users),
            };
            long_enough = None;
        }
        let many = if control.relaxation.is_some() { MANY.0 } else { MANY.1 };
        let settles =
            subject.forgets != Forgets::AsOnePart && !finite && (long_enough.is_none() || subject.servers > many);
        let stations = subject.servers as u64 + subject.users;
        let each = REPLICATION + STATION * stations;
        let what = format!("{replications} replications with {stations} servers and users each");
        let room = memory::room(&what, replications, each, control.memory)?;
        let left = control.memory - replications * each;
        let course = Course {
            warm_up: match control.warm_up {
                WarmUp::Fixed(span) => Some(span),
                WarmUp::Auto | WarmUp::Requests(_) => None,
            },
            given_pilot: match control.warm_up {
                WarmUp::Requests(requests) => Some(requests),
                WarmUp::Auto | WarmUp::Fixed(_) => None,
            },
            horizon: control.horizon,
            finite,
            shortest_pilot,
            longest_pilot: control.max_jobs / replications / 2,
            most_inside: most_inside(left / replications),
            keep_series: false,
            predict: control.predict,
            over_time: control.over_time,
        };
        let pool = pool(control)?;
        let outside = Outside::new(control, progress);
        let notes = std::mem::take(&mut subject.notes);
        if let Some(sharp) = &control.sharp {
            subject.always.clone_from(sharp);
        }
        let mut study = Study {
            control,
            course,
            subject,
            replications: Vec::new(),
            pool,
            outside,
            room,
            long_enough,
            settles,
            sharp: false,
            converged: false,
            notes,
        };
        study.engage(replications as usize)?;
        Ok(study)
    }

    /// Plays until all is sharp, or the budget is spent.
    pub(crate) fn run(mut self) -> Result<Report, SimError> {
        if self.course.finite {
            self.add_replications()?
        } else {
            self.lengthen()?
        }
        self.report()
    }

    /// Makes replications up to number `count`.
    fn engage(&mut self, count: usize) -> Result<(), SimError> {
        for number in self.replications.len()..count {
            let seed = replication_seed(self.control.seed, number);
            self.replications.push((self.subject.make)(seed, &self.course)?);
        }
        Ok(())
    }

    /// Makes every replication longer until all is sharp, or the budget is spent.
    fn lengthen(&mut self) -> Result<(), SimError> {
        let budget = (self.control.max_jobs / self.replications.len() as u64).max(1);
        let floor = FLOOR.0.max(FLOOR.1 * self.subject.servers as u64);
        let mut length = if self.control.precision.is_some() { floor.min(budget) } else { budget };
        loop {
            self.outside.planned = (length * self.replications.len() as u64).max(self.jobs_so_far());
            let step = |engine: &E| {
                let (measured, ended) = (engine.measured(), engine.ended());
                let chunk = CHUNK.min(length.saturating_sub(measured)).min(budget.saturating_sub(ended));
                (chunk > 0).then_some(ended + chunk)
            };
            play_groups(self.pool.as_ref(), &mut self.replications, |group| in_steps(group, &self.outside, step));
            self.check_room()?;
            let Some(growth) = self.judge() else { return Ok(()) };
            let spent = self.replications.iter().all(|engine| engine.ended() >= budget || engine.measured() < length);
            if spent && self.sharp {
                self.converged = true; // unconfirmed, but as narrow as asked
                return Ok(());
            }
            if spent {
                self.notes.push(format!(
                    "stopped at the limit of {} requests before every interval was as narrow as asked",
                    self.control.max_jobs
                ));
                return Ok(());
            }
            length = ((length as f64 * growth) as u64).min(budget);
            if !self.has_settled() {
                self.replications.iter_mut().for_each(E::begin_anew);
            }
        }
    }

    /// Adds replications until all is sharp, or the budget is spent.
    fn add_replications(&mut self) -> Result<(), SimError> {
        let mut played = 0;
        loop {
            let each = self.jobs_so_far() / played.max(1) as u64;
            self.outside.planned = each * self.replications.len() as u64;
            let (_, fresh) = self.replications.split_at_mut(played);
            let step = |engine: &E| Some(engine.ended() + CHUNK);
            play_groups(self.pool.as_ref(), fresh, |group| in_steps(group, &self.outside, step));
            played = self.replications.len();
            self.check_room()?;
            let Some(growth) = self.judge() else { return Ok(()) };
            let wanted = (played as f64 * growth).ceil() as u64;
            let most = self.control.max_jobs.saturating_mul(played as u64) / self.jobs_so_far().max(1);
            let limit = match most <= self.room {
                true => format!("the limit of {} requests", self.control.max_jobs),
                false => format!("for which there is memory ({} MB)", self.control.memory >> 20),
            };
            let most = most.min(self.room);
            if most <= played as u64 {
                self.notes.push(format!(
                    "stopped at {played} replications, {limit}, before every interval was as narrow as asked"
                ));
                return Ok(());
            }
            self.engage(wanted.min(most) as usize)?;
        }
    }

    /// Refuses a run in which requests found no room.
    fn check_room(&self) -> Result<(), SimError> {
        match self.replications.iter().find_map(E::overflowed) {
            Some(inside) => Err(memory::full(inside, self.replications.len() as u64, self.control.memory)),
            None => Ok(()),
        }
    }

    /// Looks whether all is sharp. None: the run is over; else how many times as much it takes.
    fn judge(&mut self) -> Option<f64> {
        if self.outside.cancelled() {
            self.notes.push("stopped early: the numbers are of what had been simulated".into());
            return None;
        }
        let Some(precision) = self.control.precision else {
            self.converged = true;
            return None;
        };
        let played = self.measured();
        let rows = E::rows(&played);
        let alike = self.alike(&rows, &played);
        let is_asked = |metric: &str| self.subject.always.iter().chain(&self.control.metrics).any(|of| of == metric);
        let asked = |metric: &str| {
            let row = rows.iter().find(|row| row.metric == metric);
            is_asked(metric) && !row.is_some_and(|row| is_decided(row, self.control, alike))
        };
        let mut measures = summary::measures(&rows, self.control.confidence());
        if self.course.finite {
            // All replications are as long as these: no number of them gives a quantile samples that each of them lacks.
            measures.retain(|measure| measure.estimate.interval().is_some());
        }
        let widest = widest_of(&measures, asked);
        let measured = self.replications.iter().map(E::measured).min().unwrap_or(0);
        let undecided = undecided(&rows, self.control, alike);
        self.outside.relative = Some(widest);
        let sharp = widest <= precision.relative && undecided.is_none() && self.is_long() && self.has_settled();
        if sharp && (self.sharp || self.course.finite) {
            self.converged = true;
            return None;
        }
        self.sharp = sharp;
        Some(match sharp {
            true => CONFIRMATION,
            false if widest <= precision.relative => match (undecided, self.long_enough) {
                (Some(growth), _) => growth,
                (None, Some(long_enough)) => (long_enough as f64 / measured.max(1) as f64).clamp(GROWTH.0, GROWTH.1),
                (None, None) => CONFIRMATION,
            },
            false => growth(widest, precision.relative),
        })
    }

    /// Whether nothing is left of how it began, where that matters.
    fn has_settled(&self) -> bool {
        !self.settles || forgetting::has_settled(self.replications.iter().filter_map(E::remembered), forgetting::ANEW)
    }

    /// Whether every replication is long against what the system remembers.
    fn is_long(&self) -> bool {
        match self.long_enough {
            Some(long_enough) => self.replications.iter().all(|engine| engine.measured() >= long_enough),
            None => forgetting::has_forgotten(self.replications.iter().filter_map(E::remembered)),
        }
    }

    /// Requests in all from which on every replication is long, whatever its response times are.
    fn enough(&self) -> u64 {
        let long = RELAXATIONS.saturating_mul(self.control.relaxation.unwrap_or(0));
        let each = match self.control.warm_up {
            // Its end is sought in the first half.
            WarmUp::Auto => long.saturating_mul(2).saturating_add(FLOOR.0),
            // As many are left out again, for a longer run has the same beginning; and no fewer than `new` takes to be enough.
            WarmUp::Fixed(_) | WarmUp::Requests(_) => {
                let left_out = self.replications.iter().map(|engine| engine.ended().saturating_sub(engine.measured()));
                long.saturating_add(FLOOR.0).saturating_add(left_out.max().unwrap_or(0))
            }
        };
        each.saturating_mul(self.replications.len() as u64)
    }

    /// How many requests tell as much as one; the first of `rows` is the mean response time.
    fn alike(&self, rows: &[Row], measured: &[&E]) -> f64 {
        let whole = E::responses(measured);
        let remembered: Vec<&Batches> = measured.iter().filter_map(|engine| engine.remembered()).collect();
        match remembered.is_empty() {
            true => rows.first().map_or(1.0, |row| forgetting::alike_of_parts(&row.parts, &whole)),
            false => forgetting::alike(remembered, whole.variance()),
        }
    }

    fn jobs_so_far(&self) -> u64 {
        self.replications.iter().map(E::ended).sum()
    }

    /// The replications that have got beyond their warm-up.
    fn measured(&self) -> Vec<&E> {
        self.replications.iter().filter(|engine| engine.measured() > 0).collect()
    }

    fn report(mut self) -> Result<Report, SimError> {
        let replications = self.replications.len();
        let unsettled = self.replications.iter().filter(|engine| engine.phases().never_settled()).count();
        if unsettled > 0 {
            self.notes.push(format!(
                "no end of the warm-up was seen in {unsettled} of {replications} replications: near saturation, or too \
                 few requests"
            ));
        }
        let measured = self.measured();
        if measured.len() < replications {
            let short = replications - measured.len();
            self.notes.push(format!("the warm-up was not over at the end of {short} of {replications} replications"));
        }
        let measured = self.measured();
        let is_long = self.is_long();
        let mut rows = E::rows(&measured);
        let alike = self.alike(&rows, &measured);
        let whole = E::responses(&measured);
        let over_time = E::over_time(&measured, alike);
        let jobs: u64 = measured.iter().map(|engine| engine.measured()).sum();
        if let Some(rate) = self.subject.rate.filter(|_| !measured.is_empty()) {
            let measured_s = jobs as f64 / measured.len() as f64 / rate;
            self.notes.extend(beginning::short_warm_up(self.control, rate, measured_s));
        }
        let (more_rows, more_notes) = (self.subject.closing)(&self.replications, self.pool.as_ref())?;
        rows.extend(more_rows);
        self.notes.extend(more_notes);
        let mut measures = summary::answers(&rows, self.control.confidence(), alike);
        if !is_long {
            let why = match self.long_enough {
                Some(long_enough) => format!(
                    "the system takes {} requests to forget its state, and each of {replications} replications has to \
                     measure {RELAXATIONS} times as many",
                    long_enough / RELAXATIONS
                ),
                None => format!(
                    "response times had not settled, or were still alike over a tenth of each of {replications} replications"
                ),
            };
            let (enough, now) = (self.enough(), self.control.max_jobs);
            // Who stops a run early has allowed for more already.
            let would_do = match enough > now {
                true => format!(": `max_jobs = {enough}` would do (now {now})"),
                false => String::new(),
            };
            self.notes.push(format!("too short for intervals: {why}{would_do}"));
            for measure in &mut measures {
                measure.estimate = measure.estimate.clone().withheld(NoInterval::TooShort);
            }
        }
        let converged = self.converged && measures.iter().any(|measure| measure.estimate.interval().is_some());
        Ok(Report {
            response_time_cdf: summary::cdf(&whole),
            jobs,
            replications: replications as u32,
            converged,
            measures,
            replications_values: summary::values(rows),
            over_time,
            notes: self.notes,
            ..Report::default()
        })
    }
}

/// One run between two instants in sections of equal time: what was counted in all of them, and `since` the one before in each.
/// `part_at` plays up to an instant and says what has been counted by then.
pub(crate) fn sections<P>(
    (start, end): (Span, Span),
    mut part_at: impl FnMut(Time) -> P,
    since: impl Fn(&P, &P) -> P,
) -> (P, Vec<P>) {
    let mut at = |section: u64| part_at(Time(start.0 + (end.0 - start.0) / SECTIONS * section));
    let mut before = at(0);
    let mut sections = Vec::new();
    for section in 1..=SECTIONS {
        let now = at(section);
        sections.push(since(&now, &before));
        before = now;
    }
    (before, sections)
}

/// The seed of replication `number`.
pub(crate) fn replication_seed(seed: u64, number: usize) -> u64 {
    match number {
        0 => seed,
        _ => Stream::new(seed, "replication", &number.to_string()).below(usize::MAX) as u64,
    }
}

pub(crate) fn merged(histograms: &[&Histogram]) -> Histogram {
    let mut whole = Histogram::new();
    histograms.iter().for_each(|histogram| whole.merge(histogram));
    whole
}
