//! The stress test of chapter 4 on today's Apache: its page, and the server models fitted to it by his method.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use minijinja::Value;
use serde::Deserialize;
use sojourn_calibrate::fit_delay_curve;
use sojourn_model::{DelayCurve, Denied, Piece};
use sojourn_stats::Span;

use super::published::USERS;
use crate::ReproduceError;
use crate::answers::Answers;
use crate::kept;
use crate::page::{self, Page, Runs, wrong};

/// What is said of the stress test, and the page that has it.
pub(super) const CLAIMS: &str = include_str!("../../templates/zhang-2002-live-claims.md");
const PAGE: &str = include_str!("../../templates/zhang-2002-live.md");
const SIGMAS: [&str; 3] = ["1.143", "1.7145", "2.5"];
/// The penalty of a denial here: a tenth of his, like all times of users.
const PENALTY: Span = Span(18_000_000_000);

fn live(stress: &Answers, sigma: &str, workers: &str, users: u32, metric: &str) -> Option<f64> {
    let users = users.to_string();
    let wanted = [("loner_sigma", sigma), ("system.program.workers", workers), ("users", users.as_str())];
    stress.value(&wanted, metric)
}

fn curve(stress: &Answers, sigma: &str, workers: &str, metric: &str) -> Vec<(f64, f64)> {
    let of = |users: &u32| Some((f64::from(*users), live(stress, sigma, workers, *users, metric)?));
    USERS.iter().filter_map(of).collect()
}

/// A model fitted to the stress test, with the penalty of a denial.
fn fitted(stress: &Answers, sigma: &str, workers: &str) -> Result<DelayCurve, ReproduceError> {
    let (latency, denied) = ("response_time_mean", "denied_ratio");
    fit_delay_curve(&curve(stress, sigma, workers, latency), &curve(stress, sigma, workers, denied), PENALTY)
        .map_err(|e| ReproduceError(format!("no model fits the stress test: {e}")))
}

/// The model as a server file.
fn to_toml(model: &DelayCurve, sigma: &str, workers: &str) -> String {
    let list = |of: &[f64]| of.iter().map(|a| format!("{a:e}")).collect::<Vec<_>>().join(", ");
    let mut text = format!(
        "# Apache 2.4 with {workers} workers, loner sigma {sigma}, users ten times as fast as SURGE's: \
            fitted to the stress test\n\
         # as Zhang (2002, section 4.4) fitted his. Written by `make stress` on the machine named in its page.\n\
         discipline = \"delay-curve\"\n"
    );
    for Piece { up_to, seconds } in &model.pieces {
        let _ = write!(text, "\n[[delay]]\nup_to = {up_to}\nseconds = [{}]\n", list(seconds));
    }
    if let Some(Denied { above, share, penalty }) = &model.denied {
        let _ = write!(text, "\n[denied]\nabove = {above}\nshare = [{}]\npenalty = \"{penalty}\"\n", list(share));
    }
    text
}

/// Fits a model to each site of the run folder `stress` (256 workers, his configuration II) and writes them into `out`.
pub(crate) fn fit(stress: &Path, out: &Path) -> Result<(), ReproduceError> {
    let stress = Answers::read(stress, "live")?;
    std::fs::create_dir_all(out).map_err(|e| ReproduceError(format!("cannot make {}: {e}", out.display())))?;
    for sigma in SIGMAS {
        let file = out.join(format!("apache-2.4-{sigma}.toml"));
        let text = to_toml(&fitted(&stress, sigma, "256")?, sigma, "256");
        std::fs::write(&file, text).map_err(|e| ReproduceError(format!("cannot write {}: {e}", file.display())))?;
    }
    Ok(())
}

/// A number of users of a site, measured for as long as he did: a line of `ladder.csv`, which `make stress-nightly` keeps
/// beside the page.
#[derive(Debug, Deserialize)]
struct Rung {
    sigma: String,
    workers: u32,
    users: u32,
    minutes: f64,
    verdict: String,
    response_time_mean: f64,
    response_time_mean_ci_low: String,
    response_time_mean_ci_high: String,
    denied_ratio: f64,
    denied_ratio_ci_low: String,
    denied_ratio_ci_high: String,
    throughput: f64,
}

