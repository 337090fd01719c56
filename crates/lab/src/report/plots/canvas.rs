//! A small drawing board over plotters: tenths of a pixel, colours by meaning, and axes.

use std::cell::RefCell;

pub(super) use super::ink::Ink;
use super::ink::STYLE;
use crate::report::{Engine, html};
use plotters::coord::Shift;
use plotters::coord::combinators::{IntoLogRange, LogCoord};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// plotters places everything on whole units, so a drawing has this many units per pixel; the page scales it.
const UNITS: f64 = 10.0;

/// The engines in the order in which their marks lie above each other, where several have a number at one place
/// ([`Canvas::layered`]).
pub(super) const LAYERS: [Engine; 5] = [Engine::Theory, Engine::Log, Engine::Twin, Engine::Live, Engine::Sim];

/// How large an engine's mark is among those of others (pixels): the lower it lies, the larger, so that all are seen where the
/// engines agree.
pub(super) fn size(engine: Engine) -> f64 {
    match engine {
        Engine::Theory => 6.0,
        Engine::Log => 5.6,
        Engine::Twin => 5.0,
        Engine::Live => 3.8,
        Engine::Sim => 2.0,
    }
}

/// How wide the edge of a mark is of which the inside shows something (pixels).
const EDGE: f64 = 0.9;
/// How much of what is below the inside of a formula's mark hides.
const PALE: f64 = 0.3;

/// Where text hangs on its point.
#[derive(Clone, Copy)]
pub(super) enum Align {
    Left,
    Center,
    Right,
}

/// A drawing in progress; coordinates are pixels at the drawing's natural size.
pub(super) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
    /// Elements that lie above all that is drawn.
    titles: RefCell<String>,
}

/// An SVG of that size with `title` (which also tells those who do not see it what it shows), drawn by `draw`.
pub(super) fn svg(width: f64, height: f64, title: &str, draw: impl FnOnce(&Canvas)) -> String {
    let mut raw = String::new();
    let titles = {
        let size = ((width * UNITS) as u32, (height * UNITS) as u32);
        let area = SVGBackend::with_string(&mut raw, size).into_drawing_area();
        let canvas = Canvas { area, titles: RefCell::default() };
        draw(&canvas);
        canvas.area.present().expect(IN_MEMORY);
        canvas.titles.into_inner()
    };
    let drawing = restyle(&raw, width, height, title);
    match drawing.trim_end().strip_suffix("</svg>") {
        Some(inside) if !titles.is_empty() => format!("{inside}{TOLD}{titles}</g>\n</svg>\n"),
        _ => drawing,
    }
}

/// Around all that is told where one points at it, which stands behind what is drawn.
const TOLD: &str = "<g fill=\"none\" pointer-events=\"all\">\n";

/// A drawing without what is told where one points at it.
pub(super) fn silent(drawing: &str) -> String {
    drawing.split_once(TOLD).map_or_else(|| drawing.to_owned(), |(drawn, _)| format!("{drawn}</svg>\n"))
}

/// The same in a file of its own, with its size and its style sheet.
pub(super) fn alone(width: f64, height: f64, title: &str, draw: impl FnOnce(&Canvas)) -> String {
    let head =
        format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" class=\"plot\"");
    svg(width, height, title, draw).replacen("<svg class=\"plot\"", &head, 1).replacen(
        "</title>",
        &format!("</title>\n<style>{STYLE}</style>"),
        1,
    )
}

const IN_MEMORY: &str = "drawing into a string cannot fail";

/// Turns what plotters wrote into an inline element of the page: it scales with the page, has a name, and takes its
/// colours and its font from the style sheet. User text is safe from this: plotters escapes quotes in text.
fn restyle(raw: &str, width: f64, height: f64, title: &str) -> String {
    let body = raw.split_once(">\n").map_or("", |(_, body)| body);
    let mut body = body.replace(" opacity=\"1\"", "").replace(" font-family=\"sans-serif\"", "");
    for ink in Ink::all() {
        let color = format!("#0000{:02X}", ink.code());
        body = body.replace(&format!("fill=\"{color}\""), &format!("class=\"f-{}\"", ink.class()));
        body = body.replace(&format!("stroke=\"{color}\""), &format!("class=\"s-{}\"", ink.class()));
    }
    let title = html::escape(title);
    format!(
        "<svg class=\"plot\" role=\"img\" aria-label=\"{title}\" viewBox=\"0 0 {} {}\">\n<title>{title}</title>\n{body}",
        width * UNITS,
        height * UNITS
    )
}

