//! Classes of requests: the share of each, and what its requests ask for.
//!
//! The class of a request is drawn independently of all else, from a stream of its own, so that other shares leave every
//! arrival and every client where it was. Where each class has sizes of its own, each draws them from its own stream, so
//! that another law for one class leaves the sizes of the others. The price is that no class has bursts of its own: the
//! requests of a class are a thinned copy of all.

use std::sync::Arc;

use sojourn_stats::Stream;

use super::{Choice, Sizer, Sizes, take_number};
use crate::alias::Alias;
use crate::error::WorkloadError;

/// How far the sum of the shares may be from 1.
const TOLERANCE: f64 = 1e-9;

/// Classes of requests. Cheap to clone: the tables are shared.
#[derive(Clone, Debug)]
pub struct Classes(Arc<Tables>);

#[derive(Debug)]
struct Tables {
    names: Vec<String>,
    shares: Vec<f64>,
    alias: Alias,
    /// One for all classes, or one for each.
    sizes: Vec<Sizes>,
    /// Where the objects of each of the sizes begin.
    first_objects: Vec<u32>,
    paths: Vec<String>,
}

impl Classes {
    /// As many classes as there may be.
    pub const MOST: usize = 255;

    /// Classes by name and share, whose requests all ask for the same.
    ///
    /// # Errors
    /// When the shares are not from 0 to 1 or do not sum to 1; when there is no class, or more than [`Classes::MOST`];
    /// when a name cannot be the value of a header, comes twice or is `other`; when `sizes` have classes already.
    pub fn alike(shares: &[(&str, f64)], sizes: Sizes) -> Result<Classes, WorkloadError> {
        Classes::of(shares, vec![sizes])
    }

    /// Classes by name and share, each with sizes of its own. The paths of a class begin with its name.
    ///
    /// # Errors
    /// As [`Classes::alike`].
    pub fn each(classes: Vec<(&str, f64, Sizes)>) -> Result<Classes, WorkloadError> {
        let shares: Vec<(&str, f64)> = classes.iter().map(|(name, share, _)| (*name, *share)).collect();
        Classes::of(&shares, classes.into_iter().map(|(_, _, sizes)| sizes).collect())
    }

    fn of(shares: &[(&str, f64)], sizes: Vec<Sizes>) -> Result<Classes, WorkloadError> {
        check(shares)?;
        if sizes.iter().any(|sizes| matches!(sizes, Sizes::ByClass(_))) {
            return Err(WorkloadError::Invalid("classes: a class has no classes of its own".into()));
        }
        let alike = sizes.len() == 1;
        let mut paths = Vec::new();
        let mut first_objects = Vec::with_capacity(sizes.len());
        for (of_class, (name, _)) in sizes.iter().zip(shares) {
            first_objects.push(paths.len() as u32);
            let path = |path: &String| if alike { path.clone() } else { format!("/{name}{path}") };
            paths.extend(of_class.objects().iter().map(path));
        }
        let names = shares.iter().map(|(name, _)| (*name).to_owned()).collect();
        let shares: Vec<f64> = shares.iter().map(|(_, share)| *share).collect();
        Ok(Classes(Arc::new(Tables { names, alias: Alias::new(&shares), shares, sizes, first_objects, paths })))
    }

    /// The names, by class number.
    pub fn names(&self) -> &[String] {
        &self.0.names
    }

    /// The share of each class in all requests, by class number.
    pub fn shares(&self) -> &[f64] {
        &self.0.shares
    }

    /// The sizes of the replies to class number `class`.
    pub fn sizes(&self, class: usize) -> &Sizes {
        &self.0.sizes[if self.0.sizes.len() == 1 { 0 } else { class }]
    }

    /// The paths by object number; those that all classes ask for, or those of each class in turn.
    pub fn paths(&self) -> &[String] {
        &self.0.paths
    }

    /// Mean and variance of the size of a reply to any request (bytes, bytes^2).
    pub fn size_moments(&self) -> (f64, f64) {
        mixed(self.shares().iter().enumerate().map(|(class, share)| (*share, self.sizes(class).moments())))
    }

