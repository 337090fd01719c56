//! The measurements: each document alone and every mix, once in every round.

use sojourn_stats::{Moments, Span, Stream, interval};

use super::{HitRatios, Proxy};
use crate::client::{Choice, Client, Reply};
use crate::settings::{CalibrateError, Interval};

/// Think time of the requests to the idle proxy.
const THINK: Span = Span(2_000_000);
/// Replies of the idle proxy per document; the first fills the cache, and the second is not counted either.
const IDLE: usize = 9;
const FILLING: usize = 2;
/// Shortest measurement (s), and in turns of all clients.
const LEAST_S: f64 = 0.15;
const LEAST_TURNS: f64 = 3.0;
/// Turns before the measurement, and after it: the clients go on so that the last replies see the same load.
const TURNS_BEFORE: f64 = 1.5;
const TURNS_AFTER: f64 = 1.0;
/// Distance between the starts of clients, in service times.
const STAGGER: f64 = 0.37;

/// The replies of the idle proxy, by level: hits, then misses.
pub(crate) struct Idle {
    /// Median response (s).
    pub(crate) response_s: Vec<Interval>,
    /// Bytes of the reply.
    pub(crate) bytes: Vec<f64>,
}

/// The measurements of one round.
pub(crate) struct Round {
    /// Seconds per reply of each document alone: hits, then misses.
    pub(crate) alone_s: Vec<f64>,
    /// In the order of the ratios, with the one that is kept out of the fit last.
    pub(crate) mixes: Vec<Mix>,
}

/// A mix of hits and misses.
#[derive(Clone, Debug)]
pub(crate) struct Mix {
    /// Share of hits, as asked.
    pub(crate) ratio: f64,
    /// Share of hits among the replies.
    pub(crate) hit_share: f64,
    /// Seconds per reply.
    pub(crate) reply_s: f64,
    /// Mean response time (s) of each cached document; none without requests for it.
    pub(crate) cached_s: Vec<Option<f64>>,
}

/// One client, spaced requests.
pub(crate) fn idle(client: &Client<'_>) -> Result<Idle, CalibrateError> {
    client.say("response of the idle proxy");
    let levels = client.target.levels.len();
    client.one_by_one((0..FILLING).flat_map(|_| 0..levels).collect(), THINK)?;
    let replies = client.one_by_one((0..IDLE).flat_map(|_| 0..levels).collect(), THINK)?;
    let mut idle = Idle { response_s: Vec::new(), bytes: Vec::new() };
    for (level, found) in client.target.levels.iter().enumerate() {
        let own: Vec<&Reply> = replies.iter().filter(|reply| reply.mark as usize == level).collect();
        let Some(last) = own.last() else {
            return Err(CalibrateError::Refused(format!("{} was never answered well", found.path)));
        };
        idle.bytes.push(last.bytes as f64);
        let mut taken: Vec<f64> = own.iter().map(|reply| reply.taken_s()).collect();
        taken.sort_by(f64::total_cmp);
        let most = taken.len() - 1;
        let (low, high) = interval::quantile_ranks(taken.len() as u64, 0.5, 0.95).unwrap_or((0, most as u64));
        idle.response_s.push(Interval {
            value: taken[taken.len() / 2],
            low: taken[low as usize],
            high: taken[(high as usize).min(most)],
        });
    }
    Ok(idle)
}

/// All rounds.
pub(crate) fn measure(
    client: &Client<'_>,
    proxy: &Proxy,
    mixes: &HitRatios,
    idle: &Idle,
) -> Result<Vec<Round>, CalibrateError> {
    let levels = client.target.levels.len();
    let ratios: Vec<f64> = mixes.ratios.iter().copied().chain([mixes.kept_out]).collect();
    let parts = levels + ratios.len();
    let budget_s = 0.95 * client.settings.time.as_secs_f64() / f64::from(mixes.rounds) / parts as f64;
    let saturated = Saturated { client, proxy, users: mixes.clients, idle, budget_s };
    let mut shuffle = Stream::new(client.settings.seed, "calibrate", "order");
    let mut rounds = Vec::new();
    for number in 1..=mixes.rounds {
        let mut order: Vec<usize> = (0..parts).collect();
        for last in (1..parts).rev() {
            order.swap(last, shuffle.below(last + 1));
        }
        let mut round = Round { alone_s: vec![0.0; levels], mixes: Vec::new() };
        let mut found: Vec<Option<Mix>> = vec![None; ratios.len()];
        for part in order {
            let of = format!("round {number} of {}", mixes.rounds);
            match part.checked_sub(levels) {
                None => {
                    client.say(&format!("{}, {of}", client.target.levels[part].path));
                    round.alone_s[part] = saturated.alone(part)?;
                }
                Some(mix) => {
                    client.say(&format!("{:.0} % hits, {of}", 100.0 * ratios[mix]));
                    found[mix] = Some(saturated.mix(ratios[mix], number)?);
                }
            }
        }
        round.mixes = found.into_iter().flatten().collect();
        rounds.push(round);
    }
    Ok(rounds)
}

