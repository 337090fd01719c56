//! Users who browse, as clients of the engine: they think, give files to connections, lose patience, and think again.
//!
//! Two things here are not the users' own but need nothing of the system: a server closes a connection that has been idle
//! for too long, and a user who was denied thinks longer.

use std::sync::Arc;

use sojourn_stats::{Span, Stream};
use sojourn_traffic::{Demand, Fetch, Sessions, Visit, Visitor};

use super::connections::{Connected, Cx, NOWHERE, Stage, What};
use crate::engine::Clients;

/// Users who browse.
pub(crate) struct Browsing {
    users: Vec<User>,
    /// How long a server keeps an idle connection; none: connections serve one file.
    keep_alive: Option<Span>,
    /// What each user has asked for, where that is kept.
    pub(crate) visits: Option<Vec<Vec<Visit>>>,
}

/// A user.
struct User {
    visitor: Visitor,
    /// The present object, or the one thought about: its files, the page's own first.
    fetches: Vec<Fetch>,
    visit: Visit,
    /// Files given to a connection, and files complete.
    given: u32,
    done: u32,
    /// The server of the present object's page file.
    page_server: u32,
    /// What decides whether an object is denied.
    denials: Stream,
}

impl Browsing {
    /// The users of `sessions` with this seed.
    pub(crate) fn new(sessions: &Sessions, seed: u64, demand: &Arc<dyn Demand>) -> Browsing {
        let user = |user| User {
            visitor: Visitor::new(sessions, user, seed, Arc::clone(demand)),
            fetches: Vec::new(),
            visit: Visit { think: Span::ZERO, page: 0, first: true, last: true },
            given: 0,
            done: 0,
            page_server: NOWHERE,
            denials: Stream::new(seed, &format!("user {user}"), "denials"),
        };
        Browsing { users: (0..sessions.users).map(user).collect(), keep_alive: sessions.keep_alive(), visits: None }
    }

    /// A user begins to think about its next object, `penalty` longer than its script says.
    fn think(&mut self, user: u32, penalty: Span, cx: &mut Cx) {
        let User { visitor, fetches, visit, .. } = &mut self.users[user as usize];
        *visit = visitor.visit(fetches);
        let at = cx.now + visit.think + penalty;
        if cx.phases.accepts(at) {
            cx.agenda.add(at, What::Thought, user, 0);
        }
    }

    /// It asks for it.
    fn thought<F: Connected>(&mut self, user: u32, fabric: &mut F, cx: &mut Cx) {
        cx.ledger.enter(cx.now);
        cx.jobs.asked[user as usize] = Some(cx.now);
        let asking = &mut self.users[user as usize];
        (asking.given, asking.done) = (0, 0);
        if let Some(visits) = &mut self.visits {
            visits[user as usize].push(asking.visit);
        }
        self.give(user, fabric, cx);
    }

    /// Gives a user's next files to its free connections; to an open one if there is any.
    #[inline]
    fn give<F: Connected>(&mut self, number: u32, fabric: &mut F, cx: &mut Cx) {
        let lanes = cx.jobs.lanes_of(number);
        loop {
            let user = &mut self.users[number as usize];
            let files = user.fetches.len() as u32;
            // What a page shows is known when the page is there.
            if user.given == files || (user.given > 0 && user.done == 0) {
                return;
            }
            let mine = &mut cx.jobs.lanes[lanes.start as usize..lanes.end as usize];
            let open = mine.iter().position(|lane| lane.open && lane.stage == Stage::Free);
            let free = || mine.iter().position(|lane| lane.stage == Stage::Free);
            let Some(place) = open.or_else(free) else { return };
            let Fetch { request, gap } = &user.fetches[user.given as usize];
            mine[place].carry(user.given, request);
            let gap = *gap;
            user.given += 1;
            cx.jobs.files_asked += 1;
            let lane = lanes.start + place as u32;
            if gap == Span::ZERO { self.ask(lane, fabric, cx) } else { cx.later(cx.now + gap, What::Asks, lane) }
        }
    }

    /// A user asks for a file over a connection.
    #[inline]
    fn ask<F: Connected>(&mut self, lane: u32, fabric: &mut F, cx: &mut Cx) {
        let now = cx.now;
        let user = cx.jobs.user_of(lane);
        let connection = cx.jobs.lane(lane);
        connection.asked = now;
        let patience = self.users[user as usize].fetches[connection.file as usize].request.patience;
        if patience != Span::FOREVER {
            cx.later(now + patience, What::GivesUp, lane);
        }
        fabric.enter(lane, cx);
    }

