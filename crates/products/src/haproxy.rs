//! Reads `haproxy.cfg`: sections, `defaults` and what is inherited from them, servers, and how one is chosen.
//!
//! The grammar is that of HAProxy's own `readcfgfile` (`src/cfgparse.c` of 2.6): a line is words, a section's name begins a
//! section wherever it stands, `.if` blocks leave lines out. What a directive means is in `cfgparse-listen.c`, `proxy.c`,
//! `backend.c` and `server.c`. What HAProxy refuses is refused where it changes who serves; the rest is left to `haproxy -c`.

mod amount;
mod arguments;
mod balance;
mod condition;
mod global;
mod proxy;
mod section;
mod server;
mod words;

use std::sync::Arc;

use crate::note::{FileLine, ImportError, Reading};
use crate::pool::Configuration;
use crate::version::Version;

use condition::Conditions;
use section::Sections;
use words::{Names, Variables};

/// The newest version whose choices were compared with those of the rules here, one by one.
pub const NEWEST_MEASURED: Version = Version::new(2, 6);

/// The version since which a backend without `balance` draws at random (3.3-dev8, commit 93cc18ac4).
const RANDOM_BY_DEFAULT: Version = Version::new(3, 3);

/// Reads the texts of `files`, each with its name, in their order, as `haproxy -f ONE -f OTHER` does.
///
/// `environment` gives variables that the file names.
///
/// # Errors
/// On what HAProxy cannot read either: the file, the line, and what would be right.
pub fn read(
    files: &[(String, String)],
    version: Version,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Configuration, ImportError> {
    let mut variables = Variables::new(environment);
    let mut sections = Sections::new(version);
    for (name, text) in files {
        let file: Arc<str> = name.as_str().into();
        let mut conditions = Conditions::default();
        sections.begin_file();
        for (index, line) in text.lines().enumerate() {
            let at = FileLine::new(&file, index + 1);
            if line.trim_start().starts_with('[') {
                sections.notes().add(&at, Reading::LeftOut, "a scope in brackets, which HAProxy itself passes over");
                continue;
            }
            if line.contains('\0') {
                return Err(at.refused("a NUL character; HAProxy reads plain text only"));
            }
            let names = Names { file: name, line: index + 1, section: sections.name() };
            let words = words::words(line, &names, &mut variables).map_err(|why| at.refused(why))?;
            for missing in std::mem::take(&mut variables.missing) {
                let text =
                    format!("\"${{{missing}}}\" is not set here, so it is empty; set it: {missing}=... sojourn import");
                if conditions.take() {
                    sections.notes().add(&at, Reading::NotUnderstood, text);
                }
            }
            let Some(first) = words.first().filter(|word| !word.is_empty()) else { continue };
            if first.starts_with('.') {
                match conditions.obey(&words, version, &variables).map_err(|why| at.refused(why))? {
                    Some(true) => {
                        let text =
                            format!("whether `{}` holds depends on HAProxy's build: taken as true", words.join(" "));
                        sections.notes().add(&at, Reading::LeftOut, text);
                        continue;
                    }
                    Some(false) => continue,
                    None if !conditions.take() => continue,
                    None => {}
                }
                match first.as_str() {
                    ".alert" => return Err(at.refused(format!(".alert stops HAProxy here: {}", words[1..].join(" ")))),
                    ".warning" | ".notice" | ".diag" => continue,
                    _ => {
                        let known = [".if", ".elif", ".else", ".endif", ".alert", ".warning", ".notice", ".diag"];
                        return Err(at.refused(sojourn_stats::unknown("directive", first, known)));
                    }
                }
            }
            if conditions.take() {
                sections.line(&words, &at, &mut variables)?;
            }
        }
        if !conditions.are_closed() {
            let at = FileLine::new(&file, text.lines().count().max(1));
            return Err(at.refused("the file ends inside an `.if`; close it with `.endif`"));
        }
    }
    sections.end()
}
