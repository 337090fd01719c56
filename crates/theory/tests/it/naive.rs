//! An oracle that shares nothing with the formulas, nor with the project's simulator: one server played job by job,
//! with a scan over all jobs present at every event.

use sojourn_stats::{Dimension, Estimate, Law, Stream, interval, measure};

/// Which job is served.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rule {
    First,
    Shared,
    Limited(usize),
    LeastAttained,
    Last,
    LastPreempts,
    Random,
    Urgent,
    UrgentPreempts,
}

/// A job that has been served.
pub(crate) struct Served {
    pub(crate) size: f64,
    pub(crate) class: usize,
    pub(crate) wait: f64,
    pub(crate) response: f64,
}

struct Job {
    arrived: f64,
    size: f64,
    class: usize,
    left: f64,
    attained: f64,
    started: Option<f64>,
}

/// Plays jobs given as (gap before it, size, class); room for so many, an arrival beyond is lost.
pub(crate) fn play(rule: Rule, room: usize, jobs: &[(f64, f64, usize)], stream: &mut Stream) -> Vec<Served> {
    let mut present: Vec<Job> = Vec::new();
    let mut done = Vec::with_capacity(jobs.len());
    let mut coming = jobs.iter();
    let mut next = coming.next();
    let (mut now, mut due) = (0.0, next.map_or(f64::INFINITY, |job| job.0));
    loop {
        let serving = served(rule, &present, stream);
        let Some(&some) = serving.first() else {
            let Some(&(_, size, class)) = next else { return done };
            now = due;
            present.push(Job { arrived: now, size, class, left: size, attained: 0.0, started: None });
            next = coming.next();
            due = next.map_or(f64::INFINITY, |job| now + job.0);
            continue;
        };
        for &at in &serving {
            present[at].started.get_or_insert(now);
        }
        let share = 1.0 / serving.len() as f64;
        let soonest = serving.iter().map(|&at| present[at].left).fold(f64::INFINITY, f64::min) / share;
        // Where those served catch up with the next ones.
        let level = present[some].attained;
        let behind = present.iter().map(|job| job.attained).filter(|attained| *attained > level + 1e-12);
        let caught = match rule {
            Rule::LeastAttained => (behind.fold(f64::INFINITY, f64::min) - level) / share,
            _ => f64::INFINITY,
        };
        let step = soonest.min(caught).min(due - now);
        for &at in &serving {
            present[at].left -= step * share;
            present[at].attained += step * share;
        }
        if step == due - now {
            now = due;
            let &(_, size, class) = next.expect("it is due");
            if present.len() < room {
                present.push(Job { arrived: now, size, class, left: size, attained: 0.0, started: None });
            }
            next = coming.next();
            due = next.map_or(f64::INFINITY, |job| now + job.0);
        } else {
            now += step;
        }
        present.retain(|job| {
            let over = job.left <= 1e-12;
            if over {
                let wait = job.started.expect("it was served") - job.arrived;
                done.push(Served { size: job.size, class: job.class, wait, response: now - job.arrived });
            }
            !over
        });
    }
}

fn served(rule: Rule, present: &[Job], stream: &mut Stream) -> Vec<usize> {
    if present.is_empty() {
        return Vec::new();
    }
    let all = 0..present.len();
    let begun = present.iter().position(|job| job.started.is_some());
    match rule {
        Rule::First => vec![0],
        Rule::Shared => all.collect(),
        Rule::Limited(places) => all.take(places).collect(),
        Rule::LeastAttained => {
            let least = present.iter().map(|job| job.attained).fold(f64::INFINITY, f64::min);
            all.filter(|&at| present[at].attained <= least + 1e-12).collect()
        }
        Rule::LastPreempts => vec![present.len() - 1],
        Rule::Last => vec![begun.unwrap_or(present.len() - 1)],
        Rule::Random => vec![begun.unwrap_or_else(|| stream.below(present.len()))],
        Rule::Urgent => vec![begun.unwrap_or_else(|| most_urgent(present))],
        Rule::UrgentPreempts => vec![most_urgent(present)],
    }
}

fn most_urgent(present: &[Job]) -> usize {
    (0..present.len()).min_by_key(|&at| (present[at].class, at)).expect("a job is present")
}

pub(crate) fn law(text: &str) -> Law {
    Law::parse(text, Dimension::Time).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// So many jobs of one class.
pub(crate) fn drawn(count: usize, gaps: &str, service: &str, seed: u64) -> Vec<(f64, f64, usize)> {
    let (gaps, service) = (law(gaps), law(service));
    let mut arrivals = Stream::new(seed, "naive", "gaps");
    let mut sizes = Stream::new(seed, "naive", "sizes");
    (0..count).map(|_| (gaps.sample(&mut arrivals), service.sample(&mut sizes), 0)).collect()
}

/// Asserts that `wanted` is the mean behind a series, within an interval that a right formula leaves with a chance
/// below 1e-8 (Student's, of 20 batch means), and that the interval is sharp enough to see an error of `visible` of it.
#[track_caller]
pub(crate) fn is_mean_of(wanted: f64, series: &[f64], visible: f64, what: &str) {
    let Estimate::Sampled { value, ci_high, .. } = measure::mean_of_series(series) else { panic!("{what}: too few") };
    let wide = (ci_high - value) * interval::t_quantile(1.0 - 5e-9, 19) / interval::t_quantile(0.975, 19);
    assert!(wide < visible * value.abs().max(1e-9), "{what}: {value} +- {wide} is too blunt");
    assert!((wanted - value).abs() <= wide, "{what}: {wanted} is not {value} +- {wide}");
}
