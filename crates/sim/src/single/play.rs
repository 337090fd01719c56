//! Every job of a queue, as it is done.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sojourn_model::{Admission, Departure, Discipline, Knowledge, Station};
use sojourn_stats::{Span, Time};

use super::sections::Section;
use super::{Arrival, Job, Predict, Queue};

/// Plays `arrivals`, which are in order of time, through `queue`, and gives every job to `record` once it is known when it
/// leaves: under FCFS without a limited room in order of arrival, otherwise in order of departure (a denied one at once).
///
/// # Panics
/// Where [`Discipline::check`] refuses the queue, or time runs backwards.
pub fn play(queue: &Queue, arrivals: impl IntoIterator<Item = Arrival>, mut record: impl FnMut(&Job)) {
    let mut player = Player::new(queue, None);
    for (number, arrival) in (0..).zip(arrivals) {
        player.play(number, arrival, &mut record);
    }
    player.end(&mut record);
}

/// A queue that jobs go through.
pub(super) enum Player {
    InOrder(InOrder),
    Other(Box<Served>),
}

/// FCFS without a limited room.
#[derive(Clone)]
pub(super) enum InOrder {
    One(Core),
    Several(Cores),
}

impl Player {
    /// `predict`: say how long each job will take.
    pub(super) fn new(queue: &Queue, predict: Option<Predict>) -> Player {
        match InOrder::new(queue).filter(|_| predict.is_none()) {
            Some(in_order) => Player::InOrder(in_order),
            None => Player::Other(Box::new(Served { station: queue.station(), predict, inside: Inside::default() })),
        }
    }

    /// One job comes.
    #[inline]
    pub(super) fn play(&mut self, number: u64, arrival: Arrival, record: &mut impl FnMut(&Job)) {
        let left = match self {
            Player::InOrder(InOrder::One(core)) => core.serve(arrival.at, arrival.demand),
            Player::InOrder(InOrder::Several(cores)) => cores.serve(arrival.at, arrival.demand),
            Player::Other(served) => return served.come(number, arrival, record),
        };
        let started = arrival.at.max(Time(left.0 - arrival.demand.0));
        record(&Job { number, arrival, started, left, denied: false, predicted: None });
    }

    /// No job comes any more.
    pub(super) fn end(&mut self, record: &mut impl FnMut(&Job)) {
        if let Player::Other(served) = self {
            served.depart(Time::NEVER, record);
        }
    }
}

impl InOrder {
    /// None where the queue is another.
    pub(super) fn new(queue: &Queue) -> Option<InOrder> {
        match (&queue.discipline, queue.capacity, queue.cores) {
            (Discipline::Fcfs, None, 1) => Some(InOrder::One(Core { free: Time::ZERO })),
            (Discipline::Fcfs, None, cores) => Some(InOrder::Several(Cores::new(cores))),
            _ => None,
        }
    }

    /// Jobs come of which nothing is counted.
    pub(super) fn pass(&mut self, jobs: &[Arrival]) {
        match self {
            InOrder::One(core) => jobs.iter().for_each(|job| _ = core.serve(job.at, job.demand)),
            InOrder::Several(cores) => jobs.iter().for_each(|job| _ = cores.serve(job.at, job.demand)),
        }
    }

    /// Jobs come, and are counted in `section`; when the last of them leaves.
    pub(super) fn count(&mut self, jobs: &[Arrival], section: &mut Section) -> Time {
        let jobs = jobs.iter().copied();
        match self {
            InOrder::One(core) => {
                let mut copy = *core;
                let until = section.fill(jobs, &mut |at, demand| copy.serve(at, demand));
                *core = copy;
                until
            }
            InOrder::Several(cores) => section.fill(jobs, &mut |at, demand| cores.serve(at, demand)),
        }
    }

    /// Whether jobs that come from `at` on are served as by `other`.
    pub(super) fn is_as(&self, other: &InOrder, at: Time) -> bool {
        match (self, other) {
            (InOrder::One(one), InOrder::One(other)) => one.free.max(at) == other.free.max(at),
            (InOrder::Several(one), InOrder::Several(other)) => one.busy(at) == other.busy(at),
            _ => false,
        }
    }

