//! What a fault of TLS means to the operator. The drivers pass on the words of the TLS library, which name its own types.

/// How that library begins what it says of a server's certificate.
const CERTIFICATE: &str = "invalid peer certificate: ";

/// How it begins what the other side says of us.
const ALERT: &str = "received fatal alert: ";

/// The server takes nobody encrypted.
pub(crate) const NO_TLS: &str = "the server offers no TLS, which sslmode demands";
/// What answers to the beginning of TLS is something else.
pub(crate) const NOT_TLS: &str = "what answers there speaks no TLS";
/// How the library begins what it says of bytes that are no TLS.
const CORRUPT: [&str; 2] = ["received corrupt message", "received unexpected message"];

/// What a connection's fault says of TLS; `None` where it is of another kind.
pub(crate) fn fault(text: &str) -> Option<String> {
    let is_tls = [CERTIFICATE, ALERT].into_iter().chain(CORRUPT).any(|begin| text.starts_with(begin));
    is_tls.then(|| sentence(text))
}

/// A fault of TLS with what can be done about it.
pub(crate) fn sentence(text: &str) -> String {
    if let Some(reason) = text.strip_prefix(CERTIFICATE) {
        return certificate(reason);
    }
    if let Some(alert) = text.strip_prefix(ALERT) {
        return match alert.contains("nknownCA") || alert.contains("ertificate") {
            true => format!("the server does not accept the client certificate that sslcert names ({})", words(alert)),
            false => format!("the server broke off the beginning of TLS ({})", words(alert)),
        };
    }
    if text.contains("does not support TLS") {
        return NO_TLS.into();
    }
    if text.ends_with("KeyMismatch") {
        return "the key that sslkey names does not belong to the certificate that sslcert names".into();
    }
    if CORRUPT.into_iter().any(|begin| text.starts_with(begin)) {
        return NOT_TLS.into();
    }
    if let Some(reason) = text.strip_prefix("peer is incompatible: ") {
        return format!("the server and this program have no version or cipher of TLS in common ({})", words(reason));
    }
    format!("the beginning of TLS failed ({})", words(text))
}

/// A name as the library's types have it, such as `HandshakeFailure`, in words; other text stays.
fn words(text: &str) -> String {
    let is_name = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric());
    if !is_name {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut last_is_upper = true;
    for c in text.chars() {
        if c.is_ascii_uppercase() && !last_is_upper {
            out.push(' ');
        }
        last_is_upper = c.is_ascii_uppercase();
        out.push(c.to_ascii_lowercase());
    }
    out
}

fn certificate(reason: &str) -> String {
    if reason == "UnknownIssuer" {
        return "the server's certificate is of an authority that is not trusted here; sslrootcert=FILE names another"
            .into();
    }
    if let Some((_, rest)) = reason.split_once("not valid for name ") {
        let (name, rest) = rest.split_once("; certificate is ").unwrap_or((rest, ""));
        let names = rest.strip_prefix("only valid for ").map_or_else(|| "no name at all".to_owned(), plain);
        let name = name.trim_matches('"');
        return format!(
            "the server's certificate is not for {name}, but for {names}; connect by that name, or have sslmode=verify-ca \
             look at the authority alone"
        );
    }
    if reason.contains("CaUsedAsEndEntity") {
        return "the server shows the certificate of an authority (CA:TRUE) as its own, which proves nothing; have one issued \
                for the server, or encrypt without a check by sslmode=require"
            .into();
    }
    // Such as `Other(OtherError(UnsupportedCertVersion))`.
    let reason = reason.trim_start_matches("Other(").trim_start_matches("OtherError(").trim_end_matches(')');
    let reason = reason.strip_prefix("certificate ").unwrap_or(reason);
    format!("the server's certificate is not valid: {}", words(reason))
}

/// A list of names without the types that the library writes around them.
fn plain(names: &str) -> String {
    names.replace("DnsName(\"", "").replace("\")", "").replace("IpAddress(", "").replace(')', "")
}

/// What a PostgreSQL says when it lets nobody in, with the setting that it asks for.
pub(crate) fn with_remedy(message: String) -> String {
    // PostgreSQL 13 says the latter.
    if message.contains("pg_hba.conf") && (message.ends_with("no encryption") || message.ends_with("SSL off")) {
        return format!("{message}; sslmode=require encrypts");
    }
    if message.contains("requires a valid client certificate") {
        return format!("{message}; sslcert=FILE and sslkey=FILE name one");
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_librarys_own_types_is_left_of_a_name() {
        let said = "invalid peer certificate: certificate not valid for name \"db2\"; certificate is only valid for \
                    DnsName(\"db1\") or IpAddress(10.0.0.7)";
        let said = fault(said).unwrap();
        assert!(said.starts_with("the server's certificate is not for db2, but for db1 or 10.0.0.7; "), "{said}");
        let said = sentence(
            "invalid peer certificate: certificate not valid for name \"db2\"; certificate is not valid for any names",
        );
        assert!(said.contains("but for no name at all"), "{said}");
        let said = sentence("invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))");
        assert!(said.contains("CA:TRUE") && !said.contains("OtherError"), "{said}");
        assert_eq!(fault("connection reset"), None);
    }

    #[test]
    fn a_server_that_wants_encryption_is_answered_with_the_setting_whatever_its_version() {
        for (version, end) in [(13, "SSL off"), (14, "no encryption")] {
            let said = format!("no pg_hba.conf entry for host \"::1\", user \"ops\", database \"shop\", {end}");
            assert_eq!(with_remedy(said.clone()), format!("{said}; sslmode=require encrypts"), "PostgreSQL {version}");
        }
        let encrypted = "no pg_hba.conf entry for host \"::1\", user \"ops\", database \"shop\", SSL encryption";
        assert_eq!(with_remedy(encrypted.into()), encrypted);
    }

    #[test]
    fn a_login_that_fails_for_another_reason_keeps_its_words() {
        let said = "password authentication failed for user \"ops\"";
        assert_eq!(with_remedy(said.into()), said);
    }
}
