//! Links that replies share, as a sans-I/O state machine: max-min fair sharing among flows.
//!
//! A flow crosses its client's link, its server's link and one link that all share. At every instant the rates are
//! max-min fair (Bertsekas and Gallager, Data Networks, section 6.5.2). Long TCP flows with equal round-trip times tend
//! to these rates. Propagation, slow start and loss are not modelled here.
//!
//! Two decisions keep it cheap. First, a client's link is divided equally among its k flows. A share that one flow
//! cannot use is not lent to the client's other flows; this matters only when a client's flows come from several
//! servers of which one is saturated. Second, all flows of clients that have k flows, from the same server, then have
//! the same rate. They are one *class*, with one virtual time V (bits that a flow of the class has got) and a heap on
//! the finish. While no shared link limits the flows, the rates are the clients' own and an event costs O(k log n).
//! When one does, water filling finds the rates of the few classes anew, for any number of flows.
//!
//! Rates and V are doubles; ends are rounded up to the nanosecond. [`Flows::assert_balanced`] asserts that the links
//! carried what the flows got: it adds up both sides independently.

use sojourn_stats::{Span, Time};

/// Flows over shared links.
#[derive(Clone, Debug)]
pub struct Flows {
    clock: Time,
    /// When the next flow ends, and in which class.
    next: Time,
    next_class: usize,
    /// Flows that a client can have at once.
    lanes: usize,
    servers: usize,
    client_rate: f64,
    server_rate: f64,
    shared_rate: f64,
    flows: Vec<Flow>,
    /// Flows of each client.
    counts: Vec<u32>,
    active_clients: u32,
    /// By (server, k - 1).
    classes: Vec<Class>,
    /// The place of each group (the flows of one client from one server) in the heap of its class.
    places: Vec<u32>,
    /// Every class has its clients' own rate.
    unbound: bool,
    /// Sum of all rates (bit/s).
    total_rate: f64,
    carried: f64,
    /// Bits of the flows that are over.
    finished: f64,
    /// Bits carried beyond the flows' sizes, because ends are rounded up to the nanosecond.
    overshoot: f64,
    filling: Vec<Filling>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    active: bool,
    server: u32,
    bits: f64,
    /// In the virtual time of its class.
    finish: f64,
}

#[derive(Clone, Debug)]
struct Class {
    v: f64,
    rate: f64,
    /// Its clients' link over k.
    cap: f64,
    flows: u32,
    frozen: bool,
    /// (first finish, group), the least on top.
    heap: Vec<(f64, u32)>,
}

/// A server's link while it is being filled.
#[derive(Clone, Copy, Debug, Default)]
struct Filling {
    left: f64,
    flows: u32,
}

impl Flows {
    /// Idle links: `clients` of `client_rate` with at most `lanes` flows each, `servers` of `server_rate`, and one of
    /// `shared_rate` (bit/s; none: infinitely fast). A server link that is no slower than the shared one never binds.
    ///
    /// # Panics
    /// When every rate is infinite: then no link is shared, and a flow takes no time.
    pub fn new(
        clients: u32,
        lanes: u32,
        servers: u32,
        client_rate: Option<f64>,
        server_rate: Option<f64>,
        shared_rate: Option<f64>,
    ) -> Flows {
        let rate = |rate: Option<f64>| rate.unwrap_or(f64::INFINITY);
        let (client_rate, server_rate, shared_rate) = (rate(client_rate), rate(server_rate), rate(shared_rate));
        let least = client_rate.min(server_rate).min(shared_rate);
        assert!(least.is_finite() && least > 0.0, "a flow has a rate above 0 that is finite");
        // The shared rate may be lowered later, but never raised above its first value.
        let server_rate = if server_rate >= shared_rate { f64::INFINITY } else { server_rate };
        let servers = if server_rate.is_finite() { servers as usize } else { 1 };
        let (clients, lanes) = (clients as usize, lanes as usize);
        let class = |number: usize| {
            let cap = client_rate / (number % lanes + 1) as f64;
            Class { v: 0.0, rate: cap, cap, flows: 0, frozen: false, heap: Vec::new() }
        };
        Flows {
            clock: Time::ZERO,
            next: Time::NEVER,
            next_class: 0,
            lanes,
            servers,
            client_rate,
            server_rate,
            shared_rate,
            flows: vec![Flow::default(); clients * lanes],
            counts: vec![0; clients],
            active_clients: 0,
            classes: (0..servers * lanes).map(class).collect(),
            places: vec![0; clients * servers],
            unbound: true,
            total_rate: 0.0,
            carried: 0.0,
            finished: 0.0,
            overshoot: 0.0,
            filling: vec![Filling::default(); servers],
        }
    }

