//! Transfers of which the time is known exactly. Their mean over many losses is compared with a published formula in the
//! tests of `theory`.

use sojourn_model::{
    Connected, Connecting, Link, Loss, LossLaw, Recovery, Sending, Shared, Spell, Step, Tcp, TcpStack, Way, Wire,
};
use sojourn_stats::{Span, Stream, Time};

const MS: u64 = 1_000_000;
const RTT: Span = Span(100 * MS);

fn loss(share: f64, direction: &str) -> Loss {
    Loss::new(LossLaw::independent(share), Stream::new(1, direction, "losses"))
}

/// Mean time (s) of `times` transfers, each over a connection that was set up without loss.
fn mean_s(stack: &TcpStack, bytes: u64, rate: Option<f64>, share: f64, times: u32) -> f64 {
    let (mut there, mut back, mut never) = (loss(share, "there"), loss(0.0, "back"), loss(0.0, "never"));
    let new = stack
        .connect(&mut Way { rtt: RTT, rate, there: &mut never, back: &mut back, spells: &[] })
        .connection
        .expect("set up");
    let mut way = Way { rtt: RTT, rate, there: &mut there, back: &mut back, spells: &[] };
    let of = |_| stack.send(&mut { new }, bytes, &mut way).after.as_secs_f64();
    (0..times).map(of).sum::<f64>() / f64::from(times)
}

/// Without loss, the stalls of slow start and the time on the link: as for users who browse.
#[test]
fn without_loss_a_sender_stalls_and_sends() {
    let stack = TcpStack { header: 0, segment: 1000, ..TcpStack::LINUX_6 };
    let tcp = Tcp { segment: 1000, acks_per_segment: 1.0, ..Tcp::default() };
    for rate in [None, Some(1e6), Some(1e8)] {
        for segments in [1, 10, 11, 100, 1000] {
            let bytes = segments * 1000;
            let sending_s = rate.map_or(0.0, |rate| bytes as f64 * 8.0 / rate);
            let (stall, _) = tcp.stall(10, bytes, rate, RTT);
            let exact_s = stall.as_secs_f64() + sending_s + 0.05;
            let found_s = mean_s(&stack, bytes, rate, 0.0, 1);
            assert!((found_s - exact_s).abs() < 1e-6, "{segments} segments at {rate:?}: {found_s}, not {exact_s}");
        }
    }
}

/// A window of the receiver's is the most that a round trip carries.
#[test]
fn a_receiver_limits_the_window() {
    let stack = TcpStack { receive_window: 10 * 1448, ..TcpStack::LINUX_6 };
    assert!((mean_s(&stack, 100 * 1448, None, 0.0, 1) - 0.95).abs() < 1e-9);
    // Less than the initial window too.
    let stack = TcpStack { receive_window: 5 * 1448, ..TcpStack::LINUX_6 };
    assert!((mean_s(&stack, 100 * 1448, None, 0.0, 1) - 1.95).abs() < 1e-9);
}

/// One segment has nothing behind it that tells of its loss: time-outs of three round trips, twice as long each time.
/// With 5 % lost the mean is rtt / 2 + 3 rtt p / (1 - 2 p); a million transfers are within 4 % of what is added (eight
/// standard errors; false alarm 1e-15). With RACK a probe comes first, after a single segment as late as a
/// time-out.
#[test]
fn a_lost_segment_alone_waits_for_a_timeout() {
    let p = 0.05;
    let added = |stack: &TcpStack| mean_s(stack, 1, None, p, 1_000_000) - 0.05;
    let timeouts = 0.3 * p / (1.0 - 2.0 * p);
    let (sack, rack) = (added(&TcpStack::LINUX_2_2), added(&TcpStack::LINUX_6));
    assert!((sack / timeouts - 1.0).abs() < 0.04, "{sack} s, exactly {timeouts} s");
    let exact = 0.3 * p + p * timeouts;
    assert!((rack / exact - 1.0).abs() < 0.04, "{rack} s, exactly {exact} s");
}

