//! The page of a description of traffic: facts, laws, and the plots that let one see whether they are true.

use sojourn_stats::fit::Fit;
use sojourn_stats::fit::hill::{Kind, Tail};
use sojourn_traffic::describe::{Description, Fact, Listing, Memory, Value, Variable};

use super::html::{escape, page};
use super::number::{quantity, significant};
use super::plots::chart::{Chart, Mark, Series, Side};
use super::plots::{chart_figure, round_size, round_time};

/// Laws that are drawn beside the data, from the likeliest on; the one that is taken is drawn in any case.
const DRAWN: usize = 4;
/// Points of a law's curve.
const POINTS: usize = 240;

/// The whole page; `name` is what was described, `version` the program's. The same description gives the same bytes.
pub fn render(description: &Description, name: &str, version: &str) -> String {
    let mut body = format!(
        "<header>\n<p class=\"kicker\">Sojourn traffic description</p>\n<h1>{}</h1>\n\
         <p class=\"facts\">{} \u{b7} sojourn {}</p>\n",
        escape(name),
        escape(description.of),
        escape(version)
    );
    for variable in &description.variables {
        body += &format!("<p><strong>{}.</strong> {}</p>\n", escape(variable.title), escape(&variable.verdict()));
    }
    body += "</header>\n";
    if !description.remarks.is_empty() {
        let items: String = description.remarks.iter().map(|remark| format!("<li>{}</li>\n", escape(remark))).collect();
        body += &format!("<section>\n<h2>Beware</h2>\n<ul class=\"reasons\">\n{items}</ul>\n</section>\n");
    }
    body += &replies(description);
    body += &served(description);
    body += &memory(description);
    let figures: String = charts(description).iter().map(chart_figure).collect();
    body += &format!("<section id=\"plots\">\n<h2>Plots</h2>\n{figures}</section>\n");
    let laws: String = description.variables.iter().map(laws).collect();
    body += &format!("<section id=\"laws\">\n<h2>Laws</h2>\n{laws}</section>\n");
    body += &format!("<section id=\"facts\">\n<h2>Facts</h2>\n{}</section>\n", facts(&description.facts));
    body += METHOD;
    page(name, &body)
}

const METHOD: &str = "<section>\n<h2>How this was done</h2>\n<p>Laws are fitted by maximum likelihood to positive values and \
    ranked by Schwarz\u{2019}s criterion (BIC); their intervals take values as independent, which traffic is not, and are \
    the sharpest that can be true. The distance is Kolmogorov\u{2019}s: the largest difference between the data\u{2019}s \
    distribution function and the law\u{2019}s. A\u{b2}/n is Anderson and Darling\u{2019}s statistic over the number of \
    values, which weighs the tails. The p-value, where there are few enough values for it, is the share of samples drawn from \
    the fitted law, each fitted anew, that are as far from their fit. Tail indices are Hill\u{2019}s, at the threshold where the \
    tail is nearest to a Pareto law; the moment estimator beside it says whether there is a power of x at all.</p>\n</section>\n";

/// How requests ended.
fn replies(description: &Description) -> String {
    let table = listed(&description.by_status());
    if table.is_empty() {
        return table;
    }
    format!("<section id=\"replies\">\n<h2>Replies by status</h2>\n{table}</section>\n")
}

/// Who served what, and when.
fn served(description: &Description) -> String {
    let Some(served) = &description.served else { return String::new() };
    let words: String = served.words.iter().map(|words| format!("<p>{}</p>\n", escape(words))).collect();
    let tables = [served.by_server(), served.over_time()].map(|listing| listed(&listing)).concat();
    format!("<section id=\"served\">\n<h2>Servers, and what happened over time</h2>\n{words}{tables}</section>\n")
}

/// A table of what servers got or of what happened over time.
fn listed(listing: &Listing) -> String {
    if listing.rows.is_empty() {
        return String::new();
    }
    let header: String = listing.header.iter().map(|name| format!("<th>{}</th>", escape(name))).collect();
    let cell = |cell: &Option<(Value, &'static str)>| match cell {
        None => "-".to_owned(),
        Some((Value::Number(number), unit @ ("s" | "/s"))) => quantity(*number, unit),
        Some((value, _)) => value.to_string(),
    };
    let row = |row: &Vec<Option<(Value, &'static str)>>| {
        let (first, others) = row.split_at(1);
        let others = others.iter().map(|other| format!("<td class=\"number\">{}</td>", escape(&cell(other))));
        format!("<tr><th>{}</th>{}</tr>\n", escape(&cell(&first[0])), others.collect::<String>())
    };
    let rows: String = listing.rows.iter().map(row).collect();
    format!(
        "<div class=\"scroll\"><table class=\"plain\">\n<thead><tr>{header}</tr></thead>\n<tbody>\n{rows}</tbody>\n\
         </table></div>\n"
    )
}

