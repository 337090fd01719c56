//! Where the requests come from: their instants and demands, in blocks.
//!
//! A block is drawn before the one before it is played, so that it is always known when the next request comes. Sources of
//! several replications draw together, where their laws have a lane form: bits and numbers are those that each draws alone.

use sojourn_model::System;
use sojourn_stats::lanes::{LANES, Lanes, Row};
use sojourn_stats::vectors::{Work, vectorised};
use sojourn_stats::{Law, Stream};
use sojourn_traffic::{Open, Plan, Workload, WorkloadError};

use crate::control::demand_of_classes;
use crate::course::Phases;

/// Requests in a block.
pub(super) const BLOCK: usize = 256;
/// From so many sources on they draw together.
const TOGETHER: usize = 3;
/// Below it a number of nanoseconds is cut to a whole one by adding and subtracting this.
const EXACT: f64 = (1u64 << 52) as f64;

/// Whole numbers, one of each request of a block.
pub(super) type Block = Box<[u64; BLOCK]>;

/// Instants (ns) and demands (ns) of requests to come.
pub(super) struct Source {
    origin: Origin,
    at: Block,
    work: Block,
    /// Which of them is next, and how many there are.
    next: usize,
    filled: usize,
    /// The block after that, and how many there are in it, once it is drawn.
    at_ahead: Block,
    work_ahead: Block,
    ahead: Option<usize>,
    /// No request is let in from here on; 0 once one was not.
    end: u64,
}

/// How they are drawn.
#[allow(clippy::large_enum_variant, reason = "there is one per replication")]
enum Origin {
    Plan(Plan),
    Laws(Laws),
}

/// Gaps and demands that depend on nothing.
struct Laws {
    gaps: Law,
    works: Law,
    of_gaps: Stream,
    of_works: Stream,
    /// The last instant, and what its gap has beyond whole nanoseconds (see `traffic`'s clock).
    now: u64,
    rest: f64,
}

impl Source {
    pub(super) fn new(system: &System, workload: &Workload, seed: u64) -> Result<Source, WorkloadError> {
        let server = &system.hosts[0].server;
        let classes = workload.classes();
        let demand = server.demand(classes[0]);
        let origin = match workload {
            Workload::Open(Open { arrivals, .. }) if demand.per_byte == 0.0 && arrivals.renewal().is_some() => {
                workload.check()?;
                Origin::Laws(Laws {
                    gaps: arrivals.renewal().expect("it was looked at").clone(),
                    works: demand.fixed.clone(),
                    of_gaps: Stream::new(seed, "source", "arrivals"),
                    of_works: Stream::new(seed, "source", "demands"),
                    now: 0,
                    rest: 0.0,
                })
            }
            _ => Origin::Plan(Plan::new(workload, seed, demand_of_classes(server, &classes))?),
        };
        let block = || Box::new([0; BLOCK]);
        Ok(Source {
            origin,
            at: block(),
            work: block(),
            next: 0,
            filled: 0,
            at_ahead: block(),
            work_ahead: block(),
            ahead: None,
            end: u64::MAX,
        })
    }

    /// The first requests are drawn; who is let in, `phases` says.
    pub(super) fn begin(&mut self, phases: &Phases) {
        self.end = phases.accepts_until().0;
        self.draw();
        self.turn();
    }

    /// Whether the next block is to be drawn before anything else comes.
    #[inline]
    pub(super) fn is_dry(&self) -> bool {
        self.ahead.is_none() && self.end > 0
    }

    /// When the next request comes; `u64::MAX` where none does.
    #[inline]
    pub(super) fn next_at(&self) -> u64 {
        if self.next < self.filled { self.at[self.next] } else { u64::MAX }
    }

    /// The demand of the next request.
    #[inline]
    pub(super) fn next_work(&self) -> u64 {
        self.work[self.next]
    }

    /// The next request has come.
    #[inline]
    pub(super) fn take(&mut self) {
        self.next += 1;
        if self.next == self.filled {
            self.turn();
        }
    }

