//! Numbers of things in sentences.

use std::fmt::Display;

/// So many of them: `1 request`, `6 requests`.
pub(crate) fn count<N: Display + PartialEq + From<u8>>(n: N, noun: &str) -> String {
    let plural = verb(&n, "", "s");
    format!("{n} {noun}{plural}")
}

/// The word for one of them, or for several: `is` or `are`.
pub(crate) fn verb<'a, N: PartialEq + From<u8>>(n: &N, one: &'a str, several: &'a str) -> &'a str {
    if *n == N::from(1_u8) { one } else { several }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_them_is_not_several() {
        let said = |n: u64| format!("{} {} bad", count(n, "line"), verb(&n, "is", "are"));
        assert_eq!(
            [0, 1, 2, 21].map(said),
            ["0 lines are bad", "1 line is bad", "2 lines are bad", "21 lines are bad"]
        );
    }
}
