//! Users as SURGE imitates them: pages, thinking, sessions (Barford and Crovella, SIGMETRICS 1998; Zhang 2002, sections
//! 3.2 and 3.4).
//!
//! A *user equivalent* thinks, asks for a page, waits for its file, asks for the embedded files over parallel
//! connections, waits for the last of them and thinks again. A session is a run of pages; between two sessions it only
//! thinks. The [`Visitor`] is the script of one user: what it asks for and how long it thinks, drawn from streams of
//! its own, so that no script depends on how many users there are. The engines decide when things happen.

pub mod stream;
mod written;

use std::sync::Arc;

use sojourn_stats::{Dimension, Law, Span, Stream};

use crate::error::WorkloadError;
use crate::request::{Demand, Patience, Request};
use crate::site::{Depth, Locality, Site};
use written::{Course, Stage};

pub use written::{Burst, Call, SessionList, Written, Wsess};

/// Stack distances farther than this from those asked for are worth a note.
const NOTED_DEVIATION: f64 = 0.01;

/// How users' connections live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http {
    /// A connection per file.
    V10,
    /// Persistent connections.
    V11 {
        /// The server closes a connection that was idle for so long.
        keep_alive: Span,
    },
}

/// A workload of user equivalents on one site.
#[derive(Clone, Debug)]
pub struct Sessions {
    /// How many there are.
    pub users: u32,
    /// What they ask for.
    pub site: Arc<Site>,
    /// Thinking time before each page (seconds), also between sessions ("inactive OFF").
    pub think: Law,
    /// Pages of a session; draws are rounded, to at least 1.
    pub length: Law,
    /// How deep in a user's LRU stack of pages the next one lies (1 is the latest); none: pages are independent draws
    /// by popularity.
    pub locality: Option<Law>,
    /// Time before the request of each embedded file (seconds), as a browser needs to read the page ("active OFF").
    pub active_off: Option<Law>,
    /// Connections that a user may have open at once.
    pub parallel: u32,
    /// How they live.
    pub http: Http,
    /// How long a user waits for each file before it gives up (seconds), drawn once per page; none: forever.
    pub patience: Option<Law>,
    /// Every think time, active OFF time and keep-alive timeout is divided by this: a stress test scaled in time.
    pub time_scale: f64,
    /// Sessions as written down, of which each user is one: they come by a law of their own and leave after their last
    /// burst. None: users for ever, who draw their pages.
    pub written: Option<Arc<Written>>,
}

/// One file that a user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The request; its object is an index into the site's files.
    pub request: Request,
    /// Active OFF time before it; 0 for the page's own file.
    pub gap: Span,
}

/// One page of a user's script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Thinking time before it, since the last page was complete (or the start).
    pub think: Span,
    /// Index into the site's pages.
    pub page: u32,
    /// Whether it is the first page of its session.
    pub first: bool,
    /// Whether it is the last page of its session.
    pub last: bool,
}

/// The endless script of one user equivalent.
pub struct Visitor {
    user: u32,
    site: Arc<Site>,
    think: Law,
    thinks: Stream,
    length: Law,
    lengths: Stream,
    pages: Stream,
    locality: Option<Stack>,
    active_off: Option<(Law, Stream)>,
    patience: Patience,
    demands: Stream,
    demand: Arc<dyn Demand>,
    time_scale: f64,
    /// Pages left of the present session.
    left: u32,
    course: Option<Course>,
}

/// The visits that a user comes back to; see `locality`.
struct Stack {
    locality: Arc<Locality>,
    depths: Stream,
    /// Their pages, the latest last.
    visits: Vec<u32>,
}

impl Sessions {
    /// `users` on `site` with the laws of Zhang (2002, Table 3.2): HTTP/1.1, keep-alive 15 s, 4 connections. The
    /// locality's parameters are printed there as ln(mu) = 4.214 and ln(sigma) = 2.187, which can only be meant as
    /// mu = ln(4.214) and sigma = ln(2.187).
    pub fn surge(users: u32, site: Arc<Site>) -> Sessions {
        let law = |text: &str, dimension| Law::parse(text, dimension).expect("a law of Table 3.2 is well-formed");
        Sessions {
            users,
            site,
            think: law("pareto(alpha = 1.4, min = 1 s, max = 1800 s)", Dimension::Time),
            length: law("inverse-gaussian(mean = 3.86, lambda = 6.08, max = 95)", Dimension::Number),
            locality: Some(law("lognormal(mu = 1.4384, sigma = 0.7825)", Dimension::Number)),
            active_off: None,
            parallel: 4,
            http: Http::V11 { keep_alive: Span::from_secs_f64(15.0) },
            patience: None,
            time_scale: 1.0,
            written: None,
        }
    }

