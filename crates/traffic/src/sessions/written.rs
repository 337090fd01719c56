//! Sessions as written down: httperf's session files (`--wsesslog`) and its uniform sessions (`--wsess`), which arrive
//! by a law of their own (Mosberger and Jin, httperf, ACM SIGMETRICS Performance Evaluation Review 26(3), 1998).
//!
//! ```text
//! # a session: bursts of calls
//! /index.html think=2.0
//!     /logo.gif
//!     /style.css
//! /order method=POST contents="item=7"
//!
//! # another one, after a blank line
//! /about.html
//! ```
//!
//! A line without indentation begins a burst; when its reply is there, the indented calls below it go out at once, over
//! the session's parallel connections. When all replies of a burst are there, the session thinks for `think` seconds, or
//! for what is usual, before its next burst. Session number k is the (k mod n)-th of the n in the file. Everything else is
//! as with users who browse: each is one session: it comes at its planned instant and leaves after its last
//! burst. The price is that a place for each session is held for the whole run.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use sojourn_stats::{Dimension, Law, Span, Stream, Time, input, meant_aside, quantity};

use super::Sessions;
use crate::arrivals::Arrivals;
use crate::arrivals::clock::Clock;
use crate::error::WorkloadError;
use crate::site::Site;
use crate::text::TextError;

/// One call of a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// The URI's path and query.
    pub path: String,
    /// The method.
    pub method: String,
    /// The request's body; empty where there is none.
    pub contents: String,
}

/// Calls that go out together.
#[derive(Clone, Debug, PartialEq)]
pub struct Burst {
    /// Indices into [`SessionList::calls`]; the others go out when the first one's reply is there.
    pub calls: Vec<u32>,
    /// Thinking time after it; none: the usual one.
    pub think: Option<Span>,
}

/// Sessions as a file has them.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionList {
    calls: Vec<Call>,
    /// Bytes of the reply to each call, where they are known.
    sizes: Vec<Option<u64>>,
    sessions: Vec<Vec<Burst>>,
}

impl SessionList {
    /// Reads the list in the file at `path`.
    ///
    /// # Errors
    /// When the file cannot be read, and as [`SessionList::parse`].
    pub fn read(path: &Path) -> Result<SessionList, TextError> {
        let name = path.display().to_string();
        match input::text(path) {
            Ok(text) => SessionList::parse(&text, &name),
            Err(error) => Err(TextError::Whole { name, fault: error.to_string() }),
        }
    }

    /// Reads a list; `name` is what messages call it.
    ///
    /// # Errors
    /// On the first line that is no call, with its number; when there is no session.
    pub fn parse(text: &str, name: &str) -> Result<SessionList, TextError> {
        let mut list = SessionList { calls: Vec::new(), sizes: Vec::new(), sessions: Vec::new() };
        let mut known = HashMap::new();
        let mut session: Vec<Burst> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line_fault = |fault: String| TextError::Line { name: name.into(), line: index as u64 + 1, fault };
            if line.trim_start().starts_with('#') {
                continue;
            }
            if line.trim().is_empty() {
                list.sessions.extend((!session.is_empty()).then(|| std::mem::take(&mut session)));
                continue;
            }
            let (call, think) = read_call(line.trim()).map_err(line_fault)?;
            let fresh = list.calls.len() as u32;
            let number = *known.entry(call.clone()).or_insert(fresh);
            if number == fresh {
                list.calls.push(call);
                list.sizes.push(None);
            }
            match (line.starts_with([' ', '\t']), session.last_mut()) {
                (false, _) => session.push(Burst { calls: vec![number], think }),
                (true, Some(_)) if think.is_some() => {
                    let fault = "`think=` stands on the line that begins the burst: it comes after the whole of it";
                    return Err(line_fault(fault.into()));
                }
                (true, Some(burst)) => burst.calls.push(number),
                (true, None) => {
                    let fault = "a session begins with a line that is not indented, such as `/index.html think=2.0`";
                    return Err(line_fault(fault.into()));
                }
            }
        }
        list.sessions.extend((!session.is_empty()).then_some(session));
        if list.sessions.is_empty() {
            let fault = "there is no session in it; a line looks like `/index.html think=2.0`".into();
            return Err(TextError::Whole { name: name.into(), fault });
        }
        Ok(list)
    }

    /// The list of one session of `calls` calls for `path`, one after another.
    pub fn uniform(calls: u32, path: &str) -> SessionList {
        let call = Call { path: path.into(), method: "GET".into(), contents: String::new() };
        let burst = Burst { calls: vec![0], think: None };
        SessionList { calls: vec![call], sizes: vec![None], sessions: vec![vec![burst; calls as usize]] }
    }

    /// The list of these calls, the bytes of the replies to them, and sessions of bursts of them.
    pub(crate) fn new(calls: Vec<Call>, sizes: Vec<Option<u64>>, sessions: Vec<Vec<Burst>>) -> SessionList {
        SessionList { calls, sizes, sessions }
    }

    /// The different calls: a request's object is an index into them.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// The sessions' bursts.
    pub fn sessions(&self) -> &[Vec<Burst>] {
        &self.sessions
    }
}

