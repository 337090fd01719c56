//! The report in a real browser: it loads without a complaint, every figure is there and has a size, and nothing
//! sticks out of a phone's screen.

use sojourn_lab::report::plots::file::plot;
use sojourn_lab::report::render;
use sojourn_lab::{
    Answer, Answers, Engine, FAILED, Flow, MetricOverTime, ObjectiveAnswer, Trust, VariantAnswers, Verdict,
};
use sojourn_stats::measure::NoInterval;
use sojourn_stats::{Estimate, Measure};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use crate::skip::skipped;

const FIGURES: [&str; 6] = ["plot-means", "plot-quantiles", "plot-cdf", "plot-tail", "plot-shares", "plot-differences"];

/// What only a hostile author would write: it must be read, never run.
const HOSTILE: &str = "</style></pre><script>document.title = 'owned'</script><img src=x onerror=alert(1)> & \"'";

/// A report as `four-servers.toml` gives it, with made-up numbers: log-logistic response times, so that every quantile
/// has a closed form.
fn sample() -> Answers {
    let systems = [
        ("random over PS", 0.021, 0.62, Some(true)),
        ("round-robin", 0.0185, 0.60, Some(false)),
        ("random", 0.0225, 0.64, None),
        ("least-connections", 0.0125, 0.55, None),
        ("round-trip", 0.0170, 0.66, None),
        ("transmitted-size", 0.0160, 0.57, None),
    ];
    let mut variants = Vec::new();
    for (i, (label, median, shape, exact)) in systems.into_iter().enumerate() {
        let settings = match label.strip_suffix(" over PS") {
            Some(policy) => vec![("policy".to_owned(), policy.to_owned()), ("discipline".to_owned(), "ps".to_owned())],
            None => vec![("policy".to_owned(), label.to_owned()), ("discipline".to_owned(), "limited-ps".to_owned())],
        };
        // The plan of 15 s had somewhat larger requests than the long run, and live adds its own 0.3 ms.
        let wobble = 1.0 + 0.05 * (i as f64 - 2.0) / 3.0;
        let long_run = answer(Engine::Sim, median, shape, 0.012, 2_000_000, i);
        let twin = answer(Engine::Twin, median * 1.14, shape * 0.93, 0.06, 5_600, i);
        let mut live = answer(Engine::Live, median * 1.14 * wobble + 0.0003, shape * 0.93, 0.07, 5_600, i);
        let facts = vec![
            ("generator lateness, p99".to_owned(), format!("{} \u{b5}s", 41 + 3 * i)),
            ("generator pacing".to_owned(), "timer".to_owned()),
            ("rate, offered and achieved".to_owned(), "374.0 /s, 373.6 /s".to_owned()),
            ("cores busy".to_owned(), format!("{} %, {} %", 38 + i, 44 + 2 * i)),
            ("requests".to_owned(), "5603".to_owned()),
            ("server-1, busy".to_owned(), format!("10.{i} s of 15.0 s")),
            ("server-2, busy".to_owned(), format!("10.{} s of 15.0 s", 7 - i)),
        ];
        let mut trust = Trust { facts, ..Trust::default() };
        if label == "round-trip" {
            let reason = "the generator was late by 1.8 ms at p99 (more than 10 % of the mean response time)";
            (trust.verdict, trust.reasons) = (Verdict::Suspect, vec![reason.to_owned()]);
            trust.facts[0].1 = "1.8 ms".to_owned();
            live.measures[2].estimate = Estimate::TooFew { samples: 71 };
        }
        live.trust = Some(trust);
        let mut theory = Answer::new(Engine::Theory);
        match exact {
            Some(exact) => {
                let value = mean(median, shape) * 0.996;
                let estimate = if exact { Estimate::Exact { value } } else { Estimate::Approximate { value } };
                theory.measures.push(Measure::new("response_time_mean", "s", estimate));
                theory.measures.push(Measure::new("utilization", "1", Estimate::Exact { value: 0.7 }));
                theory.notes.push(if exact {
                    "M/G/1-PS at each server: the mean depends on the mean demand alone; no formula for quantiles"
                        .into()
                } else {
                    "E_4/M/1 with limited PS in two-moment form: within about 10 % for these sizes".into()
                });
            }
            None => theory.notes.push("no formula for this policy over limited-PS servers".to_owned()),
        }
        variants.push(VariantAnswers {
            label: label.to_owned(),
            settings,
            answers: vec![theory, long_run, live, twin],
        });
    }
    let objective = |variant: usize, engine, met| ObjectiveAnswer {
        text: "response_time_p90 < 60 ms".to_owned(),
        variant,
        engine,
        met,
        undecided: false,
        measured: String::new(),
        reason: String::new(),
    };
    Answers {
        name: "Which dispatcher for four servers?".to_owned(),
        description: Some(
            "Four equal servers at 70 % utilisation, heavy-tailed file sizes: does it pay to look at the servers before \
             choosing one, and which glance is worth most?"
                .to_owned(),
        ),
        seed: 1,
        version: "0.1.0".to_owned(),
        started: "2026-11-20 12:04 UTC".to_owned(),
        verdict: Verdict::Valid,
        host: [
            ("processor", "Intel Xeon Platinum 8481C at 2.7 GHz, 2 cores"),
            ("memory", "7.8 GiB"),
            ("kernel", "Linux 6.1.0-26-amd64"),
            ("timer", "timerfd, 27 \u{b5}s late at p50"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec(),
        spec: SPEC.to_owned(),
        settings: vec!["policy".to_owned(), "discipline".to_owned()],
        variants,
        objectives: vec![
            objective(3, Engine::Theory, None),
            objective(3, Engine::Sim, Some(true)),
            objective(3, Engine::Live, Some(true)),
            objective(2, Engine::Theory, None),
            objective(2, Engine::Sim, Some(false)),
        ],
        command: "sojourn run experiments/four-servers.toml --seed 1".to_owned(),
        ..Answers::default()
    }
}

const SPEC: &str = r#"name = "Which dispatcher for four servers?"
seed = 1

[workload]
kind = "open"
arrivals = "exponential(utilization = 0.7)"
size = "lognormal(mu = 7.881, sigma = 1.339, unit = B)"   # <- as in SURGE

[[system.tier]]
face = "gateway"
policy = "least-connections"
targets = { servers = 4 }

[vary]
policy = ["round-robin", "random", "least-connections", "round-trip", "transmitted-size"]
"#;

/// The quantile function of the log-logistic law.
fn quantile(median: f64, shape: f64, p: f64) -> f64 {
    median * (p / (1.0 - p)).powf(shape)
}

fn mean(median: f64, shape: f64) -> f64 {
    let angle = std::f64::consts::PI * shape;
    median * angle / angle.sin()
}

fn answer(engine: Engine, median: f64, shape: f64, relative: f64, samples: u64, which: usize) -> Answer {
    let sampled = |value: f64, width: f64| Estimate::Sampled {
        value,
        ci_low: value * (1.0 - relative * width),
        ci_high: value * (1.0 + relative * width),
        samples,
    };
    let mut answer = Answer::new(engine);
    answer.measures = vec![
        Measure::new("response_time_mean", "s", sampled(mean(median, shape), 1.0)),
        Measure::new("response_time_p90", "s", sampled(quantile(median, shape, 0.9), 1.4)),
        Measure::new("response_time_p99", "s", sampled(quantile(median, shape, 0.99), 2.6)),
        Measure::new("throughput", "1/s", sampled(374.0, 0.3)),
        Measure::new("utilization", "1", sampled(0.7, 0.4)),
    ];
    let tilt = if which == 1 { 0.0 } else { 0.006 * which as f64 };
    for (server, lean) in [1.0, -0.4, 0.3, -0.9].into_iter().enumerate() {
        let share = sampled(0.25 + tilt * lean, 0.5);
        answer.measures.push(Measure::new(format!("share_{}", server + 1), "1", share));
    }
    let last = 1.0 - 1.0 / samples as f64;
    let quantiles = (1..=400).map(|i| 1.0 / (1.0 + (-10.0 + 0.06 * f64::from(i)).exp()));
    answer.curve = quantiles.filter(|p| *p < last).map(|p| (quantile(median, shape, p), p)).collect();
    answer.curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    answer
}

/// Chromium, if this machine has it.
fn chromium() -> Option<&'static str> {
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join("chromium").is_file()));
    if found {
        return Some("chromium");
    }
    skipped("no chromium on PATH; the report was not opened in a browser");
    None
}

