//! Closing a connection, and why.

use super::Worker;
use crate::schedule::Source;
use crate::wire::connection::Phase;

/// Why a connection is closed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// The server did, or will.
    Server,
    /// It was idle for long enough.
    Idle,
    /// It is not needed any more.
    Done,
    /// It is of no use any more.
    Lost,
}

impl Worker<'_> {
    pub(super) fn close(&mut self, place: u32, why: Why) {
        if self.streams.is_some() && self.close_stream(place, why) {
            return;
        }
        self.count_closed(why);
        let connection = &self.connections[place as usize];
        if connection.phase == Phase::Idle {
            let idle = &mut self.idle[self.setting.pool(connection.origin)];
            if let Some(at) = idle.iter().rposition(|&idle| idle == place) {
                idle.remove(at);
            }
        }
        if connection.phase == Phase::Resolving {
            self.resolver.forget(place);
        }
        self.connections[place as usize].shut();
        match &mut self.source {
            Source::Plan(_) => self.vacant.push(place),
            Source::Users(_) | Source::Passes(_) => {}
            Source::Sessions(share) => share.closed(place),
        }
    }

    /// Closes the idle connection of a place that needs one to somewhere else.
    pub(super) fn let_go(&mut self, place: u32) {
        self.count_closed(Why::Done);
        self.connections[place as usize].shut();
    }

    pub(super) fn count_closed(&mut self, why: Why) {
        let counts = &mut self.recorder.connections;
        match why {
            Why::Server => counts.closed_by_server += 1,
            Why::Idle => counts.closed_idle += 1,
            Why::Done => counts.closed_when_done += 1,
            Why::Lost => counts.lost += 1,
        }
    }
}
