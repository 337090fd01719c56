//! One replication of a network: the event loop.
//!
//! The next event is the earlier of two candidates: the stations' timers (an indexed heap, one timer per queue) and the
//! events of jobs that are at no queue. A departure comes before whatever else is due at that instant, a delay that ends
//! before a job that comes.
//!
//! A job draws all that it will ever need when it comes: its branch or its object, its size, and the work of *every*
//! branch that it might have taken, each branch from a stream of its own. So another hit ratio, another cache or another
//! share changes which branch a job takes and nothing else, and networks are compared under common random numbers. The
//! price is a few draws that are thrown away. Chains and users have streams of their own: adding one shifts no
//! other numbers.
//!
//! Conservation is asserted at every pause, exactly and in whole nanoseconds, for every chain and for every station:
//! the jobs that came have left or are inside, and the integral of the number inside is the time spent inside (Little). No
//! queue was busier than its cores, and no closed chain has lost a user.

use std::sync::Arc;

use sojourn_model::network::Population;
use sojourn_model::{Admission, Station};
use sojourn_stats::{Histogram, Span, Stream, Time};

use super::cache::Cache;
use super::events::{Events, What};
use super::graded::Graded;
use super::jobs::{Job, Jobs};
use super::layout::{Branching, Chain, Layout, StationKind};
use super::summary::{self, Counts};
use super::tally::{Spent, Tally};
use crate::course::{Course, Milestone, Phases};
use crate::ledger::Ledger;
use crate::memory::most_with;
use crate::study::Replication;
use crate::summary::Row;
use crate::timers::Timers;

/// One replication of a network of queues.
pub(super) struct NetworkReplication {
    now: Time,
    pub(super) layout: Arc<Layout>,
    sources: Vec<Arrivals>,
    stations: Vec<StationState>,
    timers: Timers,
    events: Events,
    jobs: Jobs,
    phases: Phases,
    /// No pilot ends before this: caches that begin empty are not yet what they will be.
    settled_after: Time,
    ended: u64,
    /// What is measured.
    pub(super) tally: Tally,
}

/// Where the jobs of a chain come from.
struct Arrivals {
    /// One for each user of a closed chain; one in all of an open one.
    draws: Vec<Draws>,
    /// What the next gap of an open chain has beyond whole nanoseconds, so that rounding never changes the rate.
    rest_ns: f64,
    cache: Option<Cache>,
    ledger: Ledger,
    /// Users that think.
    thinking: u32,
}

/// Random numbers by purpose.
struct Draws {
    /// Gaps or thinking times.
    pauses: Stream,
    /// Branches or objects.
    choices: Stream,
    sizes: Stream,
    /// Work, by branch.
    work: Vec<Stream>,
}

/// A station's state, and the ledger of its arrivals and departures.
struct StationState {
    kind: Running,
    ledger: Ledger,
}

enum Running {
    Queue(Station),
    Graded(Graded),
    Delay,
}

impl NetworkReplication {
    /// The replication of `layout` with this seed.
    pub(super) fn new(layout: &Arc<Layout>, seed: u64, course: &Course) -> NetworkReplication {
        let stations = layout.stations.iter().map(|station| StationState {
            kind: match &station.kind {
                StationKind::Queue { discipline, cores } => {
                    Running::Queue(Station::new(discipline.clone(), *cores, None))
                }
                StationKind::Graded { rates } => Running::Graded(Graded::new(rates)),
                StationKind::Delay => Running::Delay,
            },
            ledger: Ledger::default(),
        });
        let sources: Vec<Arrivals> = layout.chains.iter().map(|chain| Arrivals::new(chain, seed)).collect();
        let settled = sources.iter().flat_map(|source| &source.cache).map(Cache::settled_after).max();
        let stride = layout.steps_most();
        let mut replication = NetworkReplication {
            now: Time::ZERO,
            sources,
            stations: stations.collect(),
            timers: Timers::new(layout.stations.len()),
            events: Events::default(),
            jobs: Jobs::new(stride, most_with(course.most_inside, (stride * size_of::<Span>()) as u64)),
            phases: Phases::new(course, layout.stations.len()),
            settled_after: Time::ZERO + settled.unwrap_or_default(),
            ended: 0,
            tally: Tally::new(layout, course.finite),
            layout: Arc::clone(layout),
        };
        for chain in 0..layout.chains.len() as u32 {
            match layout.chains[chain as usize].population {
                Population::Open { .. } => replication.plan_next(chain, Time::ZERO),
                Population::Closed { users, .. } => (0..users).for_each(|user| replication.let_think(chain, user)),
            }
        }
        replication
    }

