//! A policy in twenty lines, simulated beside built-in ones: `cargo run -p sojourn-sim --example own_policy_simulated`.
//!
//! Least loaded of two neighbours: a server drawn and the next one, so that one random number does for both. Twelve
//! servers are 90 % busy; how much is lost against two independent draws, and against a look at all servers?

use sojourn_dispatch::{Ask, BackendId, Catalogue, Code, Decision, Policy, Reason, Signals};
use sojourn_model::system::{Face, Tier};
use sojourn_model::{Server, System};
use sojourn_sim::{Control, run};
use sojourn_stats::{Law, Stream};
use sojourn_traffic::{Arrivals, Open, Sizes, Workload};

struct TwoNeighbours;

impl Policy for TwoNeighbours {
    fn requires(&self) -> Signals {
        Signals::IN_FLIGHT
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        let servers = ask.table.eligible();
        let first = draw.below(servers.len().max(1));
        let pair = servers.iter().cycle().skip(first).take(2).copied();
        let load = |id: &BackendId| ask.table.load(*id);
        match pair.filter(|id| ask.may_choose(*id)).min_by_key(load) {
            Some(id) => Decision::forward(id, Reason { code: Code::Own, ties: 1, value: load(&id).into() }),
            None => Decision::forward_or_refuse(ask.table.draw(ask.tried, draw)),
        }
    }
}

#[expect(clippy::print_stdout, reason = "an example prints its result")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut catalogue = Catalogue::default();
    catalogue.add("two-neighbours", "fewest in flight of a server drawn and the next one", |_| {
        Ok(Box::new(TwoNeighbours))
    })?;
    let control = Control { catalogue, max_jobs: 2_000_000, ..Control::default() };

    let server = Server::from_toml("discipline = \"fcfs\"\ndemand = \"exponential(mean = 10 ms)\"")?;
    let arrivals = Arrivals::parse("exponential(rate = 1080 /s)")?;
    let sizes = Sizes::Law(Law::constant(1000.0));
    let workload = Workload::Open(Open { arrivals, clients: 1, sizes, patience: None });

    for policy in ["random", "two-neighbours", "power-of-d(d = 2)", "least-connections"] {
        let system = System::balanced(Tier::new(Face::Gateway, policy), vec![server.clone(); 12]);
        let report = run(&system, &workload, &control, &|_| {})?;
        let mean = report.measures.iter().find(|measure| measure.metric == "response_time_mean");
        let (low, high) = mean.and_then(|mean| mean.estimate.interval()).ok_or("too few requests")?;
        println!("{policy:18} response time {:5.1} to {:5.1} ms", 1e3 * low, 1e3 * high);
    }
    Ok(())
}
