//! Reports between a sender and a receiver, without sockets: what is believed, and what is not.

use ring::hmac;
use sojourn_dispatch::capacity::Rule;
use sojourn_dispatch::{BackendId, Catalogue, Front, FrontSettings, Report, Signals, State};
use sojourn_report::{
    DATAGRAM_MAX, Dropped, Heard, Key, Load, Metric, Metrics, Received, Receiver, SIGNALS, Sender, Told,
};
use sojourn_stats::{Span, Stream, Time};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
/// The sender's clock is an hour ahead of 1970 plus some years; the receiver's begins at its start.
const SENT_AT: u64 = 1_700_000_000 * SECOND;

/// One sender, `a`, and a receiver that waits for `a` and `b`.
struct Pair {
    sender: Sender,
    receiver: Receiver,
}

fn secret() -> Key {
    Key::new(b"a secret of tests")
}

fn names() -> Vec<String> {
    vec!["a".into(), "b".into()]
}

fn at_ms(ms: u64) -> Time {
    Time(ms * MS)
}

/// What a server with two cores says that has served 100 requests per second for so long, at 10 ms of work each.
fn load(ms: u64) -> Load {
    let seconds = ms as f64 / 1e3;
    let mut metrics = Metrics::default();
    for (metric, value) in [
        (Metric::Cpu, 0.5),
        (Metric::InFlight, 3.0),
        (Metric::Arrived, (100.0 * seconds).floor() + 3.0),
        (Metric::Completed, (100.0 * seconds).floor()),
        (Metric::Bytes, (100.0 * seconds).floor() * 1000.0),
        (Metric::Busy, seconds),
        (Metric::CoreTime, 2.0 * seconds),
        (Metric::Cores, 2.0),
        (Metric::LoadAverage, 1.25),
    ] {
        metrics.set(metric, value);
    }
    Load { every: Span(500 * MS), heartbeat: Span(4 * SECOND), metrics, ..Load::default() }
}

impl Pair {
    fn new() -> Pair {
        let sender = Sender::new(secret(), "a", SENT_AT, 1).expect("the name is fine");
        Pair { sender, receiver: Receiver::new(secret(), &names(), Time::ZERO) }
    }

    /// A pair whose sender has proved itself at 0.
    fn acquainted() -> Pair {
        let mut pair = Pair::new();
        let first = pair.report(0);
        let answer = pair.receiver.receive(&first, Time::ZERO).answer.expect("it is asked for a proof");
        assert_eq!(pair.sender.hear(0, &answer), Heard::Challenge);
        let second = pair.report(0);
        assert_eq!(pair.receiver.receive(&second, Time::ZERO).told.len(), 1);
        pair
    }

    /// The datagram of the load as measured then.
    fn report(&mut self, ms: u64) -> Vec<u8> {
        self.sender.load(0, SENT_AT + ms * MS, load(ms))
    }

    fn report_at(&mut self, ms: u64) -> Received {
        let datagram = self.report(ms);
        self.receiver.receive(&datagram, at_ms(ms))
    }
}

fn only_report(received: Received) -> Report {
    match &received.told[..] {
        [Told::Report { backend: BackendId(0), report, .. }] => (**report).clone(),
        other => panic!("{other:?}"),
    }
}

/// A front over backends a and b.
fn front(policy: &str, signals: Signals) -> Front {
    let backends = [("a".into(), 1.0), ("b".into(), 1.0)];
    let settings = FrontSettings::new(policy);
    Front::new(&settings, &backends, &Catalogue::default(), signals, "front").expect("it has all that it needs")
}

#[test]
fn a_dispatcher_reads_what_a_server_told() {
    let mut pair = Pair::acquainted();
    let mut front = front("least-load", SIGNALS);
    let received = pair.report_at(1000);
    received.told.iter().for_each(|told| _ = told.learn(&mut front, at_ms(1001)));
    let report = front.table().report(BackendId(0)).expect("it has reported");
    assert_eq!((report.in_flight, report.cpu, report.requests, report.bytes), (3, 0.5, 100, 100_000));
    // 100 requests a second kept half of the cores busy.
    assert!((report.capacity - 200.0).abs() < 0.01 && (report.room - 100.0).abs() < 0.01, "{report:?}");
    assert_eq!(report.extras["load_average"], 1.25);
    assert_eq!(front.table().report_age(BackendId(0), at_ms(1501)), Some(Span(501 * MS)));
}

