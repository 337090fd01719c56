//! What the traffic crate promises, one file per behaviour.

mod abandoned;
mod arrivals;
mod captures;
mod classes;
mod describe;
mod documents;
mod fits;
mod generate;
mod har;
mod input;
mod log_errors;
mod log_format;
mod log_formats;
mod long_memory;
mod on_off;
mod plan;
mod profile;
mod real_servers;
mod replay;
mod rounded;
mod script;
mod served;
mod silences;
mod site;
mod site_folder;
#[path = "../../../part/tests/it/skip.rs"]
mod skip;
mod specweb;
mod stamps;
mod stream;
mod support;
mod taken;
mod trace;
mod visitor;
mod webstone;
mod written;
