//! Programs that a FastCGI server runs, such as PHP-FPM, as responders (FastCGI specification 1.0, section 6.2).
//!
//! Connections are kept and used again ([`pool`]), one request at a time. A kept one that its server has closed meanwhile is
//! replaced, before anything of a body is sent. The price: one that is closed just after the look at it is 502.

mod pool;
mod record;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use hyper::Request;
use hyper::body::Bytes;
use sojourn_part::ServeError;
use sojourn_part::settings::node::FastCgiSettings;
use sojourn_stats::Span;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;

use super::environment::{Call, variables};
use super::relay::{Limits, Outcome, Output, busy, failed, relay, too_late};
use super::scripts::{Script, Scripts};
use super::stderr::Errors;
use super::upload::{Awaited, Upload};
use pool::{Connection, Lent, Pool};
use record::{CONTENT_MAX, Header, Kind, ProtocolStatus, begin, end_status, params, record};

/// The programs of one server.
pub(super) struct FastCgi {
    pub(super) scripts: Scripts,
    limits: (Span, u64),
    env: BTreeMap<String, String>,
    errors: Arc<Errors>,
    pool: Arc<Pool>,
}

impl FastCgi {
    pub(super) fn new(settings: &FastCgiSettings, files: Option<&Path>) -> Result<FastCgi, ServeError> {
        settings.check().map_err(|wrong| wrong.inside("fastcgi"))?;
        Ok(FastCgi {
            scripts: Scripts::new("fastcgi", &settings.scripts, settings.root.as_deref(), files)?,
            limits: (settings.time, settings.output),
            env: settings.env.clone(),
            errors: Arc::new(Errors::open("fastcgi", settings.errors.as_deref())?),
            pool: Arc::new(Pool::new(&settings.server, settings.connections)),
        })
    }

    pub(super) async fn run(&self, script: &Script, request: &Request<()>, call: &Call, upload: Upload) -> Outcome {
        let (time, output) = self.limits;
        let mut opening = begin();
        let mut variables = variables(request, script, &self.scripts.root, call);
        variables.extend(self.env.iter().map(|(name, value)| (name.clone(), value.clone().into_bytes())));
        opening.extend(params(&variables));
        if matches!(upload, Upload::None) {
            opening.extend(record(Kind::Stdin, b""));
        }
        let Ok(lent) = tokio::time::timeout(time.as_std(), self.pool.lend()).await else {
            return busy("as many programs run as may\n");
        };
        let asked = async {
            let lent = lent?;
            let is_kept = lent.is_kept;
            match ask(lent, &opening).await {
                // It was closed while nothing was asked. Nothing of a body has been sent yet.
                Err(_) if is_kept => ask(self.pool.lend_new().await?, &opening).await,
                asked => asked,
            }
        };
        // The server may be slow to say anything, so what it says first is waited for below.
        let (reader, mut writer, lent) = match tokio::time::timeout(time.as_std(), asked).await {
            Ok(Ok(asked)) => asked,
            Ok(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                return busy("the program's server is full\n");
            }
            Ok(Err(error)) => return failed(&format!("its server: {error}")),
            Err(_) => return Outcome::Reply(too_late()),
        };
        let awaited = Awaited::default();
        let theirs = awaited.clone();
        let feeding = tokio::task::spawn_local(async move {
            if !matches!(upload, Upload::None) {
                upload.send(&mut writer, CONTENT_MAX, &theirs, |piece| record(Kind::Stdin, piece)).await?;
                writer.write_all(&record(Kind::Stdin, b"")).await?;
            }
            Ok(writer)
        });
        let errors = Arc::clone(&self.errors);
        relay(Exchange { reader: Some((reader, lent)), feeding, errors }, Limits { time, output, awaited }).await
    }
}

type Reader = ReadHalf<Connection>;
type Writer = WriteHalf<Connection>;

/// Sends the beginning of a request.
async fn ask(mut lent: Lent, opening: &[u8]) -> io::Result<(Reader, Writer, Lent)> {
    let connection = lent.take();
    let (reader, mut writer) = tokio::io::split(connection);
    writer.write_all(opening).await?;
    Ok((reader, writer, lent))
}

/// A request that its server is at.
struct Exchange {
    /// None at its end.
    reader: Option<(Reader, Lent)>,
    /// Sends the body; then it gives its half back.
    feeding: JoinHandle<io::Result<Writer>>,
    errors: Arc<Errors>,
}

impl Output for Exchange {
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            let Some((reader, _)) = &mut self.reader else { return Ok(None) };
            let (kind, content) = read(reader).await?;
            match kind {
                Kind::Stdout if !content.is_empty() => return Ok(Some(content.into())),
                Kind::Stderr => self.errors.write(&content),
                Kind::EndRequest => {
                    let reader = self.reader.take();
                    match end_status(&content) {
                        Some(ProtocolStatus::RequestComplete) => {}
                        Some(ProtocolStatus::Overloaded) => return Err(io::Error::other("its server is overloaded")),
                        _ => return Err(io::Error::other("its server refuses the request")),
                    }
                    // One that still sends a body cannot serve again.
                    if self.feeding.is_finished()
                        && let Ok(Ok(writer)) = (&mut self.feeding).await
                        && let Some((reader, lent)) = reader
                    {
                        lent.give_back(reader, writer);
                    }
                    return Ok(None);
                }
                _ => {}
            }
        }
    }

    /// Its end is a record, which [`Output::next`] has read.
    async fn end(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.feeding.abort();
    }
}

async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<(Kind, Vec<u8>)> {
    let mut header = [0; Header::SIZE];
    from.read_exact(&mut header).await.map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => io::Error::other("its server closed the connection"),
        _ => error,
    })?;
    let header = Header::read(header).ok_or_else(|| io::Error::other("its server does not speak FastCGI"))?;
    let mut content = vec![0; header.content + header.padding];
    from.read_exact(&mut content).await?;
    content.truncate(header.content);
    Ok((header.kind, content))
}
