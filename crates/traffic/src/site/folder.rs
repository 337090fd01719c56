//! A site as files on a disk, for a web server to serve, and as the table `site.csv` that says what they are.
//!
//! The table has one row per file: `path,kind,class,bytes,requests,embedded`. `requests` is the share of the page
//! requests that go to a page's own file (any non-negative weights will do), empty for embedded files; `embedded` lists
//! the paths that a base file shows, separated by spaces. It is all that users and servers need to agree on, so a site
//! of one's own is a table of one's own; the price is that the laws it was drawn from are not in it.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use sojourn_stats::{input, nearest};

use super::{CLASSES, File, Kind, Page, Site};
use crate::text::TextError;

const TABLE: &str = "site.csv";
const COLUMNS: [&str; 6] = ["path", "kind", "class", "bytes", "requests", "embedded"];
const KINDS: [(&str, Kind); 3] = [("base", Kind::Base), ("embedded", Kind::Embedded), ("loner", Kind::Loner)];

impl Site {
    /// Writes the files, each of exactly its size, and `site.csv` into the folder `dir`, which must not exist or be
    /// empty. Base files are HTML that shows their embedded files, as far as those fit. The folder appears whole or not
    /// at all: it is written beside its place, as `dir` with `.partial` appended, and moved there.
    ///
    /// # Errors
    /// When `dir` is not empty, when another writer left its `.partial`, and when something cannot be written; then
    /// nothing is left.
    pub fn write(&self, dir: &Path) -> io::Result<()> {
        let taken = |what: String| Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries.count(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        if entries > 0 {
            return taken(format!("{} is not empty: name another folder, or empty it", dir.display()));
        }
        let Some(name) = dir.file_name() else {
            return taken(format!("{} cannot be made: name a new folder", dir.display()));
        };
        let mut partial = name.to_owned();
        partial.push(".partial");
        let partial = dir.with_file_name(partial);
        if partial.exists() {
            return taken(format!("{} is left of another run: remove it", partial.display()));
        }
        let written = fs::create_dir_all(&partial)
            .and_then(|()| self.write_files(&partial))
            .and_then(|()| fs::rename(&partial, dir));
        if written.is_err() {
            // The failure is what matters, not whether its traces could be removed.
            let _ = fs::remove_dir_all(&partial);
        }
        written
    }

    /// Reads a site from its table: the file `path`, or `site.csv` in the folder `path`. The files themselves are not
    /// looked at.
    ///
    /// # Errors
    /// On the first line that is no file of a site, with its number; without a page that is asked for.
    pub fn read(path: &Path) -> Result<Site, TextError> {
        let path = if path.is_dir() { path.join(TABLE) } else { path.to_path_buf() };
        let name = path.display().to_string();
        match input::text(&path) {
            Ok(text) => Site::parse(text.as_bytes(), &name),
            Err(error) => Err(TextError::Whole { name, fault: error.to_string() }),
        }
    }

    /// Reads the table `text`; `name` is what messages call it.
    ///
    /// # Errors
    /// As [`Site::read`].
    pub fn parse(text: &[u8], name: &str) -> Result<Site, TextError> {
        Table::read(text).map_err(|fault| match fault {
            (Some(line), fault) => TextError::Line { name: name.into(), line, fault },
            (None, fault) => TextError::Whole { name: name.into(), fault },
        })
    }

    fn write_files(&self, dir: &Path) -> io::Result<()> {
        let filling = filling();
        let shown: HashMap<u32, &[u32]> = self.pages.iter().map(|page| (page.file, &page.embedded[..])).collect();
        for (index, (file, path)) in self.files.iter().zip(&self.paths).enumerate() {
            let place = dir.join(path.trim_start_matches('/'));
            // A path names a place inside the folder (checked when a table is read), so it has a parent.
            fs::create_dir_all(place.parent().unwrap_or(dir))?;
            let mut out = fs::File::create_new(&place)?;
            let embedded = shown.get(&(index as u32)).copied().unwrap_or_default();
            let text = match file.kind {
                Kind::Base => self.html(embedded, file.size),
                Kind::Embedded | Kind::Loner => Vec::new(),
            };
            out.write_all(&text)?;
            let mut left = file.size - text.len() as u64;
            while left > 0 {
                let part = left.min(filling.len() as u64) as usize;
                out.write_all(&filling[..part])?;
                left -= part as u64;
            }
        }
        let mut out = BufWriter::new(fs::File::create_new(dir.join(TABLE))?);
        self.write_table(&mut out)?;
        out.flush()
    }

    /// The beginning of a base file, at most `size` bytes.
    fn html(&self, embedded: &[u32], size: u64) -> Vec<u8> {
        let mut text = String::from("<!DOCTYPE html>\n");
        for file in embedded {
            let image = format!("<img src=\"{}\">\n", self.paths[*file as usize]);
            if (text.len() + image.len()) as u64 > size {
                break;
            }
            text.push_str(&image);
        }
        text.truncate(size as usize);
        text.into_bytes()
    }

    /// Writes `site.csv`. Shares have all their digits: reading them back gives the very site.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write_table(&self, out: impl Write) -> io::Result<()> {
        let pages: HashMap<u32, &Page> = self.pages.iter().map(|page| (page.file, page)).collect();
        let mut table = csv::Writer::from_writer(out);
        table.write_record(COLUMNS)?;
        for (index, (file, path)) in self.files.iter().zip(&self.paths).enumerate() {
            let page = pages.get(&(index as u32));
            let kind = KINDS.iter().find(|kind| kind.1 == file.kind).map_or("", |kind| kind.0);
            let requests = page.map_or(String::new(), |page| page.popularity.to_string());
            let embedded = page.map_or(&[][..], |page| &page.embedded);
            let embedded: Vec<&str> = embedded.iter().map(|file| self.paths[*file as usize].as_str()).collect();
            let bytes = file.size.to_string();
            let class = CLASSES[usize::from(file.class)];
            table.write_record([path, kind, class, &bytes, &requests, &embedded.join(" ")])?;
        }
        table.flush()
    }
}

