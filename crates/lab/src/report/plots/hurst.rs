//! What every estimator of the Hurst parameter looked at, in small multiples, as a drawing that stands alone.
//!
//! Nine log-log plots, H over the length of the averaged blocks, and the averages themselves beside those of the same
//! numbers shuffled (Bjornstad 2006, figure 7.7): self-similar traffic stays uneven where independent numbers level out.

use sojourn_stats::Stream;
use sojourn_stats::hurst::{Hurst, LogLog, Reading, local_averages};

use super::canvas::{Align, Axis, Canvas, Ink, alone};
use super::dots;

const COLUMNS: usize = 3;
const ROWS: usize = 4;
const PANEL: (f64, f64) = (340.0, 262.0);
const HEAD: f64 = 34.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = PANEL.0 - 12.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = PANEL.1 - 50.0;
const TEXT: f64 = 12.0;
/// Averages that are drawn at most, and the block that is usual where there are numbers enough.
const MOST_AVERAGES: usize = 2000;
const FEWEST_AVERAGES: usize = 100;
const USUAL_BLOCK: usize = 1000;

/// The drawing of what `estimate` said of `series`; `title` names the series.
pub fn svg(hurst: &Hurst, series: &[f64], title: &str) -> String {
    let (width, height) = (COLUMNS as f64 * PANEL.0, HEAD + ROWS as f64 * PANEL.1);
    alone(width, height, &format!("Hurst parameter of {title}"), |canvas| {
        canvas.bold(&format!("{title}: {} numbers", hurst.points), (12.0, 18.0), Align::Left, TEXT + 3.0, Ink::Text);
        let place = |number: usize| {
            let (row, column) = (number / COLUMNS, number % COLUMNS);
            Panel { canvas, x: column as f64 * PANEL.0, y: HEAD + row as f64 * PANEL.1 }
        };
        whittle(&place(0), hurst);
        let named: [(&str, &Reading); 8] = [
            ("Local Whittle", &hurst.local_whittle),
            ("Wavelet", &hurst.wavelet),
            ("Aggregated variance", &hurst.aggregated_variance),
            ("Absolute value", &hurst.absolute_value),
            ("Differenced variance", &hurst.differenced_variance),
            ("Rescaled range", &hurst.rescaled_range),
            ("Variance of residuals", &hurst.residual_variance),
            ("Periodogram", &hurst.periodogram),
        ];
        for (index, (name, reading)) in named.into_iter().enumerate() {
            let title = format!("{name}: H = {:.3}", reading.h);
            log_log(&place(index + 1), &title, &reading.plot, &[(&reading.plot.line, Ink::Series(1))]);
        }
        scales(&place(9), hurst);
        averages(&place(10), &place(11), series);
    })
}

/// One of the small plots.
struct Panel<'a, 'b> {
    canvas: &'a Canvas<'b>,
    x: f64,
    y: f64,
}

impl Panel<'_, '_> {
    /// From inside the panel to the whole drawing.
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (self.x + x, self.y + y)
    }

    fn log_x(&self, low: f64, high: f64) -> Axis {
        Axis::log(low, high, self.x + LEFT, self.x + RIGHT)
    }

    fn linear_x(&self, low: f64, high: f64) -> Axis {
        Axis::linear(low, high, self.x + LEFT, self.x + RIGHT)
    }

    fn log_y(&self, low: f64, high: f64) -> Axis {
        Axis::log(low, high, self.y + BOTTOM, self.y + TOP)
    }

    fn linear_y(&self, low: f64, high: f64) -> Axis {
        Axis::linear(low, high, self.y + BOTTOM, self.y + TOP)
    }

    /// Title, grid and labels.
    fn frame(&self, title: &str, x: (&Axis, &str), y: (&Axis, &str)) {
        let ((x, x_name), (y, y_name)) = (x, y);
        self.canvas.bold(title, self.at(LEFT, 12.0), Align::Left, TEXT + 1.0, Ink::Text);
        self.canvas.text(y_name, self.at(LEFT, 28.0), Align::Left, TEXT - 1.0, Ink::Muted);
        for tick in y.ticks(5) {
            let at = y.at(tick);
            self.canvas.bar((self.x + LEFT, at - 0.4), (self.x + RIGHT, at + 0.4), Ink::Grid, 1.0);
            self.canvas.text(&short(tick), (self.x + LEFT - 5.0, at), Align::Right, TEXT - 2.0, Ink::Muted);
        }
        dots::x_axis(self.canvas, x, self.y + TOP, self.y + BOTTOM, 5, short, x_name);
    }
}

/// The periodogram with both models' densities.
fn whittle(panel: &Panel, hurst: &Hurst) {
    let (fgn, farima) = (&hurst.whittle_fgn, &hurst.whittle_farima);
    let title = format!("Whittle: fGn {:.3}, FARIMA {:.3}", fgn.h, farima.h);
    log_log(panel, &title, &fgn.plot, &[(&farima.plot.line, Ink::Series(2)), (&fgn.plot.line, Ink::Series(1))]);
}