impl Canvas<'_> {
    /// A line through `points`, `width` pixels wide.
    pub(super) fn path(&self, points: &[(f64, f64)], ink: Ink, opacity: f64, width: f64) {
        let points: Vec<(i32, i32)> = points.iter().map(|p| units(*p)).collect();
        self.area
            .draw(&PathElement::new(points, ink.color(opacity).stroke_width(length(width) as u32)))
            .expect(IN_MEMORY);
    }

    /// A filled rectangle from one corner to the other.
    pub(super) fn bar(&self, from: (f64, f64), to: (f64, f64), ink: Ink, opacity: f64) {
        self.area.draw(&Rectangle::new([units(from), units(to)], ink.color(opacity).filled())).expect(IN_MEMORY);
    }

    /// `text` at `at`, vertically centred on it.
    pub(super) fn text(&self, text: &str, at: (f64, f64), align: Align, size: f64, ink: Ink) {
        self.write(text, at, align, size, ink, FontStyle::Normal);
    }

    /// The same in bold.
    pub(super) fn bold(&self, text: &str, at: (f64, f64), align: Align, size: f64, ink: Ink) {
        self.write(text, at, align, size, ink, FontStyle::Bold);
    }

    fn write(&self, text: &str, at: (f64, f64), align: Align, size: f64, ink: Ink, font: FontStyle) {
        let h = match align {
            Align::Left => HPos::Left,
            Align::Center => HPos::Center,
            Align::Right => HPos::Right,
        };
        // plotters divides font sizes by 1.24 on the way to SVG.
        let style = ("sans-serif", size * UNITS * 1.24, font).into_font().color(&ink.color(1.0));
        let text: String = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
        self.area.draw(&Text::new(text, units(at), style.pos(Pos::new(h, VPos::Center)))).expect(IN_MEMORY);
    }

    /// Says `text` where one points between these corners. No script: it is the title of a rectangle without a colour.
    pub(super) fn tell(&self, text: &str, (left, top): (f64, f64), (right, bottom): (f64, f64)) {
        let ((x, y), (width, height)) = (units((left, top)), units((right - left, bottom - top)));
        self.titles.borrow_mut().push_str(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"><title>{}</title></rect>\n",
            html::escape(text)
        ));
    }

    /// A filled circle.
    pub(super) fn dot(&self, at: (f64, f64), radius: f64, ink: Ink) {
        self.area.draw(&Circle::new(units(at), length(radius), ink.color(1.0).filled())).expect(IN_MEMORY);
    }

    /// The engine's marker at `at` in its colour, with a halo so that it stands off what lies under it.
    pub(super) fn marker(&self, engine: Engine, at: (f64, f64), radius: f64, hollow: bool) {
        self.shape(engine, at, radius + 1.2, Ink::Paper.color(1.0).filled());
        self.shape(engine, at, radius, Ink::Engine(engine).color(1.0).filled());
        if hollow {
            self.shape(engine, at, radius - 1.6, Ink::Paper.color(1.0).filled());
        }
    }

    /// The engine's mark where those of others may stand at the same place, drawn in the order of [`LAYERS`], each of its own
    /// [`size`]. That of a formula, which others and their intervals lie on, is pale inside.
    pub(super) fn layered(&self, engine: Engine, ink: Ink, at: (f64, f64), hollow: bool) {
        let radius = size(engine);
        let is_pale = engine == Engine::Theory;
        if !is_pale {
            self.shape(engine, at, radius + EDGE, Ink::Paper.color(1.0).filled());
        }
        self.shape(engine, at, radius, ink.color(1.0).filled());
        if hollow || is_pale {
            self.shape(engine, at, radius - EDGE, Ink::Paper.color(1.0).filled());
        }
        if is_pale && !hollow {
            self.shape(engine, at, radius - EDGE, ink.color(PALE).filled());
        }
    }

    /// The form that stands for an engine.
    fn shape(&self, engine: Engine, at: (f64, f64), radius: f64, style: ShapeStyle) {
        let corner = |dx: f64, dy: f64| units((at.0 + dx * radius, at.1 + dy * radius));
        let drawn = match engine {
            Engine::Theory => {
                let corners = vec![corner(0.0, -1.25), corner(1.25, 0.0), corner(0.0, 1.25), corner(-1.25, 0.0)];
                self.area.draw(&Polygon::new(corners, style))
            }
            Engine::Sim => self.area.draw(&Circle::new(units(at), length(radius), style)),
            Engine::Live => self.area.draw(&Rectangle::new([corner(-0.9, -0.9), corner(0.9, 0.9)], style)),
            Engine::Log => self.area.draw(&Rectangle::new([corner(-1.15, -0.6), corner(1.15, 0.6)], style)),
            Engine::Twin => {
                let corners = vec![corner(0.0, -1.2), corner(1.15, 0.85), corner(-1.15, 0.85)];
                self.area.draw(&Polygon::new(corners, style))
            }
        };
        drawn.expect(IN_MEMORY);
    }

    /// An interval as a line with end caps, unless a marker would hide most of it.
    pub(super) fn interval(&self, engine: Engine, from: f64, to: f64, y: f64) {
        if to - from < 16.0 {
            return;
        }
        let ink = Ink::Engine(engine);
        self.bar((from, y - 0.9), (to, y + 0.9), ink, 1.0);
        for x in [from, to] {
            self.bar((x - 0.7, y - 4.0), (x + 0.7, y + 4.0), ink, 1.0);
        }
    }
}

