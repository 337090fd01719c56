//! TCP at the level of flows, over a path that loses packets: how long it takes to set a connection up and to send bytes
//! over it, drawn round by round.
//!
//! The rounds are those of the latency model by Cardwell, Savage and Anderson (Modeling TCP latency, IEEE INFOCOM 2000), which
//! builds on Padhye, Firoiu, Towsley and Kurose (ACM SIGCOMM 1998): a window of segments, a round trip, a window that has
//! grown. Where they take means, each packet's loss is drawn here, so that losses may be correlated and a transfer has a
//! distribution. `sojourn_theory::formula::tcp` has their mean, and the tests compare the two.
//!
//! | what happens | what it costs |
//! |---|---|
//! | a SYN or its answer is lost | time-outs of both ends, see [`Connecting`]; a client that has sent all its SYNs gives up |
//! | a window passes | the longer of its time on the link and a round trip; the window grows: slow start, then linearly |
//! | a segment is lost, enough later ones are acknowledged | found after a round trip, repaired after more: see [`Recovery`] |
//! | too few later ones are acknowledged | a time-out, or a probe of the tail; then slow start from one segment |
//! | a segment that is sent again is lost | a time-out, twice as long each time |
//! | all acknowledgements of a window are lost | a time-out for nothing |
//! | the path is cut, or loses more, for a while ([`Spell`]) | what sets out meanwhile is lost, each packet or a share |
//!
//! A set-up or a transfer goes on in steps: what follows a time-out is drawn when that time has come ([`Step`]), so that
//! transfers which share a path share its bursts of losses. What is sent before the next time-out is drawn at once. A burst
//! ends with the packets that pass, so each one is drawn, also where nothing waits for it: the last acknowledgements, and what
//! closes a connection ([`Fin`]), which on a bad path goes on long after the transfer.
//!
//! Not here: the timer of delayed acknowledgements (Linux acknowledges the first segments at once), reordering, queues in
//! front of the link, new data during NewReno's recovery, CUBIC's steeper growth far from its last loss, and how a connection
//! ends of which an end has given up. The round trip is constant.

use sojourn_stats::Span;

use crate::Loss;

/// An implementation of TCP: what the time of a transfer depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpStack {
    /// Bytes of data in a full segment.
    pub segment: u64,
    /// Bytes of a packet's headers, of IP and TCP.
    pub header: u64,
    /// Segments that a new connection may send before the first acknowledgement.
    pub initial_window: u32,
    /// Bytes that may be under way to a receiver.
    pub receive_window: u64,
    /// Segments of a new connection that are acknowledged one by one.
    pub quick_acks: u32,
    /// By how much the window grows in slow start for each later segment: 1, or 0.5 where every other acknowledgement is left
    /// out and acknowledgements are counted, not bytes.
    pub growth: f64,
    /// By how many segments the window grows in a round trip beyond slow start.
    pub increase: f64,
    /// What is left of the window after a loss.
    pub decrease: f64,
    /// Before a SYN or its answer is sent again; twice as long each time, but for [`TcpStack::linear_syns`].
    pub syn_timeout: Span,
    /// Further time-outs of a SYN, not of its answer, that are as long as the first one.
    pub linear_syns: u32,
    /// SYNs that a client sends before it gives the connection up.
    pub syns: u32,
    /// Before a segment is sent again, while no round trip has been measured; and between which bounds afterwards.
    pub initial_timeout: Span,
    /// See [`TcpStack::initial_timeout`].
    pub least_timeout: Span,
    /// See [`TcpStack::initial_timeout`].
    pub most_timeout: Span,
    /// What a time-out adds to the round trip at least.
    pub least_variation: Span,
    /// Times that a segment is sent before the connection is given up.
    pub sends: u32,
    /// How losses are found and repaired.
    pub recovery: Recovery,
}

/// How losses are found and repaired without a time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Three duplicate acknowledgements; one segment per round trip is repaired (RFC 6582).
    NewReno,
    /// Three duplicate acknowledgements; all lost segments are repaired in one round trip (RFC 6675).
    Sack,
    /// One later acknowledgement, of segments that were sent again too, and a probe two round trips after the last segment
    /// (RACK-TLP, RFC 8985).
    Rack,
}