fn log_log(panel: &Panel, title: &str, plot: &LogLog, lines: &[(&[(f64, f64)], Ink)]) {
    let seen: Vec<(f64, f64)> = plot.points.iter().copied().filter(|(x, y)| *x > 0.0 && *y > 0.0).collect();
    let range = |of: fn(&(f64, f64)) -> f64| {
        let all = || seen.iter().map(of);
        (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max))
    };
    if seen.is_empty() {
        panel.canvas.bold(title, panel.at(LEFT, 12.0), Align::Left, TEXT + 1.0, Ink::Text);
        return;
    }
    let ((x_low, x_high), (y_low, y_high)) = (range(|p| p.0), range(|p| p.1));
    let (x, y) = (panel.log_x(x_low, x_high), panel.log_y(y_low, y_high));
    panel.frame(title, (&x, plot.x), (&y, plot.y));
    for point in &seen {
        panel.canvas.dot((x.at(point.0), y.at(point.1)), 1.8, Ink::Series(0));
    }
    for (line, ink) in lines {
        let path: Vec<(f64, f64)> = line.iter().map(|(a, b)| (x.at(*a), y.at(*b))).collect();
        panel.canvas.path(&path, *ink, 1.0, 1.7);
    }
}

/// Whittle's H of block means.
fn scales(panel: &Panel, hurst: &Hurst) {
    let last = hurst.scales.last().map_or(2, |scale| scale.block.max(2));
    let low = hurst.scales.iter().map(|scale| scale.estimate.ci_low).fold(0.4, f64::min);
    let (x, y) = (panel.log_x(1.0, last as f64), panel.linear_y(low, 1.0));
    panel.frame("H over averaging", (&x, "block size (numbers)"), (&y, "Whittle's H of block means"));
    panel.canvas.bar((x.at(0.0), y.at(0.5) - 0.5), (x.at(f64::INFINITY), y.at(0.5) + 0.5), Ink::Muted, 1.0);
    for scale in &hurst.scales {
        let (at, estimate) = (x.at(scale.block as f64), scale.estimate);
        panel.canvas.bar((at - 0.7, y.at(estimate.ci_low)), (at + 0.7, y.at(estimate.ci_high)), Ink::Series(1), 0.7);
        panel.canvas.dot((at, y.at(estimate.h)), 2.6, Ink::Series(1));
    }
}

/// The series' local averages, and on the same scale those of its numbers shuffled.
fn averages<'a, 'b>(own: &Panel<'a, 'b>, shuffled: &Panel<'a, 'b>, series: &[f64]) {
    let usual =
        if series.len() / USUAL_BLOCK >= FEWEST_AVERAGES { USUAL_BLOCK } else { series.len() / FEWEST_AVERAGES };
    let block = usual.max(series.len().div_ceil(MOST_AVERAGES)).max(1);
    let seen = local_averages(series, block);
    let mut numbers = series.to_vec();
    let mut stream = Stream::new(1, "hurst", "shuffle");
    (1..numbers.len()).rev().for_each(|i| numbers.swap(i, stream.below(i + 1)));
    let (low, high) = seen.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
    let y_name = format!("means of {block} numbers");
    for (panel, title, means) in
        [(own, "Local averages", seen), (shuffled, "The same, shuffled", local_averages(&numbers, block))]
    {
        let (x, y) = (panel.linear_x(0.0, means.len() as f64), panel.linear_y(low, high));
        panel.frame(title, (&x, "block"), (&y, &y_name));
        let path: Vec<(f64, f64)> =
            means.iter().enumerate().map(|(index, mean)| (x.at(index as f64 + 0.5), y.at(*mean))).collect();
        panel.canvas.path(&path, Ink::Series(1), 1.0, 0.9);
    }
}

/// A tick's number in few letters.
fn short(value: f64) -> String {
    if value == 0.0 || (1e-2..1e5).contains(&value.abs()) {
        let text = format!("{value:.3}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    format!("{value:.0e}")
}

#[cfg(test)]
mod tests {
    use sojourn_stats::hurst::estimate;

    use super::*;

    #[test]
    fn every_estimator_is_drawn_and_the_drawing_stands_alone() {
        let mut stream = Stream::new(1, "plots", "hurst");
        let series: Vec<f64> = (0..2000).map(|_| stream.uniform()).collect();
        let text = svg(&estimate(&series).unwrap(), &series, "gaps <of> a log");
        assert!(text.starts_with("<svg xmlns=") && text.trim_end().ends_with("</svg>"), "{text}");
        for panel in ["Whittle: fGn 0", "Local Whittle: H = 0", "Wavelet: H", "Rescaled range: H", "H over averaging"] {
            assert!(text.contains(panel), "{panel}");
        }
        assert!(text.contains("The same, shuffled") && text.contains("gaps &lt;of&gt; a log: 2000 numbers"));
        assert!(!text.contains("NaN") && text.len() < 400_000, "{} bytes", text.len());
        assert_eq!([short(0.25), short(1e-5), short(2000.0)], ["0.25", "1e-5", "2000"]);
    }
}
