//! What tells points apart: all that their answers hang on.

use std::collections::{BTreeSet, HashMap};
use std::fs::Metadata;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest, Sha256};
use sojourn_stats::input;

use crate::spec::Engine;
use crate::variants::Experiment;

/// The key of a point. `files` has what was seen of files for other points.
pub(super) fn key(
    files: &mut Files,
    experiment: &Experiment,
    settings: &[(String, String)],
    by: &[Engine],
    beside: &str,
) -> String {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(concat!("sojourn sweep 2 ", env!("CARGO_PKG_VERSION")).as_bytes());
    by.iter().for_each(|engine| part(engine.name().as_bytes()));
    settings.iter().for_each(|(key, value)| part(format!("{key} = {value}").as_bytes()));
    let text = experiment.text();
    part(text.as_bytes());
    part(beside.as_bytes());
    let folder = experiment.file.parent().unwrap_or(Path::new("")).to_path_buf();
    // A file that is named may name others, as that of a server's model does.
    let (mut known, mut next) = (BTreeSet::new(), vec![(text, folder)]);
    while let Some((text, folder)) = next.pop() {
        for path in files.named(&text, &folder).into_iter().filter(|path| known.insert(path.clone())) {
            if path.extension().is_some_and(|end| end == "toml") {
                let inside = input::text(&path).unwrap_or_default();
                next.push((inside, path.parent().unwrap_or(Path::new("")).to_path_buf()));
            }
        }
    }
    for path in known {
        part(path.as_os_str().as_encoded_bytes());
        // What cannot be read is refused when it is asked about, which says why.
        part(&files.digest(&path).unwrap_or_default());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What was seen of files. The points of a sweep name the same ones, and a long log takes long to read.
#[derive(Default)]
pub(super) struct Files {
    /// Of each folder the words that texts have, and the file that a word names, if it names one.
    named: HashMap<PathBuf, HashMap<String, Option<PathBuf>>>,
    /// Length, time of the last change, and digest.
    digests: HashMap<PathBuf, (u64, Option<SystemTime>, Vec<u8>)>,
}

impl Files {
    /// The files that texts in an experiment name, alone or inside of a law: `log = "a.log"`, `empirical(file = "gaps.txt")`. A
    /// word that is no name, and is that of a file all the same, only makes the key hang on more than it must.
    fn named(&mut self, text: &str, folder: &Path) -> Vec<PathBuf> {
        // A text inside of a text has quotes after backslashes.
        let quoted = || text.split(['"', '\'', '\\', '\n']);
        let words = quoted()
            .flat_map(|part| part.split([',', '(', ')', '[', ']', '{', '}', '=']))
            .chain(quoted())
            .map(str::trim);
        let seen = self.named.entry(folder.to_path_buf()).or_default();
        let mut named = Vec::new();
        for word in words.filter(|word| !word.is_empty() && word.len() < 4096) {
            let known = seen.get(word).cloned();
            named.extend(known.unwrap_or_else(|| {
                let file = file_at(&folder.join(word));
                seen.insert(word.to_owned(), file.clone());
                file
            }));
        }
        named
    }

    /// The SHA-256 of what is in a file, read again where it has changed.
    fn digest(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        let (length, changed) = path.metadata().map(|of| stamp(&of))?;
        match self.digests.get(path) {
            Some((of, at, digest)) if (*of, *at) == (length, changed) && changed.is_some() => Ok(digest.clone()),
            _ => {
                let digest = digest(path)?;
                self.digests.insert(path.to_path_buf(), (length, changed, digest.clone()));
                Ok(digest)
            }
        }
    }
}

/// The file of this name; a site is named by its folder.
fn file_at(path: &Path) -> Option<PathBuf> {
    let path = if path.is_dir() { path.join("site.csv") } else { path.to_path_buf() };
    path.is_file().then_some(path)
}

/// What changes where a file does.
fn stamp(of: &Metadata) -> (u64, Option<SystemTime>) {
    (of.len(), of.modified().ok())
}

fn digest(path: &Path) -> io::Result<Vec<u8>> {
    let (mut file, mut hash) = (input::open(path)?, Sha256::new());
    let mut block = vec![0; 1 << 16];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(hash.finalize().to_vec()),
            read => hash.update(&block[..read]),
        }
    }
}
