//! What the traffic crate promises, one file per behaviour.

mod arrivals;
mod captures;
mod classes;
mod describe;
mod documents;
mod fits;
mod generate;
mod input;
mod log_errors;
mod log_format;
mod log_formats;
mod long_memory;
mod on_off;
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