struct Saturated<'a> {
    client: &'a Client<'a>,
    proxy: &'a Proxy,
    users: u32,
    idle: &'a Idle,
    budget_s: f64,
}

impl Saturated<'_> {
    /// Seconds per reply of one level.
    fn alone(&self, level: usize) -> Result<f64, CalibrateError> {
        let alone_s = self.idle.response_s[level].value;
        let Times { stagger, begin, end, slowest, .. } = self.times(alone_s, alone_s);
        let closed = self.client.closed(level, self.users, stagger, end, slowest)?;
        self.client.refuse_fast(closed.done.len() as f64 / end.as_secs_f64())?;
        let gaps = closed.gaps_s(begin, 1, self.users);
        gaps.first().copied().ok_or_else(|| self.slow())
    }

    fn mix(&self, ratio: f64, round: u32) -> Result<Mix, CalibrateError> {
        let documents = self.proxy.hits.len();
        let weights = &self.proxy.weights;
        let all: f64 = weights.iter().sum();
        let (mut mean_s, mut longest_s) = (0.0, 0.0f64);
        for (level, found) in self.idle.response_s.iter().enumerate() {
            let share = if level < documents { ratio } else { 1.0 - ratio };
            if share > 0.0 {
                mean_s += share * weights[level % documents] / all * found.value;
                longest_s = longest_s.max(found.value);
            }
        }
        let Times { stagger, begin, end, after, slowest } = self.times(mean_s, longest_s);
        let seed = self.client.settings.seed;
        let choice = |user: u32| -> Choice {
            let mut stream = Stream::new(seed, &format!("client {user}"), &format!("mix {ratio} of round {round}"));
            let mut sums = Vec::with_capacity(documents);
            let mut sum = 0.0;
            for weight in weights {
                sum += weight;
                sums.push(sum);
            }
            Box::new(move || {
                let hit = stream.uniform() < ratio;
                let point = stream.uniform() * sum;
                let document = sums.partition_point(|upper| *upper <= point).min(documents - 1);
                if hit { document } else { documents + document }
            })
        };
        let replies = self.client.mixed(self.users, choice, stagger, after, slowest)?;
        let mut done: Vec<(u64, bool)> = replies
            .iter()
            .filter(|reply| begin.0 < reply.done.0 && reply.done.0 <= end.0)
            .map(|reply| (reply.done.0, (reply.mark as usize) < documents))
            .collect();
        done.sort_unstable();
        let (Some(first), Some(last), true) = (done.first(), done.last(), done.len() > self.users as usize) else {
            return Err(self.slow());
        };
        let reply_s = (last.0 - first.0) as f64 * 1e-9 / (done.len() - 1) as f64;
        self.client.refuse_fast(1.0 / reply_s)?;
        // The first reply only marks the start of the interval.
        let hits = done[1..].iter().filter(|(_, hit)| *hit).count();
        let cached_s = (0..documents).map(|document| {
            let own = replies.iter().filter(|reply| reply.mark as usize == document);
            let within = own.filter(|reply| begin.0 < reply.planned.0 && reply.planned.0 <= end.0);
            let moments: Moments = within.map(Reply::response_s).collect();
            (moments.count() > 0).then(|| moments.mean())
        });
        Ok(Mix { ratio, hit_share: hits as f64 / (done.len() - 1) as f64, reply_s, cached_s: cached_s.collect() })
    }

    /// That hardly a reply came in time, and what helps.
    fn slow(&self) -> CalibrateError {
        let what = "the proxy became so slow that hardly a reply came in time";
        CalibrateError::Refused(self.client.machine.borrow().failed(what, "give it more --time"))
    }

    /// Begin and end of a measurement; an idle proxy takes `mean_s` and at most `longest_s` per reply.
    fn times(&self, mean_s: f64, longest_s: f64) -> Times {
        let users = f64::from(self.users);
        let begin_s = (TURNS_BEFORE * longest_s + STAGGER * mean_s) * users;
        let after_s = TURNS_AFTER * longest_s * users;
        let within_s = (self.budget_s - begin_s - after_s).max(LEAST_S).max(LEAST_TURNS * mean_s * users);
        Times {
            stagger: Span::from_secs_f64(STAGGER * mean_s),
            begin: Span::from_secs_f64(begin_s),
            end: Span::from_secs_f64(begin_s + within_s),
            after: Span::from_secs_f64(begin_s + within_s + after_s),
            slowest: Span::from_secs_f64(4.0 * longest_s * users),
        }
    }
}

struct Times {
    stagger: Span,
    begin: Span,
    end: Span,
    /// When no more requests are sent.
    after: Span,
    slowest: Span,
}
