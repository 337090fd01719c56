//! The links of a fabric: each client's own, and the one that all replies share.

use sojourn_model::{ClusterNetwork, Wire};
use sojourn_stats::Span;

/// Each client's own wire from the system.
pub(super) struct ClientWires {
    idle: Wire,
    wires: Vec<Wire>,
}

impl ClientWires {
    /// Idle wires.
    pub(super) fn new(idle: Wire) -> ClientWires {
        ClientWires { idle, wires: Vec::new() }
    }

    #[inline]
    pub(super) fn of_client(&mut self, client: u32) -> &mut Wire {
        let client = client as usize;
        if self.wires.len() <= client {
            self.wires.resize(client + 1, self.idle);
        }
        &mut self.wires[client]
    }
}

/// The links of a system in one place.
pub(super) struct Links {
    /// One way between client and system.
    pub(super) client_delay: Span,
    pub(super) client_wires: Option<ClientWires>,
    /// One way between balancer and server.
    pub(super) cluster_delay: Span,
    pub(super) cluster_wire: Option<Wire>,
}

impl Links {
    /// Those of `network`.
    pub(super) fn new(network: &ClusterNetwork) -> Links {
        let client = Some(network.client_link()).filter(|link| !link.is_instant());
        let cluster = Some(network.cluster_link()).filter(|link| !link.is_instant());
        Links {
            client_delay: client.map_or(Span::ZERO, |link| link.delay),
            client_wires: client.map(|link| ClientWires::new(Wire::new(link))),
            cluster_delay: cluster.map_or(Span::ZERO, |link| link.delay),
            cluster_wire: cluster.map(Wire::new),
        }
    }
}
