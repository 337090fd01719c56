//! What single flags say.

use std::net::{IpAddr, SocketAddr};

use sojourn_stats::config::ConfigFile;
use sojourn_stats::{Dimension, Law, Span, input, meant_aside, quantity};

use super::{LoadSettings, Order};
use crate::error::LoadError;
use crate::{Body, Limits, Method, Resolves, Rotation, Template, Url, Version};

impl Order {
    pub(super) fn http(&self) -> Result<Version, LoadError> {
        match self.settings.http.as_deref() {
            None | Some("1.1") => Ok(Version::Http11),
            Some("1.0") => Ok(Version::Http10),
            Some("2") => Ok(Version::Http2),
            Some(other) => Err(invalid(format!("--http {other}: expected 1.0, 1.1 or 2"))),
        }
    }

    pub(super) fn proxy(&self) -> Result<Option<Url>, LoadError> {
        let url = |text: &str| Url::parse(text).map_err(|error| invalid(format!("--proxy: {error}")));
        self.settings.proxy.as_deref().map(url).transpose()
    }

    pub(super) fn rotation(&self) -> Result<Option<Rotation>, LoadError> {
        match self.settings.rotate.as_deref() {
            None => Ok(None),
            Some("client") => Ok(Some(Rotation::Client)),
            Some("request") => Ok(Some(Rotation::Request)),
            Some(other) => Err(invalid(format!("--rotate {other}: expected client or request"))),
        }
    }

    pub(super) fn method(&self) -> Result<Method, LoadError> {
        let flags = &self.settings;
        let bodied = flags.body.is_some() || flags.body_file.is_some();
        match &flags.method {
            None => Ok(if bodied { Method::Post } else { Method::Get }),
            Some(name) => Method::named(name).ok_or_else(|| {
                let known = Method::ALL.map(Method::name);
                invalid(format!("--method {name}: expected {}{}", known.join(", "), meant_aside(name, known)))
            }),
        }
    }

    pub(super) fn body(&self) -> Result<Body, LoadError> {
        match (&self.settings.body, &self.settings.body_file) {
            (Some(text), _) => {
                Template::parse(text).map(Body::Template).map_err(|error| invalid(format!("--body: {error}")))
            }
            (None, Some(path)) => input::bytes(path)
                .map(Body::Bytes)
                .map_err(|error| invalid(format!("--body-file: cannot read {}: {error}", path.display()))),
            (None, None) => Ok(Body::None),
        }
    }
}

/// The headers to send, each written as `name: value`.
///
/// # Errors
/// One line, when one is written otherwise.
pub fn headers(texts: &[String]) -> Result<Vec<(String, String)>, LoadError> {
    let read = |text: &String| match text.split_once(':') {
        Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
        None => Err(invalid(format!("--header {text}: write it as `name: value`"))),
    };
    texts.iter().map(read).collect()
}

/// A name server: port 53 where none is said.
pub(super) fn resolver(text: &str) -> Result<SocketAddr, LoadError> {
    let address = text.parse::<SocketAddr>().or_else(|_| text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 53)));
    address.map_err(|_| invalid(format!("--resolver {text}: write an address, e.g. 127.0.0.1 or 127.0.0.1:5353")))
}

/// When a name is resolved again.
pub(super) fn resolves(text: &str) -> Result<Resolves, LoadError> {
    match text {
        "ttl" => Ok(Resolves::Ttl),
        "request" => Ok(Resolves::EachConnection),
        every => match span("--resolves", every) {
            Ok(every) if every > Span::ZERO => Ok(Resolves::Every(every)),
            _ => Err(invalid(format!("--resolves {text}: `ttl`, `request`, or a time above zero, e.g. 60s"))),
        },
    }
}

/// The limits of the file, and those of the flags in their place.
pub(super) fn limits(flags: &LoadSettings) -> Result<Limits, LoadError> {
    let mut limits = Limits::default();
    if let Some(path) = &flags.limits_file {
        let wrong = |why: String| invalid(format!("--limits-file: {why}"));
        let text = input::text(path).map_err(|error| wrong(format!("{}: cannot read it: {error}", path.display())))?;
        let file = ConfigFile::new(path, text);
        let table: toml::Table = file.read().map_err(|error| wrong(error.to_string()))?;
        for (name, value) in &table {
            let value = value.as_str().map_or_else(|| value.to_string(), String::from);
            limits.set(name, &value).map_err(|error| wrong(file.error(name, &error.to_string()).to_string()))?;
        }
    }
    for text in &flags.limits {
        let wrong = |why: String| invalid(format!("--limit {text}: {why}"));
        let (name, value) = text.split_once('=').ok_or_else(|| wrong("write NAME=VALUE, e.g. stolen=5%".into()))?;
        limits.set(name.trim(), value.trim()).map_err(|error| wrong(error.to_string()))?;
    }
    Ok(limits)
}

pub(super) fn law(flag: &str, text: &str, dimension: Dimension) -> Result<Law, LoadError> {
    Law::parse(text, dimension).map_err(|e| invalid(format!("{flag}: {e}")))
}

/// A time that a flag says.
///
/// # Errors
/// One line with the flag, when it is none.
pub fn span(flag: &str, text: &str) -> Result<Span, LoadError> {
    let seconds = quantity::parse(text, Dimension::Time).map_err(|e| invalid(format!("{flag}: {e}")))?;
    Ok(Span::from_secs_f64(seconds))
}

pub(super) fn invalid(message: impl ToString) -> LoadError {
    LoadError::Invalid(message.to_string())
}
