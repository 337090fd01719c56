//! Active health checks: one small conversation per backend and interval, on a connection of its own, because whether a
//! new connection is answered is the question.

use std::rc::Rc;

use sojourn_dispatch::BackendId;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Probe;
use super::worker::Worker;
use crate::headers;

/// Probes a backend for as long as it is polled.
pub(super) async fn watch(worker: Rc<Worker>, backend: BackendId) {
    let health = &worker.config.health;
    let path = match &health.probe {
        Probe::Off => return,
        Probe::Connect => None,
        Probe::Get(path) => Some(path.as_str()),
    };
    let address = worker.config.backends[backend.0 as usize].address;
    loop {
        tokio::time::sleep(health.every.as_std()).await;
        let probe = async {
            let mut stream = TcpStream::connect(address).await?;
            match path {
                Some(path) => is_alive(&mut stream, path, &address.to_string()).await,
                None => Ok(true),
            }
        };
        match tokio::time::timeout(health.timeout.as_std(), probe).await {
            Ok(Ok(true)) => worker.board.probed(backend),
            Ok(Ok(false)) => worker.board.strike(backend, "it answers its health check with an error"),
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => worker.board.refused(backend),
            Ok(Err(_)) => worker.board.strike(backend, "its health check fails"),
            Err(_) => worker.board.strike(backend, "it does not answer its health check in time"),
        }
    }
}

/// Whether a GET is answered with a status below 500.
async fn is_alive(stream: &mut TcpStream, path: &str, host: &str) -> std::io::Result<bool> {
    let probe = headers::PROBE;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n{probe}: 1\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    // The status line of a reply begins `HTTP/1.1 200`.
    let mut head = [0; 12];
    stream.read_exact(&mut head).await?;
    Ok(head.starts_with(b"HTTP/1.") && (b'1'..b'5').contains(&head[9]))
}
