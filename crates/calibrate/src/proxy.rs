//! A proxy measured against its hit ratio, after Fujita (2000, sections 3.2.1 and 3.2.2).
//!
//! Closed clients without think times keep the proxy saturated, first with one document after another, cached and not,
//! then with mixes of cached documents and documents that are never stored. There are three findings: the work of a
//! cached and of an uncached document against its size, as seconds per reply; the demand of cached documents by
//! response time, g(x) = a x + b at 100 % hits; and the coefficients h(y) = c0 + c1 y of g at y % hits, one line for
//! documents below a size and one for the others.
//!
//! Everything is measured once in every round, in an order of its own, and each round gives its own lines. An interval
//! over rounds needs no assumption about independence within a round, and includes the error of the coefficients'
//! common denominator. The price is that several rounds are needed. One hit ratio is kept out of every fit, and says
//! how good the lines are.

mod lines;
mod rounds;
mod write;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::Serialize;
use sojourn_load::{LoadError, Url};
use sojourn_model::Server;

use crate::client::Client;
use crate::demand::Against;
use crate::measure;
use crate::settings::{CalibrateError, Interval, Progress, Settings};
use crate::target::{Axis, Target, WorkLevel};

/// A proxy and documents of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Proxy {
    /// As it was written.
    pub url: String,
    /// The proxy's address.
    pub address: SocketAddr,
    /// The `host` header.
    pub host: String,
    /// Paths of documents that it keeps.
    pub hits: Vec<String>,
    /// Paths of the same documents, in the same order, where it never keeps them.
    pub misses: Vec<String>,
    /// Relative frequency of each document in a mix.
    pub weights: Vec<f64>,
    /// Headers that every request carries.
    pub headers: Vec<(String, String)>,
}

/// Which mixes are measured, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct HitRatios {
    /// Shares of hits, from 0 to 1; they must contain 1 and two others above 0.
    pub ratios: Vec<f64>,
    /// The hit ratio that is kept out of the fit.
    pub kept_out: f64,
    /// Clients, each with a connection.
    pub clients: u32,
    /// Documents below this size (B) have separate coefficients.
    pub size_break: f64,
    /// Number of rounds.
    pub rounds: u32,
}

/// The findings about a proxy.
#[derive(Clone, Debug, Serialize)]
pub struct ProxyFound {
    /// The URL as it was given.
    pub url: String,
    /// Clients.
    pub clients: u32,
    /// Rounds.
    pub rounds: u32,
    /// Documents below this size (B) have separate coefficients.
    pub size_break: f64,
    /// Each document.
    pub documents: Vec<Document>,
    /// Work of a cached document (s) against its size (B); none for fewer than two sizes.
    pub hit_work: Option<Against>,
    /// Work of an uncached document; it includes the web server's if that is slower.
    pub miss_work: Option<Against>,
    /// g: response time at 100 % hits over the number of clients (s) against the size (B).
    pub demand: Option<Against>,
    /// Seconds per reply of each mix in the fit.
    pub ratios: Vec<Ratio>,
    /// Seconds per reply at 100 % hits, by the line against the hit ratio.
    pub all_hits_s: Interval,
    /// Seconds per reply at 0 % hits, by the same line.
    pub no_hits_s: Interval,
    /// h of the documents below the break.
    pub below: Option<Coefficients>,
    /// h of the others.
    pub above: Option<Coefficients>,
    /// The hit ratio that is kept out of the fit.
    pub kept_out: f64,
    /// Its seconds per reply.
    pub kept_out_mix: Kept,
    /// The model of the proxy at 100 % hits: processor sharing, as in Fujita.
    #[serde(skip)]
    pub server: Server,
    /// Notes for the reader, one line each.
    pub notes: Vec<String>,
    /// Time of all loads (s).
    pub elapsed_s: f64,
}

