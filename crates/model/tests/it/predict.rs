//! A job's response time, said when it comes.

use sojourn_model::{Discipline, Station};
use sojourn_stats::{Span, Stream, Time};

/// Under FCFS later arrivals do not matter: the prediction is exact, to the nanosecond and on any number of cores. Under
/// every other discipline it is exact without later arrivals.
#[test]
fn knowing_demands_is_exact_without_later_arrivals() {
    let disciplines = [
        (Discipline::Fcfs, 1),
        (Discipline::Fcfs, 3),
        (Discipline::Ps, 2),
        (Discipline::LimitedPs { helpers: 4 }, 1),
        (Discipline::LeastAttained, 1),
        (Discipline::RoundRobin { quantum: Span(70) }, 1),
        (Discipline::Lcfs { preemptive: true }, 1),
        (Discipline::Priority { preemptive: false }, 2),
    ];
    for (discipline, cores) in disciplines {
        let mut stream = Stream::new(4, "predict", "jobs");
        let mut station = Station::new(discipline.clone(), cores, None);
        let (mut now, mut predicted) = (0, Vec::new());
        let check = |departure: sojourn_model::Departure, predicted: &[Span]| {
            let took = departure.at - departure.arrived;
            assert_eq!(took, predicted[departure.job as usize], "{discipline:?}, job {}", departure.job);
        };
        for job in 0..2000 {
            now += stream.below(1000 / cores as usize) as u64;
            while let Some(departure) = station.depart(Time(now)) {
                if discipline == Discipline::Fcfs {
                    check(departure, &predicted);
                }
            }
            let service = Span(stream.below(900) as u64);
            predicted.push(station.predict(0, Time(now), service).expect("there is room"));
            let _ = station.arrive(Time(now), job, service);
            let mut alone = station.clone();
            let mut rest = std::iter::from_fn(|| alone.depart(Time::NEVER));
            check(rest.find(|departure| departure.job == job).expect("it leaves"), &predicted);
        }
    }
}

/// n inside and a mean of 10 ns: (n + 1) x 10 over the cores that can be used, and never less than 10.
#[test]
fn knowing_the_number_is_a_product() {
    let mut station = Station::new(Discipline::LimitedPs { helpers: 2 }, 4, Some(3));
    for (inside, expected) in [(0, 10), (1, 10), (2, 15), (3, 20)] {
        assert_eq!(station.predict_by_number(Span(10)), Span(expected));
        if inside < 3 {
            let _ = station.arrive(Time::ZERO, inside, Span(100));
        }
    }
    assert_eq!(station.predict(0, Time::ZERO, Span(1)), None, "it is full");
}
