//! The parts of the page that are text and tables.

use super::failures::gone_wrong;
use super::html::{and_list, count, engine, escape};
use super::{Answers, Engine, VariantAnswers, Verdict, compare, doubts, headline, legend_of_recovery, number, reasons};
use super::{unrecovered, when};
use crate::answer::{NAME, OF_FAULTS, Trust};
use crate::outcome::has_names;
use sojourn_stats::Estimate;

/// The classes of verdicts in the style sheet, by rank.
const VERDICT_CLASSES: [&str; 3] = ["good", "warn", "bad"];

/// Title, question, verdict, and the answer in a sentence.
pub(super) fn masthead(report: &Answers) -> String {
    // An author wraps lines where the editor ends; only an empty line is meant.
    let paragraphs =
        report.description.iter().flat_map(|text| text.split("\n\n")).map(str::trim).filter(|p| !p.is_empty());
    let question: String = paragraphs.map(|p| format!("<p class=\"question\">{}</p>\n", escape(p))).collect();
    let (class, badge, sentence) = verdict(report);
    let badge = if badge.is_empty() { String::new() } else { format!("<strong>{badge}</strong> ") };
    let finding = match headline::finding(report) {
        Some(text) => format!("<p class=\"finding\">{text}</p>\n"),
        None => "<p class=\"finding\">No engine gave a mean response time: the notes say why.</p>\n".to_owned(),
    };
    let mut facts = vec![format!("seed {}", report.seed)];
    facts.push(format!("sojourn {}", escape(&report.version)));
    facts.push(escape(&when(report)));
    format!(
        "<header>\n<p class=\"kicker\">Sojourn experiment report</p>\n<h1>{}</h1>\n{question}{finding}\
         <p class=\"verdict {class}\">{badge}{sentence}</p>\n<p class=\"facts\">{}</p>\n</header>\n",
        escape(&report.name),
        facts.join(" \u{b7} "),
    )
}

/// The class of the verdict's box, its word, and the sentence beside it.
fn verdict(report: &Answers) -> (&'static str, &'static str, String) {
    let live: Vec<(&VariantAnswers, &Trust)> = report.variants.iter().filter_map(|v| Some((v, v.trust()?))).collect();
    let bad: Vec<&(&VariantAnswers, &Trust)> =
        live.iter().filter(|(_, trust)| trust.verdict != Verdict::Valid).collect();
    let worst = bad.iter().map(|(_, trust)| trust.verdict).fold(report.verdict, Verdict::max);
    let class = VERDICT_CLASSES[worst as usize];
    if worst == Verdict::Valid {
        let sentence = match live.len() {
            // Nothing was measured that could be doubted: that is no verdict.
            0 if report.variants.iter().any(|of| of.model_trust().is_some()) => {
                "The simulated day is what happened, by the log.".to_owned()
            }
            0 => return ("muted", "", "No live run to judge.".to_owned()),
            1 => "The live run is valid: nothing disturbed the measurement.".to_owned(),
            n => format!("All {n} live runs are valid: nothing disturbed the measurement."),
        };
        return (class, worst.word(), sentence);
    }
    let mut sentences = Vec::new();
    let own = report.own_reasons();
    if !own.is_empty() {
        let own: Vec<String> = reasons(report.verdict, &own).iter().map(|reason| escape(reason)).collect();
        sentences.push(format!("{}.", and_list(&own, 4).trim_end_matches('.')));
    }
    if !bad.is_empty() {
        let of = format!("{} of {}", bad.len(), count(live.len(), "live run"));
        let are = if bad.len() == 1 { "is" } else { "are" };
        sentences.push(format!("{of} {are} not to be relied on{}.", named(report).trim_end_matches('.')));
    }
    (class, worst.word(), sentences.join(" "))
}

