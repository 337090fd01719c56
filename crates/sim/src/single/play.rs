//! Every job of a queue, as it is done.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sojourn_model::{Admission, Departure, Discipline, Knowledge, Station};
use sojourn_stats::{Span, Time};

use super::{Arrival, Job, Predict, Queue};

/// What is recorded of the jobs.
pub(super) trait Recorder {
    /// Of one.
    fn record(&mut self, job: &Job);

    /// Of all of them, in order of arrival.
    fn record_all(&mut self, jobs: impl Iterator<Item = Job>) {
        jobs.for_each(|job| self.record(&job));
    }
}

impl<F: FnMut(&Job)> Recorder for F {
    fn record(&mut self, job: &Job) {
        self(job);
    }
}

/// Plays `arrivals`, which are in order of time, through `queue`, and gives every job to `record` once it is known when it
/// leaves: under FCFS without a limited room in order of arrival, otherwise in order of departure (a denied one at once).
///
/// # Panics
/// Where [`Discipline::check`] refuses the queue, or time runs backwards.
pub fn play(queue: &Queue, arrivals: impl IntoIterator<Item = Arrival>, mut record: impl FnMut(&Job)) {
    play_to(&mut record, queue, arrivals, None);
}

/// The same to any recorder, with a prediction for each job.
pub(super) fn play_to(
    recorder: &mut impl Recorder,
    queue: &Queue,
    arrivals: impl IntoIterator<Item = Arrival>,
    predict: Option<Predict>,
) {
    let arrivals = arrivals.into_iter();
    match (&queue.discipline, queue.capacity, predict) {
        (Discipline::Fcfs, None, None) if queue.cores == 1 => recorder.record_all(lindley(arrivals)),
        (Discipline::Fcfs, None, None) => recorder.record_all(kiefer_wolfowitz(queue.cores, arrivals)),
        _ => station(queue, arrivals, predict, |job| recorder.record(job)),
    }
}

fn lindley(arrivals: impl Iterator<Item = Arrival>) -> impl Iterator<Item = Job> {
    let mut free = Time::ZERO;
    (0..).zip(arrivals).map(move |(number, arrival)| {
        let started = free.max(arrival.at);
        free = started + arrival.demand;
        Job { number, arrival, started, left: free, denied: false, predicted: None }
    })
}

fn kiefer_wolfowitz(cores: u32, arrivals: impl Iterator<Item = Arrival>) -> impl Iterator<Item = Job> {
    // When each core that has been used is free; the others are.
    let mut free: BinaryHeap<Reverse<Time>> = BinaryHeap::new();
    (0..).zip(arrivals).map(move |(number, arrival)| {
        let started = if free.len() < cores as usize {
            arrival.at
        } else {
            let Reverse(first) = free.pop().expect("a queue has a core");
            first.max(arrival.at)
        };
        let left = started + arrival.demand;
        free.push(Reverse(left));
        Job { number, arrival, started, left, denied: false, predicted: None }
    })
}

fn station(
    queue: &Queue,
    arrivals: impl Iterator<Item = Arrival>,
    predict: Option<Predict>,
    mut record: impl FnMut(&Job),
) {
    let mut station = queue.station();
    let mut inside = Inside::default();
    for (number, arrival) in (0..).zip(arrivals) {
        let Arrival { at, demand, class } = arrival;
        while let Some(departure) = station.depart(at) {
            record(&inside.leave(&departure));
        }
        let predicted = predict.and_then(|predict| predicted(&station, arrival, predict));
        let job = Job { number, arrival, started: at, left: at, denied: true, predicted };
        let slot = inside.enter(job);
        if station.arrive_of(class, at, u64::from(slot), demand) == Admission::Denied {
            inside.free.push(slot);
            record(&job);
        }
    }
    while let Some(departure) = station.depart(Time::NEVER) {
        record(&inside.leave(&departure));
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
