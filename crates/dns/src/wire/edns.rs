//! EDNS (RFC 6891) with the client's subnet (RFC 7871) and cookies (RFC 7873); all other options are ignored.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Code, kind, u16_at};

const SUBNET: u16 = 8;
const COOKIE: u16 = 10;

/// Bytes that every party takes without EDNS.
pub(crate) const PLAIN: u16 = 512;

/// Bytes of the record without its owner and options.
const FIXED: usize = 10;

/// What a query says in its OPT record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edns<'a> {
    /// Bytes of the largest reply that the asker takes over UDP, at least 512.
    pub(crate) payload: u16,
    pub(crate) version: u8,
    /// The bit DO, echoed (RFC 3225).
    dnssec_ok: bool,
    /// An option is not as its definition says: FORMERR.
    is_malformed: bool,
    pub(crate) cookie: Option<Cookie<'a>>,
    pub(crate) subnet: Option<Subnet<'a>>,
}

/// The cookies of a query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cookie<'a> {
    pub(crate) client: [u8; 8],
    /// Empty on first contact.
    pub(crate) server: &'a [u8],
}

/// The network of a client as its resolver tells it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subnet<'a> {
    /// The option as it came, to be echoed.
    bytes: &'a [u8],
    /// None where the resolver keeps it to itself.
    pub(crate) network: Option<(IpAddr, u8)>,
}

/// What a reply says in its OPT record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    /// Bytes of the largest query that is taken over UDP.
    pub(crate) payload: u16,
    /// A fresh server cookie, where the asker knows cookies.
    pub(crate) cookie: Option<[u8; 16]>,
}

impl<'a> Edns<'a> {
    /// Reads the record from its type on; its length was checked.
    pub(super) fn parse(record: &'a [u8]) -> Edns<'a> {
        let (payload, version) = (u16::from_be_bytes([record[2], record[3]]), record[5]);
        let mut edns = Edns {
            payload: payload.max(PLAIN),
            version,
            dnssec_ok: record[6] & 0x80 != 0,
            is_malformed: false,
            cookie: None,
            subnet: None,
        };
        // What options of a later version look like is not known.
        if version == 0 {
            edns.is_malformed = edns.options(&record[FIXED..]).is_none();
        }
        edns
    }

    /// Whether all of it could be read.
    pub(crate) fn is_understood(&self) -> bool {
        self.version == 0 && !self.is_malformed
    }

    fn options(&mut self, mut rest: &'a [u8]) -> Option<()> {
        while !rest.is_empty() {
            let (code, length) = (u16_at(rest, 0)?, usize::from(u16_at(rest, 2)?));
            let data = rest.get(4..4 + length)?;
            rest = &rest[4 + length..];
            match code {
                SUBNET if self.subnet.is_none() => self.subnet = Some(Subnet::parse(data)?),
                COOKIE if self.cookie.is_none() => self.cookie = Some(Cookie::parse(data)?),
                _ => {}
            }
        }
        Some(())
    }

    /// How long [`Edns::write`] will be.
    pub(crate) fn length(&self, told: &Told) -> usize {
        let cookie = if told.cookie.is_some() && self.cookie.is_some() { 4 + 8 + 16 } else { 0 };
        1 + FIXED + cookie + self.subnet.map_or(0, |subnet| 4 + subnet.bytes.len())
    }

    /// Writes the record of the reply. `scope`: how many bits of the client's network it depends on.
    pub(crate) fn write(&self, told: &Told, code: Code, scope: u8, out: &mut Vec<u8>) {
        let high = (code as u16 >> 4) as u8;
        let [payload, options] = [told.payload, (self.length(told) - 1 - FIXED) as u16].map(u16::to_be_bytes);
        let ok = if self.dnssec_ok { 0x80 } else { 0 };
        out.extend_from_slice(&[0, 0, kind::OPT as u8, payload[0], payload[1], high, 0, ok, 0, options[0], options[1]]);
        if let Some(subnet) = self.subnet {
            out.extend_from_slice(&[0, SUBNET as u8, 0, subnet.bytes.len() as u8]);
            out.extend_from_slice(&subnet.bytes[..3]);
            // What does not depend on a network that was not told cannot depend on bits of it.
            out.push(if subnet.network.is_some() { scope } else { 0 });
            out.extend_from_slice(&subnet.bytes[4..]);
        }
        if let (Some(asked), Some(server)) = (self.cookie, told.cookie) {
            out.extend_from_slice(&[0, COOKIE as u8, 0, 8 + 16]);
            out.extend_from_slice(&asked.client);
            out.extend_from_slice(&server);
        }
    }
}

impl<'a> Cookie<'a> {
    /// RFC 7873, 5.2: a client's of 8 bytes, then none or a server's of 8 to 32.
    fn parse(data: &'a [u8]) -> Option<Cookie<'a>> {
        let (client, server) = data.split_first_chunk()?;
        (server.is_empty() || (8..=32).contains(&server.len())).then_some(Cookie { client: *client, server })
    }
}

impl<'a> Subnet<'a> {
    /// RFC 7871, 6 and 7.1.2: as many bytes as the prefix needs, no bit beyond it, no scope in a query.
    fn parse(data: &'a [u8]) -> Option<Subnet<'a>> {
        let family = u16_at(data, 0)?;
        let (prefix, scope, address) = (*data.get(2)?, *data.get(3)?, data.get(4..)?);
        let length = usize::from(prefix).div_ceil(8);
        if scope != 0 || address.len() != length {
            return None;
        }
        let beyond = prefix % 8;
        if beyond > 0 && address[length - 1] << beyond != 0 {
            return None;
        }
        let ip: IpAddr = match family {
            1 if prefix <= 32 => Ipv4Addr::from(padded(address)).into(),
            2 if prefix <= 128 => Ipv6Addr::from(padded(address)).into(),
            // So do some that tell nothing.
            0 if prefix == 0 => Ipv4Addr::UNSPECIFIED.into(),
            _ => return None,
        };
        Some(Subnet { bytes: data, network: (prefix > 0).then_some((ip, prefix)) })
    }
}

fn padded<const N: usize>(address: &[u8]) -> [u8; N] {
    let mut all = [0; N];
    all[..address.len()].copy_from_slice(address);
    all
}