    /// Gives the whole block that is next, of so many requests, for two others.
    pub(super) fn take_block(&mut self, at: &mut Block, work: &mut Block) -> usize {
        let size = self.filled;
        std::mem::swap(&mut self.at, at);
        std::mem::swap(&mut self.work, work);
        self.turn();
        size
    }

    fn turn(&mut self) {
        std::mem::swap(&mut self.at, &mut self.at_ahead);
        std::mem::swap(&mut self.work, &mut self.work_ahead);
        (self.next, self.filled) = (0, self.ahead.take().unwrap_or(0));
    }

    /// Draws the next block.
    pub(super) fn draw(&mut self) {
        match &mut self.origin {
            Origin::Laws(laws) => laws.draw(&mut self.at_ahead, &mut self.work_ahead),
            Origin::Plan(plan) => {
                // What is beyond the end of the plan is beyond the end.
                let mut planned = plan.map(|planned| (planned.at.0, planned.request.demand.0));
                for (at, work) in self.at_ahead.iter_mut().zip(self.work_ahead.iter_mut()) {
                    (*at, *work) = planned.next().unwrap_or((u64::MAX, 0));
                }
            }
        }
        self.let_in();
    }

    /// Counts those of the block drawn that are let in.
    fn let_in(&mut self) {
        if self.at_ahead[BLOCK - 1] < self.end {
            self.ahead = Some(BLOCK);
        } else {
            self.ahead = Some(self.at_ahead.partition_point(|at| *at < self.end));
            self.end = 0;
        }
    }

    /// Draws the next block of each, which are dry.
    pub(super) fn draw_together(sources: &mut [&mut Source], scratch: &mut Scratch) {
        for some in sources.chunks_mut(LANES) {
            let in_lanes = |source: &&mut Source| match &source.origin {
                Origin::Laws(laws) => laws.gaps.has_lanes() && laws.works.has_lanes(),
                Origin::Plan(_) => false,
            };
            if some.len() < TOGETHER || !some.iter().all(in_lanes) {
                some.iter_mut().for_each(|source| source.draw());
                continue;
            }
            Source::draw_in_lanes(some, scratch);
        }
    }

    fn draw_in_lanes(sources: &mut [&mut Source], scratch: &mut Scratch) {
        fn laws(source: &Source) -> &Laws {
            match &source.origin {
                Origin::Laws(laws) => laws,
                Origin::Plan(_) => unreachable!("it was looked at"),
            }
        }
        let (mut now, mut rest) = ([0; LANES], [0.0; LANES]);
        for (lane, source) in sources.iter().enumerate() {
            (now[lane], rest[lane]) = (laws(source).now, laws(source).rest);
        }
        let first = laws(sources[0]);
        let drawing = Drawing {
            gaps: &first.gaps,
            works: &first.works,
            of_gaps: Lanes::of(sources.iter().map(|source| &laws(source).of_gaps)),
            of_works: Lanes::of(sources.iter().map(|source| &laws(source).of_works)),
            now,
            rest,
            scratch,
        };
        let (of_gaps, of_works, now, rest) = vectorised(drawing);
        for (lane, source) in sources.iter_mut().enumerate() {
            let Origin::Laws(laws) = &mut source.origin else { unreachable!("it was looked at") };
            (laws.now, laws.rest) = (now[lane], rest[lane]);
            (laws.of_gaps, laws.of_works) = (of_gaps.stream(lane), of_works.stream(lane));
            let column = |rows: &[[u64; LANES]; BLOCK], block: &mut Block| {
                rows.iter().zip(block.iter_mut()).for_each(|(row, one)| *one = row[lane]);
            };
            column(&scratch.at, &mut source.at_ahead);
            column(&scratch.work, &mut source.work_ahead);
            source.let_in();
        }
    }
}

