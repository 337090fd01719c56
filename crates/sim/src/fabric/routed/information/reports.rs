//! Reports: what the tier in front of targets learns from them of their load, and of the clients that ask them.
//!
//! When a target reports, and what its receiver makes of that, is `sojourn_dispatch::reports`, which live parts share.
//! All targets of a tier look at their load at the same instants. A report takes the way between the two places and is lost
//! with the path's packets only if the tier says so; its receiver takes the tier's `cost` for it, one after the other. So
//! what a policy knows is as old as that.
//!
//! | target | what it reports |
//! |---|---|
//! | a server | its own load |
//! | a decider to which its targets report | their last reports, added up: one server of high capacity |
//! | any other decider | the load of all servers behind it |
//!
//! A target that is silent for two heartbeats is down to the receiver, until it reports again. A decider with no server
//! left says so at once. Request rates of clients go from servers to deciders, and from decider to decider for clients
//! above the mean, each reporter's at a phase of its own. Agarwal, A test bed for performance evaluation of load balancing
//! strategies for web server systems, 2001, sections 3.5 and 4.3.

use std::collections::BTreeMap;
use std::ops::Range;

use sojourn_dispatch::capacity::{DEFAULT, Rule};
use sojourn_dispatch::reports::{Account, AsOne, Occasion, Rates, SILENT_HEARTBEATS, Totals, above_mean, phase};
use sojourn_dispatch::{News, Report};
use sojourn_model::System;
use sojourn_model::system::Reports;
use sojourn_stats::{Span, Stream, Time};

use super::messages::{Load, Message};
use super::{View, name_of};
use crate::fabric::deciders::{Decider, Next};
use crate::fabric::routed::network::Network;
use crate::fabric::routed::stations::Stations;

/// All that report, and to which decider.
pub(super) struct Reporting {
    reporters: Vec<Reporter>,
    /// The reporters about the targets of each decider.
    of_decider: Vec<Range<usize>>,
    /// Those that add up the reports to each decider.
    above: Vec<Vec<usize>>,
    /// What each decider knows of its clients.
    rates: Vec<Rates<u32>>,
    /// Those that look at each server themselves.
    of_host: Vec<Vec<u32>>,
    /// Nearest the servers first, so that what is added up at an instant is of that instant.
    clocks: Vec<Clock>,
    /// When the first clock is due.
    next_at: Time,
    /// When each decider has had its time for the reports that have come.
    free_at: Vec<Time>,
    /// Who asks the DNS for each client; empty where nothing asks for it.
    askers: Vec<u32>,
}

/// When reporters of a tier look at their load, or send the rates of clients.
struct Clock {
    next: Time,
    every: Span,
    reporters: Range<usize>,
    of_clients: bool,
}

/// A target of a decider that wants reports.
struct Reporter {
    decider: u32,
    target: u32,
    next: Next,
    /// The servers behind it, their cores, and the stations of their processors, disks and networks.
    hosts: Vec<u32>,
    cores: u32,
    stations: [Vec<usize>; 3],
    /// Its targets report to it: it adds their reports up.
    adds_up: bool,
    /// One way to its decider, and how many packets are lost on it.
    way: Span,
    loss: Option<(f64, Stream)>,
    heartbeat: Span,
    cost: Span,
    every: Span,
    /// At its place: requests inside, what was done so far, and what was reported last.
    inside: u32,
    totals: Totals,
    looked: Looked,
    occasion: Occasion,
    /// Requests of each client since rates were last sent, and which clients have some; none where rates are added up
    /// too, or not wanted.
    counts: Option<(Vec<u32>, Vec<u32>)>,
    counted_since: Time,
    /// It reports the rates of those who ask the DNS.
    hidden_load: bool,
    /// At its decider: when its last report came, and what is learned from all.
    came: Time,
    is_lost: bool,
    account: Account,
    /// Requests and bytes reported in all, for what is added up.
    done: Totals,
}

/// What the last look found, to tell busy shares from.
#[derive(Clone, Copy, Default)]
struct Looked {
    at: Time,
    busy: [Span; 3],
    shares: [f32; 3],
}