    /// A flow of `bytes` from `server` to `client` begins at `now`, in a lane that is free. Every end due by `now` must
    /// have been taken.
    ///
    /// # Panics
    /// When the lane is not free, or an end due before `now` was not taken.
    pub fn start(&mut self, now: Time, client: u32, lane: u32, server: u32, bytes: u64) {
        self.advance(now);
        let client = client as usize;
        let server = if self.servers == 1 { 0 } else { server };
        let count = self.counts[client];
        if count == 0 {
            self.active_clients += 1;
        } else {
            self.withdraw(client, count);
        }
        let class = self.class(server, count + 1);
        let bits = bytes as f64 * 8.0;
        let finish = self.classes[class].v + bits;
        let flow = &mut self.flows[client * self.lanes + lane as usize];
        assert!(!flow.active, "a lane has one flow at a time");
        *flow = Flow { active: true, server, bits, finish };
        if count > 0 {
            self.rebase(client, lane, count, count + 1);
        }
        self.counts[client] = count + 1;
        self.enlist(client, count + 1);
        self.refill();
    }

    /// When the next flow ends, if nothing else happens before; [`Time::NEVER`] when none is under way.
    #[inline]
    pub fn next_end(&self) -> Time {
        self.next
    }

    /// Takes the next flow that ends at or before `now`: its client and lane.
    pub fn end(&mut self, now: Time) -> Option<(u32, u32)> {
        if self.next > now || self.next == Time::NEVER {
            return None;
        }
        self.advance(self.next);
        let class = self.next_class;
        let &(finish, group) = self.classes[class].heap.first().expect("an end is due only in a class with flows");
        let client = group as usize / self.servers;
        let server = (group as usize % self.servers) as u32;
        let mine = client * self.lanes..(client + 1) * self.lanes;
        let first = |flow: &Flow| flow.active && flow.server == server && flow.finish == finish;
        let lane = self.flows[mine.clone()].iter().position(first).expect("the group's first finish is a flow's");
        let carried = self.classes[class].v;
        let flow = self.flows[mine.start + lane];
        self.finished += flow.bits;
        self.overshoot += carried - finish;
        self.remove_flow(client, lane);
        Some((client as u32, lane as u32))
    }

    /// Cancels the flow in this lane; the bits that it got were carried for nothing. Every end due by `now` must have
    /// been taken.
    ///
    /// # Panics
    /// When the lane is free, or an end due before `now` was not taken.
    pub fn cancel(&mut self, now: Time, client: u32, lane: u32) {
        self.advance(now);
        let (client, lane) = (client as usize, lane as usize);
        let flow = self.flows[client * self.lanes + lane];
        assert!(flow.active, "a flow that is given up is under way");
        let class = self.class(flow.server, self.counts[client]);
        self.finished += flow.bits - (flow.finish - self.classes[class].v);
        self.remove_flow(client, lane);
    }

    /// Takes a flow out, and gives its share to the others.
    fn remove_flow(&mut self, client: usize, lane: usize) {
        let count = self.counts[client];
        self.withdraw(client, count);
        self.flows[client * self.lanes + lane].active = false;
        self.counts[client] = count - 1;
        if count == 1 {
            self.active_clients -= 1;
        } else {
            self.rebase(client, u32::MAX, count, count - 1);
            self.enlist(client, count - 1);
        }
        self.refill();
    }

    /// The shared link has this rate (bit/s) from `now` on: at most its rate at the start, and above 0.
    pub fn set_shared_rate(&mut self, now: Time, rate: f64) {
        assert!(rate > 0.0, "a link that stands still would keep its flows for ever");
        self.advance(now);
        self.shared_rate = rate;
        self.refill();
    }

