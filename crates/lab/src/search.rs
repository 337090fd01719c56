//! The highest rate at which an objective still holds: doubling until it fails, then bisection.
//!
//! A trial is a whole run with a warm-up of its own, judged by its interval. Its doubts are weighed against the
//! objective: a response time that stays below its limit in spite of a late generator stays below it
//! ([`sojourn_load::Effect`]), and one above it is not above it for sure if the lateness can be the reason. A trial
//! that cannot decide is repeated for twice as long, twice at most; one that still cannot counts as not holding and
//! says why: the rate found is one that was seen to hold. The price is that a noisy metric is found lower than it is.
//! That what holds at one rate holds at all lower ones is taken for granted, as every bisection does.

mod seen;

use sojourn_load::{Cause, Counts, Doubt, Effect, Pace, Proof, Report};
use sojourn_stats::{Estimate, Span};

use crate::objective::{Judgement, Objective, unanswered};
use crate::report::number::quantity;

pub use self::seen::Seen;

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// The first rate tried (1/s).
    pub start: f64,
    /// How narrow the bracket has to become: its upper end over its lower end, minus one.
    pub within: f64,
}

/// What a run at some rate measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The objective's metric; none where the run does not measure it.
    pub estimate: Option<Estimate>,
    /// How late the generator itself was (s); a response time contains as much of it.
    pub lateness_s: f64,
    /// Of the requests that failed, the share that no trouble of the generator explains: refused, answered by an error, cut off.
    pub failed_by_server: f64,
    /// Whether what the objective limits is known of all requests though some failed or were given up.
    pub bears_failures: bool,
    /// Why a time that meets the objective is none of all requests, where these are why.
    pub outdone: Option<String>,
    /// Why the run is SUSPECT; empty when it is not.
    pub doubts: Vec<Doubt>,
}

/// What a run says about an objective once its doubts are weighed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It holds.
    Holds,
    /// It does not.
    Fails,
    /// This run cannot decide it; why.
    Open(String),
}

/// A rate that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The rate (1/s).
    pub rate: f64,
    /// How many times as long as asked the run was.
    pub stretch: u32,
    /// What it measured.
    pub measured: Measured,
    /// What that says about the objective, doubts aside.
    pub judgement: Judgement,
    /// And what with them.
    pub finding: Finding,
}

impl Trial {
    fn of(objective: &Objective, rate: f64, stretch: u32, measured: Measured) -> Trial {
        let (judgement, finding) = measured.judge(objective);
        Trial { rate, stretch, measured, judgement, finding }
    }

    /// Whether the objective was seen to hold.
    pub fn holds(&self) -> bool {
        self.finding == Finding::Holds
    }

    /// What came of it, in words.
    pub fn words(&self) -> String {
        match &self.finding {
            Finding::Holds => "holds".into(),
            Finding::Fails => "does not hold".into(),
            Finding::Open(why) => format!("cannot be decided: {why}"),
        }
    }

    /// Whether a longer run may decide it. One of a load that was not the one asked for would not either.
    fn may_be_longer(&self) -> bool {
        let other = |doubt: &Doubt| doubt.cause.effect() == Effect::OtherLoad && self.measured.is_open_to(doubt);
        matches!(self.judgement, Judgement::Undecided | Judgement::NoInterval | Judgement::TooFew)
            && !self.measured.doubts.iter().any(other)
    }
}

impl Measured {
    /// What a run measured of what `objective` is about.
    pub fn from_report(objective: &Objective, report: &Report) -> Measured {
        let measure = objective.deciding(&report.measures);
        let doubts = match &report.verdict {
            Proof::Suspect(doubts) => doubts.clone(),
            _ => Vec::new(),
        };
        let estimate = measure.map(|measure| measure.estimate.clone());
        Measured {
            estimate,
            lateness_s: lateness_s(objective, report),
            failed_by_server: failed_by_server(&report.measured),
            bears_failures: objective.bears(unanswered(&report.measures)),
            outdone: objective.outdone_by_failures(&report.measures, &report.response_time_cdf),
            doubts,
        }
    }

    /// What it says about `objective`, doubts aside, and what with them.
    pub fn judge(&self, objective: &Objective) -> (Judgement, Finding) {
        let judgement = self.estimate.as_ref().map_or(Judgement::Unknown, |estimate| objective.judge(estimate));
        (judgement, self.weigh(objective, judgement))
    }