/// The tick after one that a busy machine was late for seems early, and tells as much as any. What comes much sooner is an alarm.
#[test]
fn a_tick_that_seems_early_tells_a_rate() {
    let mut pair = Pair::acquainted();
    let mut requests = |ms: u64| only_report(pair.report_at(ms)).requests;
    assert_eq!([requests(500), requests(1004), requests(1501), requests(1951)], [50, 50, 50, 45]);
    // Its requests are told with the next tick.
    assert_eq!([requests(2390), requests(2451)], [0, 50]);
}

/// 100 requests a second that stay 30 ms are three inside, which another estimator takes for three quarters of the
/// capacity.
#[test]
fn a_receiver_learns_capacity_by_the_rule_that_is_named() {
    let capacity_by = |(estimator, at)| {
        let rule = Rule::new(estimator, at).expect("it is a rule");
        let receiver = Receiver::new(secret(), &names(), Time::ZERO).learning(rule);
        let mut pair = Pair { receiver, ..Pair::new() };
        let told = |pair: &mut Pair, ms: u64| {
            let mut load = load(ms);
            load.metrics.set(Metric::Stayed, 0.03 * (100.0 * ms as f64 * 1e-3).floor());
            let datagram = pair.sender.load(0, SENT_AT + ms * MS, load);
            pair.receiver.receive(&datagram, at_ms(ms))
        };
        let answer = told(&mut pair, 0).answer.expect("it is asked for a proof");
        assert_eq!(pair.sender.hear(0, &answer), Heard::Challenge);
        told(&mut pair, 0);
        only_report(told(&mut pair, 1000)).capacity
    };
    for (rule, right) in [(("busy-share", 1.0), 200.0), (("response-time", 1.0), 133.33), (("busy-share", 0.7), 140.0)]
    {
        let capacity = capacity_by(rule);
        assert!((capacity - right).abs() < 0.01, "{rule:?}: {capacity}");
    }
}

/// A lost report loses no request: the next one tells of them.
#[test]
fn totals_survive_the_loss_of_a_report() {
    let mut pair = Pair::acquainted();
    let _lost = pair.report(500);
    let report = only_report(pair.report_at(1000));
    assert_eq!((report.requests, report.bytes), (100, 100_000));
}

#[test]
fn what_was_not_made_with_the_key_is_dropped() {
    let mut pair = Pair::acquainted();
    let genuine = pair.report(500);
    for bit in 0..genuine.len() * 8 {
        let mut changed = genuine.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(pair.receiver.receive(&changed, at_ms(500)).told.is_empty(), "bit {bit}");
    }
    for length in 0..genuine.len() {
        assert!(pair.receiver.receive(&genuine[..length], at_ms(500)).told.is_empty(), "{length} bytes");
    }
    let other = Key::new(b"another secret altogether");
    let forged = Sender::new(other, "a", SENT_AT, 1).expect("the name is fine").load(0, SENT_AT, load(500));
    assert!(pair.receiver.receive(&forged, at_ms(500)).told.is_empty());
    let Dropped { foreign, truncated, forged, malformed, .. } = *pair.receiver.dropped();
    // Three bytes of magic and one of version; a length of two bytes; all else is signed.
    assert_eq!(forged, (genuine.len() as u64 - 6) * 8 + 1);
    assert_eq!(foreign, 4 * 8 + 3);
    assert_eq!(truncated, 2 * 8 + genuine.len() as u64 - 3);
    assert_eq!(malformed, 0);
    assert_eq!(pair.receiver.receive(&genuine, at_ms(500)).told.len(), 1, "and the genuine one is believed");
}

