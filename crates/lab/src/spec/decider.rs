//! A product in a gateway's place, as a tier writes it: `program = "haproxy"`. Its rule is the tier's policy, which the simulator
//! goes by; live runs start the product itself.

use std::net::SocketAddr;
use std::path::Path;

use sojourn_model::System;
use sojourn_model::system::{Face, Subject, Tier, server_name};
use sojourn_part::program::Spot;
use sojourn_products::{Behind, Decider, Product};

use super::tier::RawTier;
use super::{Reader, SpecError, SystemQuestion, Text};

/// What live runs have where a tier's policy is not one of its product's.
const RULES: &str = "`sojourn policies` lists them";

impl Reader<'_> {
    /// The products of the tiers of `system`; none of a tier that live runs serve with our own gateway.
    pub(super) fn deciders<'a>(
        &self,
        raw: impl Iterator<Item = (Option<&'a Text>, bool)>,
        system: &System,
    ) -> Result<Vec<Option<Decider>>, SpecError> {
        let one = |((program, is_plain), (index, tier)): ((Option<&Text>, bool), (usize, &Tier))| {
            let Some(text) = program else { return Ok(None) };
            self.decider(text, is_plain, tier).and_then(|decider| {
                let is_hit = |subject: &Subject| *subject == Subject::Tier(index);
                match system.faults.iter().any(|fault| is_hit(&fault.subject)) {
                    true => {
                        Err(self.at(text, "program", "faults of a tier are for our own gateway: leave one of them out"))
                    }
                    false => Ok(Some(decider)),
                }
            })
        };
        let mut all = raw.zip(system.tiers.iter().enumerate()).map(one).collect::<Result<Vec<_>, _>>()?;
        all.resize(system.tiers.len(), None);
        Ok(all)
    }

    fn decider(&self, text: &Text, is_plain: bool, tier: &Tier) -> Result<Decider, SpecError> {
        let wrong = |message: &str| self.at(text, "program", message);
        let product: Product = text.get_ref().parse().map_err(|error: String| wrong(&error))?;
        let name = product.name();
        if tier.face != Face::Gateway {
            return Err(wrong(&format!("{name} stands in the place of a gateway: face = \"gateway\"")));
        }
        if !is_plain {
            return Err(wrong(&format!(
                "{name} has none of `information`, `limit`, `overflow` and `pool`, and one of `dispatchers`: leave them out"
            )));
        }
        let decider =
            Decider::of_policy(&tier.policy).filter(|decider| decider.product == product).ok_or_else(|| {
                wrong(&format!("the policy of {name} is one of its rules, e.g. {}; {RULES}", example(product)))
            })?;
        if let Some(why) = decider.refused() {
            return Err(wrong(&why));
        }
        match tier.weights.iter().all(|weight| weight.fract() == 0.0 && (1.0..=256.0).contains(weight)) {
            true => Ok(decider),
            false => Err(wrong(&format!("weights of {name} are whole numbers from 1 to 256"))),
        }
    }
}

impl SystemQuestion {
    /// The configurations with which live runs start the products of its tiers, each with its tier's name. Where everything is
    /// found is known only once it runs: here servers listen at ports from 8001 on.
    pub fn configurations(&self) -> Vec<(String, String)> {
        let local = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let folder = Path::new("/tmp/run");
        let log = folder.join("access.log");
        let spot = Spot { address: local(8000), folder, access_log: &log, user: None };
        let one = |(tier, decider): (&Tier, &Option<Decider>)| {
            let behind = |place: usize| Behind {
                name: server_name(place),
                address: local(8001 + place as u16),
                weight: tier.weights.get(place).map_or(1, |weight| *weight as u32),
            };
            let targets = tier.seats.first().map_or(0, |seat| seat.targets.len());
            let servers: Vec<Behind> = (0..targets).map(behind).collect();
            Some((tier.name.clone(), decider.as_ref()?.configuration(&servers, &spot)))
        };
        self.system.tiers.iter().zip(&self.deciders).filter_map(one).collect()
    }
}

impl RawTier {
    /// Its product, and whether nothing else is said that only our own gateway has.
    pub(super) fn product(&self) -> (Option<&Text>, bool) {
        let is_plain = self.information.is_none()
            && self.limit.is_none()
            && self.overflow.is_none()
            && self.pool.is_empty()
            && self.dispatchers.as_ref().is_none_or(|count| *count.get_ref() == 1);
        (self.program.as_ref(), is_plain)
    }
}

fn example(product: Product) -> &'static str {
    match product {
        Product::Haproxy => "`policy = \"haproxy(2.6, leastconn)\"`",
        Product::Nginx => "`policy = \"nginx(least_conn)\"`",
        Product::Envoy => "`policy = \"envoy(least-request)\"`",
    }
}
