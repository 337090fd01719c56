//! One HTTP/1.1 reply, fed as it is read, in any pieces (RFC 9112, sections 6 and 7).
//!
//! The head is parsed where it was read; only a head cut by a read is copied. Bodies are counted; they
//! are kept only where the step of a scenario looks into them, and only up to a bound.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Response, Status};

const HEAD_MAX: usize = 64 * 1024;
const HEADERS_MAX: usize = 64;

/// The reply being read on a connection; reused for the next one.
#[derive(Debug, Default)]
pub struct Reply {
    state: State,
    /// The beginning of a head that one read did not hold.
    head: Vec<u8>,
    touched: bool,
    bodiless: bool,
    keeps_cookies: bool,
    /// Status code of the final reply.
    pub status: u16,
    /// Bytes of the body so far.
    pub bytes: u64,
    /// Whether the server keeps the connection.
    pub keep_alive: bool,
    /// Value of `x-sojourn-backend`, empty where there was none.
    pub backend: Vec<u8>,
    /// The `SOJOURN=...` pair of `set-cookie`, empty where there was none.
    pub cookie: Vec<u8>,
    /// Where a redirect leads (`location`), empty where there was none.
    pub location: Vec<u8>,
    /// What is kept of it, where something is.
    pub(crate) kept: Option<Box<Kept>>,
}

/// What is to be kept of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keeping {
    /// Its body, up to so many bytes.
    pub(crate) body_most: Option<usize>,
    /// Its fields.
    pub(crate) fields: bool,
}

/// What was kept of a reply.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    keeping: Keeping,
    pub(crate) fields: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    /// The body had more bytes than are kept: none is.
    pub(crate) cut: bool,
}

impl Kept {
    pub(crate) fn new(keeping: Keeping) -> Kept {
        Kept { keeping, ..Kept::default() }
    }

    /// A field has come.
    pub(crate) fn field(&mut self, name: &str, value: &[u8]) {
        if self.keeping.fields {
            self.fields.push((name.to_owned(), value.to_vec()));
        }
    }

    /// A piece of the body has come.
    pub(crate) fn piece(&mut self, piece: &[u8]) {
        let Some(most) = self.keeping.body_most else { return };
        self.cut |= self.body.len() + piece.len() > most;
        if self.cut {
            self.body = Vec::new();
        } else {
            self.body.extend_from_slice(piece);
        }
    }
}

/// What a piece of a reply amounted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fed {
    /// More is to come.
    More,
    /// The reply ended after this many bytes of the piece.
    Done(usize),
}

/// What the end of the stream amounted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It ended the reply, as the reply said it would.
    Done,
    /// Before the first byte of a reply.
    Untouched,
    /// In the middle.
    Early,
}

/// What was read is not HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Garbage;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Head,
    Length(u64),
    UntilClose,
    Chunked(Chunk),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunk {
    Size { size: u64, digits: u8 },
    Extension { size: u64 },
    SizeEnd { size: u64 },
    Data { left: u64 },
    DataCr,
    DataLf,
    TrailerStart,
    TrailerLine,
    TrailerLf,
    LastLf,
}

impl Reply {
    /// Makes ready for the reply to a request that has (`bodiless`: a HEAD) no body in its reply.
    pub fn expect(&mut self, bodiless: bool, keeps_cookies: bool) {
        self.state = State::Head;
        self.head.clear();
        self.touched = false;
        self.bodiless = bodiless;
        self.keeps_cookies = keeps_cookies;
        self.status = 0;
        self.bytes = 0;
        self.backend.clear();
        self.cookie.clear();
        self.location.clear();
        self.kept = None;
    }

    /// Keeps this of the reply that is made ready for.
    pub(crate) fn keep(&mut self, keeping: Keeping) {
        self.kept = Some(Box::new(Kept::new(keeping)));
    }

