//! Reads `nginx.conf` and what it includes: `upstream` blocks, and what of the locations that lead to them matters.
//!
//! Words and blocks are nginx's own (`src/core/ngx_conf_file.c`). Directives: `ngx_http_upstream.c`, the modules of the
//! balancing methods beside it, and `ngx_http_proxy_module.c`. Files that are included are read relative to the main file; one
//! that is not there is a note, since configurations are often read on another machine than theirs.

mod amount;
mod arguments;
mod context;
mod include;
mod reader;
mod tokens;
mod tree;
mod upstream;

use std::path::Path;

use crate::note::ImportError;
use crate::pool::Configuration;

pub(crate) use tree::{Directive, tree};

/// Reads `text`, which stands in the file at `path`.
///
/// # Errors
/// On what nginx cannot read either: the file, the line, and what would be right.
pub fn read(path: &Path, text: &str) -> Result<Configuration, ImportError> {
    let mut reader = reader::Reader::new(path);
    reader.file(path, text, 0)?;
    reader.end()
}
