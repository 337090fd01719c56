//! Lines from rounds: every round gives its own, and the intervals are over rounds.

use sojourn_model::{Demand, Discipline, Server};
use sojourn_stats::Line;

use super::rounds::{Idle, Mix, Round};
use super::{Coefficients, Document, HitRatios, Kept, Proxy, ProxyFound, Ratio};
use crate::demand::{Against, interval};
use crate::model::time_text;
use crate::settings::CalibrateError;

const CONFIDENCE: f64 = 0.95;

/// All findings from the rounds.
pub(crate) fn found(
    proxy: &Proxy,
    mixes: &HitRatios,
    idle: &Idle,
    rounds: &[Round],
    elapsed_s: f64,
) -> Result<ProxyFound, CalibrateError> {
    let count = proxy.hits.len();
    let over = |of: &dyn Fn(&Round) -> f64| interval(&rounds.iter().map(of).collect::<Vec<f64>>());
    let documents: Vec<Document> = (0..count)
        .map(|document| Document {
            hit: proxy.hits[document].clone(),
            miss: proxy.misses[document].clone(),
            bytes: idle.bytes[document],
            hit_idle: idle.response_s[document],
            miss_idle: idle.response_s[count + document],
            hit_work: over(&|round: &Round| round.alone_s[document]),
            miss_work: over(&|round: &Round| round.alone_s[count + document]),
        })
        .collect();
    let bytes = &idle.bytes[..count];
    let hit_line = line(rounds, bytes, |round, document| Some(round.alone_s[document]));
    let miss_line = line(rounds, bytes, |round, document| Some(round.alone_s[count + document]));
    let per_client =
        |round: &Round, document: usize| Some(all_hits(round)?.cached_s[document]? / f64::from(mixes.clients));
    let demand_line = line(rounds, bytes, per_client);

    let mut by_ratio = Vec::new();
    for (place, ratio) in mixes.ratios.iter().enumerate() {
        by_ratio.push(Ratio { ratio: *ratio, reply_s: over(&|round: &Round| round.mixes[place].reply_s) });
    }
    let mut lines = Vec::new();
    for round in rounds {
        let (_, fitted) = split(round);
        let points: Vec<(f64, f64, f64)> =
            fitted.iter().map(|mix| (mix.hit_share, mix.reply_s, 1.0 / (mix.reply_s * mix.reply_s))).collect();
        lines.push(Line::fit(&points, CONFIDENCE).map_err(|error| CalibrateError::Refused(error.to_string()))?);
    }
    let at = |share: f64| interval(&lines.iter().map(|line| line.at(share).0).collect::<Vec<f64>>());
    let mix_pairs = rounds.iter().zip(&lines).map(|(round, line)| {
        let kept = split(round).0;
        (kept.reply_s, line.at(kept.hit_share).0)
    });
    let kept_out_mix = Kept::of(mix_pairs.collect());
    let group = |below: bool| {
        let of: Vec<usize> = (0..count).filter(|document| (bytes[*document] < mixes.size_break) == below).collect();
        coefficients(rounds, &of)
    };
    let (below, above) = (group(true), group(false));
    let hit_work: Vec<f64> = documents.iter().map(|document| document.hit_work.value).collect();
    Ok(ProxyFound {
        url: proxy.url.clone(),
        clients: mixes.clients,
        rounds: mixes.rounds,
        size_break: mixes.size_break,
        hit_work: hit_line.as_ref().map(Against::of),
        miss_work: miss_line.as_ref().map(Against::of),
        demand: demand_line.as_ref().map(Against::of),
        ratios: by_ratio,
        all_hits_s: at(1.0),
        no_hits_s: at(0.0),
        below,
        above,
        kept_out: mixes.kept_out,
        kept_out_mix,
        server: server(hit_line.as_ref(), &hit_work, &proxy.weights)?,
        notes: notes(&documents),
        documents,
        elapsed_s,
    })
}

