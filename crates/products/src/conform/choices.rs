//! Choice by choice: random opens and ends, and each choice foretold.

use std::fmt;
use std::net::Ipv4Addr;

use sojourn_dispatch::{BackendId, Dispatcher, Event, Origin, Request};
use sojourn_stats::{Stream, Time};
use twox_hash::XxHash64;

use super::backends::{Backends, Held};
use super::product::{Asked, reads_addresses};
use super::{Agreement, Case, ConformError};

/// The first choice that was another than the rule's.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Its number, from 1.
    pub choice: usize,
    /// The server that the product chose, from 1.
    pub product: usize,
    /// The server that the rule names, from 1; none where it refuses.
    pub rule: Option<usize>,
    /// Requests in flight at each server before it.
    pub in_flight: Vec<u32>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { choice, product, rule, in_flight } = self;
        let rule = rule.map_or("none".into(), |rule| format!("server {rule}"));
        write!(f, "choice {choice}: the product took server {product}, the rule {rule}, with {in_flight:?} in flight")
    }
}

pub(super) fn compare(
    case: &Case,
    backends: &Backends,
    asked: &mut Asked,
    twin: &mut Dispatcher,
) -> Result<Agreement, ConformError> {
    let mut stream = Stream::new(case.seed, "conform", "opens and ends");
    let mut held: Vec<Held> = Vec::new();
    let mut in_flight = vec![0; case.weights.len()];
    let (of, most) = (case.choices, case.most_held());
    let mut choice = 0;
    while choice < of {
        if held.is_empty() || (held.len() < most && stream.below(100) < 55) {
            choice += 1;
            let (request, client, key) = request(case, choice, &mut stream);
            let expected = twin.choose(&request, &[], Time::ZERO).forwarded_to().map(|id| id.0 as usize);
            let Some(opened) = backends.open(asked.running.address(), client, choice, &key) else {
                return Err(asked.broken(choice - 1));
            };
            if Some(opened.server) != expected {
                let rule = expected.map(|server| server + 1);
                let difference = Difference { choice, product: opened.server + 1, rule, in_flight };
                return Ok(Agreement::Choices { equal: choice - 1, of, difference: Some(difference) });
            }
            in_flight[opened.server] += 1;
            held.push(opened);
        } else {
            let ended = held.swap_remove(stream.below(held.len()));
            let server = ended.server;
            if !ended.end() {
                return Err(asked.broken(choice));
            }
            in_flight[server] -= 1;
            let backend = BackendId(server as u32);
            twin.observe(Event::Completed { backend, status: 200, bytes: 0, latency: Default::default() }, Time::ZERO);
        }
    }
    Ok(Agreement::Choices { equal: of, of, difference: None })
}

/// A request: what the rule is told of it, the address that it comes from, and its key.
fn request(case: &Case, number: usize, stream: &mut Stream) -> (Request, Ipv4Addr, String) {
    let key = format!("key-{number}-{}", stream.below(1 << 30));
    let client = match reads_addresses(case.product, &case.rule) {
        true => Ipv4Addr::new(127, stream.below(256) as u8, stream.below(256) as u8, 1 + stream.below(254) as u8),
        false => Ipv4Addr::LOCALHOST,
    };
    let origin = Origin { address: Some(client), ..Origin::default() };
    (Request { key: XxHash64::oneshot(0, key.as_bytes()), origin, ..Request::default() }, client, key)
}
