//! The stress test of chapter 4 on today's Apache: its page, and the server models fitted to it by his method.

use std::fmt::Write;
use std::path::Path;

use sojourn_calibrate::fit_delay_curve;
use sojourn_model::{DelayCurve, Denied, Piece};
use sojourn_stats::Span;

use super::published::{Rows, USERS};
use crate::ReproduceError;
use crate::answers::Answers;
use crate::number::{Number, interval, known, scaled, slope};
use crate::picture::{Series, curves};
use crate::verdict::{Comparison, LEGEND, Verdict, below, counted};

const SIGMAS: [&str; 3] = ["1.143", "1.7145", "2.5"];
const WORKERS: [&str; 2] = ["150", "256"];
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
    let stress = Answers::read(&runs.join("stress"), "live")?;
    let simulated = Answers::read(&runs.join("fitted"), "sim")?;
    let latency = Rows::read(published, "stress-latency.csv")?;
    let throughput = Rows::read(published, "stress-throughput.csv")?;
    let folder = page.with_extension("");
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let fail = |e: std::io::Error| ReproduceError(format!("cannot write {}: {e}", page.display()));
    std::fs::create_dir_all(&folder).map_err(fail)?;
    let mut text = format!("{HEAD}{LEGEND}\n");
    let facts: Vec<String> = stress.host.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let _ = writeln!(text, "Machine: {}. The run is {}{}.\n", facts.join("; "), stress.verdict, stress.reasons());
    for sigma in SIGMAS {
        let picture = format!("{sigma}.svg");
        std::fs::write(folder.join(&picture), drawing(&stress, &simulated, &latency, sigma)).map_err(fail)?;
        let _ = writeln!(text, "## Loner sigma {sigma}\n\n![latency over users]({name}/{picture})\n");
        text += &table(&stress, &simulated, &latency, &throughput, sigma);
        let model = fitted(&stress, sigma, "256")?;
        let _ = writeln!(text, "\nFitted, 256 workers: knee at {} users; {}\n", model.pieces[0].up_to, denials(&model));
    }
    text += &statements(&stress, &latency);
    std::fs::write(page, text).map_err(fail)
}

fn denials(model: &DelayCurve) -> String {
    match &model.denied {
        Some(Denied { above, .. }) => format!("objects are denied above {above} users (his: 320)."),
        None => "no object was denied at any load (his: above 320 users).".into(),
    }
}

fn drawing(stress: &Answers, simulated: &Answers, latency: &Rows, sigma: &str) -> String {
    let his = |column: &str| -> Vec<(f64, f64)> {
        let of = |users: &u32| {
            let users_text = users.to_string();
            Some((f64::from(*users), latency.number(&[("sigma", sigma), ("users", &users_text)], column)?))
        };
        USERS.iter().filter_map(of).collect()
    };
    let metric = "response_time_mean";
    let sim = |users: &u32| {
        let users_text = users.to_string();
        Some((f64::from(*users), simulated.value(&[("loner_sigma", sigma), ("users", &users_text)], metric)?))
    };
    let mut series = Vec::new();
    let mut add = |name: &str, published: bool, colour: usize, points: Vec<(f64, f64)>| {
        series.push(Series { name: name.into(), published, colour, points });
    };
    add("150 workers, his (I)", true, 2, his("config1_s"));
    add("256 workers, his (II)", true, 1, his("config2_s"));
    add("150 workers, live", false, 2, curve(stress, sigma, "150", metric));
    add("256 workers, live", false, 1, curve(stress, sigma, "256", metric));
    add("fitted to 256, sim", false, 3, USERS.iter().filter_map(sim).collect());
    curves(&format!("Latency of an object, s = {sigma}; ours ten times as fast"), "users", "seconds", &series)
}

