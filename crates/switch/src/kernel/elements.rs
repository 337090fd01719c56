//! The elements of a set or map of nftables, straight from the kernel (linux/netfilter/nf_tables.h).
//!
//! `nft --json` lists them too, at ten times the price: with 20,000 connections it needs some tenths of a second, every few
//! seconds. The price of reading while packets change the map: an element may be missed or come twice, so one list alone proves
//! no absence.

use std::io;

use nix::sys::socket::SockProtocol;
use sojourn_part::netlink;

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
pub(crate) fn list(table: &str, set: &str, mut each: impl FnMut(&[u8], Option<&[u8]>)) -> io::Result<()> {
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
        if let Some(end) = take(netlink::receive(&socket, &mut buffer)?, &mut each) {
            return end;
        }
    }
}

/// Gives the elements in what was received to `each`; how the list ended, if it has.
fn take(received: &[u8], each: &mut impl FnMut(&[u8], Option<&[u8]>)) -> Option<io::Result<()>> {
    for (kind, body) in netlink::messages(received) {
        match kind {
            netlink::DONE => return Some(Ok(())),
            netlink::ERROR => return Some(netlink::answer(body)),
            NEW_ELEMENTS => elements(body, each),
            _ => {}
        }
    }
    None
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A part of a list with these elements, of which those with data are of a map.
    fn part(to: &mut Vec<u8>, of: &[(&[u8], Option<&[u8]>)]) {
        let nested = |name: u16, value: &[u8]| {
            let (mut inner, mut outer) = (Vec::new(), Vec::new());
            netlink::attribute(&mut inner, VALUE, value);
            netlink::attribute(&mut outer, name, &inner);
            outer
        };
        netlink::message(to, NEW_ELEMENTS, 0, |body| {
            body.extend([IPV4, 0, 0, 0]);
            netlink::attribute(body, SET, b"connections\0");
            let mut list = Vec::new();
            for (key, data) in of {
                let element = [nested(KEY, key), data.map_or_else(Vec::new, |data| nested(DATA, data))].concat();
                netlink::attribute(&mut list, 1, &element);
            }
            netlink::attribute(body, ELEMENTS, &list);
        });
    }

    type Element = (Vec<u8>, Option<Vec<u8>>);

    /// The elements in what was received, and how the list ended.
    fn taken(received: &[u8]) -> (Vec<Element>, Option<io::Result<()>>) {
        let mut all = Vec::new();
        let end = take(received, &mut |key, data| all.push((key.to_vec(), data.map(<[u8]>::to_vec))));
        (all, end)
    }

    #[test]
    fn a_list_comes_in_parts() {
        let mut received = Vec::new();
        part(&mut received, &[(b"first...", Some(b"mark")), (b"second..", None)]);
        part(&mut received, &[(b"third...", Some(b"MARK"))]);
        let (all, end) = taken(&received);
        let own = |key: &[u8], data: Option<&[u8]>| (key.to_vec(), data.map(<[u8]>::to_vec));
        assert_eq!(all, [own(b"first...", Some(b"mark")), own(b"second..", None), own(b"third...", Some(b"MARK"))]);
        assert!(end.is_none(), "more may come");
        netlink::message(&mut received, netlink::DONE, 0, |body| body.extend([0; 4]));
        // What follows the end is another answer's.
        part(&mut received, &[(b"fourth..", None)]);
        let (all, end) = taken(&received);
        assert_eq!(all.len(), 3);
        assert!(end.is_some_and(|end| end.is_ok()));
    }

    #[test]
    fn what_the_kernel_refuses_is_an_error() {
        const NO_ENTRY: i32 = 2;
        let mut received = Vec::new();
        netlink::message(&mut received, netlink::ERROR, 0, |body| body.extend((-NO_ENTRY).to_ne_bytes()));
        let (all, end) = taken(&received);
        assert!(all.is_empty());
        assert_eq!(end.map(|end| end.map_err(|error| error.raw_os_error())), Some(Err(Some(NO_ENTRY))));
    }
}
