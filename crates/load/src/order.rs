//! From settings to a load: an order is all that a process needs to know to run its share of a load.
//!
//! What a user wrote wrong is [`LoadError::Invalid`], in one line with the flag's name.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sojourn_model::system::{Backoff, Budget, Hedge, Retries, Rules};
use sojourn_stats::config::ConfigFile;
use sojourn_stats::{Dimension, Law, Measure, Span, Stream, input, meant_aside, quantity};
use sojourn_traffic::{
    Arrivals, Closed, Demand, Http, Open, Plan, Profile, Script, SessionList, Sessions, Site, Sizes, Trace, Traced,
    Visitor, Workload, Wsess,
};

pub use self::settings::LoadSettings;
use crate::error::LoadError;
use crate::generator::load::AS_NEEDED;
use crate::records::RecordFile;
use crate::{
    Allowed, Attempts, Body, Coming, Limits, Load, Method, Pacing, Resolves, Rotation, Scenarios, Schedule, Stop,
    Targets, Template, Tls, Url, UrlList, Version,
};

mod settings;

/// Connections where none are asked for.
const CONNECTIONS: u32 = 32;

/// A run that is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// What is loaded.
    pub urls: Vec<String>,
    /// With what.
    pub settings: LoadSettings,
    /// How much may be disturbed, read where the order is given.
    limits: Limits,
    /// What a search, a scan or a comparison changes from run to run.
    pub tuning: Tuning,
}

/// Changes to the flags.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Tuning {
    /// The rate of the open load (1/s); the law of the gaps keeps its shape.
    pub rate: Option<f64>,
    /// The connections.
    pub connections: Option<u32>,
    /// The closed users.
    pub users: Option<u32>,
    /// So many times as long, but for the warm-up; 0 is as asked.
    pub stretch: u32,
    /// Added to the seed.
    pub round: u64,
}

impl Order {
    /// An order as asked for.
    ///
    /// # Errors
    /// When a limit is none.
    pub fn new(urls: &[String], settings: &LoadSettings) -> Result<Order, LoadError> {
        let limits = limits(settings)?;
        Ok(Order { urls: urls.to_vec(), settings: settings.clone(), limits, tuning: Tuning::default() })
    }

    /// What is loaded, for a heading.
    pub fn name(&self) -> String {
        match (&self.urls[..], &self.settings.urls) {
            ([], Some(list)) => list.display().to_string(),
            ([one], _) => one.clone(),
            (several, _) => format!("{} and {} more", several[0], several.len() - 1),
        }
    }

    /// The same with other numbers.
    pub fn tuned(&self, tuning: Tuning) -> Order {
        Order { tuning, ..self.clone() }
    }

    /// The load that was ordered.
    ///
    /// # Errors
    /// What is wrong with it, in one line with the flag's name.
    pub fn load(&self) -> Result<Load, LoadError> {
        let flags = &self.settings;
        self.check()?;
        let urls = self.urls.iter().map(|url| Url::parse(url).map_err(invalid)).collect::<Result<Vec<_>, _>>()?;
        let list = flags.urls.as_deref().map(|path| UrlList::read(path, urls.first()).map_err(invalid)).transpose()?;
        let folder = urls.first().map_or("/", |url| url.path.as_str());
        let written = self.written(folder)?;
        let scenarios = self.scenarios(folder)?;
        let work = flags.size.is_some() || flags.demand.is_some();
        let site = flags.site.as_deref().map(Site::read).transpose();
        let site = site.map_err(|e| invalid(format!("--site: {e}; `sojourn traffic site --out DIR` makes a site")))?;
        let site = site.map(Arc::new);
        let targets = match (&site, &written, &list) {
            _ if work => Targets::Work,
            _ if scenarios.is_some() => Targets::Fixed("/".into()),
            (Some(site), ..) => Targets::Paths(below(folder, site.paths())),
            (_, Some(written), _) if flags.wsess.is_some() => Targets::Paths(written.site.paths().to_vec()),
            (_, Some(written), _) => Targets::Paths(below(folder, written.site.paths())),
            (.., Some(list)) => list.targets.clone(),
            _ => Targets::Own,
        };
        let warm_up = span("--warm-up", &flags.warm_up)?;
        let stop = self.stop(warm_up)?;
        // What users, sessions and passes send hangs on the replies too: only a plan is held to the law of its gaps.
        let planned = flags.users.is_none() && written.is_none() && scenarios.is_none();
        let asked = self.arrivals()?.filter(|_| planned).and_then(|arrivals| arrivals.law().cloned());
        let schedule = match scenarios {
            Some(scenarios) => self.passes(scenarios, stop)?,
            None => self.schedule(work, site, written, stop)?,
        };
        let load = Load::to(&urls, schedule, targets);
        let load = if flags.address.is_empty() { load } else { load.rotated(&flags.address, Rotation::Client) };
        Ok(Load {
            endpoints: list.map_or(load.endpoints, |list| list.endpoints),
            proxy: self.proxy()?,
            rotation: self.rotation()?.unwrap_or(load.rotation),
            method: self.method()?,
            body: self.body()?,
            http: self.http()?,
            streams: flags.streams.unwrap_or(load.streams),
            tls: Tls { ca: flags.ca.clone(), insecure: flags.insecure, server_name: flags.server_name.clone() },
            resolver: flags.resolver.as_deref().map(resolver).transpose()?,
            resolves: resolves(&flags.resolves)?,
            redirects: flags.redirects,
            returns: flags.returns,
            local: flags.local.clone(),
            catch_up: span("--catch-up", &flags.catch_up)?,
            open_ahead: span("--open-ahead", &flags.open_ahead)?,
            seed: self.seed(),
            asked,
            record_file: flags.record.as_ref().map(RecordFile::new),
            limits: self.limits,
            headers: headers(&flags.headers)?,
            cookies: flags.cookies,
            connections_max: self.connections_max()?,
            threads: flags.threads,
            pacing: if flags.spin { Pacing::Spin } else { Pacing::Timer },
            timeout: span("--timeout", &flags.timeout)?,
            attempts: self.attempts()?,
            warm_up,
            stop,
            allowed: if flags.yes_i_may { Allowed::Anywhere } else { Allowed::Private },
            ..load
        })
    }

