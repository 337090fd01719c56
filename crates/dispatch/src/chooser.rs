//! Policies that need no dispatcher: those that read who is up and how many requests are in flight, and nothing else.
//!
//! Where all backends are up from the beginning to the end and every end of a request is known at once, a dispatcher only passes
//! on what its policy says. A simulation of hundreds of millions of requests may then ask a [`Chooser`] instead: the same rule
//! over the same orders, and the same draws from the same stream, without the books. A policy says by [`crate::Policy::plain`]
//! that it is one of these; tests hold the choosers to the dispatchers, choice by choice.

use sojourn_stats::{Stream, Time};

use crate::index::Loads;
use crate::table::draw;
use crate::{Action, Ask, BackendId, Clients, Index, Plain, Policy, Request, Table, Ties};

/// A plain policy over backends that are all up.
pub struct Chooser {
    rule: Rule,
    stream: Stream,
}

enum Rule {
    Only,
    Drawn { among: usize },
    Turns { among: u32, next: u32 },
    Blind(Box<Blind>),
    LeastOfFew(Few),
    Least { loads: Loads, ties: Ties, in_flight: Vec<u32> },
    LeastOf { d: usize, drawn: Vec<u32>, in_flight: Vec<u32> },
}

/// Backends in the order in which [`crate::index::Levels`] has them, by load; of few of them it is found by looking.
struct Few {
    order: [u8; FEW],
    /// Load by place in the order; the rest is full.
    loads: [u32; FEW],
    /// Place by backend.
    places: [u8; FEW],
}

const FEW: usize = 8;

/// A policy and the table that it sees.
struct Blind {
    policy: Box<dyn Policy>,
    table: Table,
    clients: Clients,
}

impl Chooser {
    /// The chooser of `policy` over backends of these weights; none where the policy is not plain, or there is no backend that it
    /// would choose. `name` names its random stream, as in [`crate::Dispatcher::new`].
    pub fn new(policy: Box<dyn Policy>, weights: &[f64], seed: u64, name: &str) -> Option<Chooser> {
        let among = weights.len();
        let rule = match policy.plain()? {
            _ if among == 0 => return None,
            Plain::Blind if !weights.iter().any(|weight| *weight > 0.0) => return None,
            _ if among == 1 => Rule::Only,
            Plain::Drawn => Rule::Drawn { among },
            Plain::Turns => Rule::Turns { among: among as u32, next: 0 },
            Plain::Blind => {
                let mut table = Table::new(Index::None, Ties::Drawn, None, false, true);
                weights.iter().enumerate().for_each(|(number, weight)| _ = table.join(&number.to_string(), *weight));
                Rule::Blind(Box::new(Blind { policy, table, clients: Clients::default() }))
            }
            Plain::Least(Ties::Drawn) if among <= FEW => Rule::LeastOfFew(Few::new(among)),
            Plain::Least(ties) => {
                let mut loads = Loads::new(ties);
                (0..among as u32).for_each(|backend| loads.set(backend, 0));
                Rule::Least { loads, ties, in_flight: vec![0; among] }
            }
            Plain::LeastOf(d) => Rule::LeastOf { d: d.min(among), drawn: Vec::new(), in_flight: vec![0; among] },
        };
        Some(Chooser { rule, stream: Stream::new(seed, name, "dispatch") })
    }

    /// Whether it chooses without a look at the requests in flight: then [`Chooser::ended`] does nothing.
    pub fn is_blind(&self) -> bool {
        !matches!(self.rule, Rule::LeastOfFew(_) | Rule::Least { .. } | Rule::LeastOf { .. })
    }

