//! Which program the path of a URL names.

use std::path::{Path, PathBuf};

use sojourn_part::ServeError;
use sojourn_part::settings::node::Pattern;

/// The programs below a root.
pub(super) struct Scripts {
    patterns: Vec<Pattern>,
    pub(super) root: PathBuf,
}

/// Where a path leads.
pub(super) enum Place {
    /// To no program.
    Elsewhere,
    /// To a program, but it is not there.
    Missing,
    /// To this one.
    Here(Script),
}

/// A program that is asked for.
pub(super) struct Script {
    pub(super) file: PathBuf,
    /// Its path in the URL.
    pub(super) name: String,
    /// What follows it in the URL.
    pub(super) info: String,
}

impl Scripts {
    /// Those that `patterns` match, below `root` or else below the node's files.
    pub(super) fn new(
        section: &str,
        patterns: &[Pattern],
        root: Option<&Path>,
        files: Option<&Path>,
    ) -> Result<Scripts, ServeError> {
        let Some(root) = root.or(files) else {
            return Err(ServeError::Config(format!(
                "{section}: there is no root: name the folder of the programs, or that of the files"
            )));
        };
        let unfit = |why: &dyn std::fmt::Display| {
            ServeError::Config(format!("{section}: programs below {}: {why}", root.display()))
        };
        let root = root.canonicalize().map_err(|error| unfit(&error))?;
        if !root.is_dir() {
            return Err(unfit(&"not a directory"));
        }
        Ok(Scripts { patterns: patterns.to_vec(), root })
    }

    /// The program of a path that has one spelling only; what follows the first file is for the program to read.
    pub(super) fn find(&self, path: &str) -> Place {
        let ends = path.match_indices('/').map(|(at, _)| at).skip(1).chain([path.len()]);
        let mut place = Place::Elsewhere;
        for end in ends {
            let (name, info) = path.split_at(end);
            if name.ends_with('/') || !self.patterns.iter().any(|pattern| pattern.matches(name)) {
                continue;
            }
            let file = self.root.join(&name[1..]).canonicalize().ok();
            match file.filter(|file| file.starts_with(&self.root) && file.is_file()) {
                Some(file) => return Place::Here(Script { file, name: name.into(), info: info.into() }),
                None => place = Place::Missing,
            }
        }
        place
    }
}