    /// What clients do when a reply does not come, where they do more than give the request up after `--timeout`.
    fn attempts(&self) -> Result<Option<Attempts>, LoadError> {
        let LoadSettings { retries, backoff, retry_budget, hedge, deadline, patience, .. } = &self.settings;
        if retry_budget.is_some() && retries.is_none() && hedge.is_none() {
            return Err(invalid("--retry-budget: it limits --retries and --hedge, and none is given"));
        }
        if retries.is_none() && hedge.is_none() && deadline.is_none() {
            return Ok(None);
        }
        if patience.is_some() {
            return Err(invalid("--patience: clients that ask more than once have a --deadline in its place"));
        }
        let read = |flag: &str, text: &Option<String>| {
            let text = text.as_deref().map(|text| span(flag, text).map(|span| (span, text))).transpose()?;
            match text {
                Some((Span::ZERO, _)) => Err(invalid(format!("{flag}: longer than 0, e.g. `{flag} '2 s'`"))),
                read => Ok(read.map(|(span, _)| span)),
            }
        };
        let (timeout, deadline) =
            (read("--timeout", &Some(self.settings.timeout.clone()))?, read("--deadline", deadline)?);
        // The default of one attempt is no reason to wait for longer than in all.
        let is_usual = self.settings.timeout == LoadSettings::TIMEOUT;
        if let (Some(timeout), Some(deadline), false) = (timeout, deadline, is_usual)
            && deadline < timeout
        {
            return Err(invalid(format!("--deadline: the time in all is not shorter than --timeout, {timeout}")));
        }
        let words = |flag: &'static str| move |right: String| invalid(format!("{flag}: {right}"));
        let backoff = backoff.as_deref().map(Backoff::parse).transpose().map_err(words("--backoff"))?;
        let budget = retry_budget.as_deref().map(Budget::parse).transpose().map_err(words("--retry-budget"))?;
        let hedge = hedge.as_deref().map(Hedge::parse).transpose().map_err(words("--hedge"))?;
        let longest = [timeout, deadline].into_iter().flatten().min();
        if let (Some(Hedge::After(after)), Some(longest)) = (hedge, longest)
            && after >= longest
        {
            return Err(invalid(format!("--hedge: no attempt is under way so long: it is given up after {longest}")));
        }
        if let (Some(hedge), Some(planned)) = (hedge, self.planned()?)
            && hedge.replies_needed() > planned
        {
            let (needed, asked) = (hedge.replies_needed(), self.settings.hedge.as_deref().unwrap_or_default());
            return Err(invalid(format!(
                "--hedge: {asked} is known after {needed} replies, and this run has {planned} requests: give a time, or run \
                 longer"
            )));
        }
        let retries = match retries {
            Some(0) => return Err(invalid("--retries 0: at least 1; leave it out for none")),
            Some(at_most) => Some(Retries { at_most: *at_most, backoff, budget }),
            // A hedge takes from the budget too.
            None => budget.map(|budget| Retries { at_most: 0, backoff: None, budget: Some(budget) }),
        };
        let rules = Rules { timeout, deadline, retries, hedge, ..Rules::default() };
        Ok(Some(Attempts::new(&rules, self.seed())))
    }

