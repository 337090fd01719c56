//! Answers of the DNS, and who holds them for how long.
//!
//! A client asks its resolver, or the DNS itself where no resolver serves it. A resolver's answer is held for all of its
//! clients: load that the DNS cannot see one by one. The clients of a region are divided among its resolvers in the order
//! of their numbers, so that shares are exact.

use sojourn_model::System;
use sojourn_model::system::{Resolves, TtlUse};
use sojourn_stats::{Span, Time};

/// Answers that are held.
pub(super) struct Names {
    resolves: Resolves,
    /// What each resolver makes of TTLs.
    uses: Vec<TtlUse>,
    /// The resolver of each client; none: the client asks the DNS itself.
    resolver_of: Vec<Option<u32>>,
    by_resolver: Vec<Held>,
    /// Resolvers that do not answer.
    is_down: Vec<bool>,
    by_client: Vec<Held>,
}

/// An answer, and until when it is held.
#[derive(Clone, Copy)]
struct Held {
    target: u32,
    until: Time,
}

/// No answer.
const NOTHING: Held = Held { target: 0, until: Time::ZERO };

impl Names {
    /// No answers yet; `regions` has the region of each client.
    pub(super) fn new(system: &System, regions: &[usize]) -> Names {
        let mut resolver_of = vec![None; regions.len()];
        for region in 0..system.regions.len() {
            let clients: Vec<usize> = (0..regions.len()).filter(|client| regions[*client] == region).collect();
            let mut first = 0.0;
            for (number, resolver) in system.resolvers.iter().enumerate().filter(|(_, of)| of.region == region) {
                let end = first + resolver.share;
                let place = |share: f64| ((share * clients.len() as f64).round() as usize).min(clients.len());
                for &client in &clients[place(first)..place(end)] {
                    resolver_of[client] = Some(number as u32);
                }
                first = end;
            }
        }
        Names {
            resolves: system.rules.resolves,
            uses: system.resolvers.iter().map(|resolver| resolver.ttl).collect(),
            resolver_of,
            by_resolver: vec![NOTHING; system.resolvers.len()],
            is_down: vec![false; system.resolvers.len()],
            by_client: vec![NOTHING; regions.len()],
        }
    }

    /// The target that the service's name stands for to `client` now; `ask(asker)` asks the DNS, which says how
    /// long its answer may be kept. None where it has none.
    pub(super) fn resolve(
        &mut self,
        client: u32,
        now: Time,
        ask: impl FnOnce(u32) -> Option<(u32, Span)>,
    ) -> Option<u32> {
        let place = client as usize;
        if self.by_client.len() <= place {
            self.by_client.resize(place + 1, NOTHING);
            self.resolver_of.resize(place + 1, None);
        }
        let own = self.by_client[place];
        if now < own.until {
            return Some(own.target);
        }
        let (target, keeps) = match self.resolver_of[place] {
            Some(resolver) if self.is_down[resolver as usize] => return None,
            Some(resolver) => {
                let held = &mut self.by_resolver[resolver as usize];
                if now >= held.until {
                    // To the DNS a resolver is one client; clients themselves are numbered from 0 on.
                    let (target, ttl) = ask(u32::MAX - resolver)?;
                    *held = Held { target, until: now + self.uses[resolver as usize].keeps(ttl) };
                }
                (held.target, Span::ZERO)
            }
            None => ask(client)?,
        };
        let keeps = match self.resolves {
            Resolves::Ttl => keeps,
            Resolves::Every(span) => span,
            Resolves::EachRequest => Span::ZERO,
        };
        self.by_client[place] = Held { target, until: now + keeps };
        Some(target)
    }

    /// Who asks the DNS for each client, in the order of their numbers: itself, or resolver r as `u32::MAX - r`.
    pub(super) fn askers(&self) -> impl Iterator<Item = u32> {
        let numbered = self.resolver_of.iter().zip(0..);
        numbered.map(|(resolver, client)| resolver.map_or(client, |resolver| u32::MAX - resolver))
    }

    /// The next of `addresses` that `client` has from its answer, which it keeps to from now on.
    pub(super) fn next_address(&mut self, client: u32, addresses: u32) -> Option<u32> {
        let held = self.by_client.get_mut(client as usize)?;
        held.target = (held.target + 1) % addresses;
        Some(held.target)
    }

    /// A resolver goes down, with the answers that it holds, or is back.
    pub(super) fn resolver_is(&mut self, resolver: usize, down: bool) {
        self.is_down[resolver] = down;
        self.by_resolver[resolver] = NOTHING;
    }
}
