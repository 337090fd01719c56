//! Sessions of browsers: HTTP archives (HAR 1.2), as the network panels of browsers save them.
//!
//! A file is one user. Its pages are bursts: the page's own file and what it loads with it; a page on which nothing was under
//! way for a second and which then asks for more goes on in a burst of its own, since a user or a timer did that. What lies
//! between the last reply of a burst and the beginning of the next one is thinking time. What did not reach a server of the
//! site is left out and counted: what the browser had itself, what was never answered, what was no HTTP, and requests to hosts
//! of others; they do not make thinking times longer, since the page waited for them.
//!
//! The file is read by serde here and not by the crate `har`, since browsers leave out fields that the specification demands. The
//! price: it is in memory whole while it is read.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::Path;

use serde::Deserialize;
use sojourn_stats::{Span, input};

use crate::recorded::log::instant_us;
use crate::sessions::{Burst, Call, SessionList};
use crate::text::{TextError, unpacked};

/// Nothing under way for so long ends a burst (us).
const SILENCE_US: i64 = 1_000_000;

/// Sessions of browsers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Har {
    sessions: Vec<Vec<Browsed>>,
    /// Of all requests, each host with how many.
    hosts: BTreeMap<String, u64>,
    left_out: BTreeMap<LeftOut, u64>,
}

/// A burst of a session.
#[derive(Clone, Debug, PartialEq)]
struct Browsed {
    requests: Vec<Asked>,
    begin_us: i64,
    end_us: i64,
}

/// A request of a browser.
#[derive(Clone, Debug, PartialEq)]
struct Asked {
    host: String,
    call: Call,
    /// Bytes of the reply's body as they were sent, where they are known.
    size: Option<u64>,
    begin_us: i64,
    /// How long it took (us).
    taken_us: i64,
}

/// Why a request is not part of the sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// The browser had it in its cache.
    Cached,
    /// It has no status: it was blocked or given up.
    Unanswered,
    /// Its URL is not of HTTP, or it became a WebSocket.
    NotHttp,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LeftOut::Cached => "from the browser's cache",
            LeftOut::Unanswered => "without an answer",
            LeftOut::NotHttp => "not of HTTP",
        })
    }
}

#[derive(Deserialize)]
struct File {
    log: Archive,
}

#[derive(Deserialize)]
struct Archive {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    pageref: Option<String>,
    started_date_time: String,
    time: f64,
    request: Request,
    response: Response,
    #[serde(rename = "_fromCache")]
    from_cache: Option<String>,
    #[serde(rename = "_resourceType")]
    resource_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    method: String,
    url: String,
    post_data: Option<Posted>,
}

#[derive(Deserialize)]
struct Posted {
    text: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    status: i64,
    body_size: Option<i64>,
    content: Option<Content>,
}

#[derive(Deserialize)]
struct Content {
    size: Option<i64>,
}

impl Har {
    /// Whether the text that begins so is an HTTP archive.
    pub fn is_one(head: &[u8]) -> bool {
        let text: Vec<u8> = head.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let has = |part: &[u8]| text.windows(part.len()).any(|window| window == part);
        text.starts_with(b"{\"log\":{") && (has(b"\"creator\":") || has(b"\"entries\":"))
    }

    /// Reads the archive at `path`, plain, gzip or zstd: one session.
    ///
    /// # Errors
    /// When it cannot be read, and as [`Har::parse`].
    pub fn read(path: &Path) -> Result<Har, TextError> {
        let name = path.display().to_string();
        let whole = |fault: std::io::Error| TextError::Whole { name: name.clone(), fault: fault.to_string() };
        let mut text = Vec::new();
        let mut source = unpacked(input::open(path).map_err(whole)?).map_err(whole)?;
        source.read_to_end(&mut text).map_err(whole)?;
        Har::parse(&text, &name)
    }

    /// Reads an archive; `name` is what messages call it.
    ///
    /// # Errors
    /// When it is no JSON or no archive, with the line; when an entry has no instant; when no request of it reached a server.
    pub fn parse(text: &[u8], name: &str) -> Result<Har, TextError> {
        let whole = |fault: String| TextError::Whole { name: name.into(), fault };
        let file: File = serde_json::from_slice(text).map_err(|error| {
            let told = error.to_string();
            let why = told.split(" at line ").next().unwrap_or_default();
            let fault = format!("no HTTP archive (`{{\"log\": {{\"entries\": [...]}}}}`), as browsers save it: {why}");
            TextError::Line { name: name.into(), line: error.line() as u64, fault }
        })?;
        let mut har = Har::default();
        let mut by_page: BTreeMap<Option<String>, Vec<Asked>> = BTreeMap::new();
        for (number, entry) in file.log.entries.into_iter().enumerate() {
            let begin_us = instant_us(&entry.started_date_time).ok_or_else(|| {
                let written = &entry.started_date_time;
                whole(format!("entry {}: `startedDateTime` is `{written}`, and no instant of ISO 8601", number + 1))
            })?;
            match asked(&entry, begin_us) {
                Ok(asked) => {
                    *har.hosts.entry(asked.host.clone()).or_default() += 1;
                    by_page.entry(entry.pageref).or_default().push(asked);
                }
                Err(why) => *har.left_out.entry(why).or_default() += 1,
            }
        }
        if by_page.is_empty() {
            let left_out: u64 = har.left_out.values().sum();
            return Err(whole(format!(
                "no request in it reached a server ({left_out} were cached, unanswered or not of HTTP): save the archive while \
                 pages load, with the cache off"
            )));
        }
        let mut bursts: Vec<Browsed> = by_page.into_values().flat_map(bursts).collect();
        bursts.sort_by_key(|burst| burst.begin_us);
        har.sessions = vec![bursts];
        Ok(har)
    }

