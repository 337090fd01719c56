//! HTTP/2: what a server says it has not processed is sent again, whatever its method (RFC 9113, section 8.7; golang report
//! 18112 and hyper report 2500 are of this kind).

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use h2::Reason;
use h2::server::SendResponse;
use hyper::Response;
use hyper::body::Bytes;
use sojourn_load::{Body, Load, Method, Report, Schedule, Stop, Targets, Url, Version};
use tokio::net::TcpListener;

use crate::run::run;
use crate::skip::skipped;

/// `requests` POSTs of users who never think, several on each connection.
fn posts(address: SocketAddr, requests: u64) -> Load {
    let url = Url::parse(&format!("http://{address}/")).unwrap();
    let mut load = Load::to(&[url], Schedule::saturate(3), Targets::Own);
    load.http = Version::Http2;
    (load.method, load.body) = (Method::Post, Body::Bytes(b"order".to_vec()));
    (load.streams, load.stop, load.keep_records) = (8, Stop::Requests(requests), true);
    load
}

fn all_good(report: &Report, requests: u64) {
    let counts = report.counts;
    assert_eq!((counts.ok, counts.retried), (requests, 0), "{counts:?}");
}

/// Answers streams, but refuses every fifth; of a connection that has brought `last` streams it takes no more.
struct Refusing {
    address: SocketAddr,
    processed: Arc<AtomicU64>,
}

impl Refusing {
    fn start(all: bool, last: usize) -> Refusing {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let processed: Arc<AtomicU64> = Arc::default();
        let count = Arc::clone(&processed);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    let count = Arc::clone(&count);
                    tokio::spawn(async move {
                        let Ok(mut connection) = h2::server::handshake(stream).await else { return };
                        let mut streams = 0;
                        while let Some(Ok((_, mut respond))) = connection.accept().await {
                            streams += 1;
                            if all || streams % 5 == 0 {
                                respond.send_reset(Reason::REFUSED_STREAM);
                            } else {
                                answer(&mut respond, &count);
                            }
                            if streams == last {
                                connection.graceful_shutdown();
                            }
                        }
                    });
                }
            });
        });
        Refusing { address, processed }
    }
}

fn answer(respond: &mut SendResponse<Bytes>, processed: &AtomicU64) {
    processed.fetch_add(1, Ordering::SeqCst);
    if let Ok(mut stream) = respond.send_response(Response::new(()), false) {
        let _ = stream.send_data(Bytes::from_static(b"done"), true);
    }
}

#[test]
fn a_refused_stream_is_sent_again_and_processed_once() {
    let server = Refusing::start(false, 40);
    let report = run(posts(server.address, 600));
    all_good(&report, 600);
    assert!(report.counts.not_processed >= 600 / 5, "{:?}", report.counts);
    // The probe before the start is one too, where it asks for something.
    assert!(server.processed.load(Ordering::SeqCst) <= 601, "none was processed twice");
    assert!(report.connections.opened > 10, "{:?}", report.connections);
}

#[test]
fn a_server_that_refuses_all_is_not_asked_for_ever() {
    let server = Refusing::start(true, usize::MAX);
    let report = run(posts(server.address, 20));
    assert_eq!(
        (report.counts.ok, report.counts.reset, report.counts.not_processed),
        (0, 20, 160),
        "{:?}",
        report.counts
    );
}

/// A real one: nginx lets a connection have so many requests and then says GOAWAY, with those on the way behind it.
#[test]
fn nginx_that_ends_connections_loses_no_post() {
    let folder = tempfile::tempdir().unwrap();
    let Some(nginx) = Nginx::start(folder.path(), 50) else { return skipped("nginx is not there, or does not start") };
    let report = run(posts(nginx.address, 3000));
    all_good(&report, 3000);
    assert!(report.connections.opened >= 60, "{:?}", report.connections);
}

struct Nginx {
    address: SocketAddr,
    child: Child,
}

impl Nginx {
    /// One that speaks HTTP/2 in the clear and takes so many requests a connection.
    fn start(folder: &Path, requests: u32) -> Option<Nginx> {
        // A port that was free just now may be taken meanwhile.
        (0..3).find_map(|_| {
            let address = std::net::TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?;
            let place = folder.display();
            let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
                .map(|kind| format!("{kind}_temp_path {place}/{kind};\n"))
                .concat();
            let text = format!(
                "daemon off; master_process off; pid {place}/pid; error_log {place}/error.log;\nevents {{}}\nhttp {{\n\
                 access_log off; {temporary}server {{ listen {address} http2; keepalive_requests {requests};\n\
                 location / {{ return 200 done; }} }} }}\n"
            );
            std::fs::write(folder.join("nginx.conf"), text).ok()?;
            let mut command = Command::new("nginx");
            command
                .arg("-p")
                .arg(folder)
                .arg("-e")
                .arg(folder.join("error.log"))
                .arg("-c")
                .arg(folder.join("nginx.conf"));
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
            while child.try_wait().ok()?.is_none() {
                if TcpStream::connect(address).is_ok() {
                    return Some(Nginx { address, child });
                }
                std::thread::yield_now();
            }
            None
        })
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
