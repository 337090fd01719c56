//! What a page makes on its way.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::verdict::Verdict;

/// What a page made on its way.
#[derive(Default)]
pub(crate) struct Record {
    /// The folder of its pictures, beside it.
    pub(super) folder: String,
    pub(crate) findings: Vec<Finding<String>>,
    /// Of those that are judged by the published numbers too, those verdicts.
    pub(crate) published: Vec<Verdict>,
    /// Pictures and tables by the name of their file.
    pub(crate) files: BTreeMap<String, String>,
}
