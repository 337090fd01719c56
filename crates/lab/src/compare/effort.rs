//! What it takes to see a difference, in what a user can give: further runs, further replications, a sharper precision.
//!
//! "25 times as much" is nothing that one can ask for. What a run folder has of its experiment tells what is: a live run has a
//! length, and so have replications of the simulator where the file gives it; else they are as long as a precision or `max_jobs`
//! has them. Where two runs were not made alike, only how many times as long they have to be is said.

use std::fmt;

use sojourn_stats::{Dimension, quantity};

use super::{Comparison, How, MOST_MORE, WORTH_SEEING};
use crate::answer::{Answers, VariantAnswers};
use crate::report::number::{Short, two_digits};
use crate::spec::{Engine, Live, Run, parse_precision};

/// What the numbers of both sides of a comparison were made of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Spent {
    /// It is not known, or was not the same.
    #[default]
    Unknown,
    /// Rounds of a run of A and one of B.
    Rounds {
        /// How long each run was to be.
        each: Length,
    },
    /// One live run of each, or what was simulated of it.
    Runs {
        /// How long it was (s).
        each_s: f64,
    },
    /// Replications that have a length.
    Replications {
        /// That length (s); none where it is that of a log or a trace.
        each_s: Option<f64>,
    },
    /// Replications that are as long as it takes.
    Requests {
        /// The relative half-width that was asked for; none: as many requests as are allowed.
        precision: Option<f64>,
        /// How many requests were measured.
        requests: f64,
        /// How many are allowed.
        max_jobs: f64,
    },
    /// A log.
    Log,
}

/// How long a run was to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// So many seconds.
    Seconds(f64),
    /// So many requests.
    Requests(u64),
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Length::Seconds(seconds) => f.write_str(&time(*seconds)),
            Length::Requests(1) => f.write_str("1 request"),
            Length::Requests(requests) => write!(f, "{requests} requests"),
        }
    }
}

impl Spent {
    /// What both have in common.
    #[must_use]
    pub(super) fn and(self, other: Spent) -> Spent {
        use Spent::{Requests, Unknown};
        match (self, other) {
            (
                Requests { precision, requests, max_jobs },
                Requests { precision: of_other, requests: by_other, max_jobs: allowed },
            ) if precision == of_other && max_jobs == allowed => {
                Requests { precision, requests: requests.max(by_other), max_jobs }
            }
            (one, other) if one == other => one,
            _ => Unknown,
        }
    }
}

/// What an experiment says of how long it is run.
pub(super) struct Stated {
    /// None where there is no one experiment, as of several runs on one page.
    spec: Option<toml::Table>,
}

impl Stated {
    /// By the experiment of `run`.
    pub(super) fn by(run: &Answers) -> Stated {
        Stated { spec: toml::from_str(&run.spec).ok().filter(|spec: &toml::Table| !spec.is_empty()) }
    }

    /// What `engine` had of this variant.
    pub(super) fn spent(&self, variant: &VariantAnswers, engine: Engine) -> Spent {
        let Some(spec) = &self.spec else { return Spent::Unknown };
        let says = |key: &str| variant.setting(key).map(str::to_owned).or_else(|| written(spec, key));
        let seconds = |text: &str| quantity::parse(text, Dimension::Time).ok();
        let spent = match engine {
            Engine::Theory => None,
            Engine::Log => Some(Spent::Log),
            Engine::Live | Engine::Twin => {
                let length = says("run.live.duration");
                let each_s = length.map_or(Some(Live::DURATION_S), |text| seconds(&text));
                each_s.map(|each_s| Spent::Runs { each_s })
            }
            Engine::Sim => match says("run.duration") {
                Some(text) => seconds(&text).map(|each_s| Spent::Replications { each_s: Some(each_s) }),
                None if ["log", "trace"].contains(&says("workload.kind").unwrap_or_default().as_str()) => {
                    Some(Spent::Replications { each_s: None })
                }
                None => {
                    let precision = match says("run.precision").as_deref() {
                        None => Some(Some(Run::PRECISION.relative)),
                        Some("none") => Some(None),
                        Some(text) => parse_precision(text.split(" of ").next().unwrap_or_default())
                            .map(|precision| Some(precision.relative)),
                    };
                    let max_jobs = match says("run.max_jobs") {
                        None => Some(Run::MAX_JOBS as f64),
                        Some(text) => text.replace('_', "").parse().ok(),
                    };
                    let measured = variant.estimate(engine, "response_time_mean").and_then(|of| of.samples());
                    let requests = measured.unwrap_or(0) as f64;
                    precision.zip(max_jobs).map(|(precision, max_jobs)| Spent::Requests {
                        precision,
                        requests,
                        max_jobs,
                    })
                }
            },
        };
        spent.unwrap_or_default()
    }
}

