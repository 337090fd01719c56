//! What a switch knows of its servers: whether they are up, what they were given, what they report.

use std::net::Ipv4Addr;

use serde_json::json;
use sojourn_dispatch::{BackendId, Change, Front, News, Standing};
use sojourn_part::settings::switch::SwitchServer;
use sojourn_report::{Dropped, Told};
use sojourn_stats::Time;

use super::super::counts::{ServerCounts, ServerLoad, SwitchCounts};
use super::super::kernel::rules::Mark;
use super::super::overflow::Sites;
use super::Decider;

/// What is known of a server.
pub(super) struct Known {
    pub(super) name: String,
    pub(super) address: Ipv4Addr,
    pub(super) mark: Mark,
    pub(super) connections: u64,
    pub(super) open: u64,
}

impl Known {
    /// A server without connections.
    pub(super) fn new(backend: &SwitchServer) -> Known {
        Known { name: backend.name.clone(), address: backend.address, mark: Mark(0), connections: 0, open: 0 }
    }
}

impl Decider {
    /// Learns of a server what a probe or a connection has met there, and `why` it may be down by that; gives its mark, and
    /// whether it is down, where that has changed.
    pub(crate) fn learn(&mut self, backend: BackendId, news: News<'_>, why: &str, now: Time) -> Option<(Mark, bool)> {
        let change = self.front.learn(backend, news, now)?;
        self.announce(change, why);
        let is_down = change.is == Standing::Down;
        (is_down != (change.was == Standing::Down)).then(|| (self.servers[backend.0 as usize].mark, is_down))
    }

    /// Says what has changed, and why.
    fn announce(&self, change: Change, why: &str) {
        let (event, name) = (format!("backend_{}", change.is), &self.servers[change.backend.0 as usize].name);
        self.events.emit(&match change.is {
            Standing::Up => json!({"event": event, "backend": name}),
            _ => json!({"event": event, "backend": name, "why": why}),
        });
        self.upstream.iter().for_each(|upstream| upstream.changed());
    }

    /// A server is to end what it has and get nothing new, or is to be chosen again.
    ///
    /// # Errors
    /// When there is no such server.
    pub(crate) fn drain(&mut self, name: &str, is_drained: bool, now: Time) -> Result<(), String> {
        let Some(index) = self.servers.iter().position(|server| server.name == name) else {
            let known: Vec<&str> = self.servers.iter().map(|server| server.name.as_str()).collect();
            return Err(format!("server {name}: there is no such backend; they are {}", known.join(", ")));
        };
        let backend = BackendId(index as u32);
        if self.front.is_drained(backend) == is_drained {
            return Ok(());
        }
        self.front.learn(backend, News::Drained(is_drained), now);
        let event = if is_drained { "backend_drained" } else { "backend_undrained" };
        self.events.emit(&json!({"event": event, "backend": name}));
        self.upstream.iter().for_each(|upstream| upstream.changed());
        Ok(())
    }

    /// All servers are to end what they have, or those are used again that this alone has drained.
    pub(crate) fn drain_all(&mut self, is_drained: bool, now: Time) {
        if is_drained {
            let used = self.front.backends().filter(|backend| !self.front.is_drained(*backend));
            self.drained_with_it.extend(used);
        }
        let names = self.drained_with_it.iter().map(|backend| self.servers[backend.0 as usize].name.clone());
        for name in names.collect::<Vec<_>>() {
            self.drain(&name, is_drained, now).expect("it is a server's");
        }
        if !is_drained {
            self.drained_with_it.clear();
        }
    }

    /// What it has done so far, and how old what it was told is now.
    pub(crate) fn counts(&self, now: Time) -> SwitchCounts {
        let backends = self.servers.iter().enumerate().map(|(index, server)| ServerCounts {
            name: server.name.clone(),
            connections: server.connections,
            open: server.open,
            up: self.front.standing(BackendId(index as u32)) <= Standing::Aside,
            load: self.load(BackendId(index as u32), now),
        });
        let upstream = self.upstream.as_ref().map(|upstream| upstream.counts());
        let sites = self.sites.as_ref().map_or_else(Vec::new, Sites::counts);
        SwitchCounts { backends: backends.collect(), upstream, sites, ..self.counts.clone() }
    }

    /// Connections that are open at its servers.
    pub(crate) fn open_now(&self) -> u64 {
        self.servers.iter().map(|server| server.open).sum()
    }

    /// What is known of its servers.
    pub(crate) fn front(&self) -> &Front {
        &self.front
    }

    fn load(&self, backend: BackendId, now: Time) -> Option<ServerLoad> {
        let table = self.front.table();
        let (report, age) = table.report(backend).zip(table.report_age(backend, now))?;
        Some(ServerLoad {
            age_s: age.as_secs_f64(),
            in_flight: report.in_flight,
            cpu: report.cpu,
            capacity_per_s: report.capacity,
            room_per_s: report.room,
        })
    }

    /// Takes what reports tell, and says who is silent.
    pub(crate) fn hear(&mut self, told: &[Told], now: Time) {
        for told in told {
            if let Some((event, backend)) = told.news() {
                self.events.emit(&json!({"event": event, "backend": self.servers[backend.0 as usize].name}));
            }
            if let Some(change) = told.learn(&mut self.front, now) {
                self.announce(change, told.why());
            }
        }
        self.upstream.iter().for_each(|upstream| upstream.hear(told));
    }

    /// Notes how many reports were not believed so far.
    pub(crate) fn count_dropped(&mut self, dropped: Dropped) {
        self.counts.reports_dropped = Some(dropped);
    }
}
