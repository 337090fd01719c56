//! Which sharing it was: the one under which the log is most likely.
//!
//! Given the begins, the density of the ends is the product of the densities of the demands and of what each demand
//! grows by when its request ends a little later, which is its share of a core then: the map from demands to ends
//! is triangular in the order of the ends. The density of the demands is not assumed but taken from the demands
//! themselves, a histogram over their logarithm from which each request leaves itself out. Of each sharing the
//! likelihood is that at its own best density, and the true sharing is ahead of every other in the mean (Gibbs'
//! inequality).
//!
//! One request in a hundred may be anything up to the longest, so that a few that contradict a sharing (a retry, a
//! clock) do not decide. What is shorter than the log's step is one bin, and every bin is a whole number of steps wide:
//! where no request waits for another, demands are whole steps, and in narrower bins that would look like a law of few
//! values, which is likelier than any other.

use super::inverse::{self, Sharing};
use super::visits::Visit;
use crate::settings::CalibrateError;

/// Width of a bin of the logarithm of the demand.
const BIN: f64 = 0.1;
/// Share of requests that may be anything.
const ANYTHING: f64 = 0.01;
/// Sharings whose logarithms of the likelihood differ by less are not told apart: odds of 20,000 to 1.
const APART: f64 = 10.0;
/// Requests of a server that are looked at; of more, the stretch with the most work.
const LOOKED_AT: usize = 20_000;
/// Servers that are looked at, those with the most requests: they are of one kind.
const SERVERS_LOOKED_AT: usize = 8;
/// Numbers of cores and helpers that are tried before their neighbours are.
const TRIED: [u32; 15] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192];

/// What was chosen.
pub(super) struct Chosen {
    pub(super) sharing: Sharing,
    /// Others that are as likely.
    pub(super) others: Vec<Sharing>,
    /// Most requests that were at a server at once.
    pub(super) most_at_once: usize,
    /// As likely is a server at which every request has a core of its own.
    pub(super) has_no_contention: bool,
}

/// Chooses for all servers together; `step_s` is how exactly begins and durations are known.
pub(super) fn choose(servers: &[Vec<Visit>], step_s: f64) -> Result<Chosen, CalibrateError> {
    let mut largest: Vec<&Vec<Visit>> = servers.iter().filter(|visits| !visits.is_empty()).collect();
    largest.sort_by_key(|visits| std::cmp::Reverse(visits.len()));
    largest.truncate(SERVERS_LOOKED_AT);
    let samples: Vec<Sample<'_>> = largest.into_iter().map(|visits| Sample::new(busiest(visits), step_s)).collect();
    let most = samples.iter().map(|sample| most_at_once(sample.visits, &sample.ends)).max().unwrap_or(1) as u32;
    let mut known: Vec<(Sharing, f64)> = Vec::new();
    let look = |sharing: Sharing, known: &mut Vec<(Sharing, f64)>| {
        let cores = sharing.cores.clamp(1, most);
        // What is never reached is no limit.
        let helpers = if sharing.helpers >= most { u32::MAX } else { sharing.helpers.max(cores) };
        let sharing = Sharing { cores, helpers };
        if let Some((_, likelihood)) = known.iter().find(|(other, _)| *other == sharing) {
            return *likelihood;
        }
        let likelihood = samples.iter().map(|sample| sample.log_likelihood(sharing)).sum();
        known.push((sharing, likelihood));
        likelihood
    };
    for cores in TRIED.into_iter().filter(|cores| *cores < most).chain([most]) {
        for helpers in TRIED.into_iter().filter(|helpers| (cores..most).contains(helpers)).chain([cores, u32::MAX]) {
            look(Sharing { cores, helpers }, &mut known);
        }
    }
    // From there to its neighbours, as long as one of them is more likely.
    loop {
        let (best, likelihood) = best(&known);
        let Sharing { cores, helpers } = best;
        let mut around = vec![];
        for cores in [cores.saturating_sub(1).max(1), cores, cores + 1] {
            around.push(Sharing { cores, helpers });
            around.push(Sharing { cores, helpers: cores });
            let last = if helpers == u32::MAX { most } else { helpers };
            around.push(Sharing { cores, helpers: last.saturating_sub(1) });
            around.push(Sharing { cores, helpers: last.saturating_add(1) });
        }
        let better = around.into_iter().map(|sharing| look(sharing, &mut known)).fold(f64::NEG_INFINITY, f64::max);
        if better <= likelihood {
            break;
        }
    }
    let (_, likelihood) = best(&known);
    // A limit that the log does not show is none.
    let is_plain = |(sharing, of): &&(Sharing, f64)| sharing.is_plain() && likelihood - of < APART;
    let plain: Vec<(Sharing, f64)> = known.iter().filter(is_plain).copied().collect();
    let (sharing, _) = best(if plain.is_empty() { &known } else { &plain });
    let is_near = |(other, of): &&(Sharing, f64)| *other != sharing && likelihood - of < APART;
    let mut others: Vec<Sharing> = known.iter().filter(is_near).map(|(other, _)| *other).collect();
    others.sort();
    let free = Sharing { cores: most, helpers: u32::MAX };
    let has_no_contention = sharing == free || others.contains(&free);
    if !likelihood.is_finite() {
        return Err(CalibrateError::Refused("no way of sharing gives the log's times".into()));
    }
    Ok(Chosen { sharing, others, most_at_once: most as usize, has_no_contention })
}