    /// What has been counted since measuring began.
    pub(super) fn part(&self) -> Counts {
        let closed = self.phases.is_draining();
        let (end, after) =
            if closed { (self.tally.until, self.tally.after.clone()) } else { (self.now, self.spent(self.now)) };
        Counts::new(&self.layout, &self.tally, end, &after)
    }

    /// What each station has spent up to `now`, an instant between the last event and the next.
    fn spent(&self, now: Time) -> Vec<Spent> {
        let spent = |station_state: &StationState| Spent {
            done: station_state.done(now),
            integral: station_state.ledger.integral(now),
        };
        self.stations.iter().map(spent).collect()
    }

    /// Draws when the next job of an open chain comes.
    #[inline]
    fn plan_next(&mut self, chain: u32, now: Time) {
        let Population::Open { gaps } = &self.layout.chains[chain as usize].population else {
            unreachable!("only an open chain has gaps")
        };
        let source = &mut self.sources[chain as usize];
        let gap_ns = gaps.sample(&mut source.draws[0].pauses) * 1e9 + source.rest_ns;
        let whole_ns = gap_ns.floor();
        source.rest_ns = gap_ns - whole_ns;
        let at = now + Span(whole_ns as u64);
        if self.phases.accepts(at) {
            self.events.add(at, What::Comes { chain, user: 0 });
        }
    }

    /// Lets a user of a closed chain think about its next job.
    #[inline]
    fn let_think(&mut self, chain: u32, user: u32) {
        let Population::Closed { think, .. } = &self.layout.chains[chain as usize].population else {
            unreachable!("only users think")
        };
        let source = &mut self.sources[chain as usize];
        source.thinking += 1;
        let at = self.now + Span::from_secs_f64(think.sample(&mut source.draws[user as usize].pauses));
        if self.phases.accepts(at) {
            self.events.add(at, What::Comes { chain, user });
        }
    }

    /// A job comes in.
    #[inline]
    fn enter(&mut self, chain: u32, user: u32) {
        let NetworkReplication { now, layout, sources, jobs, tally, .. } = self;
        let (now, written) = (*now, &layout.chains[chain as usize]);
        let source = &mut sources[chain as usize];
        source.ledger.enter(now);
        let draws = &mut source.draws[user as usize];
        let (taken, size) = match &written.choice {
            Branching::Only => (0, written.draw_size(&mut draws.sizes)),
            Branching::Shares { up_to } => {
                let drawn = draws.choices.uniform();
                let taken = up_to.iter().position(|share| drawn < *share).unwrap_or(up_to.len() - 1);
                (taken, written.draw_size(&mut draws.sizes))
            }
            Branching::Cache(stored) => {
                let object = stored.popularity.sample(&mut draws.choices);
                let cache = source.cache.as_mut().expect("a chain that asks a cache has one");
                let size = stored.bytes.get(object as usize).copied().unwrap_or(0);
                (usize::from(!cache.ask(object, now)), size)
            }
        };
        tally.came(chain, taken);
        let size_class = written.size_class(size) as u32;
        let job = Job { asked: now, came: now, chain, user, branch: taken as u32, size_class, step: 0, inside: true };
        let slot = jobs.put(job);
        if jobs.overflowed().is_some() {
            self.phases.accept_until(now);
        }
        let work = jobs.work(slot);
        for (index, (steps, stream)) in written.branches.iter().zip(&mut draws.work).enumerate() {
            for (number, step) in steps.iter().enumerate() {
                let drawn = step.draw(size, stream);
                if index == taken {
                    work[number] = drawn;
                }
            }
        }
        self.go_on(slot);
    }

