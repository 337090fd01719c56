//! SPECweb99's static files: directories of four classes of nine files each.
//!
//! | class | share of the requests | sizes |
//! |---|---|---|
//! | 0 | 35 % | 0.1 to 0.9 kB in steps of 0.1 kB |
//! | 1 | 50 % | 1 to 9 kB in steps of 1 kB |
//! | 2 | 14 % | 10 to 90 kB in steps of 10 kB |
//! | 3 | 1 % | 100 to 900 kB in steps of 100 kB |
//!
//! Within a class the nine files are asked for by Zipf's law, most often the fifth: the published table 3.9, 5.9, 8.8,
//! 17.7, 35.3, 11.8, 7.1, 5.0 and 4.4 % is 1/rank over the sum of 1/1 to 1/9, rounded. Directories are asked for by
//! Zipf's law too, the first one most often (SPECweb99 Release 1.02 design; Ruan and Pai, USENIX 2006, section 2, say
//! the same of what they ran). A kilobyte has 1000 bytes here. The benchmark itself also posts, rotates
//! advertisements and grows its directories with its load: those are not in this.

use std::sync::Arc;

use sojourn_stats::Stream;

use crate::alias::Alias;

/// The shares of the requests that go to each class.
const CLASSES: [f64; 4] = [0.35, 0.50, 0.14, 0.01];
/// The rank, from 1, of each file of a class.
const RANKS: [u32; 9] = [9, 6, 4, 2, 1, 3, 5, 7, 8];
/// Files of a directory.
const FILES: usize = CLASSES.len() * RANKS.len();

/// SPECweb99's files. Cheap to clone: the tables are shared.
#[derive(Clone, Debug)]
pub struct SpecWeb(Arc<Tables>);

#[derive(Debug)]
struct Tables {
    /// Chances of the files of a directory, and of the directories.
    files: Vec<f64>,
    directories: Vec<f64>,
    /// Draw them.
    file: Alias,
    directory: Alias,
    paths: Vec<String>,
}

impl SpecWeb {
    /// Directories that there may be at most: 3.6 million files.
    pub const DIRECTORIES_MAX: u32 = 100_000;

    /// The files in so many directories; none when there is no directory, or more than may be.
    pub fn new(directories: u32) -> Option<SpecWeb> {
        if !(1..=SpecWeb::DIRECTORIES_MAX).contains(&directories) {
            return None;
        }
        let within = zipf(RANKS);
        let files: Vec<f64> =
            CLASSES.iter().flat_map(|class| within.iter().map(move |chance| class * chance)).collect();
        let directories = zipf(1..=directories);
        let path = |directory: usize, file: usize| {
            format!("/file_set/dir{directory:05}/class{}_{}", file / RANKS.len(), file % RANKS.len())
        };
        let paths = (0..directories.len()).flat_map(|directory| (0..FILES).map(move |file| path(directory, file)));
        Some(SpecWeb(Arc::new(Tables {
            file: Alias::new(&files),
            directory: Alias::new(&directories),
            paths: paths.collect(),
            files,
            directories,
        })))
    }

    /// The files' paths: directory by directory, class by class.
    pub fn paths(&self) -> &[String] {
        &self.0.paths
    }

    /// The files' sizes (bytes) and the chance of each to be the one asked for, in the order of the paths.
    pub fn sizes(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        let files = &self.0.files;
        let of = move |directory: &f64| {
            let directory = *directory;
            files.iter().enumerate().map(move |(file, chance)| (size(file), directory * chance))
        };
        self.0.directories.iter().flat_map(of)
    }

    /// Mean and variance of the size of a request (bytes, bytes^2).
    pub fn moments(&self) -> (f64, f64) {
        let sum = |of: &dyn Fn(f64) -> f64| -> f64 {
            self.0.files.iter().enumerate().map(|(file, chance)| chance * of(size(file) as f64)).sum()
        };
        let mean = sum(&|size| size);
        (mean, sum(&|size| (size - mean).powi(2)))
    }

    /// Draws a file: its index among the paths and its size (bytes). Which file of a directory does not depend on how
    /// many directories there are.
    #[inline]
    pub fn sample(&self, files: &mut Stream, directories: &mut Stream) -> (u32, u64) {
        let file = self.0.file.sample(files);
        let directory = if self.0.directories.len() == 1 { 0 } else { self.0.directory.sample(directories) };
        (directory * FILES as u32 + file, size(file as usize))
    }
}

/// Chances that go with 1/rank.
fn zipf(ranks: impl IntoIterator<Item = u32> + Clone) -> Vec<f64> {
    let total: f64 = ranks.clone().into_iter().map(|rank| 1.0 / f64::from(rank)).sum();
    ranks.into_iter().map(|rank| 1.0 / f64::from(rank) / total).collect()
}

/// Bytes of a file of a directory.
#[inline]
fn size(file: usize) -> u64 {
    let (class, step) = (file / RANKS.len(), file % RANKS.len() + 1);
    step as u64 * 10u64.pow(class as u32 + 2)
}