/// Opens `page` and gives the document as it then is and what the browser logged.
fn open(page: &Path) -> Option<(String, String)> {
    let profile = tempfile::tempdir().expect("a folder for the browser's profile");
    let output = Command::new(chromium()?)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage", "--enable-logging=stderr", "--window-size=1280,900"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("chromium starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let log = text(output.stderr);
    assert!(output.status.success(), "chromium failed: {log}");
    Some((text(output.stdout), log))
}

fn console_errors(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.contains(":CONSOLE") || line.contains("CONSOLE(")).collect()
}

/// A page that frames `report` at `widths`, unchanged and under its own security policy, and writes what it sees into
/// an element: `WIDTH sticks-out=.. ID=WxH ...`, a line per width.
fn inspector(report: &str, widths: &[u32]) -> String {
    let attribute = report.replace('&', "&amp;").replace('"', "&quot;");
    let frames: String = widths
        .iter()
        .map(|w| format!("<iframe width=\"{w}\" height=\"900\" srcdoc=\"{attribute}\"></iframe>\n"))
        .collect();
    format!(
        "<!doctype html><meta charset=\"utf-8\"><title>inspector</title>\n{frames}<pre id=\"seen\"></pre>\n<script>
addEventListener('load', () => {{
  const lines = [...document.querySelectorAll('iframe')].map((frame) => {{
    const page = frame.contentDocument;
    const sizes = [...page.querySelectorAll('figure')].map((figure) => {{
      const shown = [...figure.querySelectorAll('svg.plot')].filter((svg) => svg.getClientRects().length);
      const plots = shown.map((svg) => svg.getBoundingClientRect());
      const least = (side) => Math.round(Math.min(...plots.map((box) => box[side])));
      return `${{figure.id}}=${{plots.length}}:${{least('width')}}x${{least('height')}}`;
    }});
    const root = page.documentElement;
    return `width=${{frame.width}} sticks-out=${{root.scrollWidth - root.clientWidth}} title=${{page.title}} ` + sizes.join(' ');
  }});
  document.getElementById('seen').textContent = lines.join('\\n');
}});
</script>\n"
    )
}

/// A row for each of many numbers makes a long table: the curve over them stands before it.
#[test]
fn a_curve_comes_before_its_table() {
    let place = |html: &str, id: &str| html.find(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}"));
    let mut report = sample();
    let html = render(&report);
    assert!(place(&html, "summary") < place(&html, "plots") && !html.contains("plot-sweep"));
    report.settings = vec!["workload.users".into()];
    for (index, variant) in report.variants.iter_mut().enumerate() {
        variant.settings = vec![("workload.users".into(), (20 + 10 * index).to_string())];
    }
    let html = render(&report);
    assert!(place(&html, "plot-sweep") < place(&html, "summary"));
    // An amount is a number as well, whatever unit each is written in; a text is none.
    let axis = |values: &[&str]| {
        let mut report = report.clone();
        report.settings = vec!["rtt".into()];
        for (variant, value) in report.variants.iter_mut().zip(values.iter().cycle()) {
            variant.settings = vec![("rtt".into(), (*value).into())];
        }
        let html = render(&report);
        html.contains("id=\"plot-sweep\"").then(|| figure(&html, "plot-sweep").contains(">\n3\u{a0}s\n</text>"))
    };
    assert_eq!(axis(&["500 ms", "1 s", "2 s", "3 s"]), Some(true));
    assert_eq!(axis(&["0.5", "1", "2", "3"]), Some(false));
    assert_eq!(axis(&["500 ms", "1 s", "2 /s", "3 s"]), None);
    assert_eq!(axis(&["random", "1", "2", "3"]), None);
}

