//! A policy of one's own needs no change to this crate.

use sojourn_dispatch::{
    Action, Ask, BackendId, Code, Decision, Dispatcher, Event, Hold, Index, Information, Policy, Reason, Signals, Table,
};
use sojourn_stats::{Span, Stream, Time};

use crate::common::{REQUEST, equal};

/// Redirects to the least loaded, under a lease, and counts what it is told.
struct Redirecting {
    lease: Span,
    told: u32,
}

impl Policy for Redirecting {
    fn requires(&self) -> Signals {
        Signals::empty()
    }

    fn index(&self) -> Index {
        Index::Load
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        let Some((backend, reason)) = ask.table.least(ask.tried, draw) else { return Decision::refuse() };
        let reason = Reason { value: f64::from(self.told), ..reason };
        Decision { action: Action::Redirect(backend), reason, hold: Hold::Until(ask.now + self.lease) }
    }

    fn observe(&mut self, _: &Event, _: &Table, _: Time) {
        self.told += 1;
    }
}

#[test]
fn it_chooses_learns_and_leases() {
    let policy = Box::new(Redirecting { lease: Span(100), told: 0 });
    let made =
        Dispatcher::with_policy(policy, "redirecting", &equal(2), Information::Immediate, Signals::empty(), 1, "own");
    let mut dispatcher = made.expect("it requires nothing");
    let chosen = |decision: Decision| match decision.action {
        Action::Redirect(id) => id,
        other => panic!("{other:?}"),
    };
    let first = chosen(dispatcher.choose(&REQUEST, &[], Time(0)));
    let second = chosen(dispatcher.choose(&REQUEST, &[], Time(10)));
    assert_ne!(first, second, "a lease counts as load");
    assert_eq!(dispatcher.next_deadline(), Some(Time(100)));
    assert_eq!(chosen(dispatcher.choose(&REQUEST, &[], Time(105))), first, "whose lease ended");
    assert_eq!((dispatcher.table().leases(first), dispatcher.table().leases(second)), (1, 1));
    dispatcher.poll(Time(300));
    assert_eq!((dispatcher.table().leases(first), dispatcher.table().leases(second)), (0, 0));
    dispatcher.observe(Event::Opened { backend: first }, Time(300));
    let decision = dispatcher.choose(&REQUEST, &[], Time(300));
    assert_eq!((decision.reason.code, decision.reason.value), (Code::LeastInFlight, 1.0), "it was told");
}

#[test]
#[should_panic(expected = "is not eligible")]
fn a_policy_that_breaks_its_contract_is_stopped() {
    struct Stubborn;
    impl Policy for Stubborn {
        fn requires(&self) -> Signals {
            Signals::empty()
        }
        fn choose(&mut self, _: &Ask<'_>, _: &mut Stream) -> Decision {
            Decision::forward(BackendId(0), Reason { code: Code::Turn, ties: 1, value: 0.0 })
        }
    }
    let made = Dispatcher::with_policy(
        Box::new(Stubborn),
        "stubborn",
        &equal(1),
        Information::Immediate,
        Signals::empty(),
        1,
        "own",
    );
    let mut dispatcher = made.expect("it requires nothing");
    dispatcher.observe(Event::Down { backend: BackendId(0) }, Time::ZERO);
    dispatcher.choose(&REQUEST, &[], Time::ZERO);
}