/// A document, cached and not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Document {
    /// Its path where the proxy keeps it.
    pub hit: String,
    /// Its path where the proxy does not keep it.
    pub miss: String,
    /// Bytes of the reply.
    pub bytes: f64,
    /// Median response of the idle proxy (s), cached.
    pub hit_idle: Interval,
    /// The same, not cached.
    pub miss_idle: Interval,
    /// Seconds per reply of the saturated proxy, cached.
    pub hit_work: Interval,
    /// The same, not cached.
    pub miss_work: Interval,
}

/// A mix of hits and misses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// Share of hits.
    pub ratio: f64,
    /// Seconds per reply.
    pub reply_s: Interval,
}

/// h(y) = c0 + c1 y: the demand of cached documents at y % hits over that at 100 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Coefficients {
    /// c0.
    pub fixed: Interval,
    /// c1, per percent of hits.
    pub per_percent: Interval,
    /// h at the hit ratio that is kept out of the fit.
    pub kept_out: Kept,
}

/// A value that is kept out of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Kept {
    /// As measured.
    pub measured: Interval,
    /// By the line.
    pub predicted: Interval,
    /// Measured over predicted, less 1.
    pub error: Interval,
}

impl Default for HitRatios {
    /// 0, 25, 50, 75 and 100 %, with 60 % kept out; 16 clients; Fujita's break at 20 kB; five rounds.
    fn default() -> HitRatios {
        HitRatios {
            ratios: vec![0.0, 0.25, 0.5, 0.75, 1.0],
            kept_out: 0.6,
            clients: 16,
            size_break: 20_000.0,
            rounds: 5,
        }
    }
}

impl Proxy {
    /// Reads `http://host:port` and the paths of documents that are kept, and of the same documents where they are not.
    /// `{size}` in a path stands for each of `sizes`; all documents are equally frequent unless `weights` says
    /// otherwise.
    ///
    /// # Errors
    /// When the URL is not valid, the host is not known, or paths, sizes and weights do not go together.
    pub fn parse(
        url: &str,
        hits: &[String],
        misses: &[String],
        sizes: &[u64],
        weights: &[f64],
    ) -> Result<Proxy, CalibrateError> {
        let invalid = |what: String| Err(CalibrateError::Invalid(what));
        let read = Url::parse(url).map_err(|error| CalibrateError::Invalid(format!("--proxy: {error}")))?;
        if read.path != "/" {
            return invalid(format!("--proxy {url}: write it without a path; --hit and --miss have them"));
        }
        let (hits, misses) = (expanded("--hit", hits, sizes)?, expanded("--miss", misses, sizes)?);
        if hits.is_empty() || hits.len() != misses.len() {
            return invalid(format!(
                "--hit has {} documents and --miss {}: as many of each, the same documents in the same order",
                hits.len(),
                misses.len()
            ));
        }
        if let Some(path) = hits.iter().find(|path| misses.contains(path)) {
            return invalid(format!("{path} is given to --hit and to --miss: a document is kept or it is not"));
        }
        if !weights.is_empty() && weights.len() != hits.len() {
            return invalid(format!("--weights has {} numbers for {} documents", weights.len(), hits.len()));
        }
        if let Some(weight) = weights.iter().find(|weight| !(weight.is_finite() && **weight > 0.0)) {
            return invalid(format!("--weights: {weight} is not a number above 0"));
        }
        let address = read.resolve().map_err(|error| CalibrateError::Invalid(error.to_string()))?;
        let weights = if weights.is_empty() { vec![1.0; hits.len()] } else { weights.to_vec() };
        Ok(Proxy { url: url.to_owned(), address, host: read.authority(), hits, misses, weights, headers: Vec::new() })
    }

    /// Hits, then misses.
    fn target(&self) -> Target {
        let levels = self.hits.iter().chain(&self.misses).map(|path| WorkLevel { x: 0.0, path: path.clone() });
        Target {
            url: self.url.clone(),
            address: self.address,
            host: self.host.clone(),
            axis: Axis::None,
            levels: levels.collect(),
            reference: 0,
            headers: self.headers.clone(),
        }
    }
}