impl Kept {
    /// Of (measured, predicted) in each round.
    fn of(pairs: Vec<(f64, f64)>) -> Kept {
        let over = |of: &dyn Fn(&(f64, f64)) -> f64| interval(&pairs.iter().map(of).collect::<Vec<f64>>());
        Kept {
            measured: over(&|pair: &(f64, f64)| pair.0),
            predicted: over(&|pair: &(f64, f64)| pair.1),
            error: over(&|pair: &(f64, f64)| pair.0 / pair.1 - 1.0),
        }
    }
}

/// h of these documents; none if a round has too few replies of them.
pub(crate) fn coefficients(rounds: &[Round], documents: &[usize]) -> Option<Coefficients> {
    let (mut fixed, mut slopes, mut kept_out) = (Vec::new(), Vec::new(), Vec::new());
    for round in rounds {
        let full = all_hits(round)?;
        let of = |mix: &Mix| -> Vec<f64> {
            let own =
                documents.iter().filter_map(|document| Some(mix.cached_s[*document]? / full.cached_s[*document]?));
            own.collect()
        };
        let (kept, fitted) = split(round);
        let with_hits = fitted.iter().filter(|mix| mix.ratio > 0.0);
        let points: Vec<(f64, f64, f64)> = with_hits
            .flat_map(|mix| of(mix).into_iter().map(move |coefficient| (100.0 * mix.ratio, coefficient, 1.0)))
            .collect();
        let line = Line::fit(&points, CONFIDENCE).ok()?;
        fixed.push(line.intercept);
        slopes.push(line.slope);
        let measured = of(kept);
        if !measured.is_empty() {
            let mean = measured.iter().sum::<f64>() / measured.len() as f64;
            kept_out.push((mean, line.at(100.0 * kept.ratio).0));
        }
    }
    if kept_out.is_empty() {
        return None;
    }
    Some(Coefficients { fixed: interval(&fixed), per_percent: interval(&slopes), kept_out: Kept::of(kept_out) })
}

/// The mix that is kept out of the fit, and the others.
fn split(round: &Round) -> (&Mix, &[Mix]) {
    round.mixes.split_last().expect("a round has a mix that is kept out")
}

/// The mix of hits only.
fn all_hits(round: &Round) -> Option<&Mix> {
    split(round).1.iter().find(|mix| mix.ratio == 1.0)
}

/// The line through every round's values against the size; their relative errors are about equal.
fn line(rounds: &[Round], bytes: &[f64], of: impl Fn(&Round, usize) -> Option<f64>) -> Option<Line> {
    let mut points = Vec::new();
    for round in rounds {
        for (document, x) in bytes.iter().enumerate() {
            if let Some(value) = of(round, document) {
                points.push((*x, value, 1.0 / (value * value)));
            }
        }
    }
    Line::fit(&points, CONFIDENCE).ok()
}

/// The model at 100 % hits.
fn server(line: Option<&Line>, hit_work: &[f64], weights: &[f64]) -> Result<Server, CalibrateError> {
    let all: f64 = weights.iter().sum();
    let mean_s = hit_work.iter().zip(weights).map(|(work, weight)| work * weight / all).sum::<f64>();
    let text = match line {
        Some(line) if line.slope > 0.0 && line.intercept > 0.0 => {
            format!("{} + {}/B", time_text(line.intercept), time_text(line.slope))
        }
        // The line is no demand: the work does not grow with the size, or is negative at 0.
        _ => time_text(mean_s),
    };
    let demand = Demand::parse(&text).map_err(CalibrateError::Refused)?;
    let demand = vec![(String::new(), demand)];
    Ok(Server {
        discipline: Discipline::Ps,
        cores: 1,
        speed: 1.0,
        demand,
        capacity: None,
        drops_overflow: false,
        machine: None,
    })
}

