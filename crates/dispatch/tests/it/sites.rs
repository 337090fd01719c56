//! Policies that know where clients and backends are, step by step against their definition by scan.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use sojourn_dispatch::{
    BackendId, ClientRules, Code, Command, Dispatcher, Event, Information, Location, Origin, Report, Request,
    RoundTrip, State,
};
use sojourn_stats::{Span, Stream, Time};

use crate::common::{AT_DNS, assert_fits, equal};

const SITES: u32 = 12;
const CLIENTS: u64 = 60;
const LEASE: Span = Span(900);
const RULES: ClientRules = ClientRules {
    at_most: std::num::NonZeroUsize::new(1_000).expect("it is not zero"),
    rates_expire: Some(Span(4_000)),
    sites_probed: 3,
    refresh: Span(2_000),
};

/// The parameters of `nearest-with-room`, as a test reads them.
#[derive(Clone, Copy)]
struct Rules {
    bits: u32,
    unprobed_by_address: bool,
    for_lease: bool,
    spills: bool,
    probes: bool,
}

/// What was told, kept as plainly as possible.
struct World {
    dispatcher: Dispatcher,
    stream: Stream,
    now: Time,
    origins: Vec<Origin>,
    /// Reported room, in millionths of a request per second; none: it has not reported.
    rooms: Vec<Option<i64>>,
    /// What is taken of it: how much and until when; without an end until the next report.
    taken: Vec<Vec<(i64, Option<Time>)>>,
    rates: BTreeMap<u64, (f64, Time)>,
    trips: BTreeMap<u64, Vec<(Span, u32)>>,
    probed: BTreeMap<u64, Time>,
    /// How often each kind of answer was met.
    met: BTreeMap<&'static str, u32>,
    /// How many bits the policy compares, and whether it orders round trips.
    bits: u32,
    probes: bool,
}

impl World {
    fn new(policy: &str, bits: u32, probes: bool, seed: u64) -> World {
        let sites = equal(SITES as usize);
        let made = Dispatcher::new(policy, &sites, Information::Immediate, AT_DNS, seed, "dns");
        let mut dispatcher = made.unwrap_or_else(|error| panic!("{error}"));
        dispatcher.keep_clients(RULES);
        let mut stream = Stream::new(seed, "sites", "walk");
        let origins: Vec<Origin> = (0..SITES).map(|_| origin(&mut stream)).collect();
        for (id, origin) in origins.iter().enumerate() {
            dispatcher.set_origin(BackendId(id as u32), *origin);
        }
        let of_each = SITES as usize;
        World {
            dispatcher,
            stream,
            now: Time::ZERO,
            origins,
            rooms: vec![None; of_each],
            taken: vec![Vec::new(); of_each],
            rates: BTreeMap::new(),
            trips: BTreeMap::new(),
            probed: BTreeMap::new(),
            met: BTreeMap::new(),
            bits,
            probes,
        }
    }

    fn room(&self, id: u32) -> Option<i64> {
        let taken: i64 = self.taken[id as usize].iter().map(|(rate, _)| rate).sum();
        self.rooms[id as usize].map(|room| room - taken)
    }

    fn fits(&self, id: u32, rate: i64, tried: &[BackendId]) -> bool {
        let open = self.dispatcher.table().is_eligible(BackendId(id)) && !tried.contains(&BackendId(id));
        open && self.room(id).is_none_or(|room| room > rate)
    }

    /// How near a site is: the larger, the nearer.
    fn rank(&self, from: Origin, id: u32) -> i64 {
        let there = self.origins[id as usize];
        match (from.address, there.address) {
            (Some(one), Some(other)) => {
                let differ = u32::from(one) ^ u32::from(other);
                (0..self.bits).take_while(|bit| differ & (1 << (31 - bit)) == 0).count() as i64
            }
            (Some(_), None) => -1,
            (None, _) => i64::from(from.region.is_some() && from.region == there.region),
        }
    }