/// A figure of a page.
fn figure<'a>(html: &'a str, id: &str) -> &'a str {
    let figure = html.split(&format!("<figure id=\"{id}\"")).nth(1).unwrap_or_else(|| panic!("no {id}"));
    figure.split("</figure>").next().expect("its begin")
}

/// A sweep of `policies` policies over six numbers of users.
fn swept(policies: usize) -> Answers {
    let mut report = sample();
    report.settings = vec!["policy".into(), "workload.users".into()];
    let original = std::mem::take(&mut report.variants);
    report.objectives.clear();
    report.variants = (0..policies)
        .flat_map(|policy| (0..6).map(move |users| (policy, users)))
        .map(|(policy, users)| {
            let mut variant = original[users].clone();
            let (policy, users) = (format!("policy-{policy}"), (20 + 10 * users).to_string());
            variant.label = format!("{policy}, users {users}");
            variant.settings = vec![("policy".into(), policy), ("workload.users".into(), users)];
            variant
        })
        .collect();
    report
}

/// Five policies at three numbers of servers: more curves than one panel has colours for.
fn in_panels() -> Answers {
    with_servers(swept(5), &["4", "16", "64"])
}

/// The same at each of these numbers of servers.
fn with_servers(mut report: Answers, servers: &[&str]) -> Answers {
    report.settings.push("servers".into());
    let of_policies = std::mem::take(&mut report.variants);
    let with = |servers: &str, variant: &VariantAnswers| {
        let mut variant = variant.clone();
        variant.label = format!("{}, servers {servers}", variant.label);
        variant.settings.push(("servers".into(), servers.into()));
        variant
    };
    let at = |&servers: &&str| of_policies.iter().map(|variant| with(servers, variant)).collect::<Vec<_>>();
    report.variants = servers.iter().flat_map(at).collect();
    report
}

/// The same with one mean response time by every engine.
fn agreeing(mut report: Answers) -> Answers {
    for answer in report.variants.iter_mut().flat_map(|variant| &mut variant.answers) {
        let estimate = match answer.engine {
            Engine::Theory => Estimate::Exact { value: 0.05 },
            _ => Estimate::Sampled { value: 0.05, ci_low: 0.049, ci_high: 0.051, samples: 999 },
        };
        answer.measures.retain(|measure| measure.metric != "response_time_mean");
        answer.measures.push(Measure::new("response_time_mean", "s", estimate));
    }
    report
}

