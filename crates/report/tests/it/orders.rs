//! Orders to probe a client, between a receiver and a sender, without sockets: what is obeyed, and which answers are believed.

use sojourn_dispatch::{BackendId, Catalogue, Front, FrontSettings, RoundTrip, Signals, key};
use sojourn_report::{Dropped, Echoes, Exchanged, Heard, Key, Load, Outcome, Probed, Receiver, Sender, Told, Volume};
use sojourn_stats::{Span, Time};

const MS: u64 = 1_000_000;
const SENT_AT: u64 = 1_700_000_000_000 * MS;
const CLIENT: &str = "10.0.0.7";

fn secret() -> Key {
    Key::new(b"a secret of tests")
}

fn at_ms(ms: u64) -> Time {
    Time(ms * MS)
}

/// A front node and one in front of it.
struct Pair {
    sender: Sender,
    receiver: Receiver,
}

impl Pair {
    fn strangers() -> Pair {
        let sender = Sender::new(secret(), "paris", SENT_AT, 1).expect("the name is fine");
        Pair { sender, receiver: Receiver::new(secret(), &["paris".into()], Time::ZERO) }
    }

    fn acquainted() -> Pair {
        let mut pair = Pair::strangers();
        pair.meet(0);
        pair
    }

    /// The sender reports and answers the challenge that it gets, which is given.
    fn meet(&mut self, ms: u64) -> Vec<u8> {
        let challenge = self.report(ms).expect("it is asked for a proof");
        assert_eq!(self.sender.hear(0, &challenge), Heard::Challenge);
        assert_eq!(self.report(ms), None);
        challenge
    }

    fn report(&mut self, ms: u64) -> Option<Vec<u8>> {
        let load = Load { every: Span(500 * MS), heartbeat: Span(4000 * MS), ..Load::default() };
        let datagram = self.sender.load(0, SENT_AT + ms * MS, load);
        self.receiver.receive(&datagram, at_ms(ms)).answer
    }

    fn order(&mut self, ms: u64) -> (u64, Vec<u8>) {
        self.receiver.order(BackendId(0), CLIENT, at_ms(ms)).expect("the sender was heard")
    }

    /// Tells what became of an order, and gives what the receiver makes of it.
    fn answer(&mut self, echoes: Echoes, ms: u64) -> Vec<Told> {
        let datagram = self.sender.echoes(0, SENT_AT + ms * MS, echoes);
        self.receiver.receive(&datagram, at_ms(ms)).told
    }
}

fn echoes(order: u64, answers: u32) -> Echoes {
    Echoes { order, client: CLIENT.into(), outcome: Outcome::Icmp, mean: Span(20 * MS), answers }
}

fn obeyed(order: u64) -> Heard {
    Heard::Order { order, client: CLIENT.into() }
}

#[test]
fn an_order_is_obeyed_once_and_its_answer_believed_once() {
    let mut pair = Pair::acquainted();
    let (order, datagram) = pair.order(100);
    assert_eq!(pair.sender.hear(0, &datagram), obeyed(order));
    assert_eq!(pair.sender.hear(0, &datagram), Heard::Nothing);
    assert_eq!(*pair.sender.dropped(), Dropped { replayed: 1, ..Dropped::default() });
    let told = pair.answer(echoes(order, 3), 3000);
    let round_trip = RoundTrip { span: Span(20 * MS), measured: at_ms(3000), answers: 3 };
    let probed = Probed::Measured { outcome: Outcome::Icmp, round_trip };
    assert_eq!(told, [Told::Echoes { backend: BackendId(0), order, client: CLIENT.into(), probed }]);
    assert_eq!(pair.answer(echoes(order, 3), 3100), [], "one answer is enough");
    assert_eq!(pair.answer(echoes(order + 1, 3), 3200), [], "this was not ordered");
    let (further, _) = pair.order(3300);
    assert_eq!(
        pair.answer(Echoes { client: "10.0.0.8".into(), ..echoes(further, 3) }, 3400),
        [],
        "nor was this client"
    );
    assert_eq!(pair.receiver.dropped().unasked, 3);
    // Fifteen seconds later it is too late.
    for ms in [7000, 11_000, 15_000, 18_200] {
        pair.report(ms);
    }
    pair.order(18_300);
    assert_eq!(pair.answer(echoes(further, 3), 18_400), []);
    assert_eq!(pair.receiver.dropped().unasked, 4);
}

