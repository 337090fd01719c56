//! An open plan, dealt to the threads while they run.
//!
//! The plan is drawn ahead of time, but only [`LOOKAHEAD`] requests far, so that a run of any length takes the same
//! memory. What a thread sends it has drawn anew, for whichever thread that is: a short plan is drawn whole before the
//! start and costs nothing afterwards; a long one costs its drawing (some 100 ns a request) and one lock in [`BATCH`]
//! requests. A thread of its own would draw no cheaper, and in bursts that take a core from those who send.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use sojourn_stats::{Span, Time};
use sojourn_traffic::Planned;

use crate::setting::Stop;
use crate::share::Share;

/// Requests of this share that are drawn before they are due, at most; 72 bytes each.
const LOOKAHEAD: usize = 1 << 18;
/// Requests a thread takes from what is dealt before it asks for more.
const BATCH: usize = 16;
/// A thread that has nothing left although the plan goes on draws at most so many, of whomever they are, at once.
const SEARCH: usize = 1024;

/// A request with its number in the plan.
type Numbered = (u64, Planned);

/// One thread's share of a plan.
pub(crate) struct PlanShare {
    dealer: Arc<Dealer>,
    thread: usize,
    jobs: VecDeque<Numbered>,
    /// Taken since the dealer was asked for more.
    taken: usize,
    /// How far the plan has been drawn, when it was looked at last: nothing unseen is due before.
    drawn_to: Time,
    /// The plan is drawn to its end, and this thread has all that is left of its share.
    over: bool,
}

/// Draws the plan and deals it to the threads of this share.
pub(crate) struct Dealer(Mutex<Deal>);

struct Deal {
    plan: Box<dyn Iterator<Item = Planned> + Send>,
    stop: Stop,
    share: Share,
    by_client: bool,
    dealt: Vec<VecDeque<Numbered>>,
    /// The next request's number.
    k: u64,
    last: Option<Time>,
    over: bool,
    /// The plan goes on beyond its horizon.
    beyond: bool,
}

impl Dealer {
    /// Deals the beginning of `plan` to `threads` threads: by request number, or `by_client`.
    pub(crate) fn new(
        plan: Box<dyn Iterator<Item = Planned> + Send>,
        stop: Stop,
        share: Share,
        threads: usize,
        by_client: bool,
    ) -> (Arc<Dealer>, Vec<PlanShare>) {
        let dealt = (0..threads).map(|_| VecDeque::new()).collect();
        let mut deal = Deal { plan, stop, share, by_client, dealt, k: 0, last: None, over: false, beyond: false };
        let mut own = 0;
        while own < LOOKAHEAD && !deal.over {
            own += usize::from(deal.draw().is_some());
        }
        let dealer = Arc::new(Dealer(Mutex::new(deal)));
        let shares = (0..threads).map(|thread| {
            let mut share = PlanShare {
                dealer: Arc::clone(&dealer),
                thread,
                jobs: VecDeque::new(),
                taken: 0,
                drawn_to: Time::ZERO,
                over: false,
            };
            share.fetch(0, 0);
            share
        });
        let shares = shares.collect();
        (dealer, shares)
    }

    /// How many requests the plan has, of all shares, and when the last of them has been planned; none while not all of
    /// it is drawn.
    pub(crate) fn known(&self) -> Option<(u64, Option<Time>)> {
        let deal = self.lock();
        deal.over.then(|| {
            let reached = match deal.stop {
                // A plan that ends before its horizon (a log) ends with its last request.
                Stop::After(end) if deal.beyond => Some(Time(end.0)),
                _ => deal.last.map(|last| last + Span(1)),
            };
            (deal.k, reached)
        })
    }

    fn lock(&self) -> MutexGuard<'_, Deal> {
        self.0.lock().expect("no thread panics while it deals")
    }
}

impl Deal {
    /// Draws one request; the thread that it was dealt to, if any of this share's.
    fn draw(&mut self) -> Option<usize> {
        let next = match self.stop {
            Stop::Requests(most) if self.k >= most => None,
            _ => self.plan.next(),
        };
        let Some(planned) = next else {
            self.over = true;
            return None;
        };
        if matches!(self.stop, Stop::After(end) if planned.at.0 >= end.0) {
            (self.over, self.beyond) = (true, true);
            return None;
        }
        let k = self.k;
        self.k += 1;
        self.last = Some(planned.at);
        let number = if self.by_client { u64::from(planned.request.client) } else { k };
        let thread = self.share.thread(number, self.dealt.len())?;
        self.dealt[thread].push_back((k, planned));
        Some(thread)
    }
}

impl PlanShare {
    /// When the next request is due, or more of the plan has to be looked at.
    #[inline]
    pub(crate) fn next_at(&self) -> Time {
        match self.jobs.front() {
            Some((_, planned)) => planned.at,
            None if self.over => Time::NEVER,
            None => self.drawn_to,
        }
    }

    /// The next request, if it is due at `now`.
    #[inline]
    pub(crate) fn take(&mut self, now: Time) -> Option<Numbered> {
        loop {
            match self.jobs.front() {
                Some((_, planned)) if planned.at <= now => break,
                None if !self.over && self.drawn_to <= now => self.fetch(0, SEARCH),
                _ => return None,
            }
        }
        let job = self.jobs.pop_front();
        if !self.over {
            self.taken += 1;
            if self.taken == BATCH {
                self.taken = 0;
                self.fetch(BATCH, 0);
            }
        }
        job
    }

    /// Whether no more requests will come.
    #[inline]
    pub(crate) fn exhausted(&self) -> bool {
        self.over && self.jobs.is_empty()
    }

    /// The requests of the plan's beginning, as far as they are due by `at`.
    pub(crate) fn due_by(&self, at: Time) -> impl Iterator<Item = &Numbered> {
        self.jobs.iter().take_while(move |(_, planned)| planned.at <= at)
    }

    /// How many requests are known by now.
    pub(crate) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Draws `own` more requests of this share, or at most `search` of any until one is this thread's, and takes what has
    /// been dealt to this thread.
    fn fetch(&mut self, own: usize, search: usize) {
        let mut deal = self.dealer.lock();
        let mut drawn = 0;
        while drawn < own && !deal.over {
            drawn += usize::from(deal.draw().is_some());
        }
        let mut searched = 0;
        while searched < search && deal.dealt[self.thread].is_empty() && !deal.over {
            deal.draw();
            searched += 1;
        }
        self.jobs.append(&mut deal.dealt[self.thread]);
        self.drawn_to = deal.last.unwrap_or(Time::ZERO);
        self.over = deal.over;
    }
}