/// Where theory, sim and live agree, each of them is seen: the mark of a formula is pale, lies below lines and intervals, and is
/// larger than what lies on it. Legends have every engine.
#[test]
fn engines_that_agree_are_all_seen() {
    const PALE: &str = "opacity=\"0.3\" class=\"f-series-";
    let holds = |drawing: &str, points: usize| {
        let (below, above) = drawing.split_once("<polyline").expect("lines");
        assert_eq!((below.matches(PALE).count(), above.matches(PALE).count()), (points, 0), "{drawing}");
        let diamond = below.split_once(PALE).expect("a diamond").1.split("points=\"").nth(1).expect("its corners");
        let corners = diamond.split(['"', ' ']).map_while(|corner| corner.split_once(',')?.0.parse::<f64>().ok());
        let (left, right) = corners.fold((f64::INFINITY, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
        let circle = above.split("<circle ").nth(1).and_then(|of| of.split(" r=\"").nth(1)).expect("a circle of sim");
        let radius: f64 = circle.split('"').next().and_then(|of| of.parse().ok()).expect("a number");
        assert!(right - left > 4.0 * radius, "{left} to {right} below a circle of {radius}");
        let circles = above.matches("<circle").count();
        assert!(circles >= 2 * points, "{circles} circles, with their halos, above the lines of {points} points");
    };
    let html = render(&agreeing(swept(2)));
    let one = figure(&html, "plot-sweep").split("<svg").nth(1).expect("a drawing");
    holds(one, 2 * 6);
    let html = render(&agreeing(in_panels()));
    let several = figure(&html, "plot-sweep");
    let panels: Vec<&str> = several.split("<div class=\"panel\">").skip(1).collect();
    assert_eq!(panels.len(), 3);
    panels.iter().for_each(|panel| holds(panel, 5 * 6));
    let legend =
        several.split("aria-label=\"Engines\"").nth(1).expect("a legend").split("</ul>").next().expect("its begin");
    for engine in ["theory", "sim", "live", "twin"] {
        assert!(one.contains(&format!(">\n{engine}\n</text>")), "{engine}: {one}");
        assert!(legend.contains(&format!("{engine}</span>")), "{engine}: {legend}");
    }
}

/// The colours of the curves of a drawing, with their dashes.
fn colors(drawing: &str) -> BTreeSet<String> {
    let all = drawing.match_indices("\"s-series-");
    all.filter_map(|(at, _)| drawing[at + 1..].split('"').next().map(str::to_owned)).collect()
}

/// The lines in the legends of a figure, as class and name.
fn legends(figure: &str) -> Vec<(String, String)> {
    let of_line = |line: &str| {
        // A line of a legend has its name right behind it.
        let (line, text) = line.split_once("/>\n<text ").filter(|(line, _)| !line.contains('<'))?;
        let class = line.split("class=\"s-").nth(1)?.split('"').next()?;
        let name = text.split_once(">\n")?.1.split("\n</text>").next()?;
        Some((class.to_owned(), name.split(" (lies on").next()?.to_owned()))
    };
    figure.split("<polyline ").skip(1).filter_map(of_line).collect()
}

/// The same with what sim tells of a system in which something breaks: where requests went, and what became of them.
fn breaking(mut report: Answers) -> Answers {
    let flow = |to: &str| Flow { to: to.to_owned(), points: vec![(0.0, 1.0), (1.0, 3.0)] };
    let points = vec![(0.0, Estimate::Exact { value: 1.0 }), (1.0, Estimate::Exact { value: 2.0 })];
    let over_time = |metric: &str| MetricOverTime { metric: metric.into(), unit: "1/s".into(), points: points.clone() };
    for answer in report.variants.iter_mut().flat_map(|variant| &mut variant.answers) {
        if answer.engine == Engine::Sim {
            answer.flows = ["server-1", "server-2", "server-3", FAILED].map(flow).to_vec();
            let metrics = ["attempts", "goodput", "failed", "response_time_p50", "response_time_p99"];
            answer.over_time = metrics.map(over_time).to_vec();
        }
    }
    report
}

/// Of many variants the first is in sight, and the others are behind one line. A number is told where one points at it on a wide
/// page, and not once more on a narrow one, where nothing points.
#[test]
fn what_breaks_in_many_variants_is_told_once() {
    let html = render(&breaking(swept(2)));
    for (section, id) in [("timeline", "plot-outcomes-sim-0"), ("places", "plot-places-sim-0")] {
        let text = html.split(&format!("<section id=\"{section}\">")).nth(1).expect("a section");
        let text = text.split("</section>").next().expect("its begin");
        assert_eq!(text.matches("<details open>").count(), 1, "{section}");
        assert_eq!(text.matches("<summary>11 more variants</summary>").count(), 1, "{section}");
        let figure = figure(&html, id);
        assert_eq!(figure.matches("<svg").count(), 2, "for a wide page and for a narrow one: {figure}");
        assert_eq!(figure.matches("<title>1 s: ").count(), 1, "{figure}");
    }
}

/// A server that is dead and the requests that fail are two things: policies, servers and what becomes of requests have colours
/// of their own in all figures of a page.
#[test]
fn no_color_of_a_page_stands_for_two_things() {
    let report = breaking(swept(3));
    let html = render(&report);
    let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for id in ["plot-sweep", "plot-places-sim-0", "plot-outcomes-sim-0", "plot-outcomes-time-sim-0"] {
        for (class, name) in legends(figure(&html, id)) {
            names.entry(class).or_default().insert(name);
        }
    }
    assert_eq!(names.len(), 3 + 3 + 5, "three policies, three servers, five of requests: {names:?}");
    assert!(names.values().all(|names| names.len() == 1), "{names:?}");
    assert!(names["failed"].contains("failed"), "{names:?}");
}

/// A file of its own has what the page draws first: its curves in the same colours and on the same axes, or its dots.
#[test]
fn a_file_has_what_the_page_draws_first() {
    let of = |report: &Answers, metric: &str| plot(report, metric).unwrap_or_else(|error| panic!("{error}"));
    let stands_alone = |svg: &str| {
        assert!(svg.starts_with("<svg xmlns=") && svg.trim_end().ends_with("</svg>"), "{svg}");
        for class in svg.split("class=\"").skip(1).filter_map(|of| of.split('"').next()).filter(|of| *of != "plot") {
            for word in class.split(' ') {
                assert!(svg.contains(&format!(".{word}{{")), "{word} has a style");
            }
        }
    };
    for (report, policies, panels) in [(swept(3), 3, 1), (in_panels(), 5, 3)] {
        let html = render(&report);
        let (page, mean) = (figure(&html, "plot-sweep"), of(&report, "response_time_mean"));
        stands_alone(&mean.svg);
        assert_eq!((mean.left_out.as_str(), colors(&mean.svg)), ("", colors(page)));
        let names = legends(&mean.svg);
        assert_eq!(names.len(), policies, "{names:?}");
        for (class, name) in &names {
            let swatch = format!("swatch b-{class}\"></span>{name}</li>");
            assert!(
                legends(page).contains(&(class.clone(), name.clone())) || page.contains(&swatch),
                "{class}: {name}"
            );
        }
        let axes = mean.svg.matches(">\nworkload.users\n</text>").count();
        assert_eq!(axes, panels, "{}", mean.svg);
        assert!(mean.svg.contains(">\nmean response time\n</text>"), "{}", mean.svg);
        let p90 = of(&report, "response_time_p90").svg;
        assert_eq!(legends(&p90), names, "another time in the same colours");
        assert!(p90.contains(">\n90th percentile of the response time\n</text>"), "{p90}");
    }
    let dots = of(&sample(), "response_time_mean").svg;
    stands_alone(&dots);
    assert!(dots.contains(">\nleast-connections\n</text>") && dots.contains("class=\"f-live\""), "{dots}");
}

/// The same with the number of users as the rate of a law, one of them in another unit.
fn as_rates(mut report: Answers) -> Answers {
    report.settings[1] = "workload.arrivals".into();
    for variant in &mut report.variants {
        let rate = match variant.settings[1].1.as_str() {
            "40" => "0.04 /ms".to_owned(),
            users => format!("{users} /s"),
        };
        variant.settings[1] = ("workload.arrivals".into(), format!("exponential(rate = {rate})"));
        variant.label = by_settings(variant);
    }
    report
}

/// What a variant without a name is called.
fn by_settings(variant: &VariantAnswers) -> String {
    let told = variant.settings.iter().map(|(key, value)| match value.parse::<f64>() {
        Ok(_) => format!("{} {value}", key.rsplit('.').next().expect("split gives one")),
        Err(_) => value.clone(),
    });
    told.collect::<Vec<String>>().join(", ")
}

/// Of texts that differ in one number that number is on the axis with its unit, with all policies in one panel or a panel for
/// each combination of what else varies, in a page and in a file.
#[test]
fn the_number_of_a_law_is_an_axis() {
    let title = "x (/s) in arrivals = exponential(rate = x)";
    for (report, policies, panels) in [(as_rates(swept(3)), 3, 1), (as_rates(in_panels()), 5, 3)] {
        let html = render(&report);
        let page = figure(&html, "plot-sweep");
        let file = plot(&report, "response_time_mean").expect("curves");
        assert_eq!((colors(page).len(), colors(&file.svg)), (policies, colors(page)));
        assert_eq!(file.left_out, "");
        assert_eq!(file.svg.matches(&format!(">\n{title}\n</text>")).count(), panels, "{}", file.svg);
        assert!(page.contains(&format!("over <code>{title}</code>")), "{page}");
        // Rates that are evenly spaced are so on the axis, whatever their units.
        let lines = file.svg.split("<polyline ").filter_map(|of| of.split_once("points=\"")?.1.split('"').next());
        let whole = lines.map(|line| line.split_whitespace().collect::<Vec<&str>>()).find(|line| line.len() == 6);
        let at = |point: &&str| point.split(',').next().and_then(|x| x.parse::<f64>().ok()).expect("a number");
        let places: Vec<f64> = whole.expect("a line of all rates").iter().map(at).collect();
        let gap = places[1] - places[0];
        assert!(gap > 100.0 && places.windows(2).all(|of| (of[1] - of[0] - gap).abs() <= 1.0), "{places:?}");
    }
    // A number of the policy is on it only where nothing else is.
    let mut report = swept(3);
    for variant in &mut report.variants {
        let number = variant.settings[0].1.trim_start_matches("policy-").to_owned();
        variant.settings[0].1 = format!("power-of-d(d = {number})");
        variant.label = by_settings(variant);
    }
    assert!(figure(&render(&report), "plot-sweep").contains("over <code>workload.users</code>"));
    report.variants.retain(|variant| variant.settings[1].1 == "20");
    let html = render(&report);
    assert!(figure(&html, "plot-sweep").contains("over <code>x in policy = power-of-d(d = x)</code>"), "{html}");
}

/// Where values span decades their axis is logarithmic, in a page and in a file, and so where they are in the text of a law.
#[test]
fn decades_are_evenly_spaced() {
    let mut report = swept(2);
    for variant in &mut report.variants {
        let users: u32 = variant.settings[1].1.parse().expect("a number of users");
        variant.settings[1].1 = 10_u64.pow(users / 10 - 2).to_string();
    }
    are_evenly_spaced(&report);
    are_evenly_spaced(&as_rates(report));
}

fn are_evenly_spaced(report: &Answers) {
    let html = render(report);
    let page = figure(&html, "plot-sweep").split("<svg").nth(1).expect("a drawing");
    for drawing in [page, &plot(report, "response_time_mean").expect("curves").svg] {
        let at = |tick: &str| -> f64 {
            let before = drawing.split(&format!(">\n{tick}\n</text>")).next().expect("split gives one");
            let x = before.rsplit("<text x=\"").next().and_then(|of| of.split('"').next());
            x.and_then(|x| x.parse().ok()).unwrap_or_else(|| panic!("no {tick}: {drawing}"))
        };
        let (first, second) = (at("100") - at("10"), at("1000") - at("100"));
        assert!(first > 100.0 && (first - second).abs() <= 1.0, "{first} and {second}: {drawing}");
    }
}

/// Times on the axis have the units that those up the plot have, in a page and in a file.
#[test]
fn times_on_an_axis_have_their_units() {
    let mut report = swept(2);
    report.settings[1] = "demand".into();
    for variant in &mut report.variants {
        let users: u32 = variant.settings[1].1.parse().expect("a number of users");
        let demand = format!("exponential(mean = {} us)", 10_u64.pow(users / 10 - 1));
        variant.settings[1] = ("demand".into(), demand);
        variant.label = by_settings(variant);
    }
    let html = render(&report);
    let page = figure(&html, "plot-sweep").split("<svg").nth(1).expect("a drawing");
    for drawing in [page, &plot(&report, "response_time_mean").expect("curves").svg] {
        for part in ["10\u{a0}\u{b5}s", "100\u{a0}ms", "x in demand = exponential(mean = x)"] {
            assert!(drawing.contains(&format!(">\n{part}\n</text>")), "{part}: {drawing}");
        }
        assert!(!drawing.contains("0.0001") && drawing.contains("<title>10\u{a0}\u{b5}s: policy-0 "), "{drawing}");
    }
}

/// Sim has a share of failed requests of each policy at the most users: of the first many, of the others as many as a mean may
/// leave out.
fn failing(mut report: Answers) -> Answers {
    for variant in report.variants.iter_mut().filter(|of| of.setting("workload.users") == Some("70")) {
        let value = if variant.setting("policy") == Some("policy-0") { 0.46 } else { 0.01 };
        for answer in variant.answers.iter_mut().filter(|answer| answer.engine == Engine::Sim) {
            answer.measures.push(Measure::new("error_ratio", "1", Estimate::Exact { value }));
        }
    }
    report
}

/// Where many requests failed a response time is of the others: a red cross lies on its mark, what that says is in the drawing,
/// and the share is told where one points at it and in the table.
#[test]
fn a_time_of_some_requests_only_has_a_cross() {
    const NOTE: &str = "more than 1\u{a0}% of the requests failed or were given up";
    const SHARE: &str = "46.0\u{a0}% of the requests failed or were given up)";
    // Each is two strokes.
    let crosses = |drawing: &str| drawing.matches("class=\"s-failed\"").count() / 2;
    let file = |report: &Answers| plot(report, "response_time_mean").expect("a plot").svg;

    let report = failing(swept(2));
    let html = render(&report);
    for id in ["plot-sweep", "plot-sweep-p99"] {
        let figure = figure(&html, id);
        let drawing = figure.split("<svg").nth(1).expect("a drawing");
        assert_eq!(crosses(drawing), 1 + 1, "one point and the legend: {drawing}");
        assert!(drawing.contains("; failed or given up: policy-0 46.0\u{a0}% (sim)</title>"), "{drawing}");
        assert!(drawing.contains(&format!(">\n{}", &NOTE[..20])), "{drawing}");
        let caption = figure.split("<figcaption>").nth(1).expect("a caption");
        assert!(caption.contains(NOTE), "{caption}");
    }
    assert_eq!(crosses(&file(&report)), 2);
    assert!(html.contains(&format!("{SHARE}</td>")), "{html}");

    let report = failing(in_panels());
    let html = render(&report);
    let panels = figure(&html, "plot-sweep");
    assert_eq!(crosses(panels), 3, "one in each panel");
    assert_eq!(panels.matches(&format!("{SHARE}</title>")).count(), 3, "{panels}");
    assert!(panels.contains("<span class=\"cross\">") && panels.contains(NOTE), "{panels}");
    assert_eq!(crosses(&file(&report)), 3 + 1);
    assert!(file(&report).contains(NOTE));

    let mut report = sample();
    report.variants[0].answers[1].measures.push(Measure::new("error_ratio", "1", Estimate::Exact { value: 0.46 }));
    let dots = file(&report);
    assert!(dots.contains("by variant and engine") && dots.contains(&format!("{SHARE}</title>")), "{dots}");
    assert!(crosses(&dots) == 2 && dots.contains(&format!(">\n{NOTE}")), "{dots}");
    let html = render(&report);
    let means = figure(&html, "plot-means");
    assert!(crosses(means) == 2 * 2 && means.contains(&format!("A red cross: {NOTE}")), "{means}");

    for report in [swept(2), in_panels(), sample()] {
        let (html, file) = (render(&report), file(&report));
        assert!(crosses(&file) == 0 && !file.contains(NOTE), "all are answered: {file}");
        assert!(!html.contains(NOTE) && !html.contains("class=\"cross\""), "all are answered");
    }
}

/// A policy has one colour as soon as there are more than a few curves, where it is in several panels then; what has a curve in
/// one of them only stays beside the others.
#[test]
fn a_policy_has_one_color_where_another_setting_varies() {
    let drawn = |report: &Answers| {
        let html = render(report);
        let figure = figure(&html, "plot-sweep");
        (figure.matches("<div class=\"panel\">").count(), colors(figure).len())
    };
    for (policies, servers, panels, colors) in
        [(3, &["4", "16"][..], 0, 6), (4, &["4", "16"], 2, 4), (4, &["4", "16", "64"], 3, 4), (6, &["4", "16"], 2, 6)]
    {
        let report = with_servers(swept(policies), servers);
        assert_eq!(drawn(&report), (panels, colors), "{policies} policies, servers {servers:?}");
    }
    let mut report = swept(8);
    report.settings.push("servers".into());
    for variant in &mut report.variants {
        let servers = if variant.setting("policy") == Some("policy-7") { "1" } else { "4" };
        variant.settings.push(("servers".into(), servers.into()));
    }
    assert_eq!(drawn(&report), (0, 8), "no policy is in two panels");
}

/// What a file leaves out is said, and what it would have nothing of is refused.
#[test]
fn a_file_says_what_is_not_in_it() {
    let mut report = sample();
    report.variants = report.variants.iter().cycle().take(45).cloned().collect();
    let many = plot(&report, "response_time_mean").expect("dots");
    assert_eq!(many.left_out, "5 more variants are not drawn; their numbers are in the tables.");
    let mut report = swept(2);
    report.variants[0].settings.pop();
    let curves = plot(&report, "response_time_mean").expect("curves");
    assert_eq!(curves.left_out, "One variant does not say where on this axis it is: its numbers are in the tables.");
    let refused = plot(&sample(), "waiting_time_mean").expect_err("there is none").to_string();
    let expected = "no plot: no engine has a number of `waiting_time_mean` that can be drawn; there are mean, p90, p99";
    assert_eq!(refused, expected);
    assert!(plot(&Answers::default(), "response_time_mean").is_err());
}

/// All policies are in one panel as far as there are colours, and as many again with dashes; more are spread over panels, evenly,
/// each in its own colour on the whole page.
#[test]
fn no_color_stands_for_two_policies_of_a_page() {
    for (policies, each) in [(12, vec![12]), (14, vec![14]), (24, vec![24]), (25, vec![13, 12]), (48, vec![24, 24])] {
        let html = render(&swept(policies));
        for id in ["plot-sweep", "plot-sweep-p99"] {
            let figure = figure(&html, id);
            // The same drawing for a wide and for a narrow page stands twice where it is one.
            let drawings: Vec<&str> = match each.len() {
                1 => figure.split("<svg").skip(1).take(1).collect(),
                _ => figure.split("<div class=\"panel\">").skip(1).collect(),
            };
            let curves: Vec<usize> = drawings.iter().map(|drawing| colors(drawing).len()).collect();
            assert_eq!(curves, each, "{policies} policies, {id}");
            assert_eq!(colors(figure).len(), policies, "{policies} policies, {id}");
            let swatches = figure.matches("class=\"swatch b-series-").count();
            assert_eq!(
                swatches,
                if each.len() > 1 { policies } else { 0 },
                "{policies} policies, {id}: one legend for all"
            );
            for policy in 0..policies {
                let name = format!("policy-{policy}");
                let is_whole =
                    |drawing: &str, at: usize| !drawing[at + name.len()..].starts_with(|c: char| c.is_ascii_digit());
                let has = |drawing: &&&str| drawing.match_indices(&name).any(|(at, _)| is_whole(drawing, at));
                let told = drawings.iter().filter(has).count();
                assert_eq!(told, 1, "{policies} policies, {id}: {name}");
            }
        }
    }
    // The number on the axis has no colours, whichever setting comes first.
    let mut report = swept(13);
    report.settings.reverse();
    for variant in &mut report.variants {
        let number = variant.settings[0].1.trim_start_matches("policy-").parse::<f64>().expect("a number");
        let users = variant.settings[1].clone();
        variant.settings = vec![
            (users.0, format!("{}", users.1.parse::<f64>().expect("a number") / 7.0)),
            ("d".into(), number.to_string()),
        ];
    }
    report.settings = vec!["workload.users".into(), "d".into()];
    let figure = figure(&render(&report), "plot-sweep").to_owned();
    let panels: Vec<usize> = figure.split("<div class=\"panel\">").skip(1).map(|of| colors(of).len()).collect();
    assert!(panels.iter().all(|curves| *curves > 1), "{panels:?}");
}

/// Runs beside each other have one panel, of the mean and of the slowest hundredth, with intervals, and are set against each
/// other in numbers, whatever their seeds.
#[test]
fn several_runs_have_one_panel_and_their_ratios() {
    let mut report = swept(2);
    report.seed = 7;
    let mut other = report.clone();
    for answer in other.variants.iter_mut().flat_map(|variant| &mut variant.answers) {
        for measure in &mut answer.measures {
            if let Estimate::Sampled { value, ci_low, ci_high, .. } = &mut measure.estimate {
                [value, ci_low, ci_high].into_iter().for_each(|of| *of *= 2.0);
            }
        }
    }
    let page = |seed: u64| {
        let other = Answers { seed, ..other.clone() };
        let runs = [("one".to_owned(), &report), ("two".to_owned(), &other)];
        sojourn_lab::report::runs::render(&runs, "0")
    };
    let html = page(7);
    for id in ["plot-sweep", "plot-sweep-p99"] {
        let figure = figure(&html, id);
        assert_eq!(figure.matches("<svg").count(), 2, "{id}: one panel, for a wide page and for a narrow one");
        assert_eq!(colors(figure.split("<svg").nth(1).expect("a drawing")).len(), 4, "{id}: two policies in two runs");
        assert!(figure.contains("has its interval"), "{id}");
    }
    for (html, words) in [(&html, ""), (&page(8), "different seeds")] {
        let pairs = html.split("id=\"pairs\"").nth(1).expect("ratios").split("</section>").next().expect("its begin");
        // Both metrics of two policies at six loads, by sim and live, but for the p99 of live that has too few samples.
        let ratios = pairs.split("<td>two</td><td>one</td><td>").skip(1);
        // With the digits of their intervals.
        let is_2 = |of: &&str| of.split_once(" (").is_some_and(|(ratio, _)| ratio.parse::<f64>().ok() == Some(2.0));
        assert_eq!(ratios.filter(is_2).count(), 2 * 2 * 6 * 2 - 2, "{pairs}");
        assert!(pairs.contains("<td>sim</td>") && pairs.contains("<td>live</td>") && pairs.contains(words), "{pairs}");
    }
    let text = html.split("id=\"notes\"").nth(1).expect("notes").split("</section>").next().expect("its begin");
    let note = "no formula for this policy over limited-PS servers";
    assert_eq!(text.matches(note).count(), 1, "{text}");
    assert!(text.contains("one and two: "), "{text}");
}

#[test]
fn opens_in_a_browser_with_every_plot_in_sight() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
    std::fs::create_dir_all(&folder).expect("a folder for the pages");
    let html = render(&sample());
    let page = folder.join("report.html");
    std::fs::write(&page, &html).expect("the report is written");
    let Some((_, log)) = open(&page) else { return };
    assert_eq!(console_errors(&log), Vec::<&str>::new());

    let widths = [390, 1200];
    let inspector_page = folder.join("inspector.html");
    std::fs::write(&inspector_page, inspector(&html, &widths)).expect("the inspector is written");
    let Some((dom, log)) = open(&inspector_page) else { return };
    assert_eq!(console_errors(&log), Vec::<&str>::new());
    let seen =
        dom.rsplit_once("<pre id=\"seen\">").and_then(|(_, rest)| rest.split_once("</pre>")).expect("a result").0;
    for width in widths {
        let start = format!("width={width} ");
        let line = seen.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("{start}: {seen}"));
        assert!(line.contains("sticks-out=0 "), "wider than the screen: {line}");
        for id in FIGURES {
            let size = line.split_whitespace().find_map(|word| word.strip_prefix(&format!("{id}=")));
            let size = size.unwrap_or_else(|| panic!("no figure {id}: {line}"));
            let (_, size) = size.split_once(':').expect("COUNT:WIDTHxHEIGHT");
            let (w, h) = size.split_once('x').expect("WIDTHxHEIGHT");
            let pixels = |text: &str| text.parse::<u32>().unwrap_or(0);
            assert!(pixels(w) >= 200 && pixels(h) >= 100, "{id} is {size} at {width}: {line}");
        }
    }
}