    /// A job comes to the station of its present step, or goes out when it has taken them all.
    #[inline]
    fn go_on(&mut self, slot: u32) {
        let now = self.now;
        let Job { chain, branch, step, .. } = *self.jobs.at(slot);
        let Some(step_there) = self.layout.chains[chain as usize].branches[branch as usize].get(step as usize) else {
            return self.complete(slot);
        };
        let station = step_there.station;
        self.jobs.at(slot).came = now;
        let work = self.jobs.work(slot)[step as usize];
        let station_state = &mut self.stations[station];
        station_state.ledger.enter(now);
        match &mut station_state.kind {
            Running::Delay => self.events.add(now + work, What::DelayEnds { slot }),
            Running::Graded(graded) => {
                graded.arrive(now, slot, work);
                self.timers.set(station, graded.next_departure());
            }
            Running::Queue(queue) => {
                let due = queue.next_departure();
                let admission = queue.arrive(now, u64::from(slot), work);
                assert!(admission != Admission::Denied, "the stations of a network have no limit");
                if queue.next_departure() != due {
                    self.timers.set(station, queue.next_departure());
                }
            }
        }
    }

    /// A queue finishes a job.
    #[inline]
    fn depart(&mut self, station: usize) {
        let slot = match &mut self.stations[station].kind {
            Running::Queue(queue) => {
                let departure = queue.depart(self.now).expect("the timer is the station's next departure");
                self.timers.set(station, queue.next_departure());
                departure.job as u32
            }
            Running::Graded(graded) => {
                let job = graded.depart();
                self.timers.set(station, graded.next_departure());
                job
            }
            Running::Delay => unreachable!("a delay has no timer"),
        };
        self.leave_station(slot);
    }

    /// A job has taken its present step.
    #[inline]
    fn leave_station(&mut self, slot: u32) {
        let now = self.now;
        let job = self.jobs.at(slot);
        let Job { chain, branch, step, came, .. } = *job;
        job.step += 1;
        let station = self.layout.chains[chain as usize].branches[branch as usize][step as usize].station;
        let ledger = &mut self.stations[station].ledger;
        ledger.completed();
        ledger.leave(came, now);
        self.tally.visited(station, came, now);
        self.go_on(slot);
    }

    /// A job goes out.
    #[inline]
    fn complete(&mut self, slot: u32) {
        let job = *self.jobs.at(slot);
        let Job { chain, user, asked, .. } = job;
        self.jobs.release(slot);
        let ledger = &mut self.sources[chain as usize].ledger;
        ledger.completed();
        ledger.leave(asked, self.now);
        self.ended += 1;
        self.tally.completed(&job, self.now);
        if self.now >= self.settled_after
            && let Some(turn) = self.phases.settled(self.now - asked, self.ended, self.now)
        {
            self.take(turn);
        }
        if matches!(self.layout.chains[chain as usize].population, Population::Closed { .. }) {
            self.let_think(chain, user);
        }
    }

    /// The end of a phase.
    fn take(&mut self, turn: Milestone) {
        match turn {
            Milestone::Begin(at) => self.tally.restart(at, self.spent(at)),
            Milestone::Close(at) => self.tally.close(at, self.spent(at)),
        }
    }
}

impl Replication for NetworkReplication {
    fn phases(&self) -> &Phases {
        &self.phases
    }

    fn ended(&self) -> u64 {
        self.ended
    }

    fn counted(&self) -> u64 {
        self.tally.ended()
    }

    fn overflowed(&self) -> Option<usize> {
        self.jobs.overflowed()
    }