impl Rung {
    /// The same as the page shows it.
    fn shown(&self) -> Value {
        let with_interval =
            |value: f64, low: &str, high: &str| match low.parse::<f64>().ok().zip(high.parse::<f64>().ok()) {
                Some((low, high)) => format!("{value:.4} ({low:.4} to {high:.4})"),
                // Why there is none stands in the place of its end.
                None => format!("{value:.4} ({low})"),
            };
        let latency =
            with_interval(self.response_time_mean, &self.response_time_mean_ci_low, &self.response_time_mean_ci_high);
        let denied = with_interval(self.denied_ratio, &self.denied_ratio_ci_low, &self.denied_ratio_ci_high);
        Value::from_pairs([
            ("sigma", Value::from(&self.sigma)),
            ("workers", Value::from(self.workers)),
            ("users", Value::from(self.users)),
            ("minutes", Value::from(self.minutes.to_string())),
            ("verdict", Value::from(&self.verdict)),
            ("latency", Value::from(latency)),
            ("denied", Value::from(denied)),
            ("throughput", Value::from(format!("{:.0}", self.throughput))),
        ])
    }
}

/// Writes the page at `page` from the run folders `stress` and `fitted` in `runs`.
pub(crate) fn write(runs: &Path, published: &Path, page: &Path) -> Result<(), ReproduceError> {
    let (stress, simulated) = (page::read(runs, &["stress"], "live")?, page::read(runs, &["fitted"], "sim")?);
    let ladder: Vec<Rung> = kept::read(&page.with_extension("").join("ladder.csv"))?;
    whole(stress, simulated, &ladder, published)?.write(&format!("{CLAIMS}{PAGE}"), page)
}

/// The page with all that its template asks for.
fn whole<'a>(stress: Runs, simulated: Runs, ladder: &[Rung], published: &Path) -> Result<Page<'a>, ReproduceError> {
    let models = SIGMAS.map(|sigma| fitted(&stress["stress"], sigma, "256").map(|model| (sigma, model)));
    let models: HashMap<&str, DelayCurve> = models.into_iter().collect::<Result<_, _>>()?;
    let model = move |sigma: &str| {
        let model = models.get(sigma).ok_or_else(|| wrong(format!("no model has sigma {sigma}")))?;
        let (knee, denials, no_delay) = (model.pieces[0].up_to, denials(model), without_delay(model));
        Ok::<_, minijinja::Error>(format!("knee at {knee} users; {denials}{no_delay}"))
    };
    let ladder: Vec<Value> = ladder.iter().map(Rung::shown).collect();
    Ok(of(stress, published)?
        .with("sim", simulated)
        .given("LADDER", Value::from(ladder))
        .given("model", Value::from_function(model)))
}

pub(super) fn of<'a>(stress: Runs, published: &Path) -> Result<Page<'a>, ReproduceError> {
    let users = USERS.map(|users| users.to_string()).to_vec();
    Ok(Page::new().with("live", stress).with_published(published)?.given("USERS", users))
}

fn denials(model: &DelayCurve) -> String {
    match &model.denied {
        Some(Denied { above, .. }) => format!("objects are denied above {above} users (his: 320)."),
        None => "no object was denied at any load (his: above 320 users).".into(),
    }
}