    /// The present rate of a flow (bit/s); none where the lane is free.
    pub fn rate(&self, client: u32, lane: u32) -> Option<f64> {
        let flow = &self.flows[client as usize * self.lanes + lane as usize];
        let class = || self.class(flow.server, self.counts[client as usize]);
        flow.active.then(|| self.classes[class()].rate)
    }

    /// Flows under way.
    pub fn under_way(&self) -> u32 {
        self.classes.iter().map(|class| class.flows).sum()
    }

    /// Asserts that the links carried (rate by time) exactly the bits that the flows got.
    pub fn assert_balanced(&self) {
        let got = |(at, flow): (usize, &Flow)| {
            let class = self.class(flow.server, self.counts[at / self.lanes]);
            flow.bits - (flow.finish - self.classes[class].v)
        };
        let under_way: f64 = self.flows.iter().enumerate().filter(|(_, flow)| flow.active).map(got).sum();
        let got = self.finished + self.overshoot + under_way;
        let hair = 1e-9 * (self.carried + 1e3);
        assert!((self.carried - got).abs() <= hair, "links carried {} bits and flows got {got}", self.carried);
    }

    #[inline]
    fn class(&self, server: u32, count: u32) -> usize {
        server as usize * self.lanes + count as usize - 1
    }

    #[inline]
    fn advance(&mut self, now: Time) {
        assert!(now >= self.clock && now <= self.next, "flows go on, end by end");
        let elapsed_s = (now - self.clock).as_secs_f64();
        self.clock = now;
        if elapsed_s == 0.0 || self.active_clients == 0 {
            return;
        }
        for class in self.classes.iter_mut().filter(|class| class.flows > 0) {
            class.v += class.rate * elapsed_s;
        }
        self.carried += self.total_rate * elapsed_s;
    }

    /// Takes a client's groups out of the classes they are in.
    #[inline]
    fn withdraw(&mut self, client: usize, count: u32) {
        for lane in 0..self.lanes {
            let Flow { active, server, .. } = self.flows[client * self.lanes + lane];
            if active {
                let class = self.class(server, count);
                self.classes[class].flows -= 1;
                if self.leads(client, lane) {
                    self.remove(class, (client * self.servers) as u32 + server);
                }
            }
        }
    }

    /// Puts a client's groups into the classes of clients with `count` flows.
    #[inline]
    fn enlist(&mut self, client: usize, count: u32) {
        for lane in 0..self.lanes {
            let Flow { active, server, .. } = self.flows[client * self.lanes + lane];
            if active {
                let class = self.class(server, count);
                self.classes[class].flows += 1;
                if self.leads(client, lane) {
                    let mine = self.flows[client * self.lanes..(client + 1) * self.lanes].iter();
                    let group = mine.filter(|flow| flow.active && flow.server == server);
                    let first = group.map(|flow| flow.finish).fold(f64::INFINITY, f64::min);
                    self.insert(class, first, (client * self.servers) as u32 + server);
                }
            }
        }
    }

    /// Whether this flow is the first of its group.
    #[inline]
    fn leads(&self, client: usize, lane: usize) -> bool {
        let flows = &self.flows[client * self.lanes..client * self.lanes + lane + 1];
        flows[..lane].iter().all(|other| !other.active || other.server != flows[lane].server)
    }

    /// Restates the finishes of a client's flows, except the one in lane `except`, in the virtual time of its new
    /// class.
    #[inline]
    fn rebase(&mut self, client: usize, except: u32, from: u32, to: u32) {
        for lane in 0..self.lanes {
            let Flow { active, server, .. } = self.flows[client * self.lanes + lane];
            if active && lane != except as usize {
                let shift = self.classes[self.class(server, to)].v - self.classes[self.class(server, from)].v;
                self.flows[client * self.lanes + lane].finish += shift;
            }
        }
    }