impl Reporting {
    /// The reporters of `system`; none where no tier wants reports. `askers`: who asks the DNS for each client.
    pub(super) fn new(
        system: &System,
        deciders: &[Decider],
        network: &Network,
        stations: &Stations,
        askers: Vec<u32>,
        seed: u64,
    ) -> Option<Reporting> {
        let tiers = system.tiers.iter().flat_map(|tier| std::iter::repeat_n(tier, tier.seats.len()));
        let reports: Vec<Option<Reports>> = tiers.map(|tier| tier.reports).collect();
        if reports.iter().all(Option::is_none) {
            return None;
        }
        let mut reporters = Vec::new();
        let mut of_decider = Vec::new();
        for (number, decider) in deciders.iter().enumerate() {
            let first = reporters.len();
            let Some(wanted) = reports.get(number).copied().flatten() else {
                of_decider.push(first..first);
                continue;
            };
            for (target, &next) in decider.targets.iter().enumerate() {
                let hosts = hosts_behind(next, deciders);
                let of_next = match next {
                    Next::Server(_) => None,
                    Next::Decider(other) => reports.get(other as usize).copied().flatten(),
                };
                let adds_up_rates = of_next.is_some_and(|reports| reports.client_rates.is_some());
                let lossy = wanted.lossy.then(|| {
                    let path = system.paths.between(decider.region, network.region_of(next));
                    let loss = path.map_or(0.0, |path| path.loss.down);
                    (loss, Stream::new(seed, &format!("decider {number} target {target}"), "lost reports"))
                });
                reporters.push(Reporter {
                    decider: number as u32,
                    target: target as u32,
                    next,
                    cores: hosts.iter().map(|host| system.hosts[*host as usize].server.cores).sum(),
                    stations: stations_of(&hosts, system, stations),
                    hosts,
                    adds_up: of_next.is_some(),
                    way: network.between(number as u32, next),
                    loss: lossy,
                    heartbeat: wanted.heartbeat.unwrap_or(wanted.every),
                    cost: wanted.cost,
                    every: wanted.every,
                    inside: 0,
                    totals: Totals { stayed_ns: Some(0), ..Totals::default() },
                    looked: Looked::default(),
                    occasion: Occasion::default(),
                    counts: (wanted.client_rates.is_some() && !adds_up_rates).then(Default::default),
                    counted_since: Time::ZERO,
                    hidden_load: wanted.hidden_load,
                    came: Time::ZERO,
                    is_lost: false,
                    account: Account::learning(
                        Time::ZERO,
                        Totals { stayed_ns: Some(0), busy_ns: Some((0, 0)), ..Totals::default() },
                        Rule { estimator: wanted.estimator.unwrap_or(DEFAULT), at: wanted.capacity_at },
                    ),
                    done: Totals::default(),
                });
            }
            of_decider.push(first..reporters.len());
        }
        let (mut above, mut of_host) = (vec![Vec::new(); deciders.len()], vec![Vec::new(); system.hosts.len()]);
        for (number, reporter) in reporters.iter().enumerate() {
            if let (true, Next::Decider(decider)) = (reporter.adds_up, reporter.next) {
                above[decider as usize].push(number);
            }
            // What adds up reports looks at no server itself.
            let looks = !reporter.adds_up || reporter.counts.is_some();
            for host in reporter.hosts.iter().filter(|_| looks) {
                of_host[*host as usize].push(number as u32);
            }
        }
        let mut clocks: Vec<(usize, Clock)> = Vec::new();
        for (number, wanted) in reports.iter().enumerate() {
            let Some(wanted) = wanted else { continue };
            let (depth, range) = (depth(Next::Decider(number as u32), deciders), of_decider[number].clone());
            let mut add = |next, every, reporters, of_clients| {
                clocks.push((depth, Clock { next, every, reporters, of_clients }));
            };
            add(Time::ZERO + wanted.every, wanted.every, range.clone(), false);
            let Some(every) = wanted.client_rates else { continue };
            for reporter in range {
                let later = phase(&name_of(reporters[reporter].next), every);
                add(Time::ZERO + every + later, every, reporter..reporter + 1, true);
            }
        }
        clocks.sort_by_key(|(depth, _)| *depth);
        let next_at = clocks.iter().map(|(_, clock)| clock.next).min().unwrap_or(Time::NEVER);
        let has_hidden_load = reports.iter().flatten().any(|reports| reports.hidden_load);
        let rates = of_decider.iter().map(|targets| Rates::new(targets.len())).collect();
        Some(Reporting {
            next_at,
            rates,
            reporters,
            of_decider,
            above,
            of_host,
            clocks: clocks.into_iter().map(|(_, clock)| clock).collect(),
            free_at: vec![Time::ZERO; deciders.len()],
            askers: if has_hidden_load { askers } else { Vec::new() },
        })
    }

    /// When [`Reporting::tick`] is due.
    #[inline]
    pub(super) fn next_at(&self) -> Time {
        self.next_at
    }

