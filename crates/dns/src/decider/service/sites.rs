//! The sites of a service: their addresses, and whether each can be named.
//!
//! A site is named where it is neither drained by hand nor silent nor failing at its check. What the dispatcher is told
//! follows from these three, so that no order of events leaves it with something else. Sites join and leave while the service
//! runs; one that comes back under its name keeps its number.

use std::net::{IpAddr, SocketAddr};

use serde::Serialize;
use sojourn_dispatch::{BackendId, Dispatcher, Event, Origin, Request, State};
use sojourn_stats::Time;

use super::super::places::Places;
use crate::chooser::Family;
use crate::config::SiteConfig;

/// The sites, by backend.
#[derive(Default)]
pub(crate) struct Sites {
    all: Vec<Site>,
    /// Those without an address of each family: they are no candidates for it.
    without: [Vec<BackendId>; 2],
    /// Whether any has an address of each family.
    any: [bool; 2],
    /// Backends by the receiver's numbers of senders.
    of_sender: Vec<Option<BackendId>>,
}

#[derive(Clone)]
struct Site {
    config: SiteConfig,
    is_drained: bool,
    is_silent: bool,
    fails: bool,
    has_left: bool,
    sender: Option<BackendId>,
}

/// Something that a site does, or that is done to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Change {
    /// It is to keep its clients and be named no more, or again.
    Drained(bool),
    /// It has ceased to report, or reports again.
    Silent(bool),
    /// It fails at its check, or does not any more.
    Fails(bool),
    /// Its weight, which the dispatcher knows already.
    Weight(f64),
}

/// A site's state, for those who ask.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SiteState {
    pub(crate) name: String,
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) state: &'static str,
    pub(crate) weight: f64,
    /// How often it was the first of an answer.
    pub(crate) chosen: u64,
    /// How old its last report is, and what that says; nothing where it has not reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) report_age_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) capacity_per_s: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) room_per_s: Option<f32>,
    /// The room that is left after what was promised since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) believed_room_per_s: Option<f32>,
}

impl Site {
    fn new(config: &SiteConfig) -> Site {
        let is_drained = config.is_drained;
        Site { config: config.clone(), is_drained, is_silent: false, fails: false, has_left: false, sender: None }
    }

    fn state(&self) -> State {
        match self {
            Site { has_left: true, .. } => State::Left,
            Site { is_silent: true, .. } | Site { fails: true, .. } => State::Down,
            Site { is_drained: true, .. } => State::Draining,
            _ => State::Up,
        }
    }

    fn has(&self, family: Family) -> bool {
        self.config.addresses.iter().any(|address| is_of(*address, family))
    }
}

fn is_of(address: IpAddr, family: Family) -> bool {
    address.is_ipv4() == (family == Family::V4)
}

fn origin(config: &SiteConfig, places: &Places) -> Origin {
    let of_address = config.addresses.iter().find(|ip| ip.is_ipv4()).or(config.addresses.first());
    let known = of_address.map_or_else(Origin::default, |address| places.origin(*address));
    Origin {
        region: config.region.or(known.region),
        address: known.address,
        location: config.location.or(known.location),
    }
}

impl Sites {
    /// The sites that the dispatcher was made with.
    pub(super) fn new(sites: &[SiteConfig], places: &Places, dispatcher: &mut Dispatcher, now: Time) -> Sites {
        let mut all = Sites { all: sites.iter().map(Site::new).collect(), ..Sites::default() };
        for index in 0..all.all.len() {
            let id = BackendId(index as u32);
            dispatcher.set_origin(id, origin(&all.all[index].config, places));
            all.tell(id, dispatcher, now);
        }
        all.arrange();
        all
    }

    /// Takes the sites of a new configuration. What was done by hand to those that stay is undone only where the file says
    /// something new.
    pub(super) fn reload(&mut self, sites: &[SiteConfig], places: &Places, dispatcher: &mut Dispatcher, now: Time) {
        for config in sites {
            let known = self.all.iter().position(|site| site.config.name == config.name);
            let before = known.map(|index| self.all[index].clone()).filter(|site| !site.has_left);
            if before.as_ref().is_none_or(|site| site.config.weight != config.weight) {
                let joined = dispatcher.join(&config.name, config.weight, now);
                joined.expect("the policy takes the weights of a configuration that was checked");
            }
            let mut site = before.clone().unwrap_or_else(|| Site::new(config));
            if site.config.is_drained != config.is_drained {
                site.is_drained = config.is_drained;
            }
            site.is_silent &= config.reports;
            site.fails &= config.check.is_some();
            site.config = config.clone();
            match known {
                Some(index) => self.all[index] = Site { sender: self.all[index].sender, ..site },
                None => self.all.push(site),
            }
            let id = dispatcher.table().id(&config.name).expect("it has joined");
            let origin = origin(config, places);
            if dispatcher.table().origin(id) != origin {
                dispatcher.set_origin(id, origin);
            }
        }
        for index in 0..self.all.len() {
            self.all[index].has_left = sites.iter().all(|config| config.name != self.all[index].config.name);
            self.tell(BackendId(index as u32), dispatcher, now);
        }
        self.arrange();
    }