/// How self-similar the counts are.
fn memory(description: &Description) -> String {
    let told = |one: &Memory| {
        let warnings: String =
            one.hurst.warnings.iter().map(|warning| format!("<li>{}</li>\n", escape(warning))).collect();
        let warnings =
            if warnings.is_empty() { warnings } else { format!("<ul class=\"reasons\">\n{warnings}</ul>\n") };
        format!("<p><strong>{}.</strong> {}</p>\n{warnings}", escape(&one.title), escape(&one.hurst.verdict))
    };
    let all: String = description.memory.iter().map(told).collect();
    if all.is_empty() {
        return all;
    }
    format!("<section id=\"memory\">\n<h2>Is it self-similar?</h2>\n{all}</section>\n")
}

/// Every plot as a file's name and a drawing that stands alone.
pub fn plots(description: &Description) -> Vec<(String, String)> {
    charts(description).iter().map(|chart| (format!("{}.svg", chart.id), chart.alone())).collect()
}

fn charts(description: &Description) -> Vec<Chart> {
    let mut charts: Vec<Chart> = rate(description).into_iter().collect();
    for variable in description.variables.iter().filter(|variable| variable.ccdf.len() > 2) {
        charts.extend(distribution(variable));
        charts.extend(variable.tail.as_ref().map(|tail| hill(variable, tail)));
    }
    charts.extend(popularity(description));
    charts.extend(cache(description));
    charts
}

fn rate(description: &Description) -> Option<Chart> {
    let rate = description.rate.as_ref().filter(|rate| rate.counts.len() > 2)?;
    let (per_unit_s, unit, begin) = match (rate.start_of_day_s, rate.bin_s * rate.counts.len() as f64) {
        (Some(start_s), span_s) if (3.0 * 3600.0..=4.0 * 86_400.0).contains(&span_s) => {
            (3600.0, "hour of the (first) day", start_s)
        }
        (_, span_s) if span_s > 4.0 * 86_400.0 => (86_400.0, "days since the start", 0.0),
        (_, span_s) if span_s > 3.0 * 3600.0 => (3600.0, "hours since the start", 0.0),
        _ => (1.0, "seconds since the start", 0.0),
    };
    let points: Vec<(f64, f64)> = rate
        .counts
        .iter()
        .enumerate()
        .flat_map(|(index, count)| {
            let at = |index: usize| (begin + index as f64 * rate.bin_s) / per_unit_s;
            let value = *count as f64 / rate.bin_s;
            [(at(index), value), (at(index + 1), value)]
        })
        .collect();
    let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
    Some(Chart {
        id: "rate".into(),
        heading: "Arrival rate over time".into(),
        caption: format!(
            "Each step is {} s. A rate that rises and falls with the day is a profile, not burstiness.",
            rate.bin_s
        ),
        x: Side { title: unit.into(), log: false, label: plain, ends: (points[0].0, points[points.len() - 1].0) },
        y: Side { title: "per second".into(), log: false, label: plain, ends: (0.0, most * 1.05) },
        series: vec![Series { name: "arrivals per second".into(), mark: Mark::Line, points }],
        beside: Vec::new(),
        inks: Vec::new(),
    })
}

fn distribution(variable: &Variable) -> Option<Chart> {
    let above = |points: &[(f64, f64)]| points.iter().copied().filter(|point| point.1 > 0.0).collect::<Vec<_>>();
    let points = above(&variable.ccdf);
    let (low, high) = (points.first()?.0, variable.ccdf.last()?.0);
    if high <= low {
        return None;
    }
    let rarest = points.last()?.1 * 0.5;
    let curve = |fit: &Fit| {
        let at = |step: usize| low * (high / low).powf(step as f64 / (POINTS - 1) as f64);
        let points = (0..POINTS).map(|step| (at(step), fit.law.survival(at(step)).min(1.0)));
        Series {
            name: format!("{} (distance {})", fit.family.name(), significant(fit.kolmogorov)),
            mark: Mark::Line,
            points: points.filter(|point| point.1 >= rarest).collect(),
        }
    };
    let mut series = vec![Series { name: "data".into(), mark: Mark::Dots, points }];
    let likeliest = variable.fits.iter().take(DRAWN);
    let is_drawn = |taken: &&Fit| likeliest.clone().any(|fit| fit.family == taken.family);
    let taken = variable.chosen().filter(|taken| !is_drawn(taken));
    series.extend(likeliest.chain(taken).map(curve));
    Some(Chart {
        id: format!("{}-distribution", variable.name.replace('_', "-")),
        heading: variable.title.to_owned(),
        caption:
            "The share of values (up) above a value (right), both logarithmic: a power law is a straight line, a light \
                  tail bends down. The likeliest laws and the one that `fit` takes are drawn through the data; look at where \
                  they leave it."
                .into(),
        x: Side { title: axis_title(variable), log: true, label: label(variable), ends: (low, high) },
        y: Side { title: "share above".into(), log: true, label: plain, ends: (rarest, 1.0) },
        series,
        beside: Vec::new(),
        inks: Vec::new(),
    })
}