    /// Those of `among` that are nearest.
    fn nearest(&self, from: Origin, among: impl Fn(u32) -> bool) -> BTreeSet<u32> {
        let most = (0..SITES).filter(|id| among(*id)).map(|id| self.rank(from, id)).max();
        (0..SITES).filter(|id| among(*id) && Some(self.rank(from, *id)) == most).collect()
    }

    /// Something happens that is no choice.
    fn step(&mut self) {
        self.now += Span(self.stream.below(60) as u64);
        let now = self.now;
        self.rates.retain(|_, (_, told)| now < *told + RULES.rates_expire.expect("they do"));
        self.taken.iter_mut().for_each(|taken| taken.retain(|(_, until)| until.is_none_or(|until| now < until)));
        let id = self.stream.below(SITES as usize);
        let (backend, client) = (BackendId(id as u32), self.stream.below(CLIENTS as usize) as u64);
        match self.stream.below(10) {
            0..4 => {
                let room = self.stream.below(5) as f64 * 4.0;
                let report = Report { measured: now, room: room as f32, capacity: 20.0, ..Report::default() };
                assert!(self.dispatcher.report(backend, &report, now));
                self.rooms[id] = Some(micro(room));
                self.taken[id].retain(|(_, until)| until.is_some());
            }
            4..6 => {
                let rate = (1 + self.stream.below(8)) as f64 * 0.5;
                assert!(self.dispatcher.tell_rate(client, home(client), rate, now));
                self.rates.insert(client, (rate, now));
                self.obey(client, micro(rate), self.trips.get(&client).is_none_or(Vec::is_empty));
            }
            6..8 => {
                let span = Span(1_000 + self.stream.below(1_000_000) as u64);
                self.dispatcher.tell_round_trip(client, backend, RoundTrip { span, measured: now, answers: 3 }, now);
                let trips = self.trips.entry(client).or_default();
                trips.retain(|(_, of)| *of != backend.0);
                trips.push((span, backend.0));
                trips.sort();
                trips.truncate(3);
            }
            _ => {
                let event = match self.stream.below(8) {
                    0 => Event::Left { backend },
                    1 => Event::Draining { backend },
                    2 | 3 => Event::Down { backend },
                    _ => Event::Joined { backend },
                };
                self.dispatcher.observe(event, now);
            }
        }
    }

    /// Polls, and holds what is to be measured for `client` to the definition: if it is due, to the nearest with room.
    fn obey(&mut self, client: u64, rate: i64, unknown: bool) {
        let due = self.probed.get(&client).is_none_or(|at| self.now >= *at + RULES.refresh);
        let fits: Vec<bool> = (0..SITES).map(|id| self.fits(id, rate, &[])).collect();
        let count = fits.iter().filter(|fits| **fits).count().min(3);
        let expected = if self.probes && (due || unknown) { count } else { 0 };
        let commands = self.dispatcher.poll(self.now);
        let measured: Vec<u32> = commands
            .iter()
            .map(|command| match command {
                Command::Measure { client: of, from } if *of == client => from.0,
                other => panic!("{other:?} for {client}"),
            })
            .collect();
        assert_eq!(measured.len(), expected, "{measured:?} at {:?}", self.now);
        assert_eq!(measured.iter().collect::<BTreeSet<_>>().len(), expected, "each once: {measured:?}");
        let rank = |id: u32| self.rank(home(client), id);
        let left_out = (0..SITES).filter(|id| fits[*id as usize] && !measured.contains(id)).map(rank).max();
        for from in &measured {
            assert!(fits[*from as usize] && left_out.is_none_or(|other| rank(*from) >= other), "{from} is farther");
        }
        if !measured.is_empty() {
            self.probed.insert(client, self.now);
            *self.met.entry("measured").or_default() += 1;
        }
    }
}

/// In whole millionths, which is how rates are compared.
fn micro(rate: f64) -> i64 {
    (rate * 1e6).round() as i64
}

/// Where a client is: the same at each call.
fn home(client: u64) -> Origin {
    origin(&mut Stream::new(client, "client", "origin"))
}