/// The value at a path of an experiment: `run.live.duration`.
fn written(spec: &toml::Table, key: &str) -> Option<String> {
    let (tables, key) = key.rsplit_once('.')?;
    let table = tables.split('.').try_fold(spec, |table, name| table.get(name)?.as_table())?;
    Some(match table.get(key)? {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

impl Comparison {
    /// [`Comparison::more`] in what a user can give; none where it is out of reach.
    pub(super) fn in_what_is_given(&self) -> Option<String> {
        // By how many times as many requests, whatever the number of pairs would be.
        if let Spent::Requests { precision, requests, max_jobs } = self.spent
            && self.times() <= MOST_MORE
        {
            return Some(more_requests(self.times(), precision, requests, max_jobs));
        }
        let (more, further) = (self.more?, self.further());
        Some(match (self.spent, further) {
            (Spent::Rounds { each }, Some(further)) => {
                format!("{} of two runs of {each}", counted(further, "more round"))
            }
            (Spent::Runs { each_s }, Some(further)) => {
                format!("{} of {} of both", counted(further, "more run"), time(each_s))
            }
            (Spent::Replications { each_s }, Some(further)) => {
                let length = each_s.map_or(String::new(), |each_s| format!(" of {}", time(each_s)));
                format!("{}{length} of both", counted(further, "more replication"))
            }
            (Spent::Replications { .. }, None) => format!("{} times as many replications", Short(more)),
            (Spent::Requests { .. }, _) => return None,
            (Spent::Log, _) => format!("logs {} times as long", Short(more)),
            (_, Some(further)) => counted(further, "more pair"),
            (_, None) => format!("runs {} times as long", Short(more)),
        })
    }

    /// The same where it is out of reach: more than a number of it.
    pub(super) fn out_of_reach(&self) -> String {
        let what = match (self.spent, self.how) {
            (Spent::Rounds { each }, How::Pairs(_)) => format!("rounds of two runs of {each}"),
            (Spent::Runs { each_s }, _) => format!("runs of {} of both", time(each_s)),
            (Spent::Replications { .. }, How::Pairs(_)) => "replications of both".to_owned(),
            (Spent::Replications { .. }, _) => return format!("more than {MOST_MORE} times as many replications"),
            (Spent::Log, _) => return format!("logs more than {MOST_MORE} times as long"),
            (Spent::Unknown, How::Pairs(_)) => "pairs".to_owned(),
            _ => return format!("runs more than {MOST_MORE} times as long"),
        };
        format!("more than {MOST_MORE} more {what}")
    }

    /// How many more of what was counted it takes; none where that is not counted, or is more than so many.
    fn further(&self) -> Option<f64> {
        let more = self.more?;
        let of = |count: usize| ((more - 1.0) * count as f64).ceil().max(1.0);
        let further = match (self.how, self.spent) {
            (How::Pairs(_), _) => Some(more),
            (How::Samples(a, b), Spent::Replications { .. }) => (a == b).then(|| of(a)),
            (How::Estimates, Spent::Runs { .. }) => Some(of(1)),
            _ => None,
        };
        further.filter(|further| *further <= MOST_MORE)
    }

    /// How many times as much of everything it takes: an error shrinks with the root of what was measured.
    fn times(&self) -> f64 {
        let seen = self.could_have_seen.unwrap_or(0.0);
        (seen.ln_1p() / WORTH_SEEING.ln_1p()).powi(2).max(1.0)
    }

    /// Where a user asks for it, in brackets, or what else would do.
    pub(super) fn asked_for(&self) -> Option<String> {
        let further = self.further();
        Some(match (self.spent, self.how) {
            (Spent::Rounds { .. }, How::Pairs(pairs)) => {
                format!(" (--rounds {:.0}).", pairs as f64 + further?)
            }
            (Spent::Runs { each_s }, _) => {
                format!(" (or one of {} in place of them all: `run.live.duration`).", time(each_s * (1.0 + further?)))
            }
            (Spent::Replications { .. }, How::Pairs(count) | How::Samples(count, _)) => {
                format!(" (`run.replications = {:.0}`).", count as f64 + further?)
            }
            _ => return None,
        })
    }
}

/// A sharper precision, and more requests where so many are not allowed.
fn more_requests(times: f64, precision: Option<f64>, requests: f64, max_jobs: f64) -> String {
    // What was stopped by the number of requests was not as precise as was asked.
    let allowed =
        |requests: f64| format!("`max_jobs` of {:.0} in place of {max_jobs:.0}", two_digits(requests, f64::ceil));
    let Some(precision) = precision else { return allowed(max_jobs * times) };
    let sharper = two_digits(100.0 * precision / times.sqrt(), f64::floor);
    let told = format!("a precision of {} % in place of {} %", Short(sharper), Short(100.0 * precision));
    match requests * times > max_jobs {
        true => format!("{told}, and {}", allowed(requests * times)),
        false => told,
    }
}

/// `12 more runs`.
fn counted(count: f64, what: &str) -> String {
    format!("{count:.0} {what}{}", if count == 1.0 { "" } else { "s" })
}

fn time(seconds: f64) -> String {
    quantity::format(seconds, Dimension::Time)
}

#[cfg(test)]
mod tests {
    use sojourn_stats::{Estimate, Measure};

    use super::super::{advice, runs};
    use super::*;
    use crate::answer::Answer;

    /// A run of this experiment with a mean response time by `engine`, give or take a fifth, of these replications.
    fn run(spec: &str, seed: u64, engine: Engine, mean: f64, replications: &[f64]) -> Answers {
        let estimate = Estimate::Sampled { value: mean, ci_low: 0.8 * mean, ci_high: 1.2 * mean, samples: 9 };
        let mut answer = Answer::new(engine);
        answer.measures = vec![Measure::new("response_time_mean", "s", estimate)];
        if !replications.is_empty() {
            let values = replications.iter().copied().map(Some).collect();
            answer.replications = vec![("response_time_mean".into(), values)];
        }
        let variant = VariantAnswers { answers: vec![answer], ..VariantAnswers::default() };
        Answers { spec: spec.into(), seed, variants: vec![variant], ..Answers::default() }
    }

    /// What is said in the table and below it of two runs of these experiments.
    fn told(a: &Answers, b: &Answers) -> (String, String) {
        let all = runs(a, b).unwrap();
        (all[0].metrics[0].takes().unwrap(), advice(&all[0].metrics).concat())
    }

    const LIVE: &str = "[run.live]\nduration = \"40 s\"\n";

    /// Half of the interval of the ratio is 0.288; to see 10 % four times in five it is to be 18.7 times as long.
    #[test]
    fn live_runs_are_told_in_runs() {
        let of = |spec: &str, engine| run(spec, 1, engine, 0.1, &[]);
        let takes = "to see 10 % takes 18 more runs of 40 s of both";
        let below = "To see 10 % of response_time_mean takes 18 more runs of 40 s of both (or one of 760 s in place of them all: \
                     `run.live.duration`)."
            .to_owned();
        for engine in [Engine::Live, Engine::Twin] {
            assert_eq!(told(&of(LIVE, engine), &of(LIVE, engine)), (takes.into(), below.clone()));
        }
        let usual = "[system]\nservers = 1\n";
        let takes = told(&of(usual, Engine::Live), &of(usual, Engine::Live)).0;
        assert_eq!(takes, "to see 10 % takes 18 more runs of 15 s of both", "15 s are what it is without a word");
        let takes = told(&of(LIVE, Engine::Live), &of(usual, Engine::Live)).0;
        assert_eq!(takes, "to see 10 % takes runs 19 times as long", "they were not alike");
        // What a page of several runs has.
        assert_eq!(told(&of("", Engine::Live), &of("", Engine::Live)).0, "to see 10 % takes runs 19 times as long");
        let takes = told(&of(LIVE, Engine::Log), &of(LIVE, Engine::Log)).0;
        assert_eq!(takes, "to see 10 % takes logs 19 times as long");
    }

    /// One pair more sees it, by the numbers of `each_number_is_that_of_its_formula`; two samples of 3 take 37.3 times as many.
    #[test]
    fn replications_that_have_a_length_are_told_in_replications() {
        let of = |spec: &str, seed, values: &[f64]| run(spec, seed, Engine::Sim, 20.0, values);
        let minute = "[run]\nduration = \"1 min\"\nprecision = \"none\"\n";
        let (a, b) = ([10.0, 20.0, 30.0], [11.0, 23.0, 32.0]);
        let takes = "to see 10 % takes 1 more replication of 60 s of both";
        let below =
            "To see 10 % of response_time_mean takes 1 more replication of 60 s of both (`run.replications = 4`).";
        assert_eq!(told(&of(minute, 1, &a), &of(minute, 1, &b)), (takes.into(), below.into()));
        let log = "[workload]\nkind = \"log\"\nlog = \"x\"\n";
        assert_eq!(told(&of(log, 1, &a), &of(log, 1, &b)).0, "to see 10 % takes 1 more replication of both");
        let (a, b) = ([10.0, 12.0, 14.0], [11.0, 12.0, 13.0]);
        let (takes, below) = told(&of(minute, 1, &a), &of(minute, 2, &b));
        assert_eq!(takes, "to see 10 % takes 109 more replications of 60 s of both");
        assert!(below.ends_with("(`run.replications = 112`)."), "{below}");
        // Of different numbers of them.
        let takes = told(&of(minute, 1, &[10.0, 12.0, 14.0, 12.0]), &of(minute, 2, &b)).0;
        assert!(takes.ends_with(" times as many replications"), "{takes}");
    }

    /// The same pair sees it with 1.51 times as many requests: 5 % over the root of that are 4.07 %.
    #[test]
    fn replications_as_long_as_it_takes_are_told_by_what_makes_them_longer() {
        let (a, b) = ([10.0, 20.0, 30.0], [11.0, 23.0, 32.0]);
        let told = |spec: &str| {
            let of = |values: &[f64]| run(spec, 1, Engine::Sim, 20.0, values);
            told(&of(&a), &of(&b)).0
        };
        let sharper = "to see 10 % takes a precision of 4.0 % in place of 5.0 %";
        assert_eq!(told("[system]\nservers = 1\n"), sharper, "without a word");
        assert_eq!(told("[run]\nprecision = \"5% at 95% of mean\"\n"), sharper);
        // 9 requests were measured.
        assert_eq!(told("[run]\nmax_jobs = 10\n"), format!("{sharper}, and `max_jobs` of 14 in place of 10"));
        let more = "to see 10 % takes `max_jobs` of 1600 in place of 1000";
        assert_eq!(told("[run]\nprecision = \"none\"\nmax_jobs = 1_000\n"), more);
    }

    /// A variant says itself how long it is, and two of a run that differ in that are not alike.
    #[test]
    fn a_variant_has_its_own_length() {
        let minute = "[run]\nduration = \"1 min\"\n";
        let of = |length: &str| VariantAnswers {
            settings: vec![("run.duration".into(), length.into())],
            ..VariantAnswers::default()
        };
        let stated = Stated::by(&run(minute, 1, Engine::Sim, 1.0, &[]));
        let spent = |variant: &VariantAnswers| stated.spent(variant, Engine::Sim);
        assert_eq!(spent(&of("2 min")), Spent::Replications { each_s: Some(120.0) });
        assert_eq!(spent(&of("2 min")).and(spent(&VariantAnswers::default())), Spent::Unknown);
        assert_eq!(spent(&of("soon")), Spent::Unknown, "nothing is made up");
    }

    /// Beyond 10,000 no number is told, in no unit; of what is counted together neither.
    #[test]
    fn what_is_out_of_reach_has_no_number() {
        let pairs: Vec<(f64, f64)> = (0..20).map(|k| if k % 2 == 0 { (1.0, 36.6) } else { (36.6, 1.0) }).collect();
        let paired = Comparison::of_pairs("throughput", "1/s", &pairs).unwrap();
        let of = |value: f64| Estimate::Sampled { value, ci_low: 1e-4 * value, ci_high: 1.9 * value, samples: 9 };
        let alone = Comparison::of_estimates("throughput", "1/s", &of(10.0), &of(11.0)).unwrap();
        let apart: Vec<f64> = (0..20).map(|k| if k % 2 == 0 { 1.0 } else { 221.0 }).collect();
        let samples = Comparison::of_samples("throughput", "1/s", &apart, &apart).unwrap();
        let (rounds, runs) = (Spent::Rounds { each: Length::Seconds(40.0) }, Spent::Runs { each_s: 40.0 });
        let replications = Spent::Replications { each_s: Some(60.0) };
        for (of, spent, takes) in [
            (&paired, rounds, "more than 10000 more rounds of two runs of 40 s"),
            (&paired, replications, "more than 10000 more replications of both"),
            (&paired, Spent::Unknown, "more than 10000 more pairs"),
            (&alone, runs, "more than 10000 more runs of 40 s of both"),
            (&alone, Spent::Log, "logs more than 10000 times as long"),
            (&alone, Spent::Unknown, "runs more than 10000 times as long"),
        ] {
            let of = Comparison { spent, ..of.clone() };
            assert_eq!(of.takes().unwrap(), format!("to see 10 % takes {takes}"));
            assert_eq!(advice(&[of]), [format!("No difference was seen of throughput: to see 10 % takes {takes}.")]);
        }
        // 700 times as many: of 20, that are 14,000.
        let takes = Comparison { spent: replications, ..samples }.takes().unwrap();
        assert!(takes.ends_with(" times as many replications") && !takes.contains("more than"), "{takes}");
    }

    /// Rounds of two servers measured in turns.
    #[test]
    fn rounds_are_told_as_rounds() {
        let pairs = [(10.0, 11.0), (20.0, 23.0), (30.0, 32.0)];
        let of = Comparison::of_pairs("throughput", "1/s", &pairs).unwrap();
        assert_eq!(advice(std::slice::from_ref(&of)), ["To see 10 % of throughput takes 1 more pair."]);
        let told = |each: Length| advice(&[Comparison { spent: Spent::Rounds { each }, ..of.clone() }]).remove(0);
        let takes = "To see 10 % of throughput takes 1 more round of two runs of";
        assert_eq!(told(Length::Seconds(40.0)), format!("{takes} 40 s (--rounds 4)."));
        assert_eq!(told(Length::Requests(400)), format!("{takes} 400 requests (--rounds 4)."));
    }
}
