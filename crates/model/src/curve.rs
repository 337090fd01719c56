//! A server measured from outside: its delay at a given number of users, the same for all requests.
//!
//! A stress test gives the mean delay at each load, and piecewise polynomials interpolate it. A second polynomial gives
//! the share of objects that are denied. This is the server model of Zhang (2002, section 4.4: Tables 4.5 to 4.7). Its
//! price: the delay is one number for all files, small and large, and says nothing of the server's inside. Outside the
//! measured loads it is only as good as its polynomials.

use sojourn_stats::Span;

/// The delay of a server as a function of the number of users attached to it.
#[derive(Clone, Debug, PartialEq)]
pub struct DelayCurve {
    /// In ascending order of `up_to`; the last one goes on beyond it. At least one.
    pub pieces: Vec<Piece>,
    /// The share of denied objects; none: no object is denied.
    pub denied: Option<Denied>,
}

/// A polynomial that holds up to some number of users.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// The largest number of users that it holds for.
    pub up_to: u32,
    /// a0, a1, ...: the delay at N users is a0 + a1 N + a2 N^2 + ... (s); below 0 it is 0.
    pub seconds: Vec<f64>,
}

/// The share of denied objects, and what a denial costs the user.
#[derive(Clone, Debug, PartialEq)]
pub struct Denied {
    /// The largest number of users without denials.
    pub above: u32,
    /// c0, c1, ...: the share at N users is c0 + c1 x + c2 x^2 + ... with x = N - `above`, cut at 0 and 1.
    pub share: Vec<f64>,
    /// Added to the user's think time by a denial.
    pub penalty: Span,
}

impl DelayCurve {
    /// Time in the server of a job that raises the number of users to `users`, itself included.
    #[inline]
    pub fn stay(&self, users: u32) -> Span {
        let last = self.pieces.len() - 1;
        let piece = self.pieces[..last].iter().find(|piece| users <= piece.up_to).unwrap_or(&self.pieces[last]);
        // A negative number of seconds becomes none.
        Span::from_secs_f64(polynomial(&piece.seconds, f64::from(users)))
    }

    /// The share of objects that are denied at `users`, from 0 to 1.
    #[inline]
    pub fn denied_share(&self, users: u32) -> f64 {
        match &self.denied {
            Some(denied) if users > denied.above => {
                polynomial(&denied.share, f64::from(users - denied.above)).clamp(0.0, 1.0)
            }
            _ => 0.0,
        }
    }

    /// Refuses an impossible curve in one line.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Some(first) = self.pieces.first() else {
            return Err("delay-curve needs [[delay]] pieces: `up_to` (users) and `seconds` (a0, a1, ...)".into());
        };
        let finite = |coefficients: &[f64]| !coefficients.is_empty() && coefficients.iter().all(|a| a.is_finite());
        if first.up_to == 0 || self.pieces.windows(2).any(|pair| pair[0].up_to >= pair[1].up_to) {
            return Err("delay.up_to: the pieces' numbers of users start above 0 and grow".into());
        }
        if let Some(piece) = self.pieces.iter().find(|piece| !finite(&piece.seconds)) {
            return Err(format!("delay.seconds up to {}: coefficients a0, a1, ... in seconds", piece.up_to));
        }
        match &self.denied {
            Some(denied) if !finite(&denied.share) => {
                Err("denied.share: coefficients c0, c1, ... of a polynomial in N - above".into())
            }
            _ => Ok(()),
        }
    }
}

/// By Horner's rule.
#[inline]
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, a| sum * x + a)
}
