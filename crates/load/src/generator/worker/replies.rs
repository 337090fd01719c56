//! From what a socket has to the end of its request: whole, failed, or sent once more.

use std::io::{self, Read};

use sojourn_stats::{Span, Time};

use super::redirect::Redirected;
use super::{Why, Worker};
use crate::outcome::{Outcome, Settlement};
use crate::recorder::ReplyFacts;
use crate::schedule::job::Job;
use crate::schedule::sessions::Ended as ObjectEnded;
use crate::schedule::{Ended as WholeEnded, Source};
use crate::wire::connection::{Phase, outcome_of};
use crate::wire::reply::{Ended, Fed};
use crate::wire::tls::Pulled;

impl Worker<'_> {
    /// Reads what there is; `closing` when the server has closed its side.
    #[inline]
    pub(super) fn receive(&mut self, place: u32, closing: bool) {
        let generation = self.connections[place as usize].generation;
        loop {
            let connection = &mut self.connections[place as usize];
            if connection.generation != generation {
                // What came had it replaced.
                return;
            }
            let Some(stream) = &connection.stream else { return };
            let mut stream: &std::net::TcpStream = stream;
            let mut more = true;
            let read = match &mut connection.tls {
                None => match stream.read(&mut self.buffer) {
                    Ok(0) => return self.ended(place, false),
                    Ok(read) => {
                        more = read == self.buffer.len() || closing;
                        read
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return self.broken(place, outcome_of(&error)),
                },
                Some(tls) => match tls.pull(stream, &mut self.buffer) {
                    Pulled::Bytes(read) => read,
                    Pulled::Secured => {
                        self.secured(place);
                        continue;
                    }
                    Pulled::Blocked => return,
                    Pulled::Ended => return self.ended(place, false),
                    Pulled::Cut => return self.ended(place, true),
                    Pulled::Failed => return self.broken(place, Outcome::Tls),
                    Pulled::Broken(error) => return self.broken(place, outcome_of(&error)),
                },
            };
            let now = self.setting.clock.now();
            let Some(exchange) = connection.exchange.as_mut() else {
                if connection.channel.is_some() {
                    self.receive_streams(place, read);
                    if more {
                        continue;
                    }
                    return;
                }
                // It was not asked for, so that the beginning of the next reply is not known.
                self.recorder.connections.unasked += 1;
                return self.close(place, Why::Lost);
            };
            if connection.phase == Phase::Securing {
                return self.fail(place, Outcome::Tls);
            }
            exchange.first_byte.get_or_insert(now);
            match connection.reply.feed(&self.buffer[..read]) {
                Ok(Fed::More) => {}
                Ok(Fed::Done(used)) if used == read => {
                    let keep = connection.reply.keep_alive && !closing && connection.phase == Phase::Receiving;
                    return self.complete(place, now, keep);
                }
                Ok(Fed::Done(_)) | Err(_) => return self.fail(place, Outcome::Protocol),
            }
            if !more {
                return;
            }
        }
    }

    /// The server has closed its side; `cut`: without TLS's closing alert, so that more may have been meant to come.
    pub(super) fn ended(&mut self, place: u32, cut: bool) {
        let now = self.setting.clock.now();
        let connection = &self.connections[place as usize];
        if connection.channel.is_some() {
            return self.carrier_ended(place, Outcome::ClosedEarly);
        }
        if matches!(connection.phase, Phase::Securing) {
            return self.opening_failed(place, Outcome::Tls);
        }
        if connection.exchange.is_none() {
            return self.close(place, Why::Server);
        }
        match connection.reply.end() {
            Ended::Done if !cut => self.complete(place, now, false),
            Ended::Untouched => self.broken(place, Outcome::ClosedEarly),
            Ended::Done | Ended::Early => self.fail(place, Outcome::ClosedEarly),
        }
    }

    /// The connection broke. A kept-alive one that broke before the first byte of a reply was closed by the server
    /// while the request was on its way; an idempotent request may then be sent once more (RFC 9110, section 9.2.2).
    /// Another one may have been taken, so that it has failed.
    pub(super) fn broken(&mut self, place: u32, outcome: Outcome) {
        let connection = &mut self.connections[place as usize];
        if connection.channel.is_some() {
            return self.carrier_ended(place, outcome);
        }
        if connection.phase == Phase::Securing {
            return self.opening_failed(place, Outcome::Tls);
        }
        let Some(exchange) = connection.exchange.as_mut() else { return self.close(place, Why::Server) };
        if !connection.used || exchange.retried || connection.reply.touched() {
            return self.fail(place, outcome);
        }
        if !self.setting.renderer.method(connection.special.as_deref()).is_idempotent() {
            return self.fail(place, Outcome::ClosedEarly);
        }
        exchange.retried = true;
        (exchange.sent, exchange.first_byte) = (None, None);
        connection.stream = None;
        connection.tls = None;
        self.recorder.connections.closed_by_server += 1;
        self.recorder.retried(&exchange.job);
        self.open(place);
    }

    /// The reply of `place` is whole.
    #[inline]
    pub(super) fn complete(&mut self, place: u32, now: Time, keep: bool) {
        let mut astray = false;
        if self.setting.redirects > 0 {
            match self.redirect(place, keep) {
                Redirected::No => {}
                Redirected::Followed => return,
                Redirected::Astray => astray = true,
            }
        }
        let connection = &self.connections[place as usize];
        let (job, status) =
            (connection.exchange.as_ref().expect("only an exchange completes").job, connection.reply.status);
        let late = job.request.patience != Span::FOREVER && now > job.planned + job.request.patience;
        let outcome = match status {
            _ if late => Outcome::Abandoned,
            _ if astray => Outcome::Redirects,
            _ if now > job.until => Outcome::Timeout,
            status => self.judged(place, Outcome::of_status(status)),
        };
        let over = self.over_with(job, outcome, status, now.min(job.until));
        let connection = &mut self.connections[place as usize];
        let exchange = connection.exchange.take().expect("only an exchange completes");
        let reply = &connection.reply;
        let facts = ReplyFacts { status: reply.status, bytes: reply.bytes, backend: &reply.backend };
        let settled = over.map(|job| (job, self.recorder.over(&job, Some(&exchange), outcome, now, facts)));
        if !reply.cookie.is_empty() {
            let cookie = self.cookies.entry(job.request.client).or_default();
            cookie.clear();
            cookie.extend_from_slice(&reply.cookie);
        }
        connection.used = true;
        connection.special = None;
        self.active -= 1;
        if keep && self.setting.persistent {
            connection.phase = Phase::Idle;
            let pool = self.setting.pool(connection.origin);
            match &mut self.source {
                Source::Plan(_) => self.idle[pool].push(place),
                Source::Users(_) | Source::Passes(_) => {}
                Source::Sessions(share) => share.idles(place, now),
            }
        } else {
            self.close(place, if self.setting.persistent { Why::Server } else { Why::Done });
        }
        if let Some((job, settlement)) = settled {
            self.settle(&job, now, settlement);
        }
        // A saturating loop sends together when all that came has been read: the server wakes up for many at once, which is
        // a few per cent more requests/s for some microseconds of lateness.
        if !self.setting.saturated {
            self.release(now);
        }
    }

    /// The request of `place` has failed; its connection is closed.
    pub(super) fn fail(&mut self, place: u32, outcome: Outcome) {
        let now = self.setting.clock.now();
        self.fail_at(place, outcome, now);
    }

    /// The same of what was due to fail at `at`, and is noticed now.
    pub(super) fn fail_at(&mut self, place: u32, outcome: Outcome, at: Time) {
        let connection = &self.connections[place as usize];
        let (job, status) =
            (connection.exchange.as_ref().expect("only an exchange fails").job, connection.reply.status);
        let Some(job) = self.over_with(job, outcome, status, at) else { return self.drop_attempt(place) };
        self.connections[place as usize].exchange.iter_mut().for_each(|exchange| exchange.job = job);
        let now = self.setting.clock.now();
        let (job, settlement) = self.withdraw(place, outcome, now);
        self.settle(&job, now, settlement);
    }

    /// Ends what goes on at `place` with `outcome`, and its connection; returns what it was and what it came to.
    pub(super) fn withdraw(&mut self, place: u32, outcome: Outcome, now: Time) -> (Job, Settlement) {
        let connection = &mut self.connections[place as usize];
        let mut exchange = connection.exchange.take().expect("only an exchange fails");
        if exchange.sent.is_none() {
            exchange.opened(&connection.opening);
        }
        connection.special = None;
        let reply = &connection.reply;
        // Before the request went out, what stands there is the reply before.
        let facts = match exchange.sent {
            Some(_) => ReplyFacts { status: reply.status, bytes: reply.bytes, backend: &reply.backend },
            None => ReplyFacts::default(),
        };
        let settlement = self.recorder.over(&exchange.job, Some(&exchange), outcome, now, facts);
        self.active -= 1;
        self.close(place, Why::Lost);
        (exchange.job, settlement)
    }

    /// Tells the source that `job` is over.
    #[inline]
    pub(super) fn settle(&mut self, job: &Job, now: Time, settlement: Settlement) {
        match self.source.finished(job.place, now, settlement) {
            None => {}
            Some(WholeEnded::Object(ended)) => self.conclude(ended),
            Some(WholeEnded::Pass(pass)) => self.pass_over(&pass, now),
        }
    }

    /// An object is over: its user needs the files no more that are still under way, and at the end of a session no
    /// connection.
    pub(super) fn conclude(&mut self, ended: ObjectEnded) {
        let ObjectEnded { record, places } = ended;
        for place in places {
            let connection = &self.connections[place as usize];
            if connection.exchange.is_some() {
                self.withdraw(place, Outcome::Abandoned, record.done);
            } else if record.last && connection.phase != Phase::Closed {
                self.close(place, Why::Done);
            }
        }
        self.recorder.object_over(&record);
    }
}
