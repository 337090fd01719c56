//! How long a choice counts at the backend that was chosen.

use sojourn_dispatch::{
    Action, Ask, BackendId, Code, Decision, Dispatcher, Event, Hold, Information, Policy, Reason, Report, Request,
    Signals,
};
use sojourn_stats::{Span, Stream, Time};

use crate::common::{REQUEST, equal};

const A: BackendId = BackendId(0);
const B: BackendId = BackendId(1);

/// Does always the same with backend A.
struct Always(Action, Hold);

impl Policy for Always {
    fn requires(&self) -> Signals {
        Signals::empty()
    }

    fn choose(&mut self, _: &Ask<'_>, _: &mut Stream) -> Decision {
        let reason = Reason { code: Code::Turn, ties: 1, value: 0.0 };
        Decision { action: self.0, reason, hold: self.1 }
    }

    fn answer(&self, ask: &Ask<'_>, first: BackendId, list: &mut Vec<BackendId>) {
        list.extend(ask.candidates().filter(|id| *id != first));
    }
}

fn always(action: Action, hold: Hold) -> Dispatcher {
    let policy = Box::new(Always(action, hold));
    let made =
        Dispatcher::with_policy(policy, "always", &equal(3), Information::Immediate, Signals::IN_FLIGHT, 1, "holds");
    made.expect("it requires nothing")
}

/// An alarm between two reports tells no new room: what was promised since the last report still counts. 40, 10, alarm, 10.
#[test]
fn an_early_report_gives_back_nothing() {
    let mut dispatcher = always(Action::Redirect(A), Hold::UntilReport { cpu: 0.1, room: 10.0 });
    let report = |measured, is_early, room, cpu| Report { measured, is_early, room, cpu, ..Report::default() };
    let believed = |dispatcher: &Dispatcher| (dispatcher.table().believed_room(A), dispatcher.table().believed_cpu(A));
    // The first one says all that is known.
    assert!(dispatcher.report(A, &report(Time(1), true, 40.0, 0.0), Time(1)));
    assert_eq!(believed(&dispatcher).0, Some(40.0));
    for _ in 0..3 {
        dispatcher.choose(&REQUEST, &[], Time(2));
    }
    assert_eq!(believed(&dispatcher).0, Some(10.0));
    assert!(dispatcher.report(A, &report(Time(3), true, 40.0, 0.5), Time(3)));
    let (room, cpu) = believed(&dispatcher);
    assert_eq!(room, Some(10.0));
    assert!((cpu.unwrap() - 0.5 * 1.1f32.powi(3)).abs() < 1e-6, "{cpu:?}");
    dispatcher.choose(&REQUEST, &[], Time(4));
    assert_eq!(believed(&dispatcher).0, Some(0.0));
    assert!(dispatcher.report(A, &report(Time(5), false, 25.0, 0.5), Time(5)));
    assert_eq!(believed(&dispatcher), (Some(25.0), Some(0.5)));
}

#[test]
fn until_a_report_cpu_rises_relatively_and_room_falls_absolutely() {
    let hold = Hold::UntilReport { cpu: 0.3, room: 25.0 };
    let mut dispatcher = always(Action::Redirect(A), hold);
    dispatcher.choose(&REQUEST, &[], Time(1));
    assert_eq!((dispatcher.table().believed_cpu(A), dispatcher.table().believed_room(A)), (None, None));
    let said = |measured| Report { measured, cpu: 0.5, room: 100.0, ..Report::default() };
    assert!(dispatcher.report(A, &said(Time(2)), Time(2)));
    assert_eq!((dispatcher.table().believed_cpu(A), dispatcher.table().believed_room(A)), (Some(0.5), Some(100.0)));
    for _ in 0..2 {
        dispatcher.choose(&REQUEST, &[], Time(3));
    }
    let believed = dispatcher.table().believed_cpu(A).expect("it has reported");
    assert!((believed - 0.5 * 1.3 * 1.3).abs() < 1e-6, "{believed}");
    assert_eq!(dispatcher.table().believed_room(A), Some(50.0));
    assert_eq!(dispatcher.table().in_flight(A), 0, "the end of what was redirected is never told");
    assert!(!dispatcher.report(A, &said(Time(1)), Time(4)), "it is older than the last");
    assert_eq!(dispatcher.table().believed_room(A), Some(50.0), "an old report ends no belief");
    assert!(dispatcher.report(A, &said(Time(4)), Time(4)));
    assert_eq!((dispatcher.table().believed_cpu(A), dispatcher.table().believed_room(A)), (Some(0.5), Some(100.0)));
    assert_eq!(dispatcher.table().totals(A).forwarded, 3);
    assert_eq!(dispatcher.table().believed_room(B), None);
}

