//! To which deciders a planned fault is done.

use sojourn_model::System;
use sojourn_model::system::{Fault, Subject, Trouble};

/// Whether a fault ends or stops the decider of a tier and seat, at some time.
pub(super) fn does_break(system: &System, seat: (usize, usize)) -> bool {
    let is_of_process = |fault: &&Fault| !matches!(fault.trouble, Trouble::Cut | Trouble::Loss(_) | Trouble::Frozen);
    system.faults.iter().filter(is_of_process).any(|fault| concerns(fault, system, seat))
}

/// Whether a fault is done to the decider of a tier and seat too.
pub(super) fn concerns(fault: &Fault, system: &System, (tier, seat): (usize, usize)) -> bool {
    match (fault.subject, fault.trouble) {
        (_, Trouble::Slow(_) | Trouble::Errors(_)) => false,
        (Subject::Tier(of), _) => of == tier,
        (Subject::Site(of), _) => system.tiers[tier].seats[seat].site == Some(of),
        _ => false,
    }
}
