//! What must hold of every station.

use sojourn_model::{Admission, Departure, Discipline, Station, Ticket};
use sojourn_stats::{Span, Stream, Time};

fn admitted(admission: Admission) -> Ticket {
    match admission {
        Admission::Admitted(ticket) => ticket,
        Admission::Denied => panic!("there was room"),
    }
}

fn drain(station: &mut Station) -> Vec<Departure> {
    std::iter::from_fn(|| station.depart(Time::NEVER)).collect()
}

/// The classic bug of time-shared simulators: 100 jobs of one second sharing a core ended at 99.5 s and 1000 at 915 s
/// (CloudSim, issue 14), because what rounding took was never given back.
#[test]
fn jobs_sharing_a_core_end_when_their_work_is_done() {
    for jobs in [2, 3, 7, 100, 1000] {
        let mut station = Station::new(Discipline::Ps, 1, None);
        for job in 0..jobs {
            admitted(station.arrive(Time::ZERO, job, Span::from_secs_f64(1.0)));
        }
        let departures = drain(&mut station);
        let order: Vec<_> = departures.iter().map(|departure| departure.job).collect();
        assert_eq!(order, (0..jobs).collect::<Vec<_>>(), "equal jobs leave in order of arrival");
        for departure in departures {
            assert_eq!(departure.at, Time(jobs * 1_000_000_000), "{jobs} jobs");
        }
    }
}

/// Over a million jobs, whatever the sharing, the core time spent is the work brought, within a nanosecond per job (each
/// departure is rounded up to the next one), and no job is ever short of its work.
#[test]
fn no_work_is_lost_over_a_million_jobs() {
    let quantum = Span(100_000);
    let disciplines = [
        (Discipline::Fcfs, 3),
        (Discipline::Ps, 3),
        (Discipline::LimitedPs { helpers: 7 }, 3),
        (Discipline::LeastAttained, 1),
        (Discipline::RoundRobin { quantum }, 1),
        (Discipline::Lcfs { preemptive: false }, 3),
        (Discipline::Lcfs { preemptive: true }, 3),
        (Discipline::Priority { preemptive: false }, 3),
        (Discipline::Priority { preemptive: true }, 3),
    ];
    for (discipline, most_cores) in disciplines {
        // What is shared is in fixed point; whole nanoseconds are never rounded.
        let shared = matches!(discipline, Discipline::Ps | Discipline::LimitedPs { .. } | Discipline::LeastAttained);
        for cores in [1, most_cores] {
            let mut station = Station::new(discipline.clone(), cores, None);
            let mut stream = Stream::new(2, "source", "work");
            let (mut now, mut work, mut departed) = (0u64, 0u64, 0u64);
            let jobs = 1_000_000;
            for job in 0..jobs {
                now += stream.below(2_000_003 / cores as usize) as u64;
                while let Some(departure) = station.depart(Time(now)) {
                    departed += 1;
                    assert!(departure.arrived <= departure.started && departure.started <= departure.at);
                }
                let service = stream.below(1_800_000) as u64;
                work += service;
                admitted(station.arrive_of((job % 3) as u8, Time(now), job, Span(service)));
            }
            let rest = drain(&mut station);
            departed += rest.len() as u64;
            assert_eq!(departed, jobs);
            assert_eq!(station.occupancy(), (0, 0));
            let busy = station.busy(rest.last().unwrap().at).0;
            // With several cores a departure rounded up keeps up to `cores` of them for less than a nanosecond.
            let slack = if shared { jobs * u64::from(cores) } else { 0 };
            // Up to 2^-16 ns of work left counts as none: 16 ns over a million jobs.
            let forgiven = if shared { jobs >> 16 } else { 0 };
            assert!(busy + forgiven >= work, "{discipline:?}, {cores} cores: {} ns of work were lost", work - busy);
            assert!(busy <= work + slack, "{discipline:?}, {cores} cores: {} ns too many", busy - work);
        }
    }
}

/// One helper is FCFS and helpers without end are PS, departure by departure.
#[test]
fn limited_sharing_ends_in_fcfs_and_ps() {
    for (limited, plain) in [(1, Discipline::Fcfs), (u32::MAX, Discipline::Ps)] {
        let mut stations =
            [Station::new(Discipline::LimitedPs { helpers: limited }, 1, None), Station::new(plain, 1, None)];
        let mut stream = Stream::new(3, "source", "work");
        let mut now = 0;
        for job in 0..20_000 {
            now += stream.below(1000) as u64;
            let service = Span(stream.below(900) as u64);
            let [left, right] = &mut stations;
            loop {
                let departure = left.depart(Time(now));
                assert_eq!(departure, right.depart(Time(now)));
                if departure.is_none() {
                    break;
                }
            }
            for station in &mut stations {
                admitted(station.arrive(Time(now), job, service));
            }
        }
        let [left, right] = &mut stations;
        assert_eq!(drain(left), drain(right));
    }
}