/// Clustered, so that ties and long prefixes are met; now and then one part is not known.
fn origin(stream: &mut Stream) -> Origin {
    let first = [128, 194, 195, 198, 199, 202][stream.below(6)];
    let address = Ipv4Addr::new(first, [0, 128, 129][stream.below(3)], 0, stream.below(2) as u8);
    let (region, known) = (stream.below(3) as u16, stream.below(6) > 0);
    Origin { region: (stream.below(6) > 0).then_some(region), address: known.then_some(address), location: None }
}

fn walk(rules: Rules, seed: u64) -> BTreeMap<&'static str, u32> {
    let word = |yes: bool, one: &'static str, other: &'static str| if yes { one } else { other };
    let policy = format!(
        "nearest-with-room(bits = {}, unprobed = {}, holds = {}, spill = {}, probes = {})",
        rules.bits,
        word(rules.unprobed_by_address, "address", "free-capacity"),
        word(rules.for_lease, "lease", "report"),
        word(rules.spills, "free-capacity", "next-nearest"),
        rules.probes
    );
    let mut world = World::new(&policy, rules.bits, rules.probes, seed);
    for _ in 0..6_000 {
        (0..4).for_each(|_| world.step());
        let client = world.stream.below(CLIENTS as usize) as u64;
        let retry = world.stream.below(5) == 0;
        let tried: Vec<_> = if retry { vec![BackendId(world.stream.below(12) as u32)] } else { Vec::new() };
        world.choose(rules, client, &tried);
    }
    world.met
}

impl World {
    /// Asks for a choice and compares it with what the definition allows.
    fn choose(&mut self, rules: Rules, client: u64, tried: &[BackendId]) {
        let from = home(client);
        let told = self.rates.get(&client).map(|(rate, _)| *rate).filter(|_| rules.probes);
        let mean = self.rates.values().map(|(rate, _)| rate).sum::<f64>() / self.rates.len().max(1) as f64;
        let per_s = told.unwrap_or(if rules.probes { mean } else { 0.0 });
        let rate = micro(per_s);
        let trips = self.trips.get(&client).cloned().unwrap_or_default();
        let by_address = told.is_none() || (trips.is_empty() && rules.unprobed_by_address);
        let fits = |id: u32| self.fits(id, rate, tried);
        let there = |id: u32| self.dispatcher.table().state(BackendId(id)) != State::Left;
        let allowed: BTreeSet<u32> = if by_address && rules.spills {
            self.nearest(from, there).into_iter().filter(|id| fits(*id)).collect()
        } else if by_address {
            self.nearest(from, fits)
        } else {
            let looked_at = if rules.spills { &trips[..trips.len().min(1)] } else { &trips[..] };
            looked_at.iter().map(|(_, id)| *id).find(|id| fits(*id)).into_iter().collect()
        };
        let request = Request { client, origin: from, lease: Some(LEASE), ..Request::default() };
        let before: Vec<Option<i64>> = (0..SITES).map(|id| self.room(id)).collect();
        let decision = self.dispatcher.choose(&request, tried, self.now);
        let chosen = decision.forwarded_to().map(|id| id.0);
        if told.is_some() {
            let unplaced = allowed.is_empty() && !by_address;
            self.obey(client, rate, unplaced);
        } else {
            assert_eq!(self.dispatcher.next_deadline().filter(|due| *due <= self.now), None, "nothing to measure");
        }
        let held = match chosen {
            None => {
                let open =
                    |id: &u32| self.dispatcher.table().is_eligible(BackendId(*id)) && !tried.contains(&BackendId(*id));
                assert_eq!((0..SITES).find(open), None, "a refusal, and one can be chosen");
                false
            }
            Some(id) if allowed.is_empty() => {
                assert_eq!(
                    decision.reason.code,
                    Code::Drawn,
                    "none is allowed, and {id} is chosen: {}",
                    decision.reason
                );
                let free = |id: u32| before[id as usize].is_none_or(|room| room > 0);
                let open =
                    |id: u32| self.dispatcher.table().is_eligible(BackendId(id)) && !tried.contains(&BackendId(id));
                assert!(free(id) || (0..SITES).all(|id| !open(id) || !free(id)), "drawn without room: {before:?}");
                *self.met.entry("drawn").or_default() += 1;
                rules.spills
            }
            Some(id) => {
                assert!(allowed.contains(&id), "{id} is not of {allowed:?}: {}", decision.reason);
                assert_eq!(decision.reason.ties as usize, allowed.len(), "{}", decision.reason);
                let kind = match decision.reason.code {
                    Code::LeastDistance => "by round trip",
                    Code::LongestPrefix => "by prefix",
                    Code::SameRegion => "by region",
                    Code::Drawn => "nothing to go by",
                    other => panic!("{other:?}"),
                };
                *self.met.entry(kind).or_default() += 1;
                true
            }
        };
        if let Some(id) = chosen.filter(|_| held) {
            let until = rules.for_lease.then(|| self.now + LEASE);
            self.taken[id as usize].push((micro(f64::from(per_s as f32)), until)); // a hold says it in single precision
        }
        for id in 0..SITES {
            let believed = self.dispatcher.table().believed_room(BackendId(id));
            assert_eq!(believed, self.room(id).map(|room| (room as f64 / 1e6) as f32), "site {id}");
        }
    }
}

