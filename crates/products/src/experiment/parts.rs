//! The text of an experiment, part by part.

use std::fmt::Write;

use sojourn_part::program::Product;

use crate::note::{FileLine, Notes, Reading, cut};
use crate::policy::{Named, others};
use crate::pool::{HashKey, Pool, PoolServer, Standing, WhenFull};

use super::{Assumptions, Import, SERVICE};

/// How busy servers are where no rate is given.
const BUSY: f64 = 0.7;

/// Most servers whose addresses are listed.
const LISTED_MAX: usize = 40;

/// An experiment while it is written.
pub(super) struct Parts<'a> {
    pub(super) import: &'a Import<'a>,
    pub(super) pool: &'a Pool,
    pub(super) servers: Vec<&'a PoolServer>,
    pub(super) named: Named,
}

/// Adds a line.
macro_rules! line {
    ($text:expr) => { $text.push('\n') };
    ($text:expr, $($argument:tt)*) => {{
        let _ = writeln!($text, $($argument)*);
    }};
}

impl Parts<'_> {
    /// The whole text.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        self.head(&mut text);
        self.workload(&mut text);
        self.region(&mut text);
        self.tier(&mut text);
        self.server(&mut text);
        self.client(&mut text);
        self.run(&mut text);
        self.notes(&mut text);
        text
    }

    fn head(&self, text: &mut String) {
        let Import { product, is_said, version, configuration, command, .. } = self.import;
        let (kind, title, name) = (product.pool(), product.title(), cut(&self.pool.name));
        line!(text, "# {}", plain(command));
        line!(text, "#");
        line!(
            text,
            "# What {kind} `{}` of {title} would do ({}). Lines say where they come from, or",
            plain(&name),
            self.pool.at
        );
        line!(text, "# ASSUMED, where no configuration says it. Read it, change it, and run it: `sojourn run FILE`.");
        let how = if *is_said { "as --from says" } else { "by its content; --from says otherwise" };
        let version = match (product, version) {
            (_, Some(version)) => format!("Version {version}, as --version-of says."),
            (Product::Haproxy, None) => {
                format!(
                    "Version {}, the newest that is measured; --version-of says another.",
                    crate::haproxy::NEWEST_MEASURED
                )
            }
            (Product::Nginx, None) => "Its rules are the same in 1.22 to 1.31.".into(),
            (Product::Envoy, None) => "Its rules are those of 1.40, and the same since 1.30.".into(),
        };
        line!(text, "# {title}, {how}. {version}");
        let others = configuration.pools.iter().filter(|other| other.at != self.pool.at);
        let named: Vec<String> = others
            .clone()
            .take(10)
            .map(|other| {
                let servers = other.servers.len();
                let plural = if servers == 1 { "" } else { "s" };
                format!("`{}` ({}, {servers} server{plural})", plain(&cut(&other.name)), other.at)
            })
            .collect();
        if !named.is_empty() {
            let more = others.count() - named.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            line!(text, "# It has the most servers, or --backend names it. Others: {}{more}.", named.join(", "));
        }
        line!(text, "name = {}", quoted(&format!("{name} behind {title}")));
        line!(text, "seed = 1");
        line!(text);
    }

    fn workload(&self, text: &mut String) {
        let Assumptions { rate_per_s, cores, .. } = self.import.assumptions;
        let mean_s = self.import.assumptions.service_s();
        let capacity = self.servers.len() as f64 * f64::from(cores.unwrap_or(1)) / mean_s;
        line!(text, "[workload]");
        line!(text, "kind = \"open\"");
        match rate_per_s {
            Some(rate) => {
                line!(text, "arrivals = \"exponential(rate = {rate} /s)\"   # --rate; at random is ASSUMED");
            }
            None => {
                let rate = significant(BUSY * capacity);
                line!(
                    text,
                    "# ASSUMED: requests at random, and so many that servers are busy for {BUSY} of the time. --rate sets it;"
                );
                line!(text, "# `sojourn traffic fit access.log` finds the law of a log.");
                line!(text, "arrivals = \"exponential(rate = {rate} /s)\"");
            }
        }
        match self.pool.rule.key {
            Some(HashKey::Client) if !self.is_by_path() => {
                line!(
                    text,
                    "clients = 1000                                # ASSUMED: the rule goes by their addresses"
                );
                line!(
                    text,
                    "size = \"constant(10 kB)\"                      # ASSUMED, and without a network it takes no time"
                );
            }
            Some(_) => {
                line!(text, "# ASSUMED: 1,000 paths, a few of them popular, as the rule goes by paths.");
                line!(text, "size = \"documents(n = 1000, zipf = 0.8, size = constant(10 kB))\"");
            }
            None => line!(text, "size = \"constant(10 kB)\"   # ASSUMED; without [system.network] it takes no time"),
        }
        line!(text);
    }

    /// Whether the policy goes by paths, whatever the product hashes.
    fn is_by_path(&self) -> bool {
        !(self.named.text.contains("source")
            || self.named.text.contains("ip_hash")
            || self.named.text == "address-hash")
    }

    fn weights(&self) -> Option<String> {
        let is_plain = self.servers.iter().all(|server| server.weight == 1);
        let weights: Vec<String> = self.servers.iter().map(|server| server.weight.to_string()).collect();
        (!is_plain).then(|| weights.join(", "))
    }

    /// How many requests each server has at once at most, and where that is said; none where they differ.
    fn at_most(&self) -> Option<(u32, &FileLine)> {
        let first = self.servers[0];
        let is_same = self.servers.iter().all(|server| server.at_most == first.at_most);
        first.at_most.filter(|_| is_same).map(|most| (most, &first.at))
    }

    /// Processes that choose for themselves.
    fn dispatchers(&self) -> u32 {
        self.pool.workers.unwrap_or(1)
    }

    /// Whether a full server is left out by a limit of the tier.
    fn is_limited(&self) -> bool {
        let skips = self.pool.when_full == WhenFull::Refused || self.pool.rule.name == "first";
        skips && self.at_most().is_some() && self.dispatchers() == 1
    }

    /// Addresses of clients, for a rule that reads them.
    fn region(&self, text: &mut String) {
        if self.named.text.contains("source") || self.named.text.contains("ip_hash") {
            line!(text, "[[system.region]]");
            line!(text, "name = \"everywhere\"");
            line!(
                text,
                "addresses = \"0.0.0.0/1\"   # ASSUMED: clients from half of the Internet; the rule goes by their addresses"
            );
            line!(text);
        }
    }

    fn tier(&self, text: &mut String) {
        for (number, server) in self.servers.iter().enumerate().take(LISTED_MAX) {
            let address =
                if server.address == server.name { String::new() } else { format!(", {}", cut(&server.address)) };
            line!(text, "# Server {}: {}{} ({})", number + 1, plain(&cut(&server.name)), plain(&address), server.at);
        }
        if self.servers.len() > LISTED_MAX {
            line!(text, "# ... and {} more", self.servers.len() - LISTED_MAX);
        }
        line!(text, "[[system.tier]]");
        line!(text, "face = \"gateway\"");
        let from = match &self.pool.rule.said {
            Some(at) => at.to_string(),
            None => format!("{}'s default: nothing is said", self.import.product.title()),
        };
        line!(text, "policy = {}   # {from}", quoted(&self.named.text));
        for differs in &self.named.differs {
            line!(text, "#   {}", plain(differs));
        }
        if self.pool.rule.name == "first" && self.at_most().is_none() {
            line!(text, "#   Without the same `maxconn` at all servers the first of them gets every request.");
        }
        let count = self.servers.len();
        match self.weights() {
            None => line!(text, "targets = {{ servers = {count} }}"),
            Some(weights) => {
                line!(text, "targets = {{ servers = {count}, weights = [{weights}] }}");
                line!(
                    text,
                    "#   If weights say that servers are of different speed, add `speeds = [...]`, relative to the service below."
                );
            }
        }
        if self.dispatchers() > 1 {
            let workers = self.dispatchers();
            line!(text, "dispatchers = {workers}   # worker processes, each of which counts for itself (no `zone`)");
        }
        if self.pool.workers.is_none() && self.import.product == Product::Nginx {
            line!(
                text,
                "# dispatchers = 4   # `worker_processes auto`: write as many as there are cores; each counts for itself"
            );
        }
        if let Some((most, at)) = self.at_most().filter(|_| self.is_limited()) {
            let back = most - 1;
            line!(
                text,
                "limit = {{ connections = {most}, return = {back} }}   # {at}: a server with so many gets no more"
            );
            if self.pool.when_full == WhenFull::Waits {
                line!(text, "#   With all of them full HAProxy lets requests wait; here they are refused.");
            }
        }
        line!(text);
    }

    fn server(&self, text: &mut String) {
        let service = self.import.assumptions.service.as_ref().map_or(SERVICE, |(text, _)| text.as_str());
        let cores = self.import.assumptions.cores;
        line!(text, "[system.server]");
        if self.import.assumptions.service.is_none() {
            line!(
                text,
                "# ASSUMED: the time of a request at a server that has nothing else to do. --service sets it; `sojourn calibrate`"
            );
            line!(text, "# measures it. No answer is better than this line.");
        }
        line!(text, "demand = {}", quoted(service));
        let core = if cores.is_some() { "--cores" } else { "ASSUMED; --cores sets it" };
        match self.at_most().filter(|_| !self.is_limited() && self.pool.when_full == WhenFull::Waits) {
            Some((most, at)) => {
                line!(
                    text,
                    "# {at}: at most {most} requests at once at each server; others wait, here at the server that was chosen,"
                );
                line!(
                    text,
                    "# there at the balancer for the first that has room. The cores are shared by those at the server."
                );
                line!(text, "discipline = \"limited-ps\"");
                line!(text, "helpers = {most}");
            }
            None => line!(text, "discipline = \"ps\"   # ASSUMED: requests at a server share its cores"),
        }
        line!(text, "cores = {}   # {core}", cores.unwrap_or(1));
        line!(text);
    }

    fn client(&self, text: &mut String) {
        let Some(timeout) = &self.pool.timeout else { return };
        let from = match &timeout.said {
            Some(at) => at.to_string(),
            None => format!("{}'s default: nothing is said", self.import.product.title()),
        };
        line!(text, "# After so long the balancer gives up, and the client gets an error.");
        line!(text, "[client]");
        line!(text, "timeout = \"{}\"   # {from}", timeout.span);
        line!(text);
    }

    fn run(&self, text: &mut String) {
        let Import { product, version, .. } = self.import;
        line!(text, "# The same requests under other rules of {}, and with one server more.", product.title());
        line!(text, "[vary]");
        let texts: Vec<String> = std::iter::once(self.named.text.clone())
            .chain(others(*product, *version, &self.named.text))
            .map(|text| quoted(&text))
            .collect();
        line!(text, "policy = [{}]", texts.join(", "));
        let (count, last) = (self.servers.len(), self.servers[self.servers.len() - 1].weight);
        match self.weights() {
            None => line!(text, "servers = [{count}, {}]", count + 1),
            Some(weights) => {
                line!(text, "# The further server has the weight of the last one.");
                line!(text, "targets = [");
                line!(text, "  {{ servers = {count}, weights = [{weights}] }},");
                line!(text, "  {{ servers = {}, weights = [{weights}, {last}] }},", count + 1);
                line!(text, "]");
            }
        }
        line!(text);
        line!(text, "# [objective]");
        line!(text, "# p99 = \"< 200 ms\"   # what must hold");
        line!(text);
        line!(text, "[run]");
        line!(text, "by = [\"sim\"]");
        line!(text, "precision = \"5% at 95%\"");
    }

    fn notes(&self, text: &mut String) {
        let mut own = Notes::default();
        self.unsaid(&mut own);
        let inherited = self.pool.inherited.iter().map(|notes| &**notes);
        let all: Vec<&Notes> =
            [&self.import.configuration.notes, &self.pool.notes, &own].into_iter().chain(inherited).collect();
        let titles = [
            (Reading::NotUnderstood, "Not understood, and so not in this experiment:"),
            (Reading::LeftOut, "Understood, and not in this experiment:"),
            (Reading::Used, "How it was read:"),
        ];
        for (reading, title) in titles {
            let mut notes: Vec<_> =
                all.iter().flat_map(|notes| &notes.kept).filter(|note| note.reading == reading).collect();
            notes.sort();
            notes.dedup();
            if notes.is_empty() {
                continue;
            }
            line!(text);
            line!(text, "# {title}");
            for note in notes {
                line!(text, "# {}: {}", note.at, note.text);
            }
        }
        let more: usize = all.iter().map(|notes| notes.more).sum();
        if more > 0 {
            line!(text, "# ... and {more} lines more that are not in this experiment");
        }
        let mut passed: Vec<String> = Vec::new();
        for (word, lines) in all.iter().flat_map(|notes| &notes.passed_over) {
            let first = lines.first().map_or(String::new(), ToString::to_string);
            let others = if lines.len() > 1 { format!(" and {} more", lines.len() - 1) } else { String::new() };
            passed.push(format!("{} ({first}{others})", plain(&cut(word))));
        }
        if !passed.is_empty() {
            passed.truncate(Notes::MAX);
            line!(text);
            line!(text, "# Passed over, as it concerns neither who serves a request nor how long that takes:");
            passed.iter().for_each(|word| line!(text, "# {word}"));
        }
    }

    /// What of the servers is not in the experiment.
    fn unsaid(&self, notes: &mut Notes) {
        let kind = self.import.product.pool();
        for server in &self.pool.servers {
            let why = match server.standing {
                Standing::Serves => continue,
                Standing::Backup => "it serves only when others are down",
                Standing::Out => "it is disabled or down, or has weight 0",
            };
            notes.add(&server.at, Reading::LeftOut, format!("server {} of this {kind}: {why}", cut(&server.name)));
        }
        if self.at_most().is_none() {
            for server in self.servers.iter().filter(|server| server.at_most.is_some()) {
                let most = server.at_most.unwrap_or_default();
                let text = format!("at most {most} requests at once: servers differ in it, so no limit is here");
                notes.add(&server.at, Reading::LeftOut, text);
            }
        }
        if let (Some((most, at)), true) = (self.at_most(), self.dispatchers() > 1) {
            let text =
                format!("max_conns={most}: without a `zone` each worker has a limit of its own, which is not here");
            notes.add(at, Reading::LeftOut, text);
        }
        let is_by_place = self.named.text.contains("random(") || self.pool.rule.key.is_some();
        if self.import.product == Product::Haproxy && is_by_place && self.servers.len() < self.pool.servers.len() {
            let text = "servers are on the ring by their number, and those left out have none here";
            notes.add(&self.pool.at, Reading::LeftOut, text);
        }
    }
}

/// Two digits of a number, so that it does not look measured.
fn significant(number: f64) -> f64 {
    let scale = 10_f64.powi(number.abs().log10().floor() as i32 - 1);
    let rounded = (number / scale).floor() * scale;
    // Of the digits that are written, none is of the division.
    if rounded < 1e-3 { rounded } else { format!("{rounded:.9}").parse().unwrap_or(rounded) }
}

/// `text` on a line of comment.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A text in quotes, as TOML writes it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", plain(text).replace('\\', "\\\\").replace('"', "\\\""))
}
