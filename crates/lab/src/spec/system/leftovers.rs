//! What is written, and what no tier, path or client would ever read.

use sojourn_model::System;
use sojourn_model::system::Face;
use toml::Spanned;

use super::super::client::RawClient;
use super::super::links::RawNetwork;
use super::super::tier::RawTier;
use super::super::workload::RawWorkload;
use super::super::{Reader, SpecError};
use super::RawSystem;

impl Reader<'_> {
    /// Refuses what is written and what no tier, path or client would ever read.
    pub(super) fn refuse_unused(
        &self,
        raw: &RawSystem,
        asked: &RawWorkload,
        client: Option<&RawClient>,
        system: &System,
    ) -> Result<(), SpecError> {
        let has_sites = |tier: &Spanned<RawTier>| {
            tier.get_ref().targets.as_ref().is_some_and(|targets| targets.get_ref().sites.is_some())
        };
        if let Some(site) = raw.site.first().filter(|_| !raw.tier.iter().any(has_sites)) {
            let name = &site.get_ref().name;
            let right = format!("no tier has sites among its targets: targets = {{ sites = [\"{name}\"] }}");
            return Err(self.at(site, "site", &right));
        }
        if system.tiers.first().is_none_or(|tier| tier.face != Face::Dns) {
            let right = "only a tier of face `dns` is asked for names: put one in front, or leave this out";
            if let Some(resolver) = raw.resolver.first() {
                return Err(self.at(resolver, "resolver", right));
            }
            if let Some(resolves) = &asked.resolves {
                return Err(self.at(resolves, "resolves", right));
            }
            if let Some(fails_over) = client.and_then(|client| client.fails_over.as_ref()) {
                return Err(self.at(fails_over, "fails_over", right));
            }
        }
        for (resolver, written) in system.resolvers.iter().zip(&raw.resolver) {
            if !system.clients.is_empty() && !system.clients.iter().any(|of| of.region == resolver.region) {
                let message = format!("no client is in `{}`", system.regions[resolver.region].name);
                return Err(self.at(&written.get_ref().region, "region", &message));
            }
        }
        for (index, medium) in system.media.iter().enumerate() {
            if !system.paths.iter().any(|path| path.medium == Some(index)) {
                let right = format!("no path is on it: add `medium = \"{}\"` to one", medium.name);
                return Err(self.at(&raw.medium[&medium.name], "medium", &right));
            }
        }
        let RawNetwork { rtt, client_rate, .. } = &raw.network;
        for (text, key) in [(rtt, "rtt"), (client_rate, "client_rate")] {
            if let (Some(text), Some(_)) = (text, &raw.paths) {
                return Err(self.at(
                    text,
                    key,
                    "[system.paths] says how far clients are: write it there, or leave that out",
                ));
            }
        }
        Ok(())
    }
}