    /// Finds the rates of all classes, and the next end.
    #[inline]
    fn refill(&mut self) {
        let clients_rate = f64::from(self.active_clients) * self.client_rate;
        let unbound = self.server_rate == f64::INFINITY && clients_rate <= self.shared_rate;
        if !unbound {
            self.fill();
        } else if !self.unbound {
            self.classes.iter_mut().for_each(|class| class.rate = class.cap);
        }
        self.unbound = unbound;
        (self.total_rate, self.next) = (0.0, Time::NEVER);
        for (number, class) in self.classes.iter().enumerate() {
            if class.flows > 0 {
                self.total_rate += f64::from(class.flows) * class.rate;
                let wait_ns = ((class.heap[0].0 - class.v) / class.rate * 1e9).ceil();
                // The conversion saturates: an end that rounding puts into the past is now.
                let at = self.clock + Span(wait_ns as u64);
                if at < self.next {
                    (self.next, self.next_class) = (at, number);
                }
            }
        }
    }

    /// Water filling: the level of all flows rises together; those at their cap, or on a link that is full, stay.
    fn fill(&mut self) {
        let mut shared_left = self.shared_rate;
        let mut rising = 0;
        self.filling.fill(Filling { left: self.server_rate, flows: 0 });
        for (number, class) in self.classes.iter_mut().enumerate() {
            class.frozen = class.flows == 0;
            rising += class.flows;
            self.filling[number / self.lanes].flows += class.flows;
        }
        while rising > 0 {
            let mut level = shared_left / f64::from(rising);
            let mut full = None;
            for (server, filling) in self.filling.iter().enumerate().filter(|(_, filling)| filling.flows > 0) {
                let its_level = filling.left / f64::from(filling.flows);
                if its_level < level {
                    (level, full) = (its_level, Some(server));
                }
            }
            let caps = self.classes.iter().filter(|class| !class.frozen).map(|class| class.cap);
            let cap = caps.fold(f64::INFINITY, f64::min);
            let capped = cap <= level;
            for (number, class) in self.classes.iter_mut().enumerate().filter(|(_, class)| !class.frozen) {
                let server = number / self.lanes;
                let stays = if capped { class.cap == cap } else { full.is_none_or(|full| full == server) };
                if stays {
                    class.frozen = true;
                    class.rate = if capped { cap } else { level };
                    let taken = class.rate * f64::from(class.flows);
                    rising -= class.flows;
                    shared_left = (shared_left - taken).max(0.0);
                    self.filling[server].flows -= class.flows;
                    self.filling[server].left = (self.filling[server].left - taken).max(0.0);
                }
            }
        }
    }

    #[inline]
    fn insert(&mut self, class: usize, finish: f64, group: u32) {
        let heap = &mut self.classes[class].heap;
        heap.push((finish, group));
        let last = heap.len() - 1;
        rise(heap, &mut self.places, last);
    }

    #[inline]
    fn remove(&mut self, class: usize, group: u32) {
        let heap = &mut self.classes[class].heap;
        let place = self.places[group as usize] as usize;
        heap.swap_remove(place);
        if place < heap.len() {
            self.places[heap[place].1 as usize] = place as u32;
            let place = rise(heap, &mut self.places, place);
            sink(heap, &mut self.places, place);
        }
    }
}

/// Moves an entry up to where it belongs; returns where.
#[inline]
fn rise(heap: &mut [(f64, u32)], places: &mut [u32], mut at: usize) -> usize {
    while at > 0 && heap[at] < heap[(at - 1) / 2] {
        heap.swap(at, (at - 1) / 2);
        places[heap[at].1 as usize] = at as u32;
        at = (at - 1) / 2;
    }
    places[heap[at].1 as usize] = at as u32;
    at
}

/// Moves an entry down to where it belongs.
#[inline]
fn sink(heap: &mut [(f64, u32)], places: &mut [u32], mut at: usize) {
    loop {
        let mut least = at;
        for child in [2 * at + 1, 2 * at + 2] {
            if child < heap.len() && heap[child] < heap[least] {
                least = child;
            }
        }
        if least == at {
            break;
        }
        heap.swap(at, least);
        places[heap[at].1 as usize] = at as u32;
        at = least;
    }
    places[heap[at].1 as usize] = at as u32;
}
