//! A question over TCP (RFC 7766), for an answer that was cut as a packet: two bytes of length before each message.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::wire::connection::connect;

/// A question that waits for nothing, and what has come.
#[derive(Debug)]
pub(super) struct Stream {
    stream: TcpStream,
    unsent: Vec<u8>,
    heard: Vec<u8>,
}

impl Stream {
    /// Begins to ask.
    pub(super) fn open(server: SocketAddr, packet: &[u8]) -> io::Result<Stream> {
        Ok(Stream { stream: connect(server, None)?, unsent: framed(packet), heard: Vec::new() })
    }

    /// Its socket, of which is to be heard when it goes on.
    pub(super) fn socket(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends and takes in what can be; the answer when it is whole.
    pub(super) fn go_on(&mut self) -> io::Result<Option<Vec<u8>>> {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(sent) => drop(self.unsent.drain(..sent)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) => {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
        let mut buffer = [0; 4096];
        loop {
            if let Some((length, rest)) = self.heard.split_first_chunk()
                && let Some(message) = rest.get(..usize::from(u16::from_be_bytes(*length)))
            {
                return Ok(Some(message.to_vec()));
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.heard.extend_from_slice(&buffer[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}

/// Asks, and waits for the answer, for each step at most `timeout`.
pub(super) fn ask_and_wait(server: SocketAddr, packet: &[u8], timeout: Duration) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&server, timeout)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    stream.write_all(&framed(packet))?;
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut message)?;
    Ok(message)
}

fn framed(packet: &[u8]) -> Vec<u8> {
    // A question for one name is shorter than 600 bytes.
    [&(packet.len() as u16).to_be_bytes()[..], packet].concat()
}
