//! What would happen? A discrete-event simulator of web server systems.
//!
//! Requests of an open plan or of closed users come over their clients' links to a balancer, which sends each to one of
//! the servers; replies come back the same way. The plan is `traffic`'s, the server `model`'s and the balancer
//! `dispatch`'s: the very objects that run live. This crate adds the order of events, and from the counts a [`Report`]
//! of numbers with intervals. It knows no formula.
//!
//! # 1. A system and its clients
//!
//! [`run`] simulates a [`Workload`](sojourn_traffic::Workload) at a [`System`](sojourn_model::System), and [`Control`] says
//! for how long: here until the response times are known to 5 %. Every number has an interval.
//!
//! ```
//! use sojourn_model::system::{Face, Tier};
//! use sojourn_model::{Server, System};
//! use sojourn_sim::{Control, run};
//! use sojourn_stats::Law;
//! use sojourn_traffic::{Arrivals, Open, Sizes, Workload};
//!
//! let arrivals = Arrivals::parse("exponential(rate = 320 /s)")?;
//! let sizes = Sizes::Law(Law::constant(1000.0));
//! let workload = Workload::Open(Open { arrivals, clients: 1, sizes, patience: None });
//! let server = Server::from_toml("discipline = \"fcfs\"\ndemand = \"exponential(mean = 10 ms)\"")?;
//!
//! let response_time = |policy: &str| {
//!     let system = System::balanced(Tier::new(Face::Gateway, policy), vec![server.clone(); 4]);
//!     let report = run(&system, &workload, &Control::default(), &|_| {})?;
//!     assert!(report.converged);
//!     let mean = report.measures.iter().find(|measure| measure.metric == "response_time_mean");
//!     Ok::<_, sojourn_sim::SimError>(mean.expect("it is always measured").estimate.interval().expect("it is sharp"))
//! };
//! let (least_connections, random) = (response_time("least-connections")?, response_time("random")?);
//! assert!(2.0 * least_connections.1 < random.0, "{least_connections:?} s and {random:?} s");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 2. A policy of your own
//!
//! Policies are those of `sojourn_dispatch`. Add one to a [`Catalogue`](sojourn_dispatch::Catalogue), hand that over as
//! [`Control::catalogue`], and tiers can name it. What the policy requires and the tier's face cannot know is refused before
//! the run. `examples/own_policy_simulated.rs` compares such a policy with built-in ones.
//!
//! ```
//! use sojourn_dispatch::{Ask, Catalogue, Decision, Policy, Signals};
//! # use sojourn_model::system::{Face, Tier};
//! # use sojourn_model::{Server, System};
//! # use sojourn_sim::{Control, run};
//! # use sojourn_stats::{Law, Stream};
//! # use sojourn_traffic::{Arrivals, Open, Sizes, Workload};
//!
//! struct Anywhere(Signals);
//!
//! impl Policy for Anywhere {
//!     fn requires(&self) -> Signals {
//!         self.0
//!     }
//!
//!     fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
//!         Decision::forward_or_refuse(ask.table.draw(ask.tried, draw))
//!     }
//! }
//!
//! let mut catalogue = Catalogue::default();
//! catalogue.add("anywhere", "a server at random", |_| Ok(Box::new(Anywhere(Signals::empty()))))?;
//! catalogue.add("by-reports", "needs reports", |_| Ok(Box::new(Anywhere(Signals::REPORTS))))?;
//! let control = Control { catalogue, max_jobs: 20_000, ..Control::default() };
//! # let arrivals = Arrivals::parse("exponential(rate = 100 /s)")?;
//! # let sizes = Sizes::Law(Law::constant(1000.0));
//! # let workload = Workload::Open(Open { arrivals, clients: 1, sizes, patience: None });
//! # let server = Server::from_toml("discipline = \"fcfs\"\ndemand = \"exponential(mean = 10 ms)\"")?;
//! let system = |policy| System::balanced(Tier::new(Face::Gateway, policy), vec![server.clone(); 4]);
//! assert!(run(&system("anywhere"), &workload, &control, &|_| {})?.jobs > 0);
//! let refused = run(&system("by-reports"), &workload, &control, &|_| {}).unwrap_err().to_string();
//! assert!(refused.contains("`by-reports` needs the load that backends report (reports)"), "{refused}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 3. One queue, a network of queues
//!
//! A single queue without links or balancer has a faster way, for 10^9 jobs and more: [`single`]. Networks of queues
//! ([`run_network`]) have an event loop of their own; all share stations, intervals and conservation.
//!
//! ```
//! use sojourn_model::network::Network;
//! use sojourn_sim::{Control, run_network};
//!
//! let network = Network::from_toml(r#"
//! [[station]]
//! name = "cpu"
//! discipline = "ps"
//! [[station]]
//! name = "disk"
//! discipline = "fcfs"
//! [[chain]]
//! name = "users"
//! users = 20
//! think = "exponential(mean = 1 s)"
//! steps = [{ station = "cpu", demand = "20 ms" }, { station = "disk", demand = "exponential(mean = 40 ms)" }]
//! "#)?;
//! let report = run_network(&network, &Control { max_jobs: 200_000, ..Control::default() }, &|_| {})?;
//! let value = |metric| report.measures.iter().find(|found| found.metric == metric).and_then(|m| m.estimate.value());
//! // Little's law for the whole: 20 users are what comes per second, for as long as it stays and thinks.
//! let (throughput, response_time_s) = (value("throughput").unwrap(), value("response_time_mean").unwrap());
//! assert!((throughput * (response_time_s + 1.0) / 20.0 - 1.0).abs() < 0.02, "{throughput} /s, {response_time_s} s");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How it runs
//!
//! [`run`] plays independent replications; number 0 has the seed itself, the others seeds derived from it. One
//! `engine::Engine` per replication takes one event after another. Requests of open and closed workloads are ordered by
//! (time, class, sequence); users who browse have an order of their own (`sessions::connections`). The classes at equal
//! time are:
//!
//! | class | why there |
//! |---|---|
//! | 0. a dispatcher's deadline | a window [a, b) and a poll at b leave out what happens at b |
//! | 1. a departure from a station | makes room before an arrival asks for it; sequence: the server's number |
//! | 2. a message arrives | sequence: the order in which they were sent |
//! | 3. a client's patience ends | a reply that comes at the last instant still counts |
//! | 4. a user has thought, or a planned request is due | finds the state that all else has left |
//!
//! `study` looks at all replications together, in the order of their numbers, and makes each longer until every metric
//! asked for is sharp enough. Threads only change which one computes a replication, so they never change a byte.
//!
//! A request has no size: it costs its link the delay only. A reply is one message: a link passes it on when it has
//! the last byte. Where paths lose packets both are transfers over connections of TCP (`fabric::routed::transfers`). A
//! client that gives up is gone at once: its job leaves the server, and its dispatcher knows.
//!
//! # What is measured
//!
//! | metric | definition |
//! |---|---|
//! | `response_time_*` | from the planned instant to the last byte at the client, of completed requests |
//! | `waiting_time_mean` | from coming to the server to the start of service |
//! | `service_time_mean` | core time: demand over the server's speed, however many share the core |
//! | `throughput` | completed requests per second |
//! | `utilization` | core time spent over cores x time, mean over the servers |
//! | `share_1`, ... | part of the requests sent to this server (up to 16 servers) |
//! | `imbalance_index` | 1 + (p90 - p10) / (2 mean) of the numbers of requests sent to the servers (1: all equal) |
//! | `error_ratio` | denied, over all that ended |
//! | `attempts_ratio` | how often its client asked for a request, the first time among them, where clients try again |
//! | `abandoned_ratio` | given up by their clients, over all that ended |
//! | `connect_time_mean`, `connection_rate` | of connections that were set up, where requests need them; so are the next four |
//! | `connection_error_ratio` | connections that were given up, over all that were tried |
//! | `byte_throughput` | bytes of completed replies per second |
//! | `littles_load_factor` | sum of the response times of completed requests per second |
//! | `response_time_max` | the longest of a replication, mean over the replications |
//! | `prediction_error_*` | where asked for: time at the server as predicted on arrival, less what it was ([`single::run`]) |

mod agenda;
mod balancer;
mod beginning;
pub mod capability;
mod control;
mod course;
mod engine;
mod fabric;
mod forgetting;
mod joins;
mod ledger;
mod load;
mod memory;
mod network;
mod pilot;
mod recovery;
mod requests;
mod run;
mod sessions;
mod shortage;
pub mod single;
mod study;
mod summary;
mod timers;
mod wide;

pub use balancer::{information, signals};
pub use control::{
    Column, Control, OverTime, Precision, Progress, Report, SimError, WarmUp, demand_of, demand_of_classes,
};
pub use load::{Fullest, Load, load};
pub use network::run_network;
pub use recovery::Recovery;
pub use requests::timeline::{CALM, FAILING, Failure, OutcomesOverTime, SPREADS, Seen, USUAL, Usual};
pub use run::{check, response_times, run, run_plan, sheds_load};
pub use sessions::visits_of_run;
pub use wide::needs_events;

/// The README's example, tested with those above.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
