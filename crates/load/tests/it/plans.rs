//! What goes over sockets is the plan, whatever the kind of the workload: its instants, order and demands.

use std::sync::Arc;

use sojourn_load::records::RecordFile;
use sojourn_load::{Load, Schedule, Stop, Targets};
use sojourn_stats::{Law, Span, Stream};
use sojourn_traffic::{
    Arrivals, Demand, Http, Open, Plan, Planned, Profile, SessionList, Sessions, Sizes, Trace, Traced, Visitor,
    Workload,
};

use crate::run::run;
use crate::server::{Server, ok};

fn demand() -> Arc<dyn Demand> {
    Arc::new(|_: u8, size: u64, stream: &mut Stream| Span(size + stream.below(1000) as u64))
}

fn open(arrivals: Arrivals, sizes: &str) -> Workload {
    Workload::Open(Open { arrivals, clients: 50, sizes: Sizes::parse(sizes).unwrap(), patience: None })
}

fn kinds() -> Vec<(&'static str, Workload)> {
    let arrivals = |text: &str| Arrivals::parse(text).unwrap();
    let pairs: String = (0..300).map(|k| format!("{} us,{} us\n", 100 + k % 7 * 300, 10 + k % 5)).collect();
    let trace = Traced {
        trace: Arc::new(Trace::read_from(pairs.as_bytes(), "t").unwrap()),
        path: "t".into(),
        speed: 1.5,
        repeat: false,
        clients: 50,
        sizes: Sizes::Law(Law::constant(100.0)),
        patience: None,
    };
    let pareto = "pareto(alpha = 1.4, mean = 1 s)";
    let on_off = format!("on-off(sources = 50, on = {pareto}, off = exponential(mean = 1 s), rate = 800 /s)");
    let profile = Profile::parse("steps(0.2, 2, 1, every = 100 ms)").unwrap();
    vec![
        ("batches", open(arrivals("batches(n = 20, every = 20 ms)"), "webstone")),
        (
            "profile",
            open(arrivals("exponential(rate = 800 /s)").with_profile(profile), "uniform(low = 1 B, high = 1 kB)"),
        ),
        ("trace", Workload::Trace(trace)),
        (
            "fgn",
            open(arrivals("fgn(h = 0.8, rate = 800 /s, marginal = weibull(shape = 0.7), length = 4096)"), "webstone"),
        ),
        ("on-off", open(arrivals(&on_off), "webstone")),
    ]
}

#[test]
fn every_kind_is_sent_as_planned() {
    for (kind, workload) in kinds() {
        let plan: Vec<Planned> = Plan::new(&workload, 3, demand()).unwrap().take(300).collect();
        let server = Server::start(|_| vec![ok("x")]);
        let schedule = Schedule::open(Plan::new(&workload, 3, demand()).unwrap());
        let mut load = Load::new(server.address, "test", schedule, Targets::Work);
        load.stop = Stop::Requests(300);
        load.keep_records = true;
        let report = run(load);
        assert_eq!((report.counts.planned, report.counts.ok), (300, 300), "{kind}");
        let records = report.records.unwrap();
        for (record, planned) in records.iter().zip(&plan) {
            let Planned { at, request } = *planned;
            assert_eq!((record.planned, record.client, record.demand), (at, request.client, request.demand), "{kind}");
            assert!(record.sent.is_some_and(|sent| sent >= at), "{kind}: {record:?}");
        }
        // Connections are many, so what came is compared as a set: of client, bytes and demand.
        let mut came = server.heads();
        let mut sent: Vec<String> = plan.iter().map(|planned| head(&planned.request)).collect();
        came.iter_mut().for_each(|head| *head = told(head));
        came.sort_unstable();
        sent.sort_unstable();
        assert_eq!(came, sent, "{kind}");
    }
}

/// The records of a run are a trace of it: the same requests between the same instants, with the demands they carried.
#[test]
fn the_records_of_a_run_can_be_replayed() {
    let (_, workload) = kinds().remove(1);
    let plan: Vec<Planned> = Plan::new(&workload, 3, demand()).unwrap().take(300).collect();
    let server = Server::start(|_| vec![ok("x")]);
    let schedule = Schedule::open(Plan::new(&workload, 3, demand()).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.csv");
    let mut load = Load::new(server.address, "test", schedule, Targets::Work);
    (load.stop, load.record_file) = (Stop::Requests(300), Some(RecordFile::new(&path)));
    assert_eq!(run(load).counts.ok, 300);
    let trace = Trace::read(&path).unwrap();
    let demands: Vec<Span> = plan.iter().map(|planned| planned.request.demand).collect();
    assert_eq!((trace.demands(), trace.left_out()), (Some(&demands[..]), 0));
    assert!(trace.gaps()[1..].iter().zip(plan.windows(2)).all(|(gap, pair)| *gap == pair[1].at - pair[0].at));
}

/// Sessions as written down come at their instants and ask for their bursts in order.
#[test]
fn written_sessions_are_sent_as_planned() {
    let text = "/a think=0.002\n  /b\n  /c\n/d\n\n/e think=0.001\n/a\n";
    let list = SessionList::parse(text, "s").unwrap();
    let arrivals = Arrivals::parse("exponential(rate = 500 /s)").unwrap();
    let sessions = Sessions::written(list, 40, arrivals, Law::constant(0.0), &Law::constant(100.0), 1).unwrap();
    let server = Server::start(|_| vec![ok("x")]);
    let visitors: Vec<Visitor> = (0..40).map(|user| Visitor::new(&sessions, user, 3, demand())).collect();
    let http = Http::V11 { keep_alive: Span(10_000_000_000) };
    let schedule = Schedule::sessions(visitors.into_iter(), sessions.parallel, http);
    let mut load = Load::new(server.address, "test", schedule, Targets::Paths(sessions.site.paths().to_vec()));
    load.stop = Stop::After(Span(60_000_000_000));
    load.keep_records = true;
    let report = run(load);
    assert!(report.elapsed_s < 60.0, "the run ends when the last session has left");
    // 20 sessions of two bursts with 4 calls in all, and 20 of two with 2.
    assert_eq!((report.counts.planned, report.counts.ok), (120, 120));
    let objects = report.objects.unwrap();
    assert_eq!(objects.counts.ok, 80);
    let instants = sessions.written.as_ref().unwrap().instants(40, 3);
    for record in objects.records.unwrap().iter().filter(|record| record.first) {
        assert_eq!(record.planned, instants[record.client as usize], "session {}", record.client);
    }
    let heads = server.heads();
    for client in 0..40 {
        let mark = format!("x-sojourn-client: {client}\r\n");
        let path = |head: &String| head[4..6].to_owned();
        let mut asked: Vec<String> = heads.iter().filter(|head| head.contains(&mark)).map(path).collect();
        // The rest of a burst comes in any order.
        if let Some(burst) = asked.get_mut(1..3) {
            burst.sort_unstable();
        }
        let expected = if client % 2 == 0 { vec!["/a", "/b", "/c", "/d"] } else { vec!["/e", "/a"] };
        assert_eq!(asked, expected, "session {client}");
    }
}

fn head(request: &sojourn_traffic::Request) -> String {
    format!("{} {} {}", request.client, request.size, request.demand.0)
}

/// The same of a request's head as it came.
fn told(head: &str) -> String {
    let after = |mark: &str| {
        let rest = head.split_once(mark).unwrap_or_else(|| panic!("no `{mark}` in {head}")).1;
        rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default().to_owned()
    };
    format!("{} {} {}", after("x-sojourn-client: "), after("bytes="), after("x-sojourn-demand: "))
}
