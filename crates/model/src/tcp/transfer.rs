//! Sending bytes over a connection, round by round.

use sojourn_stats::Span;

use super::stack::{Recovery, TcpConnection, TcpStack};
use super::step::Step;
use super::way::{Shared, Way};

/// Bytes under way over a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sending {
    connection: TcpConnection,
    /// Time of a full segment on the link, and of what the last one is shorter.
    segment_s: f64,
    spare_s: f64,
    /// Bytes that the last one is shorter.
    spare: u64,
    /// The sender's clock, from the first segment's start.
    clock_s: f64,
    /// Segments that have not arrived.
    left: u64,
    wait: Option<Wait>,
}

/// How a transfer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// From the first segment's start to the last one's arrival, or to the moment that the sender gives up.
    pub after: Span,
    /// Everything has arrived; else the sender has given up.
    pub is_whole: bool,
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

/// Later acknowledgements that tell of a loss, without RACK.
const DUPLICATES: u64 = 3;

impl TcpStack {
    /// Sends `bytes` over `way`, which nothing else uses meanwhile; 0 bytes are one segment.
    pub fn send(&self, connection: &mut TcpConnection, bytes: u64, way: &mut Way) -> Carried {
        let mut sending = self.begin(*connection, bytes, way.rate);
        loop {
            if let Step::Ends(carried) = sending.go_on(self, way, None) {
                *connection = sending.connection;
                return carried;
            }
        }
    }

    /// Begins to send `bytes`, which leave at `rate` (bit/s); 0 bytes are one segment.
    pub fn begin(&self, connection: TcpConnection, bytes: u64, rate: Option<f64>) -> Sending {
        let left = self.segments(bytes);
        let on_the_link_s = |bytes: u64| rate.map_or(0.0, |rate| bytes as f64 * 8.0 / rate);
        let spare = left * self.segment - bytes;
        let (segment_s, spare_s) = (on_the_link_s(self.segment + self.header), on_the_link_s(spare));
        Sending { connection, segment_s, spare_s, spare, clock_s: 0.0, left, wait: None }
    }

    /// A connection that was used and then idle for long.
    pub fn rested(&self) -> TcpConnection {
        let acknowledged = self.quick_acks.into();
        TcpConnection {
            window: self.initial_window.into(),
            threshold: f64::INFINITY,
            acknowledged,
            variation_s: Some(0.0),
        }
    }

    /// Begins anew on a connection that was idle for `idle`: after more than a time-out from the initial window (RFC 5681,
    /// section 4.1).
    pub fn rest(&self, connection: &mut TcpConnection, idle: Span, rtt: Span) {
        if idle.as_secs_f64() > self.timeout_s(connection, rtt.as_secs_f64()) {
            connection.window = connection.window.min(f64::from(self.initial_window));
        }
    }
}

impl Sending {
    /// Goes on until it has to wait for a time-out, or to its end; over a link that others use too, to the end of a round.
    pub fn go_on(&mut self, stack: &TcpStack, way: &mut Way, shared: Option<Shared>) -> Step<Carried> {
        let rtt_s = way.rtt.as_secs_f64();
        let limit = (stack.receive_window / stack.segment).max(1) as f64;
        match (Transfer { stack, way, shared, rtt_s, limit, answers_wait_s: 0.0, of: self }).play() {
            Some(carried) => Step::Ends(carried),
            None => Step::Waits(Span::from_secs_f64(self.clock_s)),
        }
    }

    /// The connection, with what has been learned so far.
    pub fn connection(&self) -> TcpConnection {
        self.connection
    }
}

/// A transfer under way.
struct Transfer<'a, 'b> {
    stack: &'a TcpStack,
    way: &'a mut Way<'b>,
    shared: Option<Shared<'a>>,
    rtt_s: f64,
    /// The receiver's window (segments).
    limit: f64,
    /// How long acknowledgements wait for a link that others use too.
    answers_wait_s: f64,
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
            if over.is_some() || self.of.wait.is_some() || self.shared.is_some() {
                return over;
            }
        }
    }

    /// A window is sent.
    fn round(&mut self) -> Option<Carried> {
        let wanted = (self.of.connection.window.min(self.limit) as u64).max(1).min(self.of.left);
        let sent = self.joins(wanted);
        if sent == 0 {
            return self.time_out(wanted, 1);
        }
        let fate = self.fate(sent);
        let sending_s = sent as f64 * self.of.segment_s;
        self.of.left -= sent - fate.lost;
        if self.of.left == 0 {
            return Some(self.arrived(sending_s - self.of.spare_s, sent));
        }
        if fate.lost > 0 {
            self.repair(sent, fate, sending_s)
        } else if self.acknowledged_in_order(sent) > 0 {
            self.of.clock_s += sending_s.max(self.heard_s());
            // What found no room is sent again in the next round.
            if sent < wanted {
                self.shrink(wanted)
            } else {
                self.grow(sent)
            }
            None
        } else {
            self.of.clock_s += sending_s;
            self.time_out(sent, 0)
        }
    }

    /// Segments join the queue of a link that others use too: how many find room.
    fn joins(&mut self, wanted: u64) -> u64 {
        let Some(shared) = &mut self.shared else { return wanted };
        let spare = if wanted == self.of.left { self.of.spare } else { 0 };
        let (fit, waits_s) = shared.joins(wanted, self.stack.segment + self.stack.header, spare, self.way.rtt);
        self.of.clock_s += waits_s;
        if shared.carries_answers {
            self.answers_wait_s = waits_s;
        }
        fit
    }

    /// From a window's first segment, when it leaves the queue, to the acknowledgement of it.
    fn heard_s(&self) -> f64 {
        self.of.segment_s + self.rtt_s + self.answers_wait_s
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
        self.shrink(sent);
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
        // The round trips that the sender has measured were as long as the queue is.
        let queue_s = self.shared.as_ref().map_or(0.0, |shared| {
            let ways = if shared.carries_answers { 2.0 } else { 1.0 };
            ways * shared.link.wait(shared.now).as_secs_f64()
        });
        let wait_s = self.stack.timeout_s(&self.of.connection, self.rtt_s + queue_s);
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
        if self.joins(1) == 0 || self.loses_segment() {
            return self.wait(wait);
        }
        self.of.left -= std::mem::take(&mut wait.missing);
        if self.of.left == 0 {
            return Some(self.arrived(self.of.segment_s, 1));
        }
        if self.loses_answer() {
            return self.wait(wait);
        }
        self.of.clock_s += self.heard_s();
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

    /// Of a window of `sent` segments some were lost.
    fn shrink(&mut self, sent: u64) {
        self.of.connection.threshold = (sent as f64 * self.stack.decrease).max(2.0);
        self.of.connection.window = self.of.connection.threshold;
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
