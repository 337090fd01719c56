//! Outlier ejection: a server that fails more than the others, or is slower, is put aside for a while.
//!
//! | rule | a server is put aside |
//! |---|---|
//! | `consecutive` | at once, after so many failures in a row: replies from status 500 up, broken or missing ones |
//! | `success_rate` | at a scan, if its share of successes is below the mean of all by more than so many standard deviations |
//! | `latency` | at a scan, if its mean response time is more than so many times the median of all |
//!
//! Rules and defaults are Envoy's (`outlier_detection_impl.cc`; gRPC A50) but for latency, which Envoy has not (its issue 288).
//! A scan looks at what ended since the last one, at servers with at least `min_requests`, if there are `min_servers` of them.
//! A server is aside for `base_time` times the number of its ejections, at most `max_time`, and until the scan after that; a
//! scan that finds it in its place takes one ejection off its number, before it looks whether it is worse than the others.
//! No more than `max_share` are aside at once, but one always may be.
//!
//! **Success rates are blind to many.** Where a share f of the servers fails equally, each is sqrt((1 - f) / f) standard
//! deviations below the mean, however often it fails: with 1.9, nothing is seen above f = 21.7 %. A median is not blind below
//! one half, which is why latencies are compared to that.
//!
//! **Panic**: with fewer than the share `panic` of all servers up, those that are aside are chosen too: the other servers would
//! get what they cannot bear. In Envoy's panic also those are chosen that health checks have taken out (`isHostSetInPanic` in its
//! `load_balancer_impl.cc`): `panic_to = "all"`. Usually what is known to be down stays out. Both count: those that are aside, no
//! more than `max_share`, and those that are down. What is drained by hand is never chosen.

use serde::{Deserialize, Serialize};
use sojourn_stats::{Span, Time};

use super::{End, is_share};
use crate::BackendId;

/// When a server is put aside as an outlier, and for how long. A rule with 0 is off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ejection {
    /// Failures in a row.
    pub consecutive: u32,
    /// Standard deviations below the mean success rate of all.
    pub success_rate: f64,
    /// Times the median of the servers' mean response times.
    pub latency: f64,
    /// Time between two scans.
    pub every: Span,
    /// How long a server is aside for the first time.
    pub base_time: Span,
    /// The longest that it is aside.
    pub max_time: Span,
    /// The largest share of the servers that is aside at once, though always one may be.
    pub max_share: f64,
    /// With fewer than this share up, those that are aside are chosen too.
    pub panic: f64,
    /// Who else is chosen then.
    pub panic_to: PanicTo,
    /// Servers that a scan needs for its comparison.
    pub min_servers: u32,
    /// Requests that a server needs to be in it.
    pub min_requests: u32,
}

/// Who is chosen beside those that are up, with too few of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PanicTo {
    /// Those that are aside.
    #[default]
    Aside,
    /// Those that are down too, as in Envoy.
    All,
}

const SECOND: Span = Span(1_000_000_000);

impl Default for Ejection {
    fn default() -> Ejection {
        Ejection {
            consecutive: 5,
            success_rate: 1.9,
            latency: 0.0,
            every: SECOND * 10,
            base_time: SECOND * 30,
            max_time: SECOND * 300,
            max_share: 0.1,
            panic: 0.5,
            panic_to: PanicTo::Aside,
            min_servers: 5,
            min_requests: 100,
        }
    }
}

impl Ejection {
    pub(super) fn check(&self) -> Result<(), String> {
        let Ejection { consecutive, success_rate, latency, every, base_time, max_time, max_share, panic, .. } = *self;
        match () {
            () if consecutive == 0 && success_rate == 0.0 && latency == 0.0 => {
                Err("no rule is left: say consecutive, success_rate or latency".into())
            }
            () if !(success_rate.is_finite() && success_rate >= 0.0) => {
                Err(format!("success_rate = {success_rate}: standard deviations below the mean, e.g. 1.9; 0 is off"))
            }
            () if !(latency == 0.0 || latency > 1.0 && latency.is_finite()) => {
                Err(format!("latency = {latency}: times the median, above 1, e.g. 3.0; 0 is off"))
            }
            () if every == Span::ZERO => Err("every: scans are some time apart, e.g. `10 s`".into()),
            () if base_time == Span::ZERO => Err("base_time: a server is aside for some time, e.g. `30 s`".into()),
            () if max_time < base_time => Err(format!("max_time = {max_time}: at least base_time, {base_time}")),
            () if !is_share(max_share) => Err(format!("max_share = {max_share}: a share above 0 and at most 1")),
            () if !(0.0..=1.0).contains(&panic) => Err(format!("panic = {panic}: a share from 0 to 1")),
            () if self.min_servers < 2 => Err("min_servers: to compare servers takes at least 2".into()),
            () if self.min_requests == 0 => Err("min_requests: at least 1".into()),
            () => Ok(()),
        }
    }
}

/// What ended at each server since the last scan, and which are aside.
#[derive(Debug)]
pub(in super::super) struct Outliers {
    settings: Ejection,
    servers: Vec<Server>,
    aside: u32,
    /// The next scan; the first is one interval after the first call.
    scan: Option<Time>,
}

#[derive(Clone, Debug, Default)]
struct Server {
    /// Failures in a row.
    row: u32,
    requests: u32,
    failures: u32,
    /// Of those that were served, in ns.
    took: u128,
    /// Until when it is aside, if it is.
    until: Option<Time>,
    /// How often it was put aside, less the scans that found it in its place.
    times: u32,
}

impl Server {
    fn served(&self) -> u32 {
        self.requests - self.failures
    }

    fn success_rate(&self) -> f64 {
        f64::from(self.served()) / f64::from(self.requests)
    }

