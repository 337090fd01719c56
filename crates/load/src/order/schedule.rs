//! Who asks when: the arrivals, users, sessions and scenarios that the flags ask for.

use std::sync::Arc;

use sojourn_stats::{Dimension, Law, Span, Stream, quantity};
use sojourn_traffic::{
    Arrivals, Closed, Demand, Http, Open, Plan, Profile, Script, SessionList, Sessions, Site, Sizes, Trace, Traced,
    Visitor, Workload, Wsess,
};

use super::flag::{invalid, law, span};
use super::{LoadSettings, Order};
use crate::error::LoadError;
use crate::{Coming, Scenarios, Schedule, Stop, Version};

impl Order {
    pub(super) fn schedule(
        &self,
        work: bool,
        site: Option<Arc<Site>>,
        written: Option<Sessions>,
        stop: Stop,
    ) -> Result<Schedule, LoadError> {
        let flags = &self.settings;
        let seed = self.seed();
        let sizes = match &flags.size {
            Some(text) => Sizes::parse(text).map_err(|e| invalid(format!("--size: {e}")))?,
            None => Sizes::Law(Law::constant(0.0)),
        };
        let demand = law("--demand", flags.demand.as_deref().unwrap_or("0 s"), Dimension::Time)?;
        let demand: Arc<dyn Demand> =
            Arc::new(move |_: u8, _: u64, stream: &mut Stream| Span::from_secs_f64(demand.sample(stream)));
        let patience = flags.patience.as_deref().map(|text| law("--patience", text, Dimension::Time)).transpose()?;
        let users = self.tuning.users.or(flags.users);
        let browsing = match (users, site) {
            (Some(users), Some(site)) => Some(sessions(flags, users, site)?),
            _ => written,
        };
        if let Some(sessions) = browsing {
            let (sessions, users) = (Sessions { patience, ..sessions.clone() }, sessions.users);
            Workload::Sessions(sessions.clone()).check().map_err(invalid)?;
            let http = sessions.keep_alive().map_or(Http::V10, |keep_alive| Http::V11 { keep_alive });
            let visitors = (0..users).map(|user| Visitor::new(&sessions, user, seed, Arc::clone(&demand)));
            return Ok(Schedule::sessions(visitors, sessions.parallel, http));
        }
        if let Some(users) = users {
            let think = law("--think", flags.think.as_deref().unwrap_or("0 s"), Dimension::Time)?;
            let closed = Closed { users, think, sizes, patience };
            return Ok(Schedule::users((0..users).map(|user| Script::new(&closed, user, seed, Arc::clone(&demand)))));
        }
        if let Some(path) = &flags.trace {
            let trace = Arc::new(Trace::read(path).map_err(invalid)?);
            // The speed factor is the scale that a search or a scan would vary; --scan says that it cannot.
            let (path, speed, repeat) = (path.clone(), flags.speed, flags.repeat);
            let traced = Traced { trace, path, speed, repeat, clients: 1000, sizes, patience };
            let workload = Workload::Trace(traced);
            workload.check().map_err(invalid)?;
            return Plan::new(&workload, seed, demand).map(Schedule::open).map_err(invalid);
        }
        let Some(mut arrivals) = self.arrivals()? else {
            if work || patience.is_some() {
                return Err(invalid(
                    "--size, --demand and --patience need a plan: give --rate, --arrivals, --trace or --users",
                ));
            }
            return Ok(Schedule::saturate(self.connections()));
        };
        reach(&mut arrivals, stop);
        let workload = Workload::Open(Open { arrivals, clients: 1000, sizes, patience });
        Plan::new(&workload, seed, demand).map(Schedule::open).map_err(invalid)
    }

    /// The sessions that a file or --wsess writes down.
    pub(super) fn written(&self, path: &str) -> Result<Option<Sessions>, LoadError> {
        let flags = &self.settings;
        let (list, count, think) = match (&flags.sessions_file, &flags.wsess, flags.sessions) {
            (Some(file), _, Some(count)) => (SessionList::read(file).map_err(invalid)?, count, Law::constant(0.0)),
            (_, Some(text), _) => {
                let wsess = Wsess::parse(text).map_err(|error| invalid(format!("--wsess: {error}")))?;
                (SessionList::uniform(wsess.calls, path), wsess.sessions, wsess.think)
            }
            _ => return Ok(None),
        };
        if let Some(call) = list.calls().iter().find(|call| call.method != "GET" || !call.contents.is_empty()) {
            let what = format!("{} {}", call.method, call.path);
            return Err(invalid(format!(
                "--sessions-file: `{what}`: here all calls of sessions are GET without a body"
            )));
        }
        let arrivals = self.arrivals()?.expect("checked: sessions come at a rate");
        let mut sessions = Sessions::written(list, count, arrivals, think, &Law::constant(0.0), self.seed())
            .map_err(|error| invalid(format!("--arrivals: {error}")))?;
        sessions.parallel = flags.parallel.unwrap_or(sessions.parallel);
        if self.http()? == Version::Http10 {
            sessions.http = Http::V10;
        }
        Ok(Some(sessions))
    }

