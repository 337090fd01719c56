//! Queues side by side of which each job joins the shortest: `M/M/4-JSQ`; `JSQ(2)` joins the shorter of two drawn ones.
//!
//! That is no queue of Kendall's but a system of servers behind a dispatcher, and formulas and the simulator answer it as
//! one: under the policies `least-connections` and `power-of-d`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sojourn_model::system::{Face, Tier};
use sojourn_model::{Demand, Discipline, Server, System};
use sojourn_sim::{Control, Progress, Report, WarmUp};
use sojourn_stats::{Law, Measure};
use sojourn_theory::Answer;
use sojourn_theory::formula::general::relaxation::relaxation_time_s;
use sojourn_theory::queue::{Queue, UNLIMITED};
use sojourn_theory::system::{self, ArrivalKind};
use sojourn_traffic::{Arrivals, Open, Sizes, Workload};

use super::{QueueSettings, gaps_law, never_settles, service_law, settled, wrong};
use crate::error::SpecError;
use crate::heavy::Work;

/// Queues side by side.
pub(super) struct Shortest {
    /// The same with one queue for all servers.
    pub(super) joint: Queue,
    policy: String,
}

impl Shortest {
    /// What `text` says; none where it is another queue.
    pub(super) fn read(text: &str) -> Result<Option<Shortest>, SpecError> {
        let Some((queue, order)) = text.split_once('-') else { return Ok(None) };
        let order = order.trim().to_ascii_uppercase();
        // What goes on with a letter is another word, `JSQQ`.
        let behind = order.strip_prefix("JSQ").filter(|rest| !rest.starts_with(char::is_alphabetic));
        let Some(drawn) = behind.map(str::trim) else { return Ok(None) };
        let inside = drawn.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).map(str::trim);
        let policy = match (drawn, inside.map(str::parse::<u32>)) {
            ("", _) => "least-connections".to_owned(),
            (_, Some(Ok(drawn @ 1..))) => format!("power-of-d(d = {drawn})"),
            (_, Some(_)) => {
                return Err(wrong(format!(
                    "`{text}`: JSQ(2) draws two and joins the shorter; it takes a whole number of at least 1"
                )));
            }
            // `JSQ2` is written `JSQ(2)`.
            (digits, None) if digits.parse::<u32>().is_ok() => {
                return Err(wrong(format!("`{text}`: did you mean `{queue}-JSQ({digits})`?")));
            }
            _ => {
                return Err(wrong(format!(
                    "`{text}`: after the dash JSQ, or JSQ(2), stands alone: each of the queues is served in order of arrival"
                )));
            }
        };
        // Of a queue without a number of servers all of the text tells what was meant.
        let parts = queue.split('/').filter(|part| !part.trim().is_empty()).count();
        let has_servers = parts > 2 || queue.ends_with(|c: char| c.is_ascii_digit());
        let joint = Queue::parse(if has_servers { queue } else { text }).map_err(wrong)?;
        if joint.capacity.is_some() || joint.population.is_some() || joint.servers == UNLIMITED {
            return Err(wrong(format!(
                "`{text}`: queues side by side have a number of servers and nothing more, e.g. M/M/4-JSQ"
            )));
        }
        let servers = joint.servers;
        let drawn = inside.and_then(|drawn| drawn.parse::<u32>().ok());
        if let Some(drawn) = drawn.filter(|drawn| *drawn > servers) {
            return Err(wrong(format!(
                "`{text}`: {drawn} cannot be drawn of {servers}; `JSQ` looks at all, `JSQ({servers})` too"
            )));
        }
        // The shortest of one is that one: formulas know it by its other name.
        let policy = if servers == 1 || drawn == Some(1) { "random".to_owned() } else { policy };
        Ok(Some(Shortest { joint, policy }))
    }

    /// The laws of the jobs; refuses what only one queue has.
    fn laws<'a>(&self, settings: &'a QueueSettings) -> Result<(Arrivals, Law, &'a str), SpecError> {
        let more = [
            ("--class", !settings.classes.is_empty()),
            ("--size", !settings.sizes.is_empty()),
            ("--all", settings.all),
            ("--predict", settings.predict.is_some()),
            ("--trace", settings.trace.is_some() || settings.columns.is_some()),
        ];
        if let Some((option, _)) = more.iter().find(|(_, is_given)| *is_given) {
            let queue = &settings.queue;
            return Err(wrong(format!("{queue}: queues side by side take no {option}; leave it out")));
        }
        let (Some(arrivals), Some(service)) = (&settings.arrivals, &settings.service) else {
            return Err(wrong(format!("{}: queues side by side take --arrivals and --service", settings.queue)));
        };
        let law = service_law("--service", service)?;
        let arrivals = settled("--arrivals", arrivals, &self.joint, &law)?;
        self.joint.check_laws(arrivals.law(), &law).map_err(wrong)?;
        Ok((arrivals, law, service))
    }

    fn servers(&self, service: &str) -> Result<Vec<Server>, SpecError> {
        let demand = Demand::parse(service).map_err(|e| wrong(format!("--service: {e}")))?;
        let demand = vec![(String::new(), demand)];
        let server = Server {
            discipline: Discipline::Fcfs,
            cores: 1,
            speed: 1.0,
            demand,
            capacity: None,
            drops_overflow: false,
            machine: None,
        };
        Ok(vec![server; self.joint.servers as usize])
    }

    pub(super) fn theory(&self, settings: &QueueSettings) -> Result<Answer, SpecError> {
        let (_, law, service) = self.laws(settings)?;
        let arrivals = settings.arrivals.as_deref().unwrap_or_default();
        let gaps = gaps_law("--arrivals", arrivals, &self.joint, &law)?;
        let servers = self.servers(service)?;
        let policy = Some(self.policy.as_str());
        let asked = system::System { policy, ..system::System::new(ArrivalKind::Open { gaps: &gaps }, &servers, &law) };
        let mut answer = system::answer(&asked).map_err(|fault| wrong(self.in_own_words(&fault.to_string())))?;
        answer.notes.iter_mut().for_each(|note| *note = self.in_own_words(note));
        if self.joint.servers > 1 && answer.measures.iter().any(|measure| measure.metric.starts_with("number_")) {
            answer.notes.push(format!("the numbers of jobs are of all {} queues together", self.joint.servers));
        }
        Ok(answer)
    }

    /// What formulas and the simulator say, in the words of who asks about a queue: they know it as a dispatcher's policy, and
    /// of its length as a setting of an experiment.
    fn in_own_words(&self, message: &str) -> String {
        let message = message.replace("max_jobs = ", "--jobs ").replace("max_jobs", "--jobs");
        let message = message.replace("`warm_up = ", "`--warm-up ");
        let policy = self.policy.split('(').next().unwrap_or_default();
        if policy == "random" {
            return message;
        }
        let order = if self.policy == policy { "JSQ" } else { "JSQ(d)" };
        message.replace(policy, order)
    }

    pub(super) fn sim(
        &self,
        settings: &QueueSettings,
        cancel: &Arc<AtomicBool>,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Report, SpecError> {
        let (arrivals, law, service) = self.laws(settings)?;
        let servers = self.joint.servers;
        let rate = arrivals.rate().unwrap_or(0.0);
        let utilization = rate * law.mean() / f64::from(servers);
        if utilization >= 1.0 {
            return Err(wrong(format!("{}, or add servers", never_settles(utilization, rate))));
        }
        // A queue that is drawn without a look at the others forgets as slowly as one alone.
        let together = if self.policy == "random" { 1 } else { servers };
        let relaxation = arrivals
            .gaps()
            .map(|gaps| rate * relaxation_time_s(gaps.scv(), law.scv(), law.mean(), together, utilization));
        let system = System::balanced(Tier::new(Face::Gateway, &self.policy), self.servers(service)?);
        let sizes = Sizes::Law(Law::constant(0.0));
        let workload = Workload::Open(Open { arrivals, clients: 1, sizes, patience: None });
        let control = Control {
            seed: settings.seed,
            warm_up: settings.warm_up.map_or(WarmUp::Auto, WarmUp::Requests),
            precision: None,
            max_jobs: settings.jobs,
            threads: settings.threads(),
            relaxation: relaxation.filter(|jobs| jobs.is_finite()).map(|jobs| jobs.ceil() as u64),
            cancel: Some(Arc::clone(cancel)),
            ..Control::default()
        };
        let mut report = sojourn_sim::run(&system, &workload, &control, &|now: Progress| progress(now.jobs))
            .map_err(|fault| wrong(self.in_own_words(&fault.to_string())))?;
        report.notes.iter_mut().for_each(|note| *note = self.in_own_words(note));
        Work::of_queue(law, &Discipline::Fcfs, false, servers, utilization).withhold(&mut report);
        // Little's law: the rate is known, and no job is lost.
        let response = report.measures.iter().find(|measure| measure.metric == "response_time_mean");
        let number = response.map(|measure| measure.estimate.scaled(rate));
        report.measures.extend(number.map(|estimate| Measure::new("number_in_system_mean", "1", estimate)));
        // No client gives up here, and no job is denied.
        report.measures.retain(|measure| !["error_ratio", "abandoned_ratio"].contains(&measure.metric.as_str()));
        Ok(report)
    }
}