    /// Whether a doubt is one about what the objective limits: that requests failed is none where that is known all the same.
    fn is_open_to(&self, doubt: &Doubt) -> bool {
        doubt.cause != Cause::Errors || !self.bears_failures
    }

    /// Why a measurement that does not decide `objective` would not if it were longer: requests failed, or had to wait for a
    /// connection.
    fn hindrance(&self, objective: &Objective, judgement: Judgement) -> Option<String> {
        let is_open = matches!(judgement, Judgement::Undecided | Judgement::NoInterval | Judgement::TooFew);
        let hinders = |doubt: &&Doubt| match doubt.cause {
            Cause::Errors => !objective.is_of_errors() && self.is_open_to(doubt),
            Cause::Queued => true,
            _ => false,
        };
        self.doubts.iter().filter(|_| is_open).find(hinders).map(ToString::to_string)
    }

    /// What would decide `objective` where it is open, where that is known and the run is as good as a longer one would be.
    fn enough(&self, objective: &Objective, judgement: Judgement, report: &Report) -> Option<String> {
        let is_open = matches!(judgement, Judgement::Undecided | Judgement::NoInterval | Judgement::TooFew);
        let hinders = |doubt: &Doubt| {
            matches!(doubt.cause.effect(), Effect::Slower | Effect::OtherLoad) && self.is_open_to(doubt)
        };
        let is_of_use = is_open && !self.doubts.iter().any(hinders);
        objective.enough(&report.measures, true).filter(|_| is_of_use)
    }

    /// What is left of `judgement` when the doubts are weighed.
    fn weigh(&self, objective: &Objective, judgement: Judgement) -> Finding {
        // A generator's trouble makes response times longer and rates lower, never the other way round.
        let looks_worse = objective.below != objective.is_of_a_rate();
        // Requests that fail are what is judged, or leave a percentile that is known as of all requests, or make a server that
        // fails anyway no better, or leave alone what cannot happen: without patience no client leaves.
        let cannot_happen =
            objective.metric == "abandoned_ratio" && self.estimate.as_ref().is_some_and(Estimate::is_sharp);
        let is_told = objective.is_of_errors() || self.bears_failures;
        let errors_count = !is_told && !cannot_happen && judgement != Judgement::Fails;
        let doubt = |matters: &dyn Fn(Effect) -> bool| {
            let concerns = |doubt: &&Doubt| doubt.cause != Cause::Errors || errors_count;
            self.doubts.iter().filter(concerns).find(|doubt| matters(doubt.cause.effect())).map(ToString::to_string)
        };
        let open = |doubt: Option<String>, otherwise| doubt.map_or(otherwise, Finding::Open);
        match judgement {
            Judgement::Holds => open(
                doubt(&|effect| match effect {
                    Effect::None => false,
                    Effect::OtherLoad => true,
                    Effect::Late | Effect::Slower => !looks_worse,
                })
                .or_else(|| self.outdone.clone()),
                Finding::Holds,
            ),
            Judgement::Fails if !looks_worse => open(doubt(&|effect| effect == Effect::OtherLoad), Finding::Fails),
            Judgement::Fails if self.fails_by_server(objective) => {
                open(doubt(&|effect| effect == Effect::OtherLoad), Finding::Fails)
            }
            Judgement::Fails => {
                let own = self.own_lateness(objective).or_else(|| match objective.is_of_a_time() {
                    true => None,
                    false => doubt(&|effect| effect == Effect::Late),
                });
                open(doubt(&|effect| matches!(effect, Effect::OtherLoad | Effect::Slower)).or(own), Finding::Fails)
            }
            Judgement::Undecided => Finding::Open("the limit lies inside the interval".into()),
            Judgement::NoInterval => {
                let why = match &self.estimate {
                    Some(Estimate::WithoutInterval { why, .. }) => format!(" ({})", why.words()),
                    _ => String::new(),
                };
                Finding::Open(format!("the estimate has no interval{why}"))
            }
            Judgement::TooFew => Finding::Open("too few samples".into()),
            Judgement::NoSample => Finding::Open("no request got a good reply".into()),
            Judgement::NotRecovered => Finding::Open("it had not recovered when the run ended".into()),
            Judgement::RecoveryUntold => Finding::Open("whether it recovered cannot be said".into()),
            Judgement::Unknown => Finding::Open("this run does not measure it".into()),
        }
    }