/// One direction of a path, for the segments, and the other one for their acknowledgements.
#[derive(Debug)]
pub struct Way<'a> {
    /// Round trip, empty.
    pub rtt: Span,
    /// Rate at which segments leave (bit/s); none: at once.
    pub rate: Option<f64>,
    /// The losses of segments.
    pub there: &'a mut Loss,
    /// The losses of acknowledgements.
    pub back: &'a mut Loss,
    /// When more is lost, in both directions.
    pub spells: &'a [Spell],
}

/// A time in which a path loses more than it usually does, counted from the first segment's start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spell {
    /// Its first instant.
    pub from: Span,
    /// The first instant after it.
    pub until: Span,
    /// The further share of the packets that is lost: those that set out in this time, each by itself.
    pub lost: f64,
}

/// What a sender knows of its connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpConnection {
    /// Congestion window, and where slow start ends (segments).
    window: f64,
    threshold: f64,
    /// Segments that the receiver has acknowledged.
    acknowledged: u64,
    /// Four times the mean deviation of the round trip (s); none while no round trip has been measured.
    variation_s: Option<f64>,
}

/// How an attempt to set a connection up ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Connected {
    /// From the first SYN to its answer, or to the moment that the client gives up.
    pub after: Span,
    /// The connection; none: the client has given up.
    pub connection: Option<TcpConnection>,
}

/// How a transfer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// From the first segment's start to the last one's arrival, or to the moment that the sender gives up.
    pub after: Span,
    /// Everything has arrived; else the sender has given up.
    pub is_whole: bool,
}

/// What becomes of a set-up or a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step<T> {
    /// It waits for a time-out, which ends so long after its start.
    Waits(Span),
    /// It ends.
    Ends(T),
}

/// A connection that is being set up. Both ends repeat what was lost, each by its own clock (Cardwell et al., section II-A); the
/// server also answers each SYN that comes again, and its clock then begins anew (`tcp_check_req` of Linux).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Connecting {
    /// SYNs sent, and when the next one is due, or the client gives up.
    syns: u32,
    syn_at: Span,
    /// Time-outs of the answer, and when the next one ends; none before a SYN has come through.
    timeouts: u32,
    answer_at: Option<Span>,
}

/// Bytes under way over a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sending {
    connection: TcpConnection,
    /// Time of a full segment on the link, and of what the last one is shorter.
    segment_s: f64,
    spare_s: f64,
    /// The sender's clock, from the first segment's start.
    clock_s: f64,
    /// Segments that have not arrived.
    left: u64,
    wait: Option<Wait>,
}

/// A segment that is sent again after each time-out, until it and its acknowledgement have come through.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wait {
    /// Segments of the window that it was sent in.
    sent: u64,
    /// Whether it has not arrived yet (1, else 0).
    missing: u64,
    /// The next time-out.
    wait_s: f64,
    /// How often it was sent.
    times: u32,
}

/// The FIN of one end, which is sent until its acknowledgement has come through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fin {
    /// The next time-out.
    wait_s: f64,
    /// How often it was sent.
    times: u32,
}

/// An end that has closed a connection sends its FIN so often (`tcp_orphan_retries` of Linux, and the first time).
const FINS: u32 = 9;

/// Later acknowledgements that tell of a loss, without RACK.
const DUPLICATES: u64 = 3;

/// Linux acknowledges so many segments of a new connection one by one.
const LINUX_QUICK_ACKS: u32 = 16;

impl Way<'_> {
    /// Whether the packet that sets out at `at` is lost: a segment, or what answers one.
    fn loses(&mut self, is_answer: bool, at: Span) -> bool {
        let losses = if is_answer { &mut *self.back } else { &mut *self.there };
        let is_lost = losses.next_is_lost();
        let of_spells = |spell: &Spell| spell.from <= at && at < spell.until && losses.draws_below(spell.lost);
        self.spells.iter().any(of_spells) || is_lost
    }
}

impl TcpStack {
    /// Linux 2.2, of 1999 to 2001: an initial window of 2 segments (RFC 2414), 3 s before the first SYN is repeated (RFC 1122),
    /// 200 ms at least before a segment is (`HZ / 5`), windows of 32 kB, Reno's growth by acknowledgements. Its SACK is left
    /// out: few of the files of its time are long enough for three duplicate acknowledgements.
    pub const LINUX_2_2: TcpStack = TcpStack {
        segment: 1448,
        header: 52,
        initial_window: 2,
        receive_window: 32_120,
        quick_acks: LINUX_QUICK_ACKS,
        growth: 0.5,
        increase: 0.5,
        decrease: 0.5,
        syn_timeout: Span(3_000_000_000),
        linear_syns: 0,
        syns: 11,
        initial_timeout: Span(3_000_000_000),
        least_timeout: Span(200_000_000),
        most_timeout: Span(120_000_000_000),
        least_variation: Span::ZERO,
        sends: 16,
        recovery: Recovery::NewReno,
    };

