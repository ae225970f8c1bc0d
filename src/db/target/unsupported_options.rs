//! What libpq can be told to demand of a connection and we cannot keep: it is refused, as a demand that is passed over would
//! leave a connection less protected than somebody thinks.

/// Whether a setting, under libpq's name, is one of them, and demands nothing beyond what always holds here.
///
/// # Errors
/// When it demands more; the sentence names it.
pub(super) fn holds(key: &str, value: &str) -> Result<bool, String> {
    let value = value.trim();
    let asks = match key {
        "channel_binding" | "gssencmode" => value == "require",
        // Older versions than 1.2 are never spoken.
        "ssl_min_protocol_version" => !["", "TLSv1", "TLSv1.1", "TLSv1.2"].contains(&value),
        "ssl_max_protocol_version" => !["", "TLSv1.3"].contains(&value),
        "require_auth" | "requirepeer" | "sslcrl" | "sslcrldir" => !value.is_empty(),
        _ => return Ok(false),
    };
    match asks {
        true => {
            Err(format!("{key}={value} cannot be kept here, so nothing is connected to; leave it out to go without"))
        }
        false => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_kept_is_refused_and_what_holds_anyway_is_not() {
        for (key, value) in [
            ("channel_binding", "prefer"),
            ("gssencmode", "disable"),
            ("ssl_min_protocol_version", "TLSv1.2"),
            ("ssl_max_protocol_version", "TLSv1.3"),
            ("require_auth", ""),
        ] {
            assert_eq!(holds(key, value), Ok(true), "{key}");
        }
        for (key, value) in [
            ("channel_binding", "require"),
            ("gssencmode", "require"),
            ("ssl_min_protocol_version", "TLSv1.3"),
            ("ssl_max_protocol_version", "TLSv1.2"),
            ("require_auth", "scram-sha-256"),
            ("requirepeer", "postgres"),
            ("sslcrl", "/etc/crl.pem"),
        ] {
            assert!(holds(key, value).is_err_and(|told| told.starts_with(&format!("{key}={value} cannot"))), "{key}");
        }
        assert_eq!(holds("keepalives", "1"), Ok(false));
    }
}
