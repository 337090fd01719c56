//! How fast are users who browse? Files and simulated seconds per second and core: 640 users, four servers as Zhang
//! (2002) fitted them (delay curves, Tables 4.5 to 4.7), a gateway, 600 s, with all assertions on.
//!
//! `cargo bench --profile dev -p sojourn-sim --bench sessions`

use std::hint::black_box;
use std::sync::Arc;

use sojourn_model::system::{Affinity, Attachment, Face, Tier};
use sojourn_model::{Balancing, ClusterNetwork, Mode, Server, System, Tcp};
use sojourn_sim::{Control, Report, WarmUp, run};
use sojourn_stats::Span;
use sojourn_traffic::{Sessions, Site, SiteLaw, Workload};

const ROUNDS: usize = 3;
const USERS: u32 = 640;
const SECONDS: u64 = 600;
const CURVE: &str = include_str!("../../../experiments/zhang-2002/servers/apache-1.143.toml");

#[allow(clippy::print_stdout, reason = "a bench answers on the terminal")]
#[allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
fn main() {
    let site = Arc::new(Site::generate(&SiteLaw::surge(), 1).expect("a site"));
    println!("{:<44}{:>14}{:>14}{:>14}", "640 users, 4 delay curves, 600 s", "us per file", "files", "sim s per s");
    let rows = [
        ("round-robin", Mode::Nat, 100e6),
        ("least-connections", Mode::Nat, 100e6),
        ("round-trip(window = 1 s)", Mode::Nat, 100e6),
        ("transmitted-size(window = 1 s)", Mode::MacForwarding, 100e6),
        ("round-robin", Mode::Nat, 10e6),
    ];
    for (policy, mode, cluster_rate) in rows {
        let cluster = cluster(&site, policy, mode, cluster_rate);
        let mut best_s = f64::INFINITY;
        let mut files = 0.0;
        for _ in 0..ROUNDS {
            let start = std::time::Instant::now();
            let report = black_box(simulate(&cluster));
            best_s = best_s.min(start.elapsed().as_secs_f64());
            files = value(&report, "file_throughput") * (2 * SECONDS) as f64;
        }
        let label = format!("{policy}, {}, {} Mbit/s", mode.name(), cluster_rate / 1e6);
        let speed = (2 * SECONDS) as f64 / best_s;
        println!("{label:<44}{:>14.3}{files:>14.0}{speed:>14.0}", best_s / files * 1e6);
    }
}

fn cluster(site: &Arc<Site>, policy: &str, mode: Mode, cluster_rate: f64) -> (System, Workload) {
    let server = Server::from_toml(CURVE).expect("a server model");
    let tier = Tier {
        polled: Some(Span(1_000_000_000)),
        affinity: Affinity::Session,
        attachment: Attachment::Session,
        balancing: Balancing { mode, per_packet: Span(75_000), per_connection: Span::ZERO, cores: None },
        ..Tier::new(Face::Gateway, policy)
    };
    let network = ClusterNetwork {
        rtt: Span(1_581_000),
        server_rtt: Span::ZERO,
        client_rate: Some(10e6),
        cluster_rate: Some(cluster_rate),
        backbone_rate: Some(1e9),
        server_rate: None,
        tcp: Tcp { segment: 1000, initial_window: 1, acks_per_segment: 1.0, ..Tcp::default() },
    };
    let system = System { network, ..System::balanced(tier, vec![server; 4]) };
    (system, Workload::Sessions(Sessions::surge(USERS, Arc::clone(site))))
}

/// Two replications on one thread.
fn simulate((system, workload): &(System, Workload)) -> Report {
    let control = Control {
        warm_up: WarmUp::Auto,
        horizon: Some(Span(SECONDS * 1_000_000_000)),
        precision: None,
        replications: 2,
        ..Control::default()
    };
    run(system, workload, &control, &|_| {}).expect("a sound system")
}

fn value(report: &Report, metric: &str) -> f64 {
    let measure = report.measures.iter().find(|measure| measure.metric == metric);
    measure.and_then(|measure| measure.estimate.value()).expect("a metric with a value")
}