    /// Linux 6, from 6.5 on: an initial window of 10 segments (RFC 6928), SYNs after 1, 2, 3, 4, 5, 7, 11 s and so on
    /// (`tcp_syn_linear_timeouts` is 4; the last one after 67 s), a round trip and 200 ms before a segment is repeated, RACK-TLP,
    /// and of CUBIC (RFC 9438) the decrease and the growth near a loss.
    pub const LINUX_6: TcpStack = TcpStack {
        segment: 1448,
        header: 52,
        initial_window: 10,
        receive_window: 3 << 20,
        quick_acks: LINUX_QUICK_ACKS,
        growth: 1.0,
        increase: 0.53,
        decrease: 0.7,
        syn_timeout: Span(1_000_000_000),
        linear_syns: 4,
        syns: 11,
        initial_timeout: Span(1_000_000_000),
        least_timeout: Span(200_000_000),
        most_timeout: Span(120_000_000_000),
        least_variation: Span(200_000_000),
        sends: 16,
        recovery: Recovery::Rack,
    };

    /// The stacks by their names in an experiment.
    pub const NAMED: [(&str, TcpStack); 2] = [("linux-2.2", TcpStack::LINUX_2_2), ("linux-6", TcpStack::LINUX_6)];

    /// Bytes on the link for so many bytes of data, headers included.
    pub fn on_the_link(&self, bytes: u64) -> u64 {
        bytes + self.segments(bytes) * self.header
    }

    /// Sets a connection up over `way`, which nothing else uses meanwhile.
    pub fn connect(&self, way: &mut Way) -> Connected {
        let mut connecting = Connecting::default();
        loop {
            if let Step::Ends(connected) = connecting.go_on(self, way) {
                return connected;
            }
        }
    }

    /// Begins anew on a connection that was idle for `idle`: after more than a time-out from the initial window (RFC 5681,
    /// section 4.1).
    pub fn rest(&self, connection: &mut TcpConnection, idle: Span, rtt: Span) {
        if idle.as_secs_f64() > self.timeout_s(connection, rtt.as_secs_f64()) {
            connection.window = connection.window.min(f64::from(self.initial_window));
        }
    }

    /// Sends `bytes` over `way`, which nothing else uses meanwhile; 0 bytes are one segment.
    pub fn send(&self, connection: &mut TcpConnection, bytes: u64, way: &mut Way) -> Carried {
        let mut sending = self.begin(*connection, bytes, way.rate);
        loop {
            if let Step::Ends(carried) = sending.go_on(self, way) {
                *connection = sending.connection;
                return carried;
            }
        }
    }

    /// Begins to send `bytes`, which leave at `rate` (bit/s); 0 bytes are one segment.
    pub fn begin(&self, connection: TcpConnection, bytes: u64, rate: Option<f64>) -> Sending {
        let left = self.segments(bytes);
        let on_the_link_s = |bytes: u64| rate.map_or(0.0, |rate| bytes as f64 * 8.0 / rate);
        let (segment_s, spare_s) =
            (on_the_link_s(self.segment + self.header), on_the_link_s(left * self.segment - bytes));
        Sending { connection, segment_s, spare_s, clock_s: 0.0, left, wait: None }
    }

    /// The FIN of an end that closes a connection.
    pub fn fin(&self, connection: &TcpConnection, rtt: Span) -> Fin {
        Fin { wait_s: self.timeout_s(connection, rtt.as_secs_f64()), times: 0 }
    }

    /// Before a SYN or its answer is sent again when its time-out has doubled so many times.
    fn syn_wait(&self, doubled: u32) -> Span {
        Span(self.syn_timeout.0.saturating_mul(1 << doubled.min(20))).min(self.most_timeout)
    }

    fn segments(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.segment).max(1)
    }

    /// Before a segment is sent again (RFC 6298).
    fn timeout_s(&self, connection: &TcpConnection, rtt_s: f64) -> f64 {
        let Some(variation_s) = connection.variation_s else { return self.initial_timeout.as_secs_f64() };
        let timeout_s = rtt_s + variation_s.max(self.least_variation.as_secs_f64());
        timeout_s.clamp(self.least_timeout.as_secs_f64(), self.most_timeout.as_secs_f64())
    }
}

