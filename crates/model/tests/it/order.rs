//! Ranks and turns by their definitions, nanosecond by nanosecond: who is on a core is decided anew at each, and does one
//! nanosecond of work. Both are whole, so station and definition agree exactly.

use sojourn_model::{Admission, Departure, Discipline, Station, Ticket};
use sojourn_stats::{Span, Stream, Time};

#[derive(Clone)]
struct Job {
    number: u64,
    class: u8,
    arrived: u64,
    started: Option<u64>,
    left: u64,
}

/// The jobs inside, those on a core first.
#[derive(Clone)]
struct Definition {
    discipline: Discipline,
    cores: usize,
    clock: u64,
    served: Vec<Job>,
    waiting: Vec<Job>,
    /// Without a helper.
    outside: Vec<Job>,
    turn_left: u64,
    departures: Vec<Departure>,
}

impl Definition {
    fn new(discipline: Discipline, cores: usize) -> Definition {
        let (served, waiting, outside, departures) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Definition { discipline, cores, clock: 0, served, waiting, outside, turn_left: 0, departures }
    }

    /// The lowest goes first.
    fn rank(&self, job: &Job) -> (u8, u64) {
        match self.discipline {
            Discipline::Lcfs { .. } => (0, u64::MAX - job.number),
            Discipline::Priority { .. } => (job.class, job.number),
            _ => unreachable!("turns have no rank"),
        }
    }

    fn quantum(&self) -> Option<u64> {
        match self.discipline {
            Discipline::RoundRobin { quantum } | Discipline::TimeSlices { quantum, .. } => Some(quantum.0),
            _ => None,
        }
    }

    /// Lets newcomers in, who take the core at once.
    fn hand_out_helpers(&mut self) {
        let Discipline::TimeSlices { helpers, .. } = self.discipline else { return };
        while !self.outside.is_empty() && self.served.len() + self.waiting.len() < helpers as usize {
            self.waiting.splice(0..0, self.served.drain(..));
            self.waiting.insert(0, self.outside.remove(0));
        }
    }

    /// Fills the cores, and lets go who is done.
    fn settle(&mut self) {
        loop {
            let turn_is_over = self.quantum().is_some() && self.turn_left == 0;
            if turn_is_over && self.served.first().is_some_and(|job| job.left > 0) {
                let job = self.served.remove(0);
                self.waiting.push(job);
            }
            self.hand_out_helpers();
            while self.served.len() < self.cores && !self.waiting.is_empty() {
                let place = match self.quantum() {
                    Some(quantum) => {
                        self.turn_left = quantum;
                        0
                    }
                    None => {
                        let best = self.waiting.iter().enumerate().min_by_key(|(_, job)| self.rank(job));
                        best.unwrap().0
                    }
                };
                let mut job = self.waiting.remove(place);
                job.started.get_or_insert(self.clock);
                self.served.push(job);
            }
            let done = self.served.iter().enumerate().filter(|(_, job)| job.left == 0);
            let Some((place, _)) = done.min_by_key(|(_, job)| job.number) else { return };
            let Job { number, arrived, started, .. } = self.served.remove(place);
            let (arrived, started, at) = (Time(arrived), Time(started.unwrap()), Time(self.clock));
            self.departures.push(Departure { job: number, arrived, started, at });
        }
    }

    fn arrive(&mut self, number: u64, class: u8, service: u64) {
        let job = Job { number, class, arrived: self.clock, started: None, left: service };
        let preempts = matches!(
            self.discipline,
            Discipline::Lcfs { preemptive: true } | Discipline::Priority { preemptive: true }
        );
        if preempts && self.served.len() == self.cores {
            let worst = self.served.iter().enumerate().max_by_key(|(_, job)| self.rank(job)).unwrap().0;
            if self.rank(&job) < self.rank(&self.served[worst]) {
                let worst = self.served.remove(worst);
                self.waiting.push(worst);
            }
        }
        match self.discipline {
            Discipline::TimeSlices { .. } => self.outside.push(job),
            _ => self.waiting.push(job),
        }
        self.settle();
    }

    fn cancel(&mut self, number: u64) {
        self.served.retain(|job| job.number != number);
        self.waiting.retain(|job| job.number != number);
        self.outside.retain(|job| job.number != number);
        self.settle();
    }

    fn advance(&mut self, now: u64) {
        while self.clock < now {
            self.clock += 1;
            self.served.iter_mut().for_each(|job| job.left -= 1);
            self.turn_left = self.turn_left.saturating_sub(1);
            self.settle();
        }
    }

    fn next(&self) -> Option<Time> {
        if self.served.is_empty() {
            return None;
        }
        let mut ahead = self.clone();
        while ahead.departures.is_empty() {
            ahead.advance(ahead.clock + 1);
        }
        Some(ahead.departures[0].at)
    }
}