/// At how many users the model has no delay, since what was fitted is below zero there.
fn without_delay(model: &DelayCurve) -> String {
    let most = model.pieces.last().map_or(0, |piece| piece.up_to);
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for users in (1..=most).filter(|users| model.stay(*users) == Span::ZERO) {
        match ranges.last_mut() {
            Some((_, to)) if *to + 1 == users => *to = users,
            _ => ranges.push((users, users)),
        }
    }
    let words = ranges.iter().map(|(from, to)| if from == to { from.to_string() } else { format!("{from} to {to}") });
    match words.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => none,
        users => format!(" At {users} users its polynomial is below zero, and the model has no delay."),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sojourn_stats::Estimate;

    use super::*;
    use crate::answers::{self, World};

    /// The page of a stress test whose latency rises beyond 256 users, with this ladder.
    fn text(ladder: &[Rung]) -> (String, page::Record) {
        let sampled =
            |value: f64| Estimate::Sampled { value, ci_low: 0.999 * value, ci_high: 1.001 * value, samples: 100 };
        let world: World<'_> = &|of| {
            let number = |key: &str| of(key).parse::<f64>().unwrap_or(256.0);
            let over = (number("users") - number("system.program.workers")).max(0.0);
            let latency = (1e-3 + 1e-5 * number("users") + 1e-3 * over) * number("loner_sigma");
            [
                ("response_time_mean", latency),
                ("throughput", 100.0),
                ("file_throughput", 150.0),
                ("byte_throughput", 1e6),
                ("denied_ratio", 0.0),
            ]
            .map(|(metric, value)| (metric.to_owned(), value))
            .to_vec()
        };
        let made =
            |file: &str| Arc::new(answers::Answers::made_up(&format!("zhang-2002/live/{file}.toml"), world, sampled));
        let runs = |name: &str| [(name.to_owned(), made(name))].into();
        let page = whole(runs("stress"), runs("fitted"), ladder, &answers::published("zhang-2002")).unwrap();
        page.text(&format!("{CLAIMS}{PAGE}"), "zhang-2002-live").unwrap()
    }

    #[test]
    fn the_page_begins_with_what_was_found() {
        let (text, record) = text(&[]);
        let head = text.find("## What was found").zip(text.find("## How it was run")).zip(text.find("## Loner sigma"));
        assert!(head.is_some_and(|((found, run), sites)| found < run && run < sites), "{text}");
        for part in ["Of 3 conclusions tested, ", "s = 2.5: knee at ", "[cells.csv](zhang-2002-live/cells.csv)"] {
            assert!(text.contains(part), "no `{part}` in {text}");
        }
        assert!(!text.contains("until something is denied"), "nothing was measured for so long");
        let csv = record.files["cells.csv"].trim();
        let widths: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(widths, vec![15; 1 + 3 * USERS.len()], "{csv}");
    }

    /// (users - 3)(users - 6) s is below zero between 3 and 6 users, and none at both.
    #[test]
    fn where_a_model_has_no_delay_is_told() {
        let of = |pieces: &[(u32, &[f64])]| {
            let piece = |&(up_to, seconds): &(u32, &[f64])| Piece { up_to, seconds: seconds.to_vec() };
            without_delay(&DelayCurve { pieces: pieces.iter().map(piece).collect(), denied: None })
        };
        let parabola: (u32, &[f64]) = (7, &[18.0, -9.0, 1.0]);
        let told = |users: &str| format!(" At {users} users its polynomial is below zero, and the model has no delay.");
        assert_eq!(of(&[parabola]), told("3 to 6"));
        assert_eq!(of(&[parabola, (9, &[-8.5, 1.0])]), told("3 to 6, 8"));
        assert_eq!(of(&[(9, &[1.0])]), "");
    }

    #[test]
    fn a_ladder_is_shown_with_its_intervals_and_verdicts() {
        let csv = "sigma,workers,users,minutes,verdict,response_time_mean,response_time_mean_ci_low,\
                   response_time_mean_ci_high,denied_ratio,denied_ratio_ci_low,denied_ratio_ci_high,throughput\n\
                   2.5,256,960,10,VALID,1.5,1.25,1.75,0.01,too-few,too-few,700\n";
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ladder.csv");
        std::fs::write(&file, csv).unwrap();
        let (text, _) = text(&kept::read::<Rung>(&file).unwrap());
        let row = "| 2.5 | 960 | 1.5000 (1.2500 to 1.7500) | 0.0100 (too-few) | 700 | VALID |";
        assert!(text.contains("until something is denied") && text.contains(row), "{text}");
    }
}