    /// The scenarios, their paths below `folder`.
    pub(super) fn scenarios(&self, folder: &str) -> Result<Option<Scenarios>, LoadError> {
        match self.settings.scenario.as_slice() {
            [] => Ok(None),
            files => Scenarios::read(files).map(|read| Some(read.below(folder))).map_err(invalid),
        }
    }

    /// Who follows them: users who come back, or who come by a plan; as many as there are connections where neither
    /// is said.
    pub(super) fn passes(&self, scenarios: Scenarios, stop: Stop) -> Result<Schedule, LoadError> {
        let coming = match self.arrivals()? {
            None => Coming::Users(self.tuning.users.or(self.settings.users).unwrap_or(self.connections())),
            Some(mut arrivals) => {
                reach(&mut arrivals, stop);
                let open = Open { arrivals, clients: 1, sizes: Sizes::Law(Law::constant(0.0)), patience: None };
                let no_demand: Arc<dyn Demand> = Arc::new(|_: u8, _: u64, _: &mut Stream| Span::ZERO);
                let plan = Plan::new(&Workload::Open(open), self.seed(), no_demand).map_err(invalid)?;
                Coming::Plan(Box::new(plan))
            }
        };
        Ok(Schedule::Scenarios { scenarios: Arc::new(scenarios), coming })
    }

    /// The arrivals of an open load, at the tuned rate.
    pub(super) fn arrivals(&self) -> Result<Option<Arrivals>, LoadError> {
        let arrivals = match (&self.settings.rate, &self.settings.arrivals) {
            (Some(rate), _) => {
                let rate = quantity::parse(rate, Dimension::Rate).map_err(|e| invalid(format!("--rate: {e}")))?;
                if rate <= 0.0 {
                    return Err(invalid("--rate: a rate is above 0, e.g. '100 /s'"));
                }
                Arrivals::of(Law::constant(1.0 / rate))
            }
            (None, Some(text)) => Arrivals::parse(text).map_err(|e| invalid(format!("--arrivals: {e}")))?,
            (None, None) => return Ok(None),
        };
        if arrivals.utilization().is_some() {
            return Err(invalid(
                "--arrivals: what the server can do is not known here; give a rate, e.g. `rate = 100 /s`",
            ));
        }
        let arrivals = match self.tuning.rate {
            Some(tuned) => arrivals
                .at_rate(tuned)
                .ok_or_else(|| invalid("--arrivals: batches have no rate that a search or a scan could vary"))?,
            None => arrivals,
        };
        let profile = self.settings.profile.as_deref().map(Profile::parse).transpose();
        Ok(Some(match profile.map_err(|error| invalid(format!("--profile: {error}")))? {
            Some(profile) => arrivals.with_profile(profile),
            None => arrivals,
        }))
    }
}

/// Lets arrivals with long memory reach the end of the load.
pub(super) fn reach(arrivals: &mut Arrivals, stop: Stop) {
    match stop {
        Stop::Requests(requests) => arrivals.reach(requests),
        Stop::After(end) => arrivals.reach_until(end),
    }
}

/// The site's paths where the site is not at the server's root.
pub(super) fn below(folder: &str, paths: &[String]) -> Vec<String> {
    let folder = folder.trim_end_matches('/');
    paths.iter().map(|path| format!("{folder}{path}")).collect()
}

/// SURGE's users, but for what the flags say.
fn sessions(flags: &LoadSettings, users: u32, site: Arc<Site>) -> Result<Sessions, LoadError> {
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
        Some("1.0") if flags.keep_alive.is_some() => {
            return Err(invalid("--keep-alive: HTTP/1.0 keeps no connection; leave it out, or use --http 1.1"));
        }
        Some("1.0") => sessions.http = Http::V10,
        _ => {}
    }
    sessions.parallel = flags.parallel.unwrap_or(sessions.parallel);
    sessions.time_scale = flags.time_scale.unwrap_or(sessions.time_scale);
    Ok(sessions)
}
