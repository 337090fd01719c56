//! Who serves this request?
//!
//! A [`Policy`] is written once and runs in the simulator and in every live face. It reads one [`Table`] of what is
//! known of each backend and answers with a [`Decision`] and its reason. A [`Dispatcher`] holds the two together,
//! keeps the counts right, and can be recorded and replayed. Reads no clock, draws no ambient randomness, does no I/O.

mod decision;
mod dispatcher;
mod event;
mod index;
pub mod policies;
mod policy;
pub mod record;
mod table;
mod window;

pub use decision::{Action, Code, Decision, Reason};
pub use dispatcher::{DispatchError, Dispatcher};
pub use event::Event;
pub use index::{Index, Ties};
pub use policy::{Command, Policy, Request, Signals};
pub use table::{BackendId, Information, State, Table, Totals};
pub use window::{Averaging, Reads, WindowTotals};