    /// Whether a limit on failures is missed by those alone that no slowness of the generator explains.
    fn fails_by_server(&self, objective: &Objective) -> bool {
        let low = self.estimate.as_ref().and_then(Estimate::interval).map(|ends| ends.0);
        objective.metric == "error_ratio" && low.is_some_and(|low| !objective.met(low * self.failed_by_server))
    }

    /// That a time would meet the objective without the generator's lateness, where it would.
    fn own_lateness(&self, objective: &Objective) -> Option<String> {
        let estimate = self.estimate.as_ref().filter(|_| objective.is_of_a_time())?;
        let (low, value) = (estimate.interval().map(|ends| ends.0).or(estimate.value())?, estimate.value()?);
        objective.met(low - self.lateness_s).then(|| {
            format!(
                "up to {:.3} of the {:.3} are the generator's own lateness",
                Span::from_secs_f64(self.lateness_s),
                Span::from_secs_f64(value)
            )
        })
    }
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Every run in its order, those too short to decide included.
    pub trials: Vec<Trial>,
    /// The highest rate that was seen to hold (1/s).
    pub holds: Option<f64>,
    /// The lowest above it that was not: at which it was seen not to hold, or that could not be decided ([`Seen`] tells which).
    pub fails: Option<f64>,
    /// Whether it ran to its end.
    pub complete: bool,
}

impl Found {
    /// Whether lower rates will not do either: what is asked for is not measured, or nothing is decided whatever the
    /// rate.
    fn is_hopeless(&self) -> bool {
        let last = |count: usize| self.trials.iter().rev().take(count);
        let open = |trial: &Trial| matches!(trial.finding, Finding::Open(_)) && !trial.may_be_longer();
        let unknown = |trial: &Trial| trial.judgement == Judgement::Unknown;
        last(1).any(unknown) || (self.trials.len() >= OPEN_MAX && last(OPEN_MAX).all(open))
    }

    /// Whether the last run had too few samples, and a higher rate, which has more, was not seen to fail.
    fn is_starved(&self) -> bool {
        let empty = |trial: &Trial| trial.measured.doubts.iter().any(|doubt| doubt.cause == Cause::Nothing);
        let starved = |trial: &Trial| match trial.judgement {
            Judgement::NoInterval | Judgement::TooFew => true,
            // More requests get no better reply than few, but more than none.
            Judgement::NoSample => empty(trial),
            _ => false,
        };
        self.fails.is_none() && self.trials.last().is_some_and(starved)
    }
}

/// A rate is doubled or halved no more often than this: a factor of a million.
const OCTAVES: u32 = 20;
/// So many runs one after another that decide nothing, at ever lower rates, say that it is not the rate.
const OPEN_MAX: usize = 3;
/// How many times as long as asked a run may become.
const STRETCHES: [u32; 3] = [1, 2, 4];
/// The most of these.
pub const STRETCH_MOST: u32 = STRETCHES[STRETCHES.len() - 1];

/// Searches by asking `run` for a run at a rate (1/s), so many times as long as usual. It gives none when it was
/// interrupted; what is known by then is kept.
///
/// # Errors
/// The first one of `run`.
pub fn search<E>(
    objective: &Objective,
    how: Search,
    run: &mut dyn FnMut(f64, u32) -> Result<Option<Measured>, E>,
) -> Result<Found, E> {
    assert!(how.start > 0.0 && how.within > 0.0, "a search starts somewhere and ends some day: {how:?}");
    let mut found = Found::default();
    let mut rate = how.start;
    for _ in 0..=OCTAVES {
        let Some(holds) = try_rate(objective, rate, run, &mut found)? else { return Ok(found) };
        match (found.holds, found.fails) {
            (Some(_), Some(_)) => break,
            _ if !holds && found.is_hopeless() => {
                found.complete = true;
                return Ok(found);
            }
            _ => rate = if holds || found.is_starved() { rate * 2.0 } else { rate / 2.0 },
        }
    }
    while let (Some(low), Some(high)) = (found.holds, found.fails) {
        if high <= low * (1.0 + how.within) {
            break;
        }
        if try_rate(objective, (low * high).sqrt(), run, &mut found)?.is_none() {
            return Ok(found);
        }
    }
    found.complete = true;
    Ok(found)
}

