//! The secret that a coordinator and its agents share: proved with HMAC-SHA256 (RFC 2104), by `ring`, and never sent.

use std::fmt::Write as _;
use std::io;

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

/// A text that cannot be guessed, as a secret or as the nonce of one proof.
///
/// # Errors
/// When the system has no random numbers.
pub fn new_secret() -> io::Result<String> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("the system gives no random numbers"))?;
    Ok(hex(&bytes))
}

/// The proof that one knows `secret`, for this nonce only.
pub(super) fn proof(secret: &[u8], nonce: &str) -> String {
    hex(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), nonce.as_bytes()).as_ref())
}

/// Whether `proof` is that of `secret` for this nonce, in a time that does not tell where it differs.
pub(super) fn proves(proof: &str, secret: &[u8], nonce: &str) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    bytes(proof).is_some_and(|tag| hmac::verify(&key, nonce.as_bytes(), &tag).is_ok())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes all");
        text
    })
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_the_hmac_of_rfc_4231() {
        // Test cases 2 and 6 (a key longer than a block).
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(proof(b"Jefe", "what do ya want for nothing?"), expected);
        let expected = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
        assert_eq!(proof(&[0xaa; 131], "Test Using Larger Than Block-Size Key - Hash Key First"), expected);
    }

    #[test]
    fn only_the_right_secret_proves() {
        let nonce = new_secret().unwrap();
        let right = proof(b"correct", &nonce);
        assert!(proves(&right, b"correct", &nonce));
        assert!(!proves(&right, b"incorrect", &nonce) && !proves(&right, b"correct", "another nonce"));
        for wrong in ["", "5", "zz", &right[1..], &right[2..], "\u{e9}\u{e9}"] {
            assert!(!proves(wrong, b"correct", &nonce), "{wrong}");
        }
        assert_ne!(nonce, new_secret().unwrap());
    }
}