impl Connecting {
    /// A SYN or its answer is sent: the set-up goes on until it has to wait, or to its end.
    pub fn go_on(&mut self, stack: &TcpStack, way: &mut Way) -> Step<Connected> {
        let half = Span(way.rtt.0 / 2);
        let gives_up = self.syns == stack.syns;
        // A client that has given up hears no answer any more.
        let comes_first = |answer_at: &Span| *answer_at + if gives_up { half } else { Span::ZERO } < self.syn_at;
        let answers_from = match self.answer_at.filter(comes_first) {
            Some(answer_at) => {
                self.timeouts += 1;
                Some(answer_at)
            }
            None if gives_up => return Step::Ends(Connected { after: self.syn_at, connection: None }),
            None => {
                let at = self.syn_at;
                self.syn_at = at + stack.syn_wait(self.syns.saturating_sub(stack.linear_syns));
                self.syns += 1;
                (!way.loses(false, at)).then(|| at + half)
            }
        };
        if let Some(from) = answers_from {
            self.answer_at = Some(from + stack.syn_wait(self.timeouts));
            if !way.loses(true, from) {
                let after = from + Span(way.rtt.0 - half.0);
                return Step::Ends(Connected { after, connection: Some(self.connection(stack, way, after)) });
            }
        }
        Step::Waits(self.answer_at.map_or(self.syn_at, |answer_at| answer_at.min(self.syn_at)))
    }

    /// The connection that is set up, whose client acknowledges the answer.
    fn connection(&self, stack: &TcpStack, way: &mut Way, after: Span) -> TcpConnection {
        way.loses(false, after);
        // A round trip is measured on what was sent once (Karn and Partridge, 1987).
        let variation_s = (self.syns == 1 && self.timeouts == 0).then(|| 2.0 * way.rtt.as_secs_f64());
        let window = f64::from(stack.initial_window);
        TcpConnection { window, threshold: f64::INFINITY, acknowledged: 0, variation_s }
    }
}

impl Sending {
    /// Goes on until it has to wait for a time-out, or to its end.
    pub fn go_on(&mut self, stack: &TcpStack, way: &mut Way) -> Step<Carried> {
        let rtt_s = way.rtt.as_secs_f64();
        let limit = (stack.receive_window / stack.segment).max(1) as f64;
        match (Transfer { stack, way, rtt_s, limit, of: self }).play() {
            Some(carried) => Step::Ends(carried),
            None => Step::Waits(Span::from_secs_f64(self.clock_s)),
        }
    }

    /// The connection, with what has been learned so far.
    pub fn connection(&self) -> TcpConnection {
        self.connection
    }
}

impl Fin {
    /// It is sent, `way` being that of the end that sends it: how long this end then waits before it is sent again; none where
    /// its acknowledgement comes through, or the end gives up.
    pub fn go_on(&mut self, stack: &TcpStack, way: &mut Way) -> Option<Span> {
        self.times += 1;
        if !way.loses(false, Span::ZERO) && !way.loses(true, Span::ZERO) {
            return None;
        }
        let wait = Span::from_secs_f64(self.wait_s);
        self.wait_s = (2.0 * self.wait_s).min(stack.most_timeout.as_secs_f64());
        (self.times < FINS).then_some(wait)
    }
}

/// A transfer under way.
struct Transfer<'a, 'b> {
    stack: &'a TcpStack,
    way: &'a mut Way<'b>,
    rtt_s: f64,
    /// The receiver's window (segments).
    limit: f64,
    of: &'a mut Sending,
}

/// What became of some segments that were sent together.
#[derive(Default)]
struct Fate {
    /// Segments before the first that was lost.
    before: u64,
    lost: u64,
    /// Segments that arrived after the first that was lost.
    after: u64,
}

impl Transfer<'_, '_> {
    /// None where it waits.
    fn play(mut self) -> Option<Carried> {
        loop {
            let over = match self.of.wait.take() {
                Some(wait) => self.send_again(wait),
                None => self.round(),
            };
            if over.is_some() || self.of.wait.is_some() {
                return over;
            }
        }
    }

