//! Certificates for TLS as files.

use std::fs;
use std::path::PathBuf;

use rcgen::{CertificateParams, KeyPair};
use serde::{Deserialize, Serialize};

use crate::ServeError;

/// The files of a certificate, PEM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateFiles {
    /// The certificate, and behind it those that vouch for it.
    pub chain: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Makes a certificate for these names and addresses with its key, signed by itself, for nodes whose clients are told to
/// trust it.
///
/// # Errors
/// When a name cannot be one, or a file cannot be written.
pub fn make(names: &[String], files: &CertificateFiles) -> Result<(), ServeError> {
    let cannot = |error: rcgen::Error| ServeError::Config(format!("no certificate for {}: {error}", names.join(", ")));
    let params = CertificateParams::new(names).map_err(cannot)?;
    let key = KeyPair::generate().map_err(cannot)?;
    let certificate = params.self_signed(&key).map_err(cannot)?;
    for (file, text) in [(&files.chain, certificate.pem()), (&files.key, key.serialize_pem())] {
        fs::write(file, text).map_err(ServeError::system(format!("cannot write {}", file.display())))?;
    }
    Ok(())
}
