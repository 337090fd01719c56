//! Connections of servers: each lasts from when a server takes a request until its reply has arrived, whatever it waits for.
//!
//! A server that has as many as it may refuses the next request at its door; a client that fails over asks the next address.
//! What is redirected takes none. This is a server that gives each connection a process of its own until the last byte is
//! gone. The price: a refusal takes no time, where a kernel would keep the connection waiting for a while.

use sojourn_model::Server;

use super::Routed;

/// How many connections each server has, and may have.
pub(super) struct Connections {
    open: Vec<u32>,
    most: Vec<u32>,
}

impl Connections {
    /// None where no server has a limit.
    pub(super) fn new(servers: &[Server]) -> Option<Connections> {
        let most = |server: &Server| server.machine.as_ref().and_then(|machine| machine.connections);
        servers.iter().any(|server| most(server).is_some()).then(|| Connections {
            open: vec![0; servers.len()],
            most: servers.iter().map(|server| most(server).unwrap_or(u32::MAX)).collect(),
        })
    }
}

impl Routed {
    /// Whether a request has a connection of its server, which it keeps until it ends.
    pub(super) fn takes_connection(&mut self, slot: u32, host: usize) -> bool {
        let Some(connections) = &mut self.connections else { return true };
        if connections.open[host] >= connections.most[host] {
            return false;
        }
        connections.open[host] += 1;
        self.routes[slot as usize].connected = Some(host as u32);
        true
    }

    /// A request ends, or this attempt of it: its connection is free.
    pub(super) fn hangs_up(&mut self, slot: u32) {
        let host = self.routes[slot as usize].connected.take();
        if let Some((host, connections)) = host.zip(self.connections.as_mut()) {
            connections.open[host as usize] -= 1;
        }
    }
}
