//! What a host's settings were before a switch or a server's half changed them, remembered by the kernel.
//!
//! A process that is killed puts nothing back, and the next one finds its changes. So what was there before the first of them
//! stands in a table of nftables, which outlives processes and ends with what it tells of, the host or the network
//! namespace; a file would outlive both, or be another namespace's. It is said by the names of counters, since not every `nft`
//! lists comments: `was/0/front/ip_forward`. Several programs of a host may need the same setting; each owns it under a
//! name that its successor has too, and the last owner that ends puts it back.
//!
//! Remembered before anything is changed, and forgotten after it was put back: a process may be killed at any instant. The price
//! is that a server's half needs nftables in every mode.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use sojourn_part::ServeError;

use super::{only, system};

/// The nft table.
const TABLE: &str = "sojourn_before";

/// What begins the names of its counters.
const SETTING: &str = "was";
const ADDRESS: &str = "address";

/// The owner that is the front node.
pub(crate) const FRONT: &str = "front";

/// How long others of this host may take that read or write the table, looked at so often.
const LOOKS: u32 = 1_000;
const LOOK: Duration = Duration::from_millis(5);

/// A line of what is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    /// A setting below /proc/sys/net/ipv4, and what it was.
    Setting { owner: String, setting: String, was: String },
    /// An address that the loopback device was given.
    Address { owner: String, address: String },
}

/// Changes settings to what is `wanted`, for this owner.
pub(crate) fn change(owner: &str, wanted: &[(String, &str)]) -> Result<(), ServeError> {
    let _held = alone()?;
    let known = remembered();
    let mut script = format!("add table ip {TABLE}\n");
    for (setting, _) in wanted {
        if known.iter().any(|line| line.owner() == owner && line.is_setting(setting)) {
            continue;
        }
        let was = match known.iter().find(|line| line.is_setting(setting)) {
            Some(Line::Setting { was, .. }) => was.clone(),
            _ => system::get(setting)?,
        };
        let line = Line::Setting { owner: owner.into(), setting: setting.clone(), was };
        let _ = writeln!(script, "add counter ip {TABLE} {}", line.name());
    }
    system::nft(&script)?;
    wanted.iter().try_for_each(|(setting, value)| system::set(setting, value))
}

/// Gives the loopback device addresses, for this owner.
pub(crate) fn add_addresses(owner: &str, addresses: impl Iterator<Item = Ipv4Addr>) -> Result<(), ServeError> {
    let _held = alone()?;
    let (mut script, mut commands) = (format!("add table ip {TABLE}\n"), String::new());
    for address in addresses {
        let line = Line::Address { owner: owner.into(), address: address.to_string() };
        let _ = writeln!(script, "add counter ip {TABLE} {}", line.name());
        let _ = writeln!(commands, "address replace {address}/32 dev lo");
    }
    system::nft(&script)?;
    system::ip(&commands)
}

/// Puts back what was changed for this owner, by its predecessors too, except what another owner needs; gives the other owners.
pub(crate) fn put_back(owner: &str) -> Result<BTreeSet<String>, ServeError> {
    let _held = alone()?;
    let (mut own, others): (Vec<Line>, Vec<Line>) = remembered().into_iter().partition(|line| line.owner() == owner);
    addresses_first(&mut own);
    for line in &own {
        match line {
            // A device that is gone has taken its settings along.
            Line::Setting { setting, was, .. }
                if system::has(setting) && !others.iter().any(|other| other.is_setting(setting)) =>
            {
                system::set(setting, was)?;
            }
            Line::Address { address, .. } if !others.iter().any(|other| other.is_address(address)) => {
                // A host that has lost the address meanwhile need not give it back.
                let _ = system::ip(&format!("address del {address}/32 dev lo\n"));
            }
            _ => {}
        }
    }
    let forget: String = match others.is_empty() {
        true if own.is_empty() => String::new(),
        true => format!("delete table ip {TABLE}\n"),
        false => own.iter().map(|line| format!("delete counter ip {TABLE} {}\n", line.name())).collect(),
    };
    if !forget.is_empty() {
        system::nft(&forget)?;
    }
    Ok(others.iter().map(|line| line.owner().to_owned()).collect())
}

/// In the order in which they are put back: a host that is no longer silent must not have an address that it was silent about.
fn addresses_first(lines: &mut [Line]) {
    lines.sort_by_key(|line| matches!(line, Line::Setting { .. }));
}

