//! Certificates made on the spot, and clients that speak TLS with HTTP/1.1, HTTP/2, or frames of HTTP/2 by hand.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use nix::time::{ClockId, clock_gettime};
use rcgen::{CertificateParams, DnType, KeyPair, date_time_ymd};
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion};
use sojourn_part::certificate::CertificateFiles;
use sojourn_part::settings::node::{Certificates, NodeSettings, TlsSettings};

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) const DAY_S: i64 = 24 * 3600;

/// Writes a certificate for these names with its key, valid from and until so many seconds from now.
pub(crate) fn certificate(folder: &Path, stem: &str, names: &[&str], valid: (i64, i64)) -> CertificateFiles {
    let names: Vec<String> = names.iter().map(|name| (*name).into()).collect();
    let mut params = CertificateParams::new(names).expect("names");
    // A subject of its own: who is trusted is looked up by that.
    params.distinguished_name.push(DnType::CommonName, format!("certificate {stem}"));
    let at = |seconds: i64| {
        let now = clock_gettime(ClockId::CLOCK_REALTIME).expect("a clock").tv_sec();
        date_time_ymd(1970, 1, 1) + Duration::from_secs((now + seconds) as u64)
    };
    (params.not_before, params.not_after) = (at(valid.0), at(valid.1));
    let key = KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate");
    let files = CertificateFiles { chain: folder.join(format!("{stem}.pem")), key: folder.join(format!("{stem}.key")) };
    fs::write(&files.chain, certificate.pem()).expect("a file");
    fs::write(&files.key, key.serialize_pem()).expect("a file");
    files
}

/// One that is valid for long.
pub(crate) fn valid(folder: &Path, stem: &str, names: &[&str]) -> CertificateFiles {
    certificate(folder, stem, names, (-DAY_S, 90 * DAY_S))
}

/// A node that listens on free ports of the loopback address, with TLS and without.
pub(crate) fn secure_node(certificates: Vec<CertificateFiles>) -> NodeSettings {
    let certificates = Certificates(certificates);
    let tls = TlsSettings { listen: vec![([127, 0, 0, 1], 0).into()], certificates };
    NodeSettings { tls: tls.into(), ..NodeSettings::new("n") }
}

/// Clients that trust these certificates, and offer these protocols.
pub(crate) fn trusting(certificates: &[&CertificateFiles], alpn: &[&str]) -> Arc<ClientConfig> {
    with_versions(certificates, alpn, rustls::ALL_VERSIONS)
}

/// The same, of these versions of TLS only.
pub(crate) fn with_versions(
    certificates: &[&CertificateFiles],
    alpn: &[&str],
    versions: &[&'static SupportedProtocolVersion],
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for files in certificates {
        roots.add(CertificateDer::from_pem_file(&files.chain).expect("a certificate")).expect("a root");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_protocol_versions(versions).expect("versions");
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    // Each handshake is a whole one, in which the certificate is seen.
    config.resumption = Resumption::disabled();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(config)
}

pub(crate) type TlsClient = StreamOwned<ClientConnection, TcpStream>;

/// A connection whose handshake is done.
pub(crate) fn connect(address: SocketAddr, config: &Arc<ClientConfig>, name: &str) -> std::io::Result<TlsClient> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let name = ServerName::try_from(name.to_owned()).expect("a name");
    let mut connection = ClientConnection::new(Arc::clone(config), name).expect("a client");
    while connection.is_handshaking() {
        connection.complete_io(&mut socket)?;
    }
    Ok(StreamOwned::new(connection, socket))
}

/// One GET by HTTP/1.1 on a connection of its own: all that comes.
pub(crate) fn get_secure(
    address: SocketAddr,
    config: &Arc<ClientConfig>,
    name: &str,
    path: &str,
) -> std::io::Result<String> {
    let mut client = connect(address, config, name)?;
    write!(client, "GET {path} HTTP/1.1\r\nhost: {name}\r\nconnection: close\r\n\r\n")?;
    let mut text = String::new();
    client.read_to_string(&mut text)?;
    Ok(text)
}

/// A client of HTTP/2.
pub(crate) struct Http2 {
    /// Of a runtime that a thread of its own drives, so that the connection answers pings whatever the test does.
    handle: Handle,
    sender: SendRequest<Full<Bytes>>,
    connection: JoinHandle<hyper::Result<()>>,
    _driven: oneshot::Sender<()>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
}

impl Http2 {
    pub(crate) fn connect(address: SocketAddr, config: &Arc<ClientConfig>) -> Http2 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (handle, (driven, done)) = (runtime.handle().clone(), oneshot::channel());
        std::thread::spawn(move || runtime.block_on(done));
        let (sender, connection) = handle.block_on(async {
            let socket = tokio::net::TcpStream::connect(address).await.expect("the server accepts");
            let name = ServerName::try_from("a.test").expect("a name");
            let stream = tokio_rustls::TlsConnector::from(Arc::clone(config)).connect(name, socket).await;
            let stream = stream.expect("a handshake");
            assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
            let (sender, connection) =
                handshake(TokioExecutor::new(), TokioIo::new(stream)).await.expect("settings come");
            (sender, tokio::spawn(connection))
        });
        Http2 { handle, sender, connection, _driven: driven }
    }

    pub(crate) fn get(&mut self, path: &str) -> hyper::Result<Answer> {
        let request = Request::get(format!("https://a.test{path}")).body(Full::default()).expect("a request");
        self.ask(request)
    }

    pub(crate) fn ask(&mut self, request: Request<Full<Bytes>>) -> hyper::Result<Answer> {
        self.handle.block_on(async {
            self.sender.ready().await?;
            let reply = tokio::time::timeout(PATIENCE, self.sender.send_request(request)).await.expect("in time")?;
            let (head, body) = reply.into_parts();
            let body = tokio::time::timeout(PATIENCE, body.collect()).await.expect("in time")?.to_bytes();
            Ok(Answer { status: head.status.as_u16(), body })
        })
    }

    /// Whether the connection has ended in order.
    pub(crate) fn has_ended(&mut self) -> bool {
        let ended = self.handle.block_on(async { tokio::time::timeout(PATIENCE, &mut self.connection).await });
        matches!(ended, Ok(Ok(Ok(()))))
    }
}

/// Frames of HTTP/2 by hand.
pub(crate) mod frames {
    use super::{Read, TlsClient, Write};

    pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    pub(crate) const HEADERS: u8 = 1;
    pub(crate) const RST_STREAM: u8 = 3;
    pub(crate) const SETTINGS: u8 = 4;
    pub(crate) const GOAWAY: u8 = 7;
    pub(crate) const ENHANCE_YOUR_CALM: u32 = 11;

    /// The head of `GET /bytes/1` of a.test over https, as HPACK has it.
    pub(crate) fn get() -> Vec<u8> {
        let mut head = vec![0x82, 0x87, 0x04, 8];
        head.extend(b"/bytes/1");
        head.extend([0x41, 6]);
        head.extend(b"a.test");
        head
    }

    pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        frame
    }

    /// The next frame: its kind, its stream and its payload; none at the end.
    pub(crate) fn next(client: &mut TlsClient) -> Option<(u8, u32, Vec<u8>)> {
        let mut head = [0; 9];
        client.read_exact(&mut head).ok()?;
        let size = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; size as usize];
        client.read_exact(&mut payload).ok()?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & 0x7fff_ffff;
        Some((head[3], stream, payload))
    }

    pub(crate) fn send(client: &mut TlsClient, bytes: &[u8]) {
        // A server may answer and close before it has read all; what it says tells.
        let _ = client.write_all(bytes).and_then(|()| client.flush());
    }
}