    #[inline]
    fn step(&mut self) -> bool {
        let (departure, event) = (self.timers.first_at(), self.events.first_at());
        let at = departure.min(event);
        if at == Time::NEVER {
            return false;
        }
        assert!(at >= self.now, "time never goes back");
        while let Some(turn) = self.phases.passed(at) {
            self.take(turn);
        }
        self.now = at;
        if departure == at {
            self.depart(self.timers.first());
            return true;
        }
        match self.events.take().expect("an event is due") {
            What::DelayEnds { slot } => self.leave_station(slot),
            What::Comes { chain, user } => {
                if matches!(self.layout.chains[chain as usize].population, Population::Open { .. }) {
                    self.plan_next(chain, at);
                } else {
                    self.sources[chain as usize].thinking -= 1;
                }
                self.enter(chain, user);
            }
        }
        true
    }

    fn finish(&mut self) {
        if let Some(turn) = self.phases.finished() {
            self.take(turn);
        }
    }

    fn settle_books(&self) {
        let now = self.now;
        for (number, (source, chain)) in self.sources.iter().zip(&self.layout.chains).enumerate() {
            let inside = || self.jobs.inside().filter(move |job| job.chain as usize == number);
            source.ledger.assert_balanced(now, inside().map(|job| job.asked));
            if let Population::Closed { users, .. } = chain.population {
                assert_eq!(source.thinking + inside().count() as u32, users, "a closed chain keeps its users");
            }
        }
        for (number, (station_state, station)) in self.stations.iter().zip(&self.layout.stations).enumerate() {
            let here = self.jobs.inside().filter(|job| {
                let steps = &self.layout.chains[job.chain as usize].branches[job.branch as usize];
                steps[job.step as usize].station == number
            });
            station_state.ledger.assert_balanced(now, here.map(|job| job.came));
            let most = now.as_secs_f64() * station.capacity();
            let done = station_state.done(now).as_secs_f64();
            assert!(done <= most * (1.0 + 1e-9) + 1e-6, "a station did more work than it can");
        }
    }

    fn responses(replications: &[&NetworkReplication]) -> Histogram {
        summary::responses(&tallies(replications))
    }

    fn rows(replications: &[&NetworkReplication]) -> Vec<Row> {
        match replications.first() {
            Some(first) => {
                let parts: Vec<Counts> = replications.iter().map(|replication| replication.part()).collect();
                summary::rows(&first.layout, &tallies(replications), &parts)
            }
            None => vec![crate::summary::mean("response_time_mean", &Histogram::new(), &[])],
        }
    }
}

fn tallies<'a>(replications: &[&'a NetworkReplication]) -> Vec<&'a Tally> {
    replications.iter().map(|replication| &replication.tally).collect()
}

impl StationState {
    /// Work done up to `now`: core time, but under rates that depend on the number inside.
    fn done(&self, now: Time) -> Span {
        match &self.kind {
            Running::Queue(queue) => queue.busy(now),
            Running::Graded(graded) => graded.done(now),
            Running::Delay => Span::ZERO,
        }
    }
}

impl Arrivals {
    fn new(chain: &Chain, seed: u64) -> Arrivals {
        let name = format!("chain {}", chain.name);
        let draws = |entity: &str| Draws {
            pauses: Stream::new(seed, entity, "pauses"),
            choices: Stream::new(seed, entity, "choices"),
            sizes: Stream::new(seed, entity, "sizes"),
            work: chain.branch_names.iter().map(|of| Stream::new(seed, entity, &format!("work of {of}"))).collect(),
        };
        let all = match chain.population {
            Population::Open { .. } => vec![draws(&name)],
            Population::Closed { users, .. } => (0..users).map(|user| draws(&format!("{name}, user {user}"))).collect(),
        };
        let mut source = Arrivals { draws: all, rest_ns: 0.0, cache: None, ledger: Ledger::default(), thinking: 0 };
        if let Branching::Cache(stored) = &chain.choice {
            source.cache = Some(stored.cache(&mut Stream::new(seed, &name, "past")));
        }
        source
    }
}
