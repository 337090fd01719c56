//! The balancers that people run, HAProxy, nginx and Envoy: what their configurations say of who serves a request, and an
//! experiment of it.
//!
//! A configuration is read into [`Pool`]s: a rule, its servers with weights and limits, and [`Note`]s, each with its file and
//! line, of all that was read and cannot be said in a pool. Nothing is left out in silence. Files are read by hand-written
//! readers of each product's own grammar, with bounds: a file is refused in one line that says where, or read.
//! The price: a directive that a later version of a product brings is a note until it is written here.
//!
//! [`haproxy`] reads `haproxy.cfg` (HAProxy's configuration manual, sections 2 to 5; `src/cfgparse*.c` of HAProxy 2.6), [`nginx`]
//! reads `nginx.conf` and what it includes, [`envoy`] a bootstrap in YAML or JSON.
//!
//! [`conform`] asks a product itself whether it chooses as its rule says.
//!
//! ```
//! use sojourn_products::haproxy;
//!
//! let text = "defaults\n  balance leastconn\nbackend app\n  server s1 10.0.0.1:80 weight 2\n  server s2 10.0.0.2:80\n";
//! let files = [("haproxy.cfg".to_string(), text.to_string())];
//! let configuration = haproxy::read(&files, haproxy::NEWEST_MEASURED, &|_| None)?;
//! let app = &configuration.pools[0];
//! assert_eq!((app.servers.len(), app.servers[0].weight), (2, 2));
//! assert_eq!(app.rule.name, "leastconn");
//! assert_eq!(app.rule.said.as_ref().unwrap().to_string(), "haproxy.cfg:2");
//! # Ok::<(), sojourn_products::ImportError>(())
//! ```

mod behind;
mod choice;
pub mod conform;
mod decider;
pub mod envoy;
mod experiment;
mod frame;
pub mod haproxy;
pub mod nginx;
mod note;
mod policy;
mod pool;
mod product;
mod settings;
mod version;
mod written;

pub use behind::Behind;
pub use choice::Choice;
pub use decider::Decider;
pub use experiment::{Assumptions, Import};
pub use note::{FileLine, ImportError, Note, Notes, Reading};
pub use pool::{Configuration, HashKey, Pool, PoolServer, Rule, Standing, Timeout, WhenFull};
pub use product::{newest_measured, product_of, read};
pub use settings::Settings;
pub use sojourn_part::program::Product;
pub use version::Version;

/// The README's example, tested with those above.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