    /// Takes over what was known of sites of the same names, for a new dispatcher.
    pub(super) fn inherit(&mut self, sites: &Sites, before: &Dispatcher, dispatcher: &mut Dispatcher, now: Time) {
        for (index, site) in self.all.iter_mut().enumerate() {
            let id = BackendId(index as u32);
            let Some(known) = sites.all.iter().find(|other| other.config.name == site.config.name) else { continue };
            site.sender = known.sender;
            site.is_silent = known.is_silent && site.config.reports;
            site.fails = known.fails && site.config.check.is_some();
            if known.config.is_drained == site.config.is_drained {
                site.is_drained = known.is_drained;
            }
            let last = before.table().id(&site.config.name).and_then(|id| before.table().report(id).cloned());
            if let Some(report) = last {
                dispatcher.report(id, &report, now);
            }
        }
        (0..self.all.len() as u32).for_each(|index| self.tell(BackendId(index), dispatcher, now));
        self.arrange();
    }

    /// Changes a site; gives the event that says so, where it can be named from now on or not any more.
    pub(super) fn set(
        &mut self,
        id: BackendId,
        change: Change,
        dispatcher: &mut Dispatcher,
        now: Time,
    ) -> Option<&'static str> {
        let site = &mut self.all[id.0 as usize];
        let before = site.state();
        match change {
            Change::Drained(is_drained) => site.is_drained = is_drained,
            Change::Silent(is_silent) => site.is_silent = is_silent && site.config.reports,
            Change::Fails(fails) => site.fails = fails && site.config.check.is_some(),
            Change::Weight(weight) => site.config.weight = weight,
        }
        let after = site.state();
        self.tell(id, dispatcher, now);
        match (before, after) {
            (before, after) if before == after => None,
            (_, State::Up) => Some("site_up"),
            (_, State::Draining) => Some("site_drained"),
            (_, State::Down | State::Left) => Some("site_down"),
        }
    }

    /// The further sites of an answer whose first is `first`, best first: as the policy says, and then in turn.
    pub(super) fn in_order(
        &self,
        dispatcher: &Dispatcher,
        request: &Request,
        first: BackendId,
        family: Family,
        at_most: usize,
        now: Time,
        list: &mut Vec<BackendId>,
    ) {
        if at_most == 1 {
            return list.push(first);
        }
        dispatcher.answer(request, first, now, list);
        let eligible = dispatcher.table().eligible();
        let after = eligible.partition_point(|id| *id <= first);
        for id in eligible[after..].iter().chain(&eligible[..after]) {
            if !list.contains(id) {
                list.push(*id);
            }
        }
        list.retain(|id| self.all[id.0 as usize].has(family));
        list.truncate(at_most);
    }

    /// The addresses of these sites.
    pub(super) fn addresses(&self, sites: &[BackendId], family: Family, list: &mut Vec<IpAddr>) {
        let addresses = sites.iter().flat_map(|id| &self.all[id.0 as usize].config.addresses);
        list.extend(addresses.filter(|address| is_of(**address, family)));
    }

    /// The addresses of all that are not drained; of all, where all are.
    pub(super) fn all(&self, family: Family, list: &mut Vec<IpAddr>) {
        let here = || self.all.iter().filter(|site| !site.has_left);
        let any_serves = here().any(|site| !site.is_drained && site.has(family));
        let serving = here().filter(|site| !(any_serves && site.is_drained));
        list.extend(serving.flat_map(|site| &site.config.addresses).filter(|address| is_of(**address, family)));
    }

    /// Whether any site has such an address.
    pub(super) fn have(&self, family: Family) -> bool {
        self.any[family as usize]
    }

    /// The sites that have no such address.
    pub(super) fn without(&self, family: Family) -> &[BackendId] {
        &self.without[family as usize]
    }

    pub(super) fn name(&self, id: BackendId) -> &str {
        &self.all[id.0 as usize].config.name
    }

    /// The site of this name.
    pub(super) fn find(&self, name: &str) -> Option<BackendId> {
        let place = self.all.iter().position(|site| site.config.name == name && !site.has_left)?;
        Some(BackendId(place as u32))
    }

    /// Says that there is no such site.
    pub(super) fn unknown(&self, name: &str, service: &str) -> String {
        let known: Vec<&str> = self.here().map(|site| site.config.name.as_str()).collect();
        format!("no site `{name}` in {service}; there are {}", known.join(", "))
    }

    /// Asks by which number each sender of reports is known.
    pub(super) fn number(&mut self, number: &mut impl FnMut(&str) -> BackendId) {
        for site in self.all.iter_mut().filter(|site| site.config.reports && !site.has_left) {
            site.sender = Some(number(&site.config.name));
        }
        self.arrange();
    }

    /// The number by which the receiver of reports knows a site.
    pub(super) fn sender(&self, id: BackendId) -> Option<BackendId> {
        self.all[id.0 as usize].sender
    }

    /// The site that reports under this number.
    pub(super) fn of_sender(&self, sender: BackendId) -> Option<BackendId> {
        self.of_sender.get(sender.0 as usize).copied().flatten()
    }

    /// Where sites are tried.
    pub(super) fn checks(&self) -> Vec<(String, SocketAddr)> {
        let checked = self.here().filter_map(|site| Some((site, site.config.check?)));
        checked
            .map(|(site, port)| (site.config.name.clone(), SocketAddr::new(site.config.addresses[0], port)))
            .collect()
    }

    /// What is known of each.
    pub(super) fn states(&self, dispatcher: &Dispatcher, now: Time) -> Vec<SiteState> {
        let table = dispatcher.table();
        let state = |(index, site): (usize, &Site)| {
            let id = BackendId(index as u32);
            let report = table.report(id);
            let has_capacity = report.filter(|report| report.capacity > 0.0);
            SiteState {
                name: site.config.name.clone(),
                addresses: site.config.addresses.clone(),
                state: in_words(site.state()),
                weight: table.weight(id),
                chosen: table.totals(id).forwarded,
                report_age_s: table.report_age(id, now).map(sojourn_stats::Span::as_secs_f64),
                cpu: report.map(|report| report.cpu),
                capacity_per_s: has_capacity.map(|report| report.capacity),
                room_per_s: has_capacity.map(|report| report.room),
                believed_room_per_s: has_capacity.and_then(|_| table.believed_room(id)),
            }
        };
        self.all.iter().enumerate().filter(|(_, site)| !site.has_left).map(state).collect()
    }

    /// A line for each site that is not named now.
    pub(super) fn out(&self, dispatcher: &Dispatcher) -> Vec<String> {
        let ids = (0..self.all.len() as u32).map(BackendId);
        let out = ids.filter(|id| !dispatcher.table().is_eligible(*id) && !self.all[id.0 as usize].has_left);
        out.map(|id| format!("{}: {}", self.name(id), in_words(self.all[id.0 as usize].state()))).collect()
    }

    fn here(&self) -> impl Iterator<Item = &Site> {
        self.all.iter().filter(|site| !site.has_left)
    }

    /// Tells the dispatcher a site's state, if it does not know it.
    fn tell(&self, backend: BackendId, dispatcher: &mut Dispatcher, now: Time) {
        let state = self.all[backend.0 as usize].state();
        if dispatcher.table().state(backend) == state {
            return;
        }
        let event = match state {
            State::Up => Event::Joined { backend },
            State::Draining => Event::Draining { backend },
            State::Down => Event::Down { backend },
            State::Left => Event::Left { backend },
        };
        dispatcher.observe(event, now);
    }

    /// Makes the lists that follow from the sites.
    fn arrange(&mut self) {
        for family in [Family::V4, Family::V6] {
            let lacks = self.all.iter().enumerate().filter(|(_, site)| !site.has(family));
            self.without[family as usize] = lacks.map(|(index, _)| BackendId(index as u32)).collect();
            let any = self.here().any(|site| site.has(family));
            self.any[family as usize] = any;
        }
        self.of_sender.clear();
        for (index, site) in self.all.iter().enumerate().filter(|(_, site)| site.config.reports && !site.has_left) {
            let Some(sender) = site.sender else { continue };
            let place = sender.0 as usize;
            if self.of_sender.len() <= place {
                self.of_sender.resize(place + 1, None);
            }
            self.of_sender[place] = Some(BackendId(index as u32));
        }
    }
}

fn in_words(state: State) -> &'static str {
    match state {
        State::Up => "up",
        State::Draining => "drained",
        State::Down => "down",
        State::Left => "left",
    }
}
