//! Lines that lie on each other: the lower ones are wider, so that all are seen.

/// Lines whose points are nearer than this hide each other (pixels).
const HIDDEN: f64 = 1.2;
/// How much wider a line is for each that lies on it (pixels), so that both colours are seen.
const WIDER: f64 = 2.6;
/// The most that count, so that it stays a line.
const WIDER_MOST: usize = 3;
/// How much of what is below it a wide line hides.
const WIDE: f64 = 0.5;

/// Where a line stands among those that lie on each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::report::plots) struct Cover {
    /// The first of those that it lies on.
    pub(super) lowest: Option<usize>,
    /// How many later ones lie on it.
    pub(super) above: usize,
}

impl Cover {
    /// How wide a line of `width` pixels is drawn, and how much it hides.
    pub(in crate::report::plots) fn widened(self, width: f64) -> (f64, f64) {
        (widened(width, self.above), if self.above > 0 { WIDE } else { 1.0 })
    }
}

pub(super) fn widened(width: f64, above: usize) -> f64 {
    width + WIDER * above.min(WIDER_MOST) as f64
}

/// Which lines lie on each other, by their points on the canvas (pixels), in the order in which they are drawn.
pub(in crate::report::plots) fn covers(lines: &[Vec<(f64, f64)>]) -> Vec<Cover> {
    let near =
        |one: &(f64, f64), other: &(f64, f64)| (one.0 - other.0).abs() < HIDDEN && (one.1 - other.1).abs() < HIDDEN;
    let is_on = |one: &[(f64, f64)], other: &[(f64, f64)]| {
        one.len() > 1 && one.len() == other.len() && one.iter().zip(other).all(|(one, other)| near(one, other))
    };
    let cover = |index: usize| Cover {
        lowest: (0..index).find(|below| is_on(&lines[index], &lines[*below])),
        above: (index + 1..lines.len()).filter(|above| is_on(&lines[index], &lines[*above])).count(),
    };
    (0..lines.len()).map(cover).collect()
}
