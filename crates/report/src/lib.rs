//! Reports on the wire: what servers tell those in front of them, signed and proof against replay, and what those order.
//!
//! A [`Sender`] makes datagrams of a [`Load`], a [`Receiver`] makes of them what a dispatcher is told. Neither reads a clock
//! nor opens a socket, so that tests may be an hour apart and lose what they like; the sockets are the inbox's and the
//! outbox's. When a server reports is `sojourn_dispatch::reports`; where its numbers come from is [`crate::loadd`], or
//! [`crate::upstream`] for a front node, which tells of its servers as of one.

pub mod child;
mod dropped;
mod exchanged;
mod inbox;
mod key;
mod listener;
pub mod loadd;
pub mod membership;
mod metric;
mod named;
mod numbers;
pub mod orca;
mod outbox;
mod receiver;
mod sender;
mod told;
pub mod upstream;
mod wire;

pub use dropped::Dropped;
pub use exchanged::{Exchanged, Volume};
pub use inbox::ReportsConfig;
pub use inbox::{Ears, Inbox};
pub use key::Key;
pub use listener::{Listener, News};
pub use metric::{Kind, Metric, Metrics};
pub use outbox::{Outbox, Traffic};
pub use receiver::can_follow;
pub use receiver::{Received, Receiver, SIGNALS};
pub use sender::{CLIENTS_MAX, Heard, Sender};
pub use told::{Probed, Told};
pub use upstream::{ProbeRules, UpstreamConfig, UpstreamCounts};
pub use wire::{DATAGRAM_MAX, Echoes, Load, NAME_MAX, Outcome};
