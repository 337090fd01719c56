//! How a service is made, and made anew by a reload: what can fail is done before anything of it is in force.

use std::path::PathBuf;

use sojourn_dispatch::{Catalogue, ClientRules, DispatchError, Front, FrontSettings, Signals};
use sojourn_part::settings::dns::{NoneWithRoom, Probing, ServiceSettings, SiteSettings};
use sojourn_part::{ServeError, clock, record};
use sojourn_report as report;
use sojourn_stats::Span;

use super::sites::Sites;
use super::{Inside, Prepared, Surroundings};

/// Reports of the rates of clients without news of one after which its rate is forgotten.
const SILENT_REPORTS: u64 = 3;

/// Whether a service can be followed.
///
/// # Errors
/// In words: what its policy lacks.
pub(crate) fn check(config: &ServiceSettings, takes_reports: bool) -> Result<(), String> {
    let has_reports = takes_reports && config.sites.iter().any(SiteSettings::does_report);
    front(config, 1, has_reports).map(drop).map_err(|error| {
        let text = error.to_string();
        match () {
            () if text.contains("(client-rates)") => {
                format!("{text}; add `client_rates`, e.g. `64 s`, and `[reports]`")
            }
            () if matches!(error, DispatchError::MissingSignal(_)) && !has_reports => {
                format!("{text}; add `[reports]`")
            }
            () => text,
        }
    })
}

pub(super) fn front(config: &ServiceSettings, seed: u64, has_reports: bool) -> Result<Front, DispatchError> {
    let sites: Vec<_> = config.sites.iter().map(|site| (site.name.clone(), site.weight)).collect();
    let signals = signals(has_reports, config.client_rates.is_some());
    // The simulator's first dispatcher bears the same name, so that both draw the same numbers.
    let (fall, rise) = (config.fall, config.rise);
    let settings = FrontSettings { seed, fall, rise, ..FrontSettings::new(config.policy.as_str()) };
    Front::new(&settings, &sites, &Catalogue::default(), signals, "dispatcher 0")
}

/// Begins the record of a front, if there is to be one, when there were so many of its name; gives how many there are.
pub(super) fn begin_record(front: &mut Front, config: &ServiceSettings, before: u32) -> Result<u32, ServeError> {
    let Some(path) = &config.record else { return Ok(0) };
    let path = match before {
        0 => path.clone(),
        further => PathBuf::from(format!("{}.{further}", path.display())),
    };
    record(front, Some(&path), config.record_limits, config.explain)?;
    Ok(before + 1)
}

/// What a DNS tells policies.
fn signals(has_reports: bool, has_rates: bool) -> Signals {
    let seen = Signals::DNS | Signals::ORIGIN;
    let told = if has_reports {
        report::SIGNALS.difference(Signals::CLIENT_RATES) | Signals::ROUND_TRIPS
    } else {
        Signals::empty()
    };
    let rates = if has_reports && has_rates { Signals::CLIENT_RATES } else { Signals::empty() };
    seen | told | rates
}

impl Inside {
    /// Tells the front what it knows from the start.
    pub(super) fn begin(&mut self) {
        let Probing { at_most, refresh } = self.config.probing();
        self.front.keep_clients(ClientRules {
            at_most: self.around.clients,
            rates_expire: self.config.client_rates.map(|every| Span(every.0.saturating_mul(SILENT_REPORTS))),
            sites_probed: at_most,
            refresh,
        });
        self.front.need_room(self.config.none_with_room != NoneWithRoom::Policy, self.latest);
        self.sites = Sites::new(&self.config.sites, &self.around, &mut self.front, self.latest);
    }

    pub(super) fn prepare(&self, config: &ServiceSettings, around: &Surroundings) -> Result<Prepared, ServeError> {
        let is_kept = [
            self.config.policy == config.policy,
            self.config.client_rates == config.client_rates,
            self.config.probing() == config.probing(),
            (self.config.fall, self.config.rise) == (config.fall, config.rise),
            (&self.config.record, self.config.record_limits, self.config.explain)
                == (&config.record, config.record_limits, config.explain),
            (self.around.seed, self.around.clients) == (around.seed, around.clients),
            self.around.takes_reports == around.takes_reports,
        ];
        if is_kept.into_iter().all(|is_same| is_same) {
            return Ok(None);
        }
        let mut front = front(config, around.seed, around.takes_reports)?;
        let before = if self.config.record == config.record { self.records } else { 0 };
        let records = begin_record(&mut front, config, before)?;
        Ok(Some((Box::new(front), records)))
    }

    pub(super) fn reload(&mut self, config: &ServiceSettings, around: &Surroundings, prepared: Prepared) {
        let now = self.time(clock::now());
        let Some((front, records)) = prepared else {
            (self.config, self.around) = (config.clone(), around.clone());
            self.front.need_room(self.config.none_with_room != NoneWithRoom::Policy, now);
            return self.sites.reload(&config.sites, around, &mut self.front, now);
        };
        // Another policy knows nothing of what this one has learned; what sites have reported it is told again.
        self.finish_record();
        let before = std::mem::replace(&mut self.front, *front);
        (self.config, self.around, self.records) = (config.clone(), around.clone(), records);
        let sites = std::mem::take(&mut self.sites);
        self.journal.clear();
        self.begin();
        self.sites.inherit(&sites, &before, &mut self.front, now);
    }
}