/// The more a stack knows of what has arrived, the sooner it repairs.
#[test]
fn better_recovery_is_faster() {
    let of = |recovery| mean_s(&TcpStack { recovery, ..TcpStack::LINUX_2_2 }, 100_000, None, 0.03, 20_000);
    let (reno, sack, rack) = (of(Recovery::NewReno), of(Recovery::Sack), of(Recovery::Rack));
    assert!(rack < sack && sack < reno, "{rack} s, {sack} s, {reno} s");
    // In one window, with nothing new to send, SACK repairs all losses in one round trip and NewReno each in one of its own: with
    // 20 segments and 10 % lost that is most of a round trip more.
    let window = |recovery| {
        let stack = TcpStack { recovery, initial_window: 20, ..TcpStack::LINUX_2_2 };
        mean_s(&stack, 20 * 1448, None, 0.1, 20_000)
    };
    let (sack, reno) = (window(Recovery::Sack), window(Recovery::NewReno));
    assert!(reno - sack > 0.04, "{sack} s, {reno} s");
}

/// Of three segments, each lost with 0.1 %, the loss of the first or second is told by what comes behind it, and repaired in a
/// round trip; that of the third is found by a probe, two round trips after the acknowledgements of the others. 15 % are more
/// than six standard errors (false alarm 2e-9).
#[test]
fn one_later_acknowledgement_tells_rack_of_a_loss() {
    let p = 0.001;
    let (added, exact) = (mean_s(&TcpStack::LINUX_6, 3 * 1448, None, p, 1_000_000) - 0.05, p * (0.1 + 0.1 + 0.3));
    assert!((added / exact - 1.0).abs() < 0.15, "{added} s, to first order {exact} s");
}

/// A client sends so many SYNs and then gives up; a sender likewise gives up a segment.
#[test]
fn what_never_arrives_is_given_up() {
    let stack = TcpStack { syns: 3, sends: 3, ..TcpStack::LINUX_2_2 };
    let (mut there, mut back) = (loss(0.999_999, "there"), loss(0.0, "back"));
    let connected = stack.connect(&mut Way { rtt: RTT, rate: None, there: &mut there, back: &mut back, spells: &[] });
    assert_eq!((connected.after, connected.connection), (Span(21_000_000_000), None), "3 s, 6 s and 12 s");
    // It is the client's clock that counts, wherever the losses were.
    let stack = TcpStack { syns: 2, ..stack };
    let (mut often, mut often_back) = (loss(0.5, "there"), loss(0.5, "back"));
    for _ in 0..1000 {
        let connected =
            stack.connect(&mut Way { rtt: RTT, rate: None, there: &mut often, back: &mut often_back, spells: &[] });
        let gives_up = connected.connection.is_none();
        assert!(if gives_up { connected.after == Span(9_000_000_000) } else { connected.after < Span(9_000_000_000) });
    }
    let mut never = loss(0.0, "never");
    let mut new = stack
        .connect(&mut Way { rtt: RTT, rate: None, there: &mut never, back: &mut back, spells: &[] })
        .connection
        .expect("set up");
    let carried =
        stack.send(&mut new, 1, &mut Way { rtt: RTT, rate: None, there: &mut there, back: &mut back, spells: &[] });
    assert_eq!((carried.after, carried.is_whole), (Span(900_000_000), false), "sent at 0, 0.3 and 0.9 s");
}

/// A connection that was idle for more than a time-out begins again from its initial window.
#[test]
fn an_idle_connection_begins_anew() {
    let stack = TcpStack::LINUX_6;
    let (mut there, mut back) = (loss(0.0, "there"), loss(0.0, "back"));
    let mut way = Way { rtt: RTT, rate: None, there: &mut there, back: &mut back, spells: &[] };
    let mut connection = stack.connect(&mut way).connection.expect("set up");
    let mut send = |connection: &mut _| stack.send(connection, 100_000, &mut way).after.as_secs_f64();
    let (first, mut second) = (send(&mut connection), connection);
    assert!(send(&mut second) < first, "the window has grown");
    stack.rest(&mut connection, Span(10_000_000_000), RTT);
    assert_eq!(send(&mut connection), first);
}

