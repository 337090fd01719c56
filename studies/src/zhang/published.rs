//! Zhang's tables, and the variant of ours for each of his configurations.

use std::path::Path;

use crate::ReproduceError;

/// The loads of every table.
pub(super) const USERS: [u32; 16] = [1, 10, 20, 40, 60, 100, 120, 140, 200, 260, 320, 400, 480, 640, 800, 960];

/// The metrics of Appendices C and D, and our names for them.
pub(super) const METRICS: [(&str, &str, &str); 3] = [
    ("latency_s", "response_time_mean", "latency of an object (s)"),
    ("objects_per_s", "throughput", "objects per second"),
    ("bytes_per_s", "byte_throughput", "bytes per second"),
];

/// Rows of one of his CSV files, by column name.
pub(super) struct Rows {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Rows {
    pub(super) fn read(folder: &Path, name: &str) -> Result<Rows, ReproduceError> {
        let file = folder.join(name);
        let fail = |e: csv::Error| ReproduceError(format!("{}: {e}", file.display()));
        let mut csv = csv::Reader::from_path(&file).map_err(fail)?;
        let header = csv.headers().map_err(fail)?.iter().map(String::from).collect();
        let rows = csv.records().map(|row| Ok(row.map_err(fail)?.iter().map(String::from).collect()));
        Ok(Rows { header, rows: rows.collect::<Result<_, ReproduceError>>()? })
    }

    fn column(&self, name: &str) -> usize {
        self.header.iter().position(|of| of == name).unwrap_or_else(|| panic!("the published file has no {name}"))
    }

    /// The number in `column` of the row that has all of `wanted`.
    pub(super) fn number(&self, wanted: &[(&str, &str)], column: &str) -> Option<f64> {
        let at: Vec<(usize, &str)> = wanted.iter().map(|(name, value)| (self.column(name), *value)).collect();
        let row = self.rows.iter().find(|row| at.iter().all(|(column, value)| row[*column] == *value))?;
        row[self.column(column)].parse().ok()
    }

    /// Every row's value in `column`, in order, each once.
    pub(super) fn distinct(&self, column: &str) -> Vec<String> {
        let column = self.column(column);
        let mut values: Vec<String> = Vec::new();
        for row in &self.rows {
            if !values.contains(&row[column]) {
                values.push(row[column].clone());
            }
        }
        values
    }

    fn first(&self, table: &str, column: &str) -> String {
        let at = self.column("table");
        let row = self.rows.iter().find(|row| row[at] == table).expect("the table was found in these rows");
        row[self.column(column)].clone()
    }
}

/// One configuration of Appendix D.
#[derive(Clone, Debug)]
pub(super) struct Configuration {
    policy: String,
    architecture: String,
    http: String,
    servers: String,
    pub(super) sigma: String,
    window: String,
}

impl Configuration {
    /// All of them, in the order of the tables.
    pub(super) fn all(rows: &Rows) -> Vec<Configuration> {
        let mut all: Vec<Configuration> = Vec::new();
        for table in rows.distinct("table") {
            let of = |column: &str| rows.first(&table, column);
            let next = Configuration {
                policy: of("policy"),
                architecture: of("architecture"),
                http: of("http"),
                servers: of("servers"),
                sigma: of("sigma"),
                window: of("window_s"),
            };
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

    /// His number; none if the row is not `ok`.
    pub(super) fn published(&self, rows: &Rows, users: u32, metric: &str, column: &str) -> Option<f64> {
        let users = users.to_string();
        let rest = [("users", users.as_str()), ("metric", metric), ("status", "ok")];
        rows.number(&[self.keys().as_slice(), &rest].concat(), column)
    }

    /// The experiment that answers it, and the settings of its variant with so many users.
    pub(super) fn at(&self, users: u32) -> (&'static str, Vec<(&'static str, String)>) {
        let (experiment, mut settings) = self.ours();
        settings.push(("users", users.to_string()));
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

/// Settings as a run folder is asked for them.
pub(super) fn borrowed<'a>(settings: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    settings.iter().map(|(key, value)| (*key, value.as_str())).collect()
}
