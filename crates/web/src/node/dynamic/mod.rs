//! Pages that programs make: by the Common Gateway Interface (RFC 3875), a process per request, and by FastCGI, from a server of
//! its own such as PHP-FPM.
//!
//! Which paths are programs is said by patterns; what they match is never sent as a file, in whatever spelling it is asked for
//! and whether or not it can be run. A program ends with its request: when its time or its output is more than is
//! allowed, when its client has left, and when the node stops. What it does wrong before its head is whole is 502, being too
//! slow 504, too many at once 503; after that the reply breaks off, so that it does not look whole. The price: no
//! other way to run a program (`nph-`), and what a program leaves in a session of its own outlives it.

mod cgi;
mod environment;
mod fastcgi;
mod head;
mod relay;
mod scripts;
mod stderr;
mod upload;

use std::net::IpAddr;

use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};
use sojourn_part::ServeError;
use sojourn_part::settings::node::{CgiSettings, FastCgiSettings};

use super::files::{Files, normalized};
use super::reply::{Reply, text};
use cgi::Cgi;
use environment::Call;
use fastcgi::FastCgi;
use relay::Outcome;
use scripts::{Place, Script};
use upload::Upload;

/// A program may send a request on to another path of the site so often.
const REDIRECTS_MAX: usize = 5;

/// The programs of a node.
pub(crate) struct Dynamic {
    cgi: Option<Cgi>,
    fastcgi: Option<FastCgi>,
    /// The node's own port.
    port: u16,
}

/// Whose page is asked for.
pub(crate) struct Wanted<'a> {
    engine: Engine<'a>,
    place: Place,
}

#[derive(Clone, Copy)]
enum Engine<'a> {
    Cgi(&'a Cgi),
    FastCgi(&'a FastCgi),
}

impl Dynamic {
    /// The programs that these settings name; those without a folder are below `files`.
    ///
    /// # Errors
    /// Which setting cannot be right.
    pub(crate) fn new(
        cgi: Option<&CgiSettings>,
        fastcgi: Option<&FastCgiSettings>,
        files: Option<&std::path::Path>,
        port: u16,
    ) -> Result<Dynamic, ServeError> {
        let cgi = cgi.map(|settings| Cgi::new(settings, files)).transpose()?;
        let fastcgi = fastcgi.map(|settings| FastCgi::new(settings, files)).transpose()?;
        Ok(Dynamic { cgi, fastcgi, port })
    }

    /// Whether a program makes the page of this path of a URL, or is said to.
    pub(crate) fn find(&self, path: &str, files: Option<&Files>) -> Option<Wanted<'_>> {
        if self.cgi.is_none() && self.fastcgi.is_none() {
            return None;
        }
        let path = normalized(path)?;
        self.find_normal(&path).or_else(|| {
            let is_wanted = |path: &str| self.find_normal(path).is_some();
            let index = files.filter(|_| path.ends_with('/'))?.index_of(&path, is_wanted)?;
            self.find_normal(&index)
        })
    }

    fn find_normal(&self, path: &str) -> Option<Wanted<'_>> {
        let engines = [self.cgi.as_ref().map(Engine::Cgi), self.fastcgi.as_ref().map(Engine::FastCgi)];
        engines.into_iter().flatten().find_map(|engine| {
            let scripts = match engine {
                Engine::Cgi(cgi) => &cgi.scripts,
                Engine::FastCgi(fastcgi) => &fastcgi.scripts,
            };
            let place = scripts.find(path);
            (!matches!(place, Place::Elsewhere)).then_some(Wanted { engine, place })
        })
    }

    /// The page that a program makes of a request of `client`.
    pub(crate) async fn answer(
        &self,
        wanted: Wanted<'_>,
        files: Option<&Files>,
        client: IpAddr,
        request: Request<Incoming>,
    ) -> Reply {
        let (head, body) = request.into_parts();
        let mut upload = match Upload::take(body).await {
            Ok(upload) => upload,
            Err(refusal) => return refusal,
        };
        let mut request = Request::from_parts(head, ());
        let mut wanted = wanted;
        for _ in 0..=REDIRECTS_MAX {
            let Place::Here(script) = &wanted.place else {
                return text(StatusCode::NOT_FOUND, "there is no such file here\n");
            };
            let call = Call { client, port: self.port, length: upload.length() };
            let target = match wanted.engine.run(script, &request, &call, upload).await {
                Outcome::Reply(reply) => return reply,
                Outcome::Local(target) => target,
            };
            // As if the client had asked for it (section 6.2.2).
            upload = Upload::None;
            *request.method_mut() = Method::GET;
            *request.uri_mut() = target;
            match self.find(request.uri().path(), files) {
                Some(next) => wanted = next,
                None => {
                    let missing = || text(StatusCode::NOT_FOUND, "there is no such file here\n");
                    return files.map_or_else(missing, |files| files.answer(&request));
                }
            }
        }
        text(StatusCode::BAD_GATEWAY, "programs send this request on and on\n")
    }
}

impl Engine<'_> {
    async fn run(self, script: &Script, request: &Request<()>, call: &Call, upload: Upload) -> Outcome {
        match self {
            Engine::Cgi(cgi) => cgi.run(script, request, call, upload).await,
            Engine::FastCgi(fastcgi) => fastcgi.run(script, request, call, upload).await,
        }
    }
}