/// What files hold beyond their HTML: lines of text, many at once.
fn filling() -> Vec<u8> {
    const LINE: &[u8] = b"abcdefghijklmnopqrstuvwxyz 0123456789 ABCDEFGHIJKLMNOPQRSTUVWXYZ\n";
    LINE.repeat(1000)
}

/// A fault, with its line where it has one.
type Fault = (Option<u64>, String);

/// A table being read.
struct Table;

impl Table {
    fn read(text: &[u8]) -> Result<Site, Fault> {
        let mut rows = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(text);
        let heading = rows.headers().map_err(|error| (Some(1), error.to_string()))?.clone();
        let column = |name: &str| heading.iter().position(|known| known == name);
        let Some(columns) = COLUMNS.map(column).into_iter().collect::<Option<Vec<usize>>>() else {
            let missing = COLUMNS.iter().find(|name| column(name).is_none()).copied().unwrap_or_default();
            return Err((Some(1), format!("no column `{missing}`: the first line is {}", COLUMNS.join(","))));
        };
        let (mut files, mut paths, mut pages, mut lines) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut numbers: HashMap<String, u32> = HashMap::new();
        for row in rows.records() {
            let row = row.map_err(|error| (error.position().map(csv::Position::line), error.to_string()))?;
            let line = row.position().map(csv::Position::line);
            let field = |index: usize| row.get(columns[index]).unwrap_or("");
            let file = file(field(1), field(2), field(3)).map_err(|fault| (line, fault))?;
            let path = path(field(0)).map_err(|fault| (line, fault))?;
            let number = files.len() as u32;
            if numbers.insert(path.clone(), number).is_some() {
                return Err((line, format!("{path} is there twice")));
            }
            let share = share(field(4), file.kind).map_err(|fault| (line, fault))?;
            if let Some(popularity) = share {
                pages.push(Page { file: number, embedded: Vec::new(), popularity });
                lines.push((line, field(5).to_string()));
            } else if !field(5).is_empty() {
                return Err((line, format!("{path} is embedded and shows nothing itself: leave `embedded` empty")));
            }
            files.push(file);
            paths.push(path);
        }
        for (page, (line, shown)) in pages.iter_mut().zip(lines) {
            for path in shown.split_whitespace() {
                let number = numbers.get(path).copied();
                match number.filter(|number| files[*number as usize].kind == Kind::Embedded) {
                    Some(number) if !page.embedded.contains(&number) => page.embedded.push(number),
                    Some(_) => return Err((line, format!("it shows {path} twice"))),
                    None => return Err((line, format!("it shows {path}, which is no embedded file of this table"))),
                }
            }
            if files[page.file as usize].kind == Kind::Loner && !page.embedded.is_empty() {
                return Err((line, "a loner shows nothing: make it base, or leave `embedded` empty".into()));
            }
        }
        let sum: f64 = pages.iter().map(|page| page.popularity).sum();
        if !(sum > 0.0 && sum.is_finite()) {
            return Err((None, "no page is asked for: give base or loner files `requests` above 0".into()));
        }
        // Shares that are shares already keep all their digits.
        if (sum - 1.0).abs() > 1e-9 {
            pages.iter_mut().for_each(|page| page.popularity /= sum);
        }
        Ok(Site::of(files, pages, paths, None))
    }
}

fn file(kind: &str, class: &str, bytes: &str) -> Result<File, String> {
    let names = KINDS.map(|kind| kind.0);
    let Some(known) = KINDS.iter().find(|known| known.0 == kind) else {
        return Err(unknown("kind", kind, &names));
    };
    let Some(number) = CLASSES.iter().position(|known| *known == class) else {
        return Err(unknown("class", class, CLASSES));
    };
    let size = bytes.parse().map_err(|_| format!("bytes `{bytes}`: a size is a whole number, such as 4096"))?;
    Ok(File { kind: known.1, class: number as u8, size })
}

fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(meant) => format!("unknown {what} `{word}`; did you mean `{meant}`?"),
        None => format!("unknown {what} `{word}` (known: {})", known.join(", ")),
    }
}

/// A path that stays inside the site's folder, wherever that is.
fn path(path: &str) -> Result<String, String> {
    let inside = path.strip_prefix('/').filter(|rest| {
        let normal = |part: &str| !part.is_empty() && part != "." && part != "..";
        rest.split('/').all(normal) && !rest.contains(|bad: char| bad.is_whitespace() || bad == '\0')
    });
    match inside {
        Some(rest) if rest != TABLE => Ok(path.into()),
        Some(_) => Err(format!("{path} is the table's own name: call the file otherwise")),
        None => Err(format!("`{path}` is not the path of a file, such as /base/0001.html (no spaces, no `..`)")),
    }
}

/// The share of a page; none for an embedded file.
fn share(text: &str, kind: Kind) -> Result<Option<f64>, String> {
    let share = if text.is_empty() { Ok(0.0) } else { text.parse::<f64>() };
    match share {
        Ok(share) if kind == Kind::Embedded && share == 0.0 => Ok(None),
        Ok(share) if kind != Kind::Embedded && share >= 0.0 && share.is_finite() => Ok(Some(share)),
        Ok(share) if kind == Kind::Embedded && share > 0.0 => {
            Err(format!("requests {text}: an embedded file is asked for with its pages only; leave it empty"))
        }
        _ => Err(format!("requests `{text}`: the share of a page is a number of 0 or above, such as 0.02")),
    }
}