fn table(stress: &Answers, simulated: &Answers, latency: &Rows, throughput: &Rows, sigma: &str) -> String {
    let mut text = "| users | latency, his II (s) | latency, live 150 (s) | live 256 (s) | fitted, sim (s) | \
        objects/s, his | live 150 | live 256 \
                    | HTTP operations/s, his | live 256 | kB/s, his | live 256 | denied share, his | live 256 |\n\
                    |---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for users in USERS {
        let users_text = users.to_string();
        let his = |metric: &str| {
            let wanted = [("sigma", sigma), ("users", users_text.as_str()), ("metric", metric)];
            throughput.number(&wanted, "mean")
        };
        let of = |workers: &str, metric: &str| live(stress, sigma, workers, users, metric);
        let number = |value: Option<f64>, digits: usize| value.map_or("-".into(), |value| format!("{value:.digits$}"));
        let sim = simulated.value(&[("loner_sigma", sigma), ("users", &users_text)], "response_time_mean");
        let _ = writeln!(
            text,
            "| {users} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            number(latency.number(&[("sigma", sigma), ("users", &users_text)], "config2_s"), 3),
            number(of(WORKERS[0], "response_time_mean"), 4),
            number(of(WORKERS[1], "response_time_mean"), 4),
            number(sim, 4),
            number(his("objects_per_s"), 1),
            number(of(WORKERS[0], "throughput"), 0),
            number(of(WORKERS[1], "throughput"), 0),
            number(his("http_ops_per_s"), 1),
            number(of(WORKERS[1], "file_throughput"), 0),
            number(his("bytes_per_s").map(|x| x / 1e3), 0),
            number(of(WORKERS[1], "byte_throughput").map(|x| x / 1e3), 0),
            number(his("timeout_fraction"), 4),
            number(of(WORKERS[1], "denied_ratio"), 4),
        );
    }
    text
}

/// His statements about the stress test, if figures can decide them: his own figures, and ours with their intervals.
fn statements(stress: &Answers, latency: &Rows) -> String {
    let mut text =
        "## What he concluded from the stress test\n\nBehind a verdict stand the comparisons for it, against \
        it and open.\n\n| statement (section 4.3) | his figures | | ours | |\n|---|---|---|---|---|\n"
            .to_owned();
    let his = |sigma: &str, workers: &str, users: u32| {
        let column = if workers == WORKERS[0] { "config1_s" } else { "config2_s" };
        known(latency.number(&[("sigma", sigma), ("users", &users.to_string())], column)?)
    };
    let ours = |sigma: &str, workers: &str, users: u32| {
        let users = users.to_string();
        let wanted = [("loner_sigma", sigma), ("system.program.workers", workers), ("users", users.as_str())];
        stress.number(&wanted, "response_time_mean")
    };
    for ((claim, his_figures, his), (_, our_figures, ours)) in conclusions(&his).into_iter().zip(conclusions(&ours)) {
        let judged = |of: &[Comparison]| format!("{}: {}", Verdict::of(of).words(), counted(of));
        let _ = writeln!(text, "| {claim} | {his_figures} | {} | {our_figures} | {} |", judged(&his), judged(&ours));
    }
    text
}

/// The conclusions from the mean latency by loner sigma, workers and users: what is said, figures and comparisons.
pub(super) fn conclusions(
    latency: &dyn Fn(&str, &str, u32) -> Option<Number>,
) -> [(&'static str, String, Vec<Comparison>); 3] {
    let figures = |of: &[Option<Number>]| of.iter().map(|of| interval(*of, 4)).collect::<Vec<_>>().join(", ");
    let busy = WORKERS.map(|workers| latency("1.143", workers, 960));
    let climb = [1, 140, 320].map(|users| latency("1.143", WORKERS[1], users));
    let (slow, steep) = (slope(climb[0], climb[1], 139.0), slope(climb[1], climb[2], 180.0));
    let sites = SIGMAS.map(|sigma| latency(sigma, WORKERS[1], 640));
    [
        (
            "More workers give far lower latency under high load (960 users, s = 1.143: I, then II; by a quarter at least)",
            figures(&busy),
            vec![below(busy[1], scaled(busy[0], 0.75))],
        ),
        (
            "Latency climbs slowly to 140 users and steeply after (s = 1.143: at 1, 140, 320 users; up in both parts, and \
            four times as much per user in the second)",
            figures(&climb),
            vec![below(climb[0], climb[1]), below(climb[1], climb[2]), below(scaled(slow, 4.0), steep)],
        ),
        (
            "Larger files mean higher latency (640 users, the three sites)",
            figures(&sites),
            sites.windows(2).map(|pair| below(pair[0], pair[1])).collect(),
        ),
    ]
}

const HEAD: &str = "\
# Zhang's stress test, on today's Apache

Chapter 4 and Appendix B of L. Zhang (2002), live: Debian's Apache (prefork, 150 and 256 workers), the same user
equivalents, 1 to 960 of them, on one machine over loopback. Users and keep-alive timeouts are ten times as fast as his, so
that the whole takes minutes; rates are therefore up to ten times his, and latencies are not comparable in seconds, only in
shape. This page and the models in [`live/servers`](../../experiments/zhang-2002/live/servers) are written by
`make stress`; no figure on it is typed by hand.

";