impl Laws {
    fn draw(&mut self, at: &mut Block, work: &mut Block) {
        let mut drawn = [0.0; BLOCK];
        self.gaps.fill(&mut drawn, &mut self.of_gaps);
        for (at, gap_s) in at.iter_mut().zip(&drawn) {
            let exact = gap_s * 1e9 + self.rest;
            let whole = exact as u64;
            self.rest = exact - whole as f64;
            self.now = self.now.saturating_add(whole);
            *at = self.now;
        }
        self.works.fill(&mut drawn, &mut self.of_works);
        work.iter_mut().zip(&drawn).for_each(|(work, work_s)| *work = (work_s * 1e9 + 0.5) as u64);
    }
}

/// Of a number from 0 to 2^51 the part before the point, also as a float: the nearest whole number, less 1 where that is
/// above it.
#[inline(always)]
fn below(x: f64) -> (u64, f64) {
    let shifted = x + EXACT;
    let above = if shifted - EXACT > x { 1.0 } else { 0.0 };
    ((shifted - above).to_bits().wrapping_sub(EXACT.to_bits()), shifted - EXACT - above)
}

/// The instants after gaps of which one is long.
#[cold]
#[inline(never)]
fn long_gaps(
    rows: &[Row; BLOCK],
    at: &mut [[u64; LANES]; BLOCK],
    (mut now, mut rest): ([u64; LANES], Row),
) -> ([u64; LANES], Row) {
    for (row, at) in rows.iter().zip(at) {
        for lane in 0..LANES {
            let exact = row[lane] * 1e9 + rest[lane];
            let whole = exact as u64;
            rest[lane] = exact - whole as f64;
            now[lane] = now[lane].saturating_add(whole);
        }
        *at = now;
    }
    (now, rest)
}

/// Room for a block of each lane.
pub(super) struct Scratch {
    rows: Box<[Row; BLOCK]>,
    at: Box<[[u64; LANES]; BLOCK]>,
    work: Box<[[u64; LANES]; BLOCK]>,
}

impl Scratch {
    pub(super) fn new() -> Scratch {
        let whole = || Box::new([[0; LANES]; BLOCK]);
        Scratch { rows: Box::new([[0.0; LANES]; BLOCK]), at: whole(), work: whole() }
    }
}

/// A block of each lane, to be drawn.
struct Drawing<'a> {
    gaps: &'a Law,
    works: &'a Law,
    of_gaps: Lanes,
    of_works: Lanes,
    now: [u64; LANES],
    rest: Row,
    scratch: &'a mut Scratch,
}

impl Work for Drawing<'_> {
    type Answer = (Lanes, Lanes, [u64; LANES], Row);

    #[inline(always)]
    fn run(self) -> Self::Answer {
        let Drawing { gaps, works, mut of_gaps, mut of_works, mut now, mut rest, scratch } = self;
        let Scratch { rows, at, work } = scratch;
        gaps.fill_lanes(&mut of_gaps, &mut rows[..]);
        let (mut large, before) = ([0; LANES], (now, rest));
        for (row, at) in rows.iter().zip(at.iter_mut()) {
            let row = *row;
            for lane in 0..LANES {
                let exact = row[lane] * 1e9 + rest[lane];
                large[lane] |= u64::from(exact >= EXACT / 2.0);
                let (whole, float) = below(exact);
                rest[lane] = exact - float;
                now[lane] = now[lane].wrapping_add(whole);
            }
            *at = now;
        }
        if large != [0; LANES] {
            (now, rest) = long_gaps(rows, at, before);
        }
        works.fill_lanes(&mut of_works, &mut rows[..]);
        let mut large = 0;
        for (work_s, work) in rows.as_flattened().iter().zip(work.as_flattened_mut()) {
            let exact = work_s * 1e9 + 0.5;
            large |= u64::from(exact >= EXACT / 2.0);
            *work = below(exact).0;
        }
        if large != 0 {
            let long = |(work_s, work): (&f64, &mut u64)| *work = (work_s * 1e9 + 0.5) as u64;
            rows.as_flattened().iter().zip(work.as_flattened_mut()).for_each(long);
        }
        (of_gaps, of_works, now, rest)
    }
}