    /// The backend of a request that comes at `now`, which counts as in flight there until [`Chooser::ended`].
    ///
    /// # Panics
    /// When a policy that says that it is blind does anything but forward.
    #[inline]
    pub fn choose(&mut self, now: Time) -> u32 {
        let Chooser { rule, stream } = self;
        match rule {
            Rule::Only => 0,
            Rule::Drawn { among } => draw(*among, stream) as u32,
            Rule::Turns { among, next } => {
                let turn = *next;
                *next = if turn + 1 == *among { 0 } else { turn + 1 };
                turn
            }
            Rule::Blind(blind) => blind.choose(now, stream),
            Rule::LeastOfFew(few) => few.choose(stream),
            Rule::Least { loads, ties, in_flight } => {
                let pick = |among: usize| if *ties == Ties::Drawn { draw(among, stream) } else { 0 };
                let (load, _, backend) = loads.least(pick).expect("there are backends");
                in_flight[backend as usize] += 1;
                loads.set(backend, load + 1);
                backend
            }
            Rule::LeastOf { d: 2, in_flight, .. } => {
                let first = stream.below(in_flight.len());
                let mut second = stream.below(in_flight.len());
                while second == first {
                    second = stream.below(in_flight.len());
                }
                let is_less = in_flight[second] < in_flight[first];
                let backend = std::hint::select_unpredictable(is_less, second, first);
                in_flight[backend] += 1;
                backend as u32
            }
            Rule::LeastOf { d, drawn, in_flight } => {
                drawn.clear();
                let mut best: Option<(u32, u32)> = None;
                while drawn.len() < *d {
                    let backend = stream.below(in_flight.len()) as u32;
                    if drawn.contains(&backend) {
                        continue;
                    }
                    drawn.push(backend);
                    let load = in_flight[backend as usize];
                    if best.is_none_or(|(least, _)| load < least) {
                        best = Some((load, backend));
                    }
                }
                let (_, backend) = best.expect("at least one is drawn");
                in_flight[backend as usize] += 1;
                backend
            }
        }
    }

    /// A request that was sent to `backend` has ended.
    #[inline]
    pub fn ended(&mut self, backend: u32) {
        match &mut self.rule {
            Rule::LeastOfFew(few) => few.ended(backend),
            Rule::Least { loads, in_flight, .. } => {
                let left = &mut in_flight[backend as usize];
                *left -= 1;
                loads.set(backend, *left);
            }
            Rule::LeastOf { in_flight, .. } => in_flight[backend as usize] -= 1,
            _ => {}
        }
    }

    /// The backends of requests that come at these instants, one after the other.
    ///
    /// # Panics
    /// As [`Chooser::choose`].
    pub fn choose_all(&mut self, at: &[u64], chosen: &mut [u32]) {
        let Chooser { rule, stream } = self;
        match rule {
            Rule::Only => chosen.fill(0),
            Rule::Drawn { among } => chosen.iter_mut().for_each(|chosen| *chosen = stream.below(*among) as u32),
            _ => at.iter().zip(chosen).for_each(|(now, chosen)| *chosen = self.choose(Time(*now))),
        }
    }
}

impl Few {
    fn new(among: usize) -> Few {
        let order = std::array::from_fn(|place| place as u8);
        Few { order, loads: std::array::from_fn(|place| if place < among { 0 } else { u32::MAX }), places: order }
    }

    /// One of the least loaded, which then is the first of those with a request more.
    #[inline]
    fn choose(&mut self, stream: &mut Stream) -> u32 {
        let least = self.loads[0];
        let ties = self.loads.iter().map(|load| usize::from(*load == least)).sum::<usize>();
        let place = draw(ties, stream);
        let backend = self.order[place];
        self.swap(place, ties - 1);
        self.loads[ties - 1] = least + 1;
        u32::from(backend)
    }

    /// The backend is the last of those with a request less.
    #[inline]
    fn ended(&mut self, backend: u32) {
        let place = usize::from(self.places[backend as usize]);
        let load = self.loads[place];
        let first = self.loads.iter().map(|other| usize::from(*other < load)).sum::<usize>();
        self.swap(place, first);
        self.loads[first] = load - 1;
    }

    #[inline]
    fn swap(&mut self, one: usize, other: usize) {
        self.order.swap(one, other);
        self.places[usize::from(self.order[one])] = one as u8;
        self.places[usize::from(self.order[other])] = other as u8;
    }
}

impl Blind {
    fn choose(&mut self, now: Time, stream: &mut Stream) -> u32 {
        let request = Request::default();
        let ask = Ask { request: &request, table: &self.table, clients: &self.clients, tried: &[], now };
        match self.policy.choose(&ask, stream).action {
            Action::Forward(BackendId(chosen)) => chosen,
            other => panic!("a blind policy forwards, and does not {other:?}"),
        }
    }
}