    /// Size and chance of each file in the order of the paths; none where a class has sizes that are drawn anew.
    pub(super) fn files(&self) -> Option<Vec<(u64, f64)>> {
        let mut files = Vec::with_capacity(self.0.paths.len());
        for (class, sizes) in self.0.sizes.iter().enumerate() {
            let share = if self.0.sizes.len() == 1 { 1.0 } else { self.0.shares[class] };
            files.extend(sizes.files()?.into_iter().map(|(size, chance)| (size, chance * share)));
        }
        Some(files)
    }
}

/// Mean and variance of a mixture of laws, each given by its share and its own mean and variance. A law of share 0 counts
/// for nothing, whatever its moments.
pub(crate) fn mixed(parts: impl IntoIterator<Item = (f64, (f64, f64))>) -> (f64, f64) {
    let parts: Vec<_> = parts.into_iter().filter(|(share, _)| *share > 0.0).collect();
    if let [(_, moments)] = parts[..] {
        return moments;
    }
    let mean: f64 = parts.iter().map(|(share, (mean, _))| share * mean).sum();
    if !mean.is_finite() {
        return (mean, f64::INFINITY);
    }
    (mean, parts.iter().map(|(share, (own, variance))| share * (variance + (own - mean).powi(2))).sum())
}

fn check(shares: &[(&str, f64)]) -> Result<(), WorkloadError> {
    let fault = |what: String| Err(WorkloadError::Invalid(format!("classes: {what}")));
    let right = "write shares that sum to 1, such as `{ static = 0.8, dynamic = 0.2 }`";
    if shares.is_empty() || shares.len() > Classes::MOST {
        return fault(format!("{} of them; from 1 to {} are possible; {right}", shares.len(), Classes::MOST));
    }
    for (number, (name, share)) in shares.iter().enumerate() {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(plain) {
            return fault(format!("`{name}` is no name; a name has letters, digits, `-`, `_` and `.`"));
        }
        if *name == "other" {
            return fault("`other` means all classes that `demand` does not name; choose another name".into());
        }
        if shares[..number].iter().any(|(before, _)| before == name) {
            return fault(format!("`{name}` comes twice"));
        }
        if !(0.0..=1.0).contains(share) {
            return fault(format!("{name} = {share}: a share is from 0 to 1"));
        }
    }
    let sum: f64 = shares.iter().map(|(_, share)| share).sum();
    if (sum - 1.0).abs() > TOLERANCE {
        return fault(format!("the shares sum to {sum}, not to 1; {right}"));
    }
    Ok(())
}

/// Draws the class of each request, and what it asks for.
pub(crate) struct ClassSizer {
    classes: Classes,
    draws: Stream,
    sizers: Vec<Sizer>,
    /// The next object that is drawn anew; they are numbered beyond the paths, for all classes together.
    fresh: u32,
}

impl ClassSizer {
    pub(super) fn new(classes: &Classes, first_object: u32, seed: u64, entity: &str) -> ClassSizer {
        let tables = &classes.0;
        let sizers = match &tables.sizes[..] {
            [alike] => vec![Sizer::named(alike, 0, seed, entity, "")],
            each => {
                let of = |(sizes, name)| Sizer::named(sizes, 0, seed, entity, &format!(" of class {name}"));
                each.iter().zip(&tables.names).map(of).collect()
            }
        };
        ClassSizer {
            classes: classes.clone(),
            draws: Stream::new(seed, entity, "classes"),
            sizers,
            fresh: first_object.wrapping_add(tables.paths.len() as u32),
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Choice {
        let tables = &self.classes.0;
        let class = tables.alias.sample(&mut self.draws) as u8;
        let place = if self.sizers.len() == 1 { 0 } else { usize::from(class) };
        let Choice { object, size, .. } = self.sizers[place].next();
        let object = match tables.sizes[place].objects() {
            [] => take_number(&mut self.fresh),
            _ => tables.first_objects[place] + object,
        };
        Choice { class, object, size }
    }
}
