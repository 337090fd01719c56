//! What rustls says of a handshake that failed, in words: which check it was, and what helps.
//!
//! rustls and webpki tell most mistakes by the names of their types. Those that have a cure of their own have words here; of any
//! other one the name is taken apart into words.

use rustls::pki_types::ServerName;
use rustls::{CertificateError, Error, OtherError};

/// So many names of a certificate are told.
const NAMES: usize = 3;

/// What helps where a certificate is for other names than the one that was asked for.
const BY_NAME: &str = "ask for a name that it is for, say it with `--server-name NAME`";

/// Which check failed, and what helps.
pub(super) fn words(error: &Error) -> String {
    let named = |what: &str, why: &dyn std::fmt::Debug| format!("{what}: {}", in_words(&format!("{why:?}")));
    match error {
        Error::InvalidCertificate(why) => words_of_certificate(why),
        Error::InvalidMessage(why) => format!("{}: does it speak TLS on this port?", named("no message of TLS", why)),
        Error::AlertReceived(why) => named("it ends the handshake", why),
        Error::PeerIncompatible(why) => named("it has no TLS in common with this program", why),
        Error::PeerMisbehaved(why) => named("it breaks the rules of TLS", why),
        other => other.to_string(),
    }
}

/// What is wrong with a server's certificate, and what helps: not every mistake is mended by trusting its issuer.
fn words_of_certificate(why: &CertificateError) -> String {
    let any = "take any certificate with `--insecure`";
    let issuer = || format!("trust its issuer, or itself if it is self-signed, with `--ca FILE`, or {any}");
    let another = || format!("give the server another certificate, or {any}");
    let (what, cure) = match why {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            ("its certificate is self-signed, or from an issuer not trusted here", issuer())
        }
        CertificateError::Other(why) if is_of_an_issuer(why) => {
            let what = "its certificate may sign others, as that of an issuer, and is not trusted here as a server's";
            (what, format!("if it is self-signed, trust that very certificate with `--ca FILE`, or {any}"))
        }
        CertificateError::Other(why) if why.to_string().contains("UnsupportedCertVersion") => {
            let what = "its certificate is of X.509 version 1, which has no subjectAltName";
            (what, format!("{}, or {any}", with_names("DNS:NAME")))
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            ("its certificate has expired", another())
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            ("its certificate is not valid yet", format!("set the clocks of both machines, or {any}"))
        }
        CertificateError::NotValidForName => ("its certificate is for another name", format!("{BY_NAME}, or {any}")),
        CertificateError::NotValidForNameContext { expected, presented } => {
            return format!("{}, or {any}", words_of_names(expected, presented));
        }
        CertificateError::Revoked => ("its certificate is revoked", another()),
        CertificateError::BadEncoding => ("its certificate cannot be read", another()),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            ("its certificate is not one for servers", another())
        }
        other => {
            let name = match other {
                CertificateError::Other(why) => why.to_string(),
                named => format!("{named:?}"),
            };
            let issuer = issuer();
            return format!("its certificate does not verify ({}); {issuer}", in_words(&name));
        }
    };
    format!("{what}; {cure}")
}

/// Whether a certificate was refused because it may sign others: rustls takes such a one for no server's.
pub(super) fn is_of_an_issuer(why: &OtherError) -> bool {
    why.to_string().contains("CaUsedAsEndEntity")
}

/// What helps where a certificate is for no name: how one is made that is for `names`, as `openssl` writes them.
fn with_names(names: &str) -> String {
    format!("give the server one that has it (`openssl req -x509 ... -addext subjectAltName={names}`)")
}

/// That a certificate is not for the name `asked` for, but for others, or for none at all, and what helps. `presented` is what
/// webpki tells of its subjectAltName. The name in its subject (CN) is not looked at: RFC 9525 forbids what RFC 6125 left as a
/// last resort.
fn words_of_names(asked: &ServerName<'_>, presented: &[String]) -> String {
    let no_hosts = ["DirectoryName", "UniformResourceIdentifier(", "Unsupported("];
    let is_no_host = |name: &String| no_hosts.iter().any(|kind| name.starts_with(kind));
    let kind = if matches!(asked, ServerName::IpAddress(_)) { "IP" } else { "DNS" };
    let asked = asked.to_str();
    if presented.iter().all(is_no_host) {
        let cure = with_names(&format!("{kind}:{asked}"));
        return format!(
            "its certificate has no subjectAltName that names a host, and a name in CN alone is not taken (RFC 9525); {cure}"
        );
    }
    let hosts: Vec<&str> = presented.iter().filter_map(|name| host(name)).collect();
    let told = hosts[..hosts.len().min(NAMES)].join(", ");
    let more = if hosts.len() > NAMES { format!(" and {} more", hosts.len() - NAMES) } else { String::new() };
    let told = if told.is_empty() { told } else { format!(" ({told}{more})") };
    format!("its certificate is for another name{told}, not for {asked}; {BY_NAME}")
}

