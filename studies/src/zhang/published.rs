//! Zhang's tables, and the variant of ours for each of his configurations.

use minijinja::Error;

use crate::page::{Published, wrong};

/// The loads of every table.
pub(super) const USERS: [u32; 16] = [1, 10, 20, 40, 60, 100, 120, 140, 200, 260, 320, 400, 480, 640, 800, 960];

/// One configuration of Appendix D.
#[derive(Clone, Debug)]
pub(super) struct Configuration {
    policy: String,
    architecture: String,
    http: String,
    servers: String,
    sigma: String,
    window: String,
}

impl Configuration {
    /// All of them, in the order of the tables.
    pub(super) fn all(table: &Published) -> Vec<Configuration> {
        let mut all: Vec<Configuration> = Vec::new();
        let column = |name| table.column(name).expect("a column of his table");
        let keys = ["policy", "architecture", "http", "servers", "sigma", "window_s"].map(column);
        for row in &table.rows {
            let [policy, architecture, http, servers, sigma, window] = keys.map(|column| row[column].clone());
            let next = Configuration { policy, architecture, http, servers, sigma, window };
            if !all.iter().any(|known| known.keys() == next.keys()) {
                all.push(next);
            }
        }
        all
    }

    fn keys(&self) -> [(&str, &str); 6] {
        [
            ("policy", &self.policy),
            ("architecture", &self.architecture),
            ("http", &self.http),
            ("servers", &self.servers),
            ("sigma", &self.sigma),
            ("window_s", &self.window),
        ]
    }

    /// His name for it: `XSIZE-G 0.1 s`.
    pub(super) fn name(&self) -> String {
        let face = if self.architecture == "gateway" { "G" } else { "S" };
        let mut name = format!("{}-{face}", self.policy.to_uppercase());
        if self.http == "1.0" || self.policy.starts_with("bryhni") {
            name += &format!(" HTTP/{}", self.http);
        }
        if self.servers != "4" {
            name += &format!(", {} servers", self.servers);
        }
        if !self.window.is_empty() && self.window != "1" {
            name += &format!(", {} s", self.window);
        }
        format!("{name}, s = {}", self.sigma)
    }

    /// The one of that name.
    pub(super) fn named<'a>(all: &'a [Configuration], name: &str) -> Result<&'a Configuration, Error> {
        all.iter().find(|of| of.name() == name).ok_or_else(|| wrong(format!("his Appendix D has no {name}")))
    }

    /// His number; none if the row is not `ok`.
    pub(super) fn published(
        &self,
        table: &Published,
        users: &str,
        metric: &str,
        column: &str,
    ) -> Result<Option<f64>, Error> {
        let rest = [("users", users), ("metric", metric), ("status", "ok")];
        let wanted = self.keys().into_iter().chain(rest).map(|(key, value)| (key.to_owned(), value.to_owned()));
        table.number(&wanted.collect::<Vec<_>>(), column)
    }

    /// The experiment that answers it, and the settings of its variant with so many users.
    pub(super) fn at(&self, users: &str) -> (&'static str, Vec<(&'static str, String)>) {
        let (experiment, mut settings) = self.ours();
        settings.push(("users", users.to_owned()));
        (experiment, settings)
    }

    fn ours(&self) -> (&'static str, Vec<(&'static str, String)>) {
        let window = match self.window.as_str() {
            "0.1" => "100 ms".to_owned(),
            other => format!("{other} s"),
        };
        let plain = self.policy.trim_start_matches("bryhni-");
        let policy = match plain {
            "rr" => "round-robin",
            "xsize" => "transmitted-size",
            "conn" => "least-connections",
            "rt" => "round-trip",
            _ => "random",
        };
        let face = ("face", self.architecture.clone());
        if plain != self.policy {
            let policy = if plain == "conn" { "least-connections-lowest-id" } else { policy };
            return ("5-bryhni", vec![("http", self.http.clone()), face, ("policy", policy.into())]);
        }
        if self.servers != "4" {
            return ("3-servers", vec![("servers", self.servers.clone())]);
        }
        if !self.window.is_empty() && self.window != "1" {
            let settings = match plain {
                "conn" => vec![("policy", policy.into()), ("information", format!("polled every {window}"))],
                _ => vec![("policy", format!("{policy}(window = {window})"))],
            };
            return ("4-windows", [vec![face], settings].concat());
        }
        ("2-policies", vec![face, ("policy", policy.into()), ("loner_sigma", self.sigma.clone())])
    }
}
