//! Media types, by the ending of a file's name.

use std::collections::HashMap;

use hyper::header::HeaderValue;

/// The media type of the file at `path`: as settings have it, else as is usual. Text is in UTF-8.
pub(super) fn media_type(path: &str, settings: &HashMap<String, HeaderValue>) -> HeaderValue {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some((_, ending)) = name.rsplit_once('.') else { return HeaderValue::from_static("application/octet-stream") };
    let ending = ending.to_ascii_lowercase();
    if let Some(set) = settings.get(&ending) {
        return set.clone();
    }
    let usual = mime_guess::from_ext(&ending).first_raw().unwrap_or("application/octet-stream");
    if usual.starts_with("text/") {
        HeaderValue::from_str(&format!("{usual}; charset=utf-8")).expect("media types are plain text")
    } else {
        HeaderValue::from_static(usual)
    }
}

/// Whether files of this type are made smaller by coding them; pictures, sound and archives are small already.
pub(super) fn is_compressible(media_type: &HeaderValue) -> bool {
    let whole = media_type.to_str().unwrap_or("");
    let essence = whole.split(';').next().unwrap_or("").trim();
    const ARCHIVES: [&str; 5] =
        ["application/gzip", "application/zip", "application/zstd", "application/x-bzip2", "application/x-xz"];
    match essence.split('/').next() {
        Some("image") => essence == "image/svg+xml",
        Some("audio" | "video") => false,
        _ => !ARCHIVES.contains(&essence) && !essence.starts_with("font/woff"),
    }
}
