//! His tables.

use std::collections::HashMap;
use std::path::Path;

use super::series::{Cell, Series};
use crate::ReproduceError;

/// His numbers that the page needs.
pub(super) struct Published {
    cells: HashMap<(String, String), Printed>,
    /// Of the generated gaps (s) and demands (iterations), by `inter_arrival` or `service` and law: mean and standard
    /// deviation as text, because their digits count.
    moments: HashMap<(String, String), (String, String)>,
    hurst: Vec<Vec<String>>,
    /// Table 7.1: rounds, mean and standard deviation of the response time (s).
    pub(super) calibration: Vec<(f64, f64, f64)>,
}

/// A row of his tables.
#[derive(Clone, Debug)]
pub(super) struct Printed {
    pub(super) mean_s: f64,
    pub(super) std_s: Option<f64>,
    /// As text: its digits count.
    pub(super) utilization: String,
}

impl Published {
    pub(super) fn read(folder: &Path) -> Result<Published, ReproduceError> {
        let mut cells = HashMap::new();
        for row in rows(folder, "tables.csv")? {
            let [table, _, arrival, alpha, h, service, service_alpha, _, mean, std, rho] = row.as_slice() else {
                return Err(ReproduceError("tables.csv: a row does not have eleven columns".into()));
            };
            let arrivals = if h.is_empty() { law(arrival, alpha) } else { format!("noise-{h}") };
            let key = (table.clone(), format!("{arrivals}_{}", law(service, service_alpha)));
            let mean_s =
                mean.parse().map_err(|_| ReproduceError(format!("tables.csv: `{mean}` is not a response time")))?;
            cells.insert(key, Printed { mean_s, std_s: std.parse().ok(), utilization: rho.clone() });
        }
        let of = |row: Vec<String>| ((row[0].clone(), law(&row[2], &row[3])), (row[4].clone(), row[5].clone()));
        let moments = rows(folder, "moments.csv")?.into_iter().map(of).collect();
        let level = |row: Vec<String>| {
            let number = |place: usize| row.get(place).and_then(|text| text.parse().ok());
            let level =
                number(0).zip(number(1)).zip(number(2)).map(|((rounds, mean_s), std_s)| (rounds, mean_s, std_s));
            level.ok_or_else(|| ReproduceError(format!("calibration.csv: `{}` is not a level", row.join(","))))
        };
        let calibration = rows(folder, "calibration.csv")?.into_iter().map(level).collect::<Result<_, _>>()?;
        Ok(Published { cells, moments, hurst: rows(folder, "hurst.csv")?, calibration })
    }

    /// The cell of this table.
    pub(super) fn cell(&self, table: &str, cell: Cell) -> Result<&Printed, ReproduceError> {
        let missing = || ReproduceError(format!("tables.csv has no {} in Table {table}", cell.key()));
        self.cells.get(&(table.to_owned(), cell.key())).ok_or_else(missing)
    }

    /// Mean and standard deviation of the generated `inter_arrival` or `service`, as printed.
    pub(super) fn moments(&self, process: &str, series: Series) -> Result<(&str, &str), ReproduceError> {
        let missing = || ReproduceError(format!("moments.csv has no {process} of {}", series.name()));
        let found = self.moments.get(&(process.to_owned(), series.key())).ok_or_else(missing)?;
        Ok((&found.0, &found.1))
    }

    /// His estimates of Table A.1 at this H with exponential service, in the order of [`ESTIMATORS`].
    pub(super) fn hurst(&self, h: f64) -> Option<Vec<String>> {
        let target = h.to_string();
        self.hurst.iter().find(|row| row[0] == target && row[1] == "exponential").map(|row| row[3..].to_vec())
    }
}

/// The columns of Table A.1, and our names for them.
pub(super) const ESTIMATORS: [&str; 7] = [
    "aggregated_variance",
    "rescaled_range",
    "absolute_value",
    "periodogram",
    "residual_variance",
    "wavelet",
    "whittle_fgn",
];

fn law(name: &str, alpha: &str) -> String {
    if alpha.is_empty() { name.to_owned() } else { format!("{name}-{alpha}") }
}

fn rows(folder: &Path, name: &str) -> Result<Vec<Vec<String>>, ReproduceError> {
    let file = folder.join(name);
    let fail = |e: csv::Error| ReproduceError(format!("{}: {e}", file.display()));
    let mut csv = csv::Reader::from_path(&file).map_err(fail)?;
    csv.records().map(|row| Ok(row.map_err(fail)?.iter().map(String::from).collect())).collect()
}

/// The published folder of this project, for tests.
#[cfg(test)]
pub(super) fn for_tests() -> Published {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments/bjornstad-2006/published");
    Published::read(&folder).expect("the published tables are in the repository")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_of_every_table_is_there() {
        let published = for_tests();
        for cell in Cell::renewal() {
            for table in ["7.2", "7.3", "7.4", "7.6", "7.7"] {
                assert!(published.cell(table, cell).is_ok_and(|row| row.mean_s > 0.0), "{table} {}", cell.key());
            }
        }
        for cell in Cell::self_similar() {
            for table in ["7.8", "7.9"] {
                assert!(published.cell(table, cell).is_ok_and(|row| row.std_s.is_some()), "{table} {}", cell.key());
            }
        }
        assert_eq!(published.hurst(0.7).unwrap(), ["0.608", "0.582", "0.713", "0.705", "0.679", "0.756", "0.700"]);
        assert_eq!(published.moments("service", Series::Pareto(2.2)).unwrap(), ("48032", "58000"));
        assert_eq!((published.calibration.len(), published.calibration[4]), (10, (50000.0, 0.093, 0.003)));
    }
}
