//! Least attained service by its definition, in exact fractions: at every instant those inside with the least work done
//! share the core equally. A job leaves at the first whole nanosecond at which less than 2^-16 ns of its work is left.

use sojourn_model::{Admission, Departure, Discipline, Station, Ticket};
use sojourn_stats::{Span, Stream, Time};

/// A fraction in lowest terms; none where it does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fraction(i128, i128);

impl Fraction {
    const ZERO: Fraction = Fraction(0, 1);

    fn of(numerator: i128, denominator: i128) -> Fraction {
        let (mut a, mut b) = (numerator.abs(), denominator);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Fraction(numerator / a.max(1), denominator / a.max(1))
    }

    fn whole(number: u64) -> Fraction {
        Fraction(i128::from(number), 1)
    }

    fn plus(self, other: Fraction) -> Option<Fraction> {
        let (left, right) = (self.0.checked_mul(other.1)?, other.0.checked_mul(self.1)?);
        Some(Fraction::of(left.checked_add(right)?, self.1.checked_mul(other.1)?))
    }

    fn minus(self, other: Fraction) -> Option<Fraction> {
        self.plus(Fraction(-other.0, other.1))
    }

    fn times(self, numerator: i128, denominator: i128) -> Option<Fraction> {
        Some(Fraction::of(self.0.checked_mul(numerator)?, self.1.checked_mul(denominator)?))
    }

    fn less(self, other: Fraction) -> Option<bool> {
        Some(self.minus(other)?.0 < 0)
    }

    fn up(self) -> u64 {
        (self.0 + self.1 - 1).div_euclid(self.1) as u64
    }
}

#[derive(Clone)]
struct Job {
    number: u64,
    arrived: u64,
    demand: u64,
    attained: Fraction,
}

#[derive(Clone)]
struct Definition {
    clock: Fraction,
    jobs: Vec<Job>,
}

impl Definition {
    /// The least work done, by how many, and the least beyond it.
    fn front(&self) -> Option<(Fraction, i128, Option<Fraction>)> {
        let mut least = self.jobs.first()?.attained;
        for job in &self.jobs {
            if job.attained.less(least)? {
                least = job.attained;
            }
        }
        let mut next: Option<Fraction> = None;
        for job in self.jobs.iter().filter(|job| job.attained != least) {
            if next.is_none_or(|next| job.attained.less(next).unwrap_or(true)) {
                next = Some(job.attained);
            }
        }
        Some((least, self.jobs.iter().filter(|job| job.attained == least).count() as i128, next))
    }

    /// Serves up to `until`; none where the fractions do not fit.
    fn advance(&mut self, until: Fraction) -> Option<()> {
        while !self.jobs.is_empty() && self.clock.less(until)? {
            let (least, count, next) = self.front()?;
            let mut time = until.minus(self.clock)?;
            if let Some(next) = next {
                let join = next.minus(least)?.times(count, 1)?;
                if join.less(time)? {
                    time = join;
                }
            }
            let level = least.plus(time.times(1, count)?)?;
            self.jobs.iter_mut().filter(|job| job.attained == least).for_each(|job| job.attained = level);
            self.clock = self.clock.plus(time)?;
        }
        self.clock = until;
        Some(())
    }

    /// When the next job leaves, and which.
    fn next(&self) -> Option<Option<(u64, usize)>> {
        let mut ahead = self.clone();
        if ahead.jobs.is_empty() {
            return Some(None);
        }
        loop {
            let (least, count, next) = ahead.front()?;
            let mut first: Option<(Fraction, usize)> = None;
            for (place, job) in ahead.jobs.iter().enumerate().filter(|(_, job)| job.attained == least) {
                let enough = Fraction::of(i128::from(job.demand) * 65_536 - 1, 65_536);
                let mut left = enough.minus(least)?.times(count, 1)?;
                if left.0 < 0 {
                    left = Fraction::ZERO;
                }
                if first.is_none_or(|(other, _)| left.less(other) == Some(true)) {
                    first = Some((left, place));
                }
            }
            let (left, place) = first?;
            let join = match next {
                Some(next) => Some(next.minus(least)?.times(count, 1)?),
                None => None,
            };
            if join.is_none_or(|join| join.less(left) != Some(true)) {
                return Some(Some((ahead.clock.plus(left)?.up(), place)));
            }
            ahead.advance(ahead.clock.plus(join?)?)?;
        }
    }

