//! Queues that drop what has waited too long, job by job.

use sojourn_model::{Admission, Discipline, Drops, Server, Station};
use sojourn_stats::{Span, Time};

fn station(newest_first: bool, drops: Drops) -> Station {
    Station::new(Discipline::Dropping { newest_first, drops }, 1, None)
}

/// Jobs 1 to 4 of 10 ns each come at 0, and their clients give them up at 10, 20, 25 and 100 ns.
fn served(newest_first: bool, drops: Drops) -> (Vec<u64>, Vec<u64>) {
    let mut station = station(newest_first, drops);
    for (job, deadline) in [(1, 10), (2, 20), (3, 25), (4, 100)] {
        station.arrive_until(Time(deadline), 0, Time(0), job, Span(10));
    }
    let (mut done, mut dropped) = (Vec::new(), Vec::new());
    while let Some(departure) = station.depart(Time(1_000)) {
        done.push(departure.job);
        dropped.extend(station.take_dropped());
    }
    assert_eq!(station.occupancy(), (0, 0));
    (done, dropped)
}

#[test]
fn what_cannot_be_done_in_time_is_not_begun() {
    // Job 3 would end at 30 ns.
    assert_eq!(served(false, Drops::TooLate), (vec![1, 2, 4], vec![3]));
    // It is not over yet at 20 ns, and is begun for nothing.
    assert_eq!(served(false, Drops::Expired), (vec![1, 2, 3, 4], vec![]));
    // After the first, the newest go first: 4 from 10 to 20 ns, then 3 and 2 would end at 30 ns.
    assert_eq!(served(true, Drops::TooLate), (vec![1, 4], vec![3, 2]));
    assert_eq!(served(true, Drops::Expired), (vec![1, 4, 3], vec![2]));
}

/// A station whose clock stood still finds the deadlines so much nearer.
#[test]
fn deadlines_go_on_while_a_server_stands_still() {
    let mut station = station(false, Drops::TooLate);
    station.arrive_until(Time(10), 0, Time(0), 1, Span(10));
    station.arrive_until(Time(30), 0, Time(0), 2, Span(10));
    station.arrive_until(Time(31), 0, Time(0), 3, Span(10));
    station.arrive_of(0, Time(0), 4, Span(10));
    // From 5 ns on for 11 ns: the clock says 10 when it is 21.
    station.stood(Span(11));
    assert_eq!(station.depart(Time(10)).unwrap().job, 1);
    assert_eq!(station.take_dropped(), [2], "it would end at 31 ns, and at 30 ns its client is gone");
    assert_eq!(station.depart(Time(20)).unwrap().job, 3);
    assert_eq!(station.depart(Time(30)).unwrap().job, 4, "what has no deadline is always served");
}

#[test]
fn a_job_that_is_cancelled_is_not_dropped() {
    let mut station = station(false, Drops::Expired);
    station.arrive_until(Time(100), 0, Time(0), 1, Span(10));
    let Admission::Admitted(ticket) = station.arrive_until(Time(5), 0, Time(0), 2, Span(10)) else { unreachable!() };
    station.arrive_until(Time(6), 0, Time(0), 3, Span(10));
    station.cancel(Time(1), ticket);
    assert_eq!(station.depart(Time(10)).unwrap().job, 1);
    assert_eq!((station.take_dropped(), station.occupancy()), (vec![3], (0, 0)));
    // One that is in service is not dropped when its deadline is over.
    station.arrive_until(Time(15), 0, Time(10), 4, Span(10));
    assert_eq!(station.depart(Time(20)).unwrap().job, 4);
}

/// While each job of an interval of 100 ns has waited more than 5 ns, those that have waited more than 10 ns are dropped.
#[test]
fn codel_drops_while_the_shortest_wait_is_too_long() {
    let mut station = station(false, Drops::CoDel { target: Span(5), interval: Span(100) });
    // 300 jobs of 10 ns come twice as fast as they are served.
    let (mut done, mut dropped) = (0, 0);
    for job in 0..300u64 {
        let now = Time(5 * job);
        while station.next_departure().is_some_and(|at| at <= now) {
            station.depart(now);
            done += 1;
        }
        dropped += station.take_dropped().len();
        station.arrive_until(Time::NEVER, 0, now, job, Span(10));
    }
    let (inside, _) = station.occupancy();
    dropped += station.take_dropped().len();
    assert_eq!(done + dropped as u32 + inside, 300);
    assert!(dropped > 100 && inside < 50, "{dropped} dropped, {inside} inside");
    // Without load it drops nothing.
    let mut calm = Station::new(
        Discipline::Dropping { newest_first: false, drops: Drops::CoDel { target: Span(5), interval: Span(100) } },
        1,
        None,
    );
    for job in 0..300u64 {
        calm.arrive_until(Time::NEVER, 0, Time(20 * job), job, Span(10));
        assert!(calm.depart(Time(20 * job + 10)).is_some());
        assert_eq!(calm.take_dropped(), [] as [u64; 0]);
    }
}

#[test]
fn a_server_file_says_what_is_dropped() {
    for text in [
        "discipline = \"fcfs\"\ndrops = \"expired\"\ncores = 2\nspeed = 1.0\ndemand = \"1 ms\"\n",
        "discipline = \"lcfs\"\ndrops = \"too-late\"\ncores = 1\nspeed = 1.0\ndemand = \"1 ms\"\n",
        "discipline = \"fcfs\"\ndrops = \"codel(5 ms, 100 ms)\"\ncores = 1\nspeed = 1.0\ndemand = \"1 ms\"\n",
        "discipline = \"fcfs\"\ncores = 1\nspeed = 1.0\nlimits = { jobs = 5, overflow = \"dropped\" }\ndemand = \"1 ms\"\n",
    ] {
        let server = Server::from_toml(text).unwrap();
        assert!(server.drops());
        assert_eq!(Server::from_toml(&server.to_toml()).unwrap(), server, "{text}");
    }
    let default = Server::from_toml("discipline = \"fcfs\"\ndrops = \"codel\"\ndemand = \"1 ms\"").unwrap();
    let drops = Drops::CoDel { target: Span(5_000_000), interval: Span(100_000_000) };
    assert_eq!(default.discipline, Discipline::Dropping { newest_first: false, drops });
    for (keys, right) in [
        ("discipline = \"ps\"\ndrops = \"expired\"", "only fcfs and lcfs"),
        ("discipline = \"lcfs\"\npreemptive = true\ndrops = \"expired\"", "only fcfs and lcfs"),
        ("discipline = \"fcfs\"\ndrops = \"expire\"", "expired"),
        ("discipline = \"fcfs\"\ndrops = \"codel(5 ms)\"", "codel(5 ms, 100 ms)"),
        ("discipline = \"fcfs\"\ndrops = \"codel(0 s, 100 ms)\"", "above 0 s"),
        ("discipline = \"fcfs\"\nlimits = { overflow = \"dropped\" }", "there is no limit"),
        ("discipline = \"fcfs\"\nlimits = { jobs = 5, overflow = \"drop\" }", "dropped"),
    ] {
        let error = Server::from_toml(&format!("{keys}\ndemand = \"1 ms\"")).unwrap_err().to_string();
        assert!(error.contains(right), "{keys}: {error}");
    }
}