/// The name of a host as webpki tells it: `DnsName("www.example.org")`, `IpAddress(127.0.0.1)`. None of what is no name, and of
/// one that has what a terminal would act on.
fn host(name: &str) -> Option<&str> {
    let dns = name.strip_prefix("DnsName(\"").and_then(|name| name.strip_suffix("\")"));
    let host = dns.or_else(|| name.strip_prefix("IpAddress(")?.strip_suffix(')'))?;
    Some(host).filter(|host| host.chars().all(|letter| letter.is_ascii_graphic()))
}

/// The name of a mistake as rustls writes it, in words: `path len constraint violated`.
fn in_words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars().take_while(char::is_ascii_alphanumeric) {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    if words.is_empty() { "for a reason that rustls does not name".to_owned() } else { words }
}

#[cfg(test)]
mod tests {
    use std::fmt;
    use std::sync::Arc;

    use rustls::AlertDescription;

    use super::*;

    /// A mistake as webpki tells it: by its name alone.
    #[derive(Debug)]
    struct Named(&'static str);

    impl fmt::Display for Named {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl std::error::Error for Named {}

    #[test]
    fn mistakes_of_certificates_are_told_in_words_with_what_helps() {
        let other = |name| CertificateError::Other(OtherError(Arc::new(Named(name))));
        for (why, what, cure) in [
            (CertificateError::UnknownIssuer, "self-signed, or from an issuer not trusted", "`--ca FILE`"),
            (other("CaUsedAsEndEntity"), "may sign others", "`--ca FILE`"),
            (other("UnsupportedCertVersion"), "of X.509 version 1", "-addext subjectAltName=DNS:NAME"),
            (CertificateError::Expired, "has expired", "another certificate"),
            (CertificateError::NotValidYet, "is not valid yet", "clocks"),
            (CertificateError::NotValidForName, "is for another name", "`--server-name NAME`"),
            (CertificateError::Revoked, "is revoked", "another certificate"),
            (CertificateError::BadEncoding, "cannot be read", "another certificate"),
            (CertificateError::InvalidPurpose, "not one for servers", "another certificate"),
            (CertificateError::UnhandledCriticalExtension, "(unhandled critical extension)", "`--ca FILE`"),
            (other("MaximumSignatureChecksExceeded { n: 1 }"), "(maximum signature checks exceeded)", "`--ca FILE`"),
        ] {
            let told = words(&Error::InvalidCertificate(why));
            assert!(told.contains(what) && told.contains(cure) && told.contains("`--insecure`"), "{told}");
            let is_debug = ["(Other", "Error", "Entity", "{", "Context"].iter().any(|part| told.contains(part));
            assert!(!is_debug, "{told}");
        }
        // To trust its issuer does not mend what has expired.
        assert!(!words(&Error::InvalidCertificate(CertificateError::Expired)).contains("--ca"));
    }

    #[test]
    fn a_certificate_without_names_is_not_for_another_name() {
        let told = |asked: &'static str, presented: &[&str]| {
            let expected = ServerName::try_from(asked).unwrap();
            let presented = presented.iter().map(|name| (*name).to_owned()).collect();
            words(&Error::InvalidCertificate(CertificateError::NotValidForNameContext { expected, presented }))
        };
        // None at all, and none of a host: a mail address, a URI.
        for presented in [&[][..], &["Unsupported(0x01)", "UniformResourceIdentifier(\"https://localhost/\")"]] {
            let none = told("localhost", presented);
            assert!(none.contains("has no subjectAltName that names a host") && !none.contains("another"), "{none}");
            assert!(none.contains("-addext subjectAltName=DNS:localhost") && none.contains("`--insecure`"), "{none}");
        }
        assert!(told("127.0.0.1", &[]).contains("-addext subjectAltName=IP:127.0.0.1`"));
        let [one, many] = [
            &["Unsupported(0x01)", "DnsName(\"www.example.org\")"][..],
            &["IpAddress(10.0.0.1)", "DnsName(\"a\")", "DnsName(\"b\u{1b}[2J\")", "DnsName(\"c\")", "DnsName(\"d\")"],
        ]
        .map(|presented| told("localhost", presented));
        assert!(one.contains("is for another name (www.example.org), not for localhost; ask for a name"), "{one}");
        assert!(many.contains("(10.0.0.1, a, c and 1 more), not for localhost") && !many.contains('\u{1b}'), "{many}");
    }

    #[test]
    fn what_else_ends_a_handshake_is_told_in_words() {
        let told = words(&Error::AlertReceived(AlertDescription::HandshakeFailure));
        assert_eq!(told, "it ends the handshake: handshake failure");
    }
}
