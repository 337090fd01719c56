//! Files over connections, as traffic of the engine: what users who browse and the system that they ask share.
//!
//! A connection is named by its lane, user x parallel + place. It carries one file at a time; nothing is allocated per
//! file. Two events at one instant come in the order of [`What`], then of the user, connection or server that they happen
//! to: an order that does not depend on what was entered first. An entry is (time, kind, entity, generation) in 128 bits,
//! so that a comparison is one of whole numbers.

use sojourn_model::Ticket;
use sojourn_stats::{Span, Time};
use sojourn_traffic::Request;

use super::tally::Tally;
use crate::agenda::{Entry, Event};
use crate::engine::{self, Fabric, Inside, Traffic};

/// Files over connections.
pub(crate) enum Files {}

/// What users and system share.
pub(crate) type Cx = engine::Cx<Files>;

/// A fabric that carries files over connections. [`Fabric::enter`]: the user of a lane asks for its file, over a connection
/// that it opens if need be. [`Fabric::cancel`]: the user drops the file. The reply is at its user with
/// [`What::Received`]; a lane whose stage is not [`Stage::Returning`] then was refused.
pub(crate) trait Connected: Fabric<Traffic = Files> {
    /// A connection closes, on whichever side; or breaks, when its file is given up.
    fn close(&mut self, lane: u32, breaks: bool, cx: &mut Cx);

    /// A user's session is over, and its connections are closed.
    fn end_session(&mut self, user: u32, cx: &mut Cx);

    /// The share of users that `server` denies now, after an object, and how much longer these think; none where it denies
    /// none ever.
    fn denial(&self, server: u32) -> Option<(f64, Span)>;

    /// Time (ns) up to `now` that a server had so many connections open, and so many users attached.
    fn spent(&self, now: Time) -> (Vec<u64>, Vec<u64>);
}

/// No server.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// The kinds of events, in their order at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum What {
    /// A server counts its requests for a poll.
    Counts,
    /// Its answer is at the balancer.
    Reports,
    /// A connection's first packet is at the balancer.
    Opens,
    /// A request is at the balancer.
    Requests,
    /// A request is at its server.
    Served,
    /// The first byte of its reply is where it is looked for.
    FirstByte,
    /// A reply enters the links.
    Replies,
    /// A reply's last byte is at the user.
    Received,
    /// A user's patience with a file ends.
    GivesUp,
    /// A connection may have been idle for too long: looked at when it comes.
    Idle,
    /// An active OFF time is over.
    Asks,
    /// A user's think time is over.
    Thought,
}

const ALL: [What; 12] = [
    What::Counts,
    What::Reports,
    What::Opens,
    What::Requests,
    What::Served,
    What::FirstByte,
    What::Replies,
    What::Received,
    What::GivesUp,
    What::Idle,
    What::Asks,
    What::Thought,
];

/// Users, connections and servers are numbered below this.
pub(crate) const ENTITY_LIMIT: u32 = 1 << 24;

/// An event in the agenda.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileEntry(u128);

/// The connections of all users, and the books of files and bytes.
pub(crate) struct Connections {
    pub(crate) lanes: Vec<Lane>,
    /// Connections that a user may have open.
    pub(crate) parallel: u32,
    /// When each user asked for its present object; none while it thinks.
    pub(crate) asked: Vec<Option<Time>>,
    pub(crate) files_asked: u64,
    pub(crate) files_done: u64,
    pub(crate) files_dropped: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_had: u64,
    pub(crate) bytes_lost: u64,
}

/// A connection slot: one of its user's `parallel`.
#[derive(Clone, Copy)]
pub(crate) struct Lane {
    /// When its user asked for the file.
    pub(crate) asked: Time,
    /// When the balancer sent the request on.
    pub(crate) sent: Time,
    /// When the connection was given its server, where that is done for each.
    pub(crate) chosen: Time,
    pub(crate) idle_since: Time,
    /// Bytes it has had from its server.
    pub(crate) bytes: u64,
    /// Bytes of the file, and the work of its request on a server of speed 1.
    pub(crate) size: u64,
    pub(crate) demand: Span,
    /// The file, an index into its user's fetches: 0 is the page's own.
    pub(crate) file: u32,
    /// Where its requests go; [`NOWHERE`] if no server takes them.
    pub(crate) server: u32,
    /// Congestion window (segments).
    pub(crate) window: u32,
    /// Raised when its file is over, so that events planned for it are passed over.
    pub(crate) generation: u32,
    /// Its place at its station, while it is there.
    pub(crate) ticket: Ticket,
    pub(crate) class: u8,
    pub(crate) open: bool,
    pub(crate) stage: Stage,
    /// Its request counts at its server, where choices are made for requests.
    pub(crate) inside: bool,
    /// An idle entry is in the agenda.
    pub(crate) watched: bool,
}

/// Where a connection's file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It has none.
    Free,
    /// Somewhere that only the agenda knows.
    UnderWay,
    AtStation,
    /// In the links.
    Flowing,
    /// Its last byte is on its way to the user.
    Returning,
}