/// Which live runs are in doubt, and why, behind a colon; empty where no reason is known.
fn named(report: &Answers) -> String {
    let mut named: Vec<(String, Vec<String>)> = Vec::new();
    for (who, why) in doubts(report) {
        match named.iter_mut().find(|(of, _)| *of == who) {
            Some((_, reasons)) => reasons.push(escape(&why)),
            None => named.push((who, vec![escape(&why)])),
        }
    }
    let since =
        |(who, why): &(String, Vec<String>)| format!("<strong>{}</strong>, since {}", escape(who), and_list(why, 2));
    let named: Vec<String> = named.iter().map(since).collect();
    if named.is_empty() { String::new() } else { format!(": {}", and_list(&named, 3)) }
}

/// The table that most readers come for.
pub(super) fn summary(report: &Answers) -> String {
    let quantiles = compare::quantiles(report);
    let engines: Vec<Engine> =
        Engine::ALL.into_iter().filter(|engine| report.variants.iter().any(|v| v.answer(*engine).is_some())).collect();
    if engines.is_empty() {
        return "<section id=\"summary\">\n<h2>Response times</h2>\n<p>No engine was asked.</p>\n</section>\n"
            .to_owned();
    }
    let paired = engines.contains(&Engine::Live) && engines.contains(&Engine::Twin);
    let mut head = "<th scope=\"col\">Variant</th>".to_owned();
    for e in &engines {
        head += &format!("<th scope=\"col\">{}</th>", engine(*e));
    }
    if paired {
        head += "<th scope=\"col\">live against its twin</th>";
    }
    let rows: String = report
        .variants
        .iter()
        .map(|variant| {
            let mut row = format!("<tr><th scope=\"row\">{}</th>", escape(&variant.label));
            for e in &engines {
                row += &format!("<td data-label=\"{}\">{}</td>", e.name(), summary_cell(variant, *e, &quantiles));
            }
            if paired {
                row += &format!("<td data-label=\"live against its twin\">{}</td>", difference_cell(variant));
            }
            row + "</tr>\n"
        })
        .collect();
    let below = if quantiles.is_empty() {
        String::new()
    } else {
        let names: Vec<String> = quantiles.iter().map(|q| compare::short(q).to_owned()).collect();
        format!(" Below it, {}.", and_list(&names, 3))
    };
    format!(
        "<section id=\"summary\">\n<h2>Response times</h2>\n<p class=\"lead\">Mean with the half width of its \
         confidence interval.{below}</p>\n<table class=\"summary\">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\
         </tbody></table>\n</section>\n"
    )
}

/// What went wrong with requests, wherever something did.
pub(super) fn failures(report: &Answers) -> String {
    let lead = "Shares of the requests, with the half width of their interval. Response times are of those that were answered \
                well.";
    let (rows, others) = gone_wrong(report);
    let lead = others.map_or(lead.to_owned(), |others| format!("{lead} {}.", escape(&others)));
    metrics("failures", "What went wrong", &lead, (report, &rows), &report.failures())
}

/// What stands in a cell without a number.
const NONE: &str = "\u{2013}";

/// What was while a fault lasted, and how long the system took to be as before.
pub(super) fn of_faults(report: &Answers) -> String {
    let lead =
        "Of the seconds in which a fault lasts, and how long after the last one had ended all was as before the first.";
    let legend = legend_of_recovery(report, NONE).into_iter().map(|meaning| format!(" {meaning}."));
    let lead = std::iter::once(lead.to_owned()).chain(legend).collect::<String>();
    let rows: Vec<&VariantAnswers> = report.variants.iter().collect();
    metrics("of-faults", "While a fault lasts", &lead, (report, &rows), &OF_FAULTS)
}

