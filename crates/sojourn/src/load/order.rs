//! From flags to a load: an order is all that a process needs to know to put its part of a load on a server.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sojourn_load::{Allowed, Load, Pacing, Schedule, Stop, Targets, Url};
use sojourn_stats::{Dimension, Law, Span, Stream, quantity};
use sojourn_traffic::{Arrivals, Closed, Demand, Http, Open, Plan, Script, Sessions, Site, Sizes, Visitor, Workload};

use super::flags::Flags;
use crate::exit::{Failure, bad_input};

/// A run that is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    /// What is loaded.
    pub(crate) url: String,
    /// With what.
    pub(crate) flags: Flags,
    /// What a search, a scan or a comparison changes from run to run.
    pub(crate) tuning: Tuning,
}

/// Changes to the flags.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tuning {
    /// The rate of the open load (1/s); the law of the gaps keeps its shape.
    pub(crate) rate: Option<f64>,
    /// The connections.
    pub(crate) connections: Option<u32>,
    /// The closed users.
    pub(crate) users: Option<u32>,
    /// So many times as long, but for the warm-up; 0 is as asked.
    pub(crate) stretch: u32,
    /// Added to the seed.
    pub(crate) round: u64,
}

impl Order {
    /// An order as asked for.
    pub(crate) fn new(url: &str, flags: &Flags) -> Order {
        Order { url: url.to_owned(), flags: flags.clone(), tuning: Tuning::default() }
    }

    /// The same with other numbers.
    pub(crate) fn tuned(&self, tuning: Tuning) -> Order {
        Order { tuning, ..self.clone() }
    }

    /// The load that was ordered.
    pub(crate) fn load(&self) -> Result<Load, Failure> {
        let flags = &self.flags;
        let url = Url::parse(&self.url).map_err(bad_input)?;
        let target = url.resolve().map_err(bad_input)?;
        let work = flags.size.is_some() || flags.demand.is_some();
        let site = flags.site.as_deref().map(Site::read).transpose().map_err(bad_input)?.map(Arc::new);
        let targets = match &site {
            _ if work => Targets::Work,
            Some(site) => Targets::Paths(below(&url.path, site.paths())),
            None => Targets::Fixed(url.path.clone()),
        };
        let stretch = self.tuning.stretch.max(1);
        let warm_up = span("--warm-up", &flags.warm_up)?;
        let stop = match flags.requests {
            Some(requests) => Stop::Requests(requests * u64::from(stretch)),
            None => {
                let asked = span("--duration", &flags.duration)?;
                let measured = asked.0.saturating_sub(warm_up.0);
                Stop::After(asked + Span(measured * u64::from(stretch - 1)))
            }
        };
        let headers = flags.headers.iter().map(|header| match header.split_once(':') {
            Some((name, value)) => Ok((name.trim().to_string(), value.trim().to_string())),
            None => Err(bad_input(format!("--header {header}: write it as `name: value`"))),
        });
        Ok(Load {
            headers: headers.collect::<Result<_, _>>()?,
            cookies: flags.cookies,
            connections_max: self.connections(),
            threads: flags.threads.max(1),
            pacing: if flags.spin { Pacing::Spin } else { Pacing::Timer },
            timeout: span("--timeout", &flags.timeout)?,
            warm_up,
            stop,
            allowed: if flags.yes_i_may { Allowed::Anywhere } else { Allowed::Private },
            ..Load::new(target, url.authority(), self.schedule(work, site)?, targets)
        })
    }

    /// The rate of the open load (1/s); none of a closed one.
    pub(crate) fn rate(&self) -> Result<Option<f64>, Failure> {
        Ok(self.arrivals()?.and_then(|arrivals| arrivals.rate()))
    }

    fn connections(&self) -> u32 {
        self.tuning.connections.unwrap_or(self.flags.connections)
    }

    fn seed(&self) -> u64 {
        self.flags.seed.wrapping_add(self.tuning.round)
    }