/// `--wsess=N1,N2,X`: N1 sessions of N2 calls with X seconds between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Wsess {
    /// How many sessions.
    pub sessions: u32,
    /// Calls of each.
    pub calls: u32,
    /// Thinking time between two of them.
    pub think: Law,
}

impl Wsess {
    /// Reads `100,10,2` as httperf does; the time may have a unit, or be a law.
    ///
    /// # Errors
    /// When it is not two whole numbers above 0 and a time.
    pub fn parse(text: &str) -> Result<Wsess, WorkloadError> {
        let fault = |what: &str| {
            WorkloadError::Invalid(format!(
                "`{text}`: {what}; write `100,10,2`: 100 sessions of 10 calls with 2 s between two calls"
            ))
        };
        let mut words = text.splitn(3, ',').map(str::trim);
        let mut count = || words.next()?.parse::<u32>().ok().filter(|count| *count > 0);
        let sessions = count().ok_or_else(|| fault("the number of sessions is a whole number above 0"))?;
        let calls = count().ok_or_else(|| fault("the number of calls is a whole number above 0"))?;
        let think = words.next().ok_or_else(|| fault("the time between two calls is missing"))?;
        let think = match think.parse::<f64>() {
            Ok(seconds) if seconds >= 0.0 && seconds.is_finite() => Law::constant(seconds),
            Ok(_) => return Err(fault("the time between two calls is at least 0")),
            Err(_) => Law::parse(think, Dimension::Time)?,
        };
        Ok(Wsess { sessions, calls, think })
    }
}

/// How the sessions of a [`Sessions`] workload come and what they ask for, where that is written down.
#[derive(Debug)]
pub struct Written {
    list: SessionList,
    arrivals: Arrivals,
    /// Index into the site's pages of each burst of each session.
    pages: Vec<Vec<u32>>,
    /// When the sessions come, for the seeds asked for last: all sessions of a run share it.
    instants: Mutex<Vec<(u64, Arc<[Time]>)>>,
}

/// Seeds whose instants are kept.
const SEEDS: usize = 32;

impl Sessions {
    /// `sessions` sessions of `list` that come by `arrivals` and think for `think` where the list does not say how long.
    /// Each call's reply has a size of its own, that of the list or else drawn once from `size` (bytes). HTTP/1.1 over up to 4
    /// connections.
    ///
    /// # Errors
    /// Without sessions, and when the arrivals' rate was given as a utilisation.
    pub fn written(
        list: SessionList,
        sessions: u32,
        arrivals: Arrivals,
        think: Law,
        size: &Law,
        seed: u64,
    ) -> Result<Sessions, WorkloadError> {
        if arrivals.rate().is_none() {
            let fault = "sessions come at a rate, e.g. `exponential(rate = 10 /s)`: what part of the servers' work one \
                         of them is, is not known beforehand";
            return Err(WorkloadError::Invalid(fault.into()));
        }
        arrivals.check()?;
        let mut stream = Stream::new(seed, "site", "call sizes");
        let sizes: Vec<u64> =
            list.sizes.iter().map(|known| known.unwrap_or_else(|| (size.sample(&mut stream) + 0.5) as u64)).collect();
        let paths = list.calls.iter().map(|call| call.path.clone()).collect();
        let bursts: Vec<&[u32]> = list.sessions.iter().flatten().map(|burst| &burst.calls[..]).collect();
        let site = Site::of_bursts(sizes, paths, &bursts);
        let number: HashMap<(u32, &[u32]), u32> =
            site.pages().iter().zip(0..).map(|(page, number)| ((page.file, &page.embedded[..]), number)).collect();
        let page = |burst: &Burst| number[&(burst.calls[0], &burst.calls[1..])];
        let pages = list.sessions.iter().map(|session| session.iter().map(page).collect()).collect();
        let written = Written { list, arrivals, pages, instants: Mutex::default() };
        Ok(Sessions {
            think,
            locality: None,
            written: Some(Arc::new(written)),
            ..Sessions::surge(sessions, Arc::new(site))
        })
    }
}

impl Written {
    /// What the sessions ask for.
    pub fn list(&self) -> &SessionList {
        &self.list
    }