/// Bytes at random behind a genuine start, signed by one who has the key: nothing panics, and nothing is believed that is
/// not whole.
#[test]
fn nonsense_does_not_stop_a_receiver() {
    let mut pair = Pair::acquainted();
    let mut draw = Stream::new(7, "nonsense", "bytes");
    for _ in 0..10_000 {
        let mut datagram = pair.report(500);
        for _ in 0..1 + draw.below(8) {
            let place = draw.below(datagram.len());
            datagram[place] = draw.below(256) as u8;
        }
        datagram.truncate(datagram.len() - draw.below(3));
        pair.receiver.receive(&datagram, at_ms(500));
    }
    assert_eq!(pair.report_at(1000).told.len(), 1);
}

/// What one who has the key may send besides: only what is whole, and can be, is believed.
#[test]
fn what_is_signed_and_makes_no_sense_is_dropped() {
    const TAG: usize = 32;
    const KIND: usize = 6;
    const NAME: usize = 7;
    /// Where the body of a datagram of `a` begins, and the first number of a load.
    const BODY: usize = 49;
    const NUMBER: usize = BODY + 13;
    type Edit = fn(&mut Vec<u8>);
    let signed_again = |datagram: &[u8], edit: Edit| {
        let mut signed = datagram[..datagram.len() - TAG].to_vec();
        edit(&mut signed);
        let length = (signed.len() + TAG) as u16;
        signed[4..6].copy_from_slice(&length.to_be_bytes());
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"a secret of tests");
        signed.extend(hmac::sign(&key, &signed).as_ref());
        signed
    };
    let mut pair = Pair::acquainted();
    let rates = pair.sender.rates(0, SENT_AT, vec![("x".into(), 1.0)]).remove(0);
    let genuine = pair.report(500);
    let edits: [(&[u8], Edit); 5] = [
        (&genuine, |signed| signed.push(0)),
        (&genuine, |signed| signed[NUMBER..NUMBER + 8].copy_from_slice(&f64::NAN.to_be_bytes())),
        (&genuine, |signed| signed[KIND] = 99),
        (&genuine, |signed| signed[NAME] = 200),
        (&rates, |signed| signed[BODY + 2..BODY + 6].copy_from_slice(&(-1f32).to_be_bytes())),
    ];
    for (number, (datagram, edit)) in edits.into_iter().enumerate() {
        let received = pair.receiver.receive(&signed_again(datagram, edit), at_ms(500));
        assert!(received.told.is_empty() && received.answer.is_none(), "{number}");
        assert_eq!(pair.receiver.dropped().malformed, number as u64 + 1);
    }
    // What proves one name proves no other.
    let other = signed_again(&genuine, |signed| signed[NAME + 1] = b'b');
    let received = pair.receiver.receive(&other, at_ms(500));
    assert!(received.told.is_empty() && received.answer.is_some());
    assert_eq!(pair.receiver.receive(&genuine, at_ms(500)).told.len(), 1);
    assert_eq!(pair.receiver.receive(&signed_again(&rates, |_| {}), at_ms(500)).told.len(), 1);
}

/// Rates come in any order with loads, so that only their age tells that they were held back; and all datagrams of one
/// instant belong together.
#[test]
fn rates_are_added_up_and_grow_old() {
    let mut pair = Pair::acquainted();
    let rates = (0..200).map(|client| (format!("10.0.0.{client}"), f64::from(client))).collect();
    let mut held_back = pair.sender.rates(0, SENT_AT + 500 * MS, vec![("late".into(), 1000.0)]);
    for datagram in pair.sender.rates(0, SENT_AT + 600 * MS, rates) {
        assert!(!pair.receiver.receive(&datagram, at_ms(600)).told.is_empty());
    }
    let sum = |pair: &Pair| pair.receiver.rates().iter().map(|(_, rate)| rate).sum::<f64>();
    assert_eq!(sum(&pair), f64::from(199 * 200 / 2));
    for tick in 2..=20 {
        assert_eq!(pair.report_at(tick * 500).told.len(), 1);
    }
    assert!(pair.receiver.receive(&held_back.remove(0), at_ms(10_000)).told.is_empty());
    assert_eq!(pair.receiver.dropped().stale, 1);
    assert_eq!(sum(&pair), f64::from(199 * 200 / 2));
}

