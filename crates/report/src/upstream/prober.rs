//! Probes: on the order of those in front, a front node or a lone server's daemon measures the round trip to a client.
//!
//! Orders are signed, and yet they make this host send packets to another. So there are at most so many in a second, and
//! a client is not measured again for a while, whoever orders it; each order is answered, also where nothing was done.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sojourn_part::clock;
pub use sojourn_part::settings::Echoes as ProbeRules;
use sojourn_stats::{Span, Time};
use tokio::task::JoinSet;

use super::echo::{self, Measured};
use crate::{Echoes, Outbox, Outcome};

/// What a prober has done, for those who look from another thread.
#[derive(Default)]
pub struct Counters {
    /// Orders obeyed.
    pub obeyed: AtomicU64,
    /// Orders refused.
    pub refused: AtomicU64,
    /// Of the echoes.
    pub bytes: AtomicU64,
}

/// What obeys orders.
pub struct Prober {
    rules: ProbeRules,
    counters: Arc<Counters>,
    recent: RefCell<Recent>,
    probes: RefCell<JoinSet<()>>,
}

/// The clients that were measured within the refresh time, the last one at the end.
#[derive(Default)]
struct Recent {
    order: VecDeque<(Time, IpAddr)>,
    when: HashMap<IpAddr, Time>,
}

impl Prober {
    /// A prober that has measured nothing yet.
    pub fn new(rules: ProbeRules, counters: Arc<Counters>) -> Prober {
        Prober { rules, counters, recent: RefCell::default(), probes: RefCell::default() }
    }

    /// Obeys the order of a receiver, or refuses it, and answers.
    pub fn order(&self, outbox: &Rc<Outbox>, receiver: usize, order: u64, client: String) {
        let mut probes = self.probes.borrow_mut();
        while probes.try_join_next().is_some() {}
        match self.admit(&client) {
            Ok(address) => {
                self.counters.obeyed.fetch_add(1, Ordering::Relaxed);
                let (outbox, port, counters) = (Rc::clone(outbox), self.rules.port, Arc::clone(&self.counters));
                probes.spawn_local(async move {
                    let Measured { outcome, mean, answers, bytes } = echo::measure(address, port).await;
                    counters.bytes.fetch_add(bytes, Ordering::Relaxed);
                    outbox.tell_echoes(receiver, Echoes { order, client, outcome, mean, answers });
                });
            }
            Err(outcome) => {
                self.counters.refused.fetch_add(1, Ordering::Relaxed);
                outbox.tell_echoes(receiver, Echoes { order, client, outcome, mean: Span::ZERO, answers: 0 });
            }
        }
    }

    fn admit(&self, client: &str) -> Result<IpAddr, Outcome> {
        let address: IpAddr = client.parse().map_err(|_| Outcome::NoAddress)?;
        if !is_one_host(address) {
            return Err(Outcome::NoAddress);
        }
        let (now, mut recent) = (clock::now(), self.recent.borrow_mut());
        recent.forget(now, self.rules.refresh);
        let in_last_second = recent.order.iter().rev().take_while(|(at, _)| now - *at < SECOND).count();
        if recent.when.get(&address).is_some_and(|at| now - *at < self.rules.refresh) {
            return Err(Outcome::TooSoon);
        }
        if in_last_second >= self.rules.per_second as usize {
            return Err(Outcome::TooMany);
        }
        recent.order.push_back((now, address));
        recent.when.insert(address, now);
        Ok(address)
    }
}

const SECOND: Span = Span(1_000_000_000);

impl Recent {
    /// Forgets those that were measured a refresh time ago, and a second.
    fn forget(&mut self, now: Time, refresh: Span) {
        while let Some((at, address)) = self.order.front().copied()
            && now - at >= refresh.max(SECOND)
        {
            self.order.pop_front();
            if self.when.get(&address) == Some(&at) {
                self.when.remove(&address);
            }
        }
    }
}

fn is_one_host(address: IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !address.is_unspecified() && !address.is_multicast() && !is_broadcast
}