#[test]
fn a_dispatcher_is_told_what_was_measured_and_nothing_else() {
    let mut pair = Pair::acquainted();
    let backends = [("paris".into(), 1.0)];
    let settings = FrontSettings::new("random");
    let mut front = Front::new(&settings, &backends, &Catalogue::default(), Signals::all(), "dns")
        .expect("it has all that it needs");
    let mut tell = |told: &[Told]| {
        told.iter().for_each(|told| _ = told.learn(&mut front, at_ms(4000)));
        front.clients().round_trip(key(CLIENT), BackendId(0)).map(|of| (of.span, of.answers))
    };
    let (order, _) = pair.order(0);
    assert_eq!(tell(&pair.answer(Echoes { mean: Span::ZERO, ..echoes(order, 0) }, 100)), None);
    let (order, _) = pair.order(0);
    let refused = Echoes { outcome: Outcome::TooSoon, mean: Span::ZERO, ..echoes(order, 0) };
    let told = pair.answer(refused, 200);
    assert!(matches!(told[..], [Told::Echoes { probed: Probed::Refused(Outcome::TooSoon), .. }]), "{told:?}");
    assert_eq!(tell(&told), None);
    let (order, _) = pair.order(0);
    assert_eq!(tell(&pair.answer(echoes(order, 2), 300)), Some((Span(20 * MS), 2)));
}

#[test]
fn orders_of_strangers_are_dropped() {
    let mut pair = Pair::acquainted();
    let (order, genuine) = pair.order(100);
    for bit in 0..genuine.len() * 8 {
        let mut changed = genuine.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(pair.sender.hear(0, &changed), Heard::Nothing, "bit {bit}");
    }
    let Dropped { foreign, truncated, forged, .. } = *pair.sender.dropped();
    assert_eq!((foreign, truncated, forged), (32, 16, (genuine.len() as u64 - 6) * 8));
    // One who has another key has met a sender of its own.
    let other = Key::new(b"another secret altogether");
    let mut stranger = Pair {
        sender: Sender::new(other.clone(), "paris", SENT_AT, 1).expect("the name is fine"),
        receiver: Receiver::new(other, &["paris".into()], Time::ZERO),
    };
    stranger.meet(0);
    let (_, forged) = stranger.order(100);
    assert_eq!(pair.sender.hear(0, &forged), Heard::Nothing);
    // Another receiver than the one it is for does not believe it.
    let mut others = Sender::new(secret(), "rome", SENT_AT, 1).expect("the name is fine");
    assert_eq!(others.hear(0, &genuine), Heard::Nothing);
    assert_eq!(others.dropped().unknown, 1);
    // A sender gives no orders: what it says is not one.
    let report = pair.sender.load(0, SENT_AT, Load::default());
    assert_eq!(pair.sender.hear(0, &report), Heard::Nothing);
    assert_eq!(pair.sender.dropped().malformed, 1);
    assert_eq!(pair.sender.hear(0, &genuine), obeyed(order), "and the genuine one is obeyed");
}

/// Orders that were recorded are worth nothing once the receiver has proved the sender anew, even to one who plays the old
/// challenge again, and nothing to a sender that has started anew.
#[test]
fn recorded_orders_do_not_outlive_a_session() {
    let mut pair = Pair::strangers();
    let old_challenge = pair.meet(0);
    let recorded: Vec<Vec<u8>> = (0..3).map(|_| pair.order(100).1).collect();
    pair.receiver.fall_silent(at_ms(60_000));
    let last = pair.meet(60_000);
    for datagram in recorded.iter().chain([&old_challenge]).chain(&recorded) {
        assert_eq!(pair.sender.hear(0, datagram), Heard::Nothing);
    }
    assert_eq!((pair.sender.dropped().challenged, pair.sender.dropped().replayed), (6, 1));
    assert_eq!(pair.sender.hear(0, &last), Heard::Nothing, "the last one is no news either");
    let (order, datagram) = pair.order(60_000);
    assert_eq!(pair.sender.hear(0, &datagram), obeyed(order));
    pair.sender = Sender::new(secret(), "paris", SENT_AT + 1, 1).expect("the name is fine");
    assert_eq!(pair.sender.hear(0, &datagram), Heard::Nothing);
    assert_eq!(pair.sender.dropped().unknown, 1);
}

