//! Setting a connection up, and closing it.

use sojourn_stats::Span;

use super::stack::{TcpConnection, TcpStack};
use super::step::Step;
use super::way::Way;

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

/// How an attempt to set a connection up ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Connected {
    /// From the first SYN to its answer, or to the moment that the client gives up.
    pub after: Span,
    /// The connection; none: the client has given up.
    pub connection: Option<TcpConnection>,
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

impl TcpStack {
    /// Sets a connection up over `way`, which nothing else uses meanwhile.
    pub fn connect(&self, way: &mut Way) -> Connected {
        let mut connecting = Connecting::default();
        loop {
            if let Step::Ends(connected) = connecting.go_on(self, way) {
                return connected;
            }
        }
    }

    /// The FIN of an end that closes a connection.
    pub fn fin(&self, connection: &TcpConnection, rtt: Span) -> Fin {
        Fin { wait_s: self.timeout_s(connection, rtt.as_secs_f64()), times: 0 }
    }

    /// Before a SYN or its answer is sent again when its time-out has doubled so many times.
    fn syn_wait(&self, doubled: u32) -> Span {
        Span(self.syn_timeout.0.saturating_mul(1 << doubled.min(20))).min(self.most_timeout)
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