/// A column for each of these metrics and engine that has one, and a row for each of these variants of the report; nothing where
/// no engine has one.
fn metrics(
    id: &str,
    title: &str,
    lead: &str,
    (report, variants): (&Answers, &[&VariantAnswers]),
    all: &[(&str, &str)],
) -> String {
    let knows = |engine: &Engine, metric: &str| report.variants.iter().any(|of| of.measure(*engine, metric).is_some());
    let columns: Vec<(&str, &str, Engine)> = all
        .iter()
        .flat_map(|(metric, words)| Engine::ALL.map(|engine| (*metric, *words, engine)))
        .filter(|(metric, _, engine)| knows(engine, metric))
        .collect();
    if columns.is_empty() {
        return String::new();
    }
    let head: String =
        columns.iter().map(|(_, words, by)| format!("<th scope=\"col\">{words}<br>{}</th>", engine(*by))).collect();
    let cell = |variant: &VariantAnswers, (metric, _, engine): &(&str, &str, Engine)| {
        let text = variant.measure(*engine, metric).map(|of| match &of.estimate {
            Estimate::TooFew { samples } if *metric == "recovery_time" => unrecovered(*samples).to_owned(),
            // A share, or a number of attempts.
            estimate if of.unit == "1" => number::share(metric, estimate),
            estimate => number::estimate(estimate, &of.unit),
        });
        format!("<td class=\"number\">{}</td>", text.unwrap_or_else(|| NONE.to_owned()))
    };
    let row = |variant: &&VariantAnswers| {
        let cells: String = columns.iter().map(|column| cell(variant, column)).collect();
        format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", escape(&variant.label))
    };
    let rows: String = variants.iter().map(row).collect();
    format!(
        "<section id=\"{id}\">\n<h2>{title}</h2>\n<p class=\"lead\">{lead}</p>\n<div class=\"scroll\">\
         <table class=\"plain\">\n<thead><tr><th scope=\"col\">Variant</th>{head}</tr></thead>\n<tbody>\n{rows}\
         </tbody></table></div>\n</section>\n"
    )
}

fn summary_cell(variant: &VariantAnswers, engine: Engine, quantiles: &[String]) -> String {
    let Some(answer) = variant.answer(engine) else {
        return "<span class=\"muted\">not asked</span>".to_owned();
    };
    let Some(mean) = variant.estimate(engine, compare::MEAN) else {
        let why = if answer.notes.is_empty() { "no answer" } else { "no answer (see notes)" };
        return format!("<span class=\"muted\">{why}</span>");
    };
    let mark = match mean {
        Estimate::Exact { .. } => " <span class=\"tag\">exact</span>",
        Estimate::Approximate { .. } => " <span class=\"tag\">approximate</span>",
        _ => "",
    };
    let mut cell = format!("<span class=\"mean\">{}{mark}</span>", number::estimate(mean, "s"));
    if let Some(trust) = answer.trust.as_ref().filter(|trust| trust.verdict != Verdict::Valid) {
        cell += &format!(" <span class=\"tag warn\">{}</span>", trust.verdict.word());
    }
    let known: Vec<String> = quantiles
        .iter()
        .filter_map(|metric| {
            let estimate = variant.estimate(engine, metric)?;
            let text = match estimate {
                Estimate::TooFew { .. } | Estimate::WithoutInterval { .. } => number::estimate(estimate, "s"),
                other => number::quantity(other.value()?, "s"),
            };
            Some(format!("<span class=\"quantile\"><b>{}</b>\u{a0}{text}</span>", compare::short(metric)))
        })
        .collect();
    if !known.is_empty() {
        cell += &format!("<span class=\"quantiles\">{}</span>", known.join(" "));
    }
    cell
}

fn difference_cell(variant: &VariantAnswers) -> String {
    let suspect = variant.is_suspect();
    match compare::difference(variant, compare::MEAN) {
        Some(d) => format!(
            "<span class=\"mean {class}\">{}</span><span class=\"quantiles {class}\">{}</span>",
            number::signed_percent(d.value),
            if suspect { "but live is not valid" } else { d.meaning().words() },
            class = if suspect { "muted" } else { d.meaning().class() },
        ),
        None => "<span class=\"muted\">nothing to compare</span>".to_owned(),
    }
}

