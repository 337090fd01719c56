//! A client's connection from the end of its handshake to its own: opening, then joined with a server, or refused.

use sojourn_stats::Time;

use crate::head::Refusal;
use crate::joined::Joined;
use crate::opening::{Opening, Turn};
use crate::refused::Refused;
use crate::segment::Segment;
use crate::settings::{Cx, Ends};

/// A client's connection.
#[derive(Debug)]
pub(crate) struct Connection {
    ends: Ends,
    stage: Stage,
    /// When the splicer looks at it.
    pub(crate) looked_at: Time,
    /// A first packet has come from its client's port, so that another connection may follow.
    pub(crate) is_knocked_at: bool,
}

#[derive(Debug)]
enum Stage {
    Opening(Opening),
    Joined(Box<Joined>),
    Refused(Refused),
    Over,
}

impl Connection {
    /// One whose client has just finished the handshake, with this window.
    pub(crate) fn new(ends: Ends, window: u16, cx: &Cx<'_>) -> Connection {
        let stage = Stage::Opening(Opening::new(window, cx.now + cx.settings.lifetimes.opening));
        Connection { ends, stage, looked_at: Time::NEVER, is_knocked_at: false }
    }

    /// Bytes that it holds.
    pub(crate) fn held(&self) -> usize {
        match &self.stage {
            Stage::Opening(opening) => opening.bytes.len(),
            Stage::Joined(joined) => joined.owed.len(),
            Stage::Refused(_) | Stage::Over => 0,
        }
    }

    /// When something is to be done unless a packet comes first.
    pub(crate) fn due(&self, cx: &Cx<'_>) -> Time {
        match &self.stage {
            Stage::Opening(opening) => opening.due,
            Stage::Joined(joined) => joined.due(cx),
            Stage::Refused(refused) => refused.due,
            Stage::Over => Time::ZERO,
        }
    }

    /// Whether it is to be forgotten.
    pub(crate) fn is_forgotten(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    /// Whether its client may have begun another one: then what comes is looked at as the end of a handshake, too.
    pub(crate) fn may_be_followed(&self, own_isn: u32) -> bool {
        let is_over = match &self.stage {
            Stage::Joined(joined) => joined.is_over(),
            Stage::Refused(_) => true,
            _ => false,
        };
        (is_over || self.is_knocked_at) && own_isn != self.ends.own_isn
    }

    /// What is added to the server's numbers for the client; none where it has no server.
    pub(crate) fn joined(&self) -> Option<&Joined> {
        if let Stage::Joined(joined) = &self.stage { Some(joined) } else { None }
    }

    /// Takes a segment of the client.
    pub(crate) fn of_client(&mut self, segment: &Segment<'_>, cx: &mut Cx<'_>) {
        match &mut self.stage {
            Stage::Opening(opening) => {
                let turn = opening.of_client(&self.ends, segment, cx);
                self.turn(turn, None, cx);
            }
            Stage::Joined(joined) => joined.of_client(&self.ends, segment, cx),
            Stage::Refused(refused) => refused.of_client(&self.ends, segment, cx),
            Stage::Over => {}
        }
    }

    /// Takes a segment of a server.
    pub(crate) fn of_server(&mut self, segment: &Segment<'_>, cx: &mut Cx<'_>) {
        match &mut self.stage {
            Stage::Opening(opening) => {
                let turn = opening.of_server(&self.ends, segment, cx);
                self.turn(turn, Some(segment), cx);
            }
            Stage::Joined(joined) => joined.of_server(&self.ends, segment, cx),
            Stage::Refused(_) | Stage::Over => {}
        }
    }

    /// A time is over.
    pub(crate) fn is_due(&mut self, cx: &mut Cx<'_>) {
        let is_over = match &mut self.stage {
            Stage::Opening(opening) => {
                let turn = opening.is_due(&self.ends, cx);
                return self.turn(turn, None, cx);
            }
            Stage::Joined(joined) => joined.is_due(&self.ends, cx),
            Stage::Refused(refused) => refused.is_due(&self.ends, cx),
            Stage::Over => true,
        };
        if is_over {
            self.stage = Stage::Over;
        }
    }

    /// Ends both sides, unless both have.
    pub(crate) fn reset(&mut self, cx: &mut Cx<'_>) {
        match &mut self.stage {
            Stage::Opening(opening) => drop(opening.give_up(&self.ends, cx)),
            Stage::Joined(joined) if !joined.is_over() => joined.reset(&self.ends, cx),
            _ => {}
        }
        self.stage = Stage::Over;
    }

    fn turn(&mut self, turn: Turn, segment: Option<&Segment<'_>>, cx: &mut Cx<'_>) {
        let Stage::Opening(opening) = &self.stage else { return };
        self.stage = match turn {
            Turn::Stay => return,
            Turn::Accepted(backend) => {
                let accepts = segment.expect("it is a server's segment that accepts");
                Stage::Joined(Box::new(Joined::new(&self.ends, opening, backend, accepts, cx)))
            }
            Turn::Refused(refusal) => {
                let received = opening.bytes.len() as u32;
                let counts = cx.decider.counts();
                *match refusal {
                    Refusal::Malformed => &mut counts.malformed,
                    Refusal::Slow => &mut counts.slow,
                    Refusal::Long => &mut counts.long,
                    Refusal::Encrypted => &mut counts.encrypted,
                } += 1;
                match refusal.reply() {
                    Some(reply) => Stage::Refused(Refused::new(&self.ends, reply, received, cx)),
                    None => {
                        cx.reset_client(&self.ends, (0, received));
                        Stage::Over
                    }
                }
            }
            Turn::Forget => Stage::Over,
        };
    }
}
