//! Who serves this request?
//!
//! A [`Policy`] is written once and runs in the simulator and in every live face. It reads one [`Table`] of what is
//! known of each backend and answers with a [`Decision`] and its reason. A [`Dispatcher`] holds the two together,
//! keeps the counts right, and can be recorded and replayed. Reads no clock, draws no ambient randomness, does no I/O.
//!
//! # A dispatcher in three acts
//!
//! **One: choose.** A face makes a dispatcher of a policy's text and says which signals it provides. It asks for a backend
//! per request and tells what becomes of it. Time is an argument.
//!
//! ```
//! use sojourn_dispatch::{Dispatcher, Event, Information, Request, Signals};
//! use sojourn_stats::{Span, Time};
//!
//! let backends = [("s1".to_string(), 1.0), ("s2".to_string(), 1.0)];
//! let (information, signals) = (Information::Immediate, Signals::GATEWAY);
//! let mut dispatcher = Dispatcher::new("least-connections", &backends, information, signals, 1, "front")?;
//! let request = Request { client: sojourn_dispatch::key("10.0.0.17"), ..Request::default() };
//! let first = dispatcher.choose(&request, &[], Time(0)).forwarded_to().expect("both are up");
//! let second = dispatcher.choose(&request, &[], Time(1)).forwarded_to().expect("both are up");
//! assert_ne!(first, second);
//! let done = Event::Completed { backend: first, status: 200, bytes: 512, latency: Span(90) };
//! dispatcher.observe(done, Time(91));
//! let decision = dispatcher.choose(&request, &[], Time(92));
//! assert_eq!(decision.forwarded_to(), Some(first));
//! assert_eq!(decision.reason.to_string(), "fewest requests in flight (0)");
//! # Ok::<(), sojourn_dispatch::DispatchError>(())
//! ```
//!
//! **Two: a policy of your own**, in twenty lines, with a name in a [`Catalogue`]. Simulator and gateway take the
//! catalogue, and texts such as `most-room(least = 5)` then work there as well.
//!
//! ```
//! use sojourn_dispatch::*;
//! use sojourn_stats::{Stream, Time};
//!
//! /// The backend with the most room; none where all have less than `least` (requests per second).
//! struct MostRoom {
//!     least: f32,
//! }
//!
//! impl Policy for MostRoom {
//!     fn requires(&self) -> Signals {
//!         Signals::REPORTS | Signals::ROOM
//!     }
//!
//!     fn choose(&mut self, ask: &Ask<'_>, _: &mut Stream) -> Decision {
//!         let room = |id: &BackendId| ask.table.believed_room(*id).unwrap_or(0.0);
//!         match ask.candidates().max_by(|a, b| room(a).total_cmp(&room(b))) {
//!             Some(id) if room(&id) >= self.least => {
//!                 let reason = Reason { code: Code::Own, ties: 1, value: room(&id).into() };
//!                 Decision::forward(id, reason).held(Hold::UntilReport { cpu: 0.0, room: 1.0 })
//!             }
//!             _ => Decision::refuse(),
//!         }
//!     }
//! }
//!
//! let mut catalogue = Catalogue::default();
//! catalogue.add("most-room", "the backend with the most room", |params| {
//!     let least = params.text("least").unwrap_or("1").parse();
//!     let least = least.map_err(|_| DispatchError::Policy("policy `most-room`: least is a number".into()))?;
//!     Ok(Box::new(MostRoom { least }))
//! })?;
//!
//! let backends = [("s1".to_string(), 1.0), ("s2".to_string(), 1.0)];
//! let signals = Signals::IN_FLIGHT | Signals::REPORTS | Signals::ROOM;
//! let make = |signals| {
//!     let text = "most-room(least = 5)";
//!     Dispatcher::from_catalogue(&catalogue, text, &backends, Information::Immediate, signals, 1, "front")
//! };
//! let refused = make(Signals::GATEWAY).unwrap_err().to_string();
//! assert!(refused.contains("needs the load that backends report (reports)"));
//! let mut dispatcher = make(signals)?;
//! for (backend, room) in [(BackendId(0), 6.0), (BackendId(1), 5.5)] {
//!     dispatcher.report(backend, &Report { room, ..Report::default() }, Time(0));
//! }
//! let mut next = || dispatcher.choose(&Request::default(), &[], Time(1)).forwarded_to();
//! // Each choice takes 1/s of the room until the next report: 6.0, then 5.5, then 5.0, and none is left.
//! assert_eq!([next(), next(), next()], [Some(BackendId(0)), Some(BackendId(1)), Some(BackendId(0))]);
//! assert_eq!(next(), None);
//! # Ok::<(), DispatchError>(())
//! ```
//!
//! **Three: record and replay.** A record holds every call and every decision; its replay is the proof that the same policy
//! gives the same choices elsewhere.
//!
//! ```
//! use sojourn_dispatch::record::{Detail, replay};
//! use sojourn_dispatch::{Dispatcher, Information, Request, Signals};
//! use sojourn_stats::Time;
//!
//! let path = std::env::temp_dir().join(format!("sojourn-record-{}.jsonl", std::process::id()));
//! let backends = [("s1".to_string(), 1.0), ("s2".to_string(), 3.0)];
//! let mut dispatcher =
//!     Dispatcher::new("power-of-d", &backends, Information::Immediate, Signals::GATEWAY, 7, "front")?;
//! dispatcher.record_to(Box::new(std::fs::File::create(&path)?), Detail::Explained)?;
//! for now in 0..100 {
//!     dispatcher.choose(&Request::default(), &[], Time(now));
//! }
//! dispatcher.finish_record()?;
//! let replayed = replay(std::io::BufReader::new(std::fs::File::open(&path)?))?;
//! assert_eq!((replayed.choices, replayed.first_difference), (100, None));
//! # std::fs::remove_file(path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod backend;
pub mod capacity;
mod catalogue;
mod chooser;
mod claims;
mod clients;
mod decision;
mod dispatcher;
mod error;
mod event;
mod front;
mod index;
mod nearness;
mod origin;
pub mod policies;
mod policy;
mod probing;
pub mod record;
pub mod reports;
mod request;
mod signals;
mod table;
mod ttl;
mod window;

pub use backend::{BackendId, Hardware, Information, State, Totals};
pub use catalogue::{Catalogue, Params};
pub use chooser::Chooser;
pub use clients::{ClientRules, Clients, Remembered, RememberedTrip, RoundTrip};
pub use decision::{Action, Candidate, Code, Decision, Explanation, Hold, Reason, Terms};
pub use dispatcher::Dispatcher;
pub use error::DispatchError;
pub use event::{Event, LoadBy, Report};
pub use front::guards::{
    Breakers, Concurrency, Ejection, Guards, LimitRule, PanicTo, Queue, Scope, SlowStart, StartRule,
};
pub use front::{Admitted, Change, Front, FrontSettings, Heed, News, Standing, written_limit};
pub use index::{Index, Ties};
pub use origin::{Location, Origin};
pub use policy::{Command, Plain, Policy};
pub use request::{Ask, Request, key};
pub use signals::Signals;
pub use table::{Limit, Table};
pub use ttl::TtlRule;
pub use window::{Averaging, Reads, WindowTotals};
