//! The key that senders and receivers of reports share.

use std::path::Path;

use ring::hmac;
use sojourn_part::ServeError;
use sojourn_part::settings::Wrong;
use sojourn_stats::input;

/// Fewer bytes could be guessed.
const LENGTH_MIN: usize = 16;

/// The key of HMAC-SHA256 that senders and receivers share.
#[derive(Clone)]
pub struct Key(pub(super) hmac::Key);

impl Key {
    /// The key of these bytes.
    pub fn new(secret: &[u8]) -> Key {
        Key(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// Reads the key in a file: all its bytes but a byte order mark and white space at its ends.
    ///
    /// # Errors
    /// When the file cannot be read, or holds fewer than 16 bytes.
    pub fn read(path: &Path) -> Result<Key, ServeError> {
        let wrong = |what: String| {
            ServeError::Config(format!(
                "key {}: {what}; make one by `head -c 32 /dev/urandom | base64 > {}`",
                path.display(),
                path.display()
            ))
        };
        let secret = input::bytes(path).map_err(|error| wrong(error.to_string()))?;
        let secret = input::without_mark(&secret).trim_ascii();
        match secret.len() {
            length if length < LENGTH_MIN => {
                Err(wrong(format!("{length} bytes are too few; at least {LENGTH_MIN} are needed")))
            }
            _ => Ok(Key::new(secret)),
        }
    }
}

impl Key {
    /// Reads the key that settings name; its key there is `key_file`.
    ///
    /// # Errors
    /// When none is named, or as [`Key::read`].
    pub fn of_file(file: Option<&Path>) -> Result<Key, Wrong> {
        let none = "what is reported is signed: name the file with the key that both sides share (`--key`)";
        let file = file.ok_or_else(|| Wrong::new("key_file", none))?;
        Key::read(file).map_err(|error| Wrong::new("key_file", error))
    }

    /// Whether this is the tag of a text; found out in the same time whatever is wrong.
    pub fn has_signed(&self, text: &[u8], tag: &[u8]) -> bool {
        hmac::verify(&self.0, text, tag).is_ok()
    }

    /// The tag of a text.
    pub fn sign(&self, text: &[u8]) -> [u8; 32] {
        hmac::sign(&self.0, text).as_ref().try_into().expect("SHA-256 has 32 bytes")
    }
}

/// The same secret signs the same.
impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.sign(b"") == other.sign(b"")
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}
