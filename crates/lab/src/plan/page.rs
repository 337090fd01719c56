//! The page of a plan: one HTML file, like a run's report.

use sojourn_stats::{Dimension, Estimate};

use super::search::Fate;
use super::{Answered, Plan, with};
use crate::objective::Judgement;
use crate::report::html::{escape, page};
use crate::report::number::{is_share, significant};
use crate::report::plots::{costs, round_time};

pub(super) fn render(plan: &Plan, spec: &str) -> String {
    let body = [masthead(plan), offers(plan), reliefs(plan), traffic(plan), drawing(plan), candidates(plan)].concat();
    let spec = format!(
        "<section id=\"spec\">\n<h2>The file</h2>\n<details><summary>As it was read</summary>\n<pre>{}</pre></details>\n\
         </section>\n",
        escape(spec)
    );
    page(&plan.name, &(body + &spec))
}

/// `40 EUR a month`.
pub(super) fn cost(plan: &Plan, value: f64) -> String {
    format!("{} {}", significant(value), plan.unit).trim_end().to_owned()
}

fn masthead(plan: &Plan) -> String {
    let finding = match (plan.offers.first(), &plan.nearest) {
        (Some(best), _) => format!("<strong>{}</strong> for {}", escape(&best.label), escape(&cost(plan, best.cost))),
        (None, Some(nearest)) => {
            let misses: Vec<String> = nearest.answers.iter().filter_map(Answered::miss).collect();
            let nearest_is =
                format!("the nearest is <strong>{}</strong>, {}", escape(&nearest.label), escape(&misses.join(", ")));
            let hint = nearest.hint.as_ref().map_or(String::new(), |hint| format!(". {}", escape(hint)));
            match nearest.impossible.is_empty() {
                false => {
                    let why = escape(&nearest.impossible.join("; "));
                    format!("No candidate meets every objective, and none can: {why}; {nearest_is}{hint}")
                }
                true => format!("{}; {nearest_is}{hint}", plan.none_meets()),
            }
        }
        (None, None) => {
            let why = plan.no_candidate();
            why.map_or_else(|| plan.none_meets().to_owned(), |why| escape(&why))
        }
    };
    let left_out: String = plan.left_out().map(|why| format!(" {}.", escape(&why))).collect();
    let decided = plan.decided.as_ref().map_or(String::new(), |why| format!(" No cheaper: {}.", escape(why)));
    let growth = plan.growth.map_or(String::new(), |growth| match growth.fails {
        Some(fails) => {
            format!(" Its traffic may grow {:.2} times; at {fails:.2} times it misses or is undecided.", growth.holds)
        }
        None => format!(" Its traffic may grow {:.2} times and more.", growth.holds),
    });
    let objectives: Vec<String> = plan.objectives.iter().map(|text| format!("<code>{}</code>", escape(text))).collect();
    let facts = plan.tally.words();
    let interrupted = match (plan.interrupted, plan.cut_short) {
        (true, _) => "It was interrupted: something may be cheaper.",
        (false, true) => "It was interrupted: some of what follows the offers is missing.",
        (false, false) => "",
    };
    let interrupted = match interrupted {
        "" => String::new(),
        why => format!("<p class=\"verdict warn\"><strong>INCOMPLETE</strong> {why}</p>\n"),
    };
    let doubted = plan.doubted().map_or(String::new(), |doubted| {
        format!("<p class=\"verdict warn\"><strong>SUSPECT</strong> {}</p>\n", escape(&doubted))
    });
    format!(
        "<header>\n<p class=\"kicker\">Sojourn plan</p>\n<h1>{}</h1>\n<p class=\"question\">The cheapest that meets {}</p>\n\
         <p class=\"finding\">{finding}.{left_out}{decided}{growth}</p>\n{doubted}{interrupted}\
         <p class=\"facts\">{facts}</p>\n</header>\n",
        escape(&plan.name),
        objectives.join(" and "),
    )
}

/// What an objective's metric was found to be, in a cell.
fn cell(answer: &Answered) -> String {
    let class = match answer.judgement {
        Judgement::Holds => "good",
        _ => "bad",
    };
    format!("<td class=\"{class}\">{}</td>", escape(&told(answer)))
}

/// An answer in words: its number with its interval, in the unit of the limit.
pub(super) fn told(answer: &Answered) -> String {
    answer.measured().unwrap_or_else(|| "not measured".to_owned())
}

fn section(id: &str, heading: &str, head: &[String], rows: &str, caption: &str) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let head: String = head.iter().map(|name| format!("<th scope=\"col\">{}</th>", escape(name))).collect();
    format!(
        "<section id=\"{id}\">\n<h2>{heading}</h2>\n<div class=\"scroll\"><table class=\"plain\">\n<thead><tr>{head}</tr>\
         </thead>\n<tbody>\n{rows}</tbody></table></div>\n<p>{caption}</p>\n</section>\n"
    )
}

fn columns(first: &[&str], plan: &Plan) -> Vec<String> {
    first.iter().map(|name| (*name).to_owned()).chain(plan.objectives.iter().cloned()).collect()
}

