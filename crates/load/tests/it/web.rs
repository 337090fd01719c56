//! A hyper server for HTTP/1.1, HTTP/2 and both over TLS: `/N` is N bytes, `/to/N` leads there, `/never` never comes. Of
//! `/busy` two of three are refused with a 503, of `/hangs` the first of two never comes, and of `/hangs/N` the first N
//! never come.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

static CERTIFICATES: AtomicUsize = AtomicUsize::new(0);

/// A certificate and who may be told to trust it.
pub(crate) struct Certificate {
    pub(crate) pem: PathBuf,
    config: Arc<ServerConfig>,
    _folder: TempDir,
}

impl Certificate {
    /// For `name`, which says of itself that it is valid; or that it was.
    pub(crate) fn of(name: &str, expired: bool, alpn: &[&[u8]]) -> Certificate {
        Certificate::made(name, (expired, false), alpn)
    }

    /// As `openssl req -x509` makes it: it may sign others.
    pub(crate) fn of_openssl(name: &str, expired: bool) -> Certificate {
        Certificate::made(name, (expired, true), &[b"http/1.1"])
    }

    fn made(name: &str, (expired, may_sign): (bool, bool), alpn: &[&[u8]]) -> Certificate {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        // A subject of its own: who is trusted is looked up by that.
        let number = CERTIFICATES.fetch_add(1, Ordering::SeqCst);
        params.distinguished_name.push(DnType::CommonName, format!("certificate {number}"));
        if may_sign {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        if expired {
            params.not_after = date_time_ymd(2001, 1, 1);
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let pem = folder.path().join("ca.pem");
        std::fs::write(&pem, certificate.pem()).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Certificate { pem, config: shown(certificate.der().clone(), key, alpn), _folder: folder }
    }

    /// What the shell's commands `order` leave as `site.pem` and `site.key`; none where there is no `openssl`.
    pub(crate) fn by_openssl(order: &str) -> Option<Certificate> {
        let is_there = Command::new("openssl").arg("version").output().is_ok_and(|output| output.status.success());
        if !is_there {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let made = Command::new("sh").args(["-ec", order]).current_dir(folder.path()).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let pem = folder.path().join("site.pem");
        let certificate = CertificateDer::from_pem_file(&pem).unwrap();
        let key = PrivateKeyDer::from_pem_file(folder.path().join("site.key")).unwrap();
        Some(Certificate { pem, config: shown(certificate, key, &[b"http/1.1"]), _folder: folder })
    }
}

/// A server that shows this certificate, whatever is in it: some of those that other servers show rustls would refuse.
fn shown(certificate: CertificateDer<'static>, key: PrivateKeyDer<'static>, alpn: &[&[u8]]) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = provider.key_provider.load_private_key(key).unwrap();
    let shown = SingleCertAndKey::from(CertifiedKey::new(vec![certificate], key));
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_no_client_auth().with_cert_resolver(Arc::new(shown));
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    Arc::new(config)
}

/// What the server has seen.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) connections: AtomicUsize,
    pub(crate) requests: Mutex<Vec<(Version, String, usize)>>,
    authorities: Mutex<Vec<String>>,
    /// Most requests that were there at once.
    pub(crate) together: AtomicUsize,
    present: AtomicUsize,
    /// Requests for what does not always come.
    moody: AtomicUsize,
}

pub(crate) struct Web {
    pub(crate) address: SocketAddr,
    pub(crate) seen: Arc<Seen>,
    _stop: oneshot::Sender<()>,
}

/// How a connection is served.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speak {
    Http1,
    Http2,
    /// HTTP/2, and each connection ends (GOAWAY) after so many milliseconds.
    Briefly(u64),
}

