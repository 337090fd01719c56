//! Files that a user names, and how they are read: the one place where that is done.
//!
//! A text is UTF-8, with or without a byte order mark in front, which editors of some systems write; UTF-16 is refused by its
//! name. What is read whole has a limit ([`WHOLE_MAX`]) and comes from a file: devices and named pipes may give bytes without
//! end, or none for ever. A pipe of the shell, `<(command)`, is taken too. What is read as a stream ([`open`]) may be a named
//! pipe. `/dev/null` is an empty file.

use std::fs::{self, File, FileType};
use std::io::{self, BufRead, Cursor, ErrorKind, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Most bytes of a file that is read whole: 512 MiB.
pub const WHOLE_MAX: u64 = 512 << 20;

/// Most bytes of a line: 64 MiB.
pub const LINE_MAX: u64 = 64 << 20;

const MARK: &[u8] = b"\xef\xbb\xbf";

/// The text of the file at `path`, without its byte order mark.
///
/// # Errors
/// When it cannot be read, is no file, is longer than [`WHOLE_MAX`] or no text in UTF-8.
pub fn text(path: &Path) -> io::Result<String> {
    text_of(bytes(path)?)
}

/// The bytes of the file at `path`, as they are.
///
/// # Errors
/// When it cannot be read, is no file or longer than [`WHOLE_MAX`].
pub fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let of_the_shell = ["/dev/fd/", "/proc/self/fd/", "/dev/stdin"].iter().any(|start| path.starts_with(start));
    at_most(WHOLE_MAX, opened(path, of_the_shell)?)
}

/// Opens the file or the pipe at `path`, to read it piece by piece.
///
/// # Errors
/// When it cannot be opened, or is a folder or a device.
pub fn open(path: &Path) -> io::Result<File> {
    opened(path, true)
}

/// `bytes` without a byte order mark in front.
pub fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK).unwrap_or(bytes)
}

/// `source` without the byte order mark in front.
///
/// # Errors
/// When it cannot be read, or begins as UTF-16 does.
pub fn unmarked<R: Read>(mut source: R) -> io::Result<impl Read + use<R>> {
    let mut head = Vec::new();
    source.by_ref().take(MARK.len() as u64).read_to_end(&mut head)?;
    let head = text_only(&head)?.to_vec();
    Ok(Cursor::new(head).chain(source))
}

/// The lines of `source` without their ends, and without the byte order mark in front.
pub fn lines(mut source: impl BufRead) -> impl Iterator<Item = io::Result<String>> {
    let mut is_first = true;
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        match next_line(&mut source, &mut line) {
            Ok(false) => return None,
            Ok(true) => {}
            Err(error) => return Some(Err(error)),
        }
        if line.last() == Some(&b'\n') {
            line.truncate(line.len() - 1 - usize::from(line.ends_with(b"\r\n")));
        }
        let is_first = std::mem::take(&mut is_first);
        Some(if is_first { text_of(line) } else { String::from_utf8(line).map_err(|_| wrong(NOT_UTF_8)) })
    })
}

/// Puts the next line of `source` into `line`, with its end; whether there was one.
///
/// # Errors
/// When it cannot be read, or is longer than [`LINE_MAX`].
pub fn next_line(source: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let read = source.take(LINE_MAX + 1).read_until(b'\n', line)?;
    if read as u64 > LINE_MAX {
        return Err(wrong(format!("a line is longer than {} MiB", LINE_MAX >> 20)));
    }
    Ok(read > 0)
}

const NOT_UTF_8: &str = "it is not text in UTF-8";

fn text_of(mut bytes: Vec<u8>) -> io::Result<String> {
    let marked = bytes.len() - text_only(&bytes)?.len();
    bytes.drain(..marked);
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        wrong(format!("{NOT_UTF_8} (line {line})"))
    })
}

fn text_only(bytes: &[u8]) -> io::Result<&[u8]> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(wrong("it is text in UTF-16; save it as UTF-8"));
    }
    Ok(without_mark(bytes))
}

fn at_most(most: u64, source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(wrong(format!("it is longer than {} MiB, the most that is read", most >> 20)));
    }
    Ok(bytes)
}

fn opened(path: &Path, pipes: bool) -> io::Result<File> {
    // Looked at before it is opened: opening a pipe that is not written to waits.
    let kind = fs::metadata(path)?.file_type();
    let is_taken = kind.is_file() || kind.is_fifo() && pipes || path == Path::new("/dev/null");
    if is_taken { File::open(path) } else { Err(wrong(format!("it is {}, not a file", name(kind)))) }
}

fn name(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

fn wrong(why: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused_at_the_limit() {
        let most = 1 << 20;
        assert_eq!(at_most(most, io::repeat(b'x').take(most)).unwrap().len() as u64, most);
        let error = at_most(most, io::repeat(b'x').take(most + 2)).unwrap_err();
        assert_eq!(error.to_string(), "it is longer than 1 MiB, the most that is read");
    }
}
