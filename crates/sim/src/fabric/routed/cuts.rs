//! Between which places packets are lost, as the plan of faults says.
//!
//! Faults are planned, so that all of this is known of any instant without waiting for beginnings and ends: a transfer
//! that begins before a cut is drawn with the cut in it. A packet is lost that sets out while its path is cut; what is
//! under way arrives. The price is that a message without TCP, and what a gateway or a switch forwards, is never sent
//! again: its client waits until its time-out.

use sojourn_model::system::{Fault, Subject, Trouble};
use sojourn_model::{Spell, System};
use sojourn_stats::Time;

/// All cuts of a plan.
pub(super) struct Cuts(Vec<Cut>);

/// Where something is, as cuts go.
pub(super) struct Location {
    pub(super) region: usize,
    pub(super) site: Option<usize>,
    /// The server that it is, or is on.
    pub(super) host: Option<u32>,
    pub(super) is_client: bool,
}

/// A time in which packets between some places are lost: all of them, or a share.
struct Cut {
    during: During,
    around: Around,
    lost: f64,
}

/// What a cut separates.
enum Around {
    Path(usize, usize),
    Site(usize),
    Hosts(Vec<u32>),
}

/// From when until when a fault lasts.
#[derive(Clone, Copy)]
pub(super) struct During {
    pub(super) from: Time,
    pub(super) until: Time,
}

impl Location {
    /// Where clients of a region are.
    pub(super) fn of_client(region: usize) -> Location {
        Location { region, site: None, host: None, is_client: true }
    }
}

impl Cuts {
    /// Those of `system`; `hosts` gives the servers that fault number n is of.
    pub(super) fn new(system: &System, hosts: impl Fn(usize) -> Vec<u32>) -> Cuts {
        let cut = |(number, fault): (usize, &Fault)| {
            let lost = match fault.trouble {
                Trouble::Cut => 1.0,
                // Half of the losses are each way.
                Trouble::Loss(share) => 0.5 * share,
                _ => return None,
            };
            let around = match fault.subject {
                Subject::Path(a, b) => Around::Path(a, b),
                Subject::Site(site) => Around::Site(site),
                _ => Around::Hosts(hosts(number)),
            };
            Some(Cut { during: During::of_fault(fault), around, lost })
        };
        Cuts(system.faults.iter().enumerate().filter_map(cut).collect())
    }

    #[inline]
    pub(super) fn are_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a message from one place to another that sets out at `now` is not lost by a cut.
    pub(super) fn pass(&self, from: &Location, to: &Location, now: Time) -> bool {
        self.lost(from, to, now) < 1.0
    }

    /// The share of the packets from one place to another at `now` that is lost beside what their path loses anyway.
    pub(super) fn lost(&self, from: &Location, to: &Location, now: Time) -> f64 {
        let cuts = self.0.iter().filter(|cut| cut.during.has(now) && cut.around.separates(from, to));
        1.0 - cuts.map(|cut| 1.0 - cut.lost).product::<f64>()
    }

    /// The first instant from `now` on at which a packet from one place to another is not lost by a cut.
    pub(super) fn next_passage(&self, from: &Location, to: &Location, now: Time) -> Time {
        let cuts = || self.0.iter().filter(|cut| cut.lost == 1.0 && cut.around.separates(from, to));
        let mut at = now;
        while let Some(cut) = cuts().find(|cut| cut.during.has(at)) {
            at = cut.during.until;
        }
        at
    }

    /// What a transfer between two places that begins at `now` meets.
    pub(super) fn spells(&self, one: &Location, other: &Location, now: Time) -> Vec<Spell> {
        let met = |cut: &&Cut| cut.during.until > now && cut.around.separates(one, other);
        let spell = |Cut { during: During { from, until }, lost, .. }: &Cut| Spell {
            from: from.saturating_since(now),
            until: until.saturating_since(now),
            lost: *lost,
        };
        self.0.iter().filter(met).map(spell).collect()
    }
}

impl During {
    /// As long as a fault lasts.
    pub(super) fn of_fault(fault: &Fault) -> During {
        During { from: fault.at, until: fault.until.unwrap_or(Time::NEVER) }
    }

    pub(super) fn has(self, now: Time) -> bool {
        self.from <= now && now < self.until
    }
}

impl Around {
    fn separates(&self, one: &Location, other: &Location) -> bool {
        let is_host = |at: &Location, hosts: &[u32]| at.host.is_some_and(|host| hosts.contains(&host));
        match self {
            // What is at one site needs no path.
            Around::Path(a, b) => {
                let is_at_one_site = !one.is_client && !other.is_client && one.site == other.site;
                let regions = (one.region.min(other.region), one.region.max(other.region));
                !is_at_one_site && regions == (*a, *b)
            }
            Around::Site(site) => (one.site == Some(*site)) != (other.site == Some(*site)),
            Around::Hosts(hosts) => one.host != other.host && (is_host(one, hosts) || is_host(other, hosts)),
        }
    }
}
