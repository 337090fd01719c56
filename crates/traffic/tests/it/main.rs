//! What the traffic crate promises, one file per behaviour.

mod arrivals;
mod describe;
mod generate;
mod log_errors;
mod log_format;
mod plan;
mod profile;
mod replay;
mod script;
mod site;
mod site_folder;
mod specweb;
mod stream;
mod support;
mod trace;
mod visitor;
mod webstone;
mod written;