#[test]
fn hostile_text_is_shown_and_never_run() {
    let mut report = sample();
    report.name = HOSTILE.to_owned();
    report.description = Some(HOSTILE.to_owned());
    report.spec = HOSTILE.to_owned();
    report.started = HOSTILE.to_owned();
    report.version = HOSTILE.to_owned();
    report.command = HOSTILE.to_owned();
    report.host = vec![(HOSTILE.to_owned(), HOSTILE.to_owned())];
    report.settings = vec![HOSTILE.to_owned()];
    (report.verdict, report.reasons) = (Verdict::Incomplete, vec![HOSTILE.to_owned()]);
    report.objectives[0].text = HOSTILE.to_owned();
    for variant in &mut report.variants {
        variant.label = HOSTILE.to_owned();
        variant.settings = vec![(HOSTILE.to_owned(), HOSTILE.to_owned())];
        for answer in &mut variant.answers {
            answer.notes.push(HOSTILE.to_owned());
            let (verdict, reasons) = (Verdict::Suspect, vec![HOSTILE.to_owned()]);
            let facts = vec![(HOSTILE.to_owned(), HOSTILE.to_owned())];
            answer.trust = Some(Trust { verdict, reasons, facts, ..Trust::default() });
            answer.measures.push(Measure::new(HOSTILE, HOSTILE, Estimate::Exact { value: 1.0 }));
        }
    }
    let html = render(&report);
    assert!(!html.contains("<script") && !html.contains("<img"), "unescaped text");
    assert_eq!(html.matches("</style>").count(), 1);
    let folder = tempfile::tempdir().expect("a folder for the page");
    let page = folder.path().join("hostile.html");
    std::fs::write(&page, inspector(&html, &[390])).expect("the page is written");
    let Some((dom, log)) = open(&page) else { return };
    assert_eq!(console_errors(&log), Vec::<&str>::new());
    assert!(dom.contains("title=&lt;/style&gt;"), "the title was changed");
    assert!(dom.contains("sticks-out=0 "), "a long word sticks out");
}