    /// The keep-alive timeout, scaled; none where a connection serves one file.
    pub fn keep_alive(&self) -> Option<Span> {
        match self.http {
            Http::V10 => None,
            Http::V11 { keep_alive } => Some(Span::from_secs_f64(keep_alive.as_secs_f64() / self.time_scale)),
        }
    }

    /// What will not come out as asked, a line each: stack distances that the site's popularity does not allow.
    pub fn notes(&self) -> Vec<String> {
        let Some(law) = &self.locality else { return Vec::new() };
        let deviation = self.site.locality(law).deviation();
        if deviation < NOTED_DEVIATION {
            return Vec::new();
        }
        vec![format!(
            "locality = \"{law}\": the popularity of the site's {} pages allows these stack distances only to within \
             {:.1} % (largest difference of the distribution functions); popularity holds",
            self.site.pages().len(),
            100.0 * deviation
        )]
    }

    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        let fault = if self.users == 0 {
            "users = 0: sessions need at least one user".into()
        } else if self.parallel == 0 {
            "parallel = 0: a user needs at least one connection".into()
        } else if !(self.time_scale > 0.0 && self.time_scale.is_finite()) {
            format!("time_scale = {}: times are divided by a number above 0, such as 10", self.time_scale)
        } else {
            return Ok(());
        };
        Err(WorkloadError::Invalid(fault))
    }
}

impl Visitor {
    /// The script of user number `user`, which does not depend on how many users there are.
    pub fn new(sessions: &Sessions, user: u32, seed: u64, demand: Arc<dyn Demand>) -> Visitor {
        let name = format!("user {user}");
        let stream = |purpose: &str| Stream::new(seed, &name, purpose);
        Visitor {
            user,
            site: Arc::clone(&sessions.site),
            think: sessions.think.clone(),
            thinks: stream("think"),
            length: sessions.length.clone(),
            lengths: stream("session lengths"),
            pages: stream("pages"),
            locality: sessions.locality.as_ref().map(|law| Stack {
                locality: sessions.site.locality(law),
                depths: stream("stack distances"),
                visits: Vec::new(),
            }),
            active_off: sessions.active_off.clone().map(|law| (law, stream("active off"))),
            patience: Patience::new(sessions.patience.as_ref(), seed, &name),
            demands: stream("demands"),
            demand,
            time_scale: sessions.time_scale,
            left: 0,
            course: sessions.written.as_ref().map(|written| Course::new(written, user, sessions.users, seed)),
        }
    }

    /// The next page, its files written over `fetches`: the page's own first, then the embedded ones in their order.
    /// A user who thinks for ever before it ([`Span::FOREVER`]) has left.
    pub fn visit(&mut self, fetches: &mut Vec<Fetch>) -> Visit {
        let Stage { think, page, first, last } = match &mut self.course {
            Some(course) => course.next(),
            None => self.browse(),
        };
        let think = match think {
            Some(think) => think,
            None => Span::from_secs_f64(self.think.sample(&mut self.thinks) / self.time_scale),
        };
        let shown = &self.site.pages()[page as usize];
        let patience = self.patience.next();
        fetches.clear();
        for (place, object) in std::iter::once(shown.file).chain(shown.embedded.iter().copied()).enumerate() {
            let file = self.site.files()[object as usize];
            let gap = match &mut self.active_off {
                Some((law, stream)) if place > 0 => Span::from_secs_f64(law.sample(stream) / self.time_scale),
                _ => Span::ZERO,
            };
            let demand = self.demand.draw(file.class, file.size, &mut self.demands);
            let (class, size) = (file.class, file.size);
            fetches.push(Fetch { request: Request { client: self.user, class, object, size, demand, patience }, gap });
        }
        Visit { think, page, first, last }
    }

    /// What SURGE's user does next.
    fn browse(&mut self) -> Stage {
        let first = self.left == 0;
        if first {
            self.left = (self.length.sample(&mut self.lengths) + 0.5).max(1.0) as u32;
        }
        self.left -= 1;
        let page = match &mut self.locality {
            None => self.site.choose(&mut self.pages),
            Some(stack) => stack.next(|| self.site.choose(&mut self.pages)),
        };
        Stage { think: None, page, first, last: self.left == 0 }
    }
}

impl Stack {
    /// The next page; `fresh` draws one by popularity.
    #[inline]
    fn next(&mut self, fresh: impl FnOnce() -> u32) -> u32 {
        let page = match self.locality.sample(&mut self.depths) {
            Depth::Visit(depth) if depth as usize <= self.visits.len() => {
                self.visits.remove(self.visits.len() - depth as usize)
            }
            _ => {
                if self.visits.len() == self.locality.deepest() {
                    self.visits.remove(0);
                }
                fresh()
            }
        };
        self.visits.push(page);
        page
    }
}
