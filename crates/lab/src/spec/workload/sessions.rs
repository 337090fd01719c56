//! Sessions and their site, as `[workload]` and `[workload.site]` write them.
//!
//! Everything has SURGE's value as its default (Barford and Crovella 1998, as Zhang 2002 used it, Table 3.2), so that an
//! experiment writes down only where its users and its site differ.

use std::cell::RefCell;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{self, MapAccess, Visitor, value::MapAccessDeserializer};
use sojourn_stats::{Dimension, Law};
use sojourn_traffic::har::Har;
use sojourn_traffic::{Http, SessionList, Sessions, Site, SiteLaw, Wsess};
use toml::Spanned;

use super::super::{Reader, SpecError, Text, unknown};
use super::{RawPaths, RawWorkload};

/// The keys of a workload of kind `sessions`.
pub(super) const KEYS: &[&str] = &[
    "users",
    "site",
    "think",
    "length",
    "locality",
    "active_off",
    "parallel",
    "http",
    "keep_alive",
    "patience",
    "time_scale",
];

/// The keys of a workload of kind `session-file`.
pub(super) const WRITTEN_KEYS: &[&str] = &[
    "arrivals",
    "profile",
    "file",
    "sessions",
    "wsess",
    "har",
    "hosts",
    "think",
    "size",
    "parallel",
    "http",
    "keep_alive",
    "patience",
];

/// The sites drawn so far, with their laws and seeds: hundreds of variants may share one.
#[derive(Default)]
pub(in crate::spec) struct Sites(RefCell<Vec<(SiteLaw, u64, Arc<Site>)>>);

/// A site: laws to draw it from, or the folder that `sojourn traffic site` or another program wrote.
pub(in crate::spec) enum SiteSource {
    Law(Box<RawSite>),
    Folder(String),
}

