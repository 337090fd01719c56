//! What the kernel does with packets of a service that is spliced: it hands all of them to the switch.
//!
//! Marked are packets of clients to the service, and of servers to clients, as far as they come here; the switch takes each and
//! sends one of its own. Without a switch they are dropped: the kernel, which has the service's address, would reset them.

use std::collections::BTreeSet;

use sojourn_part::ServeError;
use sojourn_part::settings::switch::{Mode, SwitchSettings};

use crate::kernel::rules::{TABLE, UNDECIDED, ask, signature};
use crate::kernel::system;

/// Puts the rules in force in the place of those that were there.
pub(crate) fn install(config: &SwitchSettings) -> Result<(), ServeError> {
    system::nft(&script(config))?;
    ask(1)
}

fn script(config: &SwitchSettings) -> String {
    let (service, port) = (config.service.ip(), config.service.port());
    // Servers that reply directly do so as the service.
    let sources: BTreeSet<_> = match config.mode {
        Mode::SpliceAsymmetric => [*service].into(),
        _ => config.backends.iter().map(|backend| backend.address).collect(),
    };
    let sources = sources.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    format!(
        "add table ip {TABLE}
         delete table ip {TABLE}
         table ip {TABLE} {{
           counter {signature} {{ }}
           counter fragments {{ }}
           counter strays {{ }}
           counter undecided {{ }}
           counter full {{ }}
           chain arrives {{
             type filter hook prerouting priority -160; policy accept;
             ip daddr {service} ip protocol tcp ip frag-off & 0x3fff != 0 counter name fragments drop
             ip daddr {service} icmp type {{ destination-unreachable, parameter-problem }} meta mark set {UNDECIDED}
             ip daddr {service} tcp dport {port} meta mark set {UNDECIDED}
             ip saddr {{ {sources} }} tcp sport {port} fib daddr type != local meta mark set {UNDECIDED}
           }}
           chain decided {{
             type filter hook prerouting priority -140; policy accept;
             meta mark {UNDECIDED} counter name undecided drop
           }}
         }}
         ",
        signature = signature(config),
    )
}
