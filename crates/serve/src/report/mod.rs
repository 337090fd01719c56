//! Reports on the wire: what servers tell those in front of them, signed and proof against replay.
//!
//! A [`Sender`] makes datagrams of a [`Load`], a [`Receiver`] makes of them what a dispatcher is told. Neither reads a clock
//! nor opens a socket, so that tests may be an hour apart and lose what they like; the socket is the inbox's. When a server
//! reports is `sojourn_dispatch::reports`; where its numbers come from is [`crate::loadd`].

mod inbox;
mod key;
mod metric;
mod receiver;
mod sender;
mod wire;

pub(crate) use inbox::Inbox;
pub use inbox::ReportsConfig;
pub use key::Key;
pub use metric::{Kind, Metric, Metrics};
pub use receiver::{Dropped, Received, Receiver, SIGNALS, Told};
pub use sender::{CLIENTS_MAX, Sender};
pub use wire::{DATAGRAM_MAX, Load, NAME_MAX};