#[test]
fn loads_nothing_and_runs_nothing() {
    let html = render(&sample());
    for forbidden in ["<script", "src=", "href=", "@import", "url(", "http://", "https://", "NaN"] {
        assert!(!html.contains(forbidden), "the report contains {forbidden}");
    }
    assert!(html.len() < 600_000, "{} bytes are too many to mail", html.len());
    assert_eq!(html, render(&sample()), "same report, different bytes");
}

#[test]
fn engines_may_be_missing() {
    let only = |keep: &[Engine]| {
        let mut report = sample();
        for variant in &mut report.variants {
            variant.answers.retain(|answer| keep.contains(&answer.engine));
        }
        render(&report)
    };
    let figures = |html: &str| FIGURES.iter().filter(|id| html.contains(&format!("<figure id=\"{id}\""))).count();

    let html = only(&[Engine::Theory]);
    assert_eq!(figures(&html), 1, "theory has means alone");
    assert!(html.contains("is left out: no engine gave a distribution"));
    assert!(html.contains("is left out: nothing was run live"));
    assert!(html.contains("No live run to judge"));

    let html = only(&[Engine::Sim]);
    assert_eq!(figures(&html), 5, "all but the differences");

    let html = only(&[Engine::Sim, Engine::Live]);
    assert!(html.contains("no run has both a live answer and its simulated twin"));

    let html = only(&[]);
    assert_eq!(figures(&html), 0);
    assert!(html.contains("No engine was asked"));

    let html = render(&Answers::default());
    assert_eq!(figures(&html), 0);
}

