//! A delay curve as a file: the model, and in `[measured]` the points that the fit used and those that it left out.

use std::fmt::Write;

use super::CurveFound;
use crate::trust;
use crate::write::{digits, head, quoted, three};

impl CurveFound {
    /// The server model with its findings, as [`sojourn_model::Server::from_toml`] reads it.
    pub fn to_toml(&self) -> String {
        let title = format!("Measured at {} by `sojourn calibrate --curve`.", self.url);
        let mut text = head(&title, &self.notes, &self.server, self.verdict(), &self.reasons());
        let out = &mut text;
        let _ = writeln!(out, "url = {}\nthink = {}", quoted(&self.url), quoted(&self.think));
        for point in &self.points {
            let fitted = if point.kept_out { "   # not used in the fit" } else { "" };
            let _ = writeln!(out, "[[measured.curve]]{fitted}\nusers = {}", point.users);
            let _ = writeln!(out, "delay_s = {}\npredicted_s = {}", three(&point.delay), digits(point.predicted_s));
            let _ = writeln!(out, "denied_share = {}", three(&point.denied_share));
            let _ = writeln!(out, "predicted_share = {}", digits(point.predicted_share));
            let _ = writeln!(out, "throughput = {}\nkept_out = {}", digits(point.throughput), point.kept_out);
        }
        text
    }

    /// Why the curve is SUSPECT, once each; empty when it is not.
    pub fn reasons(&self) -> Vec<String> {
        let mut reasons: Vec<String> = Vec::new();
        let miss = self.largest_error();
        if miss > trust::MISS_MAX {
            reasons.push(format!("it misses a delay that no fit has used by {:.1} %", 100.0 * miss));
        }
        for point in &self.points {
            reasons.extend(point.doubts.iter().map(|doubt| format!("with {} users: {doubt}", point.users)));
        }
        reasons
    }

    /// VALID or SUSPECT.
    pub fn verdict(&self) -> &'static str {
        trust::verdict(&self.reasons(), true)
    }

    /// The largest relative error of the model's delay, without sign, at the numbers of users that the fit left out.
    pub fn largest_error(&self) -> f64 {
        let kept_out = self.points.iter().filter(|point| point.kept_out);
        kept_out.map(|point| (point.predicted_s / point.delay.value - 1.0).abs()).fold(0.0, f64::max)
    }
}
