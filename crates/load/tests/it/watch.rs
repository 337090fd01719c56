//! What a watcher is told while a run goes on.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sojourn_load::{Counts, Recent};

use crate::run::saturate;
use crate::server::{Act, Server, ok, reply};

#[test]
fn a_watcher_sees_each_reply_once_at_most_and_its_causes_of_failure() {
    // Every fiftieth reply takes 25 ms, so that the run lasts for some tellings, and every tenth is a failure.
    let server = Server::start(|asked| match asked.number {
        n if n % 50 == 0 => vec![Act::Stall(Duration::from_millis(25)), ok("x")],
        n if n % 10 == 0 => vec![reply("404 Not Found", "", "x")],
        _ => vec![ok("x")],
    });
    for watched in [true, false] {
        let mut load = saturate(server.address, 1, 1200);
        load.watched = watched;
        load.threads = 1;
        let told: Mutex<(Counts, Recent, u32)> = Mutex::default();
        let report = sojourn_load::run(load, &Arc::new(AtomicBool::new(false)), &|now| {
            let mut told = told.lock().unwrap();
            if let Some(seen) = now.seen {
                told.0 = seen.0;
                told.1.merge(&seen.1);
                told.2 += 1;
                assert!(seen.0.ok <= 1200 && seen.0.causes().iter().all(|(cause, _)| *cause == "status 4xx"));
            }
        })
        .unwrap();
        let (counts, recent, times) = told.into_inner().unwrap();
        if !watched {
            assert_eq!(times, 0);
            continue;
        }
        assert!(times > 0, "a run of 24 stalls of 25 ms is told at least once");
        assert!(counts.ok > 0 && counts.ok <= report.counts.ok);
        // What was handed over has been told; what came after the last sweep has not.
        assert!(recent.response.count() <= report.counts.ok && recent.response.count() > 0);
        assert!(recent.response.max() <= report.response.max());
    }
}