#[test]
fn agrees_with_the_definition_on_random_small_cases() {
    let mut stream = Stream::new(1, "order", "cases");
    for case in 0..3000 {
        let cores = 1 + stream.below(3);
        let preemptive = stream.below(2) == 0;
        let quantum = Span(1 + stream.below(7) as u64);
        let (discipline, cores) = match stream.below(4) {
            0 => (Discipline::Lcfs { preemptive }, cores),
            1 => (Discipline::Priority { preemptive }, cores),
            2 => (Discipline::TimeSlices { quantum, helpers: [2, 3, u32::MAX][stream.below(3)] }, 1),
            _ => (Discipline::RoundRobin { quantum }, 1),
        };
        let spread = 3 + stream.below(12);
        let mut definition = Definition::new(discipline.clone(), cores);
        let mut station = Station::new(discipline.clone(), cores as u32, None);
        let mut tickets: Vec<(u64, Ticket)> = Vec::new();
        let mut now = 0;
        for number in 0..50 {
            now += stream.below(spread) as u64;
            let label = format!("case {case}: {discipline:?}, {cores} cores, at {now}");
            definition.advance(now);
            let mut expected = std::mem::take(&mut definition.departures);
            let mut got: Vec<_> = std::iter::from_fn(|| station.depart(Time(now))).collect();
            expected.sort_by_key(|d| (d.at, d.job));
            got.sort_by_key(|d| (d.at, d.job));
            assert_eq!(got, expected, "{label}");
            if stream.below(6) == 0 && !tickets.is_empty() {
                let (job, ticket) = tickets.swap_remove(stream.below(tickets.len()));
                station.cancel(Time(now), ticket);
                station.cancel(Time(now), ticket);
                definition.cancel(job);
                continue;
            }
            let (class, service) = (stream.below(3) as u8, stream.below(20) as u64);
            definition.arrive(number, class, service);
            match station.arrive_of(class, Time(now), number, Span(service)) {
                Admission::Admitted(ticket) => tickets.push((number, ticket)),
                Admission::Denied => panic!("{label}: there is no limit"),
            }
            if definition.departures.is_empty() {
                let inside = definition.served.len() + definition.waiting.len() + definition.outside.len();
                assert_eq!(station.occupancy(), (inside as u32, definition.served.len() as u32), "{label}");
                assert_eq!(station.next_departure(), definition.next(), "{label}, after {number}");
            }
        }
    }
}

/// Departures of one random sequence of jobs, all of one class.
fn departures(discipline: Discipline, most: usize) -> Vec<Departure> {
    let mut station = Station::new(discipline, 1, None);
    let mut stream = Stream::new(2, "order", "jobs");
    let (mut now, mut all) = (0, Vec::new());
    for job in 0..20_000 {
        now += stream.below(1000) as u64;
        all.extend(std::iter::from_fn(|| station.depart(Time(now))));
        let _ = station.arrive(Time(now), job, Span(stream.below(most) as u64));
    }
    all.extend(std::iter::from_fn(|| station.depart(Time::NEVER)));
    all
}

/// With a single class priority is FCFS. Turns longer than every job are FCFS too, and with newcomers first LCFS with
/// preemption.
#[test]
fn one_class_and_long_turns_are_simpler_disciplines() {
    let fcfs = departures(Discipline::Fcfs, 900);
    for preemptive in [false, true] {
        assert_eq!(departures(Discipline::Priority { preemptive }, 900), fcfs);
    }
    assert_eq!(departures(Discipline::RoundRobin { quantum: Span(900) }, 900), fcfs);
    let newest_first = departures(Discipline::Lcfs { preemptive: true }, 900);
    assert_eq!(departures(Discipline::TimeSlices { quantum: Span(900), helpers: u32::MAX }, 900), newest_first);
    assert_eq!(departures(Discipline::TimeSlices { quantum: Span(900), helpers: 1 }, 900), fcfs);
}

/// Turns of a nanosecond are processor sharing, up to one turn of each other job.
#[test]
fn the_shortest_turns_are_processor_sharing() {
    let (mut turns, mut shared) =
        (departures(Discipline::RoundRobin { quantum: Span(1) }, 900), departures(Discipline::Ps, 900));
    turns.sort_by_key(|departure| departure.job);
    shared.sort_by_key(|departure| departure.job);
    for (turn, share) in turns.iter().zip(&shared) {
        let apart = turn.at.0.abs_diff(share.at.0);
        assert!(apart <= 100, "job {}: {} and {}", turn.job, turn.at, share.at);
    }
}

/// Preemption takes the core at once; what was done is not lost.
#[test]
fn a_preempted_job_goes_on_where_it_was() {
    let at = |discipline| {
        let mut station = Station::new(discipline, 1, None);
        for (class, now, job, service) in [(1, 0, 0, 10), (0, 4, 1, 3), (1, 5, 2, 2)] {
            let _ = station.arrive_of(class, Time(now), job, Span(service));
        }
        let all: Vec<_> = std::iter::from_fn(|| station.depart(Time::NEVER)).collect();
        all.iter().map(|d| (d.job, d.started.0, d.at.0)).collect::<Vec<_>>()
    };
    assert_eq!(at(Discipline::Priority { preemptive: true }), [(1, 4, 7), (0, 0, 13), (2, 13, 15)]);
    assert_eq!(at(Discipline::Priority { preemptive: false }), [(0, 0, 10), (1, 10, 13), (2, 13, 15)]);
    assert_eq!(at(Discipline::Lcfs { preemptive: true }), [(2, 5, 7), (1, 4, 9), (0, 0, 15)]);
    assert_eq!(at(Discipline::Lcfs { preemptive: false }), [(0, 0, 10), (2, 10, 12), (1, 12, 15)]);
    assert_eq!(at(Discipline::LeastAttained), [(2, 5, 8), (1, 4, 9), (0, 0, 15)]);
}

/// What is modelled on one core is refused on two.
#[test]
fn some_disciplines_have_one_core() {
    let quantum = Span(1);
    let slices = Discipline::TimeSlices { quantum, helpers: 2 };
    for discipline in [Discipline::LeastAttained, Discipline::RoundRobin { quantum }, slices] {
        let refused = discipline.check(2).unwrap_err();
        assert!(refused.contains("cores = 2") && refused.contains(discipline.name()), "{refused}");
        assert_eq!(discipline.check(1), Ok(()));
    }
}
