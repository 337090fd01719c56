//! WebStone file lists: `/file500.html 350` means a file of 500 bytes asked for with weight 350.
//!
//! A line is a path, a whole-number weight and, where the name does not tell it, a size in bytes (`/index.html 20 4096`).
//! `#` starts a comment. The size in a name is the number its stem ends with, `k` for a thousand and `m` for a million
//! (`/file5k.html` has 5000 bytes). Weights are relative: they need not add up to 1000. The price of whole weights is
//! WebStone's own: nothing rarer than one in their sum can be said.

use std::path::Path;
use std::sync::Arc;

use sojourn_stats::{Stream, input};

use crate::text::TextError;

/// `filelist.standard` of WebStone 2.0.1, as printed by Fujita (2000), section 1.2. The lists of its distribution for
/// dynamic pages (light, medium and heavy) are not in what was published.
const STANDARD: &str = "/file500.html 350\n/file5k.html 500\n/file50k.html 140\n/file500k.html 9\n/file5m.html 1\n";

/// A WebStone file list. Cheap to clone: the list itself is shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileList {
    paths: Arc<[String]>,
    files: Arc<[File]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct File {
    size: u64,
    /// The weights up to this file's, its own included.
    weight_up_to: u64,
}

impl FileList {
    /// The standard list of WebStone 2.0.1: 500 B, 5 kB, 50 kB, 500 kB and 5 MB with weights 350, 500, 140, 9 and 1
    /// (Fujita 2000, section 1.2).
    pub fn standard() -> FileList {
        FileList::parse(STANDARD, "filelist.standard").expect("the standard list is well-formed")
    }

    /// One file of each size (bytes), asked for with its weight; its path tells the size, as in `/file50k.html`.
    ///
    /// # Errors
    /// When no file has a weight.
    pub fn of(files: &[(u64, u32)]) -> Result<FileList, TextError> {
        let line = |(size, weight): &(u64, u32)| format!("{} {weight}\n", path_of(*size));
        FileList::parse(&files.iter().map(line).collect::<String>(), "webstone")
    }

    /// The same weights with all sizes scaled so that the mean request has `mean` bytes, to the nearest byte of each
    /// file; none when two of them would then be of one size. The paths tell the new sizes.
    pub fn scaled_to(&self, mean: f64) -> Option<FileList> {
        let factor = mean / self.moments().0;
        let scaled = |file: &File| File { size: ((file.size as f64 * factor + 0.5) as u64).max(1), ..*file };
        let files: Arc<[File]> = self.files.iter().map(scaled).collect();
        let paths: Arc<[String]> = files.iter().map(|file| path_of(file.size)).collect();
        let mut distinct: Vec<u64> = files.iter().map(|file| file.size).collect();
        distinct.sort_unstable();
        distinct.dedup();
        (distinct.len() == files.len()).then_some(FileList { paths, files })
    }

    /// Reads the list in the file at `path`.
    ///
    /// # Errors
    /// When the file cannot be read, and as [`FileList::parse`].
    pub fn read(path: &Path) -> Result<FileList, TextError> {
        let name = path.display().to_string();
        match input::text(path) {
            Ok(text) => FileList::parse(&text, &name),
            Err(error) => Err(TextError::Whole { name, fault: error.to_string() }),
        }
    }

    /// Reads a list; `name` is what messages call it.
    ///
    /// # Errors
    /// On the first line that is not a path, a weight and a size, with its number; when no file has a weight.
    pub fn parse(text: &str, name: &str) -> Result<FileList, TextError> {
        let (mut paths, mut files, mut weights) = (Vec::new(), Vec::new(), 0u64);
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let (path, size, weight) = read_line(line).map_err(|fault| TextError::Line {
                name: name.into(),
                line: index as u64 + 1,
                fault,
            })?;
            weights += u64::from(weight);
            paths.push(path.to_owned());
            files.push(File { size, weight_up_to: weights });
        }
        if weights == 0 {
            let fault = "no file with a weight above 0; a line looks like `/file500.html 350`".into();
            return Err(TextError::Whole { name: name.into(), fault });
        }
        Ok(FileList { paths: paths.into(), files: files.into() })
    }

    /// The files' paths, in the order of the list.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// The files' sizes (bytes) and the chance of each to be the one asked for.
    pub fn sizes(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        let total = self.total() as f64;
        let mut below = 0;
        self.files.iter().map(move |file| {
            let weight = file.weight_up_to - below;
            below = file.weight_up_to;
            (file.size, weight as f64 / total)
        })
    }

    /// Mean and variance of the size of a request (bytes, bytes^2).
    pub fn moments(&self) -> (f64, f64) {
        let mean: f64 = self.sizes().map(|(size, chance)| size as f64 * chance).sum();
        let variance = self.sizes().map(|(size, chance)| (size as f64 - mean).powi(2) * chance).sum();
        (mean, variance)
    }

    /// Draws a file by its weight: its index in the list and its size (bytes). Exact, in O(log n) for n files.
    #[inline]
    pub fn sample(&self, stream: &mut Stream) -> (u32, u64) {
        let drawn = stream.below(self.total() as usize) as u64;
        let index = self.files.partition_point(|file| file.weight_up_to <= drawn);
        (index as u32, self.files[index].size)
    }

    #[inline]
    fn total(&self) -> u64 {
        self.files[self.files.len() - 1].weight_up_to
    }
}

fn read_line(line: &str) -> Result<(&str, u64, u32), String> {
    let mut words = line.split_whitespace();
    let path = words.next().unwrap_or("");
    if !path.starts_with('/') {
        return Err(format!("`{path}` is not a path from the root, such as `/file500.html`"));
    }
    let weight = words.next().ok_or_else(|| format!("no weight after `{path}`, as in `{path} 350`"))?;
    let weight: u32 =
        weight.parse().map_err(|_| format!("the weight `{weight}` is not a whole number, as in `{path} 350`"))?;
    let size = match words.next() {
        Some(word) => {
            size(word).ok_or_else(|| format!("the size `{word}` is not a number of bytes, such as 500, 5k or 5m"))?
        }
        None => size_in_name(path)
            .ok_or_else(|| format!("no size in the name: write it in bytes after the weight, `{path} {weight} 500`"))?,
    };
    match words.next() {
        Some(word) => Err(format!("`{word}` is too much: a line is a path, a weight and a size")),
        None => Ok((path, size, weight)),
    }
}

/// The path that WebStone gives to a file of so many bytes.
fn path_of(size: u64) -> String {
    match size {
        size if size >= 1_000_000 && size.is_multiple_of(1_000_000) => format!("/file{}m.html", size / 1_000_000),
        size if size >= 1_000 && size.is_multiple_of(1_000) => format!("/file{}k.html", size / 1_000),
        size => format!("/file{size}.html"),
    }
}

/// `500`, `5k`, `5m`.
fn size(word: &str) -> Option<u64> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match word[digits.len()..].to_ascii_lowercase().as_str() {
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// The size that the stem of a file's name ends with: 5000 of `/dir9/file5k.html`.
fn size_in_name(path: &str) -> Option<u64> {
    let name = path.rsplit('/').next()?;
    let stem = name.split('.').next()?;
    let before_unit = stem.strip_suffix(['k', 'K', 'm', 'M']).unwrap_or(stem);
    size(&stem[before_unit.trim_end_matches(|c: char| c.is_ascii_digit()).len()..])
}