fn length(pixels: f64) -> i32 {
    (pixels * UNITS).round() as i32
}

fn units((x, y): (f64, f64)) -> (i32, i32) {
    (length(x), length(y))
}

/// Maps values to pixels.
pub(super) struct Axis {
    coord: Coord,
    low: f64,
    high: f64,
    ends: (i32, i32),
}

enum Coord {
    Linear(RangedCoordf64),
    Log(LogCoord<f64>),
}

impl Axis {
    /// A linear axis from `low` at pixel `from` to `high` at pixel `to`.
    pub(super) fn linear(low: f64, high: f64, from: f64, to: f64) -> Axis {
        let high = if high > low { high } else { low + 1.0 };
        Axis { coord: Coord::Linear((low..high).into()), low, high, ends: (length(from), length(to)) }
    }

    /// A logarithmic axis; both ends are positive, and are moved outward to 1, 2 or 5 times a power of ten.
    pub(super) fn log(low: f64, high: f64, from: f64, to: f64) -> Axis {
        let (low, high) = (step_below(low), step_above(high));
        let high = if high > low { high } else { low * 10.0 };
        Axis { coord: Coord::Log((low..high).log_scale().into()), low, high, ends: (length(from), length(to)) }
    }

    /// The pixel of `value`; what lies outside is at the nearer end.
    pub(super) fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        let units = match &self.coord {
            Coord::Linear(coord) => coord.map(&value, self.ends),
            Coord::Log(coord) => coord.map(&value, self.ends),
        };
        f64::from(units) / UNITS
    }

    /// Whether `value` lies on the axis.
    pub(super) fn shows(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Round values along the axis, at most about `most`.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        // Without what sums of floating point are off: 0.6, and not 0.6000000000000001.
        let rounded = |tick: f64| format!("{tick:.9e}").parse().unwrap_or(tick);
        match &self.coord {
            Coord::Linear(coord) => coord.key_points(most).into_iter().map(rounded).collect(),
            Coord::Log(_) => log_ticks(self.low, self.high, most).into_iter().map(rounded).collect(),
        }
    }

    pub(super) fn is_log(&self) -> bool {
        matches!(self.coord, Coord::Log(_))
    }

    pub(super) fn high(&self) -> f64 {
        self.high
    }
}