    fn depart(&mut self, now: u64) -> Option<Option<Departure>> {
        let Some((at, place)) = self.next()?.filter(|(at, _)| *at <= now) else { return Some(None) };
        self.advance(Fraction::whole(at))?;
        let Job { number, arrived, .. } = self.jobs.remove(place);
        let (arrived, at) = (Time(arrived), Time(at));
        Some(Some(Departure { job: number, arrived, started: arrived, at }))
    }
}

/// One random case; none where the fractions do not fit any more. `departed` counts what was compared.
fn play(case: u64, stream: &mut Stream, departed: &mut u64) -> Option<()> {
    let mut definition = Definition { clock: Fraction::ZERO, jobs: Vec::new() };
    let mut station = Station::new(Discipline::LeastAttained, 1, Some(5));
    let mut tickets: Vec<(u64, Ticket)> = Vec::new();
    let (mut now, spread) = (0, 4 + stream.below(20));
    for number in 0..60 {
        now += stream.below(spread) as u64;
        let label = format!("case {case}, at {now}");
        let (mut expected, mut got) = (Vec::new(), Vec::new());
        while let Some(departure) = definition.depart(now)? {
            expected.push(departure);
        }
        definition.advance(Fraction::whole(now))?;
        got.extend(std::iter::from_fn(|| station.depart(Time(now))));
        *departed += got.len() as u64;
        expected.sort_by_key(|d| (d.at, d.job));
        got.sort_by_key(|d| (d.at, d.job));
        assert_eq!(got, expected, "{label}");
        if stream.below(8) == 0 && !tickets.is_empty() {
            let (job, ticket) = tickets.swap_remove(stream.below(tickets.len()));
            station.cancel(Time(now), ticket);
            station.cancel(Time(now), ticket);
            definition.jobs.retain(|other| other.number != job);
            continue;
        }
        let service = stream.below(20) as u64;
        match station.arrive(Time(now), number, Span(service)) {
            Admission::Admitted(ticket) => {
                tickets.push((number, ticket));
                definition.jobs.push(Job { number, arrived: now, demand: service, attained: Fraction::ZERO });
            }
            Admission::Denied => assert_eq!(definition.jobs.len(), 5, "{label}"),
        }
        let next = definition.next()?.map(|(at, _)| Time(at));
        assert_eq!(station.next_departure(), next, "{label}, after {number}");
    }
    Some(())
}

#[test]
fn agrees_with_the_definition_on_random_small_cases() {
    let mut stream = Stream::new(3, "least attained", "cases");
    let (mut whole, mut departed) = (0, 0);
    for case in 0..2000 {
        whole += u32::from(play(case, &mut stream, &mut departed).is_some());
    }
    assert!(whole > 1000 && departed > 40_000, "{whole} cases to their end, {departed} departures");
}

/// Equal demands that come together are processor sharing; a short job goes before all the long ones.
#[test]
fn the_front_shares_and_goes_first() {
    let mut station = Station::new(Discipline::LeastAttained, 1, None);
    for job in 0..3 {
        let _ = station.arrive(Time(0), job, Span(1000));
    }
    assert_eq!(station.next_departure(), Some(Time(3000)));
    assert_eq!(station.occupancy(), (3, 3));
    // 300 ns each so far: a fourth job has the core for its 100 ns, as none of them has so little.
    let _ = station.arrive(Time(900), 3, Span(100));
    assert_eq!(station.occupancy(), (4, 1));
    let all: Vec<_> = std::iter::from_fn(|| station.depart(Time::NEVER)).map(|d| (d.job, d.at.0)).collect();
    assert_eq!(all, [(3, 1000), (0, 3100), (1, 3100), (2, 3100)]);
}
