//! Requests over TLS in a live run: a second door of each node, and the certificate that stands for all of them.
//!
//! The certificate is made anew for each run, for the service's name and the nodes' addresses, to which redirections lead, and
//! is all that the clients trust. Versions and ciphers are what rustls agrees with itself on: TLS 1.3, of one round trip.
//! Clients resume sessions with a node that they know, which spares both a signature and takes the same round trip.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use sojourn_bed::Ground;
use sojourn_bed::namespace::TEMPORARY;
use sojourn_load::{Endpoint, Load, Rotation, Tls, Url};
use sojourn_model::System;
use sojourn_part::certificate::{self, CertificateFiles};
use sojourn_part::settings::node::{Certificates, TlsSettings};

use super::bed;

/// The port of TLS of every node.
const PORT: u16 = 443;

/// Whether clients ask for anything over TLS.
pub(super) fn is_asked_for(system: &System) -> bool {
    !system.rules.secure.is_empty()
}

/// Makes the certificate of all nodes of the service of this name.
pub(super) fn make(ground: &dyn Ground, system: &System, service: &str) -> Result<(), String> {
    let addresses = system.hosts.iter().map(|host| bed::address(ground, &host.name).to_string());
    let names: Vec<String> = addresses.chain([service.to_owned()]).collect();
    certificate::make(&names, &files()).map_err(|error| error.to_string())
}

/// The settings of a node at this address.
pub(super) fn settings(address: IpAddr) -> TlsSettings {
    TlsSettings { listen: vec![SocketAddr::new(address, PORT)], certificates: Certificates(vec![files()]) }
}

/// What a node at this address is asked by over TLS.
pub(super) fn url_of(address: IpAddr) -> String {
    format!("https://{}", SocketAddr::new(address, PORT))
}

/// The same load on the service of this name with the classes that are asked for over TLS, at the same addresses.
pub(super) fn secured(
    load: Load,
    system: &System,
    service: &str,
    (addresses, rotation): (&[SocketAddr], Rotation),
) -> Load {
    if !is_asked_for(system) {
        return load;
    }
    let url = Url::parse(&format!("https://{service}:{PORT}/")).expect("it is one");
    let at = |to: &SocketAddr| Endpoint { address: Some(SocketAddr::new(to.ip(), PORT)), ..Endpoint::from(&url) };
    Load {
        endpoints: load.endpoints.into_iter().chain(addresses.iter().map(at)).collect(),
        rotation,
        secure: system.rules.secure.clone(),
        tls: Tls { ca: Some(files().chain), ..Tls::default() },
        ..load
    }
}

/// They go with the bed.
fn files() -> CertificateFiles {
    let folder = Path::new(TEMPORARY);
    CertificateFiles { chain: folder.join("nodes.pem"), key: folder.join("nodes.key") }
}
