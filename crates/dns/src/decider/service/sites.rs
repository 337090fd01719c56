//! The sites of a service: their addresses, and whether each can be named.
//!
//! Whether a site can be named its [`Front`] knows. Sites join and leave while the service runs; one that comes back under its
//! name keeps its number.

use std::net::{IpAddr, SocketAddr};

use serde::Serialize;
use sojourn_dispatch::{BackendId, Front, News, Origin, Request, Standing};
use sojourn_part::settings::dns::SiteSettings;
use sojourn_stats::Time;

use super::super::places::Places;
use super::Surroundings;
use crate::chooser::Family;

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
    config: SiteSettings,
    /// The configuration does not have it any more.
    has_left: bool,
    sender: Option<BackendId>,
}

/// A site's state, for those who ask.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SiteState {
    pub(crate) name: String,
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) state: String,
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
    fn new(config: &SiteSettings) -> Site {
        Site { config: config.clone(), has_left: false, sender: None }
    }

    fn has(&self, family: Family) -> bool {
        self.config.addresses.iter().any(|address| is_of(*address, family))
    }
}

fn is_of(address: IpAddr, family: Family) -> bool {
    address.is_ipv4() == (family == Family::V4)
}

/// What is heard of a site beside what is done by hand.
fn watch(front: &mut Front, id: BackendId, config: &SiteSettings, takes_reports: bool, now: Time) {
    front.watch(id, config.check.is_some(), takes_reports && config.does_report(), now);
}

fn origin(config: &SiteSettings, places: &Places) -> Origin {
    let of_address = config.addresses.iter().find(|ip| ip.is_ipv4()).or(config.addresses.first());
    let known = of_address.map_or_else(Origin::default, |address| places.origin(*address));
    Origin {
        region: config.region.as_deref().and_then(|region| places.number(region)).or(known.region),
        address: known.address,
        location: config.place().or(known.location),
    }
}

impl Sites {
    /// The sites that the front was made with.
    pub(super) fn new(sites: &[SiteSettings], around: &Surroundings, front: &mut Front, now: Time) -> Sites {
        let mut all = Sites { all: sites.iter().map(Site::new).collect(), ..Sites::default() };
        for (id, config) in front.backends().zip(sites) {
            front.set_origin(id, origin(config, &around.places));
            watch(front, id, config, around.takes_reports, now);
            front.learn(id, News::Drained(config.is_drained), now);
        }
        all.arrange();
        all
    }

    /// Takes the sites of a new configuration. What was done by hand to those that stay is undone only where the file says
    /// something new.
    pub(super) fn reload(&mut self, sites: &[SiteSettings], around: &Surroundings, front: &mut Front, now: Time) {
        for config in sites {
            let known = self.all.iter().position(|site| site.config.name == config.name);
            let before = known.map(|index| &self.all[index]).filter(|site| !site.has_left);
            let (weight, is_drained) = before.map(|site| (site.config.weight, site.config.is_drained)).unzip();
            if weight != Some(config.weight) {
                let joined = front.join(&config.name, config.weight, now);
                joined.expect("the policy takes the weights of a configuration that was checked");
            }
            let id = front.table().id(&config.name).expect("it has joined");
            if before.is_none() {
                // What was known of one that comes back is of long ago.
                front.watch(id, false, false, now);
            }
            watch(front, id, config, around.takes_reports, now);
            if is_drained != Some(config.is_drained) {
                front.learn(id, News::Drained(config.is_drained), now);
            }
            match known {
                Some(index) => self.all[index].config = config.clone(),
                None => self.all.push(Site::new(config)),
            }
            let origin = origin(config, &around.places);
            if front.table().origin(id) != origin {
                front.set_origin(id, origin);
            }
        }
        for (id, site) in front.backends().zip(&mut self.all) {
            site.has_left = sites.iter().all(|config| config.name != site.config.name);
            if site.has_left {
                front.learn(id, News::Left, now);
            }
        }
        self.arrange();
    }

    /// Takes over what was known of sites of the same names, for a new front.
    pub(super) fn inherit(&mut self, sites: &Sites, before: &Front, front: &mut Front, now: Time) {
        front.take_over(before, now);
        for (id, site) in front.backends().zip(&mut self.all) {
            let known = before.backends().zip(&sites.all).find(|(_, other)| other.config.name == site.config.name);
            let Some((was, known)) = known else { continue };
            site.sender = known.sender;
            if known.config.is_drained == site.config.is_drained {
                front.learn(id, News::Drained(before.is_drained(was)), now);
            }
        }
        self.arrange();
    }

    /// Learns of a site; gives the event that says so, where that makes it another.
    pub(super) fn learn(&self, id: BackendId, news: News<'_>, front: &mut Front, now: Time) -> Option<&'static str> {
        Some(match front.learn(id, news, now)?.is {
            Standing::Up => "site_up",
            Standing::Aside => "site_aside",
            Standing::Drained => "site_drained",
            Standing::Down | Standing::Left => "site_down",
        })
    }

    /// A site has this weight from now on, which the front knows already.
    pub(super) fn weigh(&mut self, id: BackendId, weight: f64) {
        self.all[id.0 as usize].config.weight = weight;
    }

    /// The further sites of an answer whose first is `first`, best first: as the policy says, and then in turn.
    pub(super) fn in_order(
        &self,
        front: &Front,
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
        front.answer(request, first, now, list);
        let eligible = front.table().eligible();
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
    pub(super) fn all(&self, front: &Front, family: Family, list: &mut Vec<IpAddr>) {
        let here = || front.backends().zip(&self.all).filter(|(_, site)| !site.has_left);
        let any_serves = here().any(|(id, site)| !front.is_drained(id) && site.has(family));
        let serving = here().filter(|(id, _)| !(any_serves && front.is_drained(*id)));
        list.extend(serving.flat_map(|(_, site)| &site.config.addresses).filter(|address| is_of(**address, family)));
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
        for site in self.all.iter_mut().filter(|site| site.config.does_report() && !site.has_left) {
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
        let checked = self.here().filter_map(|site| Some((site, site.config.check?.0)));
        checked
            .map(|(site, port)| (site.config.name.clone(), SocketAddr::new(site.config.addresses[0], port)))
            .collect()
    }

    /// What is known of each.
    pub(super) fn states(&self, front: &Front, now: Time) -> Vec<SiteState> {
        let table = front.table();
        let state = |(index, site): (usize, &Site)| {
            let id = BackendId(index as u32);
            let report = table.report(id);
            let has_capacity = report.filter(|report| report.capacity > 0.0);
            SiteState {
                name: site.config.name.clone(),
                addresses: site.config.addresses.clone(),
                state: front.standing(id).to_string(),
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
    pub(super) fn out(&self, front: &Front) -> Vec<String> {
        let ids = (0..self.all.len() as u32).map(BackendId);
        let out = ids.filter(|id| !front.table().is_eligible(*id) && !self.all[id.0 as usize].has_left);
        out.map(|id| format!("{}: {}", self.name(id), front.standing(id))).collect()
    }

    fn here(&self) -> impl Iterator<Item = &Site> {
        self.all.iter().filter(|site| !site.has_left)
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
        for (index, site) in self.all.iter().enumerate().filter(|(_, site)| site.config.does_report() && !site.has_left)
        {
            let Some(sender) = site.sender else { continue };
            let place = sender.0 as usize;
            if self.of_sender.len() <= place {
                self.of_sender.resize(place + 1, None);
            }
            self.of_sender[place] = Some(BackendId(index as u32));
        }
    }
}