/// All for which something is remembered.
pub(crate) fn owners() -> BTreeSet<String> {
    remembered().iter().map(|line| line.owner().to_owned()).collect()
}

/// Waits until no other process of this host reads or writes the table.
fn alone() -> Result<only::Held, ServeError> {
    for _ in 0..LOOKS {
        if let Some(held) = only::hold("sojourn-before")? {
            return Ok(held);
        }
        std::thread::park_timeout(LOOK);
    }
    Err(ServeError::Config("another program of this host changes its settings and does not come to an end".into()))
}

/// All that is remembered; nothing where there is no table.
fn remembered() -> Vec<Line> {
    let listed = system::ask_nft(&["list", "counters", "table", "ip", TABLE]).unwrap_or_default();
    listed.iter().filter_map(|item| Line::read(item["counter"]["name"].as_str()?)).collect()
}

impl Line {
    fn owner(&self) -> &str {
        match self {
            Line::Setting { owner, .. } | Line::Address { owner, .. } => owner,
        }
    }

    fn is_setting(&self, wanted: &str) -> bool {
        matches!(self, Line::Setting { setting, .. } if setting == wanted)
    }

    fn is_address(&self, wanted: &str) -> bool {
        matches!(self, Line::Address { address, .. } if address == wanted)
    }

    /// As the name of a counter.
    fn name(&self) -> String {
        match self {
            Line::Setting { owner, setting, was } => format!("{SETTING}/{was}/{owner}/{}", escaped(setting)),
            Line::Address { owner, address } => format!("{ADDRESS}/{owner}/{address}"),
        }
    }

    fn read(name: &str) -> Option<Line> {
        let (kind, rest) = name.split_once('/')?;
        match kind {
            SETTING => {
                let mut parts = rest.splitn(3, '/').map(ToOwned::to_owned);
                let (was, owner, setting) = (parts.next()?, parts.next()?, parts.next()?);
                Some(Line::Setting { owner, setting: plain(&setting)?, was })
            }
            ADDRESS => {
                let (owner, address) = rest.split_once('/')?;
                Some(Line::Address { owner: owner.into(), address: address.into() })
            }
            _ => None,
        }
    }
}

/// A setting as nft takes it in a name: what else a device's name may have, and `-` itself, is `-` and two hexadecimal digits.
fn escaped(setting: &str) -> String {
    setting.bytes().fold(String::new(), |mut text, byte| {
        let _ = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'_' | b'.' => write!(text, "{}", char::from(byte)),
            _ => write!(text, "-{byte:02x}"),
        };
        text
    })
}

fn plain(escaped: &str) -> Option<String> {
    let mut parts = escaped.split('-');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend(&part.as_bytes()[2..]);
    }
    // A path of another file is no setting.
    String::from_utf8(bytes).ok().filter(|text| Path::new(text).components().all(is_plain))
}

fn is_plain(component: std::path::Component<'_>) -> bool {
    matches!(component, std::path::Component::Normal(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_goes_before_the_silence_about_it() {
        let setting = |setting: &str| Line::Setting { owner: "half".into(), setting: setting.into(), was: "0".into() };
        let address = Line::Address { owner: "half".into(), address: "10.0.1.100".into() };
        let mut lines = [setting("conf/all/arp_ignore"), address.clone(), setting("conf/all/arp_announce")];
        addresses_first(&mut lines);
        assert_eq!(lines, [address, setting("conf/all/arp_ignore"), setting("conf/all/arp_announce")]);
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        for setting in
            ["ip_forward", "conf/all/send_redirects", "conf/eth0.5/send_redirects", "conf/br-2d:é+/rp_filter"]
        {
            let line = Line::Setting { owner: "half-10.0.1.100-80".into(), setting: setting.into(), was: "0".into() };
            let name = line.name();
            assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte)), "{name}");
            assert_eq!(Line::read(&name), Some(line), "{name}");
        }
        let line = Line::Address { owner: FRONT.into(), address: "10.0.1.100".into() };
        assert_eq!((line.name().as_str(), Line::read(&line.name())), ("address/front/10.0.1.100", Some(line.clone())));
        for other in ["", "was", "was/0", "was/0/front", "was/0/front/-zz", "was/0/front/..", "mac/10.0.1.100/80/9"] {
            assert_eq!(Line::read(other), None, "{other}");
        }
    }
}
