//! The version of a product, as far as its rules depend on it.

use std::fmt;
use std::str::FromStr;

/// A version of a product: `2.6`. What comes after the second number is read over: rules do not change within a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second.
    pub minor: u32,
}

impl Version {
    /// `major.minor`.
    pub const fn new(major: u32, minor: u32) -> Version {
        Version { major, minor }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Version, String> {
        let mut numbers = text.splitn(3, '.');
        let mut next = || numbers.next().and_then(|digits| digits.parse().ok());
        match (next(), next()) {
            (Some(major), Some(minor)) => Ok(Version { major, minor }),
            _ => Err("it is two numbers, such as 2.6".into()),
        }
    }
}