/// What sets out while the path is cut is lost. A SYN is repeated each second up to 5 s, and then after 7 s; the second round
/// of a transfer waits for a time-out, at first of a round trip and 200 ms, then of twice that; and so on until one gets
/// through.
#[test]
fn a_transfer_waits_for_the_end_of_a_cut() {
    let stack = TcpStack::LINUX_6;
    let (mut there, mut back) = (loss(0.0, "there"), loss(0.0, "back"));
    let cut = |from_ms: u64, until_ms: u64| [Spell { from: Span(from_ms * MS), until: Span(until_ms * MS), lost: 1.0 }];
    let mut connected_after = |from_ms, until_ms| {
        let spells = cut(from_ms, until_ms);
        let way = &mut Way { rtt: RTT, rate: None, there: &mut there, back: &mut back, spells: &spells };
        stack.connect(way).after
    };
    let rtt_ms = RTT.0 / MS;
    // The answer to the SYN sets out half of a round trip later; the other end's clock begins with it.
    let cases =
        [(0, 1, 1), (0, 1001, 2), (0, 3000, 3), (0, 3001, 4), (0, 5001, 7), (rtt_ms / 2, rtt_ms, 1), (rtt_ms, 9000, 0)];
    for (from_ms, until_ms, seconds) in cases {
        assert_eq!(
            connected_after(from_ms, until_ms),
            Span((1000 * seconds + rtt_ms) * MS),
            "{from_ms} to {until_ms} ms"
        );
    }
    let mut sent_after = |from_ms, until_ms| {
        let spells = cut(from_ms, until_ms);
        let way = &mut Way { rtt: RTT, rate: None, there: &mut there, back: &mut back, spells: &[] };
        let mut connection = stack.connect(way).connection.expect("set up");
        let carried = stack.send(
            &mut connection,
            20 * 1448,
            &mut Way { rtt: RTT, rate: None, there: &mut there, back: &mut back, spells: &spells },
        );
        assert!(carried.is_whole);
        carried.after
    };
    // Ten segments, a round trip, ten more, which arrive half of a round trip later.
    assert_eq!(sent_after(0, 0), Span(3 * RTT.0 / 2));
    assert_eq!(sent_after(3 * rtt_ms / 2, 60_000), Span(3 * RTT.0 / 2), "it was under way");
    let mut before = Span::ZERO;
    for until_ms in [rtt_ms + 1, 500, 1000, 5000, 60_000] {
        let after = sent_after(rtt_ms, until_ms);
        assert!(after > before && after > Span(until_ms * MS), "{after} with a cut until {until_ms} ms");
        assert!(after < Span((rtt_ms + 400 + 3 * until_ms) * MS), "time-outs double: {after} until {until_ms} ms");
        before = after;
    }
}

/// A spell of losses is as bad as a path that always loses so much, while it lasts. Of 20,000 transfers of ten segments
/// each; 5 standard errors of the difference are about 4 % (false alarm below 1e-6).
#[test]
fn a_spell_of_losses_is_a_path_that_loses() {
    let stack = TcpStack::LINUX_6;
    let mean_s = |share: f64, spells: &[Spell]| {
        let (mut there, mut back, mut never) = (loss(share, "there"), loss(share, "back"), loss(0.0, "never"));
        let mut quiet = Way { rtt: RTT, rate: None, there: &mut never, back: &mut loss(0.0, "never"), spells: &[] };
        let new = stack.connect(&mut quiet).connection.expect("set up");
        let mut way = Way { rtt: RTT, rate: None, there: &mut there, back: &mut back, spells };
        let of = |_| stack.send(&mut { new }, 10 * 1448, &mut way).after.as_secs_f64();
        (0..20_000).map(of).sum::<f64>() / 20_000.0
    };
    let spell = Spell { from: Span::ZERO, until: Span(u64::MAX), lost: 0.05 };
    let (always, meanwhile) = (mean_s(0.05, &[]), mean_s(0.0, &[spell]));
    assert!((meanwhile / always - 1.0).abs() < 0.04, "{meanwhile} s, {always} s");
    assert!(meanwhile > 1.2 * mean_s(0.0, &[]), "{meanwhile} s");
}

/// SYNs of Linux: after 67 s the last, 131 s until the client gives up (`tcp_syn_retries` in the kernel's documentation).
#[test]
fn syns_are_sent_when_linux_sends_them() {
    for (stack, seconds) in [
        (TcpStack::LINUX_6, vec![0, 1, 2, 3, 4, 5, 7, 11, 19, 35, 67, 131]),
        (TcpStack { syns: 5, ..TcpStack::LINUX_2_2 }, vec![0, 3, 9, 21, 45, 93]),
    ] {
        let (mut there, mut back) = (loss(1.0, "there"), loss(0.0, "back"));
        let mut way = Way { rtt: RTT, rate: None, there: &mut there, back: &mut back, spells: &[] };
        let mut connecting = Connecting::default();
        for next in &seconds[1..] {
            assert_eq!(connecting.go_on(&stack, &mut way), Step::Waits(Span(next * 1000 * MS)));
        }
        let after = Span(seconds.last().unwrap() * 1000 * MS);
        let given_up = Connected { after, connection: None };
        assert_eq!(connecting.go_on(&stack, &mut way), Step::Ends(given_up));
    }
}

