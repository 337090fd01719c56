//! From settings to a load: an order is all that a process needs to know to run its share of a load.
//!
//! What a user wrote wrong is [`LoadError::Invalid`], in one line with the flag's name.

mod attempts;
mod check;
mod flag;
mod schedule;
mod settings;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sojourn_stats::{Measure, Span};
use sojourn_traffic::{Arrivals, Site};

pub use self::flag::{headers, span};
use self::flag::{invalid, limits, resolver, resolves};
use self::schedule::{below, reach};
pub use self::settings::LoadSettings;
use crate::error::LoadError;
use crate::generator::load::AS_NEEDED;
use crate::records::RecordFile;
use crate::{Allowed, Limits, Load, Pacing, Rotation, Stop, Targets, Tls, Url, UrlList, Version};

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
}
