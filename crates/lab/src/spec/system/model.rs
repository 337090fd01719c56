//! The model of a server, inline or in a file of its own.

use serde::Deserialize;
use serde::de::{self, MapAccess, Visitor, value::MapAccessDeserializer};
use sojourn_model::Server;
use sojourn_stats::input;

use super::super::{Reader, SpecError};
use super::RawSystem;

/// A server model, inline or the path of one.
pub(in crate::spec) enum ServerSource {
    Inline(Box<Server>),
    File(String),
}

impl<'de> Deserialize<'de> for ServerSource {
    /// By hand, because an untagged enum would lose the lines of what is inside.
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<ServerSource, D::Error> {
        struct Source;
        impl<'de> Visitor<'de> for Source {
            type Value = ServerSource;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a server model: a table, or the path of a TOML file")
            }
            fn visit_str<E: de::Error>(self, path: &str) -> Result<ServerSource, E> {
                Ok(ServerSource::File(path.into()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ServerSource, A::Error> {
                Ok(ServerSource::Inline(Box::new(Server::deserialize(MapAccessDeserializer::new(map))?)))
            }
        }
        deserializer.deserialize_any(Source)
    }
}

impl Reader<'_> {
    pub(super) fn server_model(&self, raw: &RawSystem) -> Result<Server, SpecError> {
        match &raw.server {
            // Of a real program nothing is known but what is measured.
            None if raw.program.is_some() => {
                Ok(Server::from_toml("discipline = \"ps\"\ndemand = \"0 s\"").expect("a server model"))
            }
            None => {
                let line = self.text.find("[system").unwrap_or(0);
                Err(self.error(line, "system", "it needs a server, e.g. `server = \"apache.toml\"`"))
            }
            Some(ServerSource::Inline(server)) => Ok((**server).clone()),
            Some(ServerSource::File(path)) => {
                let path = self.path(path);
                let text = input::text(&path).map_err(|e| {
                    self.at_key("server", &format!("cannot read the server model {}: {e}", path.display()))
                })?;
                Server::from_toml(&text).map_err(|e| SpecError(format!("{}: {e}", path.display())))
            }
        }
    }
}
