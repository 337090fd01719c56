//! The requests inside: where each of them is, and what it takes to end it.

use sojourn_dispatch::Origin;
use sojourn_model::Ticket;
use sojourn_stats::{Span, Time};
use sojourn_traffic::Request;

use crate::balancer::{Asked, Choice};

/// What is known of a request inside: one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Job {
    pub(crate) planned: Time,
    /// When the balancer sent it on.
    pub(crate) sent: Time,
    /// Core time on its server; the demand, before a server is chosen.
    pub(crate) service: Span,
    pub(crate) size: u64,
    /// Its place at its server, while it is there.
    pub(crate) ticket: Ticket,
    /// Number of its arrival; wraps, and is read only by runs that keep every response time.
    pub(crate) number: u32,
    pub(crate) client: u32,
    /// Where it was sent; before that, its `server` is the object asked for ([`Job::asked`]).
    pub(crate) choice: Choice,
    /// Moves when the slot is freed, so that old agenda entries find no request.
    pub(crate) generation: u32,
    pub(crate) class: u8,
    pub(crate) stage: Stage,
    pub(crate) standing: Standing,
}

const _: () = assert!(size_of::<Job>() == 64);

impl Job {
    /// What a policy is asked about, before a choice is made.
    #[inline]
    pub(crate) fn asked(&self) -> Asked {
        let Job { client, class, choice, size, .. } = *self;
        Asked { client, class, object: choice.server, size, origin: Origin::default(), at_node: None }
    }
}

impl Job {
    /// Its client begins anew: what its last attempt has entered in the agenda finds no request.
    pub(crate) fn begin_again(&mut self, demand: Span, size: u64) {
        (self.service, self.size, self.stage) = (demand, size, Stage::Coming);
        self.generation = self.generation.wrapping_add(1);
    }

    /// It is nowhere, and its client waits.
    pub(crate) fn be_lost(&mut self) {
        self.stage = Stage::Forwarded;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Free,
    /// Before the balancer.
    Coming,
    /// Between the balancer's choice and the end of its reply there, but not at the server.
    Forwarded,
    /// Waiting or served.
    AtServer,
    /// The reply is on its way from the balancer to the client.
    Returning,
    /// On that way, its bytes flow over a link that paths share.
    Flowing,
}

/// Which attempt of its request a job is. The books count a request once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The one that is counted.
    Counted,
    /// A second one beside it.
    Hedge,
    /// One that its client has given up, and whose work goes on.
    Orphan,
}

/// The requests inside: a slab.
pub(crate) struct Jobs {
    pub(crate) slab: Vec<Job>,
    free: Vec<u32>,
    /// There is no room for more than these.
    most: u32,
}

impl Jobs {
    /// None inside, and room for `most`.
    pub(crate) fn new(most: u32) -> Jobs {
        Jobs { slab: Vec::new(), free: Vec::new(), most }
    }

    /// There was no room for more at some time.
    #[inline]
    pub(crate) fn were_full(&self) -> bool {
        self.slab.len() >= self.most as usize
    }

    /// A request that has just come in.
    #[inline]
    pub(crate) fn put(&mut self, planned: Time, number: u32, request: &Request) -> u32 {
        let job = Job {
            planned,
            sent: planned,
            service: request.demand,
            size: request.size,
            ticket: Ticket::default(),
            number,
            client: request.client,
            choice: Choice { dispatcher: 0, server: request.object, is_retry: false },
            generation: 0,
            class: request.class,
            stage: Stage::Coming,
            standing: Standing::Counted,
        };
        self.place(job)
    }

    /// Another attempt of the request in `slot`, which is as that one was at the beginning.
    pub(crate) fn again(&mut self, slot: u32, demand: Span, size: u64) -> u32 {
        let job = self.slab[slot as usize];
        self.place(Job { stage: Stage::Coming, service: demand, size, generation: 0, ..job })
    }

    #[inline]
    fn place(&mut self, job: Job) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                let place = &mut self.slab[slot as usize];
                *place = Job { generation: place.generation, ..job };
                slot
            }
            None => {
                self.slab.push(job);
                (self.slab.len() - 1) as u32
            }
        }
    }

    /// The request is gone: what was known of it.
    #[inline]
    pub(crate) fn release(&mut self, slot: u32) -> Job {
        let job = &mut self.slab[slot as usize];
        let gone = *job;
        job.stage = Stage::Free;
        job.generation = job.generation.wrapping_add(1);
        self.free.push(slot);
        gone
    }

    /// All that are counted.
    pub(crate) fn inside(&self) -> impl Iterator<Item = &Job> {
        self.slab.iter().filter(|job| job.stage != Stage::Free && job.standing == Standing::Counted)
    }
}
