//! Fujita (2000), the models: section 2.3 and chapters 4 and 5.
//!
//! A web server of a queue and r helpers ([`server`]), a public site of backbone, access line and server ([`site`]),
//! and a provider's users behind a proxy ([`provider`]), by his formulas and by simulation. His figures are pictures
//! without data. So the numbers of his text and his statements are compared, each turned into comparisons of figures
//! with intervals. Values that his text does not print are inferred from it, or varied.

#[cfg(test)]
mod made_up;
mod provider;
mod server;
mod site;

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use sojourn_stats::{Dimension, Law};
use sojourn_theory::formula::sharing::fujita::Work;

use crate::ReproduceError;
use crate::answers::Answers;
use crate::finding::{self, Finding};
use crate::number::{Number, quotient, shown};
use crate::picture::Figure;
use crate::verdict::{Comparison, LEGEND, Verdict, near_number};

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

/// A setting of a variant, e.g. `("station.access-line.rate", "6 Mbit/s")`.
type Setting<'a> = (&'a str, &'a str);

/// The answers of all experiments, by both engines.
struct Runs(Vec<[Answers; 2]>);

/// The answers of theory and simulation for one quantity.
#[derive(Clone, Copy, Debug, Default)]
struct Both {
    theory: Option<f64>,
    /// With its interval.
    sim: Option<Number>,
}

impl Runs {
    fn read(folder: &Path) -> Result<Runs, ReproduceError> {
        let both = |name: &&str| -> Result<[Answers; 2], ReproduceError> {
            let [theory, sim] = ["theory", "sim"].map(|engine| Answers::read(&folder.join(name), engine));
            Ok([theory?, sim?])
        };
        RUNS.iter().map(both).collect::<Result<_, _>>().map(Runs)
    }

    fn of(&self, name: &str) -> &[Answers; 2] {
        let place = RUNS.iter().position(|known| *known == name);
        &self.0[place.expect("an experiment of the list")]
    }

    fn both(&self, run: &str, wanted: &[Setting<'_>], metric: &str) -> Both {
        let [theory, sim] = self.of(run);
        Both { theory: theory.value(wanted, metric), sim: sim.number(wanted, metric) }
    }
}

impl Both {
    /// Whether simulation lies within `tolerance` of theory, with its whole interval.
    fn agrees(&self, tolerance: f64) -> Comparison {
        self.theory.map_or(Comparison::OPEN, |theory| near_number(self.sim, theory, tolerance))
    }

    /// Theory over simulation, less 1.
    fn deviation(&self) -> Option<f64> {
        Some(self.theory? / self.sim?.value - 1.0)
    }

    /// Simulated with its interval, then by formula.
    fn shown(&self, unit: &str) -> String {
        format!("{} ({})", shown(self.sim, unit), number(self.theory, unit))
    }
}

/// A number of a formula, in milliseconds if it is a time.
fn number(value: Option<f64>, unit: &str) -> String {
    let Some(value) = value else { return "-".into() };
    let (value, unit) = if unit == "s" { (value * 1e3, "ms") } else { (value, unit) };
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0} {unit}"),
        size if size >= 10.0 => format!("{value:.1} {unit}"),
        _ => format!("{value:.2} {unit}"),
    }
}

/// A fraction as a signed percentage.
fn percent(part: Option<f64>) -> String {
    part.map_or("-".into(), |part| format!("{:+.1} %", 100.0 * part))
}

/// The largest deviation of theory from simulation (in size), if there is any.
fn widest<'a>(of: impl IntoIterator<Item = &'a Both>) -> Option<f64> {
    of.into_iter().filter_map(Both::deviation).max_by(|a, b| a.abs().total_cmp(&b.abs()))
}

/// A Markdown table.
fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let mut text = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
    for row in rows {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text
}

/// His work demand with sizes of this law (equation 2.5).
fn work(sizes: &str) -> Work {
    let sizes = Law::parse(sizes, Dimension::Size).expect("a law of the experiments");
    Work { per_byte_s: 0.4851e-6, fixed_s: 21.55e-3, sizes }
}

const LOGNORMAL: &str = "lognormal(mu = 7.811, sigma = 1.573, unit = B)";
const EXPONENTIAL: &str = "exponential(mean = 8502.9 B)";

