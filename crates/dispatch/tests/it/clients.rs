//! What is known of clients, and which of them is forgotten first.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use sojourn_dispatch::{
    Ask, BackendId, ClientRules, Clients, Command, Decision, Dispatcher, Information, Origin, Policy, Request,
    RoundTrip, Signals,
};
use sojourn_stats::{Span, Stream, Time};

use crate::common::equal;

/// Reads what is known of clients.
struct Reader(Signals);

impl Policy for Reader {
    fn requires(&self) -> Signals {
        self.0
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        Decision::forward_or_refuse(ask.table.draw(ask.tried, draw))
    }
}

fn dispatcher(reads: Signals) -> Dispatcher {
    let policy = Box::new(Reader(reads));
    let made =
        Dispatcher::with_policy(policy, "reader", &equal(2), Information::Immediate, Signals::all(), 1, "clients");
    made.expect("all is provided")
}

fn round_trip(ns: u64, at: u64) -> RoundTrip {
    RoundTrip { span: Span(ns), measured: Time(at), answers: 3 }
}

#[test]
fn what_was_told_last_is_known() {
    let mut dispatcher = dispatcher(Signals::CLIENT_RATES | Signals::ROUND_TRIPS);
    let [a, b] = [BackendId(0), BackendId(1)];
    dispatcher.tell_rate(7, Origin::default(), 2.5, Time(1));
    dispatcher.tell_rate(7, Origin::default(), 4.0, Time(2));
    dispatcher.tell_round_trip(7, a, round_trip(30, 2), Time(2));
    dispatcher.tell_round_trip(7, b, round_trip(50, 2), Time(2));
    dispatcher.tell_round_trip(7, a, round_trip(20, 3), Time(3));
    dispatcher.tell_round_trip(7, a, round_trip(99, 1), Time(4)); // late news
    let clients = dispatcher.clients();
    assert_eq!((clients.rate(7), clients.rate(8)), (Some(4.0), None));
    assert_eq!(clients.round_trip(7, a), Some(round_trip(20, 3)));
    assert_eq!(clients.round_trip(7, b), Some(round_trip(50, 2)));
    assert_eq!((clients.round_trip(8, a), clients.len()), (None, 1));
}

#[test]
fn the_least_recently_used_is_forgotten_first() {
    // Against a list in the order of use, over a random walk of what is told and of requests.
    const AT_MOST: NonZeroUsize = NonZeroUsize::new(8).expect("it is not zero");
    let mut dispatcher = dispatcher(Signals::CLIENT_RATES);
    dispatcher.keep_clients(ClientRules { at_most: AT_MOST, ..ClientRules::default() });
    let mut used = VecDeque::<u64>::new();
    let mut stream = Stream::new(1, "clients", "walk");
    for step in 0..5_000 {
        let client = stream.below(20) as u64;
        let place = used.iter().position(|known| *known == client);
        if stream.below(3) == 0 {
            dispatcher.choose(&Request { client, ..Request::default() }, &[], Time(step));
            if let Some(place) = place {
                used.remove(place);
                used.push_back(client);
            }
        } else {
            dispatcher.tell_rate(client, Origin::default(), client as f64, Time(step));
            match place {
                Some(place) => drop(used.remove(place)),
                None if used.len() == AT_MOST.get() => drop(used.pop_front()),
                None => {}
            }
            used.push_back(client);
        }
        let known: Vec<u64> = (0..20).filter(|client| dispatcher.clients().rate(*client).is_some()).collect();
        let mut expected: Vec<u64> = used.iter().copied().collect();
        expected.sort_unstable();
        assert_eq!(known, expected, "step {step}");
    }
}

#[test]
fn rates_expire_and_their_mean_is_that_of_the_others() {
    // Against a list, over a random walk; the bound on clients takes rates away as well.
    let at_most = NonZeroUsize::new(12).expect("it is not zero");
    let mut dispatcher = dispatcher(Signals::CLIENT_RATES);
    dispatcher.keep_clients(ClientRules { at_most, rates_expire: Some(Span(40)), ..ClientRules::default() });
    let mut told = VecDeque::<(u64, f64, Time)>::new();
    let mut stream = Stream::new(1, "clients", "rates");
    let (mut now, mut emptied, mut bounded) = (Time::ZERO, 0, 0);
    for _ in 0..20_000 {
        now += Span(if stream.below(50) == 0 { stream.below(60) as u64 } else { stream.below(4) as u64 });
        let (client, rate) = (stream.below(20) as u64, stream.below(1_000) as f64 / 8.0);
        if stream.below(4) == 0 {
            dispatcher.poll(now);
        } else {
            assert!(dispatcher.tell_rate(client, Origin::default(), rate, now));
            told.retain(|(known, ..)| *known != client);
            told.push_back((client, rate, now));
        }
        let before = told.len();
        told.retain(|(_, _, at)| now < *at + Span(40));
        emptied += u32::from(before > 0 && told.is_empty());
        if told.len() > at_most.get() {
            told.pop_front();
            bounded += 1;
        }
        let mean = told.iter().map(|(_, rate, _)| rate).sum::<f64>() / told.len() as f64;
        let known = dispatcher.clients().mean_rate();
        assert_eq!(known.map(|rate| (rate * 1e6).round()), (!told.is_empty()).then(|| (mean * 1e6).round()), "{now:?}");
        assert!((0..20).all(|client| {
            let expected = told.iter().find(|(known, ..)| *known == client).map(|(_, rate, _)| *rate);
            dispatcher.clients().rate(client) == expected
        }));
    }
    assert!(emptied > 20 && bounded > 1_000, "{emptied} {bounded}");
}

