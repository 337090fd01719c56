//! SWEB's broker: the node that is estimated to answer this request first, with all that it takes: being sent there, the
//! data, the processor.
//!
//! | term | for the node at which the request is | for each other node |
//! |---|---|---|
//! | redirection | 0 | a round trip to the client and back, and `connect` |
//! | data, where the node owns the file | size x disk load / rate of the disk | the same |
//! | data, where another does | (1 + `remote_penalty`) x what the owner's disk takes, no less than either network | the same |
//! | processor | operations x processor load / speed | the same |
//!
//! A disk takes size x its load / its rate, a network the same. A load is 1 + the requests at the resource or the
//! resource's busy share, as last reported, whichever is larger: a request shares it with them. What is not known takes no
//! time: a file without an owner is local everywhere, a request without a size needs no data. The processor load of the node
//! that is chosen counts as `rise` higher until it reports again, each choice on top of the one before. Equal nodes: the one
//! where the request is, else drawn. A request that was redirected once stays where it is.
//!
//! Parameters: `rise`, default 0.3; `remote_penalty`, default 0.1 (the paper: 0.1 on a Meiko CS-2, 0.5 to 0.7 on Ethernet);
//! `connect`, the time to set up a connection, default a round trip; `latency`, one way between client and server, where the
//! face cannot tell it; `net = true` also compares the way back to the client, size x network load / rate, which the paper
//! takes as equal for all. `dedicated = s1 s2` keeps the nodes of these names for the requests of class number `class` (default
//! 0), which go to no other node, or with `spill = true` also to others: static files at masters and programs at slaves, or
//! customers who are served first. Where no node that may serve a request is up, all may. Reads reports, hardware, owners,
//! sizes, operations and the client's round trip. It looks at every node, which is its price: a microsecond for 64.
//!
//! Andresen, Yang, Holmedahl, Ibarra, SWEB: towards a scalable World Wide Web server on multicomputers, IPPS 1996, section 3.2.
//! The formula of the data is lost in the text that is left, and what a load of 0 does is not said; both are read as above.

use sojourn_stats::{Span, Stream};

use super::Entry;
use crate::{
    Ask, BackendId, Code, Decision, DispatchError, Explanation, Hold, LoadBy, Params, Policy, Reason, Signals, Terms,
};

pub(super) const ENTRY: Entry = Entry {
    name: "sweb",
    summary: "shortest estimate of redirection, data and processor together, at nodes that redirect",
    build: |params| Ok(Box::new(Sweb::read(params)?)),
};

/// See the module.
#[derive(Clone, Debug)]
pub struct Sweb {
    rise: f32,
    remote_penalty: f64,
    connect: Option<Span>,
    /// One way to the client, where it is set.
    latency: Option<Span>,
    /// How loads are read off reports.
    load: LoadBy,
    compares_net: bool,
    /// Nothing but the processor and the redirection counts.
    is_cpu_only: bool,
    /// The names of the nodes that are for this class only.
    dedicated: Vec<String>,
    class: u8,
    /// The class may use the other nodes too.
    spills: bool,
    /// The best so far; kept so that a choice allocates nothing.
    tied: Vec<BackendId>,
}

/// What a request would take at one node (s).
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    redirection: f64,
    data: f64,
    cpu: f64,
    net: f64,
}

impl Cost {
    fn sum(self) -> f64 {
        self.redirection + self.data + self.cpu + self.net
    }
}

impl Sweb {
    fn read(params: &mut Params<'_>) -> Result<Sweb, DispatchError> {
        Ok(Sweb {
            remote_penalty: params.number("remote_penalty", 0.1, 0.0..=100.0)?,
            compares_net: params.choice("net", &[("true", true), ("false", false)])?.unwrap_or(false),
            is_cpu_only: false,
            ..Sweb::of_cpu_only(params)?
        })
    }