/// Writes the page at `page`, and its figures beside it, from the run folders in `runs` and the plan in `runs/plan`.
pub(crate) fn write(runs: &Path, published: &Path, page: &Path) -> Result<(), ReproduceError> {
    let plan = planned(&runs.join("plan").join("plan.json"))?;
    let runs = Runs::read(runs)?;
    let took_s: f64 = runs.0.iter().map(|[theory, _]| theory.elapsed_s).sum();
    let folder = page.with_extension("");
    let fail = |e: std::io::Error| ReproduceError(format!("cannot write {}: {e}", page.display()));
    std::fs::create_dir_all(&folder).map_err(fail)?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let figures = [server::figures(&runs), site::figures(&runs), provider::figures(&runs)];
    let figures: Vec<Figure> = figures.into_iter().flatten().collect();
    for figure in &figures {
        std::fs::write(folder.join(format!("{}.svg", figure.file)), &figure.svg).map_err(fail)?;
    }
    let picture = |file: &str| {
        let figure = figures.iter().find(|figure| figure.file == file).expect("a figure of the page");
        format!("![{}]({name}/{file}.svg)\n\n", figure.title)
    };
    let findings: Vec<Finding> =
        [server::findings(&runs), site::findings(&runs), provider::findings(&runs)].into_iter().flatten().collect();
    let mut text = format!("{HEAD}\n{LEGEND}");
    let _ = writeln!(text, "\n{}\n", in_short(&findings));
    let _ = writeln!(text, "The runs of this page took {took_s:.0} s.\n");
    let _ = writeln!(text, "## His numbers and ours\n\n{}", numbers(&runs, published)?);
    let _ = writeln!(text, "## Which of his findings hold\n\n{}", finding::table(&findings));
    let _ = writeln!(text, "## The web server alone (section 2.3)\n\n{}\n", server::text(&runs, &picture).trim_end());
    let _ = writeln!(text, "## A public site (section 4.1)\n\n{}\n", site::text(&runs, &plan, &picture).trim_end());
    let _ = writeln!(
        text,
        "## A provider's users (sections 4.2 and 4.3)\n\n{}\n",
        provider::text(&runs, &picture).trim_end()
    );
    let _ = write!(text, "## The whole system (Figure 5.1)\n\n{}", whole(&runs));
    std::fs::write(page, text).map_err(fail)
}

/// The verdicts on the statements, counted.
fn in_short(findings: &[Finding]) -> String {
    let verdicts: Vec<Verdict> = findings.iter().map(Finding::verdict).collect();
    format!("**In short.** Of {} statements of his {}.", findings.len(), finding::tally(&verdicts))
}

/// The numbers of his text beside ours.
fn numbers(runs: &Runs, published: &Path) -> Result<String, ReproduceError> {
    let file = published.join("models.csv");
    let fail = |e: csv::Error| ReproduceError(format!("{}: {e}", file.display()));
    let (lognormal, exponential) = (work(LOGNORMAL), work(EXPONENTIAL));
    let total = provider::total(runs, "6 Mbit/s", provider::AT_100_MS);
    let slower = provider::total(runs, "1.5 Mbit/s", provider::AT_100_MS);
    let ours = |key: &str| match key {
        "mean_work" => format!("{:.2} ms", 1e3 * lognormal.mean_s()),
        "second_moment_work" => format!("{:.1} ms^2", 1e6 * lognormal.second_moment_s2()),
        "second_moment_work_exponential" => format!("{:.1} ms^2", 1e6 * exponential.second_moment_s2()),
        "line_for_10_per_s_within_100_ms" => {
            let at = site::required(10.0, 0.1);
            format!("{:.2} Mbit/s, at which the line is simulated to take {}", at / 1e6, site::at_required(runs))
        }
        "total_6_mbit_backbone_100_ms" => shown(total.sim, "s"),
        "total_6_mbit_over_1.5_mbit" => shown(quotient(total.sim, slower.sim), ""),
        other => format!("(no answer to {other})"),
    };
    let mut rows = Vec::new();
    let mut his = HashMap::new();
    for row in csv::Reader::from_path(&file).map_err(fail)?.records() {
        let row = row.map_err(fail)?;
        let [key, value, unit, place] = [0, 1, 2, 3].map(|column| row.get(column).unwrap_or_default());
        rows.push(vec![key.replace('_', " "), format!("{value} {unit}"), ours(key), place.to_owned()]);
        his.insert(key.to_owned(), value.parse().unwrap_or(f64::NAN));
    }
    let head = ["number", "his", "ours", "where"].map(String::from);
    Ok(table(&head, &rows) + &second_moments(&his))
}

