//! What can break.

use sojourn_model::system::{Face, Fault, Subject, Trouble};

use super::Has::{Instead, No, Yes};
use super::Users::{Any, Request};
use super::{Combination, Row, is_on_servers, row};

pub(super) const ROWS: &[Row] = &[
    row(None, Any, "deciders that are slow or have errors", No, No, |of| {
        let is_half = |fault: &Fault| matches!(fault.trouble, Trouble::Slow(_) | Trouble::Errors(_));
        any(of, |fault| face_of(fault, of).is_some() && is_half(fault))
    }),
    row(
        None,
        Request,
        "fault of this kind",
        Instead(
            "servers, sites and shares of them that are `down`, `drained`, `restarted`, `frozen`, `cut`, `slow(0.2)` (of one \
             resource) or have `errors(0.3)`; tiers that are `down`, `drained` or `frozen`; resolvers that are `down`; paths \
             that are `cut`, or have `loss(0.1)` where [system.tcp] is",
        ),
        Yes,
        |of| !of.system.faults.iter().all(|fault| is_simulated(fault, of)),
    ),
    row(None, Any, "links to cut without [system.paths]", Yes, No, |of| {
        of.system.paths.is_empty() && any(of, is_of_links)
    }),
    row(None, Any, "faults of real servers but `cut` and `loss`", Yes, No, |of| {
        of.live.is_program && any(of, |fault| !is_of_links(fault) && fault.subject != Subject::Requests)
    }),
    row(None, Any, "resolvers that break", Yes, No, |of| {
        any(of, |fault| matches!(fault.subject, Subject::Resolver(_)))
    }),
    row(Some(Face::Dns), Any, "DNS that can break", Yes, No, |of| {
        any(of, |fault| face_of(fault, of) == Some(Face::Dns))
    }),
    row(Some(Face::Redirect), Any, "faults where nodes redirect", Yes, No, |of| {
        !of.system.faults.is_empty() && of.any_tier(is_on_servers)
    }),
];

fn any(of: &Combination<'_>, is_so: impl Fn(&Fault) -> bool) -> bool {
    of.system.faults.iter().any(is_so)
}

fn is_of_links(fault: &Fault) -> bool {
    matches!(fault.trouble, Trouble::Cut | Trouble::Loss(_))
}

/// The face of the tier that a fault is of.
fn face_of(fault: &Fault, of: &Combination<'_>) -> Option<Face> {
    match fault.subject {
        Subject::Tier(tier) => Some(of.system.tiers[tier].face),
        _ => None,
    }
}

fn is_simulated(fault: &Fault, of: &Combination<'_>) -> bool {
    let system = of.system;
    if let (Trouble::Burst(_), Subject::Requests) = (fault.trouble, fault.subject) {
        return true;
    }
    let is_of_servers =
        matches!(fault.subject, Subject::Host(_) | Subject::Site(_) | Subject::Share(_) | Subject::OneOf(..));
    let has_one_resource = |host: &usize| system.hosts[*host].server.machine.is_none();
    match (fault.trouble, fault.subject) {
        (Trouble::Cut, Subject::Path(..)) => true,
        (Trouble::Loss(_), Subject::Path(..)) => system.transport.is_some(),
        (_, Subject::Path(..)) => false,
        (_, Subject::Tier(tier)) if system.tiers[tier].face == Face::Client => false,
        (Trouble::Down, _) | (Trouble::Frozen | Trouble::Drained, Subject::Tier(_)) => true,
        (Trouble::Loss(_), _) => false,
        (Trouble::Slow(_), _) => is_of_servers && fault.hosts(0, system, 0).iter().all(has_one_resource),
        _ => is_of_servers,
    }
}
