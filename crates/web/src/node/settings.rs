//! What only a node itself can say of its settings: whether the files that they name are what they are to be.

use sojourn_part::listen::Rules;
use sojourn_part::settings::Wrong;
use sojourn_part::settings::node::{Abandoned, NodeSettings};
use sojourn_part::{clock, descriptors};
use sojourn_stats::Span;

use super::broker;
use super::files::Files;
use super::model::model_of;
use super::tls::Certificates;

/// How long requests in flight may take when a node is stopped, unless settings say otherwise.
const GRACE: Span = Span(30_000_000_000);

/// Whether a node can go by these settings, which are right by themselves: the folder of files, models, keys, patterns,
/// certificates, URLs.
///
/// # Errors
/// The first that cannot be.
pub fn check(settings: &NodeSettings) -> Result<(), Wrong> {
    // What connections need is judged by what this process may have in the end.
    descriptors::raise_limit();
    rules(settings)?;
    let model = model_of(settings)?;
    if let Some(files) = &settings.files.0 {
        Files::new(files).map_err(|wrong| wrong.inside("files"))?;
    }
    certificates_of(settings)?;
    match &settings.cluster.0 {
        Some(cluster) => broker::check(cluster, settings, model.as_ref()).map_err(|wrong| wrong.inside("cluster")),
        None => Ok(()),
    }
}

/// What is to be known of these settings beside what they say: the names that their certificates are for, or that one is for
/// none, and files of the site that the node's own paths hide.
pub fn notes(settings: &NodeSettings) -> Vec<String> {
    let certificates = certificates_of(settings).ok().flatten().map_or(Vec::new(), |all| {
        let names = Some(all.names()).filter(|names| !names.is_empty());
        let names = names.map(|names| format!("certificates for {}", names.join(", ")));
        let nameless = all.nameless().map(|file| {
            let file = file.display();
            format!("{file} has no subjectAltName that names a host: browsers and `sojourn load` refuse it (RFC 9525)")
        });
        names.into_iter().chain(nameless).collect()
    });
    let root = settings.files.as_ref().filter(|_| settings.has_test_paths()).map(|files| &files.root);
    let own = ["work", "bytes", "load", "health"].into_iter();
    let hidden: Vec<&str> = own.filter(|name| root.is_some_and(|root| root.join(name).exists())).collect();
    let right = "answered by the node itself, in the place of the site's files (test_paths = false has these)";
    let hidden = Some(hidden).filter(|hidden| !hidden.is_empty());
    certificates.into_iter().chain(hidden.map(|hidden| format!("/{}: {right}", hidden.join(", /")))).collect()
}

/// The certificates of a node, if it speaks TLS.
pub(super) fn certificates_of(settings: &NodeSettings) -> Result<Option<Certificates>, Wrong> {
    let Some(tls) = &settings.tls.0 else { return Ok(None) };
    let (files, now) = (&tls.certificates.0, clock::seconds());
    let all = Certificates::read(files, now).map_err(|why| {
        // With those before it, so that two for one name are found.
        let wrong = (1..=files.len()).find(|count| Certificates::read(&files[..*count], now).is_err());
        Wrong::new(format!("tls.certificate[{}]", wrong.map_or(0, |count| count - 1)), why)
    });
    all.map(Some)
}

/// The first setting that differs from `other` and cannot change in a running node.
pub(super) fn fixed_difference(settings: &NodeSettings, other: &NodeSettings) -> Option<&'static str> {
    let tls = |settings: &NodeSettings| settings.tls.as_ref().map(|tls| tls.listen.clone());
    let differs = [
        ("listen", settings.listen != other.listen),
        ("tls.listen", tls(settings) != tls(other)),
        ("threads", settings.threads != other.threads),
        ("workers", settings.workers != other.workers),
        ("model", settings.model != other.model),
        ("classes", settings.classes != other.classes),
        ("name", settings.name != other.name),
        ("seed", settings.seed != other.seed),
        ("metrics", settings.metrics != other.metrics),
        ("cluster", settings.cluster != other.cluster),
        ("learn", settings.learn != other.learn),
    ];
    differs.into_iter().find(|(_, differs)| *differs).map(|(key, _)| key)
}

/// How long requests in flight may take.
pub(super) fn grace(settings: &NodeSettings) -> Span {
    settings.grace.unwrap_or(GRACE)
}

/// The rules of connections that the settings make.
pub(super) fn rules(settings: &NodeSettings) -> Result<Rules, Wrong> {
    // A connection may take a file besides, the pipes of a program, or a connection to a peer, which may be left behind idle;
    // each thread has some descriptors of its own.
    let has_programs = settings.cgi.is_some() || settings.fastcgi.is_some();
    let (each, kept) = match settings.files.is_some() || has_programs {
        true => (2 + u64::from(has_programs), descriptors::kept() as u64),
        false => (1, 0),
    };
    let each = each + 2 * u64::from(settings.cluster.is_some());
    let limits = &settings.limits;
    let connections = descriptors::connections(limits.connections, each, 16 + (4 + kept) * settings.threads as u64);
    Ok(Rules {
        connections: connections.map_err(|error| Wrong::new("limits.connections", error))?,
        when_full: limits.when_full,
        per_address: limits.per_address,
        requests: limits.requests,
        keep_alive: limits.keep_alive,
        head_timeout: limits.head_timeout,
        head_size: Some(limits.head_size.0 as usize),
        patience: limits.send_timeout,
        handshake_timeout: limits.handshake_timeout,
        streams: limits.streams,
        serves_abandoned: settings.abandoned == Abandoned::Served,
        grace: grace(settings),
    })
}
