//! Who got the requests: one bar per variant and engine, one segment per server.

use super::canvas::{Align, Axis, Ink, svg};
use super::{Figure, both, dots, drawn, left_out};
use crate::report::html::{behind, escape};
use crate::report::{Answers, Engine, VariantAnswers};

const NAMES: f64 = 116.0;
const MARGIN: f64 = 22.0;
const TEXT: f64 = 13.0;
const LABEL: f64 = 24.0;
const ROW: f64 = 21.0;
const GAP: f64 = 9.0;
const FOOT: f64 = 42.0;
/// More segments than this cannot be told apart.
const MOST_SERVERS: usize = 24;

pub(super) fn figure(report: &Answers) -> String {
    let heading = "Who got the requests";
    let (variants, rest) = drawn(report);
    let groups: Vec<Group> = variants
        .iter()
        .map(|v| (v.label.as_str(), Engine::ALL.into_iter().filter_map(|e| Some((e, of(v, e)?))).collect::<Vec<_>>()))
        .filter(|(_, rows)| !rows.is_empty())
        .collect();
    let Some(servers) = groups.iter().flat_map(|(_, rows)| rows).map(|(_, shares)| shares.len()).max() else {
        return left_out(heading, "no engine gave the share of each server");
    };
    if servers > MOST_SERVERS {
        return left_out(heading, &format!("{servers} servers cannot be told apart in a plot; see the outcomes"));
    }
    let drawing = both(|width| Some(draw(&groups, width))).unwrap_or_default();
    let caption = format!(
        "One segment per server, the first at the left, with its percentage where there is room. The ticks on top of a \
         bar are where the borders would be if every server got the same number of requests. A fair share of requests \
         is not a fair share of work: sizes differ.{rest}"
    );
    let names = ["variant".to_owned(), "engine".to_owned()];
    let head: Vec<String> = names.into_iter().chain((1..=servers).map(|server| format!("server {server}"))).collect();
    let row = |(label, engine, shares): (&str, Engine, &Vec<f64>)| {
        let shares = shares.iter().map(|share| percent(*share));
        [escape(label), engine.name().to_owned()].into_iter().chain(shares).collect()
    };
    let lines =
        groups.iter().flat_map(|(label, rows)| rows.iter().map(move |(engine, shares)| (*label, *engine, shares)));
    let table = behind(heading, &head, &lines.map(row).collect::<Vec<_>>(), "");
    let drawings = vec![drawing];
    Figure { id: "plot-shares", heading, columns: "one", legend: String::new(), drawings, caption, table }.html()
}

fn percent(share: f64) -> String {
    format!("{:.1}\u{a0}%", share * 100.0)
}

/// The rows of one variant: its label, and the shares by engine.
type Group<'a> = (&'a str, Vec<(Engine, Vec<f64>)>);

fn draw(groups: &[Group], width: f64) -> String {
    let height = groups.iter().map(|(_, rows)| LABEL + ROW * rows.len() as f64 + GAP).sum::<f64>() + FOOT;
    let axis = Axis::linear(0.0, 1.0, NAMES, width - MARGIN);
    svg(width, height, "Share of the requests that each server got, by variant and engine", |canvas| {
        dots::x_axis(
            canvas,
            &axis,
            height - FOOT,
            height - FOOT,
            dots::ticks(width),
            |v| format!("{:.0}\u{a0}%", v * 100.0),
            "share of requests",
        );
        let mut y = 0.0;
        for (label, rows) in groups {
            dots::label(canvas, label, y, width);
            y += LABEL;
            for (engine, shares) in rows {
                let middle = y + ROW / 2.0;
                canvas.text(engine.name(), (NAMES - 8.0, middle), Align::Right, TEXT - 1.0, Ink::Engine(*engine));
                let mut from = 0.0;
                for (i, share) in shares.iter().enumerate() {
                    let (left, right) = (axis.at(from), axis.at(from + share));
                    let opacity = if i % 2 == 0 { 1.0 } else { 0.86 };
                    if right - left > 1.2 {
                        canvas.bar((left + 0.6, y + 2.0), (right - 0.6, y + ROW - 2.0), Ink::Engine(*engine), opacity);
                    }
                    if right - left > 38.0 {
                        let text = format!("{:.1}", share * 100.0);
                        canvas.text(&text, ((left + right) / 2.0, middle), Align::Center, TEXT - 1.5, Ink::Paper);
                    }
                    let told = format!("{label}, {}: server {} {}", engine.name(), i + 1, percent(*share));
                    canvas.tell(&told, (left, y), (right, y + ROW));
                    from += share;
                }
                // Where the borders would be if all got the same.
                for i in 1..shares.len() {
                    let x = axis.at(i as f64 / shares.len() as f64);
                    canvas.bar((x - 0.6, y - 0.5), (x + 0.6, y + 3.5), Ink::Text, 1.0);
                }
                y += ROW;
            }
            y += GAP;
        }
    })
}

/// The shares `share_1`, `share_2`, ... in the order of the servers.
fn of(variant: &VariantAnswers, engine: Engine) -> Option<Vec<f64>> {
    let mut shares: Vec<(u32, f64)> = variant
        .answer(engine)?
        .measures
        .iter()
        .filter_map(|m| Some((m.metric.strip_prefix("share_")?.parse().ok()?, m.estimate.value()?)))
        .filter(|(_, share)| (0.0..=1.0).contains(share))
        .collect();
    shares.sort_by_key(|(server, _)| *server);
    let equal = shares.iter().all(|(_, share)| *share == shares[0].1);
    if engine == Engine::Theory && equal {
        // Symmetry, which the ticks on the bars show already.
        return None;
    }
    (!shares.is_empty()).then(|| shares.into_iter().map(|(_, share)| share).collect())
}
