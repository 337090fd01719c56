//! From a file to a [`Capture`].

use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{Block, InterfaceDescriptionBlock, OptionCode, PcapBlockOwned, PcapError, create_reader};
use sojourn_stats::input;

use super::follow::Follower;
use super::packet::{self, Link, Packet};
use super::{Capture, CaptureError, Cut};

/// Room for a packet at first, and at most: a longer one is damage.
const ROOM: usize = 1 << 18;
const ROOM_MOST: usize = 1 << 26;

/// The first bytes of a capture, in any byte order: pcap in micro- and nanoseconds, pcap as some kernels were patched to
/// write it, pcapng.
const MAGICS: [[u8; 4]; 6] = [
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x34, 0xcd, 0xb2, 0xa1],
    [0x0a, 0x0d, 0x0d, 0x0a],
];

impl Capture {
    /// Whether a file that begins with these bytes (unpacked) is a capture.
    pub fn is_one(head: &[u8]) -> bool {
        MAGICS.iter().any(|magic| head.starts_with(magic))
    }

    /// Reads the capture at `path`, plain or gzip. One that is cut off is read up to there ([`Capture::cut`]).
    ///
    /// # Errors
    /// When the file cannot be read, is no capture, is of a link type that is not read, or has no packet of TCP.
    pub fn read(path: &Path) -> Result<Capture, CaptureError> {
        let name = path.display().to_string();
        let file =
            input::open(path).map_err(|error| CaptureError::Io { name: name.clone(), fault: error.to_string() })?;
        Capture::read_from(file, &name)
    }

    /// Reads a capture from `source`; `name` is what messages call it.
    ///
    /// # Errors
    /// As [`Capture::read`].
    pub fn read_from(source: impl Read + Send, name: &str) -> Result<Capture, CaptureError> {
        let not_one = |fault: String| CaptureError::NotOne { name: name.into(), fault };
        let mut source = BufReader::with_capacity(1 << 16, source);
        let mut head = Vec::new();
        let io = |error: io::Error| CaptureError::Io { name: name.into(), fault: error.to_string() };
        source.by_ref().take(4).read_to_end(&mut head).map_err(io)?;
        let gzip = head.starts_with(b"\x1f\x8b");
        let source = io::Cursor::new(head).chain(source);
        let source: Box<dyn Read + Send + '_> =
            if gzip { Box::new(MultiGzDecoder::new(source)) } else { Box::new(source) };
        let mut reader = match create_reader(ROOM, Full(source)) {
            Ok(reader) => reader,
            Err(PcapError::Eof) => return Err(not_one("it is empty".into())),
            Err(PcapError::Incomplete(_)) => return Err(not_one("it is cut off within its header".into())),
            Err(PcapError::ReadError) => return Err(not_one("it cannot be unpacked".into())),
            Err(_) => return Err(not_one("its first bytes are of something else".into())),
        };
        let mut reading = Reading::default();
        loop {
            match reader.next() {
                Ok((length, block)) => {
                    reading.block(&block);
                    reader.consume(length);
                    reading.consumed += length as u64;
                }
                Err(PcapError::Eof) => break,
                Err(PcapError::Incomplete(_)) => {
                    if reader.refill().is_err() {
                        reading.cut("the rest cannot be read");
                        break;
                    }
                }
                Err(PcapError::UnexpectedEof) => {
                    reading.cut("the file ends within a packet");
                    break;
                }
                Err(PcapError::BufferTooSmall) if reading.room < ROOM_MOST => {
                    reading.room *= 2;
                    let room = reading.room;
                    reader.grow(room);
                    if reader.refill().is_err() {
                        reading.cut("the rest cannot be read");
                        break;
                    }
                }
                Err(_) => {
                    reading.cut("what stands there is no packet");
                    break;
                }
            }
        }
        reading.finish(name)
    }
}

/// Fills the whole buffer it is given, as the parser's first look at a file needs it.
struct Full<R>(R);

impl<R: Read> Read for Full<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.0.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What was read before the fault is still good; the fault comes again at the next call.
                Err(_) if filled > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

/// What has been read so far.
struct Reading {
    capture: Capture,
    follower: Follower,
    /// Link and clock of each interface; a pcap file has one.
    interfaces: Vec<Interface>,
    /// How the numbers of a pcapng's section are written.
    big_endian: bool,
    /// An interface's clock counts in units of 10 to the minus this many seconds.
    unknown_unit: Option<u8>,
    consumed: u64,
    room: usize,
    before_ns: u64,
}

#[derive(Clone, Copy)]
struct Interface {
    link: i32,
    /// Ticks of its clock in a second, and what it is ahead (s).
    resolution: u128,
    offset_s: i64,
}

