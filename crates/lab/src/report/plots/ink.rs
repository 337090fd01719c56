//! Colours by their meaning, one assignment for all figures of a page.
//!
//! What becomes of requests and what disturbs them has colours of its own ([`Meaning`]): what failed is red in every figure.
//! Servers, policies and runs share the colours of series, and none of them gets one of those. The drawing carries a stand-in
//! for each, which becomes a class of the page's style sheet.

use plotters::style::{Color, RGBAColor, RGBColor};

use crate::report::Engine;

/// A colour by its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::report) enum Ink {
    Text,
    Muted,
    Grid,
    Band,
    Paper,
    Engine(Engine),
    /// The engine's colour for a curve, which may be dashed.
    Curve(Engine),
    /// One of several curves of one kind.
    Series(u8),
    /// What no series gets, drawn through or with one of the kinds of dashes.
    Meaning(Meaning, u8),
}

/// What has one colour in all figures of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::report) enum Meaning {
    /// Requests as they were planned.
    Planned,
    /// Requests as they were sent, each time that they were.
    Attempts,
    /// Good replies; with dashes how long they took.
    Good,
    /// What failed or was given up.
    Failed,
    /// What broke, by plan or not.
    Fault,
    /// What is not to be relied on.
    Doubt,
}

impl Meaning {
    const ALL: [Meaning; 6] =
        [Meaning::Planned, Meaning::Attempts, Meaning::Good, Meaning::Failed, Meaning::Fault, Meaning::Doubt];

    fn class(self) -> &'static str {
        match self {
            Meaning::Planned => "planned",
            Meaning::Attempts => "attempts",
            Meaning::Good => "good",
            Meaning::Failed => "failed",
            Meaning::Fault => "fault",
            Meaning::Doubt => "doubt",
        }
    }
}

impl Ink {
    /// How many series there are colours for.
    pub(super) const SERIES: usize = 12;
    /// How many kinds of lines of one colour look different: drawn through, dashed, dotted, and both.
    const KINDS: usize = 4;
    /// How many series look different.
    pub(super) const STYLES: usize = Ink::KINDS * Ink::SERIES;

    pub(super) fn all() -> impl Iterator<Item = Ink> {
        let of_engine = |engine| [Ink::Engine(engine), Ink::Curve(engine)];
        let plain = [Ink::Text, Ink::Muted, Ink::Grid, Ink::Band, Ink::Paper];
        let series = (0..Ink::STYLES as u8).map(Ink::Series);
        let of_meaning = |meaning| (0..Ink::KINDS as u8).map(move |kind| Ink::Meaning(meaning, kind));
        let meanings = Meaning::ALL.into_iter().flat_map(of_meaning);
        plain.into_iter().chain(Engine::ALL.into_iter().flat_map(of_engine)).chain(series).chain(meanings)
    }

    /// That of the series with this number; beyond [`Ink::STYLES`] they come again.
    pub(in crate::report) fn of_series(number: usize) -> Ink {
        Ink::Series((number % Ink::STYLES) as u8)
    }

    /// That of a meaning, drawn through.
    pub(in crate::report) const fn of(meaning: Meaning) -> Ink {
        Ink::Meaning(meaning, 0)
    }

    /// That of a meaning with one of the three kinds of dashes, from 1 on; beyond them they come again.
    pub(in crate::report) const fn dashed(meaning: Meaning, kind: usize) -> Ink {
        Ink::Meaning(meaning, 1 + ((kind - 1) % (Ink::KINDS - 1)) as u8)
    }

    pub(super) fn code(self) -> u8 {
        match self {
            Ink::Text => 1,
            Ink::Muted => 2,
            Ink::Grid => 3,
            Ink::Band => 4,
            Ink::Paper => 5,
            Ink::Engine(engine) => 16 + engine as u8,
            Ink::Curve(engine) => 32 + engine as u8,
            Ink::Series(number) => 48 + number,
            Ink::Meaning(meaning, kind) => 96 + Ink::KINDS as u8 * meaning as u8 + kind,
        }
    }

    /// Its classes in the style sheet, behind `f-` of what is filled, `s-` of lines and `b-` of backgrounds.
    pub(super) fn class(self) -> String {
        let dashed = |color: String, kind: usize| if kind == 0 { color } else { format!("{color} dash-{kind}") };
        match self {
            Ink::Text => "text".to_owned(),
            Ink::Muted => "muted".to_owned(),
            Ink::Grid => "grid".to_owned(),
            Ink::Band => "band".to_owned(),
            Ink::Paper => "paper".to_owned(),
            Ink::Engine(engine) => engine.name().to_owned(),
            Ink::Curve(engine) => format!("curve-{}", engine.name()),
            Ink::Series(number) => {
                let number = usize::from(number);
                dashed(format!("series-{}", number % Ink::SERIES), number / Ink::SERIES)
            }
            Ink::Meaning(meaning, kind) => dashed(meaning.class().to_owned(), usize::from(kind)),
        }
    }

    pub(super) fn color(self, opacity: f64) -> RGBAColor {
        RGBColor(0, 0, self.code()).mix(opacity)
    }
}