#[test]
fn what_is_forwarded_until_a_report_is_in_flight_as_well() {
    let mut dispatcher = always(Action::Forward(A), Hold::UntilReport { cpu: 0.0, room: 1.0 });
    dispatcher.choose(&REQUEST, &[], Time(1));
    assert_eq!(dispatcher.table().in_flight(A), 1);
    dispatcher.observe(Event::Completed { backend: A, status: 200, bytes: 1, latency: Span(1) }, Time(2));
    assert_eq!(dispatcher.table().in_flight(A), 0);
}

#[test]
fn until_a_time_a_choice_is_load() {
    for action in [Action::Forward(A), Action::Redirect(A), Action::Answer(A)] {
        let mut dispatcher = always(action, Hold::Until(Time(50)));
        dispatcher.choose(&REQUEST, &[], Time(1));
        let table = dispatcher.table();
        assert_eq!((table.load(A), table.leases(A), table.in_flight(A)), (1, 1, 0), "{action:?}");
        dispatcher.poll(Time(50));
        assert_eq!(dispatcher.table().load(A), 0, "{action:?}");
    }
}

#[test]
fn what_is_reserved_outlives_reports() {
    let mut dispatcher = always(Action::Forward(A), Hold::Reserved { until: Time(50), room: 0.1 });
    let said = |measured| Report { measured, room: 100.0, ..Report::default() };
    assert!(dispatcher.report(A, &said(Time(1)), Time(1)));
    for turn in 1..=10 {
        dispatcher.choose(&REQUEST, &[], Time(turn));
    }
    let table = dispatcher.table();
    assert_eq!((table.believed_room(A), table.load(A), table.leases(A)), (Some(99.0), 10, 10));
    assert!(dispatcher.report(A, &said(Time(20)), Time(20)));
    assert_eq!(dispatcher.table().believed_room(A), Some(99.0), "a report ends no reservation");
    dispatcher.poll(Time(50));
    let table = dispatcher.table();
    assert_eq!((table.believed_room(A), table.load(A)), (Some(100.0), 0), "to the last bit");
}

#[test]
fn until_told_only_what_is_forwarded_is_load() {
    for (action, load) in
        [(Action::Forward(A), 1), (Action::Redirect(A), 0), (Action::Queue, 0), (Action::ServeHere, 0)]
    {
        let mut dispatcher = always(action, Hold::UntilTold);
        dispatcher.choose(&REQUEST, &[], Time(1));
        assert_eq!(dispatcher.table().load(A), load, "{action:?}");
    }
}

#[test]
fn a_list_of_addresses_is_asked_for_apart() {
    let mut dispatcher = always(Action::Answer(B), Hold::Until(Time(50)));
    let decision = dispatcher.choose(&REQUEST, &[], Time(1));
    assert_eq!((decision.chosen(), decision.forwarded_to()), (Some(B), None));
    let mut list = vec![BackendId(9)];
    dispatcher.answer(&Request::default(), B, Time(1), &mut list);
    assert_eq!(list, [B, A, BackendId(2)]);
}

#[test]
#[should_panic(expected = "which was already tried")]
fn a_hold_does_not_hide_a_broken_contract() {
    always(Action::Redirect(A), Hold::Until(Time(50))).choose(&REQUEST, &[A], Time(1));
}

#[test]
fn a_report_that_no_backend_can_make_is_ignored() {
    let mut dispatcher = always(Action::Queue, Hold::UntilTold);
    for bad in [f32::NAN, f32::INFINITY, -0.5] {
        let reports = [
            Report { cpu: bad, ..Report::default() },
            Report { room: bad, ..Report::default() },
            Report { capacity: bad, ..Report::default() },
        ];
        assert!(reports.iter().all(|report| !dispatcher.report(A, report, Time(1))), "{bad}");
    }
    assert_eq!(dispatcher.table().report(A), None);
    let extras = [("temperature_c".to_owned(), -3.5)].into();
    let report = Report { extras, measured: Time(5), ..Report::default() };
    assert!(dispatcher.report(A, &report, Time(7)));
    assert_eq!(
        (dispatcher.table().report(A), dispatcher.table().report_age(A, Time(9))),
        (Some(&report), Some(Span(4)))
    );
}