/// The largest of 1, 2, 5 times a power of ten that is at most `value`.
fn step_below(value: f64) -> f64 {
    let decade = 10f64.powi(value.log10().floor() as i32);
    let steps = [5.0, 2.0, 1.0].map(|step| step * decade);
    steps.into_iter().find(|step| *step <= value * (1.0 + 1e-9)).unwrap_or(decade)
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `value`.
fn step_above(value: f64) -> f64 {
    let decade = 10f64.powi(value.log10().floor() as i32);
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
    steps.into_iter().find(|step| *step >= value * (1.0 - 1e-9)).unwrap_or(decade * 10.0)
}

fn log_ticks(low: f64, high: f64, most: usize) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let between = |steps: &[f64], every: usize| {
        let decades = (first..=last).filter(|k| k.rem_euclid(every as i32) == 0);
        let ticks = decades.flat_map(|k| steps.iter().map(move |step| step * 10f64.powi(k)));
        ticks.filter(|t| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(t)).collect::<Vec<f64>>()
    };
    let mut fine = [&[1.0, 2.0, 5.0][..], &[1.0, 3.0]].into_iter().map(|steps| between(steps, 1));
    if let Some(ticks) = fine.find(|ticks| ticks.len() <= most) {
        return ticks;
    }
    (1..).map(|every| between(&[1.0], every)).find(|ticks| ticks.len() <= most.max(1)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        for most in 2..10 {
            for tick in Axis::linear(0.48, 0.95, 0.0, 300.0).ticks(most) {
                assert!(tick.to_string().len() <= 5, "{tick} of {most}");
            }
        }
    }

    #[test]
    fn log_axes_end_on_round_values_and_tick_there() {
        let axis = Axis::log(0.0023, 0.83, 0.0, 300.0);
        assert!((axis.low - 0.002).abs() < 1e-12 && (axis.high - 1.0).abs() < 1e-12, "{} {}", axis.low, axis.high);
        assert_eq!(axis.ticks(4).len(), 3, "decades");
        assert_eq!(axis.ticks(6).len(), 6, "3 ms, 10 ms, ... 1 s");
        assert_eq!(Axis::log(1.0, 10.0, 0.0, 300.0).ticks(4), vec![1.0, 2.0, 5.0, 10.0]);
        assert_eq!(axis.at(0.0), 0.0);
        assert_eq!(axis.at(7.0), 300.0);
        assert!(Axis::log(1e-9, 1e9, 0.0, 1.0).ticks(4).len() <= 4);
    }

    /// Where all engines have one number, of each mark a part is seen that no mark above it hides.
    #[test]
    fn all_marks_of_one_place_are_seen() {
        /// The least of a mark that an eye finds, in hundredths of a square pixel.
        const SEEN: usize = 400;
        let is_within = |engine: Engine, size: f64, (x, y): (f64, f64)| match engine {
            Engine::Theory => x.abs() + y.abs() <= 1.25 * size,
            Engine::Log => x.abs() <= 1.15 * size && y.abs() <= 0.6 * size,
            Engine::Twin => y <= 0.85 * size && x.abs() <= 1.15 * (y + 1.2 * size) / 2.05,
            Engine::Live => x.abs().max(y.abs()) <= 0.9 * size,
            Engine::Sim => x.hypot(y) <= size,
        };
        assert_eq!(BTreeSet::from(LAYERS).len(), Engine::ALL.len(), "each has a layer");
        for (place, engine) in LAYERS.into_iter().enumerate() {
            let is_seen = |at: &(f64, f64)| {
                let hides = |above: &Engine| is_within(*above, size(*above) + EDGE, *at);
                is_within(engine, size(engine), *at) && !LAYERS[place + 1..].iter().any(hides)
            };
            let tenths = || (-80..=80).map(|tenth| f64::from(tenth) / 10.0);
            let seen = tenths().flat_map(|x| tenths().map(move |y| (x, y))).filter(is_seen).count();
            assert!(seen > SEEN, "{engine}: {seen}");
        }
        let all = svg(100.0, 50.0, "all", |canvas| {
            LAYERS.into_iter().for_each(|engine| canvas.layered(engine, Ink::Series(0), (50.0, 25.0), false));
        });
        let pale = format!("opacity=\"{PALE}\" class=\"f-series-0\"");
        assert!(all.find(&pale).unwrap() < all.find("<rect").unwrap(), "the formula lies below, and is pale: {all}");
        let approximate = svg(100.0, 50.0, "one", |canvas| {
            canvas.layered(Engine::Theory, Ink::Series(0), (50.0, 25.0), true);
        });
        assert!(!approximate.contains(&pale) && approximate.contains("f-paper"), "hollow: {approximate}");
    }

    #[test]
    fn drawings_are_restyled_and_their_text_is_escaped() {
        let text = svg(100.0, 50.0, "a \"b\" <c>", |canvas| {
            canvas.text("<script>fill=\"#000001\"", (10.0, 10.0), Align::Left, 12.0, Ink::Text);
            canvas.marker(Engine::Live, (20.0, 20.0), 4.0, true);
            canvas.tell("5 s: <7> ms", (10.0, 0.0), (20.0, 50.0));
        });
        let hover = "<g fill=\"none\" pointer-events=\"all\">\n<rect x=\"100\" y=\"0\" width=\"100\" height=\"500\">\
                     <title>5 s: &lt;7&gt; ms</title></rect>\n</g>\n</svg>\n";
        let drawn = text.strip_suffix(hover).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(silent(&text), format!("{drawn}</svg>\n"));
        assert_eq!(silent(&silent(&text)), silent(&text));
        assert!(text.contains("viewBox=\"0 0 1000 500\"") && text.contains("class=\"f-live\""), "{text}");
        assert!(text.contains("<title>a &quot;b&quot; &lt;c&gt;</title>"), "{text}");
        assert!(!text.contains("<script>") && !text.contains("\"#0000"), "{text}");
        assert!(text.contains("&lt;script&gt;fill=&quot;#000001&quot;"), "text is not an attribute: {text}");
    }
}