/// A server sends its answer again by its own clock where a SYN that comes again does not come through; one that does is
/// answered, and the clock begins anew.
#[test]
fn an_answer_is_sent_again_by_the_servers_clock_and_for_each_syn() {
    let stack = TcpStack::LINUX_2_2;
    let half = RTT.0 / 2;
    let mut connecting = Connecting::default();
    let mut go_on = |syn: bool, answer: bool| {
        let share = |passes: bool| if passes { 0.0 } else { 1.0 };
        let (mut there, mut back) = (loss(share(syn), "there"), loss(share(answer), "back"));
        connecting.go_on(&stack, &mut Way { rtt: RTT, rate: None, there: &mut there, back: &mut back, spells: &[] })
    };
    let s = 1_000_000_000;
    assert_eq!(go_on(true, false), Step::Waits(Span(3 * s)), "the SYN comes through, its answer does not");
    assert_eq!(go_on(false, true), Step::Waits(Span(3 * s + half)), "the second SYN is lost");
    assert_eq!(go_on(true, false), Step::Waits(Span(9 * s)), "so the server answers by its clock: next after 6 s more");
    assert_eq!(
        go_on(true, false),
        Step::Waits(Span(15 * s + half)),
        "the third SYN comes through: the clock begins anew"
    );
    let Step::Ends(connected) = go_on(true, true) else { panic!("the answer comes through") };
    assert_eq!(connected.after, Span(15 * s + 2 * half));
}

/// Each packet is one step of the losses of its path, also where nothing waits for it.
#[test]
fn each_packet_that_passes_is_one_step_of_the_losses() {
    let stack = TcpStack::LINUX_6;
    let coins = |direction| loss(0.5, direction);
    let mut never = loss(0.0, "never");
    let mut back = coins("back");
    let mut way = Way { rtt: RTT, rate: None, there: &mut never, back: &mut back, spells: &[] };
    // Ten segments are one window. The first sixteen segments are acknowledged one by one, later ones in pairs.
    let new = TcpStack { syns: 1000, ..stack }.connect(&mut way).connection.expect("set up");
    let mut connection = new;
    let mut fresh = back.clone();
    let mut way = Way { rtt: RTT, rate: None, there: &mut never, back: &mut back, spells: &[] };
    stack.send(&mut connection, 10 * 1448, &mut way);
    assert_eq!(steps(&mut fresh, &back), 10);
    let mut grown = new;
    for _ in 0..4 {
        let (mut there, mut acknowledgements) = (loss(0.0, "never"), loss(0.0, "never"));
        let mut way = Way { rtt: RTT, rate: None, there: &mut there, back: &mut acknowledgements, spells: &[] };
        stack.send(&mut grown, 30 * 1448, &mut way);
    }
    let mut way = Way { rtt: RTT, rate: None, there: &mut never, back: &mut back, spells: &[] };
    stack.send(&mut grown, 20 * 1448, &mut way);
    assert_eq!(steps(&mut fresh, &back), 10);
    // A SYN that comes through, and the acknowledgement of its answer.
    let mut way = Way { rtt: RTT, rate: None, there: &mut back, back: &mut never, spells: &[] };
    let sent = match Connecting::default().go_on(&stack, &mut way) {
        Step::Ends(_) => 2,
        Step::Waits(_) => 1,
    };
    assert_eq!(steps(&mut fresh, &back), sent);
}

/// An end sends its FIN until the acknowledgement has come through, at first after a time-out of three round trips, and nine
/// times at most.
#[test]
fn a_fin_is_sent_until_it_is_acknowledged() {
    let stack = TcpStack::LINUX_6;
    let way = |there: f64, back: f64| [loss(there, "there"), loss(back, "back")];
    let new = {
        let [mut there, mut back] = way(0.0, 0.0);
        let mut way = Way { rtt: RTT, rate: None, there: &mut there, back: &mut back, spells: &[] };
        stack.connect(&mut way).connection.expect("set up")
    };
    let waits = |share_there, share_back| {
        let [mut there, mut back] = way(share_there, share_back);
        let mut fin = stack.fin(&new, RTT);
        let mut next =
            || fin.go_on(&stack, &mut Way { rtt: RTT, rate: None, there: &mut there, back: &mut back, spells: &[] });
        std::iter::from_fn(|| next().map(|wait| wait.0 / MS)).take(20).collect::<Vec<_>>()
    };
    let doubled = [300, 600, 1200, 2400, 4800, 9600, 19_200, 38_400];
    assert!(waits(0.0, 0.0).is_empty());
    assert_eq!(waits(1.0, 0.0), doubled, "none comes through");
    assert_eq!(waits(0.0, 1.0), doubled, "no acknowledgement comes through");
}

