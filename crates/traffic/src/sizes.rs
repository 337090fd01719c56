//! Sizes of the replies, and with them what is asked for: a law, a WebStone file list, SPECweb99's files, documents with
//! Zipf popularity, or one of these for each class of requests.

mod classes;
mod documents;
pub mod specweb;
pub mod webstone;

use std::path::Path;

use sojourn_stats::law::{Argument, Expression};
use sojourn_stats::{Dimension, Law, Stream, nearest, quantity};

pub use self::documents::Documents;
use self::specweb::SpecWeb;
use self::webstone::FileList;
use crate::error::WorkloadError;
use crate::request::STATIC;
use crate::site::Site;

pub use classes::Classes;
pub(crate) use classes::mixed;

use classes::ClassSizer;

/// Sizes of the replies, and with them what is asked for.
#[derive(Clone, Debug)]
pub enum Sizes {
    /// Drawn anew for each request (bytes).
    Law(Law),
    /// A WebStone file list.
    WebStone(FileList),
    /// SPECweb99's files.
    SpecWeb(SpecWeb),
    /// Documents with Zipf popularity.
    Documents(Documents),
    /// Requests of several classes.
    ByClass(Classes),
}

impl Sizes {
    /// Reads a law of bytes (`lognormal(mu = 7.881, sigma = 1.339, unit = B)`), a WebStone list or SPECweb99's files:
    ///
    /// | text | files |
    /// |---|---|
    /// | `webstone` | the standard list |
    /// | `webstone(file = "filelist.txt")` | the list in that file |
    /// | `webstone(700: 50 kB, 300: 500 kB)` | one file of each size, asked for with these weights |
    /// | any of them with `mean = 9.5 kB` | all sizes scaled to this mean |
    /// | `specweb99`, `specweb99(directories = 100)` | SPECweb99's four classes in one directory, or in so many |
    /// | `documents(n = 5000, zipf = 0.8, size = LAW)` | documents with Zipf popularity, sizes drawn once; also with `mean` |
    ///
    /// # Errors
    /// As [`Law::parse`] and [`FileList::read`].
    pub fn parse(text: &str) -> Result<Sizes, WorkloadError> {
        Sizes::parse_in(text, Path::new(""))
    }

    /// As [`Sizes::parse`], with a WebStone list's file sought in the folder `dir`.
    ///
    /// # Errors
    /// As [`Sizes::parse`].
    pub fn parse_in(text: &str, dir: &Path) -> Result<Sizes, WorkloadError> {
        let call = Expression::parse(text)?;
        let (name, arguments) = call.as_ref().map_or((text.trim(), &[][..]), |call| (call.name, &call.arguments[..]));
        match name {
            "webstone" => Ok(Sizes::WebStone(webstone(text, arguments, dir)?)),
            "specweb99" => Ok(Sizes::SpecWeb(specweb(text, arguments)?)),
            "documents" => Ok(Sizes::Documents(Documents::parse(text, arguments)?)),
            name => match nearest(name, ["webstone", "specweb99", "documents"]) {
                Some(meant) => Err(WorkloadError::Invalid(format!("unknown law `{name}`; did you mean `{meant}`?"))),
                None => Ok(Sizes::Law(Law::parse(text, Dimension::Size)?)),
            },
        }
    }

    /// Mean and variance of the size (bytes, bytes^2); infinite where they do not exist.
    pub fn moments(&self) -> (f64, f64) {
        match self {
            Sizes::Law(law) => (law.mean(), law.variance()),
            Sizes::WebStone(list) => list.moments(),
            Sizes::SpecWeb(set) => set.moments(),
            Sizes::Documents(set) => set.moments(),
            Sizes::ByClass(classes) => classes.size_moments(),
        }
    }

    /// The classes; none where all requests are of one.
    pub fn classes(&self) -> Option<&Classes> {
        match self {
            Sizes::ByClass(classes) => Some(classes),
            _ => None,
        }
    }

    /// The paths by object number; none where sizes are drawn anew.
    pub fn objects(&self) -> &[String] {
        match self {
            Sizes::Law(_) => &[],
            Sizes::WebStone(list) => list.paths(),
            Sizes::SpecWeb(set) => set.paths(),
            Sizes::Documents(set) => set.paths(),
            Sizes::ByClass(classes) => classes.paths(),
        }
    }

    /// The files as a site of pages without embedded files, in the order of their object numbers: to be written for a
    /// real server to serve. None where sizes are drawn anew.
    pub fn site(&self) -> Option<Site> {
        Some(Site::of_files(self.files()?, self.objects().to_vec()))
    }

    /// Size and chance of each file; none where sizes are drawn anew.
    fn files(&self) -> Option<Vec<(u64, f64)>> {
        Some(match self {
            Sizes::Law(_) => return None,
            Sizes::WebStone(list) => list.sizes().collect(),
            Sizes::SpecWeb(set) => set.sizes().collect(),
            Sizes::Documents(set) => set.sizes().collect(),
            Sizes::ByClass(classes) => return classes.files(),
        })
    }
}