    /// How they come.
    pub fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// When each of the first `sessions` comes under `seed`; [`Time::NEVER`] for those that never do.
    pub fn instants(&self, sessions: u32, seed: u64) -> Arc<[Time]> {
        // An entry is added whole or not at all, so what another thread left in its panic is sound.
        let mut known = self.instants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, instants)) = known.iter().find(|(of, kept)| *of == seed && kept.len() >= sessions as usize) {
            return Arc::clone(instants);
        }
        let mut clock = Clock::new(&self.arrivals, seed).expect("a workload of sessions has a settled rate");
        let instants: Arc<[Time]> = (0..sessions).map(|_| clock.next().unwrap_or(Time::NEVER)).collect();
        if known.len() == SEEDS {
            known.remove(0);
        }
        known.push((seed, Arc::clone(&instants)));
        instants
    }
}

/// One session on its way through its bursts.
pub(crate) struct Course {
    written: Arc<Written>,
    arrives: Time,
    session: usize,
    next: usize,
}

/// What it does next.
pub(crate) struct Stage {
    /// Thinking time before; none: the usual one.
    pub(crate) think: Option<Span>,
    pub(crate) page: u32,
    pub(crate) first: bool,
    pub(crate) last: bool,
}

impl Course {
    pub(crate) fn new(written: &Arc<Written>, number: u32, sessions: u32, seed: u64) -> Course {
        // Beyond the last session there is one that never comes.
        let arrives = written.instants(sessions, seed).get(number as usize).copied().unwrap_or(Time::NEVER);
        Course { written: Arc::clone(written), arrives, session: number as usize % written.pages.len(), next: 0 }
    }

    pub(crate) fn next(&mut self) -> Stage {
        let (pages, bursts) = (&self.written.pages[self.session], &self.written.list.sessions[self.session]);
        let place = self.next;
        self.next += 1;
        match pages.get(place) {
            // It has left: it thinks for ever.
            None => Stage { think: Some(Span::FOREVER), page: pages[0], first: true, last: true },
            Some(page) => {
                let think = if place == 0 { Some(Span(self.arrives.0)) } else { bursts[place - 1].think };
                Stage { think, page: *page, first: place == 0, last: place + 1 == pages.len() }
            }
        }
    }
}

/// Reads `/path think=2.0 method=POST contents="..."`.
fn read_call(line: &str) -> Result<(Call, Option<Span>), String> {
    let (path, mut rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    if !path.starts_with('/') {
        return Err(format!("`{path}` is not a path from the root, such as `/index.html`"));
    }
    let mut call = Call { path: path.into(), method: "GET".into(), contents: String::new() };
    let mut think = None;
    loop {
        rest = rest.trim_start();
        if rest.is_empty() || rest.starts_with('#') {
            return Ok((call, think));
        }
        let word = rest.split([' ', '\t']).next().unwrap_or_default();
        let (key, value) = rest
            .split_once('=')
            .filter(|(key, _)| !key.contains([' ', '\t']))
            .ok_or_else(|| format!("`{word}` is not one of think=2.0, method=POST and contents=\"...\""))?;
        let (value, after) = read_value(value)?;
        match key {
            "think" => {
                let seconds = match value.parse::<f64>() {
                    Ok(seconds) => Some(seconds),
                    Err(_) => quantity::parse(&value, Dimension::Time).ok(),
                };
                let seconds = seconds.filter(|seconds| *seconds >= 0.0 && seconds.is_finite());
                let fault = || format!("`think={value}` is not a time from 0 up, such as think=2.0 (seconds)");
                think = Some(Span::from_secs_f64(seconds.ok_or_else(fault)?));
            }
            "method" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_uppercase()) => call.method = value,
            "method" => return Err(format!("`method={value}` is no method, such as method=POST")),
            "contents" => call.contents = value,
            other => {
                let meant = meant_aside(other, ["think", "method", "contents"]);
                return Err(format!("`{other}=` is not one of think=, method= and contents={meant}"));
            }
        }
        rest = after;
    }
}

/// Reads a value, quoted with `'` or `"` (with `\n`, `\t`, `\\` and escaped quotes) or up to a blank, and what comes after.
fn read_value(text: &str) -> Result<(String, &str), String> {
    let mut characters = text.char_indices();
    let Some((_, quote @ ('"' | '\''))) = characters.next() else {
        let end = text.find([' ', '\t']).unwrap_or(text.len());
        return Ok((text[..end].into(), &text[end..]));
    };
    let mut value = String::new();
    while let Some((at, character)) = characters.next() {
        match character {
            _ if character == quote => return Ok((value, &text[at + 1..])),
            '\\' => match characters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 'r')) => value.push('\r'),
                Some((_, 't')) => value.push('\t'),
                Some((_, other)) => value.push(other),
                None => break,
            },
            _ => value.push(character),
        }
    }
    Err(format!("the quote of {text} is never closed"))
}