    /// A window is sent.
    fn round(&mut self) -> Option<Carried> {
        let sent = (self.of.connection.window.min(self.limit) as u64).max(1).min(self.of.left);
        let fate = self.fate(sent);
        let sending_s = sent as f64 * self.of.segment_s;
        self.of.left -= sent - fate.lost;
        if self.of.left == 0 {
            return Some(self.arrived(sending_s - self.of.spare_s, sent));
        }
        if fate.lost > 0 {
            self.repair(sent, fate, sending_s)
        } else if self.acknowledged_in_order(sent) > 0 {
            self.of.clock_s += sending_s.max(self.of.segment_s + self.rtt_s);
            self.grow(sent);
            None
        } else {
            self.of.clock_s += sending_s;
            self.time_out(sent, 0)
        }
    }

    /// A window in which segments were lost.
    fn repair(&mut self, sent: u64, fate: Fate, sending_s: f64) -> Option<Carried> {
        let Fate { before, mut lost, after } = fate;
        let needed = if self.stack.recovery == Recovery::Rack { 1 } else { DUPLICATES };
        self.of.clock_s += sending_s;
        let of_before = self.acknowledged_in_order(before);
        let mut heard = self.acknowledged(after);
        // Acknowledgements of what came before the loss let new segments go out, in slow start two for each.
        let in_slow_start = self.of.connection.window < self.of.connection.threshold;
        let released = if in_slow_start { 2 * before } else { before };
        if heard >= needed {
            // They go out with what is sent again, and with a share of what arrived after the loss (RFC 6937).
            self.of.clock_s += self.rtt_s;
            let room = released + (after as f64 * self.stack.decrease) as u64;
            return self.recover(sent, lost, room);
        }
        if before > 0 && of_before + heard > 0 {
            // They tell of the loss a round trip later.
            let further = self.fate(released.min(self.of.left - lost));
            let arrived = further.before + further.after;
            self.of.left -= arrived;
            lost += further.lost;
            heard += self.acknowledged(arrived);
            self.of.clock_s += self.rtt_s;
            if heard >= needed {
                self.of.clock_s += self.rtt_s;
                return self.recover(sent, lost, 0);
            }
        }
        if self.stack.recovery == Recovery::Rack {
            self.of.clock_s += self.probe_s(sent);
            if !self.loses_segment() {
                self.of.left -= 1;
                if self.of.left == 0 {
                    return Some(self.arrived(self.of.segment_s, 1));
                }
                if !self.loses_answer() {
                    self.of.clock_s += self.of.segment_s + self.rtt_s;
                    return self.recover(sent, lost - 1, 0);
                }
                return self.time_out(sent, u64::from(lost > 1));
            }
        }
        self.time_out(sent, 1)
    }

    /// Sends again what is missing, as it is known, and new segments while there is `room` for them in the window.
    fn recover(&mut self, sent: u64, mut missing: u64, mut room: u64) -> Option<Carried> {
        self.of.connection.threshold = (sent as f64 * self.stack.decrease).max(2.0);
        self.of.connection.window = self.of.connection.threshold;
        while missing > 0 {
            let (again, new) = match self.stack.recovery {
                Recovery::NewReno => (1, 0),
                Recovery::Sack | Recovery::Rack => (missing, room.saturating_sub(missing).min(self.of.left - missing)),
            };
            let (lost_again, lost_new) = (self.fate(again).lost, self.fate(new).lost);
            let arrived = again + new - lost_again - lost_new;
            self.of.left -= arrived;
            missing = missing - (again - lost_again) + lost_new;
            let sending_s = (again + new) as f64 * self.of.segment_s;
            if self.of.left == 0 {
                return Some(self.arrived(sending_s, arrived));
            }
            let heard = self.acknowledged(arrived);
            self.of.clock_s += sending_s + self.rtt_s;
            let is_told = heard > 0 && (lost_again == 0 || self.stack.recovery == Recovery::Rack);
            if !is_told {
                return self.time_out(sent, missing.min(1));
            }
            room = self.of.connection.window as u64;
        }
        None
    }

    /// How long a sender waits before it probes the tail of a window: two round trips, and after a single segment also for a
    /// delayed acknowledgement, but no longer than a time-out (RFC 8985, section 7.2).
    fn probe_s(&self, sent: u64) -> f64 {
        let delay_s = if sent == 1 { self.stack.least_timeout.as_secs_f64() } else { 0.0 };
        (2.0 * self.rtt_s + delay_s).min(self.stack.timeout_s(&self.of.connection, self.rtt_s))
    }

