//! Servers whose requests are chosen blindly, in order of arrival: Lindley's recursion at each.
//!
//! When a request leaves is known when it comes, so a block of them is done in a few passes over arrays. What it counts for is
//! counted when it is certain to have left, that is before the next arrival. Where nothing ends with one of these requests (a
//! phase, a batch, a look from outside) they are counted together; else one by one, in the order in which they leave: by
//! instant, then by server; what is served in no time leaves at once, after all that leaves then.

use sojourn_dispatch::Chooser;
use sojourn_stats::vectors::{Work, vectorised};
use sojourn_stats::{Span, Time};

use super::Stop;
use super::books::Books;
use super::service;
use super::source::{BLOCK, Block, Source};
use crate::course::Milestone;
use crate::engine::Measured;

/// The servers, and the requests that have not been counted.
pub(super) struct Blind {
    /// None: there is one server.
    chooser: Option<Chooser>,
    speeds: Option<Vec<f64>>,
    servers: Vec<Server>,
    /// Requests that have come and have not been counted, in order of arrival.
    open: Vec<Job>,
    /// Those of them that leave up to `bound`, the next arrival, in the order in which they do (time, tie, place in `open`), and
    /// how many of these have been counted.
    ready: Vec<u128>,
    counted: usize,
    bound: u64,
    /// Requests that have come, and the sum of their instants (modulo 2^64).
    came: (u64, u64),
    /// When a request comes for which there is no room.
    full_at: Option<u64>,
    /// The number of the last request that has left, if it was served in no time.
    instant: Option<u64>,
    /// The block at hand.
    at: Block,
    work: Block,
    left: Block,
    response: Block,
    chosen: Box<[u32; BLOCK]>,
    sums: Sums,
}

/// Sums over a block (ns, modulo 2^64).
#[derive(Clone, Copy, Default)]
struct Sums {
    at: u64,
    work: u64,
    response: u64,
}

/// The response times of a block, to be found, and the sums of all.
struct Responses<'a> {
    at: &'a [u64],
    work: &'a [u64],
    left: &'a [u64],
    response: &'a mut [u64],
}

impl Work for Responses<'_> {
    type Answer = Sums;

    #[inline(always)]
    fn run(self) -> Sums {
        let Responses { at, work, left, response } = self;
        let mut sums = Sums::default();
        for (((at, work), left), response) in at.iter().zip(work).zip(left).zip(response) {
            *response = left - at;
            sums.at = sums.at.wrapping_add(*at);
            sums.work = sums.work.wrapping_add(*work);
            sums.response = sums.response.wrapping_add(*response);
        }
        sums
    }
}

/// The later of two instants. Which one it is depends on chance, so it is no branch.
#[inline(always)]
fn later(one: u64, other: u64) -> u64 {
    std::hint::select_unpredictable(one > other, one, other)
}

#[derive(Clone, Default)]
struct Server {
    /// When it has done all that has come.
    free: u64,
    /// Core time of all that has come (ns).
    work: u64,
    /// Requests that have come, and those of them that came before measuring began.
    sent: u64,
    before: u64,
}

#[derive(Clone, Copy)]
struct Job {
    came: u64,
    service: u64,
    left: u64,
    number: u64,
    server: u32,
}

impl Job {
    /// Whether it is not there yet at `now`, the instant of the last departure or of the end of a phase. Of those that come at
    /// that very instant, only those are there that came before request `instant`, which has left then.
    fn is_to_come(&self, now: u64, instant: Option<u64>) -> bool {
        self.came > now || (self.came == now && instant.is_none_or(|number| self.number > number))
    }
}

impl Blind {
    pub(super) fn new(speeds: Vec<f64>, chooser: Option<Chooser>) -> Blind {
        Blind {
            chooser: chooser.filter(|_| speeds.len() > 1),
            servers: vec![Server::default(); speeds.len()],
            speeds: speeds.iter().any(|speed| *speed != 1.0).then_some(speeds),
            open: Vec::new(),
            ready: Vec::new(),
            counted: 0,
            bound: 0,
            came: (0, 0),
            full_at: None,
            instant: None,
            at: Box::new([0; BLOCK]),
            work: Box::new([0; BLOCK]),
            left: Box::new([0; BLOCK]),
            response: Box::new([0; BLOCK]),
            chosen: Box::new([0; BLOCK]),
            sums: Sums::default(),
        }
    }