    /// The same `by` later.
    pub(super) fn later(&self, by: Span) -> InOrder {
        let later = |time: Time| Time(time.0.saturating_add(by.0));
        match self {
            InOrder::One(core) => InOrder::One(Core { free: later(core.free) }),
            InOrder::Several(Cores { cores, free }) => {
                let free = free.iter().map(|Reverse(time)| Reverse(later(*time))).collect();
                InOrder::Several(Cores { cores: *cores, free })
            }
        }
    }
}

/// FCFS on one core: Lindley's recursion.
#[derive(Clone, Copy)]
pub(super) struct Core {
    free: Time,
}

impl Core {
    /// When the job leaves.
    #[inline]
    pub(super) fn serve(&mut self, at: Time, demand: Span) -> Time {
        self.free = self.free.max(at) + demand;
        self.free
    }
}

/// FCFS on several: Kiefer and Wolfowitz's recursion.
#[derive(Clone)]
pub(super) struct Cores {
    cores: usize,
    /// When those are free that were used; they are used again as soon as they can be, so that there are no more of them than
    /// were ever busy at once.
    free: BinaryHeap<Reverse<Time>>,
}

impl Cores {
    fn new(cores: u32) -> Cores {
        Cores { cores: cores as usize, free: BinaryHeap::new() }
    }

    /// Until when those are busy that are at `at`, in order.
    fn busy(&self, at: Time) -> Vec<Time> {
        let mut until: Vec<Time> = self.free.iter().map(|free| free.0).filter(|free| *free > at).collect();
        until.sort_unstable();
        until
    }

    /// When the job leaves.
    #[inline]
    pub(super) fn serve(&mut self, at: Time, demand: Span) -> Time {
        let are_all_used = self.free.len() == self.cores;
        if let Some(mut first) = self.free.peek_mut()
            && (are_all_used || first.0 <= at)
        {
            let left = first.0.max(at) + demand;
            *first = Reverse(left);
            return left;
        }
        let left = at + demand;
        self.free.push(Reverse(left));
        left
    }
}

/// Any other discipline, or a limited room: a station that is asked before each arrival which jobs have left.
pub(super) struct Served {
    station: Station,
    predict: Option<Predict>,
    inside: Inside,
}

impl Served {
    fn come(&mut self, number: u64, arrival: Arrival, record: &mut impl FnMut(&Job)) {
        let Arrival { at, demand, class } = arrival;
        self.depart(at, record);
        let predicted = self.predict.and_then(|predict| predicted(&self.station, arrival, predict));
        let job = Job { number, arrival, started: at, left: at, denied: true, predicted };
        let slot = self.inside.enter(job);
        if self.station.arrive_of(class, at, u64::from(slot), demand) == Admission::Denied {
            self.inside.free.push(slot);
            record(&job);
        }
    }

    /// All that leave by then.
    fn depart(&mut self, by: Time, record: &mut impl FnMut(&Job)) {
        while let Some(departure) = self.station.depart(by) {
            record(&self.inside.leave(&departure));
        }
    }
}

fn predicted(station: &Station, arrival: Arrival, predict: Predict) -> Option<Span> {
    match predict.knows {
        Knowledge::Demands => station.predict(arrival.class, arrival.at, arrival.demand),
        Knowledge::Number => Some(station.predict_by_number(predict.demand_mean)),
    }
}

/// The jobs inside.
#[derive(Default)]
struct Inside {
    jobs: Vec<Job>,
    free: Vec<u32>,
}

impl Inside {
    fn enter(&mut self, job: Job) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.jobs[slot as usize] = job;
                slot
            }
            None => {
                self.jobs.push(job);
                (self.jobs.len() - 1) as u32
            }
        }
    }

    fn leave(&mut self, departure: &Departure) -> Job {
        self.free.push(departure.job as u32);
        let job = self.jobs[departure.job as usize];
        Job { started: departure.started, left: departure.at, denied: false, ..job }
    }
}
