//! Why a line cannot be read.

use std::fmt;

/// Why a line is bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Nothing before the first space.
    Host,
    /// Something else before the time than `host ident user`.
    Before,
    /// No `[dd/Mon/yyyy:hh:mm:ss +zzzz]`.
    Time,
    /// No `"METHOD path"` after the time (a connection without a request is logged as `"-"`).
    Request,
    /// No status and size after the request.
    Reply,
    /// A NUL byte: a crash of the machine leaves blocks of them.
    Nul,
    /// Longer than the longest line that is read.
    Long,
    /// The fields and what stands between them are not those of the format.
    Shape,
    /// The line goes on behind the format's last field.
    Extra,
    /// No instant where the format has one.
    Instant,
    /// No number where the format has one.
    Number,
    /// No JSON object.
    Json,
    /// Fields before a line that names them (`#Fields:`).
    Unnamed,
}

impl Fault {
    pub(super) const ALL: [Fault; 13] = [
        Fault::Host,
        Fault::Before,
        Fault::Time,
        Fault::Request,
        Fault::Reply,
        Fault::Nul,
        Fault::Long,
        Fault::Shape,
        Fault::Extra,
        Fault::Instant,
        Fault::Number,
        Fault::Json,
        Fault::Unnamed,
    ];
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Host => "no host",
            Fault::Before => "something else than `host ident user` before the time",
            Fault::Time => "no [dd/Mon/yyyy:hh:mm:ss +zzzz]",
            Fault::Request => "no \"METHOD path\"",
            Fault::Reply => "no status and size",
            Fault::Nul => "a NUL byte",
            Fault::Long => "too long",
            Fault::Shape => "fields that are not the format's",
            Fault::Extra => "more fields than the format",
            Fault::Instant => "no instant where the format has one",
            Fault::Number => "no number where the format has one",
            Fault::Json => "no JSON object",
            Fault::Unnamed => "fields before the line `#Fields:` that names them",
        })
    }
}
