//! All directives of `nginx.conf` and of what it includes, as a tree.
//!
//! For texts that [`super::read`] has read: what is wrong in them was refused there.

use std::path::Path;
use std::sync::Arc;

use crate::note::{FileLine, ImportError};

use super::include;
use super::tokens::{Item, Tokens};

/// A directive, and its block if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directive {
    pub(crate) words: Vec<String>,
    pub(crate) block: Option<Vec<Directive>>,
}

/// The directives of `text`, which stands in the file at `path`. What an `include` names stands in its place; a file that is not
/// there has none.
pub(crate) fn tree(path: &Path, text: &str) -> Result<Vec<Directive>, ImportError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut files = 0;
    file(folder, path, text, &mut files)
}

fn file(folder: &Path, path: &Path, text: &str, files: &mut usize) -> Result<Vec<Directive>, ImportError> {
    let name: Arc<str> = path.display().to_string().into();
    let mut tokens = Tokens::new(text);
    *files += 1;
    // The blocks that are open, each with the words that opened it.
    let mut open: Vec<(Vec<String>, Vec<Directive>)> = vec![(Vec::new(), Vec::new())];
    loop {
        let item = tokens.next().map_err(|why| FileLine::new(&name, tokens.line()).refused(why))?;
        let at = FileLine::new(&name, tokens.line());
        let (_, inside) = open.last_mut().expect("the outermost stays");
        match item {
            None => break,
            Some(Item::Directive(words)) if words[0] == "include" && words.len() == 2 => {
                let found = include::find(folder, &words[1]).map_err(|error| at.refused(error))?;
                for path in found.files {
                    if *files > include::FILES_MAX {
                        return Err(at.refused(format!("more than {} files", include::FILES_MAX)));
                    }
                    let text = include::text(&path).map_err(|error| at.refused(error))?;
                    inside.extend(file(folder, &path, &text, files)?);
                }
            }
            Some(Item::Directive(words)) => inside.push(Directive { words, block: None }),
            Some(Item::Open(words)) => open.push((words, Vec::new())),
            Some(Item::Close) if open.len() > 1 => {
                let (words, block) = open.pop().expect("there are two at least");
                let (_, around) = open.last_mut().expect("the outermost stays");
                around.push(Directive { words, block: Some(block) });
            }
            Some(Item::Close) => return Err(at.refused("unexpected \"}\": no block is open in this file")),
        }
    }
    Ok(open.swap_remove(0).1)
}
