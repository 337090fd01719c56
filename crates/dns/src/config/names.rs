//! Names of the DNS as texts: lower case, without a dot at the end.

/// Bytes of the longest name as a text (RFC 1035, section 2.3.4).
const NAME_MAX: usize = 253;

/// Reads a name.
///
/// # Errors
/// In words, where it is none.
pub(crate) fn name(text: &str) -> Result<String, String> {
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let is_label = |label: &str| {
        let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        (1..=63).contains(&label.len()) && label.bytes().all(is_sign)
    };
    match name.len() <= NAME_MAX && name.split('.').all(is_label) {
        true => Ok(name),
        false => Err(format!("`{text}` is no name, as www.example.org")),
    }
}

/// The whole name of a label under a zone: `@` is the zone itself, and one with a dot at its end is whole already.
///
/// # Errors
/// In words, where it is no name, or not in the zone.
pub(crate) fn under(label: &str, zone: &str) -> Result<String, String> {
    let whole = match label {
        "@" => zone.to_owned(),
        _ if label.ends_with('.') => name(label)?,
        _ => name(&format!("{label}.{zone}"))?,
    };
    match is_within(&whole, zone) {
        true => Ok(whole),
        false => Err(format!("`{whole}` is not in the zone `{zone}`; give it a zone of its own")),
    }
}

/// Whether a name is in a zone.
pub(crate) fn is_within(name: &str, zone: &str) -> bool {
    name == zone || name.strip_suffix(zone).is_some_and(|rest| rest.ends_with('.'))
}

/// A name in a zone as it is written under it.
pub(crate) fn label(name: &str, zone: &str) -> String {
    match name.strip_suffix(zone) {
        Some("") => "@".into(),
        Some(rest) => rest.trim_end_matches('.').into(),
        None => name.into(),
    }
}
