//! TLS by rustls, without a socket of its own: what it wants written is written by the loop, and what the loop reads is
//! given to it, so that every schedule and pacing holds over TLS too.
//!
//! Sessions are resumed, per thread and host: the first handshakes of a run are full ones, most others are not, as with
//! browsers that come back. How many were which is counted. A server that ends the stream without TLS's own goodbye
//! has not told the end of a reply that ends with the connection: that is closed early, not done (RFC 8446, section 6.1).

mod words;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientConnection, Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use sojourn_stats::{Span, input};

use self::words::{is_of_an_issuer, words};
use crate::error::LoadError;
use crate::request::endpoint::Endpoint;
use crate::setting::Version;

/// How a server proves who it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// A PEM file with the certificates to trust, in place of the system's; also of a server that vouches for itself.
    pub ca: Option<PathBuf>,
    /// Whether to take any certificate.
    pub insecure: bool,
    /// The name that the certificate has to be for and that the server is told, in place of the address's host.
    pub server_name: Option<String>,
}

impl Tls {
    /// The client side of rustls for HTTP of this version, with a session store of its own.
    pub(crate) fn config(&self, version: Version) -> Result<Arc<ClientConfig>, LoadError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("ring speaks both versions of TLS");
        let (roots, named) = if self.insecure { (RootCertStore::empty(), Vec::new()) } else { self.roots()? };
        let mut config = if named.is_empty() && !self.insecure {
            builder.with_root_certificates(roots).with_no_client_auth()
        } else {
            let issuers = (!self.insecure)
                .then(|| WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build());
            let issuers = issuers.transpose().map_err(|error| LoadError::Invalid(format!("--ca: {error}")))?;
            let verifier = Verifier { provider, issuers, named };
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth()
        };
        // HTTP/1.0 has a name of its own there that no server knows: nothing is said then.
        config.alpn_protocols = match version {
            Version::Http10 => Vec::new(),
            Version::Http11 => vec![b"http/1.1".to_vec()],
            Version::Http2 => vec![b"h2".to_vec()],
        };
        config.resumption = Resumption::in_memory_sessions(1024);
        Ok(Arc::new(config))
    }

    /// What is trusted: issuers, and the certificates of a file, which may be servers.
    fn roots(&self) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), LoadError> {
        let (mut roots, mut named) = (RootCertStore::empty(), Vec::new());
        let Some(path) = &self.ca else {
            for certificate in rustls_native_certs::load_native_certs().certs {
                // A certificate that rustls cannot read makes no server trusted.
                let _ = roots.add(certificate);
            }
            return Ok((roots, named));
        };
        let wrong = |why: String| {
            LoadError::Invalid(format!("--ca {}: {why}; a PEM file of certificates is wanted", path.display()))
        };
        let unread = |number: usize| wrong(format!("certificate {number} in it cannot be read"));
        let text = input::bytes(path).map_err(|error| wrong(error.to_string()))?;
        for (before, certificate) in CertificateDer::pem_slice_iter(input::without_mark(&text)).enumerate() {
            let certificate = certificate.map_err(|_| unread(before + 1))?;
            roots.add(certificate.clone()).map_err(|_| unread(before + 1))?;
            named.push(certificate);
        }
        if named.is_empty() { Err(wrong("there is no certificate in it".to_owned())) } else { Ok((roots, named)) }
    }

    /// The name that `endpoint` has to have in its certificate.
    pub(crate) fn name_of(&self, host: &str) -> Result<ServerName<'static>, LoadError> {
        let name = self.server_name.as_deref().unwrap_or(host);
        ServerName::try_from(name.to_owned())
            .map_err(|_| LoadError::Invalid(format!("`{name}` cannot be the name in a certificate")))
    }
}

/// A server at `address` proves who it is, once before the start.
pub(crate) fn probe(
    endpoint: &Endpoint,
    address: SocketAddr,
    mut stream: TcpStream,
    (tls, version): (&Tls, Version),
    within: Span,
) -> Result<(), LoadError> {
    let config = tls.config(version)?;
    let refused = |reason: String| LoadError::Tls { endpoint: endpoint.authority.clone(), target: address, reason };
    let mut connection =
        ClientConnection::new(config, tls.name_of(&endpoint.host)?).map_err(|error| refused(words(&error)))?;
    stream.set_read_timeout(Some(within.as_std()))?;
    stream.set_write_timeout(Some(within.as_std()))?;
    while connection.is_handshaking() {
        if let Err(error) = connection.complete_io(&mut stream) {
            let reason = match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
                Some(error) => words(error),
                None if error.kind() == io::ErrorKind::UnexpectedEof => {
                    "it closes the connection: does it speak TLS on this port?".to_owned()
                }
                None if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    format!("it did not finish within {within}: does it speak TLS on this port?")
                }
                None => error.to_string(),
            };
            return Err(refused(reason));
        }
    }
    if version == Version::Http2 && connection.alpn_protocol() != Some(b"h2") {
        return Err(refused("the server does not agree to HTTP/2 (ALPN); ask for 1.1".to_owned()));
    }
    Ok(())
}