#[test]
fn orders_are_bounded_and_only_for_those_that_were_heard() {
    let mut receiver = Receiver::new(secret(), &["paris".into()], Time::ZERO);
    assert_eq!(receiver.order(BackendId(0), CLIENT, Time::ZERO), None);
    assert_eq!(receiver.order(BackendId(1), CLIENT, Time::ZERO), None);
    let mut pair = Pair::acquainted();
    assert_eq!(pair.receiver.order(BackendId(0), &"x".repeat(65), Time::ZERO), None);
    let orders = (0..2000).filter_map(|_| pair.receiver.order(BackendId(0), CLIENT, Time::ZERO)).count();
    assert_eq!(orders, 1024);
    // Those that no answer comes to are given up.
    assert!(pair.receiver.order(BackendId(0), CLIENT, at_ms(15_000)).is_some());
}

/// Without a list of names all that have the key are heard, in the order in which they came.
#[test]
fn a_receiver_of_any_hears_all_that_have_the_key() {
    let mut receiver = Receiver::of_any(secret(), Time::ZERO);
    for (place, name) in ["rome", "paris"].into_iter().enumerate() {
        let mut sender = Sender::new(secret(), name, SENT_AT, 1).expect("the name is fine");
        let answer = receiver.receive(&sender.load(0, SENT_AT, Load::default()), Time::ZERO).answer;
        assert_eq!(sender.hear(0, &answer.expect("it is asked for a proof")), Heard::Challenge);
        let received = receiver.receive(&sender.load(0, SENT_AT, Load::default()), Time::ZERO);
        assert_eq!(received.of, Some(BackendId(place as u32)));
    }
    assert_eq!(receiver.names(), ["rome", "paris"]);
    let mut stranger = Sender::new(Key::new(b"another secret altogether"), "oslo", SENT_AT, 1).expect("a name");
    receiver.receive(&stranger.load(0, SENT_AT, Load::default()), Time::ZERO);
    assert_eq!((receiver.names().len(), receiver.dropped().forged), (2, 1));
}

/// All that both sides sent, by kind, with 28 bytes for the heads of IPv4 and UDP of each; what was forged is none of it.
#[test]
fn what_both_sides_send_is_counted_by_kind() {
    let mut pair = Pair::strangers();
    let challenge = pair.meet(0);
    let (order, datagram) = pair.order(100);
    let volume = |sent: &[&[u8]]| Volume {
        datagrams: sent.len() as u64,
        bytes: sent.iter().map(|datagram| datagram.len() as u64 + 28).sum(),
    };
    let answer = pair.sender.echoes(0, SENT_AT + 200 * MS, echoes(order, 3));
    let rates = pair.sender.rates(0, SENT_AT + 300 * MS, vec![("10.0.0.9".into(), 2.0)]);
    let mut forged = answer.clone();
    *forged.last_mut().expect("it has bytes") ^= 1;
    for datagram in [&answer, &rates[0], &forged] {
        pair.receiver.receive(datagram, at_ms(300));
    }
    let Exchanged { loads, rates: told, echoes, orders, challenges } = *pair.receiver.exchanged();
    assert_eq!((orders, challenges), (volume(&[&datagram]), volume(&[&challenge])));
    assert_eq!((echoes, told), (volume(&[&answer]), volume(&[&rates[0]])));
    // The one that was answered with a challenge too.
    assert_eq!((loads.datagrams, loads.bytes > 2 * 28), (2, true));
}
