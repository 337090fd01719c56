//! A question to the server itself: a GET whose answer is a load report of ORCA, in a header or as text.

use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::HOST;
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use sojourn_part::headers;
use sojourn_part::settings::Wrong;
use sojourn_part::settings::loadd::LoaddSettings;
use sojourn_stats::Span;
use tokio::net::TcpStream;

use crate::orca;

/// Most bytes of a load report that are read.
const REPORT_LIMIT: usize = 64 * 1024;

/// Where a server says its load, and the connection to it.
pub(super) struct Question {
    url: Uri,
    patience: Duration,
    link: Option<SendRequest<Empty<Bytes>>>,
}

impl Question {
    /// As settings have it; none where the server says nothing itself.
    ///
    /// # Errors
    /// Where it cannot be asked there.
    pub(super) fn of_settings(settings: &LoaddSettings, patience: Span) -> Result<Option<Question>, Wrong> {
        let question = |url| Question { url, patience: patience.as_std(), link: None };
        Ok(settings.url()?.map(question))
    }

    /// Asks; none where the server cannot be asked in time or does not say.
    pub(super) async fn ask(&mut self) -> Option<orca::Load> {
        let answer = tokio::time::timeout(self.patience, self.answer()).await;
        match answer {
            Ok(Some(load)) => Some(load),
            _ => {
                self.link = None;
                None
            }
        }
    }

    async fn answer(&mut self) -> Option<orca::Load> {
        let authority = self.url.authority()?.as_str();
        let link = match self.link.take().filter(|link| link.is_ready()) {
            Some(link) => self.link.insert(link),
            None => {
                let stream = TcpStream::connect(authority).await.ok()?;
                let (link, connection) = handshake(TokioIo::new(stream)).await.ok()?;
                tokio::task::spawn_local(connection);
                self.link.insert(link)
            }
        };
        let path = self.url.path_and_query().map_or("/", |path| path.as_str());
        let request = Request::get(path).header(HOST, authority).header(headers::PROBE, "1");
        let reply = link.send_request(request.body(Empty::new()).ok()?).await.ok()?;
        let said = reply.headers().get(orca::HEADER).and_then(|report| orca::Load::parse(report.to_str().ok()?));
        let body = Limited::new(reply.into_body(), REPORT_LIMIT).collect().await.ok()?.to_bytes();
        said.or_else(|| orca::Load::parse(std::str::from_utf8(&body).ok()?))
    }
}
