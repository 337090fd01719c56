//! The elements of a set or map of nftables, straight from the kernel (linux/netfilter/nf_tables.h).
//!
//! `nft --json` lists them too, at ten times the price: with 20,000 connections it needs some tenths of a second, every few
//! seconds. The price of reading while packets change the map: an element may be missed or come twice, so one list alone proves
//! no absence.

use std::io;

use nix::sys::socket::SockProtocol;

use crate::netlink;

const TABLES: u16 = 10 << 8;
const NEW_ELEMENTS: u16 = TABLES | 12;
const LIST_ELEMENTS: u16 = TABLES | 13;

/// Bytes of netfilter's head: the family, a version, and a number that is not used here.
const HEAD: usize = 4;
const IPV4: u8 = 2;

/// Names of attributes: of the list, of an element, and of its key and its data.
const TABLE: u16 = 1;
const SET: u16 = 2;
const ELEMENTS: u16 = 3;
const KEY: u16 = 1;
const DATA: u16 = 2;
const VALUE: u16 = 1;

/// The most that the kernel sends at a time.
const LARGEST: usize = 1 << 16;

/// Gives the key of each element to `each`, and its data where there are some.
pub(in crate::switch) fn list(table: &str, set: &str, mut each: impl FnMut(&[u8], Option<&[u8]>)) -> io::Result<()> {
    let socket = netlink::open(SockProtocol::NetlinkNetFilter)?;
    let mut question = Vec::new();
    netlink::message(&mut question, LIST_ELEMENTS, netlink::DUMP, |body| {
        body.extend([IPV4, 0, 0, 0]);
        for (name, value) in [(TABLE, table), (SET, set)] {
            netlink::attribute(body, name, &[value.as_bytes(), &[0]].concat());
        }
    });
    netlink::send(&socket, &question)?;
    let mut buffer = vec![0; LARGEST];
    loop {
        let received = netlink::receive(&socket, &mut buffer)?;
        for (kind, body) in netlink::messages(received) {
            match kind {
                netlink::DONE => return Ok(()),
                netlink::ERROR => return netlink::answer(body),
                NEW_ELEMENTS => elements(body, &mut each),
                _ => {}
            }
        }
    }
}

fn elements(body: &[u8], each: &mut impl FnMut(&[u8], Option<&[u8]>)) {
    let lists = netlink::attributes(body.get(HEAD..).unwrap_or_default()).filter(|(name, _)| *name == ELEMENTS);
    for (_, element) in lists.flat_map(|(_, list)| netlink::attributes(list)) {
        if let Some(key) = value(element, KEY) {
            each(key, value(element, DATA));
        }
    }
}

/// The value inside this attribute of an element.
fn value(element: &[u8], name: u16) -> Option<&[u8]> {
    let (_, nested) = netlink::attributes(element).find(|(of, _)| *of == name)?;
    netlink::attributes(nested).find(|(of, _)| *of == VALUE).map(|(_, value)| value)
}
