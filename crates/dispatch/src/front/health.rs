//! What each source of news says of one backend, and what follows from all of them together.
//!
//! Each source has fields of its own here, which its news alone move ([`Health::take`]); [`Health::standing`] is the one
//! place where they meet.

use std::fmt;

use crate::Report;

/// News of a backend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum News<'a> {
    /// It has answered a health check.
    Answered,
    /// It has failed at a health check.
    Failed,
    /// A request failed there, by its fault.
    Struck,
    /// No program listens there: a connection was refused.
    Refused,
    /// It reports.
    Reported(&'a Report),
    /// It says that none of its servers is left.
    Empty,
    /// It has been silent for longer than those who report may be.
    Silent,
    /// It says that an overload has begun, or that its load is moderate.
    Overloaded(bool),
    /// It is an outlier among the backends, or is not any more: see [`crate::Ejection`].
    Ejected(bool),
    /// By hand: it is to end what it has and get nothing new, or is to be chosen again.
    Drained(bool),
    /// It has left for good.
    Left,
}

/// What a backend is, all sources taken together; the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// It can be chosen.
    Up,
    /// It is chosen only where none is up: it is overloaded, or an outlier, or answers its checks and has ceased to report.
    Aside,
    /// It ends what it has, as was said by hand.
    Drained,
    /// It does not answer.
    Down,
    /// It left for good.
    Left,
}

/// What is known of one backend, by source.
#[derive(Clone, Debug, Default)]
pub(super) struct Health {
    /// Checks that failed in a row; checks that were answered in a row since it is down; and requests that failed in a row.
    failed: u32,
    answered: u32,
    struck: u32,
    /// Checks or requests have taken it out.
    is_out: bool,
    /// Of its reports.
    is_silent: bool,
    is_empty: bool,
    /// Of its alarms.
    is_overloaded: bool,
    /// Of how its requests end.
    is_ejected: bool,
    /// By hand.
    is_drained: bool,
    has_left: bool,
    /// Sources that it does not have.
    without_checks: bool,
    without_reports: bool,
}

impl Health {
    /// Takes news; so many failures in a row take it out, and so many answers bring it back.
    pub(super) fn take(&mut self, news: News<'_>, fall: u32, rise: u32) {
        match news {
            // Nothing would ever bring it back.
            News::Failed | News::Struck | News::Refused if self.without_checks && self.without_reports => {}
            News::Answered if self.without_checks => {}
            News::Answered => {
                self.failed = 0;
                self.answered += u32::from(self.is_out);
                if self.is_out && self.answered >= rise {
                    (self.is_out, self.struck) = (false, 0);
                }
            }
            News::Failed => self.fails(|health| &mut health.failed, 1, fall),
            News::Struck => self.fails(|health| &mut health.struck, 1, fall),
            News::Refused => self.fails(|health| &mut health.struck, fall, fall),
            News::Reported(_) => {
                (self.is_silent, self.is_empty) = (false, false);
                if self.without_checks {
                    (self.failed, self.struck, self.is_out) = (0, 0, false);
                }
            }
            News::Silent | News::Empty | News::Overloaded(_) if self.without_reports => {}
            News::Silent => self.is_silent = true,
            News::Empty => self.is_empty = true,
            News::Overloaded(is_overloaded) => self.is_overloaded = is_overloaded,
            News::Ejected(is_ejected) => self.is_ejected = is_ejected,
            News::Drained(is_drained) => self.is_drained = is_drained,
            News::Left => self.has_left = true,
        }
    }

    /// The worst that any source says. `heeds`: reports and alarms count beside checks.
    pub(super) fn standing(&self, heeds: bool) -> Standing {
        match self {
            Health { has_left: true, .. } => Standing::Left,
            Health { is_out: true, .. } | Health { is_empty: true, .. } => Standing::Down,
            Health { is_silent: true, without_checks: true, .. } => Standing::Down,
            Health { is_drained: true, .. } => Standing::Drained,
            Health { is_silent: true, .. } | Health { is_overloaded: true, .. } if heeds => Standing::Aside,
            Health { is_ejected: true, .. } => Standing::Aside,
            _ => Standing::Up,
        }
    }

    /// Says which sources it has.
    pub(super) fn watch(&mut self, checks: bool, reports: bool) {
        (self.without_checks, self.without_reports) = (!checks, !reports);
        if !(checks || reports) {
            (self.failed, self.struck, self.answered, self.is_out) = (0, 0, 0, false);
        }
        if !reports {
            (self.is_silent, self.is_empty, self.is_overloaded) = (false, false, false);
        }
    }

    pub(super) fn join(&mut self) {
        self.has_left = false;
    }

    /// Takes over what its sources say to another decider. Whether it is drained or has left is for who makes the new one,
    /// and whether it is an outlier for its guards.
    pub(super) fn take_over(&mut self, other: &Health) {
        let Health { is_drained, has_left, is_ejected, without_checks, without_reports, .. } = *self;
        *self = Health { is_drained, has_left, is_ejected, ..other.clone() };
        self.watch(!without_checks, !without_reports);
    }

    /// A request was served whole: what failed before was not in a row.
    pub(super) fn serve(&mut self) {
        self.struck = 0;
    }

    pub(super) fn is_struck(&self) -> bool {
        self.struck > 0
    }

    pub(super) fn is_silent(&self) -> bool {
        self.is_silent
    }

    pub(super) fn is_drained(&self) -> bool {
        self.is_drained
    }

    fn fails(&mut self, row: impl FnOnce(&mut Health) -> &mut u32, times: u32, fall: u32) {
        let row = row(self);
        *row = row.saturating_add(times);
        self.is_out |= self.failed.max(self.struck) >= fall;
        self.answered = 0;
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Standing::Up => "up",
            Standing::Aside => "aside",
            Standing::Drained => "drained",
            Standing::Down => "down",
            Standing::Left => "left",
        })
    }
}
