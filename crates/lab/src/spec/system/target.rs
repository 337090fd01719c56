//! What the deciders of a tier choose from: its targets are of one kind, and lead to servers.

use sojourn_model::system::{Seat, Site, Target};
use toml::Spanned;

use super::super::tier::{RawTargets, RawTier};
use super::super::{Reader, SpecError, Text, unknown};

/// The targets of a tier, of one kind.
pub(super) enum Kind {
    Servers(u32),
    /// Indices of sites; the tier `next`, which follows in the file, is at each of them.
    Sites {
        next: usize,
        sites: Vec<usize>,
    },
    /// Indices of tiers.
    Tiers(Vec<usize>),
    /// A face that decides nothing: clients meet the server.
    Direct,
}

impl Kind {
    /// The tiers that a request comes to next.
    pub(super) fn next(&self) -> &[usize] {
        match self {
            Kind::Servers(_) | Kind::Direct => &[],
            Kind::Sites { next, .. } => std::slice::from_ref(next),
            Kind::Tiers(tiers) => tiers,
        }
    }
}

impl Reader<'_> {
    /// Of which kind a tier's targets are.
    pub(super) fn kind(
        &self,
        index: usize,
        raw: &[Spanned<RawTier>],
        names: &[String],
        known_sites: &[Site],
    ) -> Result<Kind, SpecError> {
        let RawTier { face, targets, .. } = raw[index].get_ref();
        let Some(targets) = targets else {
            return Err(self.at(face, "tier", "a tier needs targets, e.g. `targets = { servers = 4 }`"));
        };
        let RawTargets { servers, sites, tiers, speeds, .. } = targets.get_ref();
        let kinds = [servers.is_some(), sites.is_some(), tiers.is_some()].iter().filter(|is| **is).count();
        if kinds != 1 {
            let right = "targets are of one kind: `servers = 4`, `sites = [\"east\"]` or `tiers = [\"gateway\"]`";
            return Err(self.at(targets, "targets", right));
        }
        if let (Some(speeds), None) = (speeds, servers) {
            return Err(self.at(speeds, "speeds", "only servers have speeds: leave them out"));
        }
        if face.get_ref() == "none" {
            return match servers {
                Some(one) if *one.get_ref() == 1 => Ok(Kind::Direct),
                _ => Err(self.at(face, "face", "`none` means one server; several need a gateway")),
            };
        }
        if let Some(number) = servers {
            return self.server_count(number).map(Kind::Servers);
        }
        if let Some(list) = sites {
            if list.get_ref().is_empty() {
                return Err(self.at(list, "sites", "at least 1 site is needed"));
            }
            let Some(next) = raw.get(index + 1) else {
                let right = "at each site is a decider of the tier that follows in the file; add one";
                return Err(self.at(list, "sites", right));
            };
            self.check_addressed(list, next)?;
            let known: Vec<&str> = known_sites.iter().map(|site| site.name.as_str()).collect();
            if known.is_empty() {
                return Err(self.at(
                    list,
                    "sites",
                    "no site is written: add `[[system.site]]` with a name and a region",
                ));
            }
            let sites = self.indices(list, "sites", "site", &known)?;
            return Ok(Kind::Sites { next: index + 1, sites });
        }
        let list = tiers.as_ref().expect("one kind is given");
        if list.get_ref().is_empty() {
            return Err(self.at(list, "tiers", "at least 1 tier is needed"));
        }
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let found = self.indices(list, "tiers", "tier", &known)?;
        for (text, tier) in list.get_ref().iter().zip(&found) {
            self.check_addressed(text, &raw[*tier])?;
        }
        Ok(Kind::Tiers(found))
    }

    /// Where each name of a list is among those known; none is in the list twice.
    pub(in crate::spec) fn indices(
        &self,
        list: &Spanned<Vec<Text>>,
        key: &str,
        what: &str,
        known: &[&str],
    ) -> Result<Vec<usize>, SpecError> {
        let mut found = Vec::new();
        for text in list.get_ref() {
            let place = known.iter().position(|name| name == text.get_ref());
            let place = place.ok_or_else(|| self.at(text, key, &unknown(what, text.get_ref(), known)))?;
            if found.contains(&place) {
                return Err(self.at(
                    text,
                    key,
                    &format!("`{}` is named twice; give it a weight instead", text.get_ref()),
                ));
            }
            found.push(place);
        }
        Ok(found)
    }

    /// What is chosen needs an address that a request can be sent to.
    fn check_addressed<T>(&self, text: &Spanned<T>, target: &Spanned<RawTier>) -> Result<(), SpecError> {
        match target.get_ref().face.get_ref().as_str() {
            face @ ("dns" | "client" | "none") => Err(self.at(
                text,
                "targets",
                &format!(
                    "a request cannot be sent to a tier of face `{face}`, which has no address: name a gateway, a switch or a \
                     redirect"
                ),
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn refuse_circles(&self, raw: &[Spanned<RawTier>], kinds: &[Kind]) -> Result<(), SpecError> {
        // A tier ends at servers where all that follow it do; what is left over is in a circle, or leads to one.
        let mut ends = vec![false; kinds.len()];
        for _ in kinds {
            for (tier, kind) in kinds.iter().enumerate() {
                ends[tier] = kind.next().iter().all(|next| ends[*next]);
            }
        }
        match ends.iter().position(|ends| !ends) {
            Some(tier) => {
                let targets = raw[tier].get_ref().targets.as_ref().expect("it has targets");
                Err(self.at(targets, "targets", "these tiers lead in a circle: a request would never reach a server"))
            }
            None => Ok(()),
        }
    }

    /// The sites at which each tier has deciders; one place that is no site where nothing is said.
    pub(super) fn places_of_tiers(
        &self,
        raw: &[Spanned<RawTier>],
        kinds: &[Kind],
    ) -> Result<Vec<Vec<Option<usize>>>, SpecError> {
        let mut places: Vec<Vec<Option<usize>>> = vec![Vec::new(); raw.len()];
        places[0] = vec![None];
        let mut open = vec![0];
        while let Some(tier) = open.pop() {
            let at = match &kinds[tier] {
                Kind::Sites { sites, .. } => sites.iter().map(|site| Some(*site)).collect(),
                _ => places[tier].clone(),
            };
            for &tier in kinds[tier].next() {
                let before = places[tier].len();
                for place in &at {
                    if !places[tier].contains(place) {
                        places[tier].push(*place);
                    }
                }
                if places[tier].len() > before {
                    open.push(tier);
                }
            }
        }
        match places.iter().position(Vec::is_empty) {
            Some(tier) => Err(self.at(
                &raw[tier].get_ref().face,
                "tier",
                "no request comes here: a tier before it names it in `targets = { tiers = [...] }`",
            )),
            None => Ok(places),
        }
    }
}

/// What a decider at `site` chooses from; `hosts` are those of its tier there, `seats` the deciders of all tiers.
pub(super) fn targets(kind: &Kind, site: Option<usize>, hosts: &[usize], seats: &[Vec<Seat>]) -> Vec<Target> {
    let all =
        |tier: usize| seats[tier].iter().enumerate().map(move |(seat, of)| (Target::Seat { tier, seat }, of.site));
    match kind {
        Kind::Servers(_) => hosts.iter().map(|host| Target::Host(*host)).collect(),
        Kind::Sites { next, sites } => sites
            .iter()
            .flat_map(|site| all(*next).filter(move |(_, at)| *at == Some(*site)))
            .map(|(target, _)| target)
            .collect(),
        // Deciders at the same site where the other tier has one there: a front node sends to its own servers.
        Kind::Tiers(tiers) => tiers
            .iter()
            .flat_map(|tier| all(*tier))
            .filter(|(_, at)| site.is_none() || at.is_none() || *at == site)
            .map(|(target, _)| target)
            .collect(),
        Kind::Direct => unreachable!("clients meet the server"),
    }
}