fn hill(variable: &Variable, tail: &Tail) -> Chart {
    let line: Vec<(f64, f64)> = tail.plot.iter().map(|place| (place.k as f64, place.alpha)).collect();
    let band = tail.plot.iter().flat_map(|place| {
        let k = place.k as f64;
        [(k, place.ci_low), (k, place.ci_high)]
    });
    let stable = [tail.stable.0 as f64, tail.stable.1 as f64].map(|k| (k, tail.alpha));
    let most = line.iter().map(|point| point.1).fold(0.0, f64::max) * 1.3;
    let says = match tail.kind {
        Kind::Power => "they agree: a power of x as far as one can see",
        Kind::Lighter => "it is below Hill\u{2019}s: the tail is lighter than a power of x, and the index is none",
        Kind::Undecided => "they cannot tell a power of x from a lighter tail",
    };
    let says = format!(
        "the moment estimate of 1/alpha is {:.2}, Hill\u{2019}s {:.2}; {says}",
        tail.moment_gamma,
        1.0 / tail.alpha
    );
    Chart {
        id: format!("{}-hill", variable.name.replace('_', "-")),
        heading: format!("Tail index: {}", variable.title),
        caption: format!(
            "Hill\u{2019}s estimate of alpha (up) from so many of the largest values (right). A flat stretch is a tail \
             index, a slope is none. Marked: {} ({} to {}) from the {} values above {}; {}.",
            significant(tail.alpha),
            significant(tail.ci_low),
            significant(tail.ci_high),
            tail.k,
            quantity(tail.threshold, variable.unit),
            escape(&says)
        ),
        x: Side {
            title: "largest values used".into(),
            log: true,
            label: plain,
            ends: (line[0].0, line[line.len() - 1].0),
        },
        y: Side { title: "alpha".into(), log: false, label: plain, ends: (0.0, most) },
        series: vec![
            Series { name: "95 % interval".into(), mark: Mark::Band, points: band.collect() },
            Series { name: "Hill\u{2019}s estimate".into(), mark: Mark::Line, points: line },
            Series {
                name: format!("alpha = {} and where it holds", significant(tail.alpha)),
                mark: Mark::Line,
                points: stable.to_vec(),
            },
        ],
        beside: Vec::new(),
        inks: Vec::new(),
    }
}

fn popularity(description: &Description) -> Option<Chart> {
    let popularity = description.popularity.as_ref().filter(|popularity| popularity.ranks.len() > 2)?;
    let points: Vec<(f64, f64)> = popularity.ranks.iter().map(|(rank, count)| (*rank as f64, *count as f64)).collect();
    let (ranks, most) = (points[points.len() - 1].0, points[0].1);
    let mut series = vec![Series { name: "data".into(), mark: Mark::Dots, points: points.clone() }];
    let mut caption = "Requests (up) for the object of each rank (right), both logarithmic: Zipf\u{2019}s law is a \
                       straight line. The steps at the end are objects asked for a few times."
        .to_owned();
    if let Some(zipf) = &popularity.zipf {
        let total: f64 = (1..=popularity.objects).map(|rank| (rank as f64).powf(-zipf.s)).sum();
        let at = |rank: f64| popularity.requests as f64 * rank.powf(-zipf.s) / total;
        series.push(Series {
            name: format!("Zipf, exponent {} (distance {})", significant(zipf.s), significant(zipf.kolmogorov)),
            mark: Mark::Line,
            points: points.iter().map(|point| (point.0, at(point.0))).collect(),
        });
        caption += " Its exponent is the most likely one, which weighs every request the same.";
    }
    Some(Chart {
        id: "popularity".into(),
        heading: "Popularity".into(),
        caption,
        x: Side { title: "rank".into(), log: true, label: plain, ends: (1.0, ranks) },
        y: Side { title: "requests".into(), log: true, label: plain, ends: (0.5, most * 1.5) },
        series,
        beside: Vec::new(),
        inks: Vec::new(),
    })
}