    /// The sessions of several archives.
    #[must_use]
    pub fn joined(archives: impl IntoIterator<Item = Har>) -> Har {
        let mut all = Har::default();
        for har in archives {
            all.sessions.extend(har.sessions);
            har.hosts.into_iter().for_each(|(host, count)| *all.hosts.entry(host).or_default() += count);
            har.left_out.into_iter().for_each(|(why, count)| *all.left_out.entry(why).or_default() += count);
        }
        all
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Bursts of all sessions: pages, and what pages asked for later.
    pub fn bursts(&self) -> usize {
        self.sessions.iter().map(Vec::len).sum()
    }

    /// Requests that reached a server.
    pub fn requests(&self) -> u64 {
        self.hosts.values().sum()
    }

    /// The hosts that were asked, each with how many requests, the most first.
    pub fn hosts(&self) -> Vec<(&str, u64)> {
        let mut hosts: Vec<(&str, u64)> = self.hosts.iter().map(|(host, count)| (host.as_str(), *count)).collect();
        hosts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        hosts
    }

    /// Requests that reached no server, by why.
    pub fn left_out(&self) -> impl Iterator<Item = (LeftOut, u64)> + '_ {
        self.left_out.iter().map(|(why, count)| (*why, *count))
    }

    /// The site that was visited: the host of the first request of each session, each once.
    pub fn sites(&self) -> Vec<&str> {
        let mut sites: Vec<&str> = Vec::new();
        for first in self.sessions.iter().filter_map(|session| session.first()?.requests.first()) {
            if !sites.contains(&first.host.as_str()) {
                sites.push(&first.host);
            }
        }
        sites
    }

    /// Thinking times between bursts (s).
    pub fn thinks_s(&self) -> Vec<f64> {
        self.sessions.iter().flat_map(|session| thinks(session)).map(Span::as_secs_f64).collect()
    }

    /// Bytes of the replies' bodies, where they are known.
    pub fn sizes(&self) -> Vec<f64> {
        self.asked().filter_map(|asked| asked.size).map(|size| size as f64).collect()
    }

    /// How long requests took in the browser (s), waiting for a connection included.
    pub fn times_s(&self) -> Vec<f64> {
        self.asked().map(|asked| asked.taken_us as f64 / 1e6).collect()
    }

    /// How long each session was (s).
    pub fn lengths_s(&self) -> Vec<f64> {
        let length = |session: &Vec<Browsed>| {
            let end_us = session.iter().map(|burst| burst.end_us).max().unwrap_or_default();
            (end_us - session.first().map_or(end_us, |burst| burst.begin_us)) as f64 / 1e6
        };
        self.sessions.iter().map(length).collect()
    }

    fn asked(&self) -> impl Iterator<Item = &Asked> {
        self.sessions.iter().flatten().flat_map(|burst| &burst.requests)
    }