/// What the live runs' verdicts rest on.
pub(super) fn validity(report: &Answers) -> String {
    let runs: Vec<_> = report.variants.iter().filter_map(|v| Some((v, v.trust()?))).collect();
    if runs.is_empty() {
        return String::new();
    }
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in runs.iter().flat_map(|(_, trust)| &trust.facts) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let mut lines: Vec<Vec<String>> = Vec::new();
    let labels = runs.iter().map(|(variant, _)| format!("<th scope=\"col\">{}</th>", escape(&variant.label)));
    lines.push([heading("col", "")].into_iter().chain(labels).collect());
    let verdicts = runs.iter().map(|(_, Trust { verdict, .. })| {
        format!("<td class=\"{}\">{}</td>", VERDICT_CLASSES[*verdict as usize], verdict.word())
    });
    lines.push([heading("row", "verdict")].into_iter().chain(verdicts).collect());
    for name in names {
        let values = runs.iter().map(|(_, trust)| {
            let value = trust.facts.iter().find(|(n, _)| n == name).map_or("\u{2013}", |(_, v)| v);
            format!("<td>{}</td>", escape(value))
        });
        lines.push([heading("row", name)].into_iter().chain(values).collect());
    }
    // The longer side goes down the page.
    let across = lines[0].len();
    if across > lines.len() {
        lines = (0..across).map(|i| lines.iter().map(|line| line[i].clone()).collect()).collect();
    }
    let mut rows = lines.iter().map(|cells| format!("<tr>{}</tr>\n", cells.concat()));
    let head = rows.next().unwrap_or_default();
    let body: String = rows.collect();
    let item = |(who, why): &(String, String)| format!("<li><strong>{}</strong>: {}</li>\n", escape(who), escape(why));
    let reasons: String = doubts(report).iter().map(item).collect();
    let reasons = if reasons.is_empty() { reasons } else { format!("<ul class=\"reasons\">\n{reasons}</ul>\n") };
    format!(
        "<section id=\"validity\">\n<h2>Can the live runs be trusted?</h2>\n<p class=\"lead\">A live run is valid when \
         the load generator sent its requests when they were planned, and no core that should not be the limit was \
         full.</p>\n{reasons}<div class=\"scroll\"><table class=\"plain\">\n<thead>{head}</thead>\n<tbody>\n{body}\
         </tbody></table></div>\n</section>\n"
    )
}

fn heading(scope: &str, text: &str) -> String {
    format!("<th scope=\"{scope}\">{}</th>", escape(text))
}

/// How to read the page.
pub(super) fn glossary() -> String {
    let entries = [
        (
            Engine::Theory,
            "What queueing formulas say should happen. <em>Exact</em> where the formula is exact for this \
          system, <em>approximate</em> (\u{2248}, hollow marker) where it is not; silent where there is none.",
        ),
        (
            Engine::Sim,
            "What a discrete-event simulation says would happen in the long run, until its intervals are as \
          narrow as the experiment asks.",
        ),
        (Engine::Live, "What real sockets, a real dispatcher and real servers did, in the time given."),
        (
            Engine::Twin,
            "The simulation of the very requests that live sent (same arrivals, sizes, demands and draws of the \
          policy), over links as slow as the live path was before the run. A few seconds of heavy-tailed traffic \
          differ from the long run: so compare live with its twin, and the twin with sim.",
        ),
        (
            Engine::Log,
            "What happened, by the log that is replayed: for the variant that ran. How far sim is from it there is how far \
          sim is to be believed of the others.",
        ),
    ];
    let engines: String =
        entries.iter().map(|(who, text)| format!("<dt>{}</dt><dd>{text}</dd>\n", engine(*who))).collect();
    format!(
        "<section id=\"glossary\">\n<h2>How to read this</h2>\n<dl class=\"glossary\">\n{engines}\
         <dt>Response time</dt><dd>From the moment a request was planned until its last byte, waiting and service \
         together. A late load generator cannot hide in it.</dd>\n\
         <dt>Mean, p90, p99</dt><dd>The average; the times within which 90\u{a0}% and 99\u{a0}% of the requests were \
         answered. A number whose interval would rest on too few samples, or on too short a run, says so in its place.\
         </dd>\n\
         <dt>Utilisation</dt><dd>The share of time that a server is busy. Waiting grows without bound as it nears \
         100\u{a0}%.</dd>\n\
         <dt>\u{b1}</dt><dd>Half the width of the confidence interval, 95\u{a0}% unless the experiment file says \
         otherwise. Two answers whose intervals overlap widely have not been told apart.</dd>\n</dl>\n</section>\n"
    )
}

