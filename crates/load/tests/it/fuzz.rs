//! The reply parser on broken replies, fed in pieces, beside hyper's on the same bytes.
//!
//! Where both take a reply, they agree on its status, its body's length, whether it is whole, and whether the connection
//! is kept. They may differ where ours is stricter or laxer on purpose:
//!
//! * *Chunks*: ours wants CR LF after a size and no blank before it; hyper takes a bare LF there and looser extensions.
//!   A server that sends such is one that the next proxy may read otherwise (RFC 9112, section 7.1), so we count it.
//! * *Trailers* are passed over by ours up to their end, unread; hyper parses them and wants them well-formed.
//! * *Several lengths that differ, or a length that is no number*, are nonsense for both; equal ones are one. hyper
//!   gives up a reply that has a coding other than chunked last; ours reads until the end of the stream (RFC 9112,
//!   section 6.3).
//! * *Beyond the limits*: ours takes 64 headers and 64 kB of them, hyper 100 and 400 kB.
//! * *A length that is no number on a reply without a body* (204, 304): nonsense for ours, not looked at by hyper.
//! * *A coding whose name is not ASCII*: ours looks for the last one, chunked; hyper reads until the end of the stream.
//! * *101*: ours never asked for another protocol, so it is nonsense; hyper hands the connection over.
//! * *Nonsense after which the stream ends* is nonsense for one and cut short for the other, whichever looks first.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper::rt::{Read, ReadBufCursor, Write};
use sojourn_load::reply::{Ended, Fed, Reply};
use sojourn_stats::Stream;

const INPUTS: usize = 20_000;

const SEEDS: [&str; 12] = [
    "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n3;x=y\r\nyou\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nA\r\n0123456789\r\n0\r\nx-trailer: 1\r\n\r\n",
    "HTTP/1.1 200 OK\r\nserver: s\r\n\r\nuntil the end",
    "HTTP/1.0 200 OK\r\ncontent-length: 3\r\nconnection: keep-alive\r\n\r\nabc",
    "HTTP/1.0 404 Not Found\r\n\r\nno",
    "HTTP/1.1 204 No Content\r\n\r\n",
    "HTTP/1.1 304 Not Modified\r\ncontent-length: 99\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
    "HTTP/1.1 500 Oops\r\ncontent-length: 4\r\ncontent-length: 4\r\nset-cookie: SOJOURN=1; path=/\r\n\r\nfour",
    "HTTP/1.1 302 Found\r\nlocation: /x\r\ntransfer-encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
];

/// What a client makes of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Whole {
        status: u16,
        bytes: u64,
        kept: bool,
    },
    /// The stream ended in the middle.
    Cut,
    /// Nonsense.
    Garbage,
}

fn ours(input: &[u8], stream: &mut Stream) -> (Seen, usize) {
    let mut reply = Reply::default();
    reply.expect(false, true);
    let mut at = 0;
    while at < input.len() {
        let piece = (1 + stream.below(40)).min(input.len() - at);
        match reply.feed(&input[at..at + piece]) {
            Ok(Fed::More) => at += piece,
            // What comes after it is the next reply's; in the loop it is an error of its own.
            Ok(Fed::Done(used)) => {
                assert!(used <= piece);
                let whole = Seen::Whole { status: reply.status, bytes: reply.bytes, kept: reply.keep_alive };
                return (whole, at + used);
            }
            Err(_) => return (Seen::Garbage, at),
        }
    }
    match reply.end() {
        Ended::Done => (Seen::Whole { status: reply.status, bytes: reply.bytes, kept: false }, at),
        Ended::Untouched | Ended::Early => (Seen::Cut, at),
    }
}

/// A stream that has these bytes, and ends or goes on without a word; what is written to it goes nowhere.
struct Canned {
    input: Vec<u8>,
    at: usize,
    /// Something has been written: no reply may be read before.
    asked: bool,
    ends: bool,
}

impl Read for Canned {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, mut cursor: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let taken = cursor.remaining().min(self.input.len() - self.at).min(13);
        if !self.asked || (taken == 0 && !self.ends) {
            // Everybody is polled again and again anyway.
            return Poll::Pending;
        }
        cursor.put_slice(&self.input[self.at..self.at + taken]);
        self.at += taken;
        Poll::Ready(Ok(()))
    }
}