/// By how many packets `used` is ahead of `fresh`, which is brought there.
fn steps(fresh: &mut Loss, used: &Loss) -> usize {
    let next = |mut of: Loss| (0..100).map(|_| of.next_is_lost()).collect::<Vec<_>>();
    let aim = next(used.clone());
    for steps in 0..1000 {
        if next(fresh.clone()) == aim {
            return steps;
        }
        fresh.next_is_lost();
    }
    panic!("they are not of one stream");
}

/// A run of losses ends with the packets that pass, of whichever transfer: while one waits for a time-out, 1,000 packets of
/// others pass. In runs of 100 packets, what it then sends is lost nearly always if it was alone, and else with the share of
/// all losses, 2 % (1,000 trials: 10 % is 18 deviations away).
#[test]
fn transfers_share_the_bursts_of_their_path() {
    let law = LossLaw { share: 0.02, correlation: 0.99, ..LossLaw::default() };
    let stack = TcpStack::LINUX_6;
    let again = |others: u32| {
        let (mut there, mut back) = (Loss::new(law, Stream::new(1, "there", "losses")), loss(0.0, "back"));
        let mut lost = 0;
        let mut waits = 0;
        while waits < 1000 {
            let mut way = Way { rtt: RTT, rate: None, there: &mut there, back: &mut back, spells: &[] };
            let mut connecting = Connecting::default();
            if connecting.go_on(&stack, &mut way) == Step::Waits(Span(1_000_000_000)) {
                waits += 1;
                (0..others).for_each(|_| _ = there.next_is_lost());
                let mut way = Way { rtt: RTT, rate: None, there: &mut there, back: &mut back, spells: &[] };
                lost += u32::from(matches!(connecting.go_on(&stack, &mut way), Step::Waits(_)));
            }
        }
        f64::from(lost) / 1000.0
    };
    let [alone, shared] = [again(0), again(1000)];
    assert!(alone > 0.9 && shared < 0.1, "{alone} alone, {shared} beside others");
}

/// A link of 1 Mbit/s, on which a segment of 1000 B takes 8 ms.
const RATE: f64 = 1e6;

/// When transfers of so many segments of 1000 B, which begin at these instants (ms) and share a link, have arrived (ms).
fn over_one_link(stack: &TcpStack, transfers: &[(u64, u64)]) -> Vec<u64> {
    over_link(stack, &transfers.iter().map(|&(at, segments)| (at, segments, false)).collect::<Vec<_>>())
}

/// The same where the acknowledgements of some transfers come back over the link.
fn over_link(stack: &TcpStack, transfers: &[(u64, u64, bool)]) -> Vec<u64> {
    let mut link = Wire::new(Link { delay: Span::ZERO, rate: Some(RATE) });
    let begin = |&(at, segments, carries_answers): &(u64, u64, bool)| {
        let sending = stack.begin(stack.rested(), segments * 1000, Some(RATE));
        (Time(at * MS), Time(at * MS), Some(sending), carries_answers)
    };
    let mut all: Vec<(Time, Time, Option<Sending>, bool)> = transfers.iter().map(begin).collect();
    let (mut never, mut back) = (loss(0.0, "never"), loss(0.0, "back"));
    while let Some((since, at, sending, carries_answers)) =
        all.iter_mut().filter(|one| one.2.is_some()).min_by_key(|one| one.1)
    {
        let mut way = Way { rtt: RTT, rate: Some(RATE), there: &mut never, back: &mut back, spells: &[] };
        let shared = Shared { link: &mut link, now: *at, carries_answers: *carries_answers };
        match sending.as_mut().expect("it goes on").go_on(stack, &mut way, Some(shared)) {
            Step::Waits(until) => *at = *since + until,
            Step::Ends(carried) => (*at, *sending) = (*since + carried.after, None),
        }
    }
    all.iter().map(|(_, at, ..)| at.0 / MS).collect()
}

