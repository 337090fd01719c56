//! How the configuration of a product is found out and read.

use std::path::Path;

use sojourn_part::program::Product;

use crate::note::ImportError;
use crate::pool::Configuration;
use crate::version::Version;
use crate::{envoy, haproxy, nginx};

/// The product that `text` is a configuration of, by the words that begin its lines.
pub fn product_of(text: &str) -> Option<Product> {
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

/// The newest version of a product whose choices were compared with those of the rules here.
pub fn newest_measured(product: Product) -> Version {
    match product {
        Product::Haproxy => haproxy::NEWEST_MEASURED,
        Product::Nginx => Version::new(1, 22),
        Product::Envoy => Version::new(1, 40),
    }
}

/// Reads the texts of `files`, each with its name; nginx and Envoy have one.
///
/// # Errors
/// On what the product cannot read either: the file, the line, and what would be right.
pub fn read(
    product: Product,
    files: &[(String, String)],
    version: Version,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Configuration, ImportError> {
    match (product, files) {
        (Product::Haproxy, files) => haproxy::read(files, version, environment),
        (Product::Nginx, [(name, text)]) => nginx::read(Path::new(name), text),
        (Product::Envoy, [(name, text)]) => envoy::read(name, text),
        (product, files) => {
            let what = if product == Product::Nginx { "the main file, which includes the others" } else { "one file" };
            let second = files.get(1).map_or("", |(name, _)| name);
            Err(ImportError(format!("{second}: {} is read from {what}", product.title())))
        }
    }
}