/// Whether the objective is seen to hold at `rate`; none when interrupted.
fn try_rate<E>(
    objective: &Objective,
    rate: f64,
    run: &mut dyn FnMut(f64, u32) -> Result<Option<Measured>, E>,
    found: &mut Found,
) -> Result<Option<bool>, E> {
    for stretch in STRETCHES {
        let Some(measured) = run(rate, stretch)? else { return Ok(None) };
        let trial = Trial::of(objective, rate, stretch, measured);
        let longer = trial.may_be_longer();
        found.trials.push(trial);
        if !longer {
            break;
        }
    }
    let holds = found.trials.last().is_some_and(Trial::holds);
    if found.holds.is_none() && found.is_starved() {
        return Ok(Some(false));
    }
    let end = if holds { &mut found.holds } else { &mut found.fails };
    *end = Some(end.map_or(rate, |known| if holds { known.max(rate) } else { known.min(rate) }));
    Ok(Some(holds))
}

/// How much of the objective's metric may be the generator's own lateness (s): of a mean the mean, of all others what
/// 99 % of the requests stay below.
fn lateness_s(objective: &Objective, report: &Report) -> f64 {
    let lateness_ns = match objective.metric.ends_with("_mean") {
        true => report.lateness.mean(),
        false => report.lateness.quantile(0.99).map(|ns| ns as f64),
    };
    lateness_ns.unwrap_or(0.0) * 1e-9
}

/// Of the requests that failed, the share that no trouble of the generator explains.
fn failed_by_server(counts: &Counts) -> f64 {
    let Counts { refused, reset, closed_early, protocol, redirects, client_error, server_error, check, .. } = *counts;
    let own = refused + reset + closed_early + protocol + redirects + client_error + server_error + check;
    own as f64 / counts.wrong().max(1) as f64
}

