//! Who serves this request?
//!
//! A [`Policy`] is written once and runs in the simulator and in every live face. It reads one [`Table`] of what is
//! known of each backend and answers with a [`Decision`] and its reason. A [`Dispatcher`] holds the two together,
//! keeps the counts right, and can be recorded and replayed. Reads no clock, draws no ambient randomness, does no I/O.

mod catalogue;
mod clients;
mod decision;
mod dispatcher;
mod event;
mod index;
pub mod policies;
mod policy;
pub mod record;
mod request;
mod signals;
mod table;
mod window;

pub use catalogue::{Catalogue, Params};
pub use clients::{Clients, RoundTrip};
pub use decision::{Action, Candidate, Code, Decision, Explanation, Hold, Reason, Terms};
pub use dispatcher::{DispatchError, Dispatcher};
pub use event::{Event, Report};
pub use index::{Index, Ties};
pub use policy::{Command, Policy};
pub use request::{Ask, Origin, Request, key};
pub use signals::Signals;
pub use table::{BackendId, Hardware, Information, State, Table, Totals};
pub use window::{Averaging, Reads, WindowTotals};
