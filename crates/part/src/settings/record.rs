//! How large and how old files of a record may grow.

use clap::Args;
use serde::{Deserialize, Serialize};
use sojourn_stats::{Bytes, Span};

use super::Wrong;

/// Least size of a file of a record: some lines of JSON with what many backends had to offer.
const LEAST: Bytes = Bytes(100_000);

/// Limits of the files of a record
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RecordLimits {
    /// Go on in a further file (FILE-2, FILE-3, ...) at the end of the line with which one has so many bytes, e.g. 100MB
    #[arg(id = "record_limits.max_size", long = "record-max-size", value_name = "SIZE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_size: Option<Bytes>,
    /// Go on in a further file when one is so old, e.g. 24h
    #[arg(id = "record_limits.max_age", long = "record-max-age", value_name = "TIME", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age: Option<Span>,
    /// Keep so many files of the record, earlier starts' included, and remove the oldest
    #[arg(id = "record_limits.keep", long = "record-keep", value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<usize>,
}

impl RecordLimits {
    /// Whether they are possible; `has_record`: there is a record that they are for.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, has_record: bool) -> Result<(), Wrong> {
        let wrong = |key: &str, what: String| Err(Wrong::new(key, what));
        let first =
            [("max_size", self.max_size.is_some()), ("max_age", self.max_age.is_some()), ("keep", self.keep.is_some())];
        match (first.iter().find(|(_, is_given)| *is_given), self) {
            (Some((key, _)), _) if !has_record => wrong(key, "there is no record; name its file (`record`)".into()),
            (_, RecordLimits { max_size: Some(size), .. }) if *size < LEAST => {
                wrong("max_size", format!("{size}: a file takes at least {LEAST}"))
            }
            (_, RecordLimits { max_age: Some(age), .. }) if *age < Span(1_000_000_000) => {
                wrong("max_age", format!("{age}: a file lasts at least 1 s"))
            }
            (_, RecordLimits { keep: Some(0), .. }) => wrong("keep", "0: the file that is written is kept".into()),
            _ => Ok(()),
        }
    }
}