fn offers(plan: &Plan) -> String {
    let nearest = plan.nearest.iter().map(|nearest| (&nearest.label, nearest.cost, &nearest.answers, String::new()));
    let offers = plan.offers.iter().map(|offer| {
        let parts: Vec<String> = offer
            .simulated
            .parts
            .iter()
            .map(|part| format!("{} {:.0} %", part.name, 100.0 * part.utilization))
            .collect();
        (&offer.label, offer.cost, &offer.simulated.answers, parts.join(", "))
    });
    let rows: String = offers
        .chain(nearest)
        .map(|(label, price, answers, busy)| {
            let cells: String = answers.iter().map(cell).collect();
            let (label, price) = (escape(label), escape(&cost(plan, price)));
            format!("<tr><th scope=\"row\">{label}</th><td>{price}</td><td>{}</td>{cells}</tr>\n", escape(&busy))
        })
        .collect();
    let caption = "From the cheapest. Numbers are simulated, with 95\u{a0}% intervals; an objective is met where it is over \
                   the whole interval. What is busiest is the bottleneck.";
    section("offers", "What meets the objectives", &columns(&["", "cost", "busy"], plan), &rows, caption)
}

fn reliefs(plan: &Plan) -> String {
    let rows: String = plan
        .reliefs
        .iter()
        .map(|relief| {
            let cells: String = relief.answers.iter().map(cell).collect();
            let what = format!("{}: {} \u{2192} {}", relief.key, relief.from, relief.to);
            let price = escape(&cost(plan, relief.cost));
            format!("<tr><th scope=\"row\">{}</th><td>{price}</td>{cells}</tr>\n", escape(&what))
        })
        .collect();
    let caption = "The cheapest with the next value of each choice, and what that costs more.";
    section("reliefs", "What more would buy", &columns(&["", "cost more"], plan), &rows, caption)
}

fn traffic(plan: &Plan) -> String {
    let rows: String = plan
        .traffic
        .iter()
        .map(|traffic| {
            let cells: String = traffic.answers.iter().map(cell).collect();
            let arrivals = escape(&traffic.arrivals);
            format!("<tr><th scope=\"row\">{}<br><code>{arrivals}</code></th>{cells}</tr>\n", escape(&traffic.name))
        })
        .collect();
    let caption = "The cheapest under other traffic. An agreement on service has to hold for the worst that may come.";
    section("traffic", "Other traffic", &columns(&[""], plan), &rows, caption)
}

fn drawing(plan: &Plan) -> String {
    let Some(objective) = plan.objectives.first() else { return String::new() };
    let points: Vec<costs::Point> = plan
        .asked
        .iter()
        .filter_map(|(_, cost, fate)| match fate {
            Fate::Meets(found) | Fate::Misses(found) => {
                let first = found.answers.first()?;
                let value = first.estimate.as_ref().and_then(Estimate::value)?;
                let interval = first.estimate.as_ref().and_then(Estimate::interval);
                let meets = matches!(fate, Fate::Meets(_));
                Some(costs::Point { cost: *cost, value, interval, meets, shortfall: found.shortfall() })
            }
            _ => None,
        })
        .collect();
    let first = plan.asked.iter().find_map(|(_, _, fate)| match fate {
        Fate::Meets(found) | Fate::Misses(found) => found.answers.first(),
        _ => None,
    });
    let Some(first) = first else { return String::new() };
    let label: fn(f64) -> String = match crate::objective::dimension(&first.metric) {
        Some(Dimension::Time) => round_time,
        _ if is_share(&first.metric) => |share| format!("{} %", significant(100.0 * share)),
        _ => significant,
    };
    costs::figure(&points, first.limit, label, objective, &plan.unit)
}

fn candidates(plan: &Plan) -> String {
    let rows: String = plan
        .asked
        .iter()
        .map(|(label, price, fate)| {
            let what = match fate {
                Fate::Overloaded { utilization, under } => {
                    let how = utilization.map_or("no server is left".into(), |of| format!("a utilisation of {of:.2}"));
                    format!("overloaded: {how}{}", with(under.as_deref()))
                }
                Fate::Excluded { answer, .. } => format!("theory: misses {}, {}", answer.what(), told(answer)),
                Fate::Meets(found) => {
                    format!("meets: {}", found.answers.iter().map(told).collect::<Vec<_>>().join(", "))
                }
                Fate::Misses(found) => {
                    let word = if found.is_decided() { "misses" } else { "not decided" };
                    let with_reason = |answer: &Answered| match answer.times_outdone {
                        Some(_) => format!("{} ({})", told(answer), answer.reason),
                        None => told(answer),
                    };
                    format!("{word}: {}", found.answers.iter().map(with_reason).collect::<Vec<_>>().join(", "))
                }
                Fate::Open | Fate::Weaker => return String::new(),
            };
            let (label, price) = (escape(label), escape(&cost(plan, *price)));
            format!("<tr><th scope=\"row\">{label}</th><td>{price}</td><td>{}</td></tr>\n", escape(&what))
        })
        .collect();
    let head = ["candidate", "cost", "what became of it"].map(str::to_owned);
    section("candidates", "Every candidate that was asked", &head, &rows, "")
}
