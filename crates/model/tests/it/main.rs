//! What a server and a link are made of, tested against their definitions.

mod link;
mod reference;
mod server_file;
mod station;
