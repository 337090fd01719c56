//! Where requests come from, as a decider sees it: the region and address of a client, of its resolver, of a server.
//!
//! Each has an address of its region, drawn from a stream of its own, so that one client more moves no other's. It is
//! drawn anew whenever it is asked for, which takes less than keeping ten million of them.

use core::net::Ipv4Addr;

use sojourn_dispatch::Origin;
use sojourn_model::System;
use sojourn_stats::Stream;

/// Addresses of all regions.
pub(super) struct Origins {
    seed: u64,
    /// Prefix and length of each region.
    prefixes: Vec<Option<(u32, u8)>>,
    /// The region of each client; those beyond are in the first.
    region_of_client: Vec<usize>,
    region_of_resolver: Vec<usize>,
}

impl Origins {
    /// `clients` has the region of each client.
    pub(super) fn new(system: &System, clients: Vec<usize>, seed: u64) -> Origins {
        Origins {
            seed,
            prefixes: system.regions.iter().map(|region| region.addresses).collect(),
            region_of_client: clients,
            region_of_resolver: system.resolvers.iter().map(|resolver| resolver.region).collect(),
        }
    }

    /// The region of a client, or of resolver number r as client `u32::MAX - r`.
    pub(super) fn region_of(&self, client: u32) -> usize {
        match self.resolver(client) {
            Some(resolver) => self.region_of_resolver[resolver],
            None => self.region_of_client.get(client as usize).copied().unwrap_or(0),
        }
    }

    /// Whether it is a resolver, and which.
    pub(super) fn resolver(&self, client: u32) -> Option<usize> {
        let number = (u32::MAX - client) as usize;
        (number < self.region_of_resolver.len()).then_some(number)
    }

    /// Where a client is, or a resolver.
    pub(super) fn origin(&self, client: u32) -> Origin {
        let name = match self.resolver(client) {
            Some(resolver) => format!("resolver {resolver}"),
            None => format!("client {client}"),
        };
        self.within(self.region_of(client), &name)
    }

    /// Where a server or decider of this name is.
    pub(super) fn within(&self, region: usize, name: &str) -> Origin {
        let address = |(prefix, bits): (u32, u8)| {
            let free = u32::MAX.checked_shr(bits.into()).unwrap_or(0);
            let drawn = Stream::new(self.seed, name, "address").below(free as usize + 1);
            Ipv4Addr::from_bits(prefix | drawn as u32)
        };
        Origin { region: u16::try_from(region).ok(), address: self.prefixes[region].map(address), location: None }
    }
}
