//! Other sites: what a switch knows of those to which it passes on connections that no server here can take: front nodes of other
//! sites, by tunnel, or servers here that redirect clients there, as they are given any server's connections.
//!
//! They have a front of their own, which counts what was passed on and is not over yet, and gives each connection to the
//! site with the fewest. A site that cannot take one either refuses it, so no connection is passed on twice. The price: a site
//! is not asked before whether it has room; the limit for other sites says how much is lent there.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use sojourn_dispatch::{BackendId, Catalogue, Event, Front, FrontSettings, Request, Signals};
use sojourn_part::settings::switch::SwitchSettings;
use sojourn_part::{ServeError, record};
use sojourn_stats::Time;

use super::counts::SiteCounts;
use super::kernel::rules::Mark;

/// How a site is chosen.
const POLICY: &str = "least-connections";

/// The other sites.
pub(super) struct Sites {
    front: Front,
    /// By number.
    known: Vec<Site>,
}

struct Site {
    name: String,
    address: Ipv4Addr,
    mark: Mark,
    connections: u64,
    open: u64,
}

impl Sites {
    /// Those of a switch; none where it has none.
    pub(super) fn new(config: &SwitchSettings) -> Result<Option<Sites>, ServeError> {
        let names: Vec<_> = config.others().map(|site| (site.name.clone(), 1.0)).collect();
        if names.is_empty() {
            return Ok(None);
        }
        let settings =
            FrontSettings { seed: config.decider.seed, limit: config.overflow_limit, ..FrontSettings::new(POLICY) };
        let mut front = Front::new(&settings, &names, &Catalogue::default(), Signals::SWITCH, "overflow")?;
        record(&mut front, config.record.as_deref().map(record_path).as_deref(), config.record_limits, config.explain)?;
        let site = |(name, address): (String, Ipv4Addr)| Site { name, address, mark: Mark(0), connections: 0, open: 0 };
        let places = config.others().map(|site| (site.name.clone(), site.address));
        Ok(Some(Sites { front, known: places.map(site).collect() }))
    }

    /// Learns the marks of the sites; gives them with their numbers.
    pub(super) fn begin(&mut self, mark: impl Fn(Ipv4Addr) -> Mark) -> Vec<(Mark, BackendId)> {
        self.known.iter_mut().for_each(|site| site.mark = mark(site.address));
        self.known.iter().zip(0..).map(|(site, number)| (site.mark, BackendId(number))).collect()
    }

    /// A connection was passed on by an earlier switch.
    pub(super) fn inherit(&mut self, site: BackendId, now: Time) {
        self.front.observe(Event::Inherited { backend: site }, now);
        self.known[site.0 as usize].open += 1;
    }

    /// Where a connection is passed on to, with the mark of that site; none where none has room.
    pub(super) fn choose(&mut self, request: &Request, now: Time) -> Option<(BackendId, Mark)> {
        let id = self.front.choose(request, &[], now).forwarded_to()?;
        let site = &mut self.known[id.0 as usize];
        site.connections += 1;
        site.open += 1;
        Some((id, site.mark))
    }

    /// A connection that was passed on has ended.
    pub(super) fn end(&mut self, event: Event, now: Time) {
        self.known[event.backend().0 as usize].open -= 1;
        self.front.observe(event, now);
    }

    /// What each was given.
    pub(super) fn counts(&self) -> Vec<SiteCounts> {
        let counts =
            |site: &Site| SiteCounts { name: site.name.clone(), connections: site.connections, open: site.open };
        self.known.iter().map(counts).collect()
    }

    /// Why its record lacks something, once.
    pub(super) fn record_failure(&mut self) -> Option<String> {
        self.front.record_failure()
    }

    /// Ends its record; gives why it lacks something, if that was not said before.
    pub(super) fn finish(&mut self) -> Option<String> {
        self.front.finish_record()
    }
}

/// Where decisions for other sites are recorded, beside those for servers.
fn record_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".overflow");
    PathBuf::from(name)
}
