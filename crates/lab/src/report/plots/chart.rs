//! Points, curves and bands over two axes: what the plots of a description share.

mod beside;
mod cover;

use std::cmp::Reverse;

pub(in crate::report) use self::beside::Beside;
use self::cover::Cover;
pub(super) use self::cover::covers;
use super::canvas::{Align, Axis, Canvas, Ink, LAYERS, alone, svg};
use super::legend::{self, Entry};
use super::{dots, unanswered};
use crate::report::Engine;
use crate::report::html::{behind, escape};

const TEXT: f64 = 12.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 14.0;
/// Above the plot: the title of the vertical axis.
const TOP: f64 = 26.0;
/// The part of the width that is the plot's height.
const ASPECT: f64 = 0.58;
/// Below the plot: tick labels and the title of the axis, then a row for each series.
const BELOW: f64 = 46.0;
const ROW: f64 = 17.0;
/// From the left end of a series' mark to its name.
const MARK: f64 = 30.0;
/// The width of an engine's mark with its name.
const ENGINE: f64 = 90.0;
/// The size of names.
const NAME: f64 = TEXT - 0.5;
/// What the hollow mark of a formula is called.
pub(super) const APPROXIMATE: &str = "theory, approximate (hollow)";
/// More places than this along the axis are narrower than a finger or a pointer.
const PLACES_MAX: usize = 240;

/// A drawing.
pub(in crate::report) struct Chart {
    /// A file's name in a folder of plots, and the figure's id in a page.
    pub(in crate::report) id: String,
    pub(in crate::report) heading: String,
    /// What to see in it; HTML.
    pub(in crate::report) caption: String,
    pub(in crate::report) x: Side,
    pub(in crate::report) y: Side,
    pub(in crate::report) series: Vec<Series>,
    /// What is drawn beside the series, each in the colour of one of them.
    pub(in crate::report) beside: Vec<Beside>,
    /// The ink of each series, where that is not the one of its place.
    pub(in crate::report) inks: Vec<Ink>,
}

/// An axis.
pub(in crate::report) struct Side {
    pub(in crate::report) title: String,
    pub(in crate::report) log: bool,
    pub(in crate::report) label: fn(f64) -> String,
    /// Its ends; points beyond are not drawn.
    pub(in crate::report) ends: (f64, f64),
}

/// What is drawn of it.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::report) enum Mark {
    Dots,
    Line,
    /// A line that says when something is, or from when until when: its heights are no numbers, and no table has them.
    When,
    /// One polygon's outline on either side: points are (x, low) and (x, high) in turn.
    Band,
}

/// A series; its colour is its place among them, unless the chart says another.
pub(in crate::report) struct Series {
    pub(in crate::report) name: String,
    pub(in crate::report) mark: Mark,
    pub(in crate::report) points: Vec<(f64, f64)>,
}

impl Chart {
    /// As part of a page, `width` pixels wide at its natural size.
    pub(super) fn draw(&self, width: f64) -> String {
        svg(width, self.height(width), &self.heading, |canvas| self.on(canvas, width))
    }

    /// As a file of its own.
    pub(in crate::report) fn alone(&self) -> String {
        const WIDTH: f64 = 640.0;
        alone(WIDTH, self.height(WIDTH), &self.heading, |canvas| self.on(canvas, WIDTH))
    }

    fn height(&self, width: f64) -> f64 {
        let (x, y) = self.axes(width);
        let names: usize = self.legend(&self.covers(&x, &y), width).iter().map(|entry| entry.rows.len()).sum();
        let engines = self.engines().len().div_ceil(engines_in_a_row(width)) + usize::from(self.is_approximate());
        TOP + width * ASPECT + BELOW + ROW * (names + engines + self.note(width).len()) as f64
    }

    fn axes(&self, width: f64) -> (Axis, Axis) {
        (axis(&self.x, LEFT, width - RIGHT), axis(&self.y, TOP + width * ASPECT, TOP))
    }

    /// The names of the series, as they have room.
    fn legend(&self, covers: &[Cover], width: f64) -> Vec<Entry> {
        let names: Vec<&str> = self.series.iter().map(|of| of.name.as_str()).collect();
        let lies_on: Vec<Option<usize>> = covers.iter().map(|cover| cover.lowest).collect();
        legend::entries(&names, &lies_on, legend::room(width - LEFT - MARK - RIGHT, NAME))
    }

    fn ink(&self, index: usize) -> Ink {
        self.inks.get(index).copied().unwrap_or_else(|| Ink::of_series(index))
    }