    /// Whether a decider gets reports.
    pub(super) fn is_about_targets_of(&self, decider: usize) -> bool {
        !self.of_decider[decider].is_empty()
    }

    /// A request is in a server.
    pub(super) fn arrived(&mut self, host: usize, view: &mut View<'_>) {
        for place in 0..self.of_host[host].len() {
            let number = self.of_host[host][place] as usize;
            let reporter = &mut self.reporters[number];
            reporter.inside += 1;
            reporter.totals.arrived += 1;
            self.watch(number, view);
        }
    }

    /// A request of `client` has been served, after so long at the server.
    pub(super) fn served(&mut self, host: usize, client: u32, bytes: u64, stayed: Span, view: &mut View<'_>) {
        for place in 0..self.of_host[host].len() {
            let number = self.of_host[host][place] as usize;
            let reporter = &mut self.reporters[number];
            reporter.totals.completed += 1;
            reporter.totals.bytes += bytes;
            *reporter.totals.stayed_ns.get_or_insert_default() += u128::from(stayed.0);
            if let Some((counts, asked)) = &mut reporter.counts {
                if counts.len() <= client as usize {
                    counts.resize(client as usize + 1, 0);
                }
                if counts[client as usize] == 0 {
                    asked.push(client);
                }
                counts[client as usize] += 1;
            }
            reporter.inside -= 1;
            self.watch(number, view);
        }
    }

    /// A request has left a server before its end.
    pub(super) fn cancelled(&mut self, host: u32) {
        for number in &self.of_host[host as usize] {
            self.reporters[*number as usize].inside -= 1;
        }
    }

    /// The targets of the first clock that is due look at their load, and report what there is. What they report at
    /// once is taken before the next clock.
    pub(super) fn tick(&mut self, view: &mut View<'_>) {
        let Some(clock) = self.clocks.iter_mut().find(|clock| clock.next <= view.now) else { return };
        clock.next += clock.every;
        let Clock { of_clients, ref reporters, .. } = *clock;
        for reporter in reporters.clone() {
            match of_clients {
                true => self.send_rates(reporter, view),
                false => self.look(reporter, view),
            }
        }
        self.next_at = self.clocks.iter().map(|clock| clock.next).min().unwrap_or(Time::NEVER);
    }

    /// A decider takes a report.
    pub(super) fn take(&mut self, number: u32, load: &Load, view: &mut View<'_>) {
        let reporter = &mut self.reporters[number as usize];
        let (decider, target) = (reporter.decider as usize, reporter.target);
        reporter.came = view.now;
        let balancer = &mut view.balancers[reporter.decider].balancer;
        reporter.is_lost = load.is_empty;
        if load.is_empty {
            balancer.learn(target, News::Empty, view.now);
        } else {
            let report = reporter.understand(load);
            balancer.learn(target, News::Overloaded(load.is_overloaded), view.now);
            balancer.learn(target, News::Reported(&report), view.now);
        }
        self.watch_above(decider, view);
    }

    /// An overload may now be one of all targets of a decider together, or none of them is left.
    pub(super) fn watch_above(&mut self, decider: usize, view: &mut View<'_>) {
        for place in 0..self.above[decider].len() {
            self.watch(self.above[decider][place], view);
        }
    }

    /// The decider of a reporter takes its rates of clients: of each, the sum over the decider's targets.
    pub(super) fn take_rates(&mut self, number: u32, rates: Vec<(u32, f64)>) -> (u32, Vec<(u32, f64)>) {
        let Reporter { decider, target, .. } = self.reporters[number as usize];
        (decider, self.rates[decider as usize].replace(target as usize, rates))
    }

    /// When the receiver of a message that comes now has had its time for it, after those before it.
    pub(super) fn taken_at(&mut self, reporter: u32, now: Time) -> Time {
        let Reporter { decider, cost, .. } = self.reporters[reporter as usize];
        let free_at = &mut self.free_at[decider as usize];
        *free_at = now.max(*free_at) + cost;
        *free_at
    }

    /// A reporter looks at its load, and its decider at how long it has been silent.
    fn look(&mut self, number: usize, view: &mut View<'_>) {
        self.watch_silence(number, view);
        let reporter = &mut self.reporters[number];
        reporter.measure_shares(view);
        let Some(load) = self.load(number, view) else { return };
        let reporter = &self.reporters[number];
        if reporter.occasion.is_due(load.report.cpu, reporter.heartbeat, view.now) {
            self.send(number, load, view);
        }
    }

