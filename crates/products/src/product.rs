//! Which product a configuration is for, and how it is read.

use std::path::Path;
use std::str::FromStr;

use sojourn_stats::unknown;

use crate::note::ImportError;
use crate::pool::Configuration;
use crate::version::Version;
use crate::{envoy, haproxy, nginx};

/// A balancer that people run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// HAProxy.
    Haproxy,
    /// nginx.
    Nginx,
    /// Envoy.
    Envoy,
}

/// All of them.
pub const PRODUCTS: [Product; 3] = [Product::Haproxy, Product::Nginx, Product::Envoy];

impl Product {
    /// As a policy's name begins: `haproxy`.
    pub fn name(self) -> &'static str {
        match self {
            Product::Haproxy => "haproxy",
            Product::Nginx => "nginx",
            Product::Envoy => "envoy",
        }
    }

    /// As its makers write it: `HAProxy`.
    pub fn title(self) -> &'static str {
        match self {
            Product::Haproxy => "HAProxy",
            Product::Nginx => "nginx",
            Product::Envoy => "Envoy",
        }
    }

    /// What it calls a pool of servers.
    pub fn pool(self) -> &'static str {
        match self {
            Product::Haproxy => "backend",
            Product::Nginx => "upstream",
            Product::Envoy => "cluster",
        }
    }

    /// The product that `text` is a configuration of, by the words that begin its lines.
    pub fn of_text(text: &str) -> Option<Product> {
        let sections = ["global", "defaults", "frontend", "backend", "listen"];
        let (mut is_haproxy, mut is_nginx) = (false, false);
        for line in text.lines() {
            let words = line.trim().trim_start_matches('{').trim_start().trim_start_matches(['"', '\'']);
            if words.starts_with("static_resources") || words.starts_with("staticResources") {
                return Some(Product::Envoy);
            }
            let first = words.split(|c: char| c.is_whitespace() || c == '"' || c == '\'').next().unwrap_or_default();
            is_haproxy |= sections.contains(&first) && !line.contains(['{', ';']);
            let blocks = ["http", "upstream", "server", "stream", "events"];
            is_nginx |= blocks.contains(&first.trim_end_matches('{')) && line.contains('{');
        }
        match (is_haproxy, is_nginx) {
            (true, _) => Some(Product::Haproxy),
            (_, true) => Some(Product::Nginx),
            _ if text.contains("\"static_resources\"") || text.contains("\"staticResources\"") => Some(Product::Envoy),
            _ => None,
        }
    }

    /// Reads the texts of `files`, each with its name; nginx and Envoy have one.
    ///
    /// # Errors
    /// On what the product cannot read either: the file, the line, and what would be right.
    pub fn read(
        self,
        files: &[(String, String)],
        version: Version,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Configuration, ImportError> {
        match (self, files) {
            (Product::Haproxy, files) => haproxy::read(files, version, environment),
            (Product::Nginx, [(name, text)]) => nginx::read(Path::new(name), text),
            (Product::Envoy, [(name, text)]) => envoy::read(name, text),
            (product, files) => {
                let what =
                    if product == Product::Nginx { "the main file, which includes the others" } else { "one file" };
                let second = files.get(1).map_or("", |(name, _)| name);
                Err(ImportError(format!("{second}: {} is read from {what}", product.title())))
            }
        }
    }
}

impl FromStr for Product {
    type Err = String;

    fn from_str(text: &str) -> Result<Product, String> {
        let found = PRODUCTS.into_iter().find(|product| product.name() == text);
        found.ok_or_else(|| unknown("product", text, PRODUCTS.map(Product::name)))
    }
}
