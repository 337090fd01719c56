//! A product as the decider of a run, and the rule that it goes by: that of a policy such as `haproxy(2.6, leastconn)`, which
//! says the product, its version, and what its own files call the rule.

use sojourn_dispatch::policies::PRODUCTS;
use sojourn_part::program::Product;

use crate::{Settings, Version};

/// A product, and the rule that it is to go by.
#[derive(Clone, Debug, PartialEq)]
pub struct Decider {
    /// Which product.
    pub product: Product,
    /// Its version, where the policy says one.
    pub version: Option<Version>,
    /// The rule, in the product's own words: `leastconn`, `random two`.
    pub rule: String,
    /// What else the policy says, as keys and values.
    pub options: Vec<(String, String)>,
    /// A person's own configuration, instead of ours.
    pub settings: Option<Settings>,
}

impl Decider {
    /// Reads a policy; none where it is no product's.
    pub fn of_policy(policy: &str) -> Option<Decider> {
        let (name, inside) = policy.trim().split_once('(')?;
        let product = Product::ALL.into_iter().find(|product| product.name() == name.trim())?;
        let mut parts = split(inside.trim_end().strip_suffix(')')?).into_iter().map(str::trim).peekable();
        let version = parts.peek().and_then(|first| first.parse().ok());
        if version.is_some() {
            parts.next();
        }
        let (mut rule, mut options) = (String::new(), Vec::new());
        for part in parts {
            match part.split_once('=') {
                Some((key, value)) => options.push((key.trim().to_owned(), value.trim().to_owned())),
                None => rule = part.to_owned(),
            }
        }
        Some(Decider { product, version, rule, options, settings: None })
    }

    /// Why no product can be made to go by it here; none where one can.
    pub fn refused(&self) -> Option<String> {
        let of_one_client = match self.product {
            Product::Haproxy => self.rule == "source",
            Product::Nginx => self.rule == "ip_hash",
            Product::Envoy => false,
        };
        let name = self.product.name();
        if of_one_client {
            return Some(format!(
                "`{}` of {name} goes by the client's address, and clients of a run come from one",
                self.rule
            ));
        }
        None
    }

    /// How the rule stands to a product of the version that is installed, such as `2.8.25`: nothing where it is that of the
    /// same branch. Where the rules of the installed one are not known, the nearest that are may stand for them, and a sentence
    /// says so.
    ///
    /// # Errors
    /// In one line, where it is the rule of another version than the nearest.
    pub fn stands_for(&self, installed: &str) -> Result<Option<String>, String> {
        let name = self.product.name();
        let ((first, last), branch) = (known_versions(self.product), installed.parse::<Version>());
        let branch = branch.map_err(|why| format!("{name} {installed}: {why}"))?;
        let nearest = branch.clamp(first, last);
        let unknown = (nearest != branch).then(|| {
            format!(
                "the rules of {name} {branch} are not known: those of {first} to {last} are, of which {nearest} is the \
                 nearest"
            )
        });
        match (self.version, unknown) {
            (None, unknown) => Ok(unknown),
            (Some(own), None) if own == branch => Ok(None),
            (Some(own), Some(unknown)) if own == nearest => Ok(Some(unknown)),
            (Some(own), unknown) => {
                let why = unknown.map_or(String::new(), |unknown| format!("; {unknown}"));
                Err(format!(
                    "the rule `{}` is that of {name} {own}, and {installed} is installed{why}: write {nearest}, or install {own}",
                    self.rule
                ))
            }
        }
    }

    pub(crate) fn option(&self, key: &str) -> Option<&str> {
        self.options.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}

/// The first and the last version whose rules are known.
fn known_versions(product: Product) -> (Version, Version) {
    let rules = PRODUCTS.iter().find(|rules| rules.entry.name == product.name());
    let ((major, minor), (last_major, last_minor)) = rules.expect("each has rules").versions;
    (Version::new(major, minor), Version::new(last_major, last_minor))
}

/// What stands between commas that are in no parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0;
    text.split(|character| {
        depth += i32::from(character == '(') - i32::from(character == ')');
        character == ',' && depth == 0
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_a_product_its_version_and_its_rule() {
        let read = |policy: &str| {
            Decider::of_policy(policy)
                .map(|of| (of.product.name(), of.version.map(|v| v.to_string()), of.rule, of.options.len()))
        };
        let some = |name, version: Option<&str>, rule: &str, options| {
            Some((name, version.map(str::to_owned), rule.to_owned(), options))
        };
        assert_eq!(read("haproxy(2.6, leastconn)"), some("haproxy", Some("2.6"), "leastconn", 0));
        assert_eq!(read("haproxy(2.6, random(2))"), some("haproxy", Some("2.6"), "random(2)", 0));
        assert_eq!(read("haproxy(2.6, uri, avalanche = true)"), some("haproxy", Some("2.6"), "uri", 1));
        assert_eq!(read("nginx(random two)"), some("nginx", None, "random two", 0));
        assert_eq!(read("nginx(1.22, least_conn)"), some("nginx", Some("1.22"), "least_conn", 0));
        for other in ["round-robin", "power-of-d(d = 2)", "haproxy", "haproxy(2.6, leastconn"] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn a_rule_is_of_a_version() {
        let of = |policy: &str| Decider::of_policy(policy).expect("it is one");
        let stands = |policy: &str, installed: &str| of(policy).stands_for(installed);
        assert_eq!(stands("haproxy(2.6, leastconn)", "2.6.12"), Ok(None));
        assert_eq!(stands("nginx(least_conn)", "1.22.1"), Ok(None));
        assert_eq!(
            stands("haproxy(2.6, leastconn)", "2.8.25").unwrap_err(),
            "the rule `leastconn` is that of haproxy 2.6, and 2.8.25 is installed: write 2.8, or install 2.6"
        );
        // Of a version that is too new, the nearest rule may stand for its own, and no other.
        let unknown = "the rules of haproxy 3.6 are not known: those of 2.4 to 3.4 are, of which 3.4 is the nearest";
        assert_eq!(stands("haproxy(3.4, leastconn)", "3.6.1"), Ok(Some(unknown.into())));
        let refused = stands("haproxy(2.6, leastconn)", "3.6.1").unwrap_err();
        assert!(refused.contains(unknown) && refused.ends_with(": write 3.4, or install 2.6"), "{refused}");
        let old = stands("envoy(random)", "1.20.0").unwrap().unwrap();
        assert!(old.ends_with("those of 1.30 to 1.40 are, of which 1.30 is the nearest"), "{old}");
        assert!(of("haproxy(2.6, source)").refused().is_some() && of("haproxy(2.6, first)").refused().is_none());
    }
}