    /// Keeps the pair of a `set-cookie` if it is the one that clients keep.
    pub(crate) fn take_cookie(&mut self, value: &[u8]) {
        let pair = value.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
        if pair.starts_with(b"SOJOURN=") {
            self.cookie.clear();
            self.cookie.extend_from_slice(pair);
        }
    }

    /// Takes the next piece read.
    pub fn feed(&mut self, piece: &[u8]) -> Result<Fed, Garbage> {
        self.touched |= !piece.is_empty();
        let mut at = 0;
        while self.state == State::Head {
            match self.feed_head(&piece[at..])? {
                Some(used) => at += used,
                None => return Ok(Fed::More),
            }
        }
        Ok(match self.feed_body(&piece[at..])? {
            Some(used) => Fed::Done(at + used),
            None => Fed::More,
        })
    }

    /// The server has closed its side.
    pub fn end(&self) -> Ended {
        match self.state {
            State::UntilClose => Ended::Done,
            _ if self.touched => Ended::Early,
            _ => Ended::Untouched,
        }
    }

    /// Whether a byte of the reply has come.
    pub fn touched(&self) -> bool {
        self.touched
    }

    /// Bytes of `piece` that belong to the head, once it is whole.
    fn feed_head(&mut self, piece: &[u8]) -> Result<Option<usize>, Garbage> {
        if self.head.is_empty() {
            let parsed = self.parse_head(piece)?;
            if parsed.is_none() {
                self.hold(piece)?;
            }
            return Ok(parsed);
        }
        let held = self.head.len();
        self.hold(piece)?;
        let head = std::mem::take(&mut self.head);
        let parsed = self.parse_head(&head);
        self.head = head;
        Ok(parsed?.map(|length| {
            self.head.clear();
            // The held part alone was not a whole head, so the head ends in this piece.
            length - held
        }))
    }

    fn hold(&mut self, piece: &[u8]) -> Result<(), Garbage> {
        if self.head.len() + piece.len() > HEAD_MAX {
            return Err(Garbage);
        }
        self.head.extend_from_slice(piece);
        Ok(())
    }

    fn parse_head(&mut self, text: &[u8]) -> Result<Option<usize>, Garbage> {
        let mut headers = [const { MaybeUninit::<Header<'_>>::uninit() }; HEADERS_MAX];
        let mut response = Response::new(&mut []);
        let parsed = ParserConfig::default().parse_response_with_uninit_headers(&mut response, text, &mut headers);
        let length = match parsed {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) => return Ok(None),
            Err(_) => return Err(Garbage),
        };
        let status = response.code.filter(|code| *code >= 100).ok_or(Garbage)?;
        if (100..200).contains(&status) {
            // An interim reply (100-continue, 103 early hints): the final one follows. 101 was never asked for.
            return if status == 101 { Err(Garbage) } else { Ok(Some(length)) };
        }
        let mut length_said = None;
        let mut coded = false;
        let mut chunked = false;
        let mut keep_alive = response.version == Some(1);
        for header in response.headers.iter() {
            match header.name.len() {
                14 if header.name.eq_ignore_ascii_case("content-length") => {
                    let said = number(header.value).ok_or(Garbage)?;
                    if length_said.is_some_and(|other| other != said) {
                        return Err(Garbage);
                    }
                    length_said = Some(said);
                }
                17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                    coded = true;
                    chunked = tokens(header.value).last().is_some_and(|token| token.eq_ignore_ascii_case(b"chunked"));
                }
                10 if header.name.eq_ignore_ascii_case("connection") => {
                    for token in tokens(header.value) {
                        if token.eq_ignore_ascii_case(b"close") {
                            keep_alive = false;
                        } else if token.eq_ignore_ascii_case(b"keep-alive") {
                            keep_alive = true;
                        }
                    }
                }
                17 if header.name.eq_ignore_ascii_case("x-sojourn-backend") => {
                    self.backend.clear();
                    self.backend.extend_from_slice(header.value);
                }
                10 if self.keeps_cookies && header.name.eq_ignore_ascii_case("set-cookie") => {
                    self.take_cookie(header.value);
                }
                8 if (300..400).contains(&status) && header.name.eq_ignore_ascii_case("location") => {
                    self.location.clear();
                    self.location.extend_from_slice(header.value);
                }
                _ => {}
            }
        }
        if let Some(kept) = &mut self.kept {
            response.headers.iter().for_each(|header| kept.field(header.name, header.value));
        }
        self.status = status;
        self.keep_alive = keep_alive;
        self.state = if self.bodiless || status == 204 || status == 304 {
            State::Length(0)
        } else if chunked {
            State::Chunked(Chunk::Size { size: 0, digits: 0 })
        } else if coded {
            State::UntilClose
        } else if let Some(length) = length_said {
            State::Length(length)
        } else {
            State::UntilClose
        };
        if self.state == State::UntilClose {
            self.keep_alive = false;
        }
        Ok(Some(length))
    }