#[test]
fn nearest_with_room_is_what_its_definition_says() {
    let printed = Rules { bits: 32, unprobed_by_address: false, for_lease: false, spills: false, probes: true };
    let kinds = ["by round trip", "by prefix", "by region", "nothing to go by", "drawn", "measured"];
    for rules in [
        printed,
        Rules { unprobed_by_address: true, bits: 7, ..printed },
        Rules { for_lease: true, unprobed_by_address: true, ..printed },
        Rules { spills: true, ..printed },
        Rules { spills: true, for_lease: true, bits: 7, unprobed_by_address: true, ..printed },
    ] {
        let met = walk(rules, 3);
        assert!(kinds.iter().all(|kind| met.get(kind).is_some_and(|times| *times > 10)), "all was met: {met:?}");
    }
    let met = walk(Rules { probes: false, ..printed }, 4);
    assert!(!met.contains_key("measured") && !met.contains_key("by round trip"), "{met:?}");
}

#[test]
fn nearest_goes_by_round_trip_then_by_address_and_ignores_load() {
    let mut world = World::new("nearest(bits = 7)", 7, true, 5);
    let (mut by_trip, mut by_address) = (0, 0);
    for _ in 0..4_000 {
        world.now += Span(40);
        let id = world.stream.below(SITES as usize) as u32;
        let (backend, client) = (BackendId(id), world.stream.below(CLIENTS as usize) as u64);
        match world.stream.below(4) {
            0 => world.dispatcher.observe(Event::Down { backend }, world.now),
            1 => world.dispatcher.observe(Event::Joined { backend }, world.now),
            2 => {
                let span = Span(1 + world.stream.below(1_000_000) as u64);
                let measured = RoundTrip { span, measured: world.now, answers: 3 };
                world.dispatcher.tell_round_trip(client, backend, measured, world.now);
                let trips = world.trips.entry(client).or_default();
                trips.retain(|(_, of)| *of != id);
                trips.push((span, id));
                trips.sort();
                trips.truncate(3);
            }
            _ => {}
        }
        let client = world.stream.below(CLIENTS as usize) as u64;
        let open = |id: u32| world.dispatcher.table().is_eligible(BackendId(id));
        let known = world.trips.get(&client).into_iter().flatten().map(|(_, id)| *id).find(|id| open(*id));
        let allowed = known.map_or_else(|| world.nearest(home(client), open), |id| [id].into());
        let request = Request { client, origin: home(client), ..Request::default() };
        let decision = world.dispatcher.choose(&request, &[], world.now);
        match decision.forwarded_to() {
            Some(id) => assert!(allowed.contains(&id.0), "{id:?} is not of {allowed:?}: {}", decision.reason),
            None => assert!(allowed.is_empty()),
        }
        *(if known.is_some() { &mut by_trip } else { &mut by_address }) += 1;
        world.obey(client, -1, false);
    }
    assert!(by_trip > 500 && by_address > 500, "{by_trip} {by_address}");
}