/// What a read through TLS came to.
pub(crate) enum Pulled {
    /// So many bytes are in the buffer.
    Bytes(usize),
    /// The handshake is done.
    Secured,
    /// No more for now.
    Blocked,
    /// The server has said that it sends no more.
    Ended,
    /// The stream ended without that.
    Cut,
    /// The server is not who it should be, or does not speak TLS.
    Failed,
    /// The socket failed.
    Broken(io::Error),
}

/// A connection's TLS.
#[derive(Debug)]
pub(crate) struct Session {
    inner: ClientConnection,
    /// Read, and not taken in yet.
    pending: Vec<u8>,
    secured: bool,
    cut: bool,
}

impl Session {
    pub(crate) fn new(config: &Arc<ClientConfig>, name: ServerName<'static>) -> Result<Session, Error> {
        let mut inner = ClientConnection::new(Arc::clone(config), name)?;
        inner.set_buffer_limit(None);
        Ok(Session { inner, pending: Vec::new(), secured: false, cut: false })
    }

    /// Whether the handshake went the short way.
    pub(crate) fn resumed(&self) -> bool {
        self.inner.handshake_kind() == Some(rustls::HandshakeKind::Resumed)
    }

    /// Whether the server agreed to HTTP/2.
    pub(crate) fn speaks_http2(&self) -> bool {
        self.inner.alpn_protocol() == Some(b"h2")
    }

    /// Takes `bytes` to be sent.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.inner.writer().write_all(bytes).expect("the session's buffer has no limit");
    }

    /// Writes what is to be sent; whether all of it went out.
    pub(crate) fn flush(&mut self, stream: &TcpStream) -> io::Result<bool> {
        let mut stream = stream;
        while self.inner.wants_write() {
            match self.inner.write_tls(&mut stream) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Reads plain bytes into `buffer`, taking in what `stream` has.
    pub(crate) fn pull(&mut self, stream: &TcpStream, buffer: &mut [u8]) -> Pulled {
        let mut stream = stream;
        loop {
            match self.inner.reader().read(buffer) {
                Ok(0) if !buffer.is_empty() => return Pulled::Ended,
                Ok(read) => return Pulled::Bytes(read),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Pulled::Cut,
            }
            if self.cut {
                return Pulled::Cut;
            }
            if self.pending.is_empty() {
                match stream.read(buffer) {
                    Ok(0) => {
                        self.cut = true;
                        // Tells the session, whose reader says from now on whether that was to be expected.
                        let _ = self.inner.read_tls(&mut io::empty());
                        continue;
                    }
                    Ok(read) => self.pending.extend_from_slice(&buffer[..read]),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Pulled::Blocked,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Pulled::Broken(error),
                }
            }
            let mut rest = &self.pending[..];
            let taken = self.inner.read_tls(&mut rest);
            let left = rest.len();
            let used = self.pending.len() - left;
            self.pending.drain(..used);
            let processed = self.inner.process_new_packets();
            // Also what tells the server that something is wrong. A socket that does not take it now is told later.
            let flushed = self.flush(stream);
            if taken.is_err() || processed.is_err() {
                return Pulled::Failed;
            }
            if let Err(error) = flushed {
                return Pulled::Broken(error);
            }
            if !self.secured && !self.inner.is_handshaking() {
                self.secured = true;
                return Pulled::Secured;
            }
        }
    }
}

/// Who is trusted. That the server has the key of the certificate that it shows is checked in any case.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// None: anyone is.
    issuers: Option<Arc<WebPkiServerVerifier>>,
    /// Certificates that are trusted themselves.
    named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        server: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(issuers) = &self.issuers else { return Ok(ServerCertVerified::assertion()) };
        match issuers.verify_server_cert(server, between, name, ocsp, now) {
            // What `openssl req -x509` makes may sign others, and then rustls takes it for no server's. Its times are checked
            // before that.
            Err(Error::InvalidCertificate(CertificateError::Other(why)))
                if is_of_an_issuer(&why) && self.named.iter().any(|named| named == server) =>
            {
                verify_server_name(&ParsedCertificate::try_from(server)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
