//! What clients do besides asking: hold answers of the DNS, wait, try again, and ask the next address.
//!
//! What fails once is asked for once more as [`Tries`] says, within a budget, and a hedge is sent beside the first attempt. To
//! the books it stays one request: it came once, its response time counts from the planned instant, and it fails when its
//! last attempt does. An attempt ends with a refusal, an error, a connection that TCP gives up, or the client's time-out,
//! which begins anew with each. The price is that a retry asks for the same address, unless the answer of the DNS has run out
//! or the client fails over.

use sojourn_model::system::{Abandoned, Face};
use sojourn_model::{AfterFailure, Effort, System, Tries};
use sojourn_stats::{Stream, Time};

use crate::fabric::names::Names;

/// All clients of a system.
pub(super) struct Clients {
    /// Answers of the DNS that are held; none where the first tier is no DNS.
    pub(super) names: Option<Names>,
    /// When they give up, and try again.
    pub(super) tries: Tries,
    /// Servers do the work of attempts that their clients have given up.
    pub(super) work_goes_on: bool,
    /// Clients that are refused ask the next address.
    fails_over: bool,
    seed: u64,
}

impl Clients {
    /// Those of `system`; `regions` has the region of each.
    pub(super) fn new(system: &System, regions: &[usize], seed: u64) -> Clients {
        let has_dns = system.tiers.first().is_some_and(|tier| tier.face == Face::Dns);
        Clients {
            names: has_dns.then(|| Names::new(system, regions)),
            tries: Tries::new(&system.rules),
            work_goes_on: system.rules.abandoned == Abandoned::Served,
            fails_over: system.rules.fails_over,
            seed,
        }
    }

    /// What the client of the request of this number does after an attempt has failed.
    pub(super) fn failed(&mut self, number: u32, effort: &mut Effort, now: Time) -> AfterFailure {
        let seed = self.seed;
        let draws = |retry: u32| Stream::new(seed, &format!("request {number}"), &format!("retry {retry}"));
        self.tries.failed(effort, now, draws)
    }

    /// The next of `addresses` that `client` has from the DNS after so many refusals, which it keeps to from now on.
    pub(super) fn next_address(&mut self, client: u32, refusals: usize, addresses: usize) -> Option<u32> {
        let names = self.names.as_mut().filter(|_| self.fails_over && refusals < addresses)?;
        names.next_address(client, addresses as u32)
    }
}
