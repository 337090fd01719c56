//! The loop: one per thread, the same for every schedule, stop rule and pacing.
//!
//! Epoll is edge-triggered and a socket is registered once, so that a request costs one write, one read and its share
//! of one wait. A read that does not fill the buffer has emptied the socket (epoll(7)), so there is no second one.
//!
//! # What a transport must do
//!
//! Schedules, pacing, patience, timeouts and recording do not know how a request travels. A transport is three things
//! at a place: *open* (`opening.rs`: name, address, TCP, TLS, each with its instant, ending in `established`), *transmit*
//! (`sending.rs`: hand over one request, returning the instant) and *receive* (`replies.rs`: take what the socket has, ending
//! in `complete`, `fail` or `broken`). HTTP/1 over plain TCP is the first arm of each and has nothing in its way but that
//! test. TLS sits between the socket and the buffer ([`crate::wire::tls`]); HTTP/2 makes places streams of a connection that
//! has a place of its own (`http2.rs`, [`crate::wire::channel`]). Another transport (QUIC) would be another such carrier.

mod closing;
mod http2;
mod opening;
mod passes;
mod place;
mod redirect;
mod replies;
mod returning;
mod sending;
mod start;
mod trying;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::timerfd::{Expiration, TimerFd, TimerSetTimeFlags};
use rustls::ClientConfig;
use sojourn_stats::{Span, Time};

use self::closing::Why;
use self::http2::Streams;
pub(crate) use self::start::{Gauge, Setting, Start, Work};
use self::trying::{Alarm, Trying};
use crate::generator::host::{thread_cpu, thread_waited};
use crate::outcome::Outcome;
use crate::recorder::{Recorder, ReplyFacts};
use crate::request::endpoint::Endpoint;
use crate::schedule::Source;
use crate::schedule::job::{ANYWHERE, Due, Job};
use crate::setting::Pacing;
use crate::wire::connection::{Connection, Phase};
use crate::wire::exchange::Exchange;
use crate::wire::resolve::Resolver;

const TIMER: u64 = u64::MAX;
const RESOLVER: u64 = u64::MAX - 1;
const EVENTS: usize = 256;
/// What is said of a socket that connects, once it is connected or will never be.
const DECIDED: EpollFlags = EpollFlags::EPOLLOUT.union(EpollFlags::EPOLLERR).union(EpollFlags::EPOLLHUP);
const BUFFER: usize = 64 * 1024;
/// A spin begins this long before its deadline; until then the thread sleeps. Twice the worst usual timer lateness.
const SPIN: Span = Span(200_000);
/// Replies of a request that waits for a connection have no place yet.
const NOWHERE: u32 = u32::MAX;

/// One thread of the generator.
struct Worker<'a> {
    setting: &'a Setting<'a>,
    gauge: &'a Gauge,
    source: Source,
    recorder: Recorder,
    connections_max: usize,
    /// The thread's number among those of all shares, and how many those are.
    lane: u64,
    lanes: u64,
    /// The endpoints, and where redirects led.
    origins: Vec<Endpoint>,
    /// Whether there is but one endpoint and one target.
    single: bool,
    /// Where it may be needed.
    tls: Option<Arc<ClientConfig>>,
    resolver: Resolver,
    /// HTTP/2, where that is spoken.
    streams: Option<Streams>,
    epoll: Epoll,
    timer: TimerFd,
    armed: Time,
    connections: Vec<Connection>,
    /// Connections that are free, by origin, the one used last on top (open schedules).
    idle: Vec<Vec<u32>>,
    /// Places without a connection (open schedules).
    vacant: Vec<u32>,
    /// Requests that wait for a connection, by number (open schedules).
    waiting: VecDeque<Job>,
    /// Ends of patience with the request's number and place; entries of requests that are over are passed over.
    patience: BinaryHeap<Reverse<(Time, u64, u32)>>,
    /// Requests that are not over and what is due of them, where clients ask more than once.
    trying: BTreeMap<u64, Trying>,
    alarms: BinaryHeap<Reverse<(Time, u64, Alarm)>>,
    active: usize,
    cookies: HashMap<u32, Vec<u8>>,
    buffer: Box<[u8]>,
    scratch: Vec<u8>,
    sweep_at: Time,
    sweep_every: Span,
    /// Set when the last request has been planned: whatever is under way then ends here.
    cut_at: Option<Time>,
}

