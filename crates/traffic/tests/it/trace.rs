//! Traces: what is read, what is refused, and the plan that comes of it.

use std::sync::Arc;

use sojourn_stats::{Law, Span};
use sojourn_traffic::{Pairs, Plan, Planned, Sizes, Trace, Traced, Workload, generate};

use crate::support::{demand, first, open};

fn read(text: &str) -> Result<Trace, String> {
    Trace::read_from(text.as_bytes(), "t.csv").map_err(|e| e.to_string())
}

fn workload(trace: Trace, speed: f64, repeat: bool) -> Workload {
    Workload::Trace(Traced {
        trace: Arc::new(trace),
        path: "t.csv".into(),
        speed,
        repeat,
        clients: 10,
        sizes: Sizes::Law(Law::constant(1000.0)),
        patience: None,
    })
}

fn ms(values: &[u64]) -> Vec<Span> {
    values.iter().map(|value| Span(value * 1_000_000)).collect()
}

#[test]
fn a_column_of_gaps() {
    let trace = read("# measured\n0.010\n20 ms\n\n30000 us # slow\n").unwrap();
    assert_eq!(trace.gaps(), ms(&[10, 20, 30]));
    assert_eq!((trace.demands(), trace.sizes(), trace.span()), (None, None, Span(60_000_000)));
    let (mean, variance) = trace.gap_moments();
    assert!((mean - 0.02).abs() < 1e-15 && (variance - 200e-6 / 3.0).abs() < 1e-15, "{mean} {variance}");
    assert_eq!(read("gap_ms\n10\n20\n30\n").unwrap().gaps(), trace.gaps());
}

#[test]
fn gaps_with_demands() {
    for text in
        ["0.01,0.002\n0.02,0.004\n", "gap,demand\n10 ms,2 ms\n0.02,0.004\n", "demand_us,gap_ms\n2000,10\n4000,20\n"]
    {
        let trace = read(text).unwrap();
        assert_eq!((trace.gaps(), trace.demands()), (&ms(&[10, 20])[..], Some(&ms(&[2, 4])[..])), "{text}");
        let (mean, variance) = trace.demand_moments().unwrap();
        assert!((mean - 3e-3).abs() < 1e-15 && (variance - 1e-6).abs() < 1e-15);
    }
}

/// The records of a run: in any order, of which those without a demand and without a good reply tell nothing.
#[test]
fn the_records_of_a_run() {
    let text = "k,planned_ns,sent_ns,done_ns,demand_ns,bytes,outcome\n\
                2,30000000,30000000,36000000,0,700,ok\n\
                1,10000000,12000000,15000000,0,500,ok\n\
                3,35000000,35000000,35000001,0,0,timeout\n\
                4,40000000,,,0,0,missed\n\
                5,50000000,50000000,59000000,9000000,900,ok\n";
    let trace = read(text).unwrap();
    // From 10 to 50 ms: 20 ms and 20 ms, and their mean before the first.
    assert_eq!(trace.gaps(), ms(&[20, 20, 20]));
    assert_eq!(trace.demands(), Some(&ms(&[3, 6, 9])[..]));
    assert_eq!((trace.sizes(), trace.left_out()), (Some(&[500, 700, 900][..]), 2));
}

#[test]
fn every_mistake_names_its_line() {
    for (text, told) in [
        ("0.01\nsoon\n", "t.csv:2: `soon`"),
        ("0.01\n-0.02\n", "t.csv:2: `-0.02`"),
        ("-0.01\n0.02\n", "t.csv:1: `-0.01`"),
        ("0.01\n0.01,0.02\n", "t.csv:2: 2 fields"),
        ("0.01,1,2\n", "t.csv:1: 3 numbers"),
        ("gap,demand\n0.01,\n", "t.csv:2: ``"),
        ("a,b,c\n1,2,3\n", "t.csv:1: no column of gaps"),
        ("gap,bytes\n0.1,few\n", "t.csv:2: `few`"),
        ("", "t.csv: it is empty"),
        ("0.01\n", "at least 2"),
        ("0\n0\n", "one instant"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(told) && !error.contains('\n'), "{text:?}: {error}");
    }
    assert!(Trace::read("no/such/trace".as_ref()).unwrap_err().to_string().contains("no/such/trace"));
}