#[test]
fn what_came_before_is_dropped() {
    let mut pair = Pair::acquainted();
    let datagrams: Vec<Vec<u8>> = (1..=70).map(|tick| pair.report(tick * 10)).collect();
    // One is overtaken: it is no news, and no lie.
    for index in (0..68).chain([69]) {
        assert!(!pair.receiver.receive(&datagrams[index], at_ms(700)).told.is_empty(), "{index}");
    }
    assert!(pair.receiver.receive(&datagrams[68], at_ms(700)).told.is_empty());
    let expected = Dropped { challenged: 1, stale: 1, ..Dropped::default() };
    assert_eq!(*pair.receiver.dropped(), expected);
    for datagram in &datagrams {
        assert!(pair.receiver.receive(datagram, at_ms(700)).told.is_empty());
    }
    assert_eq!(pair.receiver.dropped().replayed, 70);
}

/// What was recorded before a start of the receiver or of the sender is worth nothing after it, although nothing was kept.
#[test]
fn recordings_do_not_outlive_a_start() {
    let mut pair = Pair::acquainted();
    let recorded = [pair.report(500), pair.report(1000)];
    for datagram in &recorded {
        assert_eq!(pair.receiver.receive(datagram, at_ms(1000)).told.len(), 1);
    }
    let mut anew = Receiver::new(secret(), &names(), Time::ZERO);
    for datagram in &recorded {
        assert!(anew.receive(datagram, at_ms(1)).told.is_empty());
    }
    assert_eq!(anew.dropped().challenged, 2);

    // The sender starts anew, with a clock that has gone back meanwhile.
    pair.sender = Sender::new(secret(), "a", SENT_AT - 3600 * SECOND, 1).expect("the name is fine");
    let first = pair.report(0);
    let answer = pair.receiver.receive(&first, at_ms(1500)).answer.expect("it is asked for a proof");
    assert_eq!(pair.sender.hear(0, &answer), Heard::Challenge);
    assert_eq!(pair.sender.hear(0, &answer), Heard::Nothing, "the same challenge is no news");
    let second = pair.report(0);
    assert_eq!(pair.receiver.receive(&second, at_ms(1500)).told.len(), 1);
    for datagram in &recorded {
        assert!(pair.receiver.receive(datagram, at_ms(1500)).told.is_empty(), "the old start is over");
    }
    assert_eq!(pair.report_at(2000).told.len(), 1, "and the new one is not disturbed");
}

#[test]
fn a_challenge_is_for_one_start_of_one_sender() {
    let mut pair = Pair::new();
    let first = pair.report(0);
    let answer = pair.receiver.receive(&first, Time::ZERO).answer.expect("it is asked for a proof");
    assert!(answer.len() < first.len(), "a forged source address gets less than was sent");
    let mut later = Sender::new(secret(), "a", SENT_AT + 1, 1).expect("the name is fine");
    let mut other = Sender::new(secret(), "b", SENT_AT, 1).expect("the name is fine");
    assert_eq!([later.hear(0, &answer), other.hear(0, &answer)], [Heard::Nothing, Heard::Nothing]);
    let mut changed = answer.clone();
    changed[30] ^= 1;
    assert_eq!([&changed, &answer].map(|said| pair.sender.hear(0, said)), [Heard::Nothing, Heard::Challenge]);
}

/// Datagrams that an attacker held back are old, however far apart the clocks are.
#[test]
fn age_is_judged_by_one_clock() {
    for apart in [0, 3600 * SECOND] {
        let mut pair = Pair::acquainted();
        let held_back = pair.sender.load(0, SENT_AT + 500 * MS, load(500));
        for tick in 2..=40 {
            let now = Time(tick * 500 * MS + apart);
            let datagram = pair.sender.load(0, SENT_AT + tick * 500 * MS + apart, load(tick * 500));
            assert_eq!(pair.receiver.receive(&datagram, now).told.len(), 1);
        }
        assert!(pair.receiver.receive(&held_back, Time(20_000 * MS + apart)).told.is_empty());
        assert_eq!(pair.receiver.dropped().stale, 1);
        // One that took a second more than the fastest is a second old.
        let slow = pair.sender.load(0, SENT_AT + 20_500 * MS + apart, load(20_500));
        let report = only_report(pair.receiver.receive(&slow, Time(21_500 * MS + apart)));
        let age = Time(21_500 * MS + apart) - report.measured;
        assert!(age <= Span(1000 * MS) && age >= Span(960 * MS), "{age:?}");
    }
}