    /// A decider that has had no report of a target for too long takes it for down.
    fn watch_silence(&mut self, number: usize, view: &mut View<'_>) {
        let reporter = &mut self.reporters[number];
        let patience = Span(reporter.heartbeat.0 * SILENT_HEARTBEATS) + reporter.way;
        if !reporter.is_lost && view.now.saturating_since(reporter.came) > patience {
            reporter.is_lost = true;
            let (decider, target) = (reporter.decider as usize, reporter.target as usize);
            view.balancers[reporter.decider].balancer.learn(reporter.target, News::Silent, view.now);
            self.rates[decider].forget(target);
            self.watch_above(decider, view);
        }
    }

    /// Tells at once that an overload has begun or ended, or that no server is left.
    fn watch(&mut self, number: usize, view: &mut View<'_>) {
        let reporter = &self.reporters[number];
        let (inside, cores, is_empty) = match reporter.next {
            Next::Decider(decider) if reporter.adds_up => {
                let AsOne { report, is_empty, .. } = self.as_one(decider, view);
                (report.in_flight, reporter.cores, is_empty)
            }
            _ => (reporter.inside, reporter.cores, false),
        };
        let occasion = &mut self.reporters[number].occasion;
        let has_emptied = occasion.has_emptied(is_empty);
        if !occasion.has_turned(inside, cores) && !has_emptied {
            return;
        }
        if let Some(load) = self.load(number, view) {
            self.send(number, load, view);
        }
    }

    /// What a reporter has to say now; nothing where it is down.
    fn load(&self, number: usize, view: &View<'_>) -> Option<Load> {
        let reporter = &self.reporters[number];
        let is_up = |host: &u32| !view.faults.is_host_down(*host);
        let is_overloaded = reporter.occasion.is_overloaded();
        let is_drained = matches!(reporter.next, Next::Decider(decider) if view.faults.is_decider_drained(decider));
        if view.faults.is_silent(reporter.next, view.now) && !is_drained {
            return None;
        }
        if reporter.adds_up {
            let Next::Decider(decider) = reporter.next else { unreachable!("servers add nothing up") };
            let AsOne { report, is_empty, totals } = self.as_one(decider, view);
            return Some(Load { report, is_overloaded, is_empty, totals });
        }
        let mut totals = reporter.totals;
        let cores_ns = u128::from(view.now.0) * u128::from(reporter.cores);
        totals.busy_ns = Some((reporter.busy(0, view).0.into(), cores_ns));
        let [cpu, disk, net] = reporter.looked.shares;
        let queues = [0, 1, 2].map(|kind: usize| view.stations.inside_of(&reporter.stations[kind]));
        let report =
            Report { measured: view.now, in_flight: reporter.inside, cpu, disk, net, queues, ..Report::default() };
        Some(Load { report, is_overloaded, is_empty: !reporter.hosts.iter().any(is_up), totals })
    }

    /// What a decider's targets last reported, as if they were one server; one that is drained has none left.
    fn as_one(&self, decider: u32, view: &View<'_>) -> AsOne {
        let front = view.balancers[decider].balancer.front();
        let is_drained = view.faults.is_decider_drained(decider);
        let reports = front.reporting().filter(|_| !is_drained).map(|id| front.table().report(id));
        let below = self.of_decider[decider as usize].clone();
        AsOne::of(reports, below.map(|one| self.reporters[one].done), view.now)
    }

    fn send(&mut self, number: usize, load: Load, view: &mut View<'_>) {
        let reporter = &mut self.reporters[number];
        reporter.occasion.told(load.report.cpu, view.now);
        if reporter.is_lost_on_the_way(view) {
            return;
        }
        let way = reporter.way;
        let message = Message::Load { reporter: number as u32, load: Box::new(load), is_taken: false };
        view.messages.send(view.now + way, message);
    }

    /// Sends the rates of the clients that have asked since the last time: all of them, or, of a decider, those above the
    /// mean, unless hidden load is wanted.
    fn send_rates(&mut self, number: usize, view: &mut View<'_>) {
        let mut rates = self.rates(number, view.now);
        let reporter = &mut self.reporters[number];
        if reporter.hidden_load {
            rates = by_asker(rates, &self.askers);
        }
        let rates: Vec<(u32, f64)> = match reporter.next {
            next if view.faults.is_silent(next, view.now) => return,
            Next::Server(_) => rates,
            Next::Decider(_) if reporter.hidden_load => rates,
            Next::Decider(_) => above_mean(rates),
        };
        if !reporter.is_lost_on_the_way(view) {
            let way = reporter.way;
            view.messages.send(view.now + way, Message::Rates { reporter: number as u32, rates });
        }
    }