    /// How many requests there will be, as far as that is known before.
    fn planned(&self) -> Result<Option<u64>, LoadError> {
        match self.stop(span("--warm-up", &self.settings.warm_up)?)? {
            Stop::Requests(requests) => Ok(Some(requests)),
            Stop::After(end) => Ok(self.rate()?.map(|rate| (rate * end.as_secs_f64()) as u64)),
        }
    }

    /// When no more requests are planned.
    fn stop(&self, warm_up: Span) -> Result<Stop, LoadError> {
        let stretch = u64::from(self.tuning.stretch.max(1));
        if let Some(requests) = self.settings.requests {
            return Ok(Stop::Requests(requests * stretch));
        }
        let asked = span("--duration", &self.settings.duration)?;
        let measured = asked.0.saturating_sub(warm_up.0);
        Ok(Stop::After(asked + Span(measured * (stretch - 1))))
    }

    /// About how many requests a run will measure, those of its warm-up aside; none where that hangs on the replies.
    ///
    /// # Errors
    /// As [`Order::load`].
    pub fn measured(&self) -> Result<Option<f64>, LoadError> {
        let Some(rate) = self.open_arrivals()?.and_then(|arrivals| arrivals.rate()) else { return Ok(None) };
        let warm_up = span("--warm-up", &self.settings.warm_up)?;
        let planned = match self.stop(warm_up)? {
            Stop::Requests(requests) => requests as f64,
            Stop::After(end) => rate * end.as_secs_f64(),
        };
        Ok(Some((planned - rate * warm_up.as_secs_f64()).max(0.0)))
    }

    /// How long a run is to be, in words.
    pub fn length(&self) -> String {
        match self.settings.requests {
            Some(requests) => format!("{requests} requests"),
            None => self.settings.duration.clone(),
        }
    }

    /// The Hurst parameter of the first `requests` of the plan, where its arrivals have long memory.
    ///
    /// # Errors
    /// As [`Order::load`].
    pub fn hurst(&self, requests: u64) -> Result<Option<Measure>, LoadError> {
        Ok(self.open_arrivals()?.and_then(|arrivals| arrivals.hurst_of(self.seed(), requests)))
    }

    /// What to know of a run of so many requests, in sentences.
    ///
    /// # Errors
    /// As [`Order::load`].
    pub fn caveats(&self, requests: u64) -> Result<Vec<String>, LoadError> {
        Ok(self.open_arrivals()?.map_or(Vec::new(), |arrivals| arrivals.caveats("this run", requests)))
    }