impl Web {
    pub(crate) fn start(speak: Speak, certificate: Option<&Certificate>) -> Web {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let seen: Arc<Seen> = Arc::default();
        let (stop, stopped) = oneshot::channel::<()>();
        let acceptor = certificate.map(|certificate| TlsAcceptor::from(Arc::clone(&certificate.config)));
        let log = Arc::clone(&seen);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                let accept = async {
                    loop {
                        let (stream, _) = listener.accept().await.unwrap();
                        stream.set_nodelay(true).unwrap();
                        let (acceptor, log) = (acceptor.clone(), Arc::clone(&log));
                        tokio::spawn(async move {
                            match acceptor {
                                None => serve(stream, speak, log).await,
                                Some(acceptor) => {
                                    if let Ok(stream) = acceptor.accept(stream).await {
                                        serve(stream, speak, log).await;
                                    }
                                }
                            }
                        });
                    }
                };
                tokio::select! {
                    () = accept => {}
                    _ = stopped => {}
                }
            });
        });
        Web { address, seen, _stop: stop }
    }

    /// What requests of HTTP/2 call the host.
    pub(crate) fn authorities(&self) -> Vec<String> {
        self.seen.authorities.lock().unwrap().clone()
    }

    pub(crate) fn requests(&self) -> Vec<(Version, String, usize)> {
        self.seen.requests.lock().unwrap().clone()
    }
}

async fn serve<S>(stream: S, speak: Speak, seen: Arc<Seen>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let log = Arc::clone(&seen);
    let service = service_fn(move |request: Request<Incoming>| {
        let seen = Arc::clone(&seen);
        async move { Ok::<_, Infallible>(answer(request, &seen).await) }
    });
    let io = TokioIo::new(stream);
    let counted = |result: Result<(), hyper::Error>| drop(result);
    log.connections.fetch_add(1, Ordering::SeqCst);
    match speak {
        Speak::Http1 => counted(hyper::server::conn::http1::Builder::new().serve_connection(io, service).await),
        Speak::Http2 => {
            counted(hyper::server::conn::http2::Builder::new(TokioExecutor::new()).serve_connection(io, service).await)
        }
        Speak::Briefly(ms) => {
            let connection =
                hyper::server::conn::http2::Builder::new(TokioExecutor::new()).serve_connection(io, service);
            tokio::pin!(connection);
            tokio::select! {
                result = connection.as_mut() => return counted(result),
                () = tokio::time::sleep(std::time::Duration::from_millis(ms)) => {}
            }
            connection.as_mut().graceful_shutdown();
            counted(connection.await);
        }
    }
}

async fn answer(request: Request<Incoming>, seen: &Seen) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_or(0, |body| body.to_bytes().len());
    let authority = head.uri.authority().map(|authority| authority.to_string()).unwrap_or_default();
    seen.authorities.lock().unwrap().push(authority);
    seen.requests.lock().unwrap().push((head.version, head.uri.path().to_owned(), body));
    let present = seen.present.fetch_add(1, Ordering::SeqCst) + 1;
    seen.together.fetch_max(present, Ordering::SeqCst);
    if head.uri.path() == "/never" {
        std::future::pending::<()>().await;
    }
    let first = head.uri.path().strip_prefix("/hangs/").and_then(|first| first.parse::<usize>().ok());
    if first.is_some_and(|first| seen.moody.fetch_add(1, Ordering::SeqCst) < first) {
        std::future::pending::<()>().await;
    }
    if head.uri.path() == "/hangs" && seen.moody.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) {
        std::future::pending::<()>().await;
    }
    // Lets others of the same connection come in.
    tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    seen.present.fetch_sub(1, Ordering::SeqCst);
    let path = head.uri.path();
    if let Some(to) = path.strip_prefix("/to/") {
        return Response::builder().status(302).header("location", format!("/{to}")).body(Full::default()).unwrap();
    }
    if path == "/busy" && seen.moody.fetch_add(1, Ordering::SeqCst) % 3 < 2 {
        return Response::builder().status(503).body(Full::default()).unwrap();
    }
    if path == "/busy" || path.starts_with("/hangs") {
        return Response::builder().body(Full::from("at last")).unwrap();
    }
    match path[1..].parse() {
        Ok(size) => Response::builder().body(Full::new(Bytes::from(vec![b'x'; size]))).unwrap(),
        Err(_) => Response::builder().status(404).body(Full::default()).unwrap(),
    }
}