/// The most likely; of equals the one with the fewest cores, and then the fewest helpers.
fn best(known: &[(Sharing, f64)]) -> (Sharing, f64) {
    let mut best = known[0];
    for &(sharing, likelihood) in &known[1..] {
        let (difference, is_less) = (likelihood - best.1, sharing < best.0);
        if difference > 1e-6 || difference > -1e-6 && is_less {
            best = (sharing, likelihood);
        }
    }
    best
}

/// The stretch of so many requests as are looked at that has the most work.
fn busiest(visits: &[Visit]) -> &[Visit] {
    if visits.len() <= LOOKED_AT {
        return visits;
    }
    let load = |part: &[Visit]| {
        let span_s = part[part.len() - 1].begin_s - part[0].begin_s;
        part.iter().map(|visit| visit.taken_s).sum::<f64>() / span_s.max(1e-9)
    };
    let parts = (0..=visits.len() - LOOKED_AT).step_by(LOOKED_AT / 4).map(|from| &visits[from..from + LOOKED_AT]);
    parts.max_by(|one, other| load(one).total_cmp(&load(other))).expect("there is one part at least")
}

fn most_at_once(visits: &[Visit], ends: &[u32]) -> usize {
    let (mut left, mut most) = (0, 0);
    for (come, visit) in visits.iter().enumerate() {
        while left < ends.len() && visits[ends[left] as usize].end_s() <= visit.begin_s {
            left += 1;
        }
        most = most.max(come + 1 - left);
    }
    most
}

/// The requests of a server that are looked at.
struct Sample<'a> {
    visits: &'a [Visit],
    ends: Vec<u32>,
    bins: Bins,
    /// The longest time of any (s).
    longest_s: f64,
}

impl Sample<'_> {
    fn new(visits: &[Visit], step_s: f64) -> Sample<'_> {
        let mean_s = visits.iter().map(|visit| visit.taken_s).sum::<f64>() / visits.len() as f64;
        let longest_s = visits.iter().map(|visit| visit.taken_s).fold(0.0, f64::max);
        let low_s = step_s.max(1e-3 * mean_s);
        let longest_s = longest_s.max(2.0 * low_s);
        Sample { visits, ends: inverse::by_end(visits), bins: Bins::new(low_s, step_s, longest_s), longest_s }
    }

    fn log_likelihood(&self, sharing: Sharing) -> f64 {
        let served = inverse::served(self.visits, &self.ends, sharing);
        let bins = &self.bins;
        let mut counts = vec![0_u32; bins.upper_s.len()];
        served.iter().filter_map(|(demand_s, _)| bins.place(*demand_s)).for_each(|bin| counts[bin] += 1);
        let others = (served.len() as f64 - 1.0).max(1.0);
        let density = |demand_s: f64| {
            let of_bin = |at: usize| f64::from(counts[at] - 1) / (others * bins.width_s(at));
            let from_data = bins.place(demand_s).map_or(0.0, of_bin);
            (1.0 - ANYTHING) * from_data + ANYTHING / self.longest_s
        };
        served.iter().map(|(demand_s, share)| density(*demand_s).ln() + share.ln()).sum()
    }
}

/// Bins of demands: two below 0 and one above it, and the others of a width of [`BIN`] of what is in them, in whole steps of the
/// log. One bin for both sides of 0 would make many small demands unlikely, and with them the sharing that gives them.
struct Bins {
    /// Where the first begins (s): what ends before it begins, by more than the log's exactness, is in none.
    lowest_s: f64,
    /// Where each ends (s).
    upper_s: Vec<f64>,
}

impl Bins {
    fn new(low_s: f64, step_s: f64, longest_s: f64) -> Bins {
        // Neither whole steps nor halves of them, which durations have that were cut, are at an end.
        let low_s = step_s * (low_s / step_s).ceil();
        let end_s = |lows: f64| lows * low_s - 0.25 * step_s;
        let mut upper_s = vec![end_s(-1.0), end_s(0.0), end_s(1.0)];
        let mut last_s = end_s(1.0);
        while last_s <= longest_s {
            last_s += step_s * (BIN * last_s / step_s).floor().max(1.0);
            upper_s.push(last_s);
        }
        Bins { lowest_s: end_s(-2.0), upper_s }
    }

    /// In which a demand is (s).
    fn place(&self, demand_s: f64) -> Option<usize> {
        let place = || self.upper_s.partition_point(|upper_s| *upper_s <= demand_s).min(self.upper_s.len() - 1);
        (demand_s >= self.lowest_s).then(place)
    }

    fn width_s(&self, at: usize) -> f64 {
        self.upper_s[at] - if at == 0 { self.lowest_s } else { self.upper_s[at - 1] }
    }
}