/// Measures `proxy` at each of the hit ratios. The proxy must have no other load meanwhile; `settings.judged`,
/// `repeats` and `connections_max` are not used.
///
/// # Errors
/// When a setting is impossible, the target does not answer, could not have been measured from here or answers with
/// errors, the documents of a pair differ, or when `cancel` is set.
pub fn calibrate_proxy(
    proxy: &Proxy,
    mixes: &HitRatios,
    settings: &Settings,
    progress: &(dyn Fn(Progress<'_>) + Sync),
    cancel: &Arc<AtomicBool>,
) -> Result<ProxyFound, CalibrateError> {
    measure::check(settings)?;
    mixes.check()?;
    if !settings.allowed.allows(proxy.address.ip()) {
        return Err(LoadError::NotAllowed { target: proxy.address }.into());
    }
    let target = proxy.target();
    let client = Client::new(&target, settings, progress, cancel);
    let idle = rounds::idle(&client)?;
    same_documents(proxy, &idle.bytes)?;
    let rounds = rounds::measure(&client, proxy, mixes, &idle)?;
    lines::found(proxy, mixes, &idle, &rounds, client.spent_s.get())
}

impl HitRatios {
    fn check(&self) -> Result<(), CalibrateError> {
        let invalid = |what: String| Err(CalibrateError::Invalid(what));
        if let Some(wrong) = self.ratios.iter().find(|ratio| !(0.0..=1.0).contains(*ratio)) {
            return invalid(format!("--ratios: {wrong} is no share between 0 and 1"));
        }
        let mut with_hits: Vec<f64> = self.ratios.iter().copied().filter(|ratio| *ratio > 0.0).collect();
        with_hits.sort_by(f64::total_cmp);
        with_hits.dedup();
        if with_hits.len() < 3 || with_hits.last() != Some(&1.0) {
            return invalid("--ratios: 1 and at least two others above 0, e.g. 0,0.25,0.5,0.75,1".into());
        }
        if !(self.kept_out > 0.0 && self.kept_out < 1.0) || self.ratios.contains(&self.kept_out) {
            return invalid(format!("--held-out: {} is to lie between 0 and 1, and not among --ratios", self.kept_out));
        }
        if self.clients < 2 {
            return invalid("--clients: at least 2, or the proxy is idle between two requests".into());
        }
        if self.rounds < 3 {
            return invalid("--rounds: at least 3, or there is no interval to speak of".into());
        }
        if !(self.size_break.is_finite() && self.size_break >= 0.0) {
            return invalid(format!("--size-break: {} is no size", self.size_break));
        }
        Ok(())
    }
}

fn expanded(flag: &str, paths: &[String], sizes: &[u64]) -> Result<Vec<String>, CalibrateError> {
    let invalid = |what: String| Err(CalibrateError::Invalid(what));
    let mut all = Vec::new();
    for path in paths {
        if !path.starts_with('/') || path.bytes().any(|byte| byte <= b' ' || byte >= 0x7f) {
            return invalid(format!("{flag} {path}: a path starts with `/` and has no blank"));
        }
        match (path.contains("{size}"), sizes.is_empty()) {
            (true, true) => return invalid(format!("{flag} {path}: {{size}} needs --x, e.g. --x 1000,20000,200000")),
            (true, false) => all.extend(sizes.iter().map(|size| path.replace("{size}", &size.to_string()))),
            (false, true) => all.push(path.clone()),
            (false, false) => return invalid(format!("{flag} {path}: --x has sizes, and there is no {{size}} in it")),
        }
    }
    Ok(all)
}

/// The two documents of a pair must have equal sizes, up to the bytes that tell them apart.
fn same_documents(proxy: &Proxy, bytes: &[f64]) -> Result<(), CalibrateError> {
    let documents = proxy.hits.len();
    for document in 0..documents {
        let (hit, miss) = (bytes[document], bytes[documents + document]);
        if (hit - miss).abs() > 100.0 + 0.1 * hit {
            return Err(CalibrateError::Invalid(format!(
                "{} has {hit} B and {} has {miss} B: --hit and --miss give the same documents in the same order",
                proxy.hits[document], proxy.misses[document]
            )));
        }
    }
    Ok(())
}
