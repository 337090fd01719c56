//! Fujita (2000), the models: section 2.3 and chapters 4 and 5.
//!
//! A web server of a queue and r helpers, a public site of backbone, access line and server, and a provider's users behind a
//! proxy, by his formulas and by simulation. His figures are pictures without data. So the numbers of his text and his
//! statements are compared, each turned into comparisons of figures with intervals. Values that his text does not print are
//! inferred from it, or varied.

#[cfg(test)]
mod made_up;

use std::path::Path;

use minijinja::{Value, context};
use sojourn_stats::{Dimension, Law};
use sojourn_theory::formula::sharing::fujita::Work;

use crate::ReproduceError;
use crate::page::{self, Page, Runs, each};

const TEMPLATE: &str = include_str!("../templates/fujita-2000-models.md");

/// His experiments, by the name of the run folder.
const RUNS: [&str; 12] = [
    "1-helpers",
    "2-larger-documents",
    "3-exponential-sizes",
    "4-access-line",
    "5-required-rate",
    "6-server-speed",
    "7-hit-ratio",
    "7-hit-ratio-open",
    "8-backbone",
    "8-backbone-shared",
    "9-population",
    "system",
];

const LOGNORMAL: &str = "lognormal(mu = 7.811, sigma = 1.573, unit = B)";

/// Writes the page at `page`, and its figures beside it, from the run folders in `runs` and the plan in `runs/plan`.
pub(crate) fn write(runs: &Path, published: &Path, page: &Path) -> Result<(), ReproduceError> {
    let plan = planned(&runs.join("plan").join("plan.json"))?;
    let (theory, sim) = (page::read(runs, &RUNS, "theory")?, page::read(runs, &RUNS, "sim")?);
    of(theory, sim, published)?.given("plan", plan).write(TEMPLATE, page)
}

fn of<'a>(theory: Runs, sim: Runs, published: &Path) -> Result<Page<'a>, ReproduceError> {
    let took_s: f64 = theory.values().map(|answers| answers.elapsed_s).sum();
    let population = theory["9-population"].clone();
    let at = move |users: u32, server: &str, whole: &str| at_300_ms(&population, users, server, whole);
    let nearest = at.clone();
    let page = Page::new()
        .with("theory", theory)
        .with("sim", sim)
        .with_published(published)?
        .given("took_s", took_s)
        .given("work", Value::from_function(work_in_numbers))
        .given(
            "required",
            Value::from_function(|requests: Value, delay_s: f64| {
                each(&requests, &|of| Ok(required(of.value.unwrap_or(f64::NAN), delay_s).into()))
            }),
        )
        .given("class_means", Value::from_function(class_means_kb))
        .given(
            "at_300_ms",
            Value::from_function(move |users: u32, server: &str, whole: &str| {
                at(users, server, whole).map(|(rate, ratio)| context! { rate, ratio })
            }),
        )
        .given(
            "nearest",
            Value::from_function(move |server: &str, whole: &str| {
                let all = (2..=12).filter_map(|users| Some((users, nearest(users, server, whole)?)));
                let off = |of: &(u32, (f64, f64))| (of.1.1 - 0.75).abs();
                let nearest = all.min_by(|a, b| off(a).total_cmp(&off(b)));
                nearest.map(|(users, (rate, ratio))| context! { users, rate, ratio })
            }),
        );
    Ok(page)
}

/// His work demand with sizes of this law (equation 2.5).
fn work(sizes: &str) -> Work {
    let sizes = Law::parse(sizes, Dimension::Size).expect("a law of the experiments");
    Work { per_byte_s: 0.4851e-6, fixed_s: 21.55e-3, sizes }
}

fn work_in_numbers(sizes: &str) -> Value {
    let work = work(sizes);
    let scv = work.second_moment_s2() / work.mean_s().powi(2) - 1.0;
    context! { mean_s => work.mean_s(), second_moment_s2 => work.second_moment_s2(), fixed_s => work.fixed_s, scv }
}

/// The rate (bit/s) at which a document takes `delay_s` on the line in the mean, at these requests per second:
/// M/G/1-PS, D = t/(1 - lambda t) with t = 8 L/C.
fn required(requests_per_s: f64, delay_s: f64) -> f64 {
    8.0 * work(LOGNORMAL).sizes.mean() * (1.0 / delay_s + requests_per_s)
}

/// Mean size (kB) of the documents of each class of sizes, whose upper ends are `scale` times these, so many of them.
fn class_means_kb(law: &str, scale: f64, limits: usize) -> Vec<f64> {
    let law = work(law).sizes;
    let ends = [1.0, 3.0, 10.0, 30.0, 100.0][..limits].iter().map(|limit| limit * scale * 1e3).chain([f64::INFINITY]);
    let mut from = (0.0, 0.0);
    let mean = |end: f64| {
        let up_to = (law.cdf(end), law.partial_moment(1, end));
        let (share, part) = (up_to.0 - from.0, up_to.1 - from.1);
        from = up_to;
        part / share / 1e3
    };
    ends.map(mean).collect()
}

/// Where the total of a miss crosses 300 ms with 6 Mbit/s, between two rates that were computed: the visitors per second, who go
/// to the web server only (`server` is 1) or all the way (`whole`), and the total there over that with 1.5 Mbit/s.
fn at_300_ms(population: &crate::answers::Answers, users: u32, server: &str, whole: &str) -> Option<(f64, f64)> {
    let users = users.to_string();
    let total = |rate: &str, visitors: f64| {
        let arrivals = format!("exponential(rate = {visitors} /s)");
        let wanted = [
            ("station.access-line.rate", rate),
            ("chain.users.users", users.as_str()),
            ("chain.visitors.branch.server.share", server),
            ("chain.visitors.branch.whole.share", whole),
            ("chain.visitors.arrivals", arrivals.as_str()),
        ];
        population.value(&wanted, "response_time_mean_users_miss")
    };
    let grid: Vec<f64> = std::iter::once(0.001).chain((1..=15).map(|step| 2.0 * f64::from(step))).collect();
    grid.windows(2).find_map(|pair| {
        let [from, to] =
            [pair[0], pair[1]].map(|visitors| Some((total("1.5 Mbit/s", visitors)?, total("6 Mbit/s", visitors)?)));
        let ((slow_from, fast_from), (slow_to, fast_to)) = (from?, to?);
        let part = (0.3 - fast_from) / (fast_to - fast_from);
        let between = |a: f64, b: f64| a + part * (b - a);
        (0.0..1.0).contains(&part).then(|| (between(pair[0], pair[1]), 0.3 / between(slow_from, slow_to)))
    })
}

/// The cheapest line that `sojourn plan` found, in the words of its output.
fn planned(file: &Path) -> Result<String, ReproduceError> {
    let fail = |what: String| ReproduceError(format!("{}: {what}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|e| fail(e.to_string()))?;
    let plan: serde_json::Value = serde_json::from_str(&text).map_err(|e| fail(e.to_string()))?;
    let cheapest = plan["offers"][0]["settings"][0][1].as_str();
    cheapest.map(str::to_owned).ok_or_else(|| fail("the plan offers nothing".into()))
}