fn webstone(text: &str, arguments: &[Argument<'_>], dir: &Path) -> Result<FileList, WorkloadError> {
    let fault = |what: &str| {
        WorkloadError::Invalid(format!(
            "`{text}`: {what}; write `webstone` for the standard list, `webstone(file = \"filelist.txt\")` or \
             `webstone(700: 50 kB, 300: 500 kB)`, each with `mean = 9.5 kB` if it is to be scaled"
        ))
    };
    let bytes = |value: &str| {
        let bytes = quantity::parse(value, Dimension::Size).map_err(|e| fault(&e.to_string()))?;
        if bytes >= 1.0 && bytes.is_finite() { Ok(bytes) } else { Err(fault("a size is at least 1 B")) }
    };
    let (mut file, mut mean, mut mix) = (None, None, Vec::new());
    for argument in arguments {
        match (argument.key, argument.weight) {
            (Some("file"), _) => file = Some(argument.value.trim_matches(['"', '\''])),
            (Some("mean"), _) => mean = Some(bytes(argument.value)?),
            (None, Some(weight)) => {
                let weight =
                    weight.parse().map_err(|_| fault(&format!("the weight `{weight}` is not a whole number")))?;
                mix.push(((bytes(argument.value)? + 0.5) as u64, weight));
            }
            _ => return Err(fault(&argument.foreign(&["file", "mean"]))),
        }
    }
    let list = match (file, &mix[..]) {
        (Some(_), [_, ..]) => return Err(fault("either a file or sizes with weights")),
        (Some(file), []) => FileList::read(&dir.join(file))?,
        (None, []) => FileList::standard(),
        (None, mix) => FileList::of(mix).map_err(|e| fault(&e.to_string()))?,
    };
    match mean {
        None => Ok(list),
        Some(mean) => list.scaled_to(mean).ok_or_else(|| fault("at this mean two files would be of one size")),
    }
}

fn specweb(text: &str, arguments: &[Argument<'_>]) -> Result<SpecWeb, WorkloadError> {
    let directories = match arguments {
        [] => Some(1),
        [Argument { key: Some("directories"), value, .. }] => value.parse().ok(),
        _ => None,
    };
    directories.and_then(SpecWeb::new).ok_or_else(|| {
        let right = format!("write `specweb99` or `specweb99(directories = 100)`, up to {}", SpecWeb::DIRECTORIES_MAX);
        WorkloadError::Invalid(format!("`{text}`: {right}"))
    })
}

/// What a request asks for.
pub(crate) struct Choice {
    pub(crate) class: u8,
    pub(crate) object: u32,
    pub(crate) size: u64,
}

/// Draws what is asked for. Sizes drawn anew get running object numbers.
pub(crate) enum Sizer {
    Constant { object: u32, size: u64 },
    Law { object: u32, law: Law, stream: Stream },
    WebStone { list: FileList, stream: Stream },
    SpecWeb { set: SpecWeb, files: Stream, directories: Stream },
    Documents { set: Documents, stream: Stream },
    ByClass(Box<ClassSizer>),
}

impl Sizer {
    pub(crate) fn new(sizes: &Sizes, first_object: u32, seed: u64, entity: &str) -> Sizer {
        Sizer::named(sizes, first_object, seed, entity, "")
    }

    /// The same with streams whose purposes end in `suffix`.
    fn named(sizes: &Sizes, first_object: u32, seed: u64, entity: &str, suffix: &str) -> Sizer {
        let stream = |purpose: &str| Stream::new(seed, entity, &format!("{purpose}{suffix}"));
        match sizes {
            Sizes::WebStone(list) => Sizer::WebStone { list: list.clone(), stream: stream("sizes") },
            Sizes::Documents(set) => Sizer::Documents { set: set.clone(), stream: stream("sizes") },
            Sizes::SpecWeb(set) => {
                Sizer::SpecWeb { set: set.clone(), files: stream("sizes"), directories: stream("directories") }
            }
            Sizes::Law(law) => match law.limits() {
                (low, high) if low == high => Sizer::Constant { object: first_object, size: whole_bytes(low) },
                _ => Sizer::Law { object: first_object, law: law.clone(), stream: stream("sizes") },
            },
            Sizes::ByClass(classes) => Sizer::ByClass(Box::new(ClassSizer::new(classes, first_object, seed, entity))),
        }
    }

    // Each request calls it, and a constant size must cost nothing.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Choice {
        let (object, size) = match self {
            Sizer::Constant { object, size } => (take_number(object), *size),
            Sizer::Law { object, law, stream } => (take_number(object), whole_bytes(law.sample(stream))),
            Sizer::WebStone { list, stream } => list.sample(stream),
            Sizer::SpecWeb { set, files, directories } => set.sample(files, directories),
            Sizer::Documents { set, stream } => set.sample(stream),
            Sizer::ByClass(classes) => return classes.next(),
        };
        Choice { class: STATIC, object, size }
    }
}

#[inline]
fn take_number(next: &mut u32) -> u32 {
    let number = *next;
    *next = next.wrapping_add(1);
    number
}

/// To the nearest byte; the conversion saturates.
#[inline]
fn whole_bytes(size: f64) -> u64 {
    (size + 0.5) as u64
}