/// What a list of clients would know: in the order of use, the last in front.
#[derive(Clone, Default)]
struct Listed {
    client: u64,
    rate: Option<(f64, Time)>,
    probed: Option<Time>,
    trips: Vec<(BackendId, RoundTrip)>,
}

/// The client in front of the list, after that of the one used longest ago is gone where there are too many.
fn front(list: &mut VecDeque<Listed>, client: u64, at_most: usize) -> &mut Listed {
    let known = list.iter().position(|listed| listed.client == client).and_then(|place| list.remove(place));
    if known.is_none() && list.len() == at_most {
        list.pop_back();
    }
    list.push_front(known.unwrap_or(Listed { client, ..Listed::default() }));
    &mut list[0]
}

/// A random walk of all that can be told, where clients are forgotten and come back all the time: what is known is what a plain
/// list would know, and what a restart would recall stands in the same order.
#[test]
fn what_is_known_is_what_a_list_would_know() {
    for sites_probed in [1, 3, 7] {
        let at_most = NonZeroUsize::new(9).expect("it is not zero");
        let (expire, refresh) = (Span(60), Span(25));
        let mut dispatcher = Dispatcher::with_policy(
            Box::new(Asking { reads: Signals::CLIENT_RATES | Signals::ROUND_TRIPS, wanted: Vec::new() }),
            "asking",
            &equal(12),
            Information::Immediate,
            Signals::all(),
            1,
            "clients",
        )
        .expect("all is provided");
        dispatcher.keep_clients(ClientRules { at_most, rates_expire: Some(expire), sites_probed, refresh });
        let (mut list, mut stream) = (VecDeque::<Listed>::new(), Stream::new(1, "clients", "all"));
        let mut now = Time::ZERO;
        for step in 0..20_000 {
            now += Span(stream.below(4) as u64);
            let client = stream.below(14) as u64;
            list.iter_mut().for_each(|listed| listed.rate = listed.rate.filter(|(_, told)| now < *told + expire));
            match stream.below(8) {
                0..3 => {
                    let rate = stream.below(1_000) as f64 / 8.0;
                    assert!(dispatcher.tell_rate(client, Origin::default(), rate, now));
                    front(&mut list, client, at_most.get()).rate = Some((rate, now));
                }
                3..6 => {
                    let (span, late) = (stream.below(6) as u64, stream.below(5) as u64);
                    let from = BackendId(stream.below(12) as u32);
                    let trip = RoundTrip {
                        span: Span(span),
                        measured: Time(now.0.saturating_sub(late)),
                        answers: stream.below(3) as u32,
                    };
                    dispatcher.tell_round_trip(client, from, trip, now);
                    let trips = &mut front(&mut list, client, at_most.get()).trips;
                    if !trips.iter().any(|(of, known)| *of == from && trip.measured < known.measured) {
                        trips.retain(|(of, _)| *of != from);
                        trips.push((from, trip));
                        trips.sort_by_key(|(_, trip)| (trip.span, std::cmp::Reverse(trip.answers)));
                        trips.truncate(sites_probed as usize);
                    }
                }
                6 => {
                    dispatcher.choose(&Request { client, ..Request::default() }, &[], now);
                    dispatcher.poll(now);
                    // It is asked for, which is a use, whether it was known or not.
                    front(&mut list, client, at_most.get()).probed = Some(now);
                }
                _ => drop(dispatcher.poll(now)),
            }
            let known = dispatcher.clients();
            assert_eq!(known.len(), list.len(), "step {step}");
            for client in 0..14 {
                let listed = list.iter().find(|listed| listed.client == client).cloned().unwrap_or_default();
                assert_eq!(known.rate(client), listed.rate.map(|(rate, _)| rate), "step {step}, client {client}");
                assert!(known.round_trips(client).eq(listed.trips.iter().copied()), "step {step}, client {client}");
                let due = listed.probed.is_none_or(|probed| now.saturating_since(probed) >= refresh);
                assert_eq!(known.probes_are_due(client, now), due, "step {step}, client {client}");
            }
            let mut expected: Vec<(u64, Span)> = list
                .iter()
                .rev()
                .map(|of| (of.client, of.rate.map_or(Span::ZERO, |(_, told)| now.saturating_since(told))))
                .collect();
            expected.sort_by_key(|(_, age)| std::cmp::Reverse(*age));
            let remembered = known.remembered(now);
            assert!(remembered.iter().map(|one| (one.client, one.rate_age)).eq(expected), "step {step}");
        }
    }
}

