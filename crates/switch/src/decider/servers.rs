//! What a switch knows of its servers: whether they are up, what they were given, what they report.

use std::net::Ipv4Addr;

use serde_json::json;
use sojourn_dispatch::{BackendId, Event, Table};
use sojourn_part::Backend;
use sojourn_report::{Dropped, Told};
use sojourn_stats::Time;

use super::super::config::{SwitchConfig, address};
use super::super::counts::{ServerCounts, ServerLoad, SwitchCounts};
use super::super::kernel::rules::Mark;
use super::super::overflow::Sites;
use super::Decider;

/// What is known of a server.
pub(super) struct Known {
    pub(super) name: String,
    pub(super) address: Ipv4Addr,
    pub(super) mark: Mark,
    pub(super) is_drained: bool,
    pub(super) is_down: bool,
    /// Probes that failed in a row.
    failed: u32,
    pub(super) connections: u64,
    pub(super) open: u64,
}

impl Known {
    /// A server without connections.
    pub(super) fn new(backend: &Backend, config: &SwitchConfig) -> Known {
        Known {
            name: backend.name.clone(),
            address: address(backend),
            mark: Mark(0),
            is_drained: config.drained.contains(&backend.name),
            is_down: false,
            failed: 0,
            connections: 0,
            open: 0,
        }
    }
}

impl Decider {
    /// A server has answered a probe; gives its mark where that brings it back.
    pub(crate) fn probed(&mut self, backend: BackendId, now: Time) -> Option<Mark> {
        let server = &mut self.servers[backend.0 as usize];
        server.failed = 0;
        if !std::mem::replace(&mut server.is_down, false) {
            return None;
        }
        let event = if server.is_drained { Event::Draining { backend } } else { Event::Joined { backend } };
        self.dispatcher.observe(event, now);
        self.events.emit(&json!({"event": "backend_up", "backend": server.name}));
        self.upstream.iter().for_each(|upstream| upstream.changed());
        Some(server.mark)
    }

    /// So many more probes failed; gives the mark of a server that is taken out by them, after `fall` in a row.
    pub(crate) fn struck(&mut self, backend: BackendId, times: u32, fall: u32, why: &str, now: Time) -> Option<Mark> {
        let server = &mut self.servers[backend.0 as usize];
        server.failed = server.failed.saturating_add(times);
        if server.failed < fall || std::mem::replace(&mut server.is_down, true) {
            return None;
        }
        self.dispatcher.observe(Event::Down { backend }, now);
        self.events.emit(&json!({"event": "backend_down", "backend": server.name, "why": why}));
        self.upstream.iter().for_each(|upstream| upstream.changed());
        Some(server.mark)
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
        let (backend, server) = (BackendId(index as u32), &mut self.servers[index]);
        if std::mem::replace(&mut server.is_drained, is_drained) == is_drained {
            return Ok(());
        }
        // One that is down is told of when it is back.
        if !server.is_down {
            let event = if is_drained { Event::Draining { backend } } else { Event::Joined { backend } };
            self.dispatcher.observe(event, now);
        }
        let event = if is_drained { "backend_drained" } else { "backend_undrained" };
        self.events.emit(&json!({"event": event, "backend": name}));
        self.upstream.iter().for_each(|upstream| upstream.changed());
        Ok(())
    }

    /// What it has done so far, and how old what it was told is now.
    pub(crate) fn counts(&self, now: Time) -> SwitchCounts {
        let backends = self.servers.iter().enumerate().map(|(index, server)| ServerCounts {
            name: server.name.clone(),
            connections: server.connections,
            open: server.open,
            up: !server.is_down && !server.is_drained,
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
    pub(crate) fn table(&self) -> &Table {
        self.dispatcher.table()
    }

    fn load(&self, backend: BackendId, now: Time) -> Option<ServerLoad> {
        let table = self.dispatcher.table();
        let (report, age) = table.report(backend).zip(table.report_age(backend, now))?;
        Some(ServerLoad {
            age_s: age.as_secs_f64(),
            in_flight: report.in_flight,
            cpu: report.cpu,
            capacity_per_s: report.capacity,
            room_per_s: report.room,
        })
    }

    /// Takes what reports tell. A switch that probes its servers knows better than their silence whether they are up:
    /// silence is only said then. Without probes a silent server gets no new connection until it is heard again.
    pub(crate) fn hear(&mut self, told: &[Told], now: Time) {
        for told in told {
            let news = told.news();
            if let Some((event, backend)) = news {
                self.events.emit(&json!({"event": event, "backend": self.servers[backend.0 as usize].name}));
            }
            if news.is_none() || !self.probes {
                told.tell(&mut self.dispatcher, now);
                // One that is heard again is still drained.
                if let Told::Found { backend } = *told
                    && self.servers[backend.0 as usize].is_drained
                {
                    self.dispatcher.observe(Event::Draining { backend }, now);
                }
            }
        }
        self.upstream.iter().for_each(|upstream| upstream.hear(told));
    }

    /// Notes how many reports were not believed so far.
    pub(crate) fn count_dropped(&mut self, dropped: Dropped) {
        self.counts.reports_dropped = Some(dropped);
    }
}