/// The page's style sheet for a drawing without a page, for light and dark backgrounds alike.
pub(super) const STYLE: &str = "text{font-family:sans-serif}.f-text{fill:#888}.f-muted{fill:#888}.f-grid{fill:#8884}.f-paper\
                     {fill:#fff}.f-band{fill:#8882}.f-series-0{fill:#84a}.s-series-0{stroke:#84a}.f-series-1{fill\
                     :#a50}.s-series-1{stroke:#a50}.f-series-2{fill:#23a}.s-series-2{stroke:#23a}.f-series-3{fill\
                     :#b2a}.s-series-3{stroke:#b2a}.f-series-4{fill:#670}.s-series-4{stroke:#670}.f-series-5{fill\
                     :#066}.s-series-5{stroke:#066}.f-series-6{fill:#d47}.s-series-6{stroke:#d47}.f-series-7{fill\
                     :#934}.s-series-7{stroke:#934}.f-series-8{fill:#27c}.s-series-8{stroke:#27c}.f-series-9{fill\
                     :#c52}.s-series-9{stroke:#c52}.f-series-10{fill:#2a7}.s-series-10{stroke:#2a7}.f-series-11{f\
                     ill:#583}.s-series-11{stroke:#583}.dash-1{stroke-dasharray:60 36}.dash-2{stroke-dasharray:12 \
                     28}.dash-3{stroke-dasharray:70 28 12 28}.f-planned{fill:#97f}.s-planned{stroke:#97f}.f-attempts{\
                     fill:#0ad}.s-attempts{stroke:#0ad}.f-good{fill:#4a2}.s-good{stroke:#4a2}.f-failed{fill:#e22}.s-f\
                     ailed{stroke:#e22}.f-fault{fill:#b81}.s-fault{stroke:#b81}.f-doubt{fill:#f60}.s-doubt{stroke:#f60\
                     }.f-theory{fill:#666}.f-sim{fill:#27c}.f-live{fill:#c52}.f-twin{fill:#2a7}.f-log{fill:#980}polyline\
                     {fill:none}";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// What stands between the first `from` of a text and the `to` behind it.
    fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
        let rest = text.split_once(from).unwrap_or_else(|| panic!("no {from}")).1;
        rest.split(to).next().expect("split gives one at least")
    }

    /// Neither on a light page nor on a dark one, nor in a file of its own, has a meaning the colour of a series or of another.
    #[test]
    fn no_two_series_and_meanings_have_one_colour() {
        let inks = (0..Ink::SERIES).map(Ink::of_series).chain(Meaning::ALL.map(Ink::of));
        let classes: Vec<String> = inks.map(Ink::class).collect();
        let page = include_str!("../style.css");
        let variable = |class: &String| {
            let [fill, stroke] = [("f", "fill"), ("s", "stroke")]
                .map(|(before, what)| between(page, &format!(".{before}-{class} {{ {what}: var("), ")"));
            assert_eq!(fill, stroke, "{class}");
            stroke
        };
        let schemes: Vec<&str> = page.split("--page: ").skip(1).collect();
        assert_eq!(schemes.len(), 2, "light and dark");
        for scheme in schemes {
            let colors: BTreeSet<&str> =
                classes.iter().map(|class| between(scheme, &format!("{}: ", variable(class)), ";")).collect();
            assert_eq!(colors.len(), classes.len(), "{colors:?}");
        }
        let alone: BTreeSet<&str> =
            classes.iter().map(|class| between(STYLE, &format!(".s-{class}{{stroke:"), "}")).collect();
        assert_eq!(alone.len(), classes.len(), "{alone:?}");
    }

    /// In a file of its own an engine has the colour that it shares on a page with a series, or one that no other has.
    #[test]
    fn engines_have_colours_in_a_file() {
        let page = include_str!("../style.css");
        let of = |class: &str| between(STYLE, &format!(".f-{class}{{fill:"), "}");
        for (engine, series) in [(Engine::Sim, 8), (Engine::Live, 9), (Engine::Twin, 10)] {
            let (engine, series) = (Ink::Engine(engine).class(), Ink::of_series(series).class());
            let variable = |class: &str| between(page, &format!(".f-{class} {{ fill: var("), ")");
            assert_eq!(variable(&engine), variable(&series), "on the page");
            assert_eq!(of(&engine), of(&series), "and in a file");
        }
        let all: BTreeSet<&str> = Engine::ALL.iter().map(|engine| of(&Ink::Engine(*engine).class())).collect();
        assert_eq!(all.len(), Engine::ALL.len(), "{all:?}");
    }

    /// Marks of engines are grey, and so is what the theory says: no series is near that.
    #[test]
    fn no_series_is_grey() {
        /// The least difference between the parts of a colour that is none of grey (of 255).
        const COLORED: u32 = 60;
        let spread = |color: &str| {
            let digits = color.strip_prefix('#').unwrap_or_else(|| panic!("`{color}`"));
            let (each, scale) = if digits.len() == 3 { (1, 17) } else { (2, 1) };
            let part = |from: usize| u32::from_str_radix(&digits[from * each..(from + 1) * each], 16);
            let parts = [0, 1, 2].map(|from| scale * part(from).expect("hexadecimal"));
            parts.iter().max().expect("three") - parts.iter().min().expect("three")
        };
        let page = include_str!("../style.css");
        for class in (0..Ink::SERIES).map(|number| Ink::of_series(number).class()) {
            let variable = between(page, &format!(".s-{class} {{ stroke: var("), ")");
            for scheme in page.split("--page: ").skip(1) {
                let color = between(scheme, &format!("{variable}: "), ";");
                assert!(spread(color) >= COLORED, "{class}: {color}");
            }
            let color = between(STYLE, &format!(".s-{class}{{stroke:"), "}");
            assert!(spread(color) >= COLORED, "{class}: {color}");
        }
        assert!(spread("#888") < COLORED && spread("#59636e") < COLORED);
    }

    /// What stands in a drawing for one colour never stands for another.
    #[test]
    fn no_two_inks_have_one_stand_in() {
        let codes: BTreeSet<u8> = Ink::all().map(Ink::code).collect();
        assert_eq!(codes.len(), Ink::all().count());
        assert_eq!(Ink::dashed(Meaning::Good, 4), Ink::dashed(Meaning::Good, 1), "they come again");
    }
}
