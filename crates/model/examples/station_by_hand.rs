//! A station by hand, without a simulator: `cargo run -p sojourn-model --example station_by_hand`.
//!
//! Three jobs of 30, 10 and 10 ms come to one core at 0, 5 and 12 ms. Each discipline lets them leave at other times,
//! and the core is busy for 50 ms under all of them.

use sojourn_model::{Discipline, Station};
use sojourn_stats::{Span, Time};

#[expect(clippy::print_stdout, reason = "an example prints its result")]
fn main() {
    let arrivals = [(0, 30), (5, 10), (12, 10)].map(|(at, service)| (Time::ZERO + ms(at), ms(service)));
    for discipline in [Discipline::Fcfs, Discipline::Ps, Discipline::LeastAttained] {
        let name = discipline.name();
        let mut station = Station::new(discipline, 1, None);
        let mut left = Vec::new();
        for (job, (at, service)) in (1..).zip(arrivals) {
            // A departure at the instant of an arrival comes first: it makes room.
            left.extend(std::iter::from_fn(|| station.depart(at)));
            station.arrive(at, job, service);
        }
        left.extend(std::iter::from_fn(|| station.depart(Time::NEVER)));
        let end = left.last().expect("three jobs leave").at;
        assert_eq!(station.busy(end), ms(50));
        for departure in left {
            let response_time = departure.at - departure.arrived;
            println!("{name}: job {} leaves at {}, after {response_time}", departure.job, departure.at);
        }
    }
}

fn ms(number: u64) -> Span {
    Span(number * 1_000_000)
}