/// The commands, the machine and the experiment file.
pub(super) fn reproduce(report: &Answers) -> String {
    let mut out = "<section id=\"reproduce\">\n<h2>Run it again</h2>\n".to_owned();
    if !report.command.is_empty() {
        out += &format!("<pre class=\"commands\">{}</pre>\n", escape(&report.command));
    }
    if !report.host.is_empty() {
        let facts: String = report
            .host
            .iter()
            .map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(value)))
            .collect();
        out += &format!("<h3>The machine</h3>\n<dl class=\"machine\">\n{facts}</dl>\n");
    }
    if !report.spec.trim().is_empty() {
        out += &format!(
            "<details>\n<summary>The experiment file</summary>\n<pre>{}</pre>\n</details>\n",
            escape(report.spec.trim_end())
        );
    }
    out + "</section>\n"
}

/// Every outcome row, as in `outcomes.csv`.
pub(super) fn outcomes(report: &Answers) -> String {
    let mut rows = String::new();
    let mut total = 0;
    let is_named = has_names(report);
    for variant in &report.variants {
        let settings: String = report
            .settings
            .iter()
            .map(|name| {
                let value = variant.settings.iter().find(|(n, _)| n == name).map_or("\u{2013}", |(_, v)| v);
                format!("<td>{}</td>", escape(value))
            })
            .collect();
        let name = variant.name_alone().map_or("\u{2013}".to_owned(), |name| escape(&name));
        let name = if is_named { format!("<td>{name}</td>") } else { String::new() };
        for answer in &variant.answers {
            for measure in &answer.measures {
                total += 1;
                rows += &format!(
                    "<tr>{settings}{name}<td>{}</td><td>{}</td><td>{}</td>{}</tr>\n",
                    answer.engine.name(),
                    escape(&measure.metric),
                    escape(&measure.unit),
                    outcome_cells(&measure.estimate)
                );
            }
        }
    }
    if total == 0 {
        return String::new();
    }
    let settings: String =
        report.settings.iter().map(|name| format!("<th scope=\"col\">{}</th>", escape(name))).collect();
    let named = if is_named { format!("<th scope=\"col\">{NAME}</th>") } else { String::new() };
    let columns: String = ["engine", "metric", "unit", "estimate", "ci_low", "ci_high", "samples"]
        .iter()
        .map(|name| format!("<th scope=\"col\">{name}</th>"))
        .collect();
    format!(
        "<section id=\"outcomes\">\n<details>\n<summary>All outcomes ({}, SI units, as in outcomes.csv)</summary>\n\
         <div class=\"scroll\"><table class=\"plain outcomes\">\n<thead><tr>{settings}{named}{columns}</tr></thead>\n<tbody>\n\
         {rows}</tbody></table></div>\n</details>\n</section>\n",
        count(total, "row")
    )
}

fn outcome_cells(estimate: &Estimate) -> String {
    let cell = |text: &str| format!("<td class=\"number\">{text}</td>");
    match *estimate {
        Estimate::Sampled { value, ci_low, ci_high, samples } => {
            let digits = |x: f64| cell(&six_digits(x));
            [digits(value), digits(ci_low), digits(ci_high), cell(&samples.to_string())].concat()
        }
        Estimate::WithoutInterval { value, samples, why } => {
            let why = format!("<td colspan=\"2\">{}</td>", why.name());
            [cell(&six_digits(value)), why, cell(&samples.to_string())].concat()
        }
        Estimate::Exact { value } => [cell(&six_digits(value)), "<td colspan=\"3\">exact</td>".to_owned()].concat(),
        Estimate::Approximate { value } => {
            [cell(&six_digits(value)), "<td colspan=\"3\">approximate</td>".to_owned()].concat()
        }
        Estimate::TooFew { samples } => {
            ["<td colspan=\"3\">too few samples</td>".to_owned(), cell(&samples.to_string())].concat()
        }
    }
}

