//! What a server and a link are made of, tested against their definitions.

mod curve;
mod flows;
mod link;
mod network;
mod reference;
mod server_file;
mod station;
