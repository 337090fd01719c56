//! Paths of URLs as paths below a root.

/// The path of a URL, decoded, without empty and `.` segments; it begins with one slash and ends with one if `path` does. None
/// where it is no text, has a NUL in it, or goes up (`..`).
pub(crate) fn normalized(path: &str) -> Option<String> {
    let decoded = percent_decoded(path)?;
    let mut normal = String::with_capacity(decoded.len() + 1);
    for segment in decoded.split('/') {
        match segment {
            "" | "." => {}
            ".." => return None,
            name => {
                normal.push('/');
                normal.push_str(name);
            }
        }
    }
    if normal.is_empty() || decoded.ends_with('/') || decoded.ends_with("/.") {
        normal.push('/');
    }
    Some(normal)
}

/// `%2F` and the like resolved; none when that is no text or has a NUL in it.
pub(in super::super) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let decoded = match byte {
            b'%' => {
                let high = (rest.next()? as char).to_digit(16)?;
                let low = (rest.next()? as char).to_digit(16)?;
                (high * 16 + low) as u8
            }
            other => other,
        };
        if decoded == 0 {
            return None;
        }
        bytes.push(decoded);
    }
    String::from_utf8(bytes).ok()
}

/// The path for a URL: what could be read as something else is escaped.
pub(crate) fn encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => text.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => text.push(char::from(byte)),
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{encoded, normalized};

    #[test]
    fn every_spelling_of_a_path_becomes_one() {
        for (path, normal) in [
            ("/", Some("/")),
            ("/a", Some("/a")),
            ("//a//b", Some("/a/b")),
            ("/./a/./b/.", Some("/a/b/")),
            ("/a/", Some("/a/")),
            ("/%61%2Fb", Some("/a/b")),
            ("/a/../b", None),
            ("/%2e%2e/b", None),
            ("/a%00", None),
            ("/a%2", None),
            ("/%ff", None),
            ("/...", Some("/...")),
        ] {
            assert_eq!(normalized(path).as_deref(), normal, "{path}");
        }
        assert_eq!(encoded("/a b/\\?#\u{e4}"), "/a%20b/%5C%3F%23%C3%A4");
    }
}
