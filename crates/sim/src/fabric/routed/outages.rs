//! What the plan of faults says of silence: which parts stand still, and between which places packets are lost.
//!
//! Faults are planned, so that all of this is known of any instant without being told of beginnings and ends: a transfer
//! that begins before a cut is drawn with the cut in it. A packet is lost that sets out while its path is cut; what is
//! under way arrives. The price is that a message without TCP, and what a gateway or a switch forwards, is never sent
//! again: its client waits until its time-out.

use sojourn_model::system::{Subject, Trouble};
use sojourn_model::{Spell, System};
use sojourn_stats::{Span, Time};

/// Faults that nothing tells of.
pub(super) struct Outages {
    cuts: Vec<Cut>,
    frozen: Vec<Frozen>,
}

/// Where something is, as cuts go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
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

/// A time in which some parts stand still.
struct Frozen {
    during: During,
    hosts: Vec<u32>,
    deciders: Vec<u32>,
}

#[derive(Clone, Copy)]
struct During {
    from: Time,
    until: Time,
}

impl Outages {
    /// Those of `system`; `parts` gives the servers and deciders that fault number n is of.
    pub(super) fn new(system: &System, parts: impl Fn(usize) -> (Vec<u32>, Vec<u32>)) -> Outages {
        let mut outages = Outages { cuts: Vec::new(), frozen: Vec::new() };
        for (number, fault) in system.faults.iter().enumerate() {
            let during = During { from: fault.at, until: fault.until.unwrap_or(Time::NEVER) };
            let (hosts, deciders) = parts(number);
            let around = match fault.subject {
                Subject::Path(a, b) => Around::Path(a, b),
                Subject::Site(site) => Around::Site(site),
                _ => Around::Hosts(hosts.clone()),
            };
            match fault.trouble {
                Trouble::Cut => outages.cuts.push(Cut { during, around, lost: 1.0 }),
                // Half of the losses are each way.
                Trouble::Loss(share) => outages.cuts.push(Cut { during, around, lost: 0.5 * share }),
                Trouble::Frozen => outages.frozen.push(Frozen { during, hosts, deciders }),
                _ => {}
            }
        }
        outages
    }

    /// Whether a message from one place to another that sets out at `now` is not lost by a cut.
    #[inline]
    pub(super) fn passes(&self, from: Place, to: Place, now: Time) -> bool {
        self.cuts.is_empty() || self.lost(from, to, now) < 1.0
    }

    /// The share of the packets from one place to another at `now` that is lost beside what their path loses anyway.
    pub(super) fn lost(&self, from: Place, to: Place, now: Time) -> f64 {
        let cuts = self.cuts.iter().filter(|cut| cut.during.has(now) && cut.around.separates(from, to));
        1.0 - cuts.map(|cut| 1.0 - cut.lost).product::<f64>()
    }

    /// The first instant from `now` on at which a packet from one place to another is not lost by a cut.
    pub(super) fn next_passage(&self, from: Place, to: Place, now: Time) -> Time {
        let cuts = || self.cuts.iter().filter(|cut| cut.lost == 1.0 && cut.around.separates(from, to));
        let mut at = now;
        while let Some(cut) = cuts().find(|cut| cut.during.has(at)) {
            at = cut.during.until;
        }
        at
    }

    /// What a transfer between two places that begins at `now` meets.
    pub(super) fn spells(&self, one: Place, other: Place, now: Time) -> Vec<Spell> {
        let met = |cut: &&Cut| cut.during.until > now && cut.around.separates(one, other);
        let spell = |Cut { during: During { from, until }, lost, .. }: &Cut| Spell {
            from: from.saturating_since(now),
            until: until.saturating_since(now),
            lost: *lost,
        };
        self.cuts.iter().filter(met).map(spell).collect()
    }

    /// Until when a server stands still; none: it does not.
    #[inline]
    pub(super) fn host_stands(&self, host: u32, now: Time) -> Option<Time> {
        self.stands(now, |frozen| frozen.hosts.contains(&host))
    }

    /// Until when a decider stands still; none: it does not.
    #[inline]
    pub(super) fn decider_stands(&self, decider: u32, now: Time) -> Option<Time> {
        self.stands(now, |frozen| frozen.deciders.contains(&decider))
    }

    fn stands(&self, now: Time, is_in: impl Fn(&Frozen) -> bool) -> Option<Time> {
        let standing = self.frozen.iter().filter(|frozen| frozen.during.has(now) && is_in(frozen));
        standing.map(|frozen| frozen.during.until).max()
    }

    /// How long a server stood still from `since` to `now`.
    pub(super) fn stood(&self, host: u32, since: Time, now: Time) -> Span {
        let own = self.frozen.iter().filter(|frozen| frozen.hosts.contains(&host));
        own.map(|frozen| frozen.during.until.min(now).saturating_since(frozen.during.from.max(since))).sum()
    }
}

impl During {
    fn has(self, now: Time) -> bool {
        self.from <= now && now < self.until
    }
}

impl Around {
    fn separates(&self, one: Place, other: Place) -> bool {
        let is_host = |place: Place, hosts: &[u32]| place.host.is_some_and(|host| hosts.contains(&host));
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