#[test]
fn fcfs_leaves_in_order_and_known_from_the_start() {
    let mut station = Station::new(Discipline::Fcfs, 1, None);
    admitted(station.arrive(Time(10), 0, Span(5)));
    admitted(station.arrive(Time(11), 1, Span(7)));
    admitted(station.arrive(Time(11), 2, Span(0)));
    assert_eq!(station.next_departure(), Some(Time(15)));
    assert_eq!(station.occupancy(), (3, 1));
    assert_eq!(station.depart(Time(14)), None);
    let departures = drain(&mut station);
    let times: Vec<_> = departures.iter().map(|d| (d.job, d.arrived.0, d.started.0, d.at.0)).collect();
    assert_eq!(times, [(0, 10, 10, 15), (1, 11, 15, 22), (2, 11, 22, 22)]);
    assert_eq!(station.busy(Time(30)), Span(12));
    assert_eq!(station.next_departure(), None);
}

/// Departures are at the station's own instants, even if the caller takes them late.
#[test]
fn a_late_look_changes_nothing() {
    let mut station = Station::new(Discipline::Ps, 1, None);
    admitted(station.arrive(Time(0), 0, Span(10)));
    admitted(station.arrive(Time(0), 1, Span(20)));
    let late: Vec<_> = std::iter::from_fn(|| station.depart(Time(1_000_000))).map(|d| d.at.0).collect();
    assert_eq!(late, [20, 30]);
}

#[test]
fn a_full_station_denies_until_a_job_leaves() {
    let mut station = Station::new(Discipline::LimitedPs { helpers: 2 }, 1, Some(3));
    for job in 0..3 {
        admitted(station.arrive(Time(0), job, Span(10)));
    }
    assert_eq!(station.arrive(Time(1), 3, Span(10)), Admission::Denied);
    assert_eq!(station.occupancy(), (3, 2));
    assert_eq!(station.depart(Time(20)).unwrap().at, Time(20));
    let ticket = admitted(station.arrive(Time(20), 4, Span(10)));
    station.cancel(Time(20), ticket);
    admitted(station.arrive(Time(20), 5, Span(10)));
}

/// A job that is given up makes room at once, and the others speed up; its work until then counts as busy time.
#[test]
fn cancelling_makes_room() {
    let mut station = Station::new(Discipline::LimitedPs { helpers: 2 }, 1, None);
    let first = admitted(station.arrive(Time(0), 0, Span(100)));
    admitted(station.arrive(Time(0), 1, Span(100)));
    admitted(station.arrive(Time(0), 2, Span(5)));
    station.cancel(Time(10), first);
    // Job 1 got 5 of its 100, job 2 starts now: 5 each at half speed is 10 ns.
    let departures = drain(&mut station);
    let times: Vec<_> = departures.iter().map(|d| (d.job, d.started.0, d.at.0)).collect();
    assert_eq!(times, [(2, 10, 20), (1, 0, 110)]);
    assert_eq!(station.busy(Time(110)), Span(110));
}

/// Cancelled jobs leave no trace, also when most of a large heap was cancelled.
#[test]
fn many_cancelled_jobs_cost_nothing_later() {
    let mut station = Station::new(Discipline::Ps, 1, None);
    let tickets: Vec<_> = (0..10_000).map(|job| admitted(station.arrive(Time(0), job, Span(1 + job)))).collect();
    for ticket in &tickets[..9_999] {
        station.cancel(Time(0), *ticket);
    }
    assert_eq!(station.occupancy(), (1, 1));
    assert_eq!(station.next_departure(), Some(Time(10_000)));
    let last = drain(&mut station);
    assert_eq!(last.len(), 1);
    station.cancel(Time(10_000), tickets[9_999]);
    assert_eq!(station.occupancy(), (0, 0));
}

/// With idle cores a job gets a whole one, and no more.
#[test]
fn a_job_uses_at_most_one_core() {
    for discipline in [Discipline::Fcfs, Discipline::Ps] {
        let mut station = Station::new(discipline.clone(), 4, None);
        for job in 0..4 {
            admitted(station.arrive(Time(0), job, Span(100)));
        }
        assert!(drain(&mut station).iter().all(|departure| departure.at == Time(100)), "{discipline:?}");
        assert_eq!(station.busy(Time(100)), Span(400));
    }
}

/// Very long runs do not overflow: a hundred years with a thousand jobs.
#[test]
fn a_century_does_not_overflow() {
    let century = Span(100 * 365 * 24 * 3600 * 1_000_000_000);
    let mut station = Station::new(Discipline::Ps, 2, None);
    for job in 0..4 {
        admitted(station.arrive(Time(0), job, century));
    }
    let departures = drain(&mut station);
    assert_eq!(departures.last().unwrap().at, Time(2 * century.0));
}
