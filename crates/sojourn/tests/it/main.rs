//! The program as its users meet it: real processes, real sockets, exit codes and messages.

mod agents;
mod bad_input;
mod bed;
mod browsing;
mod by_hand;
mod calibrate;
mod compare;
mod demo;
mod docs;
mod doubts;
mod failure;
mod fujita;
mod full;
mod gateway;
mod hurst;
mod imports;
mod load;
mod namespaces;
mod networks;
mod networks_both;
mod policies;
mod programs;
mod queue;
mod queue_by_sim;
mod redirect;
mod report;
mod scenarios;
#[path = "../../../serve/tests/it/skip.rs"]
mod skip;
mod sojourn;
mod tidy;
mod tiers;
mod trust;
mod understand;
mod width;
