//! Plans written out.

use std::io::{self, Write};

use sojourn_stats::Time;
use sojourn_traffic::generate::{GenerateError, Until, generate};
use sojourn_traffic::{Plan, Workload};

use crate::support::{closed, demand, first, open};

fn workload() -> Workload {
    Workload::Open(open("exponential(rate = 374 /s)", 10, "exponential(mean = 5 kB)"))
}

fn csv(until: Until) -> (u64, String) {
    let mut out = Vec::new();
    let written = generate(&workload(), 1, demand(), until, &mut out).unwrap();
    (written, String::from_utf8(out).unwrap())
}

#[test]
fn reading_it_back_gives_the_plan() {
    let (written, text) = csv(Until::requests(1000));
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("at_s,client,class,object,size_bytes,demand_s"));
    let nanoseconds = |text: &str| text.replace('.', "").parse::<u64>().unwrap();
    let mut read = 0;
    for (line, planned) in lines.zip(first(&workload(), 1, 1000)) {
        let fields: Vec<&str> = line.split(',').collect();
        let request = planned.request;
        assert_eq!(nanoseconds(fields[0]), planned.at.0);
        assert_eq!(fields[1], request.client.to_string());
        assert_eq!(fields[2], "static");
        assert_eq!(fields[3], request.object.to_string());
        assert_eq!(fields[4], request.size.to_string());
        assert_eq!(nanoseconds(fields[5]), request.demand.0);
        read += 1;
    }
    assert_eq!((written, read), (1000, 1000));
}

#[test]
fn it_ends_at_an_instant() {
    let end = Time::from_secs_f64(1.5);
    let (written, text) = csv(Until::end(end));
    let plan = Plan::new(&workload(), 1, demand()).unwrap().collect_until(end);
    assert_eq!(written, plan.len() as u64);
    assert_eq!(text.lines().count(), plan.len() + 1);
    assert_eq!(csv(Until { requests: 3, end }).0, 3);
    assert_eq!(csv(Until::requests(0)).0, 0);
}

#[test]
fn a_closed_workload_has_no_plan_to_write() {
    let error = generate(&Workload::Closed(closed(3)), 1, demand(), Until::requests(3), io::sink()).unwrap_err();
    assert!(error.to_string().contains("closed"), "{error}");
}

#[test]
fn a_full_disk_is_said() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let error = generate(&workload(), 1, demand(), Until::requests(3), Full).unwrap_err();
    assert!(matches!(error, GenerateError::Io(_)));
}
