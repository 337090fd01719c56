//! A page that lists a folder, where settings allow it.

use std::fmt::Write;
use std::os::fd::OwnedFd;

use rustix::fs::{Dir, FileType, Mode, OFlags, openat};

use super::path::encoded;

/// More entries than these are not listed.
const MOST: usize = 10_000;

/// The page of a folder that has this path, without names that begin with a dot; none when the folder cannot be read.
pub(super) fn page(folder: &OwnedFd, path: &str) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let entries = Dir::new(openat(folder, ".", flags, Mode::empty()).ok()?).ok()?;
    let mut names: Vec<(bool, String)> = entries
        .filter_map(Result::ok)
        .map(|entry| {
            let is_folder = entry.file_type() == FileType::Directory;
            (!is_folder, format!("{}{}", entry.file_name().to_string_lossy(), if is_folder { "/" } else { "" }))
        })
        .filter(|(_, name)| !name.starts_with('.'))
        .take(MOST)
        .collect();
    names.sort();
    let title = escaped(path);
    let mut page = format!(
        "<!doctype html>\n<html><head><meta charset=\"utf-8\"><title>{title}</title></head>\n<body><h1>{title}</h1>\n<ul>\n"
    );
    if path != "/" {
        page.push_str("<li><a href=\"../\">../</a></li>\n");
    }
    for (_, name) in &names {
        // What begins with `./` is a path, whatever name with a colon follows.
        let _ = writeln!(page, "<li><a href=\"./{}\">{}</a></li>", encoded(name), escaped(name));
    }
    page.push_str("</ul></body></html>\n");
    Some(page)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