    /// Rates of clients at a reporter, in the order of the clients.
    fn rates(&mut self, number: usize, now: Time) -> Vec<(u32, f64)> {
        let reporter = &mut self.reporters[number];
        if let Some((counts, asked)) = &mut reporter.counts {
            let counted_s = (now - std::mem::replace(&mut reporter.counted_since, now)).as_secs_f64();
            asked.sort_unstable();
            let rate = |client: u32| (client, f64::from(std::mem::take(&mut counts[client as usize])) / counted_s);
            return asked.drain(..).map(rate).collect();
        }
        let Next::Decider(decider) = self.reporters[number].next else {
            unreachable!("a server counts its own clients")
        };
        self.rates[decider as usize].all()
    }
}

impl Reporter {
    /// What its decider makes of a report: differences to the last one, and what it learns from them.
    fn understand(&mut self, load: &Load) -> Report {
        let Load { report, totals, .. } = load;
        let mut report = report.clone();
        match self.adds_up {
            true => self.account.add_differences(&mut report, totals, self.every),
            false => self.account.understand(&mut report, totals, self.every),
        }
        self.done.add(&report);
        report
    }

    /// The busy shares since the last look.
    fn measure_shares(&mut self, view: &View<'_>) {
        let busy = [0, 1, 2].map(|kind| self.busy(kind, view));
        let elapsed_s = (view.now - self.looked.at).as_secs_f64();
        let units = [self.cores as f64, self.stations[1].len() as f64, self.stations[2].len() as f64];
        self.looked.shares = std::array::from_fn(|kind| {
            let spent_s = (busy[kind] - self.looked.busy[kind]).as_secs_f64();
            if units[kind] > 0.0 { (spent_s / (units[kind] * elapsed_s)) as f32 } else { 0.0 }
        });
        (self.looked.at, self.looked.busy) = (view.now, busy);
    }

    /// Time that its processors (0), disks (1) or networks (2) have spent.
    fn busy(&self, kind: usize, view: &View<'_>) -> Span {
        Span(self.stations[kind].iter().map(|station| view.stations.busy(*station, view.now).0).sum())
    }

    /// A cut loses all that it says; what a path loses is lost only where the tier says so.
    fn is_lost_on_the_way(&mut self, view: &View<'_>) -> bool {
        let further = view.network.lost(self.next, Next::Decider(self.decider), view.now);
        let is_lost = |(share, stream): &mut (f64, Stream)| stream.uniform() < *share + (1.0 - *share) * further;
        further == 1.0 || self.loss.as_mut().is_some_and(is_lost)
    }
}

/// The rates of those who ask the DNS, in their order, from the rates of clients.
fn by_asker(rates: Vec<(u32, f64)>, askers: &[u32]) -> Vec<(u32, f64)> {
    let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
    for (client, rate) in rates {
        *sums.entry(askers.get(client as usize).copied().unwrap_or(client)).or_default() += rate;
    }
    sums.into_iter().collect()
}

/// The servers behind `next`, in ascending order.
fn hosts_behind(next: Next, deciders: &[Decider]) -> Vec<u32> {
    let mut hosts = match next {
        Next::Server(host) => vec![host],
        Next::Decider(decider) => {
            let targets = &deciders[decider as usize].targets;
            targets.iter().flat_map(|target| hosts_behind(*target, deciders)).collect()
        }
    };
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

/// The most deciders between `next` and a server.
fn depth(next: Next, deciders: &[Decider]) -> usize {
    match next {
        Next::Server(_) => 0,
        Next::Decider(decider) => {
            let targets = &deciders[decider as usize].targets;
            1 + targets.iter().map(|target| depth(*target, deciders)).max().unwrap_or(0)
        }
    }
}

/// The stations of the processors, disks and networks of these servers.
fn stations_of(hosts: &[u32], system: &System, all: &Stations) -> [Vec<usize>; 3] {
    let mut stations = [const { Vec::new() }; 3];
    for host in hosts.iter().map(|host| *host as usize) {
        let resources = system.hosts[host].server.machine.iter().flat_map(|machine| &machine.resources);
        let mut names = resources.map(|resource| resource.name.as_str());
        for station in all.of_host(host) {
            let kind = match names.next() {
                Some("disk") => 1,
                Some("net") => 2,
                _ => 0,
            };
            stations[kind].push(*station);
        }
    }
    stations
}
