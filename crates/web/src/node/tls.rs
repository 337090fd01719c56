//! The certificates of a node: read from files, checked, and chosen by the name that a client asks for.
//!
//! A certificate stands for the names that it has itself (subjectAltName), a wildcard for one label. A client that names none
//! of them, or nothing, gets the first certificate, as with nginx. What has run out, is not yet valid or does not fit its key
//! is refused before anything listens.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::{Ticketer, default_provider};
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ProducesTickets, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use serde_json::{Value, json};
use sojourn_part::certificate::CertificateFiles;
use sojourn_part::listen::H2;
use sojourn_stats::input;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate, X509Version};

/// A certificate that ends sooner than this is told of (s): 14 days.
const SOON: i64 = 14 * 24 * 3600;

/// All certificates of a node.
#[derive(Debug)]
pub(super) struct Certificates {
    all: Vec<Certificate>,
    by_name: HashMap<String, usize>,
}

#[derive(Debug)]
struct Certificate {
    chain: PathBuf,
    names: Vec<String>,
    /// When it ends (s since 1970), and the same in words.
    ends: (i64, String),
    key: Arc<CertifiedKey>,
}

/// What makes settings of TLS out of certificates; what it keeps outlives a reload, so that clients can resume.
#[derive(Debug)]
pub(super) struct Tls {
    provider: Arc<CryptoProvider>,
    tickets: Arc<dyn ProducesTickets>,
}

impl Tls {
    /// # Errors
    /// Where the system has no random numbers.
    pub(super) fn new() -> Result<Tls, String> {
        let tickets = Ticketer::new().map_err(|error| format!("no keys for tickets of TLS: {error}"))?;
        Ok(Tls { provider: Arc::new(default_provider()), tickets })
    }

    /// TLS 1.2 and 1.3 with these certificates, for HTTP/2 and HTTP/1.1.
    pub(super) fn settings(&self, certificates: Arc<Certificates>) -> Arc<ServerConfig> {
        let config =
            ServerConfig::builder_with_provider(Arc::clone(&self.provider)).with_safe_default_protocol_versions();
        let config = config.expect("ring has what these versions need").with_no_client_auth();
        let mut config = config.with_cert_resolver(certificates);
        config.alpn_protocols = vec![H2.to_vec(), b"http/1.1".to_vec()];
        config.ticketer = Arc::clone(&self.tickets);
        Arc::new(config)
    }
}

impl Certificates {
    /// Reads the files of all certificates, as they are to be used at `now` (s since 1970).
    ///
    /// # Errors
    /// In one line: which file, what is wrong, and what would be right.
    pub(super) fn read(files: &[CertificateFiles], now: i64) -> Result<Certificates, String> {
        let provider = default_provider();
        let all: Vec<Certificate> =
            files.iter().map(|files| Certificate::read(files, now, &provider)).collect::<Result<_, _>>()?;
        let mut by_name = HashMap::new();
        for (index, certificate) in all.iter().enumerate() {
            for name in &certificate.names {
                if let Some(other) = by_name.insert(name.clone(), index).filter(|other| *other != index) {
                    let (one, two) = (all[other].chain.display(), certificate.chain.display());
                    return Err(format!("{two}: it is for {name}, as {one} is; leave one of them out"));
                }
            }
        }
        Ok(Certificates { all, by_name })
    }

    /// All names that they are for.
    pub(super) fn names(&self) -> Vec<&str> {
        self.all.iter().flat_map(|certificate| &certificate.names).map(String::as_str).collect()
    }

    /// The files of those that are for no name at all: what stands in CN alone is no name of a server (RFC 9525).
    pub(super) fn nameless(&self) -> impl Iterator<Item = &Path> {
        let nameless = self.all.iter().filter(|certificate| certificate.names.is_empty());
        nameless.map(|certificate| certificate.chain.as_path())
    }

    /// An event of each that ends soon.
    pub(super) fn ending_soon(&self, now: i64) -> Vec<Value> {
        let soon = self.all.iter().filter(|certificate| certificate.ends.0 - now < SOON);
        let event = |certificate: &Certificate| {
            json!({
                "event": "certificate_ends_soon", "file": certificate.chain.display().to_string(),
                "names": certificate.names, "ends": certificate.ends.1,
                "days": (certificate.ends.0 - now).div_euclid(24 * 3600),
            })
        };
        soon.map(event).collect()
    }

