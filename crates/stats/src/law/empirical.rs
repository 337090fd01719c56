//! Observations from a file as a law: each equally likely.

use std::path::PathBuf;

use crate::input;

#[derive(Debug, PartialEq)]
pub(super) struct Empirical {
    pub(super) path: PathBuf,
    /// The unit written in the law, for display.
    pub(super) unit: String,
    /// In SI units, ascending.
    pub(super) values: Vec<f64>,
}

impl Empirical {
    /// One number per line; empty lines and lines that begin with `#` are skipped.
    pub(super) fn read(path: PathBuf, unit_name: &str, unit: f64) -> Result<Empirical, String> {
        let shown = path.display();
        let text = input::text(&path).map_err(|error| format!("cannot read `{shown}`: {error}"))?;
        let mut values = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match line.parse::<f64>() {
                Ok(value) if value.is_finite() && value >= 0.0 => values.push(value * unit),
                _ => return Err(format!("`{shown}` line {}: `{line}` is not a number, 0 or more", index + 1)),
            }
        }
        if values.is_empty() {
            return Err(format!("`{shown}` holds no numbers"));
        }
        values.sort_by(f64::total_cmp);
        Ok(Empirical { path, unit: unit_name.to_owned(), values })
    }

    /// How many values are at most `x`.
    pub(super) fn up_to(&self, x: f64) -> usize {
        self.values.partition_point(|value| *value <= x)
    }
}