    /// Plays until `ended` requests have ended, or why it stops before.
    pub(super) fn run_until(&mut self, ended: u64, source: &mut Source, books: &mut Books) -> Stop {
        while books.ended < ended && books.overflowed.is_none() {
            if self.counted < self.ready.len() {
                self.count_in_order(ended, books);
                continue;
            }
            let bound = self.bound;
            if self.full_at.is_some_and(|at| at <= bound) {
                books.overflowed = Some(books.most);
                break;
            }
            if !self.ready.is_empty() {
                self.open.retain(|job| job.left > bound);
                self.ready.clear();
                self.counted = 0;
            }
            if self.open.is_empty() && source.next_at() == u64::MAX {
                return Stop::Over;
            }
            if source.is_dry() {
                return Stop::Dry;
            }
            // Over many servers, as many requests as are inside come between two sorts.
            let (before, mut fresh) = (self.open.len(), 0);
            loop {
                let size = self.block(source);
                let bound = source.next_at();
                if fresh == 0 && bound != u64::MAX && self.count_together(size, bound, ended, books) {
                    break;
                }
                self.open_block(size);
                fresh += size;
                if fresh >= before || bound == u64::MAX || source.is_dry() {
                    self.sort(fresh, bound, books);
                    break;
                }
            }
        }
        if books.overflowed.is_some() { Stop::Over } else { Stop::Ended }
    }

    /// Takes the requests that are there into the block: who serves each, and until when.
    fn block(&mut self, source: &mut Source) -> usize {
        let size = source.take_block(&mut self.at, &mut self.work);
        let Blind { chooser, speeds, servers, at, work, left, response, chosen, .. } = self;
        let (at, work, left) = (&at[..size], &mut work[..size], &mut left[..size]);
        if let Some(chooser) = chooser {
            chooser.choose_all(at, &mut chosen[..size]);
        }
        if let Some(speeds) = speeds {
            chosen
                .iter()
                .zip(work.iter_mut())
                .for_each(|(server, work)| *work = service(*work, speeds[*server as usize]));
        }
        if let [server] = &mut servers[..] {
            let mut free = server.free;
            for ((at, work), left) in at.iter().zip(&*work).zip(left.iter_mut()) {
                free = later(free, *at) + work;
                *left = free;
            }
            server.free = free;
            server.sent += size as u64;
        } else {
            for (((at, work), left), chosen) in at.iter().zip(&*work).zip(left.iter_mut()).zip(&chosen[..]) {
                let server = &mut servers[*chosen as usize];
                server.free = later(server.free, *at) + work;
                server.work += work;
                server.sent += 1;
                *left = server.free;
            }
        }
        self.sums = vectorised(Responses { at, work, left, response: &mut response[..size] });
        if let [server] = &mut self.servers[..] {
            server.work += self.sums.work;
        }
        self.came = (self.came.0 + size as u64, self.came.1.wrapping_add(self.sums.at));
        size
    }

    /// Counts those of the block and of before that leave up to `bound`, if their order does not matter.
    fn count_together(&mut self, size: usize, bound: u64, ended: u64, books: &mut Books) -> bool {
        let Blind { open, servers, at, work, left, response, chosen, .. } = self;
        let (at, work, left, response) = (&at[..size], &work[..size], &left[..size], &mut response[..size]);
        // So many of them add up without overflow.
        if servers.iter().any(|server| server.free >= 1 << 50) || open.len() > 1 << 12 {
            return false;
        }
        let first = open.first().map_or(at[0], |job| job.came);
        let count = (open.len() + size) as u64;
        let spent = open.iter().map(|job| job.left - job.came).sum::<u64>() + self.sums.response;
        if !books.may_count_together((first, bound), (count, spent), ended) {
            return false;
        }
        open.retain(|job| {
            let stays = job.left > bound;
            if !stays {
                books.leave(job.came, job.left - job.came - job.service, job.service, job.left);
            }
            stays
        });
        // All up to the first that stays, and then those between such.
        let stays = match servers.len() {
            1 => left.partition_point(|left| *left <= bound),
            _ => left.iter().position(|left| *left > bound).unwrap_or(size),
        };
        let mut together = stays;
        let (mut services, mut came) = (self.sums.work, self.sums.at);
        let number = self.came.0 - size as u64;
        for place in stays..size {
            let (at, service, left) = (at[place], work[place], left[place]);
            if left > bound {
                let number = number + place as u64;
                open.push(Job { came: at, service, left, number, server: chosen[place] });
                services -= service;
                came = came.wrapping_sub(at);
            } else {
                response[together] = response[place];
                together += 1;
            }
        }
        books.leave_together(&response[..together], services, came, bound);
        self.bound = bound;
        self.instant = None;
        true
    }

    /// Keeps the block's requests until they have left.
    fn open_block(&mut self, size: usize) {
        let number = self.came.0 - size as u64;
        let job = |place: usize| Job {
            came: self.at[place],
            service: self.work[place],
            left: self.left[place],
            number: number + place as u64,
            server: self.chosen[place],
        };
        self.open.extend((0..size).map(job));
    }

    /// Sorts those that leave up to `bound` by how they leave; the last `fresh` of them have just come.
    fn sort(&mut self, fresh: usize, bound: u64, books: &mut Books) {
        self.bound = bound;
        let key = |(place, job): (usize, &Job)| {
            let tie = if job.left == job.came { u32::MAX } else { job.server };
            u128::from(job.left) << 64 | u128::from(tie) << 32 | place as u128
        };
        self.ready.extend(self.open.iter().enumerate().filter(|(_, job)| job.left <= bound).map(key));
        if self.servers.len() > 1 {
            self.ready.sort_unstable();
        }
        if self.open.len() >= books.most as usize && self.full_at.is_none() {
            self.full_at = self.look_for_room(fresh, books.most as usize);
        }
    }

