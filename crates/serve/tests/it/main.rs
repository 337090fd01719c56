//! The live parts, over real sockets on free loopback ports.

mod apache;
mod broker;
mod child;
mod clusters;
mod clusters_bed;
mod dns_decider;
mod dns_places;
mod dns_reload;
mod dns_wire;
mod gateway;
mod limits;
mod loadd;
mod node_files;
mod node_work;
mod orca;
mod orders;
mod program;
mod redirector;
mod reports;
mod servers_forward;
mod skip;
mod splice;
mod stopping;
mod support;
mod switch;
