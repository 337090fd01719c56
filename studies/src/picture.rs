//! Pictures of deviations, as SVG files that stand beside the page.

use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A table of ratios as a picture: rows and columns with names, a cell white at 1, blue below and orange above; darker by
/// the logarithm, full at a factor of 4. Cells without a ratio are grey.
pub(crate) fn heat_map(title: &str, rows: &[String], columns: &[String], ratios: &[Vec<Option<f64>>]) -> String {
    const LEFT: i32 = 250;
    const TOP: i32 = 64;
    const CELL: (i32, i32) = (46, 18);
    let (width, height) = (LEFT + CELL.0 * columns.len() as i32 + 12, TOP + CELL.1 * rows.len() as i32 + 12);
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (width as u32, height as u32)).into_drawing_area();
        area.fill(&WHITE).expect(IN_MEMORY);
        let write = |text: &str, at: (i32, i32), size: i32, side: HPos, ink: &RGBColor| {
            let style = ("sans-serif", size).into_font().color(ink).pos(Pos::new(side, VPos::Center));
            area.draw(&Text::new(text.to_owned(), at, style)).expect(IN_MEMORY);
        };
        write(title, (12, 20), 17, HPos::Left, &BLACK);
        for (column, name) in columns.iter().enumerate() {
            write(name, (LEFT + CELL.0 * column as i32 + CELL.0 / 2, TOP - 12), 13, HPos::Center, &BLACK);
        }
        for (row, name) in rows.iter().enumerate() {
            let y = TOP + CELL.1 * row as i32;
            write(name, (LEFT - 8, y + CELL.1 / 2), 13, HPos::Right, &BLACK);
            for (column, ratio) in ratios[row].iter().enumerate() {
                let x = LEFT + CELL.0 * column as i32;
                let corners = [(x + 1, y + 1), (x + CELL.0 - 1, y + CELL.1 - 1)];
                area.draw(&Rectangle::new(corners, colour(*ratio).filled())).expect(IN_MEMORY);
                let label = ratio.map_or("-".to_owned(), percent);
                let dark = ratio.is_some_and(|ratio| ratio < 0.4);
                let ink = if dark { WHITE } else { BLACK };
                write(&label, (x + CELL.0 / 2, y + CELL.1 / 2), 11, HPos::Center, &ink);
            }
        }
        area.present().expect(IN_MEMORY);
    }
    text
}

/// Ours over theirs, as a deviation in percent.
pub(crate) fn percent(ratio: f64) -> String {
    format!("{:+.0} %", (ratio - 1.0) * 100.0)
}

fn colour(ratio: Option<f64>) -> RGBColor {
    let Some(ratio) = ratio else { return RGBColor(225, 225, 225) };
    let strength = (ratio.log2() / 2.0).clamp(-1.0, 1.0);
    // Okabe and Ito's blue and orange.
    let (r, g, b) = if strength < 0.0 { (0.0, 114.0, 178.0) } else { (230.0, 159.0, 0.0) };
    let mix = |full: f64| (255.0 + (full - 255.0) * strength.abs()).round() as u8;
    RGBColor(mix(r), mix(g), mix(b))
}

/// A picture and its caption.
pub(crate) struct Figure {
    /// The file's name, without its end.
    pub(crate) file: &'static str,
    pub(crate) title: &'static str,
    pub(crate) svg: String,
}

/// A published curve and ours.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    /// Dashed: published; solid: ours.
    pub(crate) published: bool,
    /// Index of its colour: series that belong together have the same one.
    pub(crate) colour: usize,
    pub(crate) points: Vec<(f64, f64)>,
}

const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 0, 0),
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// Curves over a linear axis, `y` logarithmic.
pub(crate) fn curves(title: &str, x: &str, y: &str, series: &[Series]) -> String {
    let above_zero: Vec<Series> = series
        .iter()
        .map(|one| Series { points: one.points.iter().copied().filter(|p| p.1 > 0.0).collect(), ..one.clone() })
        .collect();
    let all = || above_zero.iter().flat_map(|s| &s.points).map(|p| p.1);
    let (lowest, highest) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    // Without a point any axis will do; one without an end cannot be drawn.
    let (lowest, highest) = if lowest <= highest { (lowest, highest) } else { (1.0, 10.0) };
    draw((title, x, y), (lowest * 0.8..highest * 1.25).log_scale(), &above_zero)
}

/// Curves over a linear axis, `y` linear from 0 on.
pub(crate) fn over_time(title: &str, x: &str, y: &str, series: &[Series]) -> String {
    let highest = series.iter().flat_map(|s| &s.points).map(|p| p.1).fold(0.0, f64::max);
    draw((title, x, y), 0.0..highest.max(1e-9) * 1.05, series)
}

fn draw<Y>((title, x, y): (&str, &str, &str), range: Y, series: &[Series]) -> String
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let last = series.iter().flat_map(|s| &s.points).map(|p| p.0).fold(0.0, f64::max);
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (820, 430)).into_drawing_area();
        area.fill(&WHITE).expect(IN_MEMORY);
        let (plot, legend) = area.split_horizontally(600);
        let mut chart = ChartBuilder::on(&plot)
            .caption(title, ("sans-serif", 17))
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d(0.0..last * 1.02, range)
            .expect(IN_MEMORY);
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .x_label_formatter(&|x| format!("{x:.0}"))
            .x_desc(x)
            .y_desc(y)
            .draw()
            .expect(IN_MEMORY);
        for (index, one) in series.iter().enumerate() {
            let colour = COLOURS[one.colour % COLOURS.len()];
            let line = || one.points.iter().copied();
            let at = 30 + 20 * index as i32;
            if one.published {
                chart.draw_series(DashedLineSeries::new(line(), 5, 4, colour.stroke_width(1))).expect(IN_MEMORY);
                for x in [0, 9, 18] {
                    legend.draw(&PathElement::new([(x, at), (x + 5, at)], colour.stroke_width(1))).expect(IN_MEMORY);
                }
            } else {
                chart.draw_series(LineSeries::new(line(), colour.stroke_width(2))).expect(IN_MEMORY);
                legend.draw(&PathElement::new([(0, at), (24, at)], colour.stroke_width(2))).expect(IN_MEMORY);
            }
            let style = ("sans-serif", 13).into_font().color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
            legend.draw(&Text::new(one.name.clone(), (30, at), style)).expect(IN_MEMORY);
        }
        area.present().expect(IN_MEMORY);
    }
    text
}

const IN_MEMORY: &str = "drawing into a string cannot fail";
