//! How many connections are open, in all and from each network; and who may come in.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::rules::Rules;
use crate::network::prefix;

/// Bits of an address that count as one client: a home or a host has a whole IPv6 network of 64 bits.
const CLIENT: [u8; 2] = [32, 64];

/// Counts the connections of all threads.
#[derive(Debug, Default)]
pub(super) struct Gate {
    open: Mutex<Open>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct Open {
    all: usize,
    by_network: HashMap<u128, usize>,
}

/// Why a connection may not come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// As many as may be open are open.
    Full,
    /// As many of its address as may be open are open.
    Address,
}

/// A connection that is counted; dropping it counts it out.
#[derive(Debug)]
pub(super) struct Pass {
    gate: Arc<Gate>,
    network: u128,
}

impl Gate {
    /// Lets a connection in, or says why not.
    pub(super) fn enter(self: &Arc<Gate>, from: IpAddr, rules: &Rules) -> Result<Pass, Refusal> {
        let network = prefix(from, CLIENT);
        let mut open = self.lock();
        let of_network = open.by_network.get(&network).copied().unwrap_or(0);
        if rules.per_address.is_some_and(|most| of_network >= most) {
            return Err(Refusal::Address);
        }
        if open.all >= rules.connections {
            return Err(Refusal::Full);
        }
        open.all += 1;
        open.by_network.insert(network, of_network + 1);
        Ok(Pass { gate: Arc::clone(self), network })
    }

    /// Waits until a connection is closed, or more may be open.
    pub(super) async fn freed(&self) {
        self.freed.notified().await;
    }

    /// More may be open than before.
    pub(super) fn widen(&self) {
        self.freed.notify_waiters();
        self.freed.notify_one();
    }

    /// Connections that are open.
    pub(super) fn open(&self) -> usize {
        self.lock().all
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut open = self.gate.lock();
        open.all -= 1;
        if let Some(count) = open.by_network.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                open.by_network.remove(&self.network);
            }
        }
        drop(open);
        self.gate.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_network_of_64_bits_is_one_client_and_an_ipv4_address_another() {
        let gate: Arc<Gate> = Arc::default();
        let rules = Rules { per_address: Some(2), ..Rules::new(100) };
        let enter = |from: &str| gate.enter(ip(from), &rules);
        let first = enter("2001:db8::1").expect("the first of its network");
        let _second = enter("2001:db8::ffff:1").expect("the second");
        assert_eq!(enter("2001:db8::2").err(), Some(Refusal::Address));
        let _elsewhere = enter("2001:db8:0:1::1").expect("the network beside it");
        let _plain = [enter("192.0.2.1"), enter("::ffff:192.0.2.1")].map(|pass| pass.expect("two of an IPv4 address"));
        assert_eq!(enter("192.0.2.1").err(), Some(Refusal::Address), "mapped into IPv6 or not, it is the same");
        let _other = enter("192.0.2.2").expect("the address beside it");
        assert_eq!(gate.open(), 6);
        drop(first);
        let _third = enter("2001:db8::3").expect("there is room again");
        assert_eq!(gate.open(), 6);
    }

    #[test]
    fn the_limit_of_all_is_met_last() {
        let gate: Arc<Gate> = Arc::default();
        let rules = Rules { per_address: Some(1), ..Rules::new(1) };
        let pass = gate.enter(ip("192.0.2.1"), &rules).expect("the first");
        assert_eq!(gate.enter(ip("192.0.2.1"), &rules).err(), Some(Refusal::Address));
        assert_eq!(gate.enter(ip("192.0.2.2"), &rules).err(), Some(Refusal::Full));
        drop(pass);
        assert_eq!((gate.open(), gate.lock().by_network.len()), (0, 0), "nothing is remembered of who has left");
    }
}