    /// That requests for emulated work ask for none, where nothing says how much.
    pub fn no_work(&self) -> Option<&'static str> {
        let flags = &self.settings;
        (flags.size.is_some() && flags.demand.is_none()).then_some(
            "--size without --demand: each request asks the node for no work (0 s), whatever its own model says; --demand \
             says how much, e.g. --demand '5 ms'",
        )
    }

    /// The arrivals of an open load, as far as they will be drawn.
    fn open_arrivals(&self) -> Result<Option<Arrivals>, LoadError> {
        let flags = &self.settings;
        let of_sessions = flags.sessions_file.is_some() || flags.wsess.is_some() || !flags.scenario.is_empty();
        let open = flags.users.is_none() && !of_sessions;
        let Some(mut arrivals) = self.arrivals()?.filter(|_| open) else { return Ok(None) };
        reach(&mut arrivals, self.stop(span("--warm-up", &self.settings.warm_up)?)?);
        Ok(Some(arrivals))
    }

    /// The rate of the open load (1/s); none of a closed one.
    ///
    /// # Errors
    /// As [`Order::load`].
    pub fn rate(&self) -> Result<Option<f64>, LoadError> {
        Ok(self.arrivals()?.and_then(|arrivals| arrivals.rate()))
    }

    /// LoadSettings that contradict each other in ways that no single flag can know of.
    fn check(&self) -> Result<(), LoadError> {
        let flags = &self.settings;
        let open = flags.rate.is_some() || flags.arrivals.is_some();
        let version = self.http()?;
        let zero = [
            ("--threads", flags.threads == 0),
            ("--connections", flags.connections == Some(0)),
            ("--users", flags.users == Some(0)),
            ("--sessions", flags.sessions == Some(0)),
        ];
        if let Some((flag, _)) = zero.into_iter().find(|(_, is_zero)| *is_zero) {
            return Err(invalid(format!("{flag} 0: at least 1")));
        }
        match () {
            () if flags.record.as_deref().is_some_and(is_no_table) => {
                let path = flags.record.as_deref().unwrap_or(Path::new(""));
                let why = "records are written as CSV or Parquet: name a .csv or .parquet file";
                Err(invalid(format!("--record {}: {why}", path.display())))
            }
            () if flags.profile.is_some() && !open => {
                Err(invalid("--profile shapes a rate: give --rate or --arrivals"))
            }
            () if flags.streams.is_some() && version != Version::Http2 => {
                Err(invalid("--streams: only HTTP/2 has streams; say --http 2"))
            }
            () if !flags.address.is_empty() && self.urls.len() != 1 => {
                Err(invalid("--address: the addresses of one URL; several URLs have their own hosts"))
            }
            () if !flags.address.is_empty() && flags.proxy.is_some() => {
                Err(invalid("--address: with --proxy it is the proxy that connects to the URL's host; leave it out"))
            }
            () if (flags.sessions_file.is_some() || flags.wsess.is_some()) && !open => {
                Err(invalid("sessions come at a rate: give --rate or --arrivals, e.g. --rate '10 /s'"))
            }
            () if flags.sessions_file.is_some() && flags.sessions.is_none() => {
                Err(invalid("--sessions-file: say with --sessions how many come, e.g. --sessions 1000"))
            }
            () => Ok(()),
        }
    }

    fn http(&self) -> Result<Version, LoadError> {
        match self.settings.http.as_deref() {
            None | Some("1.1") => Ok(Version::Http11),
            Some("1.0") => Ok(Version::Http10),
            Some("2") => Ok(Version::Http2),
            Some(other) => Err(invalid(format!("--http {other}: expected 1.0, 1.1 or 2"))),
        }
    }

    fn proxy(&self) -> Result<Option<Url>, LoadError> {
        let url = |text: &str| Url::parse(text).map_err(|error| invalid(format!("--proxy: {error}")));
        self.settings.proxy.as_deref().map(url).transpose()
    }

    fn rotation(&self) -> Result<Option<Rotation>, LoadError> {
        match self.settings.rotate.as_deref() {
            None => Ok(None),
            Some("client") => Ok(Some(Rotation::Client)),
            Some("request") => Ok(Some(Rotation::Request)),
            Some(other) => Err(invalid(format!("--rotate {other}: expected client or request"))),
        }
    }

    fn method(&self) -> Result<Method, LoadError> {
        let flags = &self.settings;
        let bodied = flags.body.is_some() || flags.body_file.is_some();
        match &flags.method {
            None => Ok(if bodied { Method::Post } else { Method::Get }),
            Some(name) => Method::named(name).ok_or_else(|| {
                let known = Method::ALL.map(Method::name);
                invalid(format!("--method {name}: expected {}{}", known.join(", "), meant_aside(name, known)))
            }),
        }
    }

    fn body(&self) -> Result<Body, LoadError> {
        match (&self.settings.body, &self.settings.body_file) {
            (Some(text), _) => {
                Template::parse(text).map(Body::Template).map_err(|error| invalid(format!("--body: {error}")))
            }
            (None, Some(path)) => input::bytes(path)
                .map(Body::Bytes)
                .map_err(|error| invalid(format!("--body-file: cannot read {}: {error}", path.display()))),
            (None, None) => Ok(Body::None),
        }
    }

    /// The sessions that a file or --wsess writes down.
    fn written(&self, path: &str) -> Result<Option<Sessions>, LoadError> {
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
    fn scenarios(&self, folder: &str) -> Result<Option<Scenarios>, LoadError> {
        match self.settings.scenario.as_slice() {
            [] => Ok(None),
            files => Scenarios::read(files).map(|read| Some(read.below(folder))).map_err(invalid),
        }
    }

    /// Who follows them: users who come back, or who come by a plan; as many as there are connections where neither
    /// is said.
    fn passes(&self, scenarios: Scenarios, stop: Stop) -> Result<Schedule, LoadError> {
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

    fn connections(&self) -> u32 {
        self.tuning.connections.or(self.settings.connections).unwrap_or(CONNECTIONS)
    }

    /// How many there may be: where requests come by a plan and carry one connection each, as many as they need.
    fn connections_max(&self) -> Result<u32, LoadError> {
        let LoadSettings { rate, arrivals, trace, scenario, connections, .. } = &self.settings;
        let is_planned = (rate.is_some() || arrivals.is_some() || trace.is_some()) && scenario.is_empty();
        let is_asked = self.tuning.connections.or(*connections).is_some();
        Ok(match is_planned && !is_asked && self.http()? != Version::Http2 {
            true => AS_NEEDED,
            false => self.connections(),
        })
    }

    fn seed(&self) -> u64 {
        self.settings.seed.wrapping_add(self.tuning.round)
    }

    fn schedule(
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

    /// The arrivals of an open load, at the tuned rate.
    fn arrivals(&self) -> Result<Option<Arrivals>, LoadError> {
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

/// The headers to send, each written as `name: value`.
///
/// # Errors
/// One line, when one is written otherwise.
pub fn headers(texts: &[String]) -> Result<Vec<(String, String)>, LoadError> {
    let read = |text: &String| match text.split_once(':') {
        Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
        None => Err(invalid(format!("--header {text}: write it as `name: value`"))),
    };
    texts.iter().map(read).collect()
}

fn invalid(message: impl ToString) -> LoadError {
    LoadError::Invalid(message.to_string())
}

/// Whether the name of a file promises something else than a table.
fn is_no_table(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    ending.is_some_and(|ending| !["csv", "parquet", "txt"].contains(&ending.as_str()))
}

/// Lets arrivals with long memory reach the end of the load.
fn reach(arrivals: &mut Arrivals, stop: Stop) {
    match stop {
        Stop::Requests(requests) => arrivals.reach(requests),
        Stop::After(end) => arrivals.reach_until(end),
    }
}

/// The site's paths where the site is not at the server's root.
fn below(folder: &str, paths: &[String]) -> Vec<String> {
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

/// A name server: port 53 where none is said.
fn resolver(text: &str) -> Result<SocketAddr, LoadError> {
    let address = text.parse::<SocketAddr>().or_else(|_| text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 53)));
    address.map_err(|_| invalid(format!("--resolver {text}: write an address, e.g. 127.0.0.1 or 127.0.0.1:5353")))
}

/// When a name is resolved again.
fn resolves(text: &str) -> Result<Resolves, LoadError> {
    match text {
        "ttl" => Ok(Resolves::Ttl),
        "request" => Ok(Resolves::EachConnection),
        every => match span("--resolves", every) {
            Ok(every) if every > Span::ZERO => Ok(Resolves::Every(every)),
            _ => Err(invalid(format!("--resolves {text}: `ttl`, `request`, or a time above zero, e.g. 60s"))),
        },
    }
}

/// The limits of the file, and those of the flags in their place.
fn limits(flags: &LoadSettings) -> Result<Limits, LoadError> {
    let mut limits = Limits::default();
    if let Some(path) = &flags.limits_file {
        let wrong = |why: String| invalid(format!("--limits-file: {why}"));
        let text = input::text(path).map_err(|error| wrong(format!("{}: cannot read it: {error}", path.display())))?;
        let file = ConfigFile::new(path, text);
        let table: toml::Table = file.read().map_err(|error| wrong(error.to_string()))?;
        for (name, value) in &table {
            let value = value.as_str().map_or_else(|| value.to_string(), String::from);
            limits.set(name, &value).map_err(|error| wrong(file.error(name, &error.to_string()).to_string()))?;
        }
    }
    for text in &flags.limits {
        let wrong = |why: String| invalid(format!("--limit {text}: {why}"));
        let (name, value) = text.split_once('=').ok_or_else(|| wrong("write NAME=VALUE, e.g. stolen=5%".into()))?;
        limits.set(name.trim(), value.trim()).map_err(|error| wrong(error.to_string()))?;
    }
    Ok(limits)
}

fn law(flag: &str, text: &str, dimension: Dimension) -> Result<Law, LoadError> {
    Law::parse(text, dimension).map_err(|e| invalid(format!("{flag}: {e}")))
}

/// A time that a flag says.
///
/// # Errors
/// One line with the flag, when it is none.
pub fn span(flag: &str, text: &str) -> Result<Span, LoadError> {
    let seconds = quantity::parse(text, Dimension::Time).map_err(|e| invalid(format!("{flag}: {e}")))?;
    Ok(Span::from_secs_f64(seconds))
}