#[test]
fn silence_of_two_heartbeats_is_down_and_one_lost_report_is_not() {
    let mut pair = Pair::acquainted();
    // The heartbeat of 4 s is lost, that of 8 s comes a little late.
    assert_eq!(pair.receiver.fall_silent(at_ms(8200)), []);
    let told = pair.report_at(8200).told;
    assert!(matches!(told[..], [Told::Report { .. }]), "{told:?}");
    let _lost = [pair.report(12_200), pair.report(16_200)];
    // The other one has never been heard.
    assert_eq!(pair.receiver.next_deadline(), Some(at_ms(8500)));
    assert_eq!(pair.receiver.fall_silent(at_ms(8500)), [Told::Lost { backend: BackendId(1), is_empty: false }]);
    assert_eq!(pair.receiver.next_deadline(), Some(at_ms(16_700)));
    assert_eq!(pair.receiver.fall_silent(at_ms(16_700)), [Told::Lost { backend: BackendId(0), is_empty: false }]);
    assert_eq!(pair.receiver.next_deadline(), None);
    // It has to prove that it is alive, and then it is back.
    let answer = pair.report_at(17_000).answer.expect("it is asked for a proof");
    assert_eq!(pair.sender.hear(0, &answer), Heard::Challenge);
    let told = pair.report_at(17_000).told;
    assert!(matches!(told[..], [Told::Found { backend: BackendId(0) }, Told::Report { .. }]), "{told:?}");
    let mut front = front("least-load", SIGNALS);
    front.watch(BackendId(0), false, true, at_ms(17_000));
    Told::Lost { backend: BackendId(0), is_empty: false }.learn(&mut front, at_ms(17_000));
    assert_eq!(front.table().state(BackendId(0)), State::Down);
    told.iter().for_each(|told| _ = told.learn(&mut front, at_ms(17_001)));
    assert_eq!(front.table().state(BackendId(0)), State::Up);
}

/// While requests are not known, what was learned of them stays; afterwards they count from there on.
#[test]
fn what_is_not_known_is_not_taken_for_nothing() {
    let mut pair = Pair::acquainted();
    pair.report_at(1000);
    let mut silent = load(2000);
    for metric in [Metric::Arrived, Metric::Completed, Metric::Bytes] {
        silent.metrics.set(metric, None);
    }
    let datagram = pair.sender.load(0, SENT_AT + 2000 * MS, silent);
    let report = only_report(pair.receiver.receive(&datagram, at_ms(2000)));
    assert_eq!((report.in_flight, report.requests), (3, 0));
    assert!((report.capacity - 200.0).abs() < 0.01, "{report:?}");
    let report = only_report(pair.report_at(3000));
    assert_eq!(report.requests, 0, "what came meanwhile is not a difference of one interval");
    let report = only_report(pair.report_at(4000));
    assert_eq!(report.requests, 100);
    assert!((report.capacity - 200.0).abs() < 0.01, "{report:?}");
}