impl<'a> Worker<'a> {
    fn new(start: Start<'a>) -> Worker<'a> {
        let Start { setting, gauge, lane, lanes, source, recorder, connections_max, tls, epoll, timer } = start;
        let streams = setting.streams.map(|width| {
            Streams::new(match &source {
                Source::Sessions(share) => share.parallel(),
                _ => width,
            })
        });
        // Open schedules find their places as they need them, but for streams: behind those are the connections.
        let places = source.places().unwrap_or(if streams.is_some() { connections_max } else { 0 });
        let vacant = match source {
            Source::Plan(_) => (0..places as u32).rev().collect(),
            _ => Vec::new(),
        };
        let sweep_every = Span((setting.timeout.0 / 8).clamp(1_000_000, 50_000_000));
        Worker {
            setting,
            gauge,
            source,
            recorder,
            connections_max,
            lane,
            lanes,
            origins: setting.endpoints.to_vec(),
            single: setting.endpoints.len() == 1 && !setting.renderer.is_weighted(),
            tls,
            resolver: Resolver::new(Arc::clone(setting.names), setting.resolves),
            streams,
            epoll,
            timer,
            armed: Time::NEVER,
            connections: (0..places).map(|_| Connection::default()).collect(),
            idle: vec![Vec::new(); setting.endpoints.len()],
            vacant,
            waiting: VecDeque::new(),
            patience: BinaryHeap::new(),
            trying: BTreeMap::new(),
            alarms: BinaryHeap::new(),
            active: 0,
            cookies: HashMap::new(),
            buffer: vec![0; BUFFER].into_boxed_slice(),
            scratch: Vec::with_capacity(1024),
            sweep_at: Time::ZERO,
            sweep_every,
            cut_at: None,
        }
    }

    fn work(mut self) -> Work {
        let clock = self.setting.clock;
        let mut events = [EpollEvent::empty(); EVENTS];
        self.arm_at(Time::ZERO);
        self.open_ahead();
        while !clock.started() {
            // The timer ends the wait, or a connection that is opened ahead, or a signal.
            let count = self.epoll.wait(&mut events, EpollTimeout::from(100u16)).unwrap_or(0);
            events[..count].iter().for_each(|event| self.handle(event));
        }
        let (cpu, waited) = (thread_cpu(), thread_waited());
        let mut cancelled = false;
        loop {
            let now = clock.now();
            self.release(now);
            self.give_up(now);
            self.ring(now);
            if now >= self.sweep_at {
                self.sweep(now);
            }
            cancelled = cancelled || self.setting.cancel.load(Ordering::Relaxed);
            if cancelled || self.over(now) {
                break;
            }
            let timeout = self.pace(now);
            let count = match self.epoll.wait(&mut events, timeout) {
                Ok(count) => count,
                Err(Errno::EINTR) => 0,
                Err(error) => unreachable!("epoll_wait on a valid set of sockets: {error}"),
            };
            for event in &events[..count] {
                self.handle(event);
            }
        }
        let ended = clock.now();
        self.cut_off(ended);
        self.recorder.close();
        let waited = thread_waited().zip(waited).map(|(now, then)| Span(now.0.saturating_sub(then.0)));
        let cpu = Span(thread_cpu().0.saturating_sub(cpu.0));
        Work { recorder: self.recorder, cpu, waited, ended, cancelled }
    }

    /// Begins everything that is due and can begin.
    #[inline]
    fn release(&mut self, now: Time) {
        while let Some(job) = self.waiting.front().copied() {
            if !self.is_wanted(&job) {
                self.waiting.pop_front();
                continue;
            }
            let Some(place) = self.place(&job) else { break };
            self.waiting.pop_front();
            self.begin(place, Job { place, ..job }, now, false);
        }
        while let Some(due) = self.source.due(now) {
            let job = match due {
                Due::Ask(job) => self.dealt(job),
                Due::Close(place) => {
                    self.close(place, Why::Idle);
                    continue;
                }
            };
            self.recorder.taken(&job, now);
            if !self.setting.renderer.knows(&job.request) {
                // Others of its object may have been sent since this round began.
                let now = self.setting.clock.now();
                let settlement = self.recorder.over(&job, None, Outcome::Local, now, ReplyFacts::default());
                self.settle(&job, now, settlement);
                continue;
            }
            if job.place == ANYWHERE && now.saturating_since(job.planned) > self.setting.catch_up {
                self.recorder.over(&job, None, Outcome::Missed, now, ReplyFacts::default());
                continue;
            }
            let job = self.tried_first(job, now);
            let place = if job.place == ANYWHERE { self.place(&job) } else { Some(job.place) };
            match place {
                Some(place) => self.begin(place, Job { place, ..job }, now, true),
                None => {
                    self.recorder.queued(&job);
                    self.patient(&job, NOWHERE);
                    self.waiting.push_back(job);
                }
            }
        }
    }

    fn begin(&mut self, place: u32, job: Job, now: Time, free: bool) {
        let origin = job.endpoint;
        self.active += 1;
        self.patient(&job, place);
        let connection = &mut self.connections[place as usize];
        assert!(connection.exchange.is_none(), "a connection carries one request at a time");
        connection.exchange = Some(Exchange::new(job, now));
        let is_first = self.is_at(&job, place);
        self.fill(place);
        let connection = &mut self.connections[place as usize];
        if self.streams.is_some() {
            connection.origin = origin;
            let begun = self.setting.clock.now();
            self.begun(&job, begun, free, is_first);
            return self.begin_stream(place);
        }
        let before = connection.origin;
        if connection.phase == Phase::Idle && self.setting.pool(before) == self.setting.pool(origin) {
            self.connections[place as usize].origin = origin;
            self.recorder.connections.reused += 1;
            let begun = self.transmit(place);
            self.begun(&job, begun, free, is_first);
        } else {
            if self.connections[place as usize].phase == Phase::Idle {
                self.let_go(place);
            }
            let begun = self.setting.clock.now();
            self.begun(&job, begun, free, is_first);
            self.connections[place as usize].origin = origin;
            self.open(place);
        }
    }

    #[inline]
    fn patient(&mut self, job: &Job, place: u32) {
        if job.request.patience != Span::FOREVER {
            self.patience.push(Reverse((job.planned + job.request.patience, job.k, place)));
        }
    }

    fn handle(&mut self, event: &EpollEvent) {
        match event.data() {
            TIMER => return,
            RESOLVER => return self.receive_answers(),
            _ => {}
        }
        let (place, generation) = (event.data() as u32, (event.data() >> 32) as u32);
        let flags = event.events();
        let connection = &mut self.connections[place as usize];
        if connection.generation != generation || connection.phase == Phase::Closed {
            return self.earlier_attempt(place, generation, flags);
        }
        let readable = EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
        let closing = EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
        if connection.phase == Phase::Connecting {
            if !flags.intersects(DECIDED) {
                return;
            }
            // Without one only attempts at earlier addresses are left.
            let Some(stream) = &connection.stream else { return };
            match stream.take_error() {
                Ok(None) => self.connected(place),
                Ok(Some(error)) | Err(error) => return self.not_connected(place, &error),
            }
        } else if flags.contains(EpollFlags::EPOLLOUT)
            && (connection.phase == Phase::Sending || connection.tls.is_some() || connection.channel.is_some())
        {
            self.send_rest(place);
        }
        if flags.intersects(readable) && self.connections[place as usize].generation == generation {
            self.receive(place, flags.intersects(closing));
        }
    }

    /// Clients whose patience has ended by `now` go away.
    #[inline]
    fn give_up(&mut self, now: Time) {
        while let Some(&Reverse((at, k, place))) = self.patience.peek() {
            if at > now {
                return;
            }
            self.patience.pop();
            if place == NOWHERE {
                if let Ok(index) = self.waiting.binary_search_by_key(&k, |job| job.k) {
                    let job = self.waiting.remove(index).expect("just found");
                    self.recorder.over(&job, None, Outcome::Abandoned, now, ReplyFacts::default());
                }
            } else if let Some(Exchange { job, .. }) = self.connections[place as usize].exchange
                && job.k == k
                && job.planned + job.request.patience == at
            {
                // By its instant too: the files of an object share its number.
                self.fail(place, Outcome::Abandoned);
            }
        }
    }

    /// What need not be done at once: timeouts, and telling others how far we are.
    fn sweep(&mut self, now: Time) {
        self.sweep_at = now + self.sweep_every;
        for place in 0..self.connections.len() {
            let exchange = self.connections[place].exchange.as_ref();
            if exchange.is_some_and(|exchange| now.saturating_since(exchange.begun) >= self.setting.timeout) {
                self.fail(place as u32, Outcome::Timeout);
            }
            if matches!(self.connections[place].phase, Phase::Connecting | Phase::Resolving | Phase::Securing) {
                self.look_after_opening(place as u32, now);
            } else if self.connections[place].phase == Phase::Returning {
                self.look_after_return(place as u32, now);
            }
        }
        self.sweep_resolver(now);
        let counts = &self.recorder.whole;
        let planned = match &self.source {
            Source::Sessions(share) => share.planned(),
            Source::Passes(share) => share.begun(),
            _ => counts.planned,
        };
        self.gauge.planned.store(planned, Ordering::Relaxed);
        self.gauge.ok.store(counts.ok, Ordering::Relaxed);
        self.gauge.failed.store(counts.failed() + counts.abandoned, Ordering::Relaxed);
        if let Some(recent) = &mut self.recorder.recent {
            self.gauge.window.hand_over(&self.recorder.whole, recent);
        }
    }

    /// Whether there is nothing left to do, or no time left to do it.
    fn over(&mut self, now: Time) -> bool {
        if !self.source.exhausted(now) {
            return false;
        }
        let cut_at = *self.cut_at.get_or_insert(now + self.setting.grace);
        let idle = self.active == 0
            && self.waiting.is_empty()
            && self.trying.is_empty()
            && self.source.objects_under_way() == 0;
        idle || now >= cut_at
    }

    /// How long to wait for sockets, with the timer set for whatever is due before they have something to say.
    fn pace(&mut self, now: Time) -> EpollTimeout {
        let patience = self.patience.peek().map_or(Time::NEVER, |&Reverse((at, _, _))| at);
        // Once exhausted, the end of the plan is in the past for good: it is not an event any more.
        let source = self.source.next_at(self.cut_at.is_some());
        let due = source.min(patience).min(self.next_alarm());
        if due <= now {
            return EpollTimeout::ZERO;
        }
        if due != Time::NEVER {
            match self.setting.pacing {
                Pacing::Timer => self.arm_at(due),
                Pacing::Spin if due.saturating_since(now) <= SPIN => return EpollTimeout::ZERO,
                Pacing::Spin => self.arm_at(Time(due.0 - SPIN.0)),
            }
        }
        let until_sweep = self.sweep_at.saturating_since(now).0.div_ceil(1_000_000).min(1000);
        EpollTimeout::from(until_sweep as u16)
    }

    /// Sets the timer, unless it is already set so.
    fn arm_at(&mut self, at: Time) {
        if self.armed == at {
            return;
        }
        self.armed = at;
        let expiration = Expiration::OneShot(self.setting.clock.absolute(at));
        self.timer.set(expiration, TimerSetTimeFlags::TFD_TIMER_ABSTIME).expect("an absolute time sets a timer");
    }

    /// Counts what is still under way as unfinished.
    fn cut_off(&mut self, now: Time) {
        self.cut_tries_off(now);
        for connection in &mut self.connections {
            if let Some(exchange) = connection.exchange.take() {
                self.recorder.over(&exchange.job, Some(&exchange), Outcome::Unfinished, now, ReplyFacts::default());
            }
        }
        while let Some(job) = self.waiting.pop_front() {
            self.recorder.over(&job, None, Outcome::Unfinished, now, ReplyFacts::default());
        }
        if let Source::Passes(share) = &mut self.source {
            share.cut_off().for_each(|pass| self.recorder.pass_over(&pass, now));
        }
        if let Source::Sessions(share) = &mut self.source {
            for ended in share.cut_off(now) {
                self.recorder.object_over(&ended.record);
            }
            let recorded = self.recorder.objects.as_ref().map_or(0, |objects| objects.whole.planned);
            assert_eq!(share.planned(), recorded, "every object ends once");
        }
    }
}