impl Write for Canned {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.asked = true;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// What hyper's client makes of it; nothing where it waits for more for ever. `kept`: it would send another request.
fn hypers(input: &[u8], ends: bool) -> Option<Seen> {
    let canned = Canned { input: input.to_vec(), at: 0, asked: false, ends };
    let mut cx = Context::from_waker(Waker::noop());
    let Poll::Ready(Ok((mut send, connection))) =
        pin!(hyper::client::conn::http1::handshake::<_, Empty<Bytes>>(canned)).poll(&mut cx)
    else {
        panic!("hyper shakes no hands");
    };
    let mut connection = Some(Box::pin(connection));
    let mut talk = pin!(async {
        let request = Request::builder().uri("/").header("host", "h").body(Empty::<Bytes>::new()).unwrap();
        let response = match send.send_request(request).await {
            Ok(response) => response,
            Err(error) => return if error.is_parse() { Seen::Garbage } else { Seen::Cut },
        };
        let status = response.status().as_u16();
        let mut bytes = 0;
        let mut body = response.into_body();
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => bytes += frame.data_ref().map_or(0, |data| data.len() as u64),
                Err(error) => {
                    let cut = format!("{error:?}").contains("UnexpectedEof") || error.is_incomplete_message();
                    return if cut { Seen::Cut } else { Seen::Garbage };
                }
            }
        }
        Seen::Whole { status, bytes, kept: send.ready().await.is_ok() }
    });
    // Every poll gets on by a piece of the input at least, or none ever will.
    for _ in 0..input.len() + 20 {
        if let Poll::Ready(seen) = talk.as_mut().poll(&mut cx) {
            return Some(seen);
        }
        if connection.as_mut().is_some_and(|connection| connection.as_mut().poll(&mut cx).is_ready()) {
            // What waits for it hears that it is gone.
            connection = None;
        }
    }
    None
}

fn mutated(stream: &mut Stream) -> Vec<u8> {
    let mut bytes = SEEDS[stream.below(SEEDS.len())].as_bytes().to_vec();
    for _ in 0..stream.below(4) {
        let at = stream.below(bytes.len());
        match stream.below(6) {
            0 => bytes[at] = stream.below(256) as u8,
            1 => bytes[at] ^= 1 << stream.below(8),
            2 => drop(bytes.remove(at)),
            3 => bytes.insert(at, b"\r\n 0;:,x"[stream.below(8)]),
            4 => bytes.truncate(at.max(1)),
            _ => {
                let piece = bytes[at..(at + 12).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
        }
        if bytes.is_empty() {
            bytes.push(b'H');
        }
    }
    bytes
}

/// Whether the two may differ about `input`, for a reason of the list above.
fn excused(input: &[u8], ours: Seen, hypers: Seen) -> bool {
    let text = String::from_utf8_lossy(input).to_ascii_lowercase();
    let coded = text.contains("transfer-encoding");
    match (ours, hypers) {
        (Seen::Garbage, Seen::Cut) | (Seen::Cut, Seen::Garbage) => true,
        (Seen::Garbage, Seen::Whole { status: 101 | 204 | 304, .. }) => true,
        (Seen::Whole { .. }, Seen::Whole { .. }) => coded && !input.is_ascii(),
        (Seen::Garbage, Seen::Whole { .. }) | (Seen::Whole { .. }, Seen::Garbage) => coded,
        _ => false,
    }
}

#[test]
fn broken_replies_are_read_as_hyper_reads_them() {
    let mut stream = Stream::new(1, "replies", "mutations");
    let (mut agreed, mut whole, mut kept_alike, mut differed) = (0, 0, 0, Vec::new());
    for _ in 0..INPUTS {
        let input = mutated(&mut stream);
        let (mine, used) = ours(&input, &mut stream);
        let theirs = hypers(&input, true).expect("a stream that ends ends all waiting");
        let same = match (mine, theirs) {
            (Seen::Whole { status, bytes, .. }, Seen::Whole { status: other, bytes: more, .. }) => {
                (status, bytes) == (other, more)
            }
            (mine, theirs) => mine == theirs,
        };
        agreed += usize::from(same);
        whole += usize::from(same && matches!(mine, Seen::Whole { .. }));
        // Whether it is kept shows where nothing follows and nothing ends.
        if let (true, Seen::Whole { kept, .. }) = (same && used == input.len(), mine) {
            let go_on = matches!(hypers(&input, false), Some(Seen::Whole { kept: true, .. }));
            kept_alike += usize::from(kept == go_on);
            if kept != go_on {
                differed.push(format!("kept: {kept} {go_on} {:?}", String::from_utf8_lossy(&input)));
            }
        }
        if !same && !excused(&input, mine, theirs) {
            differed.push(format!("{mine:?} {theirs:?} {:?}", String::from_utf8_lossy(&input)));
        }
    }
    assert!(differed.is_empty(), "{} differ:\n{}", differed.len(), differed[..differed.len().min(30)].join("\n"));
    assert!(agreed > INPUTS * 9 / 10 && whole > INPUTS / 10 && kept_alike > INPUTS / 10, "{agreed} {whole}");
}