/// Numbers that contradict one another are not believed, and what is believed afterwards is as if they had not come.
#[test]
fn a_server_that_lies_is_caught_where_its_numbers_contradict_one_another() {
    type Lie = fn(&mut Metrics);
    let lies: [(&str, Lie); 8] = [
        ("a share above 1", |metrics| metrics.set(Metric::Memory, 1.5)),
        ("a number below 0", |metrics| metrics.set(Metric::InFlight, -1.0)),
        ("a number beyond all", |metrics| metrics.set(Metric::Cpu, 1e300)),
        ("requests that were not answered after all", |metrics| metrics.set(Metric::Completed, 10.0)),
        ("more answers than requests", |metrics| metrics.set(Metric::Completed, 1e6)),
        ("bytes taken back", |metrics| metrics.set(Metric::Bytes, 0.0)),
        ("core time taken back", |metrics| metrics.set(Metric::Busy, 0.0)),
        ("more core time than it has", |metrics| metrics.set(Metric::Busy, 500.0)),
    ];
    for (what, lie) in lies {
        let mut pair = Pair::acquainted();
        assert_eq!(pair.report_at(1000).told.len(), 1);
        let mut lying = load(1500);
        lie(&mut lying.metrics);
        let datagram = pair.sender.load(0, SENT_AT + 1500 * MS, lying);
        assert!(pair.receiver.receive(&datagram, at_ms(1500)).told.is_empty(), "{what}");
        assert_eq!(pair.receiver.dropped().impossible, 1, "{what}");
        assert_eq!(only_report(pair.report_at(2000)).requests, 100, "{what}");
    }
}

/// One that says it was busy for a tenth of the time that it was is taken to be ten times as fast: that is all that it can
/// gain, where chances are in proportion to room. Where the front counts itself, it gains nothing. And what it says of the
/// other is not asked.
#[test]
fn a_lie_that_adds_up_gains_what_it_claims_and_no_more() {
    const CHOICES: usize = 10_000;
    let shares_of = |policy: &str| {
        let mut pair = Pair::acquainted();
        let mut honest = Sender::new(secret(), "b", SENT_AT, 1).expect("the name is fine");
        let answer = pair.receiver.receive(&honest.load(0, SENT_AT, load(0)), Time::ZERO).answer;
        assert_eq!(honest.hear(0, &answer.expect("it is asked for a proof")), Heard::Challenge);
        let mut front = front(policy, SIGNALS | Signals::SWITCH);
        for tick in 0..20 {
            let ms = tick * 500;
            let mut lying = load(ms);
            lying.metrics.set(Metric::Busy, ms as f64 / 1e4);
            lying.metrics.set(Metric::Cpu, 0.0);
            lying.metrics.set(Metric::InFlight, 0.0);
            let lie = pair.sender.load(0, SENT_AT + ms * MS, lying);
            let truth = honest.load(0, SENT_AT + ms * MS, load(ms));
            for datagram in [lie, truth] {
                let told = pair.receiver.receive(&datagram, at_ms(ms)).told;
                told.iter().for_each(|told| _ = told.learn(&mut front, at_ms(ms)));
            }
        }
        assert_eq!(pair.receiver.dropped().impossible, 0, "it adds up");
        assert!([0, 1].iter().all(|id| front.table().state(BackendId(*id)) == State::Up));
        let capacity = [0, 1].map(|id| front.table().report(BackendId(id)).expect("it has reported").capacity);
        assert!((capacity[0] / capacity[1] - 10.0).abs() < 0.01, "{capacity:?}");
        // All that is chosen stays: both are as slow.
        let mut chosen = [0; 2];
        for _ in 0..CHOICES {
            let decision = front.choose(&sojourn_dispatch::Request::default(), &[], at_ms(10_000));
            let backend = decision.forwarded_to().expect("both are up");
            front.observe(sojourn_dispatch::Event::Sent { backend }, at_ms(10_000));
            chosen[backend.0 as usize] += 1;
        }
        chosen
    };
    // Of 200 per second the honest one serves 100; the liar claims 2000, of which as many are served: 1900 to 100.
    let [liar, _] = shares_of("remaining-capacity");
    let expected = CHOICES as f64 * 0.95;
    // Five standard deviations: once in 1.7 million times.
    assert!((liar as f64 - expected).abs() < 5.0 * (expected * 0.05).sqrt(), "{liar}");
    assert_eq!(shares_of("least-connections"), [CHOICES / 2; 2]);
}