#[test]
fn ties_are_drawn() {
    for policy in ["nearest(probes = false)", "nearest-with-room(probes = false)", "nearest-with-room(bits = 7)"] {
        let made = Dispatcher::new(policy, &equal(5), Information::Immediate, AT_DNS, 1, "dns");
        let mut dispatcher = made.expect("a DNS tells all that");
        for id in 0..4 {
            let address = Some(Ipv4Addr::new(194, 0, 0, 1));
            dispatcher.set_origin(BackendId(id), Origin { address, ..Origin::default() });
        }
        let address = Some(Ipv4Addr::new(195, 1, 2, 3));
        let request = Request { origin: Origin { address, ..Origin::default() }, ..Request::default() };
        let mut counts = [0_u64; 4];
        for _ in 0..40_000 {
            let chosen = dispatcher.choose(&request, &[BackendId(1)], Time(3)).forwarded_to().expect("four are up");
            counts[chosen.0 as usize] += 1;
        }
        assert_eq!(counts[1], 0, "it was tried");
        assert_fits(policy, [0, 2, 3].map(|id| (counts[id], 40_000.0 / 3.0)), 2.0);
    }
}

#[test]
fn the_terms_say_how_near_each_site_is() {
    let made = Dispatcher::new("nearest-with-room(bits = 7)", &equal(3), Information::Immediate, AT_DNS, 1, "dns");
    let mut dispatcher = made.expect("a DNS tells all that");
    let at = |first| Origin { address: Some(Ipv4Addr::new(first, 0, 0, 1)), ..Origin::default() };
    dispatcher.set_origin(BackendId(0), at(195));
    dispatcher.set_origin(BackendId(1), at(199));
    assert!(dispatcher.report(BackendId(0), &Report { room: 2.0, capacity: 8.0, ..Report::default() }, Time(1)));
    let round_trip = RoundTrip { span: Span(20_000_000), measured: Time(1), answers: 3 };
    dispatcher.tell_round_trip(7, BackendId(1), round_trip, Time(1));
    assert!(dispatcher.tell_rate(7, at(195), 1.5, Time(1)));
    let request = Request { client: 7, origin: at(195), ..Request::default() };
    let words = dispatcher.explain(&request, &[], Time(2)).in_words(dispatcher.table());
    let expected = "s1: room_per_s 2, capacity_per_s 8, used_share 0.75, rate_per_s 1.5, shared_bits 7; \
                    s2: room_per_s 0, capacity_per_s 0, used_share 0, rate_per_s 1.5, shared_bits 5, round_trip_s 0.02; \
                    s3: room_per_s 0, capacity_per_s 0, used_share 0, rate_per_s 1.5, shared_bits 0";
    assert_eq!(words, expected);
}

/// Two sites in one region, one in another; a client of the first region.
#[test]
fn a_dead_site_is_the_next_ones_load_or_everyones() {
    let share_of_neighbour = |spill: &str| {
        let policy = format!("nearest-with-room(probes = false, spill = {spill})");
        let made = Dispatcher::new(&policy, &equal(3), Information::Immediate, AT_DNS, 1, "dns");
        let mut dispatcher = made.expect("a DNS tells all that");
        for (id, first) in [(0, 194), (1, 195), (2, 2)] {
            let address = Some(Ipv4Addr::new(first, 0, 0, 1));
            dispatcher.set_origin(BackendId(id), Origin { address, ..Origin::default() });
            let report = Report { room: 500.0, capacity: 800.0, ..Report::default() };
            assert!(dispatcher.report(BackendId(id), &report, Time(1)));
        }
        dispatcher.observe(Event::Down { backend: BackendId(0) }, Time(2));
        let address = Some(Ipv4Addr::new(194, 1, 2, 3));
        let request = Request { origin: Origin { address, ..Origin::default() }, ..Request::default() };
        let next = (0..1_000).filter_map(|_| dispatcher.choose(&request, &[], Time(3)).forwarded_to());
        next.filter(|id| *id == BackendId(1)).count()
    };
    assert_eq!(share_of_neighbour("next-nearest"), 1_000);
    // Binomial(1000, 1/2): beyond 4.9 standard deviations once in a million times.
    let spread = share_of_neighbour("free-capacity");
    assert!((423..=577).contains(&spread), "{spread}");
}

