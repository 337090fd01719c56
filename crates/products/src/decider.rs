//! A product as the decider of a run: the configuration that makes it go by a rule, over servers whose addresses are known once
//! they run.
//!
//! The rule is that of a policy such as `haproxy(2.6, leastconn)`: the product, its version, and what its own files call the
//! rule. What the configuration does beyond that is the product's default, but for one thread or worker, so that one decider
//! decides, and for connections to the servers, which are kept. Each reply says in the header `x-sojourn-backend` which server
//! gave it, and the access log says it of each request in the order in which they ended.

use std::net::SocketAddr;
use std::path::Path;

use sojourn_part::program::{Product, Spot};

use crate::Version;

/// A product, and the rule that it is to go by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decider {
    /// Which product.
    pub product: Product,
    /// Its version, where the policy says one.
    pub version: Option<Version>,
    /// The rule, in the product's own words: `leastconn`, `random two`.
    pub rule: String,
    /// What else the policy says, as keys and values.
    pub options: Vec<(String, String)>,
}

/// A server behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Behind {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub address: SocketAddr,
    /// Its weight, a whole number from 1 on.
    pub weight: u32,
}

/// Connections that a product keeps open to the servers.
const KEPT: u32 = 256;

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
        Some(Decider { product, version, rule, options })
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
        (self.product == Product::Envoy)
            .then(|| "no configuration of Envoy is written yet: haproxy and nginx are what live runs start".to_owned())
    }

    /// Whether a product of this version goes by the rule: what follows the second number does not count.
    pub fn is_of(&self, installed: &str) -> bool {
        let Some(version) = self.version else { return true };
        installed.parse::<Version>().is_ok_and(|installed| installed == version)
    }

    /// The configuration of the product over these servers.
    ///
    /// # Panics
    /// For one that [`Decider::refused`] refuses.
    pub fn configuration(&self, servers: &[Behind], spot: &Spot<'_>) -> String {
        match self.product {
            Product::Haproxy => self.haproxy(servers, spot),
            Product::Nginx => self.nginx(servers, spot),
            Product::Envoy => unreachable!("it was refused"),
        }
    }

    fn haproxy(&self, servers: &[Behind], spot: &Spot<'_>) -> String {
        let balance = match (self.rule.as_str(), self.option("avalanche")) {
            // What runs where there is no such line.
            ("default", _) => String::new(),
            ("uri", Some("true")) => "  balance uri\n  hash-type consistent sdbm avalanche\n".to_owned(),
            ("uri", _) => "  balance uri\n  hash-type consistent\n".to_owned(),
            (rule, _) => format!("  balance {rule}\n"),
        };
        let servers: String = servers
            .iter()
            .map(|Behind { name, address, weight }| format!("  server {name} {address} weight {weight}\n"))
            .collect();
        format!(
            "global\n  nbthread 1\n  log stdout format raw local0\n\
             defaults\n  mode http\n  log global\n  option dontlognull\n  log-format \"%s %ST\"\n  timeout connect 5s\n  \
             timeout client 1h\n  timeout server 1h\n\
             frontend clients\n  bind {}\n  default_backend servers\n\
             backend servers\n{balance}  http-response set-header x-sojourn-backend %s\n{servers}",
            spot.address
        )
    }

    fn nginx(&self, servers: &[Behind], spot: &Spot<'_>) -> String {
        let plain = |path: &Path| path.display().to_string();
        let (folder, log) = (plain(spot.folder), plain(spot.access_log));
        let user = spot.user.map_or(String::new(), |user| format!("user {user};\n"));
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|part| format!("  {part}_temp_path \"{folder}/{part}\";\n"))
            .concat();
        let method = match self.rule.as_str() {
            "round-robin" => String::new(),
            "hash consistent" => "    hash $request_uri consistent;\n".to_owned(),
            method => format!("    {method};\n"),
        };
        let of = |line: fn(&Behind) -> String| servers.iter().map(line).collect::<String>();
        let names = of(|Behind { name, address, .. }| format!("    \"{address}\" {name};\n"));
        let servers =
            of(|Behind { address, weight, .. }| format!("    server {address} weight={weight} max_fails=0;\n"));
        format!(
            "{user}daemon off;\npid \"{folder}/nginx.pid\";\nworker_processes 1;\nevents {{ worker_connections 8192; }}\n\
             http {{\n{temporary}  map $upstream_addr $backend {{\n{names}  }}\n  \
             log_format decided '$backend $status';\n  access_log \"{log}\" decided;\n  keepalive_requests 1000000000;\n  \
             upstream servers {{\n{method}{servers}    keepalive {KEPT};\n    keepalive_requests 1000000000;\n  }}\n  \
             server {{\n    listen {} backlog=4096;\n    location / {{\n      proxy_pass http://servers;\n      \
             proxy_http_version 1.1;\n      proxy_set_header Connection \"\";\n      proxy_read_timeout 1h;\n      \
             proxy_hide_header x-sojourn-backend;\n      add_header x-sojourn-backend $backend always;\n    }}\n  }}\n}}\n",
            spot.address
        )
    }

    fn option(&self, key: &str) -> Option<&str> {
        self.options.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
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
        assert!(of("haproxy(2.6, leastconn)").is_of("2.6.12") && !of("haproxy(2.6, leastconn)").is_of("2.8.25"));
        assert!(of("nginx(least_conn)").is_of("1.22.1"));
        assert!(of("haproxy(2.6, source)").refused().is_some() && of("haproxy(2.6, first)").refused().is_none());
    }
}
