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

/// What becomes of servers' limits of requests.
enum Limits<'a> {
    /// There are none.
    None,
    /// The tier keeps them, in these words.
    OfTier(String, &'a FileLine),
    /// Requests wait at the server.
    OfServer(u32, &'a FileLine),
    /// They cannot be said.
    Unsaid,
}

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
            (Product::Haproxy, Some(version)) if version != &crate::haproxy::NEWEST_MEASURED => {
                format!(
                    "Version {version}, as --version-of says: by its source; {} was compared choice by choice.",
                    crate::haproxy::NEWEST_MEASURED
                )
            }
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

    /// How many requests each server has at once at most, and where that is first said; none where no server has a limit.
    fn at_most(&self) -> Option<(Vec<u32>, &FileLine)> {
        let first = self.servers.iter().find(|server| server.at_most.is_some())?;
        let each = self.servers.iter().map(|server| server.at_most.unwrap_or(0)).collect();
        Some((each, &first.at))
    }

    /// Processes that choose for themselves.
    fn dispatchers(&self) -> u32 {
        self.pool.workers.unwrap_or(1)
    }

    /// What becomes of the servers' limits.
    fn limits(&self) -> Limits<'_> {
        let Some((each, at)) = self.at_most() else { return Limits::None };
        let is_alike = each.iter().all(|most| *most == each[0]);
        match (self.pool.when_full, self.pool.rule.key) {
            // A server that a hash names is waited for.
            (WhenFull::Waits, Some(_)) if is_alike => Limits::OfServer(each[0], at),
            (WhenFull::Waits, Some(_)) => Limits::Unsaid,
            _ if self.dispatchers() > 1 => Limits::Unsaid,
            _ if is_alike => Limits::OfTier(each[0].to_string(), at),
            _ => Limits::OfTier(format!("[{}]", comma(&each)), at),
        }
    }

    /// The limits where the tier keeps them and they differ from server to server.
    fn unequal_limits(&self) -> Option<Vec<u32>> {
        let (each, _) = self.at_most().filter(|_| matches!(self.limits(), Limits::OfTier(..)))?;
        each.iter().any(|most| *most != each[0]).then_some(each)
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
        if self.pool.rule.name == "first" && matches!(self.limits(), Limits::None) {
            line!(text, "#   Without `maxconn` at the servers the first of them gets every request.");
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
        if let Limits::OfTier(most, at) = self.limits() {
            match self.pool.when_full {
                WhenFull::Waits => {
                    line!(
                        text,
                        "# {at}: a server with so many gets no more; with all full requests wait here, the oldest for the first"
                    );
                    line!(text, "# server that has room.");
                    line!(text, "limit = {{ connections = {most}, full = \"waits\" }}");
                }
                WhenFull::Refused => {
                    line!(text, "# {at}: a server with so many gets no more; with all full a request is refused.");
                    match most.parse::<u32>() {
                        Ok(number) => line!(text, "limit = {{ connections = {most}, return = {} }}", number - 1),
                        Err(_) => line!(text, "limit = {{ connections = {most} }}"),
                    }
                }
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
        match self.limits() {
            Limits::OfServer(most, at) => {
                line!(
                    text,
                    "# {at}: at most {most} requests at once at each server; others wait for the one that the hash names. Those"
                );
                line!(text, "# at the server share its cores.");
                line!(text, "discipline = \"limited-ps\"");
                line!(text, "helpers = {most}");
            }
            _ => line!(text, "discipline = \"ps\"   # ASSUMED: requests at a server share its cores"),
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
        self.more_servers(text);
        if let Limits::OfTier(most, _) = self.limits()
            && let (Ok(most), WhenFull::Waits) = (most.parse::<u32>(), self.pool.when_full)
        {
            line!(text, "# limit = [{}, {most}, {}]   # another `maxconn`", most.div_ceil(2), most.saturating_mul(2));
        }
        line!(text);
        line!(text, "# [objective]");
        line!(text, "# p99 = \"< 200 ms\"   # what must hold");
        line!(text);
        line!(text, "[run]");
        line!(text, "by = [\"sim\"]");
        line!(text, "precision = \"5% at 95%\"");
    }

    /// Varies the number of servers, with what they have one by one.
    fn more_servers(&self, text: &mut String) {
        let count = self.servers.len();
        let weights: Vec<u32> = self.servers.iter().map(|server| server.weight).collect();
        let of_each: Vec<(&str, Vec<u32>)> =
            [("weights", self.weights().map(|_| weights)), ("limit", self.unequal_limits())]
                .into_iter()
                .filter_map(|(key, each)| Some((key, each?)))
                .collect();
        if of_each.is_empty() {
            return line!(text, "servers = [{count}, {}]", count + 1);
        }
        line!(text, "# The further server is as the last one.");
        line!(text, "targets = [");
        for further in 0..2 {
            let of = |(key, each): &(&str, Vec<u32>)| {
                let last = each.last().copied().unwrap_or_default();
                let all: Vec<u32> = each.iter().copied().chain((0..further).map(|_| last)).collect();
                format!(", {key} = [{}]", comma(&all))
            };
            line!(text, "  {{ servers = {}{} }},", count + further, of_each.iter().map(of).collect::<String>());
        }
        line!(text, "]");
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
        if matches!(self.limits(), Limits::Unsaid) {
            let of_workers = self.dispatchers() > 1;
            for server in self.servers.iter().filter(|server| server.at_most.is_some()) {
                let most = server.at_most.unwrap_or_default();
                let text = match of_workers {
                    true => format!(
                        "max_conns={most}: without a `zone` each worker has a limit of its own, which is not here"
                    ),
                    false => format!(
                        "at most {most} requests at once: servers differ in it and are waited for, so no limit is here; \
                         `helpers = N` is one for all"
                    ),
                };
                notes.add(&server.at, Reading::LeftOut, text);
            }
        }
        if matches!(self.limits(), Limits::OfTier(..)) && self.pool.when_full == WhenFull::Waits {
            let text = "who waits longer than `timeout queue`, or else `timeout connect`, gets a 503; here it waits on";
            notes.add(&self.pool.at, Reading::LeftOut, text);
        }
        let is_by_place = self.named.text.contains("random(") || self.pool.rule.key.is_some();
        if self.import.product == Product::Haproxy && is_by_place && self.servers.len() < self.pool.servers.len() {
            let text = "servers are on the ring by their number, and those left out have none here";
            notes.add(&self.pool.at, Reading::LeftOut, text);
        }
    }
}

fn comma(numbers: &[u32]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
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