#[test]
fn numbers_without_sense_are_said_in_words() {
    let mut report = sample();
    let infinite = Measure::new("response_time_mean", "s", Estimate::Exact { value: f64::INFINITY });
    report.variants[0].answers[0].measures = vec![infinite];
    for answer in &mut report.variants[1].answers {
        for measure in &mut answer.measures {
            measure.estimate = Estimate::TooFew { samples: 71 };
        }
        answer.curve = vec![(0.0, 0.0), (0.0, 1.0)];
    }
    let unknown = Estimate::Sampled { value: 0.0, ci_low: f64::NAN, ci_high: f64::INFINITY, samples: 0 };
    report.variants[2].answers[1].measures[0].estimate = unknown;
    let html = render(&report);
    assert!(html.contains("infinite") && html.contains("too few samples"));
    assert!(!html.contains("NaN") && !html.contains("inf\u{a0}"), "a number that is none");
}

/// What `outcomes.csv` withholds is marked nowhere; a number without an interval is marked hollow and says why.
#[test]
fn a_figure_marks_no_more_than_the_outcomes_tell() {
    let html = |estimate: Option<Estimate>| {
        let mut report = sample();
        let sim = report.variants[3].answers.iter_mut().find(|answer| answer.engine == Engine::Sim).unwrap();
        let p99 = sim.measures.iter_mut().find(|measure| measure.metric == "response_time_p99").unwrap();
        if let Some(estimate) = estimate {
            p99.estimate = estimate;
        }
        render(&report)
    };
    let (before, after) = (html(None), html(Some(Estimate::TooFew { samples: 71 })));
    // Two circles for each mark of sim, three for a hollow one.
    let circles = |html: &str| {
        let from = html.find("id=\"plot-cdf\"").unwrap();
        html[from..html.find("id=\"plot-shares\"").unwrap()].matches("<circle").count()
    };
    assert_eq!(circles(&before) - circles(&after), 4, "the mark of p99 on the curve and on its tail");
    let why = NoInterval::TooShort;
    let bare = html(Some(Estimate::WithoutInterval { value: 0.09, samples: 71, why }));
    assert_eq!(circles(&bare) - circles(&before), 2, "both are hollow");
    assert!(bare.contains("no interval: too short a run") && bare.contains("<td colspan=\"2\">too-short</td>"));
}

