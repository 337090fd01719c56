//! The balancer's CPU: its cores, where the system says how many there are.
//!
//! The packets of set-ups, requests and polls are whole jobs that wait for a core in the order of their coming (FCFS);
//! the packets of replies are a flow that gets what those leave over. That is found at the end of each window and holds
//! for the next: within a window the two may together take up to a window's worth too much or too little, over several
//! they take exactly what there is, unless what waits in order alone takes (nearly) all of it.

use sojourn_model::{Balancing, Tcp};
use sojourn_stats::{Span, Time};

/// How often the flow's rate is found anew.
const WINDOW: Span = Span(100_000_000);
/// What is left to the flow at the least: a link that stood still would keep its flows for ever.
const LEAST_SHARE: f64 = 0.01;

/// The balancer's cores.
pub(crate) struct BalancerCores {
    /// When each core is free.
    free: Vec<Time>,
    /// Work taken on in this window.
    taken: Span,
    /// Work that was left at its start.
    left: Span,
    window_end: Time,
}

impl BalancerCores {
    /// Idle cores; none where they are not counted.
    pub(crate) fn new(balancing: &Balancing) -> Option<BalancerCores> {
        let cores = balancing.cores?;
        let free = vec![Time::ZERO; cores as usize];
        Some(BalancerCores { free, taken: Span::ZERO, left: Span::ZERO, window_end: Time::ZERO + WINDOW })
    }

    /// Work that comes at `now` is done then. Must be called in order of time.
    #[inline]
    pub(crate) fn work(&mut self, now: Time, work: Span) -> Time {
        let free = self.free.iter_mut().min().expect("a balancer has a core");
        *free = now.max(*free) + work;
        self.taken += work;
        *free
    }

    /// When the flow's rate is to be found anew.
    #[inline]
    pub(crate) fn window_end(&self) -> Time {
        self.window_end
    }

    /// Ends the window: the rate (bit/s) that is left to replies; none: no limit.
    pub(crate) fn reply_rate(&mut self, balancing: &Balancing, tcp: &Tcp) -> Option<f64> {
        let now = self.window_end;
        let left: Span = self.free.iter().map(|free| free.saturating_since(now)).sum();
        let done = self.left + self.taken - left;
        let share = 1.0 - done.as_secs_f64() / (WINDOW.as_secs_f64() * self.free.len() as f64);
        self.left = left;
        self.taken = Span::ZERO;
        self.window_end = now + WINDOW;
        balancing.reply_rate(tcp, share.max(LEAST_SHARE))
    }
}