    /// Bytes of `piece` that belong to the body, once it is whole.
    fn feed_body(&mut self, piece: &[u8]) -> Result<Option<usize>, Garbage> {
        match self.state {
            State::Head => Ok(None),
            State::Length(left) => {
                let here = left.min(piece.len() as u64);
                self.take_body(&piece[..here as usize]);
                self.state = State::Length(left - here);
                Ok((here == left).then_some(here as usize))
            }
            State::UntilClose => {
                self.take_body(piece);
                Ok(None)
            }
            State::Chunked(chunk) => self.feed_chunks(chunk, piece),
        }
    }

    /// Bytes of the body have come.
    #[inline]
    fn take_body(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        if let Some(kept) = &mut self.kept {
            kept.piece(piece);
        }
    }

    fn feed_chunks(&mut self, mut chunk: Chunk, piece: &[u8]) -> Result<Option<usize>, Garbage> {
        let mut at = 0;
        while at < piece.len() {
            if let Chunk::Data { left } = chunk {
                let here = left.min((piece.len() - at) as u64);
                self.take_body(&piece[at..at + here as usize]);
                at += here as usize;
                chunk = if here == left { Chunk::DataCr } else { Chunk::Data { left: left - here } };
                continue;
            }
            let byte = piece[at];
            at += 1;
            chunk = match (chunk, byte) {
                (Chunk::Size { size, digits }, _) if byte.is_ascii_hexdigit() => {
                    // 15 digits are 2^60 bytes; more is an attack or an error.
                    if digits == 15 {
                        return Err(Garbage);
                    }
                    let digit = (byte as char).to_digit(16).ok_or(Garbage)?;
                    Chunk::Size { size: size * 16 + u64::from(digit), digits: digits + 1 }
                }
                (Chunk::Size { digits: 0, .. }, _) => return Err(Garbage),
                (Chunk::Size { size, .. } | Chunk::Extension { size }, b'\r') => Chunk::SizeEnd { size },
                (Chunk::Size { size, .. }, b';' | b' ' | b'\t') => Chunk::Extension { size },
                (Chunk::Extension { size }, _) if byte != b'\n' => Chunk::Extension { size },
                (Chunk::SizeEnd { size: 0 }, b'\n') => Chunk::TrailerStart,
                (Chunk::SizeEnd { size }, b'\n') => Chunk::Data { left: size },
                (Chunk::DataCr, b'\r') => Chunk::DataLf,
                (Chunk::DataLf, b'\n') => Chunk::Size { size: 0, digits: 0 },
                (Chunk::TrailerStart, b'\r') => Chunk::LastLf,
                (Chunk::TrailerLine, b'\r') => Chunk::TrailerLf,
                (Chunk::TrailerStart | Chunk::TrailerLine, _) if byte != b'\n' => Chunk::TrailerLine,
                (Chunk::TrailerLf, b'\n') => Chunk::TrailerStart,
                (Chunk::LastLf, b'\n') => return Ok(Some(at)),
                _ => return Err(Garbage),
            };
        }
        self.state = State::Chunked(chunk);
        Ok(None)
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).filter(|token| !token.is_empty())
}