/// What a live run says of itself is not said again of the whole run.
#[test]
fn a_live_run_gives_its_reasons_once() {
    let mut report = sample();
    let late = "the generator was late by 1.8 ms at p99 (more than 10 % of the mean response time)";
    (report.verdict, report.reasons) = (Verdict::Suspect, vec![format!("round-trip: {late}")]);
    (report.started, report.elapsed_s) = ("2026-11-20T12:00:00Z".to_owned(), 83.2);
    let html = render(&report);
    let verdict =
        "SUSPECT</strong> 1 of 6 live runs is not to be relied on: <strong>round-trip</strong>, since the generator";
    assert!(html.contains(verdict) && html.contains("2026-11-20T12:00:00Z, took 1 min 23 s"), "{html}");
    report.verdict = Verdict::Incomplete;
    report.reasons.push("interrupted".to_owned());
    assert!(render(&report).contains("INCOMPLETE</strong> interrupted. 1 of 6 live runs"));
}

/// Notes of many variants are said with what these have in common and no other has, not with all of their names.
#[test]
fn a_note_says_which_variants_it_is_of_in_few_words() {
    let mut report = sample();
    report.settings = vec!["policy".into(), "load".into()];
    report.variants = ["random", "round-robin"]
        .iter()
        .flat_map(|policy| [1, 2, 3, 4, 5].map(|load| (*policy, format!("0.{load}"))))
        .map(|(policy, load)| {
            let mut answer = Answer::new(Engine::Sim);
            answer.notes.push(format!("of {policy}"));
            answer
                .notes
                .extend((load == "0.5" || (load == "0.4" && policy == "random")).then(|| "of three".to_owned()));
            let settings = vec![("policy".to_owned(), policy.to_owned()), ("load".to_owned(), load.clone())];
            VariantAnswers { label: format!("{policy}, load {load}"), settings, answers: vec![answer] }
        })
        .collect();
    let html = render(&report);
    let notes = &html[html.find("<section id=\"notes\">").unwrap()..];
    let scope = |name: &str| format!("\u{b7} {name}</span></dt>");
    assert!(notes.contains(&scope("random")) && notes.contains(&scope("round-robin")), "{notes}");
    let three = "random, load 0.4; random, load 0.5; round-robin, load 0.5";
    assert!(notes.contains(&scope(three)), "{notes}");
}