/// Wants the round trip of each client that asks.
struct Asking {
    reads: Signals,
    wanted: Vec<Command>,
}

impl Policy for Asking {
    fn requires(&self) -> Signals {
        self.reads
    }

    fn choose(&mut self, ask: &Ask<'_>, _: &mut Stream) -> Decision {
        self.wanted.push(Command::Measure { client: ask.request.client, from: BackendId(0) });
        Decision::refuse()
    }

    fn poll(&mut self, _: &sojourn_dispatch::Table, _: Time) -> Vec<Command> {
        std::mem::take(&mut self.wanted)
    }
}

#[test]
fn a_rate_that_no_client_can_have_is_ignored() {
    let mut dispatcher = dispatcher(Signals::CLIENT_RATES);
    for bad in [f64::NAN, f64::INFINITY, -0.5] {
        assert!(!dispatcher.tell_rate(1, Origin::default(), bad, Time(1)));
    }
    assert_eq!((dispatcher.clients().mean_rate(), dispatcher.clients().len()), (None, 0));
    assert!(dispatcher.tell_rate(1, Origin::default(), f64::MAX, Time(1)), "absurd, and no overflow");
    assert!(dispatcher.tell_rate(2, Origin::default(), f64::MAX, Time(1)));
    assert_eq!(dispatcher.clients().mean_rate(), Some(1e12));
}

#[test]
fn the_shortest_round_trips_are_kept() {
    let mut dispatcher = Dispatcher::new("random", &equal(6), Information::Immediate, Signals::all(), 1, "clients")
        .expect("it requires nothing");
    dispatcher.keep_clients(ClientRules { sites_probed: 2, ..ClientRules::default() });
    let mut tell = |from, ns, at| dispatcher.tell_round_trip(7, BackendId(from), round_trip(ns, at), Time(at));
    tell(0, 50, 1);
    tell(1, 30, 1);
    tell(2, 40, 1);
    tell(3, 60, 1);
    tell(1, 45, 2); // measured anew, it is the longer one now
    let kept: Vec<_> = dispatcher.clients().round_trips(7).map(|(from, trip)| (from.0, trip.span.0)).collect();
    assert_eq!(kept, [(2, 40), (1, 45)]);
}

/// `update_rtts` puts the one with more answers first where two take equally long.
#[test]
fn of_equal_round_trips_those_with_more_answers_come_first() {
    let mut dispatcher = dispatcher(Signals::ROUND_TRIPS);
    dispatcher.keep_clients(ClientRules { sites_probed: 3, ..ClientRules::default() });
    for (from, ns, answers) in [(0, 50, 1), (1, 50, 3), (2, 40, 1), (3, 50, 2)] {
        dispatcher.tell_round_trip(7, BackendId(from), RoundTrip { answers, ..round_trip(ns, 1) }, Time(1));
    }
    let kept: Vec<u32> = dispatcher.clients().round_trips(7).map(|(from, _)| from.0).collect();
    assert_eq!(kept, [2, 1, 3], "the longest with the fewest answers is forgotten");
}

#[test]
fn a_million_clients_take_no_more_room_than_the_bound() {
    let mut dispatcher = dispatcher(Signals::CLIENT_RATES);
    for client in 0..1_000_000 {
        dispatcher.tell_rate(client, Origin::default(), 1.0, Time(client));
    }
    assert_eq!(dispatcher.clients().len(), 65_536);
    assert!(dispatcher.clients().rate(999_999).is_some() && dispatcher.clients().rate(0).is_none());
    assert!(Clients::default().is_empty());
}

/// Gives each command at its first poll.
struct Commanding(Vec<Command>, Signals);

impl Policy for Commanding {
    fn requires(&self) -> Signals {
        self.1
    }

    fn choose(&mut self, _: &Ask<'_>, _: &mut Stream) -> Decision {
        Decision::refuse()
    }

    fn poll(&mut self, _: &sojourn_dispatch::Table, _: Time) -> Vec<Command> {
        std::mem::take(&mut self.0)
    }
}

const COMMANDS: [Command; 3] =
    [Command::Poll(BackendId(0)), Command::Probe(BackendId(1)), Command::Measure { client: 7, from: BackendId(1) }];

fn commanding(command: Command, requires: Signals) -> Dispatcher {
    let policy = Box::new(Commanding(vec![command], requires));
    let made = Dispatcher::with_policy(policy, "own", &equal(2), Information::Immediate, Signals::all(), 1, "own");
    made.expect("all is provided")
}

#[test]
fn a_policy_may_give_the_commands_whose_signal_it_requires() {
    for command in COMMANDS {
        assert_eq!(commanding(command, command.needs()).poll(Time(1)), [command]);
    }
}

#[test]
fn a_policy_that_gives_another_command_breaks_its_contract() {
    for command in COMMANDS {
        let mut dispatcher = commanding(command, Signals::all().difference(command.needs()));
        let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| dispatcher.poll(Time(1))));
        assert!(polled.is_err(), "{command:?}");
    }
}
