//! How a service chooses: who asks, what the policy is asked, and what is answered.

use std::net::IpAddr;

use sojourn_dispatch::{BackendId, Code, Command, Origin, Request, Signals, TtlRule};
use sojourn_part::network::prefix;
use sojourn_stats::{Span, Time};

use super::super::journal::{Decided, Named};
use super::{Inside, Order};
use crate::chooser::{Answered, Asker, Family};
use crate::subnet::Client;
use sojourn_part::settings::dns::{NoneUp, NoneWithRoom};

/// The longest TTL that a rule may make: a day.
const TTL_MAX_S: u64 = 86_400;

impl Inside {
    pub(super) fn choose(
        &mut self,
        (client, asker): (Client, &Asker),
        family: Family,
        now: Time,
        list: &mut Vec<IpAddr>,
    ) -> Answered {
        list.clear();
        if !self.sites.have(family) {
            return Answered::Addresses { ttl: self.config.ttl.span, scope: 0 };
        }
        let scope = if self.reads_clients() { client.scope } else { 0 };
        if let Some(decided) = self.journal.pair(client, family, now) {
            self.sites.addresses(decided.named.sites(), family, list);
            if !list.is_empty() {
                decided.is_paired = true;
                self.counts.paired += 1;
                let left = decided.ttl.0.saturating_sub(now.saturating_since(decided.at).0);
                return Answered::Addresses { ttl: whole_seconds(Span(left)), scope };
            }
        }
        let claimed_by = asker.subnet.map(|_| self.network(asker.from));
        let request = Request { claimed_by, ..self.request(client) };
        let decision = self.front.choose(&request, self.sites.without(family), now);
        self.counts.decisions += 1;
        let chosen = decision.chosen();
        // Where none was chosen, those that are up may be named all the same.
        let ttl = match chosen.or(self.front.table().eligible().first().copied()) {
            Some(first) => self.ttl(client, first),
            None => self.config.ttl.span,
        };
        let Inside { front, journal, sites, config, named, .. } = self;
        named.clear();
        if let Some(first) = chosen {
            sites.in_order(front, &request, first, family, config.answers, now, named);
        }
        sites.addresses(named, family, list);
        let named = Named::new(named);
        journal.add(|number| Decided { number, at: now, client, family, decision, ttl, named, is_paired: false });
        self.obey(client, now);
        self.notice_record();
        match chosen {
            Some(_) => Answered::Addresses { ttl, scope },
            None if decision.reason.code == Code::NoRoom => self.without_room(family, (ttl, scope), list),
            None => self.without_site(family, ttl, list),
        }
    }

    /// What is answered where no site is up.
    fn without_site(&mut self, family: Family, ttl: Span, list: &mut Vec<IpAddr>) -> Answered {
        self.counts.none_up += 1;
        match self.config.none_up {
            NoneUp::All => {
                self.sites.all(&self.front, family, list);
                Answered::Addresses { ttl, scope: 0 }
            }
            NoneUp::ServFail => Answered::Nothing,
        }
    }

    /// What is answered where no site has room for the client, and the policy was not asked.
    fn without_room(&mut self, family: Family, (ttl, scope): (Span, u8), list: &mut Vec<IpAddr>) -> Answered {
        self.counts.none_with_room += 1;
        match self.config.none_with_room {
            NoneWithRoom::Policy | NoneWithRoom::All => {
                self.sites.addresses(self.front.table().eligible(), family, list);
                Answered::Addresses { ttl, scope }
            }
            NoneWithRoom::ServFail => Answered::Nothing,
        }
    }

    /// What the policy is asked. Places are looked up only for those that read them.
    pub(super) fn request(&self, client: Client) -> Request {
        let reads_places = self.front.requires().contains(Signals::ORIGIN);
        let origin = if reads_places { self.around.places.origin(client.address) } else { Origin::default() };
        Request { client: client.key, origin, lease: Some(self.config.ttl.span), ..Request::default() }
    }

    /// The key of the network of an asker.
    fn network(&self, asker: IpAddr) -> u64 {
        let bits = prefix(asker, self.around.networks);
        bits as u64 ^ (bits >> 64) as u64
    }

    /// Whether an answer depends on who asks.
    fn reads_clients(&self) -> bool {
        const OF_CLIENTS: Signals =
            Signals::ADDRESS.union(Signals::ORIGIN).union(Signals::CLIENT_RATES).union(Signals::ROUND_TRIPS);
        self.front.requires().intersects(OF_CLIENTS) || self.config.ttl.rule == TtlRule::Adaptive
    }

    /// How long `client` may keep an answer that names `first`: whole seconds.
    fn ttl(&self, client: Client, first: BackendId) -> Span {
        let (table, clients) = (self.front.table(), self.front.clients());
        whole_seconds(self.config.ttl.rule.ttl(self.config.ttl.span, client.key, first, table, clients))
    }

    /// Hands on the round trips to a client that the policy wants measured.
    pub(super) fn obey(&mut self, client: Client, now: Time) {
        if self.front.deadline().is_none_or(|deadline| deadline > now) {
            return;
        }
        for command in self.front.due(now) {
            let Command::Measure { client: of, from } = command else { continue };
            let order = self.sites.sender(from).zip(client.host()).filter(|_| of == client.key);
            let Some((sender, address)) = order else { continue };
            match self.around.orders.try_send(Order { sender, client: address }) {
                Ok(()) => self.counts.probes += 1,
                Err(_) => self.counts.probes_dropped += 1,
            }
        }
    }
}

/// A TTL of the wire, at least a second.
fn whole_seconds(ttl: Span) -> Span {
    let seconds = ttl.as_secs_f64().round() as u64;
    Span(seconds.clamp(1, TTL_MAX_S.max(1)) * 1_000_000_000)
}