    /// What is to be known of it before it is used, one line each.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let left_out: Vec<String> = self.left_out().map(|(why, count)| format!("{count} {why}")).collect();
        if !left_out.is_empty() {
            warnings.push(format!("requests that reached no server are left out: {}", left_out.join(", ")));
        }
        let sites = self.sites();
        let others: Vec<String> = self
            .hosts()
            .into_iter()
            .filter(|(host, _)| !sites.contains(host))
            .map(|(host, count)| format!("{host} ({count})"))
            .collect();
        if !others.is_empty() {
            warnings.push(format!(
                "a workload has the requests to {} only; those to other hosts are left out unless `hosts` names them: {}",
                sites.join(", "),
                others.join(", ")
            ));
        }
        warnings
    }

    /// What the sessions ask of `hosts`, or where there is none of the site that was visited, as a list of sessions, whose think
    /// times are those that were seen. Of a burst the first request goes out alone, and the others when its reply is there.
    ///
    /// # Errors
    /// When a session asks none of them for anything; the message names a host that is asked.
    pub fn list(&self, hosts: &[String]) -> Result<SessionList, String> {
        let visited: Vec<String> = self.sites().into_iter().map(str::to_owned).collect();
        let hosts = if hosts.is_empty() { &visited } else { hosts };
        let mut list = Calls::default();
        let mut sessions = Vec::new();
        for (number, session) in self.sessions.iter().enumerate() {
            let mut bursts: Vec<Burst> = Vec::new();
            // Where a burst asked other hosts only, the user was busy with it all the same.
            let mut before = Span::ZERO;
            let pauses = std::iter::once(Span::ZERO).chain(thinks(session));
            let mut last_end_us = 0;
            for (burst, pause) in session.iter().zip(pauses) {
                let calls: Vec<u32> = burst
                    .requests
                    .iter()
                    .filter(|asked| hosts.contains(&asked.host))
                    .map(|asked| list.number(asked))
                    .collect();
                let lasted = Span(u64::try_from(burst.end_us - burst.begin_us.max(last_end_us)).unwrap_or(0) * 1_000);
                last_end_us = burst.end_us.max(last_end_us);
                before += pause;
                if calls.is_empty() {
                    before += lasted;
                    continue;
                }
                if let Some(last) = bursts.last_mut() {
                    last.think = Some(before);
                }
                before = Span::ZERO;
                bursts.push(Burst { calls, think: None });
            }
            if bursts.is_empty() {
                let (most, _) = self.hosts()[0];
                return Err(format!(
                    "session {} asks none of {} for anything; most requests go to {most}",
                    number + 1,
                    hosts.join(", ")
                ));
            }
            sessions.push(bursts);
        }
        Ok(SessionList::new(list.calls, list.sizes, sessions))
    }
}

/// The different calls of a list.
#[derive(Default)]
struct Calls {
    known: HashMap<(Call, Option<u64>), u32>,
    calls: Vec<Call>,
    sizes: Vec<Option<u64>>,
}

impl Calls {
    fn number(&mut self, asked: &Asked) -> u32 {
        let fresh = self.calls.len() as u32;
        let number = *self.known.entry((asked.call.clone(), asked.size)).or_insert(fresh);
        if number == fresh {
            self.calls.push(asked.call.clone());
            self.sizes.push(asked.size);
        }
        number
    }
}

/// What an entry asked a server for.
fn asked(entry: &Entry, begin_us: i64) -> Result<Asked, LeftOut> {
    let Entry { request, response, .. } = entry;
    let scheme = ["http://", "https://"].into_iter().find(|scheme| request.url.starts_with(scheme));
    let is_socket = response.status == 101 || entry.resource_type.as_deref() == Some("websocket");
    let url = &request.url[scheme.filter(|_| !is_socket).ok_or(LeftOut::NotHttp)?.len()..];
    if entry.from_cache.is_some() {
        return Err(LeftOut::Cached);
    }
    if response.status <= 0 {
        return Err(LeftOut::Unanswered);
    }
    let at = url.find(['/', '?', '#']).unwrap_or(url.len());
    let path = url[at..].split('#').next().unwrap_or_default();
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let known = |size: Option<i64>| size.and_then(|size| u64::try_from(size).ok());
    let taken_ms = if entry.time.is_finite() { entry.time.max(0.0) } else { 0.0 };
    Ok(Asked {
        host: url[..at].to_ascii_lowercase(),
        call: Call {
            path,
            method: request.method.to_ascii_uppercase(),
            contents: request.post_data.as_ref().and_then(|posted| posted.text.clone()).unwrap_or_default(),
        },
        size: known(response.body_size).or_else(|| known(response.content.as_ref().and_then(|content| content.size))),
        begin_us,
        taken_us: (taken_ms * 1e3) as i64,
    })
}

/// The requests of a page as bursts.
fn bursts(mut requests: Vec<Asked>) -> Vec<Browsed> {
    requests.sort_by_key(|asked| asked.begin_us);
    let mut bursts: Vec<Browsed> = Vec::new();
    for asked in requests {
        let (begin_us, end_us) = (asked.begin_us, asked.begin_us + asked.taken_us);
        match bursts.last_mut().filter(|burst| begin_us < burst.end_us + SILENCE_US) {
            Some(burst) => {
                burst.end_us = burst.end_us.max(end_us);
                burst.requests.push(asked);
            }
            None => bursts.push(Browsed { requests: vec![asked], begin_us, end_us }),
        }
    }
    bursts
}

/// What lies between the bursts of a session: none where the next began before all replies were there.
fn thinks(session: &[Browsed]) -> impl Iterator<Item = Span> + '_ {
    let mut end_us = i64::MIN;
    session.windows(2).map(move |pair| {
        end_us = end_us.max(pair[0].end_us);
        Span(u64::try_from(pair[1].begin_us - end_us).unwrap_or(0) * 1_000)
    })
}