    fn mean_response(&self) -> f64 {
        self.took as f64 / f64::from(self.served())
    }
}

impl Outliers {
    pub(super) fn new(settings: Ejection) -> Outliers {
        Outliers { settings, servers: Vec::new(), aside: 0, scan: None }
    }

    /// With fewer than this share up, those that are aside are chosen too.
    pub(in super::super) fn panic(&self) -> f64 {
        self.settings.panic
    }

    /// Whether those that are down are chosen then too.
    pub(in super::super) fn panics_to_all(&self) -> bool {
        self.settings.panic_to == PanicTo::All
    }

    pub(super) fn due(&self) -> Time {
        self.scan.unwrap_or(Time::NEVER)
    }

    /// The clock starts, if it has not.
    pub(in super::super) fn start(&mut self, now: Time) {
        self.scan.get_or_insert(now + self.settings.every);
    }

    /// A request has ended at one of so many servers; whether that one is put aside now.
    pub(in super::super) fn ended(&mut self, backend: BackendId, end: End, servers: usize, now: Time) -> bool {
        let place = self.place(backend);
        let server = &mut self.servers[place];
        match end {
            End::Cancelled => return false,
            End::Served(took) => {
                server.requests += 1;
                server.row = 0;
                server.took += u128::from(took.0);
                return false;
            }
            End::Failed => {
                server.requests += 1;
                server.failures += 1;
                server.row += 1;
            }
        }
        let is_in_a_row = self.settings.consecutive > 0 && server.row >= self.settings.consecutive;
        if is_in_a_row {
            server.row = 0;
        }
        is_in_a_row && self.eject(place, servers, now)
    }

    /// Looks at all of so many servers, if that is due: those that come back, and those that are put aside.
    pub(in super::super) fn scan(&mut self, servers: usize, now: Time) -> Vec<(BackendId, bool)> {
        if self.due() > now {
            return Vec::new();
        }
        self.scan = Some(now + self.settings.every);
        let mut changes = Vec::new();
        for (place, server) in self.servers.iter_mut().enumerate() {
            match server.until {
                Some(until) if until <= now => {
                    (server.until, server.row) = (None, 0);
                    self.aside -= 1;
                    changes.push((BackendId(place as u32), false));
                }
                Some(_) => {}
                None => server.times = server.times.saturating_sub(1),
            }
        }
        for place in self.outliers() {
            if self.eject(place, servers, now) {
                changes.push((BackendId(place as u32), true));
            }
        }
        for server in &mut self.servers {
            (server.requests, server.failures, server.took) = (0, 0, 0);
        }
        changes
    }

    /// Those that are worse than the others by what ended since the last scan.
    fn outliers(&self) -> Vec<usize> {
        let Ejection { success_rate, latency, min_servers, min_requests, .. } = self.settings;
        let compare = |requests: fn(&Server) -> u32, value: fn(&Server) -> f64| -> Vec<(usize, f64)> {
            let in_place = self.servers.iter().enumerate().filter(|(_, server)| server.until.is_none());
            let compared = in_place.filter(|(_, server)| requests(server) >= min_requests);
            let compared: Vec<_> = compared.map(|(place, server)| (place, value(server))).collect();
            if compared.len() >= min_servers as usize { compared } else { Vec::new() }
        };
        let mut found = Vec::new();
        if success_rate > 0.0 {
            let rates = compare(|server| server.requests, Server::success_rate);
            let count = rates.len() as f64;
            let mean = rates.iter().map(|(_, rate)| rate).sum::<f64>() / count;
            let variance = rates.iter().map(|(_, rate)| (rate - mean).powi(2)).sum::<f64>() / count;
            let least = mean - success_rate * variance.sqrt();
            found.extend(rates.iter().filter(|(_, rate)| *rate < least).map(|(place, _)| *place));
        }
        if latency > 0.0 {
            let means = compare(Server::served, Server::mean_response);
            let mut sorted: Vec<f64> = means.iter().map(|(_, mean)| *mean).collect();
            sorted.sort_by(f64::total_cmp);
            if let Some(median) = sorted.get(sorted.len().saturating_sub(1) / 2) {
                let slow = means.iter().filter(|(_, mean)| *mean > latency * median).map(|(place, _)| *place);
                found.extend(slow);
            }
        }
        found
    }

    /// Puts a server aside, unless too many are already or it is.
    fn eject(&mut self, place: usize, servers: usize, now: Time) -> bool {
        let Ejection { base_time, max_time, max_share, .. } = self.settings;
        let server = &mut self.servers[place];
        let has_room = self.aside == 0 || f64::from(self.aside + 1) <= max_share * servers as f64;
        if server.until.is_some() || !has_room {
            return false;
        }
        server.times += 1;
        server.until = Some(now + Span(base_time.0.saturating_mul(server.times.into())).min(max_time));
        self.aside += 1;
        true
    }

    /// A server has left for good.
    pub(in super::super) fn forget(&mut self, backend: BackendId) {
        let place = self.place(backend);
        let server = std::mem::take(&mut self.servers[place]);
        self.aside -= u32::from(server.until.is_some());
    }

    /// Takes over what another decider knows of a server there; whether that is aside.
    pub(in super::super) fn take_over(&mut self, backend: BackendId, other: &Outliers, there: BackendId) -> bool {
        let Some(known) = other.servers.get(there.0 as usize) else { return false };
        let place = self.place(backend);
        self.servers[place] = known.clone();
        self.aside += u32::from(known.until.is_some());
        self.scan = self.scan.or(other.scan);
        known.until.is_some()
    }

    fn place(&mut self, backend: BackendId) -> usize {
        let place = backend.0 as usize;
        if self.servers.len() <= place {
            self.servers.resize_with(place + 1, Server::default);
        }
        place
    }
}
