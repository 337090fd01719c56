//! The policy of an experiment that stands for a product's rule.
//!
//! Where `sojourn_dispatch` has the rule itself, it is named by product and version. Where it has not, the nearest is named, and
//! a sentence says how it differs.

use sojourn_dispatch::Catalogue;
use sojourn_part::program::Product;

use crate::pool::{HashKey, Rule};
use crate::version::Version;

/// A policy's text, and how it differs from the product's rule; nothing where it does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) text: String,
    pub(crate) differs: Vec<String>,
}

/// From this version on ties of two draws are settled by rates, which no policy has.
const RATES: Version = Version::new(3, 4);

/// The policy for `rule`.
pub(crate) fn policy(product: Product, version: Option<Version>, rule: &Rule) -> Named {
    match product {
        Product::Haproxy => haproxy(version.unwrap_or(crate::haproxy::NEWEST_MEASURED), rule),
        Product::Nginx => nginx(version, rule),
        Product::Envoy => envoy(version, rule),
    }
}

/// Policies of the product that are worth a comparison, without `own`.
pub(crate) fn others(product: Product, version: Option<Version>, own: &str) -> Vec<String> {
    let plain =
        |name: &&str| Rule { name: (*name).into(), said: None, key: None, is_consistent: false, is_mixed: false };
    let names: &[&str] = match product {
        Product::Haproxy => &["leastconn", "roundrobin", "random(2)"],
        Product::Nginx => &["least_conn", "round-robin", "random two"],
        Product::Envoy => &["least-request", "round-robin", "random"],
    };
    let texts = names.iter().map(|name| policy(product, version, &plain(name)).text);
    texts.filter(|text| text != own && Catalogue::default().check(text).is_ok()).collect()
}

fn plain(text: String) -> Named {
    Named { text, differs: Vec::new() }
}

/// Hashes that spread keys evenly: what the products' own tables of all servers by weight do.
fn even(key: HashKey, what: &str) -> Named {
    let text = if key == HashKey::Client { "address-hash" } else { "path-hash(points = 1000)" };
    Named { text: text.into(), differs: vec![format!("{what}: which key goes where is another hash's")] }
}

fn haproxy(version: Version, rule: &Rule) -> Named {
    let of = |name: &str| format!("haproxy({version}, {name})");
    let mut differs = Vec::new();
    if let (Some(key), true) = (rule.key, !matches!(rule.name.as_str(), "source" | "uri")) {
        debug_assert_eq!(key, HashKey::Other);
        differs.push(format!("`{}`: the paths of the experiment stand for what is hashed", rule.name));
    }
    let mut named = match (rule.key, rule.name.as_str()) {
        (Some(key), name) if !rule.is_consistent => even(key, &format!("`{name}` with hash-type map-based")),
        (Some(HashKey::Client), _) if rule.is_mixed => plain(of("source")),
        (Some(HashKey::Client), _) => plain(of("source, avalanche = false")),
        (Some(_), _) => {
            if !rule.is_mixed {
                differs.push("without avalanche keys near each other go together; here they spread".into());
            }
            plain(of("uri"))
        }
        (None, "static-rr") => {
            differs.push("`static-rr` is taken as roundrobin: the same shares, in another order".into());
            plain(of("roundrobin"))
        }
        (None, name) if name.starts_with("random(") && name != "random(1)" && version >= RATES => {
            let text = format!("since {RATES} ties of draws go by the rate of the last second; here as in 3.3");
            differs.push(text);
            plain(format!("haproxy(3.3, {name})"))
        }
        (None, name) => plain(of(name)),
    };
    named.differs.extend(differs);
    named
}

fn nginx(version: Option<Version>, rule: &Rule) -> Named {
    let of = |name: &str| version.map_or(format!("nginx({name})"), |version| format!("nginx({version}, {name})"));
    match (rule.name.as_str(), rule.key) {
        ("hash", Some(HashKey::Client)) => even(HashKey::Client, "`hash` of the client's address"),
        ("hash", Some(key)) => {
            let mut named = if rule.is_consistent { plain(of("hash consistent")) } else { even(key, "`hash`") };
            if key == HashKey::Other {
                named.differs.push("the paths of the experiment stand for what is hashed".into());
            }
            named
        }
        (name, _) => plain(of(name)),
    }
}

fn envoy(version: Option<Version>, rule: &Rule) -> Named {
    let text = version.map_or(format!("envoy({})", rule.name), |version| format!("envoy({version}, {})", rule.name));
    let differs = match rule.key {
        None | Some(HashKey::Path) => Vec::new(),
        Some(_) => vec!["the paths of the experiment stand for what is hashed".into()],
    };
    Named { text, differs }
}
