//! The course of a replication: it warms up, measures and, where it has an end, drains.

use sojourn_model::Knowledge;
use sojourn_stats::{Span, Time};

use crate::memory::most_inside;
use crate::pilot::Pilot;

/// How one replication is played.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    /// Measuring starts here; none: after so many requests, or else where MSER-5 says, on a pilot.
    pub(crate) warm_up: Option<Span>,
    /// Requests of the pilot, where they were asked for.
    pub(crate) given_pilot: Option<u64>,
    /// No request is accepted from here on.
    pub(crate) horizon: Option<Span>,
    /// The run has an end: a horizon, or a log's.
    pub(crate) finite: bool,
    /// Shortest pilot in search of the end of the warm-up (requests).
    pub(crate) shortest_pilot: u64,
    /// Longest one.
    pub(crate) longest_pilot: u64,
    /// Requests that may be inside at once.
    pub(crate) most_inside: u32,
    /// Keep every response time.
    pub(crate) keep_series: bool,
    /// Predict the time at the server.
    pub(crate) predict: Option<Knowledge>,
    /// Count requests of intervals of this length.
    pub(crate) over_time: Option<Span>,
}

impl Course {
    /// The one run of a plan, in so many bytes of memory.
    pub(crate) fn of_plan(warm_up: Span, horizon: Span, memory: u64) -> Course {
        let (warm_up, horizon, most_inside) = (Some(warm_up), Some(horizon), most_inside(memory));
        Course {
            warm_up,
            given_pilot: None,
            horizon,
            finite: true,
            shortest_pilot: 0,
            longest_pilot: 0,
            most_inside,
            keep_series: true,
            predict: None,
            over_time: None,
        }
    }
}

/// Where in its course a replication is.
pub(crate) struct Phases {
    phase: Phase,
    /// When the clock ends this phase.
    milestone: Time,
    accepts_until: Time,
    /// Looks for the end of the warm-up, where it is no given time.
    pilot: Option<Pilot>,
    never_settled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    WarmUp,
    Measuring,
    /// A run with an end accepts no more requests; those inside still end and are measured.
    Draining,
}

/// What the end of a phase means to the tallies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Milestone {
    /// Counting begins anew at this instant.
    Begin(Time),
    /// The window of throughputs and utilisations closes at this instant.
    Close(Time),
}

impl Phases {
    /// The beginning of `course`, in a system of so many servers.
    pub(crate) fn new(course: &Course, servers: usize) -> Phases {
        let is_none = course.finite || course.given_pilot == Some(0);
        let warm_up = course.warm_up.or(is_none.then_some(Span::ZERO));
        let pilot = || match course.given_pilot {
            Some(requests) => Pilot::given(requests),
            None => Pilot::new(servers, course.shortest_pilot, course.longest_pilot),
        };
        Phases {
            phase: Phase::WarmUp,
            milestone: warm_up.map_or(Time::NEVER, |span| Time::ZERO + span),
            accepts_until: course.horizon.map_or(Time::NEVER, |horizon| Time::ZERO + horizon),
            pilot: warm_up.is_none().then(pilot),
            never_settled: false,
        }
    }

    /// Whether who comes at `at` is let in.
    #[inline]
    pub(crate) fn accepts(&self, at: Time) -> bool {
        at < self.accepts_until
    }

    /// What comes then or later is not let in.
    pub(crate) fn accepts_until(&self) -> Time {
        self.accepts_until
    }

    /// Whether no event up to `end` ends a phase.
    #[inline]
    pub(crate) fn is_quiet_until(&self, end: Time) -> bool {
        self.pilot.is_none() && end < self.milestone
    }

    /// Whether nothing counts yet.
    pub(crate) fn is_warming_up(&self) -> bool {
        self.phase == Phase::WarmUp
    }

    /// Whether the window of throughputs and utilisations has closed.
    pub(crate) fn is_draining(&self) -> bool {
        self.phase == Phase::Draining
    }

    /// No end of the warm-up was found.
    pub(crate) fn never_settled(&self) -> bool {
        self.never_settled
    }

    /// No request comes any more from `now` on.
    pub(crate) fn accept_until(&mut self, now: Time) {
        self.accepts_until = now;
        if self.phase == Phase::Measuring {
            self.milestone = now;
        }
    }

    /// The next end of a phase that an event at `at` is not before; ask until there is none.
    #[inline]
    pub(crate) fn passed(&mut self, at: Time) -> Option<Milestone> {
        if at < self.milestone { None } else { Some(self.pass()) }
    }

    /// The end of the phase where nothing is left to happen, if it is still to come.
    pub(crate) fn finished(&mut self) -> Option<Milestone> {
        (self.phase == Phase::Measuring && self.milestone != Time::NEVER).then(|| self.pass())
    }

    /// Begins measuring at `now`, an instant between the last event and the next.
    pub(crate) fn begin(&mut self, now: Time) -> Milestone {
        self.phase = Phase::Measuring;
        self.milestone = self.accepts_until.max(now);
        Milestone::Begin(now)
    }

    /// Shows a response time, of the last of `ended` requests, to the pilot: with it the warm-up may be over.
    #[inline]
    pub(crate) fn settled(&mut self, response_time: Span, ended: u64, now: Time) -> Option<Milestone> {
        let settled = self.pilot.as_mut()?.push(response_time.as_secs_f64(), ended)?;
        self.never_settled = !settled;
        self.pilot = None;
        Some(self.begin(now))
    }

    #[cold]
    fn pass(&mut self) -> Milestone {
        let at = self.milestone;
        match self.phase {
            Phase::WarmUp => self.begin(at),
            Phase::Measuring => {
                self.phase = Phase::Draining;
                self.milestone = Time::NEVER;
                Milestone::Close(at)
            }
            Phase::Draining => unreachable!("nothing comes after draining"),
        }
    }
}