impl Traffic for Files {
    type Entry = FileEntry;
    type Jobs = Connections;
    type Tally = Tally;
}

impl engine::What for What {
    #[inline]
    fn is_of_clients(self) -> bool {
        self >= What::Received
    }

    #[inline]
    fn has_generation(self) -> bool {
        !matches!(self, What::Counts | What::Reports | What::Idle | What::Thought)
    }
}

impl Entry for FileEntry {
    type What = What;

    /// Of a user, connection or server below [`ENTITY_LIMIT`].
    #[inline]
    fn new(at: Time, Event { entity, generation, what }: Event<What>, _: u64) -> FileEntry {
        debug_assert!(entity < ENTITY_LIMIT);
        let low = u64::from(what as u8) << 56 | u64::from(entity) << 32 | u64::from(generation);
        FileEntry(u128::from(at.0) << 64 | u128::from(low))
    }

    #[inline]
    fn at(&self) -> Time {
        Time((self.0 >> 64) as u64)
    }

    #[inline]
    fn event(self) -> Event<What> {
        let low = self.0 as u64;
        let entity = (low >> 32) as u32 & (ENTITY_LIMIT - 1);
        Event { entity, generation: low as u32, what: ALL[(low >> 56) as usize] }
    }
}

impl Connections {
    /// None are open.
    pub(crate) fn new(users: u32, parallel: u32) -> Connections {
        Connections {
            lanes: vec![Lane::closed(); users as usize * parallel as usize],
            parallel,
            asked: vec![None; users as usize],
            files_asked: 0,
            files_done: 0,
            files_dropped: 0,
            bytes_sent: 0,
            bytes_had: 0,
            bytes_lost: 0,
        }
    }

    /// The lanes of a user.
    #[inline]
    pub(crate) fn lanes_of(&self, user: u32) -> std::ops::Range<u32> {
        user * self.parallel..(user + 1) * self.parallel
    }

    /// The user of a lane.
    #[inline]
    pub(crate) fn user_of(&self, lane: u32) -> u32 {
        lane / self.parallel
    }

    #[inline]
    pub(crate) fn lane(&mut self, lane: u32) -> &mut Lane {
        &mut self.lanes[lane as usize]
    }
}

impl Inside for Connections {
    #[inline]
    fn generation(&self, lane: u32) -> u32 {
        self.lanes[lane as usize].generation
    }

    fn planned(&self) -> impl Iterator<Item = Time> {
        self.asked.iter().flatten().copied()
    }

    /// Files asked = complete + dropped + under way; bytes sent = had + lost + on their last way.
    fn assert_balanced(&self) {
        let busy = self.lanes.iter().filter(|lane| lane.stage != Stage::Free).count() as u64;
        assert_eq!(self.files_asked, self.files_done + self.files_dropped + busy, "files are neither made nor lost");
        let returning: u64 =
            self.lanes.iter().filter(|lane| lane.stage == Stage::Returning).map(|lane| lane.size).sum();
        assert_eq!(self.bytes_sent, self.bytes_had + self.bytes_lost + returning, "bytes are neither made nor lost");
    }
}

impl Lane {
    /// Without a connection.
    fn closed() -> Lane {
        Lane {
            asked: Time::ZERO,
            sent: Time::ZERO,
            chosen: Time::ZERO,
            idle_since: Time::ZERO,
            bytes: 0,
            size: 0,
            demand: Span::ZERO,
            file: 0,
            server: NOWHERE,
            window: 0,
            generation: 0,
            ticket: Ticket::default(),
            class: 0,
            open: false,
            stage: Stage::Free,
            inside: false,
            watched: false,
        }
    }

    /// It carries a file of `request` from now on.
    #[inline]
    pub(crate) fn carry(&mut self, file: u32, request: &Request) {
        (self.stage, self.file) = (Stage::UnderWay, file);
        (self.size, self.demand, self.class) = (request.size, request.demand, request.class);
    }

    /// Its file is over.
    #[inline]
    pub(crate) fn release(&mut self) {
        self.stage = Stage::Free;
        self.generation = self.generation.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agenda::Agenda;

    #[test]
    fn at_one_instant_the_order_is_that_of_the_list() {
        let mut agenda: Agenda<FileEntry> = Agenda::default();
        for what in ALL.into_iter().rev() {
            agenda.add(Time(5), what, ENTITY_LIMIT - 1, 7);
            agenda.add(Time(5), what, 1, u32::MAX);
        }
        let event = |what, entity, generation| Some(Event { what, entity, generation });
        agenda.add(Time(4), What::Thought, 9, 0);
        assert_eq!((agenda.first_at(), agenda.take()), (Time(4), event(What::Thought, 9, 0)));
        for what in ALL {
            let both = (agenda.take(), agenda.take());
            assert_eq!(both, (event(what, 1, u32::MAX), event(what, ENTITY_LIMIT - 1, 7)));
        }
        assert_eq!((agenda.first_at(), agenda.take()), (Time::NEVER, None));
    }
}