    /// Each one's file and when it ends (s since 1970).
    pub(super) fn ends(&self) -> impl Iterator<Item = (&Path, i64)> {
        self.all.iter().map(|certificate| (certificate.chain.as_path(), certificate.ends.0))
    }
}

impl Certificate {
    fn read(files: &CertificateFiles, now: i64, provider: &CryptoProvider) -> Result<Certificate, String> {
        let (chain_file, key_file) = (files.chain.display(), files.key.display());
        let read = |file| input::bytes(file).map_err(PemError::Io);
        let chain = read(&files.chain)
            .and_then(|text| CertificateDer::pem_slice_iter(input::without_mark(&text)).collect::<Result<Vec<_>, _>>());
        let chain = chain.map_err(|error| format!("{chain_file}: {}", not_pem(error)))?;
        let Some(first) = chain.first() else {
            return Err(format!("{chain_file}: no certificate in it; it begins with -----BEGIN CERTIFICATE-----"));
        };
        let first = first.clone();
        let (_, parsed) = X509Certificate::from_der(&first)
            .map_err(|_| format!("{chain_file}: its first part cannot be read as a certificate (X.509 in DER)"))?;
        // What rustls does not take, and older recipes make.
        if parsed.version() != X509Version::V3 {
            let version = parsed.version().0.saturating_add(1);
            return Err(format!(
                "{chain_file}: it is of X.509 version {version}, and TLS here takes version 3; make it with \
                 `openssl req -x509 ... -addext subjectAltName=DNS:NAME`"
            ));
        }
        let validity = parsed.validity();
        if now < validity.not_before.timestamp() {
            let begins = &validity.not_before;
            return Err(format!(
                "{chain_file}: not valid before {begins}; use the one before it, or set the clock right"
            ));
        }
        let ends = (validity.not_after.timestamp(), validity.not_after.to_string());
        if now >= ends.0 {
            return Err(format!("{chain_file}: it ended at {}; put a new one in its place", ends.1));
        }
        let names = parsed.subject_alternative_name().ok().flatten();
        let names = names.map_or(Vec::new(), |names| names.value.general_names.iter().filter_map(name).collect());
        let key = read(&files.key).and_then(|text| PrivateKeyDer::from_pem_slice(input::without_mark(&text)));
        let key = key.map_err(|error| match error {
            PemError::NoItemsFound => {
                format!("{key_file}: no private key in it; it begins with -----BEGIN PRIVATE KEY-----")
            }
            error => format!("{key_file}: {}", not_pem(error)),
        })?;
        let key = CertifiedKey::from_der(chain, key, provider).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => format!("{key_file}: it is not the key of {chain_file}"),
            error => format!("{key_file}: no key that TLS can use: {error}"),
        })?;
        Ok(Certificate { chain: files.chain.clone(), names, ends, key: Arc::new(key) })
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let named = hello.server_name().and_then(|name| {
            let name = name.to_ascii_lowercase();
            let wildcard = || name.split_once('.').and_then(|(_, rest)| self.by_name.get(&format!("*.{rest}")));
            self.by_name.get(&name).or_else(wildcard)
        });
        self.all.get(named.copied().unwrap_or(0)).map(|certificate| Arc::clone(&certificate.key))
    }
}

/// A name of a certificate as text.
fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
        GeneralName::IPAddress(bytes) => match *bytes {
            [a, b, c, d] => Some(std::net::Ipv4Addr::new(*a, *b, *c, *d).to_string()),
            bytes => <[u8; 16]>::try_from(bytes).ok().map(|bytes| std::net::Ipv6Addr::from(bytes).to_string()),
        },
        _ => None,
    }
}

fn not_pem(error: PemError) -> String {
    match error {
        PemError::Io(error) => format!("it cannot be read: {error}"),
        PemError::NoItemsFound => "nothing in it; it begins with -----BEGIN".into(),
        _ => "not PEM, as `openssl` writes it: text between -----BEGIN ...----- and -----END ...-----".into(),
    }
}