    /// The engines that have marks beside the series; a formula's that are approximate have a name of their own.
    fn engines(&self) -> Vec<Engine> {
        let has = |of: &Engine| {
            let is_named = |it: &Beside| matches!(it, Beside::Marker { engine, .. } if engine == of);
            self.beside.iter().any(|it| is_named(it) && !it.is_approximate())
        };
        Engine::ALL.into_iter().filter(has).collect()
    }

    /// Whether a mark is of an approximate formula.
    fn is_approximate(&self) -> bool {
        self.beside.iter().any(Beside::is_approximate)
    }

    /// The marks of numbers that are not of all requests.
    fn crosses(&self) -> impl Iterator<Item = &Beside> {
        self.beside.iter().filter(|it| it.is_cross())
    }

    /// What crosses stand for, in rows; none where there are none.
    fn note(&self, width: f64) -> Vec<String> {
        match self.crosses().next() {
            Some(_) => unanswered::note_in_rows(width - LEFT - MARK - RIGHT, NAME),
            None => Vec::new(),
        }
    }

    /// For each series, which others it lies on or under.
    fn covers(&self, x: &Axis, y: &Axis) -> Vec<Cover> {
        let place = |series: &Series| match series.mark {
            Mark::Line | Mark::When => shown(series, x, y).collect(),
            Mark::Dots | Mark::Band => Vec::new(),
        };
        covers(&self.series.iter().map(place).collect::<Vec<_>>())
    }

    fn on(&self, canvas: &Canvas, width: f64) {
        let (right, bottom) = (width - RIGHT, TOP + width * ASPECT);
        let (x, y) = self.axes(width);
        for tick in y.ticks(8) {
            let at = y.at(tick);
            canvas.bar((LEFT, at - 0.4), (right, at + 0.4), Ink::Grid, 1.0);
            canvas.text(&(self.y.label)(tick), (LEFT - 6.0, at), Align::Right, TEXT - 1.0, Ink::Muted);
        }
        canvas.text(&self.y.title, (4.0, 10.0), Align::Left, TEXT - 1.0, Ink::Text);
        dots::x_axis(canvas, &x, TOP, bottom, if width < 400.0 { 4 } else { 7 }, self.x.label, &self.x.title);
        // Below the lines what is the widest, above them one engine's marks on the other's.
        self.of_engine(LAYERS[0], canvas, (&x, &y));
        let covers = self.covers(&x, &y);
        // What is wide lies below what it would hide: bands, then lines that others lie on, the widest first.
        let mut order: Vec<usize> = (0..self.series.len()).collect();
        order.sort_by_key(|index| (self.series[*index].mark != Mark::Band, Reverse(covers[*index].above)));
        for index in order {
            draw(canvas, &self.series[index], (self.ink(index), covers[index]), &x, &y);
        }
        LAYERS[1..].iter().for_each(|engine| self.of_engine(*engine, canvas, (&x, &y)));
        self.crosses().for_each(|cross| cross.draw(canvas, |series| self.ink(series), (&x, &y)));
        self.tell(canvas, (&x, bottom));
        let mut at = bottom + BELOW;
        for (index, Entry { rows, whole }) in self.legend(&covers, width).into_iter().enumerate() {
            match self.series[index].mark {
                Mark::Dots => canvas.dot((LEFT + 11.0, at), 2.4, self.ink(index)),
                Mark::Line | Mark::When => {
                    canvas.path(&[(LEFT, at), (LEFT + 22.0, at)], self.ink(index), 1.0, 1.8);
                }
                Mark::Band => canvas.bar((LEFT, at - 5.0), (LEFT + 22.0, at + 5.0), self.ink(index), BAND),
            }
            let top = at - 0.5 * ROW;
            for row in &rows {
                canvas.text(row, (LEFT + MARK, at), Align::Left, NAME, Ink::Text);
                at += ROW;
            }
            if let Some(whole) = whole {
                canvas.tell(&whole, (LEFT, top), (right, at - 0.5 * ROW));
            }
        }
        let in_a_row = engines_in_a_row(width);
        for (index, engine) in self.engines().into_iter().enumerate() {
            let at = (LEFT + 11.0 + ENGINE * (index % in_a_row) as f64, at + ROW * (index / in_a_row) as f64);
            canvas.layered(engine, Ink::Muted, at, false);
            canvas.text(engine.name(), (at.0 + 19.0, at.1), Align::Left, NAME, Ink::Text);
        }
        let mut at = at + ROW * self.engines().len().div_ceil(in_a_row) as f64;
        if self.is_approximate() {
            canvas.layered(Engine::Theory, Ink::Muted, (LEFT + 11.0, at), true);
            canvas.text(APPROXIMATE, (LEFT + MARK, at), Align::Left, NAME, Ink::Text);
            at += ROW;
        }
        let note = self.note(width);
        if !note.is_empty() {
            unanswered::entry(canvas, (LEFT + 11.0, at), LEFT + MARK, &note, (NAME, ROW));
        }
    }