impl Interface {
    /// As a pcapng describes it. Its clock is read here: pcap-parser knows no powers of two, and takes every offset for
    /// little-endian. The exponent, where the clock's unit is so small a power of ten that it makes no sense.
    fn described(block: &InterfaceDescriptionBlock<'_>, big_endian: bool) -> Result<Interface, u8> {
        let mut interface = Interface { link: block.linktype.0, resolution: 1_000_000, offset_s: 0 };
        for option in &block.options {
            match (option.code, &*option.value) {
                (OptionCode::IfTsresol, [exponent, ..]) => {
                    interface.resolution = match exponent & 0x7f {
                        exponent_of_two if exponent & 0x80 != 0 => 1 << exponent_of_two,
                        exponent_of_ten @ 0..=38 => 10_u128.pow(exponent_of_ten.into()),
                        exponent_of_ten => return Err(exponent_of_ten),
                    };
                }
                (OptionCode::IfTsoffset, value) => {
                    let Some(bytes) = value.first_chunk() else { continue };
                    interface.offset_s =
                        if big_endian { i64::from_be_bytes(*bytes) } else { i64::from_le_bytes(*bytes) };
                }
                _ => {}
            }
        }
        Ok(interface)
    }
}

impl Default for Reading {
    fn default() -> Reading {
        Reading {
            capture: Capture::default(),
            follower: Follower::default(),
            interfaces: Vec::new(),
            big_endian: false,
            unknown_unit: None,
            consumed: 0,
            room: ROOM,
            before_ns: 0,
        }
    }
}

impl Reading {
    fn block(&mut self, block: &PcapBlockOwned<'_>) {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                let resolution = if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
                // The upper bits of the field are about checksums.
                self.interfaces = vec![Interface { link: header.network.0 & 0xffff, resolution, offset_s: 0 }];
            }
            PcapBlockOwned::Legacy(packet) => {
                let interface = self.interfaces[0];
                // A resolution of pcap is at most 10^9.
                let ticks = u64::from(packet.ts_sec) * interface.resolution as u64 + u64::from(packet.ts_usec);
                self.packet(interface, ticks, packet.data, packet.origlen);
            }
            PcapBlockOwned::NG(Block::SectionHeader(header)) => {
                self.interfaces.clear();
                self.big_endian = header.big_endian();
            }
            PcapBlockOwned::NG(Block::InterfaceDescription(block)) => {
                match Interface::described(block, self.big_endian) {
                    Ok(interface) => self.interfaces.push(interface),
                    Err(exponent) => self.unknown_unit = Some(exponent),
                }
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                match self.interfaces.get(packet.if_id as usize).copied() {
                    Some(interface) => {
                        let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                        self.packet(interface, ticks, packet.packet_data(), packet.origlen);
                    }
                    // Without its interface, the unit of its time is not known.
                    None => self.without_time(),
                }
            }
            PcapBlockOwned::NG(Block::SimplePacket(_)) => self.without_time(),
            PcapBlockOwned::NG(_) => {}
        }
    }

    fn without_time(&mut self) {
        self.capture.packets += 1;
        self.capture.without_time += 1;
    }

    fn packet(&mut self, interface: Interface, ticks: u64, data: &[u8], on_link: u32) {
        let capture = &mut self.capture;
        capture.packets += 1;
        let Some(link) = Link::of(interface.link) else {
            let name = packet::link_name(interface.link);
            match capture.other_links.iter_mut().find(|(known, _)| *known == name) {
                Some((_, packets)) => *packets += 1,
                None => capture.other_links.push((name, 1)),
            }
            return;
        };
        let ns = u128::from(ticks) * 1_000_000_000 / interface.resolution;
        let ns = (ns as i128 + i128::from(interface.offset_s) * 1_000_000_000).clamp(0, i128::from(u64::MAX)) as u64;
        if capture.last_ns == 0 && capture.first_ns == 0 {
            (capture.first_ns, capture.last_ns) = (ns, ns);
        }
        capture.unsorted += u64::from(ns < self.before_ns);
        self.before_ns = ns;
        capture.first_ns = capture.first_ns.min(ns);
        capture.last_ns = capture.last_ns.max(ns);
        capture.bytes += u64::from(on_link);
        capture.snapped += u64::from((data.len() as u64) < u64::from(on_link));
        match packet::look(link, data, on_link) {
            Packet::Tcp(segment) => {
                capture.tcp_packets += 1;
                self.follower.take(&segment, ns);
            }
            Packet::Fragment => capture.fragments += 1,
            Packet::Other => {}
        }
    }

    fn cut(&mut self, fault: &str) {
        self.capture.cut = Some(Cut { packets: self.capture.packets, byte: self.consumed, fault: fault.into() });
    }

    fn finish(self, name: &str) -> Result<Capture, CaptureError> {
        let mut capture = self.capture;
        if let Some(exponent) = self.unknown_unit {
            return Err(CaptureError::Unit { name: name.into(), exponent });
        }
        let others: u64 = capture.other_links.iter().map(|(_, packets)| packets).sum();
        if capture.packets > 0 && others == capture.packets {
            return Err(CaptureError::Link { name: name.into(), found: capture.other_links.swap_remove(0).0 });
        }
        if capture.tcp_packets == 0 {
            let cut = capture.cut.map_or(String::new(), |cut| format!("; it ends at byte {}: {}", cut.byte, cut.fault));
            return Err(CaptureError::NoTcp { name: name.into(), packets: capture.packets, cut });
        }
        capture.connections = self.follower.finish();
        Ok(capture)
    }
}