fn notes(documents: &[Document]) -> Vec<String> {
    let mut notes =
        vec!["discipline: processor sharing and one core are assumed, as in Fujita's model, not measured".to_owned()];
    for Document { hit, miss, hit_work, miss_work, .. } in documents {
        if miss_work.value <= hit_work.value {
            notes.push(format!(
                "{miss}: a miss costs no more than the hit {hit}; is that one kept at all, and this one never?"
            ));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Interval;

    /// Two documents, hits 1 ms and 5 ms, misses 2 ms dearer; h1 = 0.4 + 0.006 y and h2 = 1.5 - 0.005 y.
    fn round() -> Round {
        let h = |document: usize, ratio: f64| [0.4 + 0.6 * ratio, 1.5 - 0.5 * ratio][document];
        let mix = |ratio: f64| Mix {
            ratio,
            hit_share: ratio,
            reply_s: ratio * 3e-3 + (1.0 - ratio) * 5e-3,
            cached_s: (0..2).map(|d| (ratio > 0.0).then(|| h(d, ratio) * [8e-3, 40e-3][d])).collect(),
        };
        Round {
            alone_s: vec![1e-3, 5e-3, 3e-3, 7e-3],
            mixes: [0.0, 0.25, 0.5, 0.75, 1.0, 0.6].into_iter().map(mix).collect(),
        }
    }

    fn measured() -> ProxyFound {
        let texts = |paths: [&str; 2]| paths.map(String::from).to_vec();
        let (hits, misses) = (texts(["/s", "/l"]), texts(["/miss/s", "/miss/l"]));
        let proxy = Proxy::parse("http://127.0.0.1:1", &hits, &misses, &[], &[]).unwrap();
        let plain = Interval { value: 1e-3, low: 1e-3, high: 1e-3 };
        let idle = Idle { response_s: vec![plain; 4], bytes: vec![1_000.0, 101_000.0, 1_001.0, 101_001.0] };
        let mixes = HitRatios { clients: 8, rounds: 3, ..HitRatios::default() };
        found(&proxy, &mixes, &idle, &[round(), round(), round()], 1.0).unwrap()
    }

    fn near(found: &Interval, truth: f64) {
        assert!((found.value - truth).abs() <= 1e-12 + 1e-6 * truth.abs(), "{found:?} is not {truth}");
        assert!(found.high - found.low < 1e-9, "rounds are all the same: {found:?}");
    }

    #[test]
    fn lines_that_are_in_the_rounds_are_found() {
        let found = measured();
        let against = |line: Option<Against>, fixed_s: f64, per_x_s: f64| {
            let line = line.expect("two sizes make a line");
            near(&line.fixed_s, fixed_s);
            near(&line.per_x_s, per_x_s);
        };
        against(found.hit_work, 0.96e-3, 40e-9);
        against(found.miss_work, 2.96e-3, 40e-9);
        // 1 ms and 5 ms again: 8 clients share the proxy.
        against(found.demand, 0.96e-3, 40e-9);
        near(&found.all_hits_s, 3e-3);
        near(&found.no_hits_s, 5e-3);
        let h = |of: &Option<Coefficients>, fixed: f64, per_percent: f64| {
            let of = of.as_ref().expect("a document on either side of the break");
            near(&of.fixed, fixed);
            near(&of.per_percent, per_percent);
            near(&of.kept_out.measured, fixed + 60.0 * per_percent);
            near(&of.kept_out.error, 0.0);
        };
        h(&found.below, 0.4, 0.006);
        h(&found.above, 1.5, -0.005);
        near(&found.kept_out_mix.measured, 3.8e-3);
        near(&found.kept_out_mix.error, 0.0);
    }

    #[test]
    fn what_is_found_is_a_model_with_all_of_it_beside() {
        let found = measured();
        let text = found.to_toml();
        let read = Server::from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(read, found.server);
        assert_eq!(read.demand("").to_string(), "960 us + 40 ns/B");
        let table: toml::Table = text.parse().unwrap();
        let proxy = table["measured"]["proxy"].as_table().unwrap();
        assert_eq!(proxy["document"].as_array().unwrap().len(), 2);
        assert_eq!(proxy["ratio"].as_array().unwrap().len(), 5);
        assert_eq!(proxy["held_out"]["ratio"].as_float(), Some(0.6));
        assert!(found.summary().iter().any(|line| line.starts_with("h below")), "{:?}", found.summary());
        assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
    }

    #[test]
    fn documents_of_no_group_have_no_coefficients() {
        assert!(coefficients(&[round()], &[]).is_none());
    }
}
