//! The deciders of a tier: how many there are, where they are, and how much each may have to keep.

use sojourn_dispatch::Plain;
use sojourn_model::system::Seat;

use super::super::tier::RawTier;
use super::super::{Reader, SpecError, unknown};
use super::target::Kind;

/// A decider keeps what it knows of each target.
const CHOICES_LIMIT: u64 = 1_000_000;
/// Drawn by default: of one server it is all there are.
const MAY_BE_ALL: u64 = 2;

impl Reader<'_> {
    /// The deciders of a tier, whose targets are not known yet.
    pub(super) fn seats(
        &self,
        index: usize,
        tier: &RawTier,
        places: &[Option<usize>],
        own_hosts: &[Vec<usize>],
    ) -> Result<Vec<Seat>, SpecError> {
        let RawTier { at, instances, .. } = tier;
        let on_servers = match at.as_ref().map(|text| (text, text.get_ref().as_str())) {
            None => false,
            Some((_, "servers")) if own_hosts.iter().all(|hosts| !hosts.is_empty()) => true,
            Some((text, "servers")) => {
                return Err(self.at(text, "at", "deciders on servers choose among them: `targets = { servers = 4 }`"));
            }
            Some((text, other)) => return Err(self.at(text, "at", &unknown("place", other, &["servers"]))),
        };
        let number = match instances {
            Some(number) if *number.get_ref() == 0 => {
                return Err(self.at(number, "instances", "at least 1 is needed"));
            }
            Some(number) if on_servers => {
                return Err(self.at(number, "instances", "every server has one already: leave it out"));
            }
            Some(number) if u64::from(*number.get_ref()) * places.len() as u64 > CHOICES_LIMIT => {
                let message = format!("at most {CHOICES_LIMIT} at all sites together");
                return Err(self.at(number, "instances", &message));
            }
            Some(number) => *number.get_ref(),
            None => 1,
        };
        if index == 0 && number > 1 {
            let right = "something has to choose among them: put a tier of face `dns` in front";
            return Err(self.at(instances.as_ref().expect("it is above 1"), "instances", right));
        }
        if let (0, Some(at)) = (index, at) {
            let right = "something has to name the first server: put a tier of face `dns` in front";
            return Err(self.at(at, "at", right));
        }
        let mut seats = Vec::new();
        for (&site, hosts) in places.iter().zip(own_hosts) {
            if on_servers {
                seats.extend(hosts.iter().map(|&host| Seat { site, host: Some(host), ..Seat::default() }));
            } else {
                seats.extend((0..number).map(|_| Seat { site, ..Seat::default() }));
            }
        }
        Ok(seats)
    }

    /// Refuses a tier whose deciders would have more to keep than memory, or would draw more targets than there are.
    pub(super) fn check_choices(
        &self,
        index: usize,
        tier: &RawTier,
        kind: &Kind,
        seats: &[Vec<Seat>],
    ) -> Result<(), SpecError> {
        let targets: u64 = match kind {
            Kind::Servers(number) => u64::from(*number),
            _ => kind.next().iter().map(|next| seats[*next].len() as u64).sum(),
        };
        let built = tier.policy.as_ref().and_then(|text| Some((text, self.catalogue.build(text.get_ref()).ok()?)));
        if let Some((text, policy)) = built
            && let Some(Plain::LeastOf(drawn)) = policy.plain()
            && drawn as u64 > targets.max(MAY_BE_ALL)
        {
            let message = format!(
                "{drawn} cannot be drawn of {targets}; `least-connections` looks at all, `power-of-d(d = {targets})` too"
            );
            return Err(self.at(text, "policy", &message));
        }
        let dispatchers = tier.dispatchers.as_ref().map_or(1, |number| u64::from(*number.get_ref()));
        let deciders = (seats[index].len() as u64).saturating_mul(dispatchers);
        if deciders.saturating_mul(targets) <= CHOICES_LIMIT {
            return Ok(());
        }
        let message = format!(
            "{deciders} dispatchers for {targets} targets each: at most {CHOICES_LIMIT} pairs of a dispatcher and a target"
        );
        Err(self.at(tier.targets.as_ref().expect("it has a kind"), "targets", &message))
    }
}
