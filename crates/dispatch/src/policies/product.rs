//! What the products' policies share: how a text names one, and its versions.

use sojourn_stats::nearest;

use super::Entry;
use crate::{DispatchError, Params};

/// A product whose rules are policies, as in `haproxy(2.6, leastconn)`.
#[derive(Clone, Copy)]
pub struct Product {
    /// Its name in experiment files, and how its policies are made.
    pub entry: Entry,
    /// The first and the last version whose rules are known.
    pub versions: (Version, Version),
    /// Its policies, each as it is written, some with more than one version.
    pub bundles: &'static [Bundle],
}

/// A policy of a product.
#[derive(Clone, Copy, Debug)]
pub struct Bundle {
    /// Its text in experiment files.
    pub text: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// How the rule is known.
    pub evidence: Evidence,
}

/// How a product's rule is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The product itself, asked request by request, made the same choices.
    EqualChoices,
    /// The product draws from entropy: its choices had the shares that the rule predicts.
    EqualShares,
    /// Read in the product's source, and not measured.
    Source,
}

impl Evidence {
    /// In words.
    pub fn in_words(self) -> &'static str {
        match self {
            Evidence::EqualChoices => "same choices as the product",
            Evidence::EqualShares => "same shares as the product",
            Evidence::Source => "from source, not measured",
        }
    }
}

/// A version of a product, by its first two numbers.
pub type Version = (u32, u32);

/// Takes the first value of the text as a version from the first of `versions` to the last; `usual` is the one to offer.
pub(super) fn version(
    params: &mut Params<'_>,
    product: &str,
    versions: (Version, Version),
    usual: Version,
) -> Result<Version, DispatchError> {
    let text = params.word().unwrap_or_default();
    match parsed(text) {
        Some(version) => check(params, product, version, versions),
        None => {
            let (major, minor) = usual;
            Err(params.wrong(&if text.is_empty() {
                format!("it takes a version and a rule, as in `{product}({major}.{minor}, ...)`")
            } else {
                format!("the version comes first; did you mean `{product}({major}.{minor}, {text})`?")
            }))
        }
    }
}

/// Takes the first value of the text that is no version; one may stand before it.
pub(super) fn rule<'a>(
    params: &mut Params<'a>,
    product: &str,
    versions: (Version, Version),
) -> Result<&'a str, DispatchError> {
    let word = params.word().unwrap_or_default();
    match parsed(word) {
        None => Ok(word),
        Some(version) => {
            check(params, product, version, versions)?;
            Ok(params.word().unwrap_or_default())
        }
    }
}

fn check(
    params: &Params<'_>,
    product: &str,
    version: Version,
    (first, last): (Version, Version),
) -> Result<Version, DispatchError> {
    if (first..=last).contains(&version) {
        return Ok(version);
    }
    let nearest = version.clamp(first, last);
    Err(params.wrong(&format!(
        "the rules of {product} {}.{} are not known; those of {}.{} to {}.{} are, and {}.{} is the nearest",
        version.0, version.1, first.0, first.1, last.0, last.1, nearest.0, nearest.1
    )))
}

/// The refusal of a rule that the product does not have.
pub(super) fn unknown(params: &Params<'_>, word: &str, rules: &'static [&'static str]) -> DispatchError {
    let hint = match nearest(word, rules.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("known are {}", rules.join(", ")),
    };
    params.wrong(&format!("`{word}` is none of its rules; {hint}"))
}

/// The numbers before and after the first dot; a third one does not count.
fn parsed(text: &str) -> Option<Version> {
    let mut numbers = text.split('.').map(|number| number.parse().ok());
    let version = (numbers.next()??, numbers.next()??);
    numbers.all(|number| number.is_some()).then_some(version)
}

/// The refusal of a rule that a product has and we do not.
pub(super) fn not_modelled(params: &Params<'_>, what: &str, instead: &str) -> DispatchError {
    params.wrong(&format!("{what} is not modelled; {instead}"))
}
