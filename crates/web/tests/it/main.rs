//! Nodes, gateways and redirectors over real sockets on free loopback ports, and load daemons beside them.

mod broker;
mod child;
mod gateway;
mod http_cases;
mod limits;
mod loadd;
#[path = "../../../part/tests/it/mutated.rs"]
mod mutated;
mod node_abandoned;
mod node_files;
mod node_limits;
mod node_reload;
mod node_settings;
mod node_tls;
mod node_work;
mod orca;
mod redirector;
mod secure;
mod site;
#[path = "../../../part/tests/it/skip.rs"]
mod skip;
mod stopping;
mod support;
