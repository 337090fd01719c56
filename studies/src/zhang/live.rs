//! The stress test of chapter 4 on today's Apache: its page, and the server models fitted to it by his method.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use minijinja::Value;
use sojourn_calibrate::fit_delay_curve;
use sojourn_model::{DelayCurve, Denied, Piece};
use sojourn_stats::Span;

use super::published::USERS;
use crate::ReproduceError;
use crate::answers::Answers;
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

/// Writes the page at `page` from the run folders `stress` and `fitted` in `runs`.
pub(crate) fn write(runs: &Path, published: &Path, page: &Path) -> Result<(), ReproduceError> {
    let (stress, simulated) = (page::read(runs, &["stress"], "live")?, page::read(runs, &["fitted"], "sim")?);
    let models = SIGMAS.map(|sigma| fitted(&stress["stress"], sigma, "256").map(|model| (sigma, model)));
    let models: HashMap<&str, DelayCurve> = models.into_iter().collect::<Result<_, _>>()?;
    let model = move |sigma: &str| {
        let model = models.get(sigma).ok_or_else(|| wrong(format!("no model has sigma {sigma}")))?;
        Ok::<_, minijinja::Error>(format!("knee at {} users; {}", model.pieces[0].up_to, denials(model)))
    };
    of(stress, published)?
        .with("sim", simulated)
        .given("model", Value::from_function(model))
        .write(&format!("{CLAIMS}{PAGE}"), page)
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
