//! Active health checks: one small conversation per backend and interval, on a connection of its own, because whether a
//! new connection is answered is the question.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use sojourn_dispatch::{BackendId, News};
use sojourn_part::{Probe, headers};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::link::is_own;
use super::worker::Worker;

/// Probes a backend at this address for as long as it is polled.
pub(super) async fn watch(worker: Rc<Worker>, backend: BackendId, address: SocketAddr) {
    let health = worker.version().settings.health.clone();
    let path = match &health.probe {
        Probe::Off => return,
        Probe::Connect => None,
        Probe::Get(path) => Some(path.as_str()),
    };
    let mut was_made = true;
    loop {
        tokio::time::sleep(health.every.as_std()).await;
        let probe = async {
            let mut stream = TcpStream::connect(address).await?;
            match path {
                Some(path) => is_alive(&mut stream, path, &address.to_string()).await,
                None => Ok(true),
            }
        };
        let outcome = tokio::time::timeout(health.timeout.as_std(), probe).await;
        if let Ok(Err(error)) = &outcome
            && is_own(error)
        {
            if std::mem::replace(&mut was_made, false) {
                worker.board.not_probed(backend, &error.to_string());
            }
            continue;
        }
        was_made = true;
        match outcome {
            Ok(Ok(true)) => worker.board.learn(backend, News::Answered, ""),
            Ok(Ok(false)) => worker.board.learn(backend, News::Failed, "it answers its health check with an error"),
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => worker.board.refused(backend),
            Ok(Err(_)) => worker.board.learn(backend, News::Failed, "its health check fails"),
            Err(_) => worker.board.learn(backend, News::Failed, "it does not answer its health check in time"),
        }
    }
}

/// Whether a GET is answered with a status below 500.
async fn is_alive(stream: &mut TcpStream, path: &str, host: &str) -> io::Result<bool> {
    let probe = headers::PROBE;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n{probe}: 1\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    // The status line of a reply begins `HTTP/1.1 200`.
    let mut head = [0; 12];
    stream.read_exact(&mut head).await?;
    Ok(head.starts_with(b"HTTP/1.") && (b'1'..b'5').contains(&head[9]))
}