    /// One that goes by the processor only.
    pub(super) fn of_cpu_only(params: &mut Params<'_>) -> Result<Sweb, DispatchError> {
        let optional = |params: &mut Params<'_>, name| match params.span(name, Span::FOREVER)? {
            Span::FOREVER => Ok::<_, DispatchError>(None),
            given => Ok(Some(given)),
        };
        let loads = [("larger", LoadBy::Larger), ("queue", LoadBy::Queue), ("busy", LoadBy::Busy)];
        Ok(Sweb {
            load: params.choice("load", &loads)?.unwrap_or_default(),
            rise: params.number("rise", 0.3, 0.0..=10.0)? as f32,
            remote_penalty: 0.0,
            connect: optional(params, "connect")?,
            latency: optional(params, "latency")?,
            compares_net: false,
            is_cpu_only: true,
            dedicated: params.text("dedicated").unwrap_or("").split_whitespace().map(str::to_owned).collect(),
            class: params.number("class", 0.0, 0.0..=255.0)?.floor() as u8,
            spills: params.choice("spill", &[("true", true), ("false", false)])?.unwrap_or(false),
            tied: Vec::new(),
        })
    }

    /// Those that may serve a request of its class; all, where none of these is up.
    fn candidates<'a>(&'a self, ask: &'a Ask<'_>) -> impl Iterator<Item = BackendId> + Clone + 'a {
        let is_theirs = ask.request.class == self.class;
        let may_serve = move |id: &BackendId| {
            let is_dedicated = || self.dedicated.iter().any(|name| name == ask.table.name(*id));
            self.dedicated.is_empty() || is_theirs && self.spills || is_dedicated() == is_theirs
        };
        let any = ask.candidates().any(|id| may_serve(&id));
        ask.candidates().filter(move |id| !any || may_serve(id))
    }

    /// What the request would take at each node: what is the same for all of them is reckoned once.
    fn costs<'a>(&'a self, ask: &'a Ask<'_>) -> impl Fn(BackendId) -> Cost + 'a {
        let (request, table) = (ask.request, ask.table);
        let size = request.size.unwrap_or(0) as f64;
        let work = request.work.unwrap_or(0.0);
        let redirection = self.redirection(ask);
        let owners = if self.is_cpu_only { &[] } else { table.owners(request.object) };
        let remote = owners.iter().map(|owner| self.from(ask, *owner, size)).fold(f64::INFINITY, f64::min);
        move |id| {
            let (own, [disk, net]) = (table.hardware(id), self.loads(ask, id));
            let over_net = over(size * net, own.net_rate);
            let is_local = owners.is_empty() || owners.contains(&id);
            Cost {
                redirection: if request.here == Some(id) { 0.0 } else { redirection },
                data: match is_local {
                    _ if self.is_cpu_only => 0.0,
                    true => over(size * disk, own.disk_rate),
                    false => remote.max(over_net),
                },
                cpu: over(work * table.believed_cpu_load(id, self.load), own.speed),
                net: if self.compares_net { over_net } else { 0.0 },
            }
        }
    }

    /// The client is told, and comes again.
    fn redirection(&self, ask: &Ask<'_>) -> f64 {
        let one_way = self.latency.map(Span::as_secs_f64);
        let round_trip = one_way.map(|one_way| 2.0 * one_way);
        let round_trip = round_trip.or(ask.request.round_trip.map(Span::as_secs_f64)).unwrap_or(0.0);
        round_trip + self.connect.map_or(round_trip, Span::as_secs_f64)
    }

    /// How many share the disk and the network of a node, this request included.
    fn loads(&self, ask: &Ask<'_>, id: BackendId) -> [f64; 2] {
        let load = |busy: f32, queue: u32| 1.0 + self.load.of(busy, queue);
        ask.table.report(id).map_or([1.0; 2], |said| [load(said.disk, said.queues[1]), load(said.net, said.queues[2])])
    }

    /// What a file takes that `owner` reads and sends to another node, whose own network is left out.
    fn from(&self, ask: &Ask<'_>, owner: BackendId, size: f64) -> f64 {
        let (hardware, [disk, net]) = (ask.table.hardware(owner), self.loads(ask, owner));
        ((1.0 + self.remote_penalty) * over(size * disk, hardware.disk_rate)).max(over(size * net, hardware.net_rate))
    }
}

impl Policy for Sweb {
    fn requires(&self) -> Signals {
        let cpu = Signals::REPORTS | Signals::UTILIZATION | Signals::HARDWARE | Signals::HOPS | Signals::WORK;
        let data = Signals::OBJECT | Signals::OWNERS | Signals::SIZE;
        let data = if self.is_cpu_only { Signals::empty() } else { data };
        let round_trip = if self.latency.is_some() { Signals::empty() } else { Signals::CLIENT_ROUND_TRIP };
        cpu | data | round_trip
    }

    fn names(&self) -> &[String] {
        &self.dedicated
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        if let Some(stays) = stays(ask) {
            return stays;
        }
        let mut tied = std::mem::take(&mut self.tied);
        tied.clear();
        let mut least = f64::INFINITY;
        let costs = self.costs(ask);
        for id in self.candidates(ask) {
            let cost = costs(id).sum();
            if cost < least {
                least = cost;
                tied.clear();
            }
            if cost <= least {
                tied.push(id);
            }
        }
        let here = ask.request.here.filter(|here| tied.contains(here));
        let chosen = match (here, tied.len()) {
            (Some(here), _) => Some(here),
            (None, 0) => None,
            (None, 1) => Some(tied[0]),
            (None, ties) => Some(tied[draw.below(ties)]),
        };
        let ties = tied.len() as u32;
        drop(costs);
        self.tied = tied;
        let Some(chosen) = chosen else { return Decision::refuse() };
        let reason = Reason { code: Code::LeastCost, ties, value: least };
        Decision::forward(chosen, reason).held(Hold::UntilReport { cpu: self.rise, room: 0.0 })
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        let costs = self.costs(ask);
        Explanation::of(self.candidates(ask), |id| -> Terms {
            let Cost { redirection, data, cpu, net } = costs(id);
            let terms = [("redirection_s", redirection), ("data_s", data), ("cpu_s", cpu), ("net_s", net)];
            terms.map(|(name, value)| (name.into(), value)).into()
        })
    }
}

/// The decision on a request that may not move: it was redirected already.
pub(super) fn stays(ask: &Ask<'_>) -> Option<Decision> {
    let here = ask.request.here.filter(|_| ask.request.hops > 0)?;
    let reason = Reason { code: Code::Redirected, ties: 1, value: f64::from(ask.request.hops) };
    Some(Decision { action: crate::Action::ServeHere, ..Decision::forward(here, reason) })
}

/// So much at a rate (1/s); a rate that is not known takes no time.
fn over(amount: f64, rate: f64) -> f64 {
    if rate > 0.0 { amount / rate } else { 0.0 }
}