impl<'de> Deserialize<'de> for SiteSource {
    /// By hand, because an untagged enum would lose the lines of what is inside.
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<SiteSource, D::Error> {
        struct Source;
        impl<'de> Visitor<'de> for Source {
            type Value = SiteSource;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a site: a table of laws, or the path of a folder with a site.csv")
            }
            fn visit_str<E: de::Error>(self, path: &str) -> Result<SiteSource, E> {
                Ok(SiteSource::Folder(path.into()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SiteSource, A::Error> {
                Ok(SiteSource::Law(Box::new(RawSite::deserialize(MapAccessDeserializer::new(map))?)))
            }
        }
        deserializer.deserialize_any(Source)
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::spec) struct RawSite {
    files: Option<Spanned<u32>>,
    seed: Option<u64>,
    base: Option<RawFiles>,
    embedded: Option<RawFiles>,
    loner: Option<RawFiles>,
    loner_sigma: Option<Spanned<f64>>,
    requests: Option<Text>,
    popularity: Option<Spanned<f64>>,
    references: Option<Text>,
    base_requests: Option<Spanned<f64>>,
    dynamic: Option<Spanned<f64>>,
    secure: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFiles {
    share: Option<Spanned<f64>>,
    size: Option<Text>,
}

impl Reader<'_> {
    /// The sessions of `users` users; `seed` draws the site where it has no seed of its own.
    pub(super) fn sessions(
        &self,
        raw: &RawWorkload,
        users: u32,
        patience: Option<Law>,
        seed: u64,
    ) -> Result<Sessions, SpecError> {
        let mut sessions = Sessions::surge(users, self.site(raw.site.as_ref(), seed)?);
        sessions.patience = patience;
        self.browsing(raw, &mut sessions)?;
        Ok(sessions)
    }

    /// The sessions that a file or `wsess` writes down.
    pub(super) fn written(&self, raw: &RawWorkload, patience: Option<Law>, seed: u64) -> Result<Sessions, SpecError> {
        if let (Some(har), Some(_), _) | (Some(har), _, Some(_)) = (&raw.har, &raw.file, &raw.wsess) {
            return Err(self.at(har, "har", "give either `har`, `file` or `wsess`"));
        }
        if let (None, Some(hosts)) = (&raw.har, &raw.hosts) {
            return Err(self.at(hosts, "hosts", "they are those of `har`: give it too"));
        }
        let (list, count, think) = match (&raw.file, &raw.wsess, &raw.sessions) {
            (None, None, Some(count)) if raw.har.is_some() && *count.get_ref() > 0 => {
                (self.browsed(raw)?, *count.get_ref(), Law::constant(0.0))
            }
            (None, None, _) if raw.har.is_some() => {
                let har = raw.har.as_ref().expect("there is one");
                return Err(self.at(har, "har", "say how many sessions come, e.g. `sessions = 1000`"));
            }
            (Some(_), Some(text), _) => return Err(self.at(text, "wsess", "give either a file or `wsess`")),
            (None, Some(text), None) => {
                let Wsess { sessions, calls, think } =
                    Wsess::parse(text.get_ref()).map_err(|e| self.at(text, "wsess", &e.to_string()))?;
                if let Some(own) = &raw.think {
                    return Err(self.at(own, "think", "`wsess` says it: the last of its three numbers"));
                }
                (SessionList::uniform(calls, "/"), sessions, think)
            }
            (None, Some(_), Some(count)) => {
                return Err(self.at(count, "sessions", "`wsess` says it: the first of its three numbers"));
            }
            (Some(text), None, Some(count)) if *count.get_ref() > 0 => {
                let list = SessionList::read(&self.path(text.get_ref()));
                (list.map_err(|e| self.at(text, "file", &e.to_string()))?, *count.get_ref(), Law::constant(0.0))
            }
            (Some(text), None, _) => {
                return Err(self.at(text, "file", "say how many sessions come, e.g. `sessions = 1000`"));
            }
            (None, None, _) => {
                let right = "kind `session-file` needs `file = \"sessions.txt\"` or `har = \"shop.har\"` with `sessions = \
                             1000`, or `wsess = \"1000,10,2\"`";
                return Err(self.at(&raw.kind, "workload", right));
            }
        };
        let size = match self.size_alike(raw)? {
            Some(text) => self.law(&text, "size", Dimension::Size)?,
            None => Law::constant(1000.0),
        };
        let arrivals = self.arrivals(raw)?;
        let written = Sessions::written(list, count, arrivals, think, &size, seed);
        let mut sessions = written.map_err(|e| self.at_key("arrivals", &e.to_string()))?;
        sessions.patience = patience;
        self.browsing(raw, &mut sessions)?;
        Ok(sessions)
    }

    /// The sessions of browsers that archives have.
    fn browsed(&self, raw: &RawWorkload) -> Result<SessionList, SpecError> {
        let archives = raw.har.as_ref().expect("there is one");
        let fail = |fault: &dyn std::fmt::Display| self.at(archives, "har", &fault.to_string());
        let RawPaths(files) = archives.get_ref();
        if files.is_empty() {
            return Err(fail(&"name an HTTP archive, as browsers save it, e.g. \"shop.har\""));
        }
        let read: Result<Vec<Har>, _> = files.iter().map(|file| Har::read(&self.path(file))).collect();
        let hosts = raw.hosts.as_ref().map_or(&[][..], |hosts| hosts.get_ref());
        Har::joined(read.map_err(|error| fail(&error))?).list(hosts).map_err(|error| fail(&error))
    }

    /// How users think, and how their connections live.
    fn browsing(&self, raw: &RawWorkload, sessions: &mut Sessions) -> Result<(), SpecError> {
        if let Some(text) = &raw.think {
            sessions.think = self.law(text, "think", Dimension::Time)?;
        }
        if let Some(text) = &raw.length {
            sessions.length = self.law(text, "length", Dimension::Number)?;
        }
        if let Some(text) = &raw.locality {
            let none = text.get_ref() == "none";
            sessions.locality = if none { None } else { Some(self.law(text, "locality", Dimension::Number)?) };
        }
        if let Some(text) = &raw.active_off {
            sessions.active_off = Some(self.law(text, "active_off", Dimension::Time)?);
        }
        if let Some(text) = &raw.keep_alive {
            sessions.http = Http::V11 { keep_alive: self.span(text, "keep_alive")? };
        }
        match raw.http.as_ref().map(|text| (text, text.get_ref().as_str())) {
            None | Some((_, "1.1")) => {}
            Some((_, "1.0")) => sessions.http = Http::V10,
            Some((text, other)) => {
                return Err(self.at(text, "http", &unknown("version of HTTP", other, &["1.0", "1.1"])));
            }
        }
        if let Some(parallel) = &raw.parallel {
            sessions.parallel = *parallel.get_ref();
            if sessions.parallel == 0 {
                return Err(self.at(parallel, "parallel", "at least 1 connection is needed"));
            }
        }
        if let Some(scale) = &raw.time_scale {
            sessions.time_scale = *scale.get_ref();
            if !(sessions.time_scale > 0.0 && sessions.time_scale.is_finite()) {
                return Err(self.at(scale, "time_scale", "a scale is above 0; 10 makes users ten times as fast"));
            }
        }
        Ok(())
    }

    fn site(&self, source: Option<&Spanned<SiteSource>>, seed: u64) -> Result<Arc<Site>, SpecError> {
        let fail = |error: &dyn std::fmt::Display| match source {
            Some(source) => self.at(source, "site", &error.to_string()),
            None => self.at_key("kind", &error.to_string()),
        };
        let (law, seed) = match source.map(Spanned::get_ref) {
            Some(SiteSource::Folder(path)) => {
                // Beside the experiment first: `.` exists wherever one is.
                let beside = self.file.parent().map(|folder| folder.join(path));
                let beside = beside.filter(|place| place.is_file() || place.join("site.csv").exists());
                let place = beside.unwrap_or_else(|| self.path(path));
                return Site::read(&place).map(Arc::new).map_err(|e| fail(&e));
            }
            Some(SiteSource::Law(raw)) => (self.site_law(raw)?, raw.seed.unwrap_or(seed)),
            None => (SiteLaw::surge(), seed),
        };
        let mut known = self.shared.sites.0.borrow_mut();
        if let Some((.., site)) = known.iter().find(|(of, drawn, _)| *drawn == seed && *of == law) {
            return Ok(Arc::clone(site));
        }
        let site = Arc::new(Site::generate(&law, seed).map_err(|e| fail(&e))?);
        known.push((law, seed, Arc::clone(&site)));
        Ok(site)
    }

    fn site_law(&self, raw: &RawSite) -> Result<SiteLaw, SpecError> {
        let mut law = SiteLaw::surge();
        let share = |value: &Spanned<f64>, key: &str| match *value.get_ref() {
            share if (0.0..=1.0).contains(&share) => Ok(share),
            _ => Err(self.at(value, key, "a share is from 0 to 1")),
        };
        if let Some(files) = &raw.files {
            law.files = *files.get_ref();
        }
        if let Some(sigma) = &raw.loner_sigma {
            if raw.loner.as_ref().is_some_and(|loner| loner.size.is_some()) {
                return Err(self.at(sigma, "loner_sigma", "give either loner_sigma or the loner files' own size law"));
            }
            law = law.with_loner_sigma(*sigma.get_ref()).map_err(|e| self.at(sigma, "loner_sigma", &e.to_string()))?;
        }
        for (index, (files, key)) in
            [(&raw.base, "base"), (&raw.embedded, "embedded"), (&raw.loner, "loner")].into_iter().enumerate()
        {
            let Some(files) = files else { continue };
            if let Some(value) = &files.share {
                law.shares[index] = share(value, key)?;
            }
            if let Some(size) = &files.size {
                law.sizes[index] = self.law(size, key, Dimension::Size)?;
            }
        }
        if let Some(text) = &raw.requests {
            law.requests = self.law(text, "requests", Dimension::Size)?;
        }
        if let Some(text) = &raw.references {
            law.references = self.law(text, "references", Dimension::Number)?;
        }
        if let Some(exponent) = &raw.popularity {
            law.popularity = *exponent.get_ref();
        }
        if let Some(value) = &raw.base_requests {
            law.base_requests = Some(share(value, "base_requests")?);
        }
        if let Some(value) = &raw.dynamic {
            law.dynamic = share(value, "dynamic")?;
        }
        if let Some(value) = &raw.secure {
            law.secure = share(value, "secure")?;
        }
        Ok(law)
    }
}
