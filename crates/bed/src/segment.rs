//! Making the segments of a topology: a bridge in the router's network, and a pair of virtual Ethernet devices per host.

use std::fmt::Write;
use std::fs;

use crate::namespace::{self, NamespaceError};
use crate::topology::{Segment, Topology};

/// Joins the hosts of a segment, which have no device yet, and the router to them. `number` is the segment's.
pub(crate) fn join(
    topology: &Topology,
    segment: &Segment,
    number: usize,
    networks: &[namespace::Network],
) -> Result<(), NamespaceError> {
    let address = |host: usize| topology.hosts[host].address;
    let router = address(segment.router);
    let bridge = format!("br{number}");
    let mut at_router = format!("link add {bridge} type bridge\nlink set {bridge} up\n");
    for &host in &segment.hosts {
        let (port, there) = (format!("port{host}"), networks[host].path());
        // A device can be made in another network only by its peer.
        let _ = write!(
            at_router,
            "link add {port} type veth peer name eth0 netns {there}\nlink set {port} master {bridge} up\n"
        );
    }
    let on_segment = segment.hosts.iter().map(|host| address(*host)).chain(segment.services.iter().copied());
    for there in on_segment.clone() {
        let _ = writeln!(at_router, "route add {there} dev {bridge} src {router}");
    }
    networks[segment.router].within(|| {
        namespace::configure(&at_router)?;
        // It sends on what is not for it, and tells no host of a shorter way: an address may move from host to host.
        for (setting, value) in
            [("ip_forward", "1"), ("conf/all/send_redirects", "0"), (&format!("conf/{bridge}/send_redirects"), "0")]
        {
            fs::write(format!("/proc/sys/net/ipv4/{setting}"), value)
                .map_err(NamespaceError::system("cannot make a host of the bed a router"))?;
        }
        Ok(())
    })??;
    for &host in &segment.hosts {
        let own = address(host);
        let mut at_host = format!("link set eth0 up\naddress add {own}/32 dev eth0\n");
        for there in on_segment.clone().filter(|there| *there != own).chain([router]) {
            let _ = writeln!(at_host, "route add {there} dev eth0 src {own}");
        }
        let _ = writeln!(at_host, "route add default via {router} dev eth0 src {own}");
        networks[host].within(|| namespace::configure(&at_host))??;
    }
    Ok(())
}