fn cache(description: &Description) -> Option<Chart> {
    let points: Vec<(f64, f64)> =
        description.cache.iter().map(|point| (point.objects as f64, point.hit_ratio)).collect();
    let most = points.last().filter(|_| points.len() > 2)?.0;
    Some(Chart {
        id: "cache".into(),
        heading: "What a cache would hit".into(),
        caption: "The share of successful GETs (up) that an LRU cache of so many objects (right) would have answered, empty at \
                  the beginning. At its right end it never forgets anything: no cache does better."
            .into(),
        x: Side { title: "objects in the cache".into(), log: true, label: plain, ends: (1.0, most) },
        y: Side { title: "hit ratio".into(), log: false, label: plain, ends: (0.0, 1.0) },
        series: vec![Series { name: "LRU".into(), mark: Mark::Line, points }],
        beside: Vec::new(),
        inks: Vec::new(),
    })
}

/// The laws of a quantity, as a table.
fn laws(variable: &Variable) -> String {
    let heading = format!("<h3>{} ({} values)</h3>\n", escape(variable.title), variable.count);
    let Some(best) = variable.fits.first() else {
        let why = variable.no_fit.as_deref().unwrap_or("there is nothing to fit");
        return format!("{heading}<p class=\"left-out\">{}.</p>\n", escape(why));
    };
    let row = |fit: &Fit| {
        let parameters: Vec<String> = fit
            .parameters
            .iter()
            .map(|one| match one.ci_low < one.ci_high {
                true => {
                    let (value, low, high) =
                        (significant(one.value), significant(one.ci_low), significant(one.ci_high));
                    format!("{} {value} ({low} to {high})", one.name)
                }
                false => format!("{} {}", one.name, significant(one.value)),
            })
            .collect();
        format!(
            "<tr><th>{}</th><td><code>{}</code><br><span class=\"muted\">{}</span></td><td class=\"number\">{:.1}</td>\
             <td class=\"number\">{:.1}</td><td class=\"number\">{:.4}</td><td class=\"number\">{:.4}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td></tr>\n",
            escape(fit.family.name()),
            escape(&fit.law.to_string()),
            escape(&parameters.join(", ")),
            fit.bic - best.bic,
            fit.aic - best.aic,
            fit.kolmogorov,
            fit.anderson_darling,
            fit.p_value.map_or("-".into(), |p| format!("{p:.2}")),
            significant(fit.mean_ratio),
        )
    };
    let about = variable.about_the_laws().join(" ");
    let about = if about.is_empty() { about } else { format!("<p>{}</p>\n", escape(&about)) };
    format!(
        "{heading}<p>{}</p>\n<div class=\"scroll\"><table class=\"plain\">\n<thead><tr><th>Law</th><th>As written, and its \
         parameters (SI units)</th><th>BIC</th><th>AIC</th><th>distance</th><th>A\u{b2}/n</th><th>p</th>\
         <th>mean / data\u{2019}s</th></tr></thead>\n<tbody>\n{}</tbody>\n</table></div>\n{about}",
        escape(&variable.verdict()),
        variable.fits.iter().map(row).collect::<String>()
    )
}

/// The facts by group, as tables.
fn facts(facts: &[Fact]) -> String {
    let row = |fact: &Fact| {
        let value = match (&fact.value, fact.unit) {
            (Value::Number(number), unit) => quantity(*number, unit),
            (value, _) => value.to_string(),
        };
        format!("<tr><th>{}</th><td>{}</td></tr>\n", escape(&fact.name.replace('_', " ")), escape(&value))
    };
    let table = |group: &[Fact]| {
        let rows: String = group.iter().map(row).collect();
        format!("<h3>{}</h3>\n<table class=\"plain\">\n<tbody>\n{rows}</tbody>\n</table>\n", escape(group[0].group))
    };
    facts.chunk_by(|one, other| one.group == other.group).map(table).collect()
}

fn axis_title(variable: &Variable) -> String {
    if variable.unit.is_empty() { "value".into() } else { variable.title.to_lowercase() }
}

fn label(variable: &Variable) -> fn(f64) -> String {
    match variable.unit {
        "s" => round_time,
        "B" => round_size,
        _ => plain,
    }
}

/// A tick's number as short as it goes.
fn plain(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e6).contains(&value.abs()) {
        return format!("{value:.0e}");
    }
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
