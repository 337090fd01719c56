//! What do users ask for?
//!
//! Workloads as data ([`Workload`]), and the one seeded plan drawn from them ([`Plan`] for open arrivals and logs,
//! [`Script`] for closed users) that the simulator and the load generator both follow. Opens no socket.

mod alias;
mod arrivals;
pub mod capture;
mod clock;
pub mod describe;
mod documents;
pub mod fit;
pub mod generate;
mod hurst;
mod input;
mod locality;
pub mod log;
mod on_off;
mod plan;
mod profile;
mod scale;
mod self_similar;
mod sessions;
pub mod site;
mod sizes;
pub mod specweb;
pub mod stream;
mod text;
pub mod trace;
pub mod webstone;
mod workload;
mod written;

pub use alias::Alias;
pub use arrivals::Arrivals;
pub use documents::Documents;
pub use generate::generate;
pub use input::{Input, InputError, column_text};
pub use locality::Locality;
pub use plan::{Demand, Plan, Planned, Request, Script, Step};
pub use profile::Profile;
pub use sessions::{Fetch, Http, Sessions, Visit, Visitor};
pub use site::{Site, SiteLaw};
pub use sizes::{Classes, Sizes};
pub use text::TextError;
pub use trace::{Pairs, Trace};
pub use workload::{Closed, Open, Replay, Traced, Workload, WorkloadError};
pub use written::{Burst, Call, SessionList, Written, Wsess};
