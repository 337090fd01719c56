//! The hosts of clients. All clients of a region are one host, unless what a client's machine is matters: where several share
//! one, or round trips differ among them, each machine is a host with an address of its own. The price is a network namespace
//! for each, so there are not many.

use sojourn_model::System;
use sojourn_sim::capability::are_by_machine;

use super::as_host;

/// The most machines of clients that are hosts.
const MACHINES_MOST: u32 = 64;

/// The hosts of the clients of a system.
pub(crate) struct ClientHosts {
    pub(crate) hosts: Vec<ClientHost>,
    /// The host of each client by its number, an index into `hosts`; empty where the system does not say how many there are.
    pub(crate) homes: Vec<usize>,
}

/// A host of clients.
pub(crate) struct ClientHost {
    pub(crate) name: String,
    pub(crate) region: usize,
    /// The number of the first of its clients; 0 where it has none.
    pub(crate) first: u32,
}

/// Refuses more machines than there can be hosts.
pub(crate) fn check(system: &System) -> Result<(), String> {
    let machines: u64 = system.clients.iter().map(|of| u64::from(of.machines)).sum();
    match are_by_machine(system) && machines > u64::from(MACHINES_MOST) {
        true => Err(format!(
            "a bed has hosts for {MACHINES_MOST} machines of clients, not for {machines}: say on how many they are, e.g. \
             `{{ region = \"europe\", number = 100, machines = 4 }}`"
        )),
        false => Ok(()),
    }
}

impl ClientHosts {
    /// Those of `system`; each region has one at least.
    pub(crate) fn of(system: &System) -> ClientHosts {
        let mut found = ClientHosts { hosts: Vec::new(), homes: Vec::new() };
        let by_machine = are_by_machine(system);
        for region in 0..system.regions.len() {
            let first = system.clients.iter().scan(0, |before, of| {
                let first = *before;
                *before += of.number;
                Some((of, first))
            });
            let mut groups = first.filter(|(of, _)| of.region == region).peekable();
            let name = &system.regions[region].name;
            let name = if name.is_empty() { "client".into() } else { as_host(name) };
            if !by_machine || groups.peek().is_none() {
                let first = groups.peek().map_or(0, |(_, first)| *first);
                found.hosts.push(ClientHost { name, region, first });
                continue;
            }
            let mut number = 0;
            for (of, before) in groups {
                for first in (0..of.number).filter(|client| of.first_on_machine_of(*client) == *client) {
                    number += 1;
                    found.hosts.push(ClientHost { name: format!("{name}-{number}"), region, first: before + first });
                }
            }
        }
        for of in &system.clients {
            let before = found.homes.len() as u32;
            let host_of = |client: u32| {
                let first = before + of.first_on_machine_of(client);
                let is_home = |host: &ClientHost| host.region == of.region && (!by_machine || host.first == first);
                found.hosts.iter().position(is_home).expect("each client is on a host")
            };
            let homes: Vec<usize> = (0..of.number).map(host_of).collect();
            found.homes.extend(homes);
        }
        found
    }

    /// Those that have clients, as indices into `hosts`, in order.
    pub(crate) fn with_clients(&self) -> Vec<usize> {
        if self.homes.is_empty() {
            return vec![0];
        }
        let mut homes = self.homes.clone();
        homes.sort_unstable();
        homes.dedup();
        homes
    }
}
