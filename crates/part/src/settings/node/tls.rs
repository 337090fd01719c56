//! TLS of a node: where it listens, and its certificates, in a file and on the command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};
use serde::{Deserialize, Serialize};

use super::Wrong;
use crate::certificate::CertificateFiles;

/// Where a node listens with TLS, and as what.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSettings {
    /// Listen with TLS too, for HTTP/1.1 and HTTP/2; port 0 takes a free port
    #[arg(id = "tls.listen", long = "tls", value_name = "IP:PORT", value_delimiter = ',')]
    pub listen: Vec<SocketAddr>,
    /// Certificates with their keys, the one for clients that name no known host first.
    #[command(flatten)]
    #[serde(default, rename = "certificate")]
    pub certificates: Certificates,
}

/// Certificates with their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Certificates(pub Vec<CertificateFiles>);

/// The flags of one, and what they say.
const FLAGS: [(&str, &str, &str); 2] = [
    ("tls.certificate.chain", "certificate", "Certificate for TLS, PEM, and behind it those that vouch for it"),
    ("tls.certificate.key", "certificate-key", "Private key of the certificate, PEM"),
];

impl TlsSettings {
    pub(super) fn check(&self) -> Result<(), Wrong> {
        if self.listen.is_empty() {
            return Err(Wrong::new("listen", "no address; write e.g. `listen = [\"0.0.0.0:8443\"]`"));
        }
        if self.certificates.0.is_empty() {
            let right = "no certificate; add `[[tls.certificate]]` with `chain` and `key`, two files in PEM";
            return Err(Wrong::new("certificate", right));
        }
        Ok(())
    }
}

impl Args for Certificates {
    fn augment_args(command: Command) -> Command {
        let [chain, key] = FLAGS.map(|(id, long, help)| {
            Arg::new(id).long(long).help(help).value_name("FILE").value_parser(value_parser!(PathBuf))
        });
        command.arg(chain.requires(FLAGS[1].0)).arg(key.requires(FLAGS[0].0))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Certificates::augment_args(command)
    }
}

impl FromArgMatches for Certificates {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Certificates, clap::Error> {
        let [chain, key] = FLAGS.map(|(id, ..)| matches.get_one::<PathBuf>(id).cloned());
        Ok(Certificates(chain.zip(key).map(|(chain, key)| CertificateFiles { chain, key }).into_iter().collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let given = Certificates::from_arg_matches(matches)?;
        if !given.0.is_empty() {
            *self = given;
        }
        Ok(())
    }
}