    fn schedule(&self, work: bool, site: Option<Arc<Site>>) -> Result<Schedule, Failure> {
        let flags = &self.flags;
        let seed = self.seed();
        let sizes = match &flags.size {
            Some(text) => Sizes::parse(text).map_err(|e| bad_input(format!("--size: {e}")))?,
            None => Sizes::Law(Law::constant(0.0)),
        };
        let demand = law("--demand", flags.demand.as_deref().unwrap_or("0 s"), Dimension::Time)?;
        let demand: Arc<dyn Demand> =
            Arc::new(move |_: u8, _: u64, stream: &mut Stream| Span::from_secs_f64(demand.sample(stream)));
        let patience = flags.patience.as_deref().map(|text| law("--patience", text, Dimension::Time)).transpose()?;
        let users = self.tuning.users.or(flags.users);
        if let (Some(users), Some(site)) = (users, site) {
            let sessions = Sessions { patience, ..sessions(flags, users, site)? };
            Workload::Sessions(sessions.clone()).check().map_err(bad_input)?;
            let http = sessions.keep_alive().map_or(Http::V10, |keep_alive| Http::V11 { keep_alive });
            let visitors = (0..users).map(|user| Visitor::new(&sessions, user, seed, Arc::clone(&demand)));
            return Ok(Schedule::sessions(visitors, sessions.parallel, http));
        }
        if let Some(users) = users {
            let think = law("--think", flags.think.as_deref().unwrap_or("0 s"), Dimension::Time)?;
            let closed = Closed { users, think, sizes, patience };
            return Ok(Schedule::users((0..users).map(|user| Script::new(&closed, user, seed, Arc::clone(&demand)))));
        }
        let Some(arrivals) = self.arrivals()? else {
            if work || patience.is_some() {
                return Err(bad_input(
                    "--size, --demand and --patience need a plan: give --rate, --arrivals or --users",
                ));
            }
            return Ok(Schedule::saturate(self.connections()));
        };
        let workload = Workload::Open(Open { arrivals, clients: 1000, sizes, patience });
        Plan::new(&workload, seed, demand).map(Schedule::open).map_err(bad_input)
    }

    /// The arrivals of an open load, at the tuned rate.
    fn arrivals(&self) -> Result<Option<Arrivals>, Failure> {
        let arrivals = match (&self.flags.rate, &self.flags.arrivals) {
            (Some(rate), _) => {
                let rate = quantity::parse(rate, Dimension::Rate).map_err(|e| bad_input(format!("--rate: {e}")))?;
                if rate <= 0.0 {
                    return Err(bad_input("--rate: a rate is above 0, e.g. '100 /s'"));
                }
                Arrivals::of(Law::constant(1.0 / rate))
            }
            (None, Some(text)) => Arrivals::parse(text).map_err(|e| bad_input(format!("--arrivals: {e}")))?,
            (None, None) => return Ok(None),
        };
        if arrivals.utilization().is_some() {
            return Err(bad_input(
                "--arrivals: what the server can do is not known here; give a rate, e.g. `rate = 100 /s`",
            ));
        }
        Ok(Some(match (self.tuning.rate, arrivals.law(), arrivals.rate()) {
            (Some(tuned), Some(law), Some(rate)) => Arrivals::of(law.scaled(rate / tuned)),
            _ => arrivals,
        }))
    }
}

/// The site's paths where the site is not at the server's root.
fn below(folder: &str, paths: &[String]) -> Vec<String> {
    let folder = folder.trim_end_matches('/');
    paths.iter().map(|path| format!("{folder}{path}")).collect()
}

/// SURGE's users, but for what the flags say.
fn sessions(flags: &Flags, users: u32, site: Arc<Site>) -> Result<Sessions, Failure> {
    let mut sessions = Sessions::surge(users, site);
    if let Some(think) = &flags.think {
        sessions.think = law("--think", think, Dimension::Time)?;
    }
    if let Some(length) = &flags.session_length {
        sessions.length = law("--session-length", length, Dimension::Number)?;
    }
    if let Some(keep_alive) = &flags.keep_alive {
        sessions.http = Http::V11 { keep_alive: span("--keep-alive", keep_alive)? };
    }
    match flags.http.as_deref() {
        None | Some("1.1") => {}
        Some("1.0") if flags.keep_alive.is_some() => {
            return Err(bad_input("--keep-alive: HTTP/1.0 keeps no connection; leave it out, or use --http 1.1"));
        }
        Some("1.0") => sessions.http = Http::V10,
        Some(other) => return Err(bad_input(format!("--http {other}: expected 1.0 or 1.1"))),
    }
    sessions.parallel = flags.parallel.unwrap_or(sessions.parallel);
    sessions.time_scale = flags.time_scale.unwrap_or(sessions.time_scale);
    Ok(sessions)
}

fn law(flag: &str, text: &str, dimension: Dimension) -> Result<Law, Failure> {
    Law::parse(text, dimension).map_err(|e| bad_input(format!("{flag}: {e}")))
}

/// A time that a flag says.
pub(crate) fn span(flag: &str, text: &str) -> Result<Span, Failure> {
    let seconds = quantity::parse(text, Dimension::Time).map_err(|e| bad_input(format!("{flag}: {e}")))?;
    Ok(Span::from_secs_f64(seconds))
}
