//! The window that one end states, as the other end reads it (RFC 7323, section 2).
//!
//! Its scale was agreed before the switch knew the server, so it is stated anew, in the scale that the other end was told.

/// The scale that clients are told, the usual one of Linux.
pub(crate) const OWN_SCALE: u8 = 7;

/// The scale in which a window was stated, and that in which it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scales {
    /// The scale (bits) in which it was stated.
    pub from: u8,
    /// The scale (bits) in which it is read.
    pub to: u8,
}

impl Scales {
    /// A window, stated anew: never more than it was.
    pub fn apply(self, window: u16) -> u16 {
        if self.from == self.to {
            return window;
        }
        let bytes = u64::from(window) << self.from;
        u16::try_from(bytes >> self.to).unwrap_or(u16::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_stated_anew_and_never_larger() {
        for (from, to, window, expected) in [
            (7, 7, 501, 501),
            (9, 7, 501, 2004),
            (0, 7, 64_240, 501),
            (14, 0, 2, 32_768),
            (14, 0, 9, 65_535),
            (0, 7, 100, 0),
        ] {
            assert_eq!(Scales { from, to }.apply(window), expected, "{from} {to} {window}");
        }
    }
}