#[test]
fn the_plan_is_the_trace() {
    let trace = read("10 ms,2 ms\n20 ms,4 ms\n30 ms,0 ms\n").unwrap();
    let plan = first(&workload(trace.clone(), 1.0, false), 1, 10);
    let told = |plan: &[Planned]| plan.iter().map(|p| (p.at.0, p.request.demand.0)).collect::<Vec<_>>();
    assert_eq!(told(&plan), [(10_000_000, 2_000_000), (30_000_000, 4_000_000), (60_000_000, 0)]);
    // Twice as fast: the instants, not the work.
    let fast = first(&workload(trace.clone(), 2.0, false), 1, 10);
    assert_eq!(told(&fast), [(5_000_000, 2_000_000), (15_000_000, 4_000_000), (30_000_000, 0)]);
    // Without an end.
    let twice = first(&workload(trace.clone(), 1.0, true), 1, 6);
    assert_eq!(told(&twice)[3..], [(70_000_000, 2_000_000), (90_000_000, 4_000_000), (120_000_000, 0)]);
    assert_eq!(twice, first(&workload(trace.clone(), 1.0, true), 1, 6));
    // Without demands the server model draws them: another seed, other work at the same instants.
    let gaps = read("10 ms\n20 ms\n30 ms\n").unwrap();
    let (a, b) = (first(&workload(gaps.clone(), 1.0, false), 1, 3), first(&workload(gaps, 1.0, false), 2, 3));
    assert!(a.iter().zip(&b).all(|(a, b)| a.at == b.at) && a.iter().zip(&b).any(|(a, b)| a.request != b.request));
    for speed in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(Plan::new(&workload(trace.clone(), speed, false), 1, demand()).is_err());
    }
}

/// A plan written as CSV and read as a trace is that plan, moved so that it begins with a mean gap.
#[test]
fn a_written_plan_comes_back() {
    let source = Workload::Open(open("exponential(rate = 374 /s)", 10, "lognormal(mean = 10 kB, cv = 2)"));
    let mut csv = Vec::new();
    generate(&source, 4, demand(), generate::Until::requests(1000), &mut csv).unwrap();
    let trace = Trace::read_from(&csv[..], "plan.csv").unwrap();
    let (plan, again) = (first(&source, 4, 1000), first(&workload(trace, 1.0, false), 9, 1000));
    for (was, is) in plan.iter().zip(&again) {
        let since = |planned: &Planned, start: &Planned| planned.at - start.at;
        assert_eq!(since(was, &plan[0]), since(is, &again[0]), "{was:?} {is:?}");
        assert_eq!((was.request.demand, was.request.size), (is.request.demand, is.request.size));
    }
}

/// Pair by pair a file says what it says as a whole, packed or not; what takes sorting or has no demands is no pairs.
#[test]
fn pairs_are_read_one_by_one() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let pairs = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        Pairs::open(&path)
    };
    let packed = |text: &str| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        gzip.finish().unwrap()
    };
    for text in ["0.01,0.002\n# between\n\n0.02,0.004\n", "# first\ngap_ms,demand_ms\n10,2\n20,4 # last\n"] {
        for bytes in [text.as_bytes().to_vec(), packed(text)] {
            let read: Vec<_> = pairs(&bytes).unwrap().expect("pairs").map(Result::unwrap).collect();
            let trace = Trace::read(&path).unwrap();
            let whole: Vec<_> = trace.gaps().iter().copied().zip(trace.demands().unwrap().iter().copied()).collect();
            assert_eq!(read, whole);
            assert_eq!(read, [(Span(10_000_000), Span(2_000_000)), (Span(20_000_000), Span(4_000_000))]);
        }
    }
    assert!(pairs(b"0.01\n0.02\n").unwrap().is_none());
    assert!(pairs(b"planned_ns,demand_ns\n3,1\n1,2\n").unwrap().is_none());
    let wrong = pairs(b"1,2\n3,soon\n").unwrap().expect("pairs").last().unwrap().unwrap_err().to_string();
    assert!(wrong.contains("t.csv:2: `soon` is not a time"), "{wrong}");
    assert!(pairs(b"").err().unwrap().to_string().contains("it is empty"));
}
