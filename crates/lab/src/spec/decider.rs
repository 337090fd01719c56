//! A product in a gateway's place, as a tier writes it: `program = "haproxy"`. Its rule is the tier's policy, which the simulator
//! goes by; live runs start the product itself.

use std::net::SocketAddr;
use std::path::Path;

use sojourn_model::System;
use sojourn_model::system::{Face, Limit, Subject, Tier, server_name};
use sojourn_part::program::Spot;
use sojourn_products::{Behind, Decider, Product, Settings};
use sojourn_stats::input;

use super::tier::RawTier;
use super::{Reader, SpecError, SystemQuestion, Text};

/// What live runs have where a tier's policy is not one of its product's.
const RULES: &str = "`sojourn policies` lists them";

impl Reader<'_> {
    /// The products of the tiers of `system`; none of a tier that live runs serve with our own gateway.
    pub(super) fn deciders<'a>(
        &self,
        raw: impl Iterator<Item = &'a RawTier>,
        system: &System,
    ) -> Result<Vec<Option<Decider>>, SpecError> {
        let one = |(raw, (index, tier)): (&RawTier, (usize, &Tier))| {
            let Some(text) = &raw.program else { return Ok(None) };
            let decider = self.decider(text, raw, tier)?;
            let is_hit = |subject: &Subject| *subject == Subject::Tier(index);
            match system.faults.iter().any(|fault| is_hit(&fault.subject)) {
                true => {
                    Err(self.at(text, "program", "faults of a tier are for our own gateway: leave one of them out"))
                }
                false => Ok(Some(decider)),
            }
        };
        let mut all = raw.zip(system.tiers.iter().enumerate()).map(one).collect::<Result<Vec<_>, _>>()?;
        all.resize(system.tiers.len(), None);
        Ok(all)
    }

    fn product(&self, text: &Text) -> Result<Product, SpecError> {
        text.get_ref().parse().map_err(|error: String| self.at(text, "program", &error))
    }

    /// Refuses a limit that the product would keep otherwise: in HAProxy requests wait for a server with room, in nginx they are
    /// refused, and neither has a lower mark.
    fn limit_of_product(&self, text: &Text, product: Product, tier: &Tier) -> Result<(), SpecError> {
        let Some(limit) = tier.limit else { return Ok(()) };
        let wrong = |message: &str| Err(self.at(text, "program", message));
        let back = limit.connections - 1;
        match product {
            Product::Haproxy if !tier.waits => {
                wrong("requests wait in haproxy while all servers are full: full = \"waits\"")
            }
            Product::Nginx if tier.waits => {
                wrong("nginx refuses a request that finds all servers full: full = \"refused\"")
            }
            Product::Envoy => wrong("a limit of each server is not written for envoy: leave it out"),
            _ if limit.returns != back => {
                wrong(&format!("a server takes the next one as soon as one has ended: return = {back}"))
            }
            _ => Ok(()),
        }
    }

    fn decider(&self, text: &Text, raw: &RawTier, tier: &Tier) -> Result<Decider, SpecError> {
        let wrong = |message: &str| self.at(text, "program", message);
        let product = self.product(text)?;
        let name = product.name();
        if tier.face != Face::Gateway {
            return Err(wrong(&format!("{name} stands in the place of a gateway: face = \"gateway\"")));
        }
        if !raw.is_plain() {
            return Err(wrong(&format!(
                "{name} has none of `information`, `overflow` and `pool`, and one of `dispatchers`: leave them out"
            )));
        }
        if raw.settings.is_none() {
            self.limit_of_product(text, product, tier)?;
        }
        let decider =
            Decider::of_policy(&tier.policy).filter(|decider| decider.product == product).ok_or_else(|| {
                wrong(&format!("the policy of {name} is one of its rules, e.g. {}; {RULES}", example(product)))
            })?;
        if let Some(why) = decider.refused() {
            return Err(wrong(&why));
        }
        let most = match product {
            Product::Haproxy => 256.0,
            Product::Nginx => 65_535.0,
            Product::Envoy => 1_000_000.0,
        };
        match tier.weights.iter().all(|weight| weight.fract() == 0.0 && (1.0..=most).contains(weight)) {
            true => Ok(Decider { settings: self.settings(raw)?, ..decider }),
            false => Err(wrong(&format!("weights of {name} are whole numbers from 1 to {most}"))),
        }
    }

    /// A person's own configuration of the tier's product, whose rule the tier has.
    pub(super) fn settings(&self, raw: &RawTier) -> Result<Option<Settings>, SpecError> {
        let RawTier { settings, backend, version, program, .. } = raw;
        let Some(file) = settings else {
            let mut unused = [("backend", backend), ("version", version)].into_iter();
            return match unused.find_map(|(key, text)| Some((key, text.as_ref()?))) {
                None => Ok(None),
                Some((key, text)) => Err(self.at(text, key, "it says more of a file, which `settings` would name")),
            };
        };
        let wrong = |message: &str| self.at(file, "settings", message);
        let Some(program) = program else {
            return Err(wrong("a file of which product? program = \"haproxy\", \"nginx\" or \"envoy\""));
        };
        let product = self.product(program)?;
        let parsed = |text: &Text| text.get_ref().parse().map_err(|why: String| self.at(text, "version", &why));
        let version = version.as_ref().map(parsed).transpose()?;
        let path = self.path(file.get_ref());
        let text = input::text(&path).map_err(|e| wrong(&format!("cannot read {}: {e}", path.display())))?;
        let backend = backend.as_ref().map(|name| name.get_ref().as_str());
        Settings::read(product, &path, &text, version, backend).map(Some).map_err(|error| wrong(&error.to_string()))
    }

    /// What a person's own configuration says of a tier besides its rule: the weights of its servers, which are as many as the
    /// tier has targets, and their limits. What the tier says of the same is taken where it is the same, as in an experiment that
    /// was made of that file.
    pub(super) fn settle(&self, raw: &RawTier, settings: &Settings, tier: &mut Tier) -> Result<(), SpecError> {
        let told = |key: &str, own: &str| {
            format!("the file of `settings` says {key} = {own}: leave {key} out, or say the same")
        };
        if let Some(policy) = raw.policy.as_ref().filter(|policy| *policy.get_ref() != settings.policy) {
            return Err(self.at(policy, "policy", &told("policy", &format!("\"{}\"", settings.policy))));
        }
        let targets = raw.targets.as_ref().expect("it has a kind");
        let count = settings.weights.len();
        if let Some(seat) = tier.seats.iter().find(|seat| seat.targets.len() != count) {
            let s = if count == 1 { "" } else { "s" };
            let what = format!("{} targets, where the file of `settings` has {count} server{s}", seat.targets.len());
            return Err(self.at(targets, "targets", &format!("{what}: targets = {{ servers = {count} }}")));
        }
        let weights: Vec<f64> = settings.weights.iter().map(|weight| f64::from(*weight)).collect();
        if let Some(written) = targets.get_ref().weights.as_ref().filter(|_| tier.weights != weights) {
            return Err(self.at(written, "weights", &told("weights", &format!("{weights:?}"))));
        }
        let own = Tier { weights, waits: settings.waits, limits: settings.limits.clone(), ..tier.clone() };
        let most = settings.limits.iter().copied().max();
        let own = Tier { limit: most.map(|most| Limit { connections: most, returns: most - 1 }), ..own };
        let are_same = own.waits == tier.waits && (0..count).all(|place| own.limit_of(place) == tier.limit_of(place));
        if let Some(written) = raw.limit.as_ref().filter(|_| !are_same) {
            let (full, each) = (if own.waits { "waits" } else { "refused" }, &settings.limits);
            let limit = format!("{{ connections = {each:?}, full = \"{full}\" }}");
            return Err(self.at(written, "limit", &told("limit", if each.is_empty() { "none" } else { &limit })));
        }
        *tier = own;
        Ok(())
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
                at_most: tier.limit_of(place).map(|limit| limit.connections),
            };
            let targets = tier.seats.first().map_or(0, |seat| seat.targets.len());
            let servers: Vec<Behind> = (0..targets).map(behind).collect();
            Some((tier.name.clone(), decider.as_ref()?.configuration(&servers, &spot)))
        };
        self.system.tiers.iter().zip(&self.deciders).filter_map(one).collect()
    }
}

impl RawTier {
    /// Whether nothing is said that only our own gateway has.
    fn is_plain(&self) -> bool {
        self.information.is_none()
            && self.overflow.is_none()
            && self.pool.is_empty()
            && self.dispatchers.as_ref().is_none_or(|count| *count.get_ref() == 1)
    }
}

fn example(product: Product) -> &'static str {
    match product {
        Product::Haproxy => "`policy = \"haproxy(2.6, leastconn)\"`",
        Product::Nginx => "`policy = \"nginx(least_conn)\"`",
        Product::Envoy => "`policy = \"envoy(least-request)\"`",
    }
}
