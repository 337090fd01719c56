//! Reports by signed datagrams, without sockets.

mod orders;
mod reports;