    /// The marks of an engine above its intervals.
    fn of_engine(&self, engine: Engine, canvas: &Canvas, axes: (&Axis, &Axis)) {
        let own = self.beside.iter().filter(|it| it.engine() == engine && !it.is_cross());
        let (intervals, marks): (Vec<&Beside>, Vec<&Beside>) =
            own.partition(|it| matches!(it, Beside::Interval { .. }));
        intervals.into_iter().chain(marks).for_each(|it| it.draw(canvas, |series| self.ink(series), axes));
    }
}

/// How many engines' marks have room beside each other.
fn engines_in_a_row(width: f64) -> usize {
    ((width - LEFT - RIGHT) / ENGINE).floor().max(1.0) as usize
}

impl Chart {
    /// The numbers behind it: a row for each place along the axis, evenly thinned where there are too many to read.
    pub(super) fn table(&self) -> String {
        let told = || self.series.iter().filter(|of| of.mark != Mark::When);
        let mut places: Vec<f64> = told().flat_map(|of| of.points.iter().map(|point| point.0)).collect();
        places.retain(|place| self.x.ends.0 <= *place && *place <= self.x.ends.1);
        places.sort_unstable_by(f64::total_cmp);
        places.dedup();
        let (all, every) = (places.len(), places.len().div_ceil(PLACES_MAX).max(1));
        let places = places.into_iter().step_by(every);
        let remark = match every {
            1 => String::new(),
            _ => format!("<p>Every {every}th of {all} places.</p>\n"),
        };
        let value = |series: &Series, place: f64| {
            let from = series.points.partition_point(|point| point.0 < place);
            let here = series.points[from..].iter().take_while(|point| point.0 == place);
            let told: Vec<String> = here.map(|point| (self.y.label)(point.1)).collect();
            if told.is_empty() { "\u{2013}".into() } else { told.join(" to ") }
        };
        let row = |place: f64| {
            let values = told().map(|series| value(series, place));
            std::iter::once((self.x.label)(place)).chain(values).collect()
        };
        let rows: Vec<Vec<String>> = places.map(row).collect();
        let head: Vec<String> =
            std::iter::once(&self.x.title).chain(told().map(|of| &of.name)).map(|name| escape(name)).collect();
        behind(&escape(&self.heading), &head, &rows, &remark)
    }

    /// Where there are few enough places along the axis to point at one, the numbers of each.
    fn tell(&self, canvas: &Canvas, (x, bottom): (&Axis, f64)) {
        let lines = || self.series.iter().filter(|series| series.mark == Mark::Line);
        let mut places: Vec<f64> = lines().flat_map(|series| series.points.iter().map(|point| point.0)).collect();
        places.retain(|place| x.shows(*place));
        places.sort_unstable_by(f64::total_cmp);
        places.dedup();
        if places.len() > PLACES_MAX {
            return;
        }
        for (index, &place) in places.iter().enumerate() {
            let halfway = |other: Option<&f64>| other.map(|other| 0.5 * (x.at(place) + x.at(*other)));
            let left = halfway(index.checked_sub(1).and_then(|before| places.get(before))).unwrap_or(LEFT);
            let right = halfway(places.get(index + 1)).unwrap_or(x.at(f64::INFINITY));
            let value = |series: &Series| {
                let point = series.points.iter().find(|point| point.0 == place)?;
                Some(format!("{} {}", series.name, (self.y.label)(point.1)))
            };
            let values: Vec<String> = lines().filter_map(value).collect();
            let name = |series: usize| self.series[series].name.as_str();
            let lost: Vec<String> = self.crosses().filter_map(|cross| cross.told(place, name)).collect();
            let lost = match lost.is_empty() {
                true => String::new(),
                false => format!("; failed or given up: {}", lost.join(", ")),
            };
            let told = format!("{}: {}{lost}", (self.x.label)(place), values.join(", "));
            canvas.tell(&told, (left, TOP), (right, bottom));
        }
    }
}

fn axis(side: &Side, from: f64, to: f64) -> Axis {
    let (low, high) = side.ends;
    if side.log { Axis::log(low, high, from, to) } else { Axis::linear(low, high, from, to) }
}

/// How much of what is below it a band hides.
const BAND: f64 = 0.15;

/// The points of a series that the axes show, on the canvas.
fn shown<'a>(series: &'a Series, x: &'a Axis, y: &'a Axis) -> impl Iterator<Item = (f64, f64)> + 'a {
    let within = series.points.iter().filter(|(at, value)| x.shows(*at) && y.shows(*value));
    within.map(|(at, value)| (x.at(*at), y.at(*value)))
}