/// A round waits for the rounds that joined the queue before it. A transfer alone takes as long as on a link of its own.
#[test]
fn rounds_share_a_link_in_the_order_of_their_beginnings() {
    let stack = TcpStack { header: 0, segment: 1000, ..TcpStack::LINUX_6 };
    for segments in [1, 10, 11, 60] {
        let alone_ms = (mean_s(&stack, segments * 1000, Some(RATE), 0.0, 1) * 1e3).round() as u64;
        assert_eq!(over_one_link(&stack, &[(0, segments)]), [alone_ms], "{segments} segments");
    }
    // Ten segments each: 80 ms, and 50 ms on the way; the second one waits for 79.
    assert_eq!(over_one_link(&stack, &[(0, 10), (1, 10)]), [130, 210]);
    // The first one's second round begins at 108 ms and the link is free at 160, where the third one's round ends.
    assert_eq!(over_one_link(&stack, &[(0, 15), (1, 10)]), [250, 210]);
    // Rounds of twenty follow, the first one's before the second one's.
    assert_eq!(over_one_link(&stack, &[(0, 30), (1, 30)]), [370, 530]);
}

/// Acknowledgements that come back over the same link wait in its queue too, so that a transfer's round trip is longer by what
/// waits there twice, and of two transfers at one time the other one gets more of the link.
#[test]
fn acknowledgements_wait_for_a_link_that_carries_them() {
    let stack = TcpStack { header: 0, segment: 1000, ..TcpStack::LINUX_6 };
    assert_eq!(over_link(&stack, &[(0, 15, true)]), over_one_link(&stack, &[(0, 15)]), "alone nothing waits");
    // Its first round waits for 79 ms, and its second round begins 108 ms after these, or after another 79.
    assert_eq!(over_link(&stack, &[(0, 10, true), (1, 15, false)]), [130, 1 + 79 + 108 + 40 + 50]);
    assert_eq!(over_link(&stack, &[(0, 10, true), (1, 15, true)]), [130, 1 + 79 + 108 + 79 + 40 + 50]);
    let few = TcpStack { receive_window: 10_000, ..stack };
    let ends = over_link(&few, &[(0, 1000, true), (1, 1000, true), (2, 1000, false), (3, 1000, false)]);
    // With windows of ten segments and a wait w (ms), 20 / (108 + w) + 20 / (108 + 2 w) = 1 / 8: w is 153, and the two whose
    // acknowledgements do not wait have a segment every 26.1 ms, the others every 41.4.
    assert!(ends[2..].iter().all(|end| (25_300..27_400).contains(end)) && ends[0].min(ends[1]) > 31_000, "{ends:?}");
    let ends = over_link(&few, &[(0, 1000, true), (1, 1000, true), (2, 1000, true), (3, 1000, true)]);
    assert!(ends.iter().max() < Some(&(ends.iter().min().expect("four") * 21 / 20)), "alike: {ends:?}");
    // A time-out is as long as the round trip with both waits: the ninth transfer has lost all.
    let [over_both, over_one] = [true, false].map(|both| over_link(&stack, &[(0, 10, both); 9])[8]);
    assert!(over_both > over_one + 600, "{over_both} and {over_one} ms");
}

/// A queue (of 64 kB, 512 ms here) loses what finds no room in it: 64 segments, and 12 that the link carries in a round trip.
#[test]
fn what_finds_no_room_is_sent_again() {
    let stack = TcpStack { header: 0, segment: 1000, ..TcpStack::LINUX_6 };
    let ends = over_one_link(&stack, &[(0, 10); 9]);
    assert_eq!(ends[..7], [130, 210, 290, 370, 450, 530, 610]);
    // Six of the eighth one's pass, from 560 ms; the others follow a round trip later.
    assert_eq!(ends[7], 560 + 108 + 32 + 50);
    // The ninth one has lost all, and waits for a time-out: a round trip with the queue in it (708 ms), and 200 ms.
    assert!(ends[8] > 908 + 108, "{} ms", ends[8]);
}

/// A link of which the queue is full for long does not pause.
#[test]
fn a_full_queue_leaves_no_pause() {
    let stack = TcpStack { header: 0, segment: 1000, ..TcpStack::LINUX_6 };
    let ends = over_one_link(&stack, &[(0, 1000), (0, 1000), (0, 1000)]);
    assert_eq!(ends.iter().max(), Some(&(3000 * 8 + 50)), "{ends:?}");
}