    /// A user has a file, or knows that it will not get it: then the object is over.
    #[inline]
    fn received<F: Connected>(&mut self, lane: u32, fabric: &mut F, cx: &mut Cx) {
        let now = cx.now;
        let user = cx.jobs.user_of(lane);
        let connection = cx.jobs.lane(lane);
        let browsing = &mut self.users[user as usize];
        let had = connection.stage == Stage::Returning;
        connection.release();
        browsing.done += 1;
        if had {
            let is_page = connection.file == 0;
            if is_page {
                browsing.page_server = connection.server;
            }
            let (asked, size) = (connection.asked, connection.size);
            cx.jobs.bytes_had += size;
            cx.tally.file(asked, now, is_page);
        }
        cx.jobs.files_done += 1;
        match self.keep_alive {
            None => fabric.close(lane, false, cx),
            Some(keep_alive) => {
                let connection = cx.jobs.lane(lane);
                connection.idle_since = now;
                if !connection.watched {
                    connection.watched = true;
                    cx.agenda.add(now + keep_alive, What::Idle, lane, 0);
                }
            }
        }
        let browsing = &self.users[user as usize];
        if !had {
            drop_files(user, fabric, cx);
            cx.tally.refused();
            self.end_object(user, false, fabric, cx);
        } else if browsing.done as usize == browsing.fetches.len() {
            let asked = cx.jobs.asked[user as usize].expect("an object was asked for before it is complete");
            cx.tally.object(asked, now, browsing.page_server);
            self.end_object(user, true, fabric, cx);
        } else {
            self.give(user, fabric, cx);
        }
    }

    /// A user's patience with one of its files is at an end, and so is the object.
    fn give_up<F: Connected>(&mut self, user: u32, fabric: &mut F, cx: &mut Cx) {
        drop_files(user, fabric, cx);
        cx.tally.abandoned();
        self.end_object(user, false, fabric, cx);
    }

    /// An object ends; after the last one of a session its user closes all connections. Then it thinks.
    fn end_object<F: Connected>(&mut self, user: u32, complete: bool, fabric: &mut F, cx: &mut Cx) {
        let asked = cx.jobs.asked[user as usize].take().expect("an object was asked for before it ends");
        cx.ledger.leave(asked, cx.now);
        if complete {
            cx.ledger.completed()
        } else {
            cx.ledger.lost()
        }
        if self.users[user as usize].visit.last {
            for lane in cx.jobs.lanes_of(user) {
                if cx.jobs.lane(lane).open {
                    fabric.close(lane, false, cx);
                }
            }
            fabric.end_session(user, cx);
        }
        let penalty = if complete { self.denied(user, fabric, cx) } else { Span::ZERO };
        self.think(user, penalty, cx);
    }

    /// Whether the user was denied after an object, and what that costs.
    fn denied<F: Connected>(&mut self, user: u32, fabric: &F, cx: &mut Cx) -> Span {
        let User { page_server, denials, .. } = &mut self.users[user as usize];
        let Some((share, penalty)) = fabric.denial(*page_server) else { return Span::ZERO };
        // Drawn whatever the share is, so that a user's draws do not depend on the others.
        if denials.uniform() >= share {
            return Span::ZERO;
        }
        cx.tally.denied();
        penalty
    }

    /// Closes a connection that has been idle for too long, or looks at it again when it may have been.
    fn look_after<F: Connected>(&mut self, lane: u32, fabric: &mut F, cx: &mut Cx) {
        let keep_alive = self.keep_alive.expect("only persistent connections are looked after");
        let now = cx.now;
        let connection = cx.jobs.lane(lane);
        let until = connection.idle_since + keep_alive;
        connection.watched = false;
        if !connection.open || connection.stage != Stage::Free {
            return; // it is watched again when it is idle
        }
        if until <= now {
            fabric.close(lane, false, cx);
        } else {
            connection.watched = true;
            cx.agenda.add(until, What::Idle, lane, 0);
        }
    }
}

impl<F: Connected> Clients<F> for Browsing {
    const LISTEN: bool = false;

    fn start(&mut self, cx: &mut Cx) {
        (0..self.users.len() as u32).for_each(|user| self.think(user, Span::ZERO, cx));
    }

    #[inline]
    fn fire(&mut self, what: What, entity: u32, fabric: &mut F, cx: &mut Cx) {
        match what {
            What::Received => self.received(entity, fabric, cx),
            What::GivesUp => self.give_up(cx.jobs.user_of(entity), fabric, cx),
            What::Idle => self.look_after(entity, fabric, cx),
            What::Asks => self.ask(entity, fabric, cx),
            What::Thought => self.thought(entity, fabric, cx),
            other => unreachable!("users enter no {other:?}"),
        }
    }
}

/// A user wants none of the files that it has asked for and not had; their connections break.
fn drop_files<F: Connected>(user: u32, fabric: &mut F, cx: &mut Cx) {
    for lane in cx.jobs.lanes_of(user) {
        if cx.jobs.lane(lane).stage == Stage::Free {
            continue;
        }
        fabric.cancel(lane, cx);
        cx.jobs.files_dropped += 1;
        let connection = cx.jobs.lane(lane);
        connection.release();
        if connection.open {
            fabric.close(lane, true, cx);
        }
    }
}