fn draw(canvas: &Canvas, series: &Series, (ink, cover): (Ink, Cover), x: &Axis, y: &Axis) {
    match series.mark {
        Mark::Dots => shown(series, x, y).for_each(|point| canvas.dot(point, 1.7, ink)),
        Mark::Line | Mark::When => {
            let points: Vec<(f64, f64)> = shown(series, x, y).collect();
            if points.len() > 1 {
                let (width, opacity) = cover.widened(1.7);
                canvas.path(&points, ink, opacity, width);
            }
        }
        Mark::Band => {
            for pair in series.points.chunks_exact(2).collect::<Vec<_>>().windows(2) {
                let (left, right) = (x.at(pair[0][0].0), x.at(pair[1][0].0));
                canvas.bar((left, y.at(pair[0][1].1)), (right, y.at(pair[0][0].1)), ink, BAND);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::cover::widened;
    use super::*;

    #[test]
    fn a_chart_stands_alone_and_draws_only_what_is_within() {
        let side =
            |title: &str, log| Side { title: title.into(), log, label: |value| format!("{value}"), ends: (1.0, 100.0) };
        let chart = Chart {
            id: "x".into(),
            heading: "a <b>".into(),
            caption: String::new(),
            x: side("x", true),
            y: side("y", false),
            series: vec![
                Series { name: "dots".into(), mark: Mark::Dots, points: vec![(1.0, 1.0), (10.0, 5.0), (1e3, 5.0)] },
                Series { name: "line".into(), mark: Mark::Line, points: vec![(1.0, 2.0), (50.0, 90.0)] },
                Series {
                    name: "band".into(),
                    mark: Mark::Band,
                    points: vec![(1.0, 2.0), (1.0, 3.0), (9.0, 2.0), (9.0, 3.0)],
                },
            ],
            inks: Vec::new(),
            beside: vec![
                Beside::Interval { series: 1, engine: Engine::Sim, at: 10.0, low: 5.0, high: 50.0 },
                Beside::Marker { series: 1, engine: Engine::Theory, at: 10.0, value: 9.0, hollow: true },
            ],
        };
        let text = chart.alone();
        assert!(text.starts_with("<svg xmlns=") && text.contains("<title>a &lt;b&gt;</title>"), "{text}");
        assert!(text.contains("<title>50: line 90</title>") && text.matches("<rect").count() > 2, "{text}");
        assert_eq!(text.matches("<circle").count(), 3, "two points and the legend's");
        assert_eq!(text.matches("<polyline").count(), 2, "the line and the legend's");
        assert!(text.contains("<polygon") && text.contains(&format!(">\n{APPROXIMATE}\n</text>")), "{text}");
        assert!(!text.contains(">\ntheory\n</text>"), "no formula is exact: {text}");
        assert!(
            text.find("<polygon").unwrap() < text.find("<polyline").unwrap(),
            "a formula's mark lies below: {text}"
        );
        assert!(text.contains("f-series-0") && text.contains("s-series-1") && text.contains("f-series-2"));
    }

    #[test]
    fn lines_that_lie_on_each_other_are_both_seen_and_said_to() {
        let line =
            |name: &str, points: &[(f64, f64)]| Series { name: name.into(), mark: Mark::Line, points: points.to_vec() };
        let side = |title: &str| Side {
            title: title.into(),
            log: false,
            label: |value| format!("{value}"),
            ends: (0.0, 100.0),
        };
        let chart = Chart {
            id: "x".into(),
            heading: "equal policies".into(),
            caption: String::new(),
            x: side("load"),
            y: side("time"),
            series: vec![
                line("random", &[(10.0, 10.0), (90.0, 80.0)]),
                line("round-robin", &[(10.0, 5.0), (90.0, 40.0)]),
                line("shuffled", &[(10.0, 10.1), (90.0, 80.1)]),
            ],
            beside: Vec::new(),
            inks: Vec::new(),
        };
        let text = chart.alone();
        assert!(text.contains("shuffled (lies on random)"), "{text}");
        assert!(!text.contains("round-robin (lies"), "{text}");
        // Two lines and their names as they are, and what is below another by as much wider (tenths of a pixel).
        let wide = |tenths: f64| text.matches(&format!("stroke-width=\"{tenths:.0}\"")).count();
        // And it is drawn first, so that it hides none.
        let place = |tenths: f64| text.find(&format!("stroke-width=\"{tenths:.0}\"")).expect("it is drawn");
        assert!(place(10.0 * widened(1.7, 1)) < place(17.0), "{text}");
        assert_eq!((wide(10.0 * widened(1.7, 1)), wide(17.0)), (1, 2), "{text}");
    }
}