/// A server that is frozen is busy with nothing, and has learned a capacity before: it would look idle.
#[test]
fn an_overloaded_server_that_answers_nothing_has_no_room() {
    let mut pair = Pair::acquainted();
    assert!(only_report(pair.report_at(1000)).room > 99.0);
    let mut stands = |ms: u64, inside: f64, done: f64| {
        let mut load = load(1000);
        let after = load.metrics.value(Metric::Completed).expect("it is told") + done;
        load.metrics.set(Metric::CoreTime, 2.0 * ms as f64 / 1e3);
        load.metrics.set(Metric::InFlight, inside);
        load.metrics.set(Metric::Arrived, 1000.0);
        load.metrics.set(Metric::Completed, after);
        let datagram = pair.sender.load(0, SENT_AT + ms * MS, load);
        only_report(pair.receiver.receive(&datagram, at_ms(ms))).room
    };
    assert!(stands(2000, 8.0, 0.0) > 99.0, "with few inside it may only be slow");
    assert_eq!(stands(3000, 9.0, 0.0), 0.0);
    assert_eq!(stands(3100, 20.0, 0.0), 0.0, "an alarm comes too soon to tell otherwise");
    assert!(stands(4000, 20.0, 1.0) > 99.0, "it answers again");
    assert_eq!(stands(5000, 20.0, 1.0), 0.0);
    assert!(stands(6000, 0.0, 1.0) > 99.0, "none waits any more");
}

#[test]
fn a_sender_that_is_not_waited_for_is_dropped() {
    let mut pair = Pair::acquainted();
    let mut stranger = Sender::new(secret(), "c", SENT_AT, 1).expect("the name is fine");
    let received = pair.receiver.receive(&stranger.load(0, SENT_AT, load(0)), Time::ZERO);
    assert!(received.told.is_empty() && received.answer.is_none());
    assert_eq!(pair.receiver.dropped().unknown, 1);
    assert!(Sender::new(secret(), "", SENT_AT, 1).is_err());
    assert!(Sender::new(secret(), &"x".repeat(65), SENT_AT, 1).is_err());
}

/// Rates of many clients take several datagrams, each of one packet; of a client that asks several servers the sum counts.
#[test]
fn rates_of_clients_are_summed_over_servers() {
    let mut pair = Pair::acquainted();
    let rates: Vec<(String, f64)> = (0..200).map(|client| (format!("10.0.0.{client}"), f64::from(client))).collect();
    let datagrams = pair.sender.rates(0, SENT_AT + 64 * SECOND, rates);
    assert!(datagrams.len() > 2 && datagrams.iter().all(|datagram| datagram.len() <= DATAGRAM_MAX));
    let told: Vec<Told> =
        datagrams.iter().flat_map(|datagram| pair.receiver.receive(datagram, at_ms(500)).told).collect();
    assert_eq!(told.len(), 199, "a rate of 0 is no news");
    let mut other = Sender::new(secret(), "b", SENT_AT, 1).expect("the name is fine");
    let answer = pair.receiver.receive(&other.load(0, SENT_AT, load(0)), at_ms(500)).answer;
    assert_eq!(other.hear(0, &answer.expect("it is asked for a proof")), Heard::Challenge);
    for datagram in other.rates(0, SENT_AT + 64 * SECOND, vec![("10.0.0.7".into(), 5.0)]) {
        let told = pair.receiver.receive(&datagram, at_ms(501)).told;
        assert_eq!(told, [Told::Rate { client: "10.0.0.7".into(), rate: 12.0 }]);
    }
    // The next time only one is left; of the others there is no news.
    for datagram in pair.sender.rates(0, SENT_AT + 128 * SECOND, vec![("10.0.0.7".into(), 1.0)]) {
        let told = pair.receiver.receive(&datagram, at_ms(64_500)).told;
        assert_eq!(told, [Told::Rate { client: "10.0.0.7".into(), rate: 6.0 }]);
    }
    // A server that has fallen silent takes its rates along.
    let told = pair.receiver.fall_silent(at_ms(80_000));
    assert!(told.contains(&Told::Rate { client: "10.0.0.7".into(), rate: 5.0 }), "{told:?}");
    assert_eq!(pair.receiver.rates(), []);
}
