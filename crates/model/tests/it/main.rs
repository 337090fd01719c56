//! What a server and a link are made of, tested against their definitions.

mod cluster_network;
mod copies;
mod curve;
mod dropping;
mod flows;
mod least_attained;
mod link;
mod loss;
mod network;
mod order;
mod predict;
mod reference;
mod server_file;
mod station;
mod tcp;
mod tries;
