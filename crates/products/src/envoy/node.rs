//! YAML as a tree of which each node knows its line, read within bounds.
//!
//! Structs of serde would lose what they do not name, and it is to be said. So a tree is read, and looked into by name.
//! Aliases are written out: bombs of them end at a limit.

use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{DuplicateKeyPolicy, Spanned};

/// A value and the line where it begins.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) value: Value,
}

/// What a node is.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// A number, a text, `true` or nothing, as it would be written.
    Scalar(String),
    List(Vec<Node>),
    /// Keys in the form `lb_policy`, in their order; `lbPolicy` is the same to Envoy.
    Map(Vec<(String, Node)>),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Node, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Node { line: spanned.referenced.line() as usize, value: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Value;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("YAML")
            }
            fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
                Ok(Value::Scalar(value.to_string()))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
                Ok(Value::Scalar(value.to_string()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
                Ok(Value::Scalar(value.to_string()))
            }
            fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
                Ok(Value::Scalar(value.to_string()))
            }
            fn visit_u128<E>(self, value: u128) -> Result<Value, E> {
                Ok(Value::Scalar(value.to_string()))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
                Ok(Value::Scalar(value.to_string()))
            }
            fn visit_str<E>(self, value: &str) -> Result<Value, E> {
                Ok(Value::Scalar(value.into()))
            }
            fn visit_bytes<E>(self, value: &[u8]) -> Result<Value, E> {
                Ok(Value::Scalar(String::from_utf8_lossy(value).into_owned()))
            }
            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::Scalar(String::new()))
            }
            fn visit_none<E>(self) -> Result<Value, E> {
                Ok(Value::Scalar(String::new()))
            }
            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
                Value::deserialize(deserializer)
            }
            fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
                Value::deserialize(deserializer)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
                let mut nodes = Vec::new();
                while let Some(node) = list.next_element()? {
                    nodes.push(node);
                }
                Ok(Value::List(nodes))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(key) = map.next_key::<Spanned<Value>>()? {
                    let line = key.referenced.line() as usize;
                    let name = if let Value::Scalar(name) = key.value { snake(&name) } else { String::from("?") };
                    let mut node: Node = map.next_value()?;
                    // A person looks for the key.
                    node.line = line.max(1);
                    entries.push((name, node));
                }
                Ok(Value::Map(entries))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// `lbPolicy` as `lb_policy`.
fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len());
    // Names of types have dots and slashes, and are no fields.
    let is_field = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    for c in name.chars() {
        if is_field && c.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(if is_field { c.to_ascii_lowercase() } else { c });
    }
    snake
}

/// The tree of a text, of nodes or of plain values.
///
/// # Errors
/// The line, and what is wrong.
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, (usize, String)> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 100,
            max_nodes: 500_000,
            max_events: 2_000_000,
            max_aliases: 10_000,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 200_000,
            max_replay_stack_depth: 16,
        },
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let line = error.location().map_or(1, |location| location.line().max(1) as usize);
        (line, error.to_string())
    })
}

impl Node {
    /// The value of a key, the last where it is said twice, as to Envoy; none where this is no map or has no such key.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().rev().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// The value at the end of a path of keys.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The entries of a map; none of anything else.
    pub(super) fn entries(&self) -> &[(String, Node)] {
        if let Value::Map(entries) = &self.value { entries } else { &[] }
    }

    /// The elements of a list; none of anything else.
    pub(super) fn list(&self) -> &[Node] {
        if let Value::List(nodes) = &self.value { nodes } else { &[] }
    }

    /// A text or number as it is written.
    pub(super) fn text(&self) -> Option<&str> {
        if let Value::Scalar(text) = &self.value { Some(text) } else { None }
    }
}