/// Six significant digits: more than any interval here justifies, enough to find the row in the file.
fn six_digits(value: f64) -> String {
    if !value.is_finite() || value == 0.0 {
        return number::significant(value);
    }
    let decimals = (5 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The last line.
pub(super) fn colophon(report: &Answers) -> String {
    format!(
        "<footer><p>Written by sojourn {}. This page is complete in itself: it loads nothing and runs nothing.{}</p>\
         </footer>\n",
        escape(&report.version),
        if report.variants.is_empty() { "" } else { " The same numbers are in outcomes.csv beside it." }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Answer;

    fn with_live(verdicts: &[(Verdict, &str)]) -> Answers {
        let variants = verdicts.iter().enumerate().map(|(i, (verdict, reason))| {
            let trust = Trust { verdict: *verdict, reasons: vec![(*reason).to_owned()], ..Trust::default() };
            let live = Answer { trust: Some(trust), ..Answer::new(Engine::Live) };
            VariantAnswers { label: format!("v{i}"), settings: Vec::new(), answers: vec![live] }
        });
        Answers { variants: variants.collect(), ..Answers::default() }
    }

    #[test]
    fn the_worst_verdict_is_shown_with_its_reason() {
        let (_, word, text) = verdict(&with_live(&[(Verdict::Valid, ""); 2]));
        assert_eq!((word, text.as_str()), ("VALID", "All 2 live runs are valid: nothing disturbed the measurement."));
        let (class, word, text) = verdict(&with_live(&[]));
        assert_eq!((class, word, text.as_str()), ("muted", "", "No live run to judge."), "no verdict");
        let suspect = (Verdict::Suspect, "core 0 was 97 % busy");
        let (class, word, text) = verdict(&with_live(&[(Verdict::Valid, ""), suspect]));
        assert_eq!((class, word), ("warn", "SUSPECT"));
        assert_eq!(text, "1 of 2 live runs is not to be relied on: <strong>v1</strong>, since core 0 was 97 % busy.");
        let (.., text) = verdict(&with_live(&[suspect, (Verdict::Suspect, "core 0 was 99 % busy")]));
        let once = "<strong>all 2 live runs</strong>, since core 0 was 97 to 99 % busy (most: v1).";
        assert_eq!(text, format!("2 of 2 live runs are not to be relied on: {once}"));
        let mut report = with_live(&[]);
        report.verdict = Verdict::Incomplete;
        report.reasons = vec!["interrupted after 3 of 6 variants".to_owned()];
        let (class, word, text) = verdict(&report);
        assert_eq!((class, word, text.as_str()), ("bad", "INCOMPLETE", "interrupted after 3 of 6 variants."));
    }

    /// What stands in the place of a recovery time is explained above its table.
    #[test]
    fn a_recovery_without_a_number_is_explained() {
        let variant = |estimate: Option<Estimate>| {
            let mut answer = Answer::new(Engine::Sim);
            answer
                .measures
                .extend(estimate.map(|estimate| sojourn_stats::Measure::new("recovery_time", "s", estimate)));
            VariantAnswers { answers: vec![answer], ..VariantAnswers::default() }
        };
        let variants = vec![variant(Some(Estimate::TooFew { samples: 0 })), variant(None)];
        let page = of_faults(&Answers { variants, ..Answers::default() });
        assert!(page.contains("<td class=\"number\">never</td>") && page.contains("\u{2013}</td>"), "{page}");
        assert!(page.contains(" never: it had not recovered when the run ended."), "{page}");
        assert!(page.contains(" \u{2013} as a recovery: whether it recovered cannot be said"), "{page}");
    }

    #[test]
    fn outcome_digits_are_enough_to_find_the_row() {
        assert_eq!(six_digits(0.0831234567), "0.0831235");
        assert_eq!(six_digits(30969.0), "30969");
        assert_eq!(six_digits(0.25), "0.25");
        assert_eq!(six_digits(f64::INFINITY), "infinite");
    }
}