    /// Waits for a time-out, after which a segment is sent again, of which `missing` (0 or 1) has not arrived yet.
    fn time_out(&mut self, sent: u64, missing: u64) -> Option<Carried> {
        let wait_s = self.stack.timeout_s(&self.of.connection, self.rtt_s);
        self.wait(Wait { sent, missing, wait_s, times: 1 })
    }

    /// Waits once more, or gives up.
    fn wait(&mut self, wait: Wait) -> Option<Carried> {
        if wait.times >= self.stack.sends {
            return Some(Carried { after: Span::from_secs_f64(self.of.clock_s), is_whole: false });
        }
        self.of.clock_s += wait.wait_s;
        let wait_s = (2.0 * wait.wait_s).min(self.stack.most_timeout.as_secs_f64());
        self.of.wait = Some(Wait { wait_s, times: wait.times + 1, ..wait });
        None
    }

    /// A time-out has ended.
    fn send_again(&mut self, mut wait: Wait) -> Option<Carried> {
        if self.loses_segment() {
            return self.wait(wait);
        }
        self.of.left -= std::mem::take(&mut wait.missing);
        if self.of.left == 0 {
            return Some(self.arrived(self.of.segment_s, 1));
        }
        if self.loses_answer() {
            return self.wait(wait);
        }
        self.of.clock_s += self.of.segment_s + self.rtt_s;
        self.of.connection.threshold = (wait.sent as f64 * self.stack.decrease).max(2.0);
        self.of.connection.window = 2.0;
        None
    }

    /// The last of `segments`, which are on the link for the next `sending_s`, arrives.
    fn arrived(&mut self, sending_s: f64, segments: u64) -> Carried {
        self.acknowledged_in_order(segments);
        Carried { after: Span::from_secs_f64(self.of.clock_s + sending_s + 0.5 * self.rtt_s), is_whole: true }
    }

    fn fate(&mut self, sent: u64) -> Fate {
        let mut fate = Fate::default();
        for _ in 0..sent {
            match (self.loses_segment(), fate.lost) {
                (true, _) => fate.lost += 1,
                (false, 0) => fate.before += 1,
                (false, _) => fate.after += 1,
            }
        }
        fate
    }

    /// How many acknowledgements of `sent` segments that arrive in order come through; each tells of all before it. A new
    /// connection's first segments are acknowledged one by one, later ones in pairs.
    fn acknowledged_in_order(&mut self, sent: u64) -> u64 {
        let quick = self.quick(sent);
        self.acknowledged(quick + (sent - quick).div_ceil(2))
    }

    /// How many of `sent` segments are acknowledged one by one.
    fn quick(&self, sent: u64) -> u64 {
        u64::from(self.stack.quick_acks).saturating_sub(self.of.connection.acknowledged).min(sent)
    }

    /// How many of so many acknowledgements come through.
    fn acknowledged(&mut self, acknowledgements: u64) -> u64 {
        (0..acknowledgements).map(|_| u64::from(!self.loses_answer())).sum()
    }

    /// Whether a segment that is sent now is lost. Those of one round set out together.
    fn loses_segment(&mut self) -> bool {
        self.way.loses(false, self.at(self.of.clock_s))
    }

    /// Whether the acknowledgement of what is sent now is lost.
    fn loses_answer(&mut self) -> bool {
        self.way.loses(true, self.at(self.of.clock_s + 0.5 * self.rtt_s))
    }

    /// An instant, where one is looked at.
    fn at(&self, clock_s: f64) -> Span {
        if self.way.spells.is_empty() { Span::ZERO } else { Span::from_secs_f64(clock_s) }
    }

    /// A window of `sent` segments has been acknowledged.
    fn grow(&mut self, sent: u64) {
        let quick = self.quick(sent);
        let TcpConnection { window, threshold, acknowledged, variation_s } = &mut self.of.connection;
        if *window < *threshold {
            let growth = quick as f64 + (sent - quick) as f64 * self.stack.growth;
            *window = (*window + growth).min(*threshold).min(self.limit.max(*window));
        } else {
            *window = (*window + self.stack.increase).min(self.limit.max(*window));
        }
        *acknowledged += sent;
        // The mean deviation of a round trip that does not vary loses a quarter with each measurement.
        *variation_s = Some(variation_s.map_or(2.0 * self.rtt_s, |variation_s| 0.75 * variation_s));
    }
}