    /// When the first of the last `fresh` requests came that found no room, where there is room for `most`.
    #[cold]
    fn look_for_room(&self, fresh: usize, most: usize) -> Option<u64> {
        let mut lefts: Vec<u64> = self.open.iter().map(|job| job.left).collect();
        lefts.sort_unstable();
        let mut last = (self.open.len() - fresh..).zip(&self.open[self.open.len() - fresh..]);
        let inside = |place: usize, came: u64| place + 1 - lefts.partition_point(|left| *left <= came).min(place);
        last.find(|(place, job)| inside(*place, job.came) >= most).map(|(_, job)| job.came)
    }

    /// Counts those that are ready one by one, until `ended` requests have ended.
    fn count_in_order(&mut self, ended: u64, books: &mut Books) {
        while books.ended < ended && self.counted < self.ready.len() {
            let job = self.open[self.ready[self.counted] as u32 as usize];
            if self.full_at.is_some_and(|at| at < job.left) {
                books.overflowed = Some(books.most);
                return;
            }
            while let Some(milestone) = books.phases.passed(Time(job.left)) {
                self.pass(milestone, books);
            }
            self.counted += 1;
            self.instant = (job.left == job.came).then_some(job.number);
            if let Some(milestone) = books.leave(job.came, job.left - job.came - job.service, job.service, job.left) {
                self.pass(milestone, books);
            }
        }
    }

    /// The end of a phase.
    pub(super) fn pass(&mut self, milestone: Milestone, books: &mut Books) {
        let (Milestone::Begin(at) | Milestone::Close(at)) = milestone;
        let busy = self.busy(at, books);
        match milestone {
            Milestone::Begin(_) => {
                books.tally.restart(at, busy);
                let sent = self.sent_by(at, books);
                self.servers.iter_mut().zip(sent).for_each(|(server, sent)| server.before = sent);
            }
            Milestone::Close(_) => books.tally.close(at, busy),
        }
    }

    /// Requests that have come to each server since measuring began, up to now.
    pub(super) fn sent(&self, books: &Books) -> Vec<u64> {
        let sent = self.sent_by(books.now, books);
        self.servers.iter().zip(sent).map(|(server, sent)| sent - server.before).collect()
    }

    /// Requests that have come to each server by `now`, an instant between the last departure and the next.
    fn sent_by(&self, now: Time, books: &Books) -> Vec<u64> {
        let instant = self.instant.filter(|_| now == books.now);
        let mut sent: Vec<u64> = self.servers.iter().map(|server| server.sent).collect();
        let to_come = self.uncounted().filter(|job| job.is_to_come(now.0, instant));
        to_come.for_each(|job| sent[job.server as usize] -= 1);
        sent
    }

    /// Core time that each server has spent by `now`, likewise: what has come, less what is left of it.
    pub(super) fn busy(&self, now: Time, books: &Books) -> Vec<Span> {
        let instant = self.instant.filter(|_| now == books.now);
        let mut busy: Vec<u64> = self.servers.iter().map(|server| server.work).collect();
        let mut free = vec![now.0; busy.len()];
        for job in self.uncounted() {
            let server = job.server as usize;
            if job.is_to_come(now.0, instant) {
                busy[server] -= job.service;
            } else {
                free[server] = free[server].max(job.left);
            }
        }
        busy.iter().zip(free).map(|(busy, free)| Span(busy - (free - now.0))).collect()
    }

    /// Requests that have come by now.
    pub(super) fn arrived(&self, books: &Books) -> u64 {
        self.arrivals(books).0
    }

    /// The same, and the sum of their instants (modulo 2^64).
    fn arrivals(&self, books: &Books) -> (u64, u64) {
        let to_come = self.uncounted().filter(|job| job.is_to_come(books.now.0, self.instant));
        to_come.fold(self.came, |(count, sum), job| (count - 1, sum.wrapping_sub(job.came)))
    }

    /// Requests that have come, here in the block, and have not been counted.
    fn uncounted(&self) -> impl Iterator<Item = &Job> {
        let ready = self.ready[self.counted..].iter().map(|key| &self.open[*key as u32 as usize]);
        let sorted = !self.ready.is_empty();
        ready.chain(self.open.iter().filter(move |job| !sorted || job.left > self.bound))
    }

    /// Asserts the conservation laws.
    pub(super) fn settle_books(&self, books: &Books) {
        let here = self.uncounted().filter(|job| !job.is_to_come(books.now.0, self.instant));
        books.assert_balanced(self.arrivals(books), here.map(|job| job.came));
        let busy = self.busy(books.now, books);
        assert!(busy.iter().all(|busy| busy.0 <= books.now.0), "a server spent more core time than it has");
    }
}