/// A rate with about four digits.
pub fn number(rate: f64) -> String {
    let digits = (3 - rate.abs().max(1e-9).log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{rate:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// What a run says about an objective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Whether it was seen to hold.
    pub is_met: bool,
    /// Whether it does and, where it does not or cannot be decided, why.
    pub words: String,
}

/// What `report` says about `objective`, its doubts weighed as a search weighs them.
pub fn judge(objective: &Objective, report: &Report) -> Judged {
    let measured = Measured::from_report(objective, report);
    let (judgement, finding) = measured.judge(objective);
    let hindrance = measured.hindrance(objective, judgement);
    let is_met = finding == Finding::Holds;
    let Pace { offered, asked, .. } = report.pace;
    let most = asked.unwrap_or(offered);
    let is_planned = report.gaps.is_some() && report.objects.is_none();
    // Whatever else there is to doubt.
    let words = match (judgement, finding) {
        (Judgement::Holds, Finding::Holds) => match objective.leaves_out(&report.measures) {
            Some(left_out) => format!("{judgement}; {left_out}"),
            None => judgement.to_string(),
        },
        _ if is_planned && objective.is_beyond(most) => {
            format!("MISSED: no more than {} is offered", quantity(most, "1/s").replace('\u{a0}', " "))
        }
        (Judgement::Fails, _) if is_of_good_replies(objective) && has_no_reply(&report.measured) => {
            "MISSED: no request got a good reply".into()
        }
        (Judgement::Holds | Judgement::Fails, Finding::Open(why)) => format!("UNDECIDED: {why}"),
        _ => match (hindrance, measured.enough(objective, judgement, report)) {
            (Some(why), _) => format!("UNDECIDED: {why}"),
            (None, Some(enough)) => format!("{judgement}: {enough}"),
            (None, None) => judgement.to_string(),
        },
    };
    Judged { is_met, words }
}

/// Whether it asks for good replies: so many in a second, or that few are not.
fn is_of_good_replies(objective: &Objective) -> bool {
    objective.is_beyond(0.0) || (objective.metric == "error_ratio" && objective.below)
}

/// Whether requests were made and none of them got a good reply, for a reason that is not the generator's.
fn has_no_reply(counts: &Counts) -> bool {
    let Counts { ok, planned, local, missed, .. } = *counts;
    ok == 0 && planned > 0 && local + missed == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server whose p99 (s) is 1/(1000 - rate), known within a share `noise` of itself.
    fn server(noise: f64) -> impl FnMut(f64, u32) -> Result<Option<Measured>, ()> {
        move |rate, stretch| {
            let value = if rate < 1000.0 { 1.0 / (1000.0 - rate) } else { 10.0 };
            let half = value * noise / f64::from(stretch);
            let estimate = Estimate::Sampled { value, ci_low: value - half, ci_high: value + half, samples: 1000 };
            Ok(Some(measured(estimate, 0.0)))
        }
    }

    fn measured(estimate: Estimate, lateness_s: f64) -> Measured {
        let (estimate, failed_by_server, bears_failures) = (Some(estimate), 0.0, false);
        Measured { estimate, lateness_s, failed_by_server, bears_failures, outdone: None, doubts: Vec::new() }
    }

    fn doubt(cause: Cause, text: &str) -> Doubt {
        Doubt { cause, text: text.into() }
    }

    fn p99() -> Objective {
        // Holds up to 900 /s.
        Objective::parse("p99 < 10 ms").unwrap()
    }

    #[test]
    fn the_bracket_holds_the_truth_wherever_the_search_starts() {
        for start in [0.5, 100.0, 899.0, 901.0, 64_000.0] {
            let found = search(&p99(), Search { start, within: 0.02 }, &mut server(0.0)).unwrap();
            let (low, high) = (found.holds.unwrap(), found.fails.unwrap());
            assert!(low < 900.0 && high >= 900.0 && high <= low * 1.02 && found.complete, "{start}: {found:?}");
            assert!(found.trials.len() < 30, "{}", found.trials.len());
        }
    }

    /// Four rates that hold, one that does not, and six bisections of a factor of two, whose 64th root is below 1.02.
    #[test]
    fn a_search_ends_as_soon_as_the_bracket_is_narrow_enough() {
        let found = search(&p99(), Search { start: 100.0, within: 0.02 }, &mut server(0.0)).unwrap();
        assert_eq!(found.trials.len(), 11, "{found:?}");
    }

    #[test]
    fn a_run_that_cannot_decide_is_made_longer_and_then_does_not_hold() {
        let found = search(&p99(), Search { start: 100.0, within: 0.02 }, &mut server(0.5)).unwrap();
        assert!(found.holds.unwrap() < 900.0, "what was found was seen to hold");
        let stretched: Vec<&Trial> = found.trials.iter().filter(|trial| trial.stretch == 4).collect();
        assert!(!stretched.is_empty());
        assert!(stretched.iter().any(|trial| !trial.holds() && trial.words().contains("inside the interval")));
    }

    #[test]
    fn runs_of_another_load_do_not_hold_and_are_not_repeated() {
        let mut good = server(0.5);
        let mut run = |rate: f64, stretch| {
            let mut measured = good(rate, stretch)?.unwrap();
            if rate > 500.0 {
                measured.doubts.push(doubt(Cause::Missed, "7 requests were not sent"));
            }
            Ok::<_, ()>(Some(measured))
        };
        let found = search(&p99(), Search { start: 100.0, within: 0.02 }, &mut run).unwrap();
        assert!(found.holds.unwrap() <= 500.0 && found.fails.unwrap() > 500.0);
        let suspect: Vec<&Trial> = found.trials.iter().filter(|trial| trial.rate > 500.0).collect();
        assert!(suspect.iter().all(|trial| trial.stretch == 1 && trial.words().contains("7 requests were not sent")));
    }

    /// What a run of p99 = 5 ms give or take 1 ms says about `objective` with a doubt of `cause`.
    fn weighed(objective: &str, lateness_s: f64, cause: Option<Cause>) -> Finding {
        let objective = Objective::parse(objective).unwrap();
        let estimate = Estimate::Sampled { value: 5e-3, ci_low: 4e-3, ci_high: 6e-3, samples: 1000 };
        let mut measured = measured(estimate, lateness_s);
        measured.doubts.extend(cause.map(|cause| doubt(cause, "why")));
        Trial::of(&objective, 1.0, 1, measured).finding
    }

    #[test]
    fn a_doubt_is_weighed_against_the_objective() {
        let open = |why: &str| Finding::Open(why.into());
        let later = [Cause::Late, Cause::Unnoticed, Cause::Emission, Cause::Shortfall];
        let slower = [Cause::Busy, Cause::RunQueue, Cause::Cores, Cause::Stolen, Cause::Queued];
        let other = [Cause::Nothing, Cause::Missed, Cause::Plan, Cause::Start, Cause::Errors];
        for cause in later.into_iter().chain(slower).chain([Cause::LostRecords]) {
            assert_eq!(weighed("p99 < 50 ms", 1e-3, Some(cause)), Finding::Holds, "{cause:?} adds to what is met");
        }
        for cause in other {
            assert_eq!(weighed("p99 < 50 ms", 0.0, Some(cause)), open("why"), "{cause:?}");
        }
        for cause in slower {
            assert_eq!(weighed("p99 < 2 ms", 0.0, Some(cause)), open("why"), "{cause:?} may be why it is missed");
        }
        assert_eq!(weighed("p99 < 2 ms", 0.0, Some(Cause::Errors)), Finding::Fails, "what failed was no faster");
        // The lower end without the lateness decides, whether or not that was a doubt of the run.
        for cause in later.into_iter().map(Some).chain([None]) {
            assert_eq!(weighed("p99 < 2 ms", 1e-3, cause), Finding::Fails, "3 ms are left of it");
            let why = "up to 2.5 ms of the 5 ms are the generator's own lateness";
            assert_eq!(weighed("p99 < 2 ms", 2.5e-3, cause), open(why), "1.5 ms are left");
        }
    }

    #[test]
    fn a_limit_from_below_is_weighed_the_other_way_round() {
        let open = Finding::Open("why".into());
        assert_eq!(weighed("p99 > 2 ms", 0.0, Some(Cause::Late)), open, "lateness helps to be late");
        assert_eq!(weighed("p99 > 50 ms", 1.0, Some(Cause::Late)), Finding::Fails, "and still it is not");
        assert_eq!(weighed("p99 > 50 ms", 0.0, Some(Cause::Busy)), Finding::Fails, "though the server may look slower");
        assert_eq!(weighed("throughput < 0.001 /s", 0.0, Some(Cause::Busy)), Finding::Fails, "it is quicker than that");
        assert_eq!(weighed("p99 > 50 ms", 0.0, Some(Cause::Plan)), open, "of another load it says nothing");
        // Throughput: 0.005 /s.
        assert_eq!(weighed("throughput > 0.001 /s", 1.0, Some(Cause::Busy)), Finding::Holds);
        assert_eq!(weighed("throughput > 1 /s", 1.0, Some(Cause::Shortfall)), open);
        assert_eq!(weighed("throughput > 1 /s", 0.0, Some(Cause::Busy)), open);
        assert_eq!(weighed("throughput > 1 /s", 1.0, None), Finding::Fails);
        assert_eq!(weighed("throughput < 1 /s", 0.0, Some(Cause::Shortfall)), open);
        // Errors are what is judged.
        assert_eq!(weighed("error_ratio < 1%", 0.0, Some(Cause::Errors)), Finding::Holds);
        assert_eq!(weighed("error_ratio < 0.1%", 0.0, Some(Cause::Errors)), Finding::Fails);
        assert_eq!(weighed("denied_ratio < 1%", 0.0, Some(Cause::Errors)), Finding::Holds);
        assert_eq!(weighed("abandoned_ratio < 1%", 0.0, Some(Cause::Errors)), open);
        let never = Estimate::Sampled { value: 0.0, ci_low: 0.0, ci_high: 0.0, samples: 99 };
        let measured = Measured { doubts: vec![doubt(Cause::Errors, "why")], ..measured(never, 0.0) };
        let judged = measured.judge(&Objective::parse("abandoned_ratio < 1%").unwrap());
        assert_eq!(judged, (Judgement::Holds, Finding::Holds), "without patience no client leaves");
    }

    /// Of the requests 4 % timed out: half of all are known to be quicker, and of the slowest hundredth nothing is. What these do
    /// to a percentile is told once, by the objective.
    #[test]
    fn requests_without_an_answer_leave_a_low_percentile_known() {
        let found = |text: &str, outdone: Option<&str>, estimate: Estimate| {
            let objective = Objective::parse(text).unwrap();
            let doubts = vec![doubt(Cause::Errors, "8 of 200 requests failed")];
            let (bears_failures, outdone) = (objective.bears(0.04), outdone.map(str::to_owned));
            let measured = Measured { bears_failures, outdone, doubts, ..measured(estimate, 0.0) };
            let (judgement, _) = measured.judge(&objective);
            let hindrance = measured.hindrance(&objective, judgement);
            let trial = Trial::of(&objective, 1.0, 1, measured);
            let may_be_longer = trial.may_be_longer();
            (trial.finding, hindrance, may_be_longer)
        };
        let around = |value: f64| Estimate::Sampled { value, ci_low: 0.9 * value, ci_high: 1.1 * value, samples: 999 };
        let open = |why: &str| Finding::Open(why.into());
        assert_eq!(found("p50 < 10 ms", None, around(0.005)).0, Finding::Holds);
        assert_eq!(found("p50 < 10 ms", Some("it may be 11 ms"), around(0.009)).0, open("it may be 11 ms"));
        for other in ["p99 < 10 ms", "mean < 10 ms", "throughput < 1 /s"] {
            assert_eq!(found(other, None, around(0.005)).0, open("8 of 200 requests failed"), "{other}");
        }
        assert_eq!(found("p50 < 1 ms", None, around(0.005)).0, Finding::Fails, "they were no quicker");
        // A longer run tells of p50, and not of p99.
        let (_, hindrance, may_be_longer) = found("p50 < 10 ms", None, around(0.01));
        assert_eq!((hindrance, may_be_longer), (None, true));
        let (_, hindrance, may_be_longer) = found("p99 < 10 ms", None, around(0.01));
        assert_eq!((hindrance.as_deref(), may_be_longer), (Some("8 of 200 requests failed"), false));
    }

    #[test]
    fn a_number_without_an_interval_says_why_it_has_none() {
        let bare =
            Estimate::WithoutInterval { value: 0.1, samples: 9, why: sojourn_stats::measure::NoInterval::TooShort };
        let (_, finding) = measured(bare, 0.0).judge(&p99());
        assert_eq!(finding, Finding::Open("the estimate has no interval (too short a run)".into()));
    }

    /// A generator short of processor time may let requests time out; it makes no server refuse them.
    #[test]
    fn what_a_server_refused_is_no_trouble_of_the_generator() {
        let objective = Objective::parse("error_ratio < 1%").unwrap();
        let finding = |failed_by_server, cause| {
            let estimate = Estimate::Sampled { value: 0.5, ci_low: 0.4, ci_high: 0.6, samples: 1000 };
            Measured { failed_by_server, doubts: vec![doubt(cause, "why")], ..measured(estimate, 0.0) }
                .judge(&objective)
                .1
        };
        assert_eq!(finding(1.0, Cause::Cores), Finding::Fails);
        assert_eq!(finding(0.03, Cause::Cores), Finding::Fails, "0.4 of it are 1.2 %");
        assert_eq!(finding(0.02, Cause::Cores), Finding::Open("why".into()), "0.4 of it are 0.8 %");
        assert_eq!(finding(1.0, Cause::Missed), Finding::Open("why".into()), "of another load");
        let counts = Counts { planned: 10, ok: 4, refused: 3, timeout: 2, server_error: 1, ..Counts::default() };
        assert_eq!(failed_by_server(&counts), 4.0 / 6.0);
    }

    /// Where requests waited for a connection a longer run tells no more, and that is said in place of "measure longer".
    #[test]
    fn what_hinders_a_measurement_is_said_instead_of_measuring_longer() {
        let hindrance = |objective: &str, cause| {
            let measured = measured(Estimate::TooFew { samples: 3 }, 0.0);
            let measured = Measured { doubts: vec![doubt(cause, "why")], ..measured };
            measured.hindrance(&Objective::parse(objective).unwrap(), Judgement::TooFew)
        };
        assert_eq!(hindrance("p99 < 1 s", Cause::Queued), Some("why".into()));
        assert_eq!(hindrance("p99 < 1 s", Cause::Errors), Some("why".into()));
        assert_eq!(hindrance("error_ratio < 1%", Cause::Errors), None, "they are what is asked for");
        assert_eq!(hindrance("p99 < 1 s", Cause::Cores), None);
    }

    #[test]
    fn a_late_generator_does_not_end_the_search_where_the_objective_is_met() {
        // Fast enough at any rate, and late by half of what is measured at every one.
        let mut late = |_, _| {
            let estimate = Estimate::Sampled { value: 4e-4, ci_low: 3e-4, ci_high: 5e-4, samples: 1000 };
            let doubts = vec![doubt(Cause::Unnoticed, "53 % of the mean is lateness")];
            Ok::<_, ()>(Some(Measured { doubts, ..measured(estimate, 2e-4) }))
        };
        let found = search(&p99(), Search { start: 500.0, within: 0.1 }, &mut late).unwrap();
        assert!(found.fails.is_none() && found.holds.unwrap() > 1e6, "{found:?}");
        // A limit that is as short as the lateness cannot be decided, and lower rates do not mend it.
        let tight = Objective::parse("p99 < 0.25 ms").unwrap();
        let found = search(&tight, Search { start: 500.0, within: 0.1 }, &mut late).unwrap();
        assert_eq!((found.trials.len(), found.holds), (3, None), "{found:?}");
        assert!(found.trials.iter().all(|trial| trial.words().contains("own lateness")), "{found:?}");
    }

    #[test]
    fn what_lower_rates_cannot_mend_ends_the_search() {
        let mut unmeasured = |_, _| Ok::<_, ()>(Some(Measured { estimate: None, ..measured(TOO_FEW, 0.0) }));
        let found = search(&p99(), Search { start: 64.0, within: 0.1 }, &mut unmeasured).unwrap();
        assert_eq!((found.trials.len(), found.complete, found.holds), (1, true, None), "given up at once");
        let mut good = server(0.0);
        let mut suspect = |rate, stretch| {
            let doubts = vec![doubt(Cause::Plan, "the gaps do not follow the law")];
            Ok::<_, ()>(Some(Measured { doubts, ..good(rate, stretch)?.unwrap() }))
        };
        let found = search(&p99(), Search { start: 64.0, within: 0.1 }, &mut suspect).unwrap();
        assert_eq!((found.trials.len(), found.fails), (3, Some(16.0)));
    }

    #[test]
    fn what_is_undecided_is_repeated_unless_it_was_another_load() {
        // From 4 to 6 ms.
        let runs = |cause| {
            let estimate = Estimate::Sampled { value: 5e-3, ci_low: 4e-3, ci_high: 6e-3, samples: 1000 };
            let measured = Measured { doubts: vec![doubt(cause, "why")], ..measured(estimate, 0.0) };
            let mut found = Found::default();
            let limit = Objective::parse("p99 < 5 ms").unwrap();
            try_rate(&limit, 1.0, &mut |_, _| Ok::<_, ()>(Some(measured.clone())), &mut found).unwrap();
            found.trials.iter().map(|trial| trial.stretch).collect::<Vec<_>>()
        };
        assert_eq!((runs(Cause::Late), runs(Cause::Missed)), (vec![1, 2, 4], vec![1]));
    }

    const TOO_FEW: Estimate = Estimate::TooFew { samples: 7 };

    #[test]
    fn a_rate_with_too_few_samples_leads_to_a_higher_one() {
        let mut good = server(0.0);
        let mut starved = |rate: f64, stretch: u32| match rate * f64::from(stretch) < 400.0 {
            true => Ok::<_, ()>(Some(measured(TOO_FEW, 0.0))),
            false => good(rate, stretch),
        };
        let found = search(&p99(), Search { start: 20.0, within: 0.1 }, &mut starved).unwrap();
        assert!(found.holds.unwrap() < 900.0 && found.fails.unwrap() >= 900.0, "{found:?}");
        assert!(found.trials[..6].iter().all(|trial| trial.rate < 50.0 && trial.words().contains("too few samples")));
        // At no rate are there enough.
        let mut never = |_, _| Ok::<_, ()>(Some(measured(TOO_FEW, 0.0)));
        let found = search(&p99(), Search { start: 20.0, within: 0.1 }, &mut never).unwrap();
        assert!((found.complete, found.holds, found.fails) == (true, None, None), "{found:?}");
    }

    #[test]
    fn what_always_or_never_holds_has_an_open_bracket_and_an_interruption_keeps_what_is_known() {
        let never = Objective::parse("p99 < 1 ns").unwrap();
        let found = search(&never, Search { start: 1.0, within: 0.1 }, &mut server(0.0)).unwrap();
        assert!(found.complete && found.holds.is_none() && found.trials.len() == 21, "{found:?}");
        let always = Objective::parse("p99 < 1 h").unwrap();
        let found = search(&always, Search { start: 1.0, within: 0.1 }, &mut server(0.0)).unwrap();
        assert!(found.complete && found.fails.is_none() && found.holds.unwrap() > 1e6);
        let (mut left, mut good) = (4, server(0.0));
        let mut run = |rate, stretch| {
            left -= 1;
            if left == 0 { Ok(None) } else { good(rate, stretch) }
        };
        let found = search(&p99(), Search { start: 100.0, within: 0.1 }, &mut run).unwrap();
        assert_eq!((found.complete, found.holds, found.trials.len()), (false, Some(400.0), 3));
    }
}
