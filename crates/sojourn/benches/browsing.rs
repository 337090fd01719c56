//! What 960 of SURGE's users cost the client: its share of a core at their own pace, with persistent connections and
//! with one per file, against nginx on the loopback interface. Needs `nginx`.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sojourn_load::{Load, Schedule, Stop, Targets};
use sojourn_stats::{Span, Stream};
use sojourn_traffic::{Demand, Http, Sessions, Site, SiteLaw, Visitor};

mod nginx;
mod peers;

use nginx::Nginx;

const USERS: u32 = 960;
const SECONDS: f64 = 20.0;
/// They have all begun by then.
const WARM_UP: f64 = 5.0;
/// What they may cost, in cores.
const CEILING: f64 = 0.5;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    peers::need(&["nginx"])?;
    let site = Arc::new(Site::generate(&SiteLaw::surge(), 1)?);
    let nginx = Nginx::start("off", |folder| site.write(folder))?;
    let sessions = Sessions::surge(USERS, Arc::clone(&site));
    let mut most: f64 = 0.0;
    for http in [sessions.http, Http::V10] {
        let demand: Arc<dyn Demand> = Arc::new(|_: u8, _: u64, _: &mut Stream| Span::ZERO);
        let visitors = (0..USERS).map(|user| Visitor::new(&sessions, user, 1, Arc::clone(&demand)));
        let schedule = Schedule::sessions(visitors, sessions.parallel, http);
        let mut load = Load::new(nginx.address, "bench", schedule, Targets::Paths(site.paths().to_vec()));
        load.stop = Stop::After(Span::from_secs_f64(SECONDS));
        load.warm_up = Span::from_secs_f64(WARM_UP);
        let report = sojourn_load::run(load, &Arc::new(AtomicBool::new(false)), &|_| {})?;
        let cores = report.client_cpu_s / report.elapsed_s;
        most = most.max(cores);
        let rate = |metric| report.value(metric).unwrap_or(0.0);
        println!(
            "{http:?}: {:.0} objects/s, {:.0} files/s, {:.1} MB/s; client {cores:.3} of a core, {:.1} us per file; \
             {} connections; late p99 {:.2} ms; {:?}",
            rate("throughput"),
            rate("file_throughput"),
            rate("byte_throughput") * 1e-6,
            report.client_cpu_s * 1e6 / report.counts.planned as f64,
            report.connections.opened,
            rate("lateness_p99") * 1e3,
            report.verdict
        );
    }
    if most > CEILING {
        return Err(format!("{most:.2} of a core is above the ceiling of {CEILING}").into());
    }
    Ok(())
}