/// How far his second moments of the work (ms^2, by their keys) are off those of his own parameters.
fn second_moments(his: &HashMap<String, f64>) -> String {
    let above = |key: &str, sizes: &str| {
        let his = his.get(key).copied().unwrap_or(f64::NAN);
        format!("{:+.2} %", 100.0 * (his / (1e6 * work(sizes).second_moment_s2()) - 1.0))
    };
    format!(
        "\nHis E[S^2] is {} off what his own parameters give for log-normal sizes, and {} for exponential ones.\n{NUMBERS}",
        above("second_moment_work", LOGNORMAL),
        above("second_moment_work_exponential", EXPONENTIAL)
    )
}

/// The cheapest line that `sojourn plan` found, in the words of its output.
fn planned(file: &Path) -> Result<String, ReproduceError> {
    let fail = |what: String| ReproduceError(format!("{}: {what}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|e| fail(e.to_string()))?;
    let plan: serde_json::Value = serde_json::from_str(&text).map_err(|e| fail(e.to_string()))?;
    let cheapest = plan["offers"][0]["settings"][0][1].as_str();
    cheapest.map(str::to_owned).ok_or_else(|| fail("the plan offers nothing".into()))
}

/// His whole system by both engines.
fn whole(runs: &Runs) -> String {
    let rates = ["1.5 Mbit/s", "6 Mbit/s"];
    let metrics = [
        ("hits", "response_time_mean_users_hit", "s"),
        ("misses", "response_time_mean_users_miss", "s"),
        ("visitors", "response_time_mean_visitors", "s"),
        ("at the proxy", "response_time_mean_proxy", "s"),
        ("on the access line", "response_time_mean_access-line", "s"),
        ("at the web server", "response_time_mean_web-server", "s"),
        ("documents of users", "throughput_users", "/s"),
    ];
    let rows: Vec<Vec<String>> = metrics
        .iter()
        .map(|(name, metric, unit)| {
            let at = |rate: &str| runs.both("system", &[("station.access-line.rate", rate)], metric).shown(unit);
            [vec![(*name).to_owned()], rates.map(at).to_vec()].concat()
        })
        .collect();
    let head = ["mean", "line of 1.5 Mbit/s", "line of 6 Mbit/s"].map(String::from);
    WHOLE.to_owned() + &table(&head, &rows)
}

const HEAD: &str = "\
# Fujita's models, answered again

Section 2.3 and chapters 4 and 5 of Y. Fujita (2000): a web server as a queue with r helpers that share the processor,
and systems of networks, lines, proxy and server built from it. Everything here is computed: by his formulas, and by a
simulation with intervals (95 %). His measurements are on [another page](fujita-2000.md). The files are in
[experiments/fujita-2000/models](../../experiments/fujita-2000/models), how he is read where he leaves something open
in [READINGS.md](../../experiments/fujita-2000/READINGS.md). His figures are pictures without data, so what is
compared are the numbers of his text and his statements.

In tables a simulated number has its interval, and a formula's stands behind it in brackets. This page is written by
`make reproductions`; no figure and no verdict on it is typed by hand, what may lie behind a verdict is.
";

const NUMBERS: &str = "\
The last two numbers are no test of the model: they are what the number of users and the rate of visitors were inferred
from, which he does not print (see below).
";

const WHOLE: &str = "\
A provider's users behind a proxy, and visitors from elsewhere who share backbone, access line and web server with the
misses: [system.toml](../../experiments/fujita-2000/system.toml), which is one file for both engines. He draws this
system and gives no number of it; 5 users and 5 visitors a second are chosen. Simulated, and by mean value analysis
with his fixed point in brackets:

";