/// Published distances between airports' cities (great circles, km), over the poles and the date line as well.
#[test]
fn distances_are_on_the_globe() {
    let at = |latitude, longitude| Location::new(latitude, longitude).expect("a place");
    for (one, other, km) in [
        (at(51.47, -0.45), at(40.64, -73.78), 5540.0),
        (at(35.55, 139.78), at(37.62, -122.38), 8270.0),
        (at(61.17, -149.99), at(60.32, 24.96), 6500.0),
        (at(0.0, 179.5), at(0.0, -179.5), 111.2),
        (at(90.0, 0.0), at(-90.0, 77.0), 20_015.1),
        (at(12.34, 56.78), at(12.34, 56.78), 0.0),
    ] {
        assert!(
            (one.distance_km(other) - km).abs() < 0.005 * km + 1e-9,
            "{one:?} {other:?}: {}",
            one.distance_km(other)
        );
        assert_eq!(one.distance_km(other), other.distance_km(one));
    }
    for (latitude, longitude) in [(90.01, 0.0), (0.0, 180.01), (f64::NAN, 0.0), (0.0, f64::NEG_INFINITY)] {
        assert_eq!(Location::new(latitude, longitude), None);
    }
}

/// The nearest of those in the client's region, against a scan that computes each distance; where none is there, of all.
#[test]
fn the_geographic_policy_chooses_the_nearest_in_the_region() {
    let mut stream = Stream::new(17, "places", "test");
    for _ in 0..200 {
        let place = |stream: &mut Stream| Origin {
            region: (stream.below(4) > 0).then(|| stream.below(3) as u16),
            location: (stream.below(4) > 0)
                .then(|| Location::new(stream.uniform() * 180.0 - 90.0, stream.uniform() * 360.0 - 180.0))
                .flatten(),
            ..Origin::default()
        };
        let mut dispatcher =
            Dispatcher::new("geographic", &equal(8), Information::Immediate, AT_DNS, 1, "places").unwrap();
        let places: Vec<Origin> = (0..8).map(|_| place(&mut stream)).collect();
        places.iter().zip(0..).for_each(|(origin, id)| dispatcher.set_origin(BackendId(id), *origin));
        dispatcher.observe(Event::Down { backend: BackendId(stream.below(8) as u32) }, Time::ZERO);
        let request = Request { origin: place(&mut stream), ..Request::default() };
        let chosen = dispatcher.choose(&request, &[], Time(1)).forwarded_to().expect("seven are up");
        let up: Vec<BackendId> = dispatcher.table().eligible().to_vec();
        let origin = |id: &BackendId| places[id.0 as usize];
        let is_home = |id: &&BackendId| request.origin.region.is_some() && origin(id).region == request.origin.region;
        let home: Vec<BackendId> = up.iter().filter(is_home).copied().collect();
        let among = if home.is_empty() { up } else { home };
        let km = |id: &BackendId| {
            let (here, there) = request.origin.location.zip(origin(id).location)?;
            Some(here.distance_km(there))
        };
        let least = among.iter().filter_map(km).fold(f64::INFINITY, f64::min);
        assert!(among.contains(&chosen));
        assert!(km(&chosen).map_or(least == f64::INFINITY, |km| km <= least + 1e-3), "{chosen:?} {least}");
        // The further addresses: those in the region before the others, and of each the nearer before the farther ones.
        let mut list = Vec::new();
        dispatcher.answer(&request, chosen, Time(1), &mut list);
        assert_eq!((list[0], list.len()), (chosen, 7));
        if request.origin.region.is_some() {
            let further = list[1..].windows(2).all(|pair| {
                let [(one, km_of_one), (other, km_of_other)] =
                    [&pair[0], &pair[1]].map(|id| (is_home(&id), km(id).unwrap_or(f64::INFINITY)));
                one && !other || one == other && km_of_one <= km_of_other + 1e-3
            });
            assert!(further, "{list:?} of {places:?}");
        }
    }
}
