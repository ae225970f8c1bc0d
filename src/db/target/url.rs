//! Just enough of a URL: `scheme://user:password@host:port/path?key=value&…`.
//!
//! A reader of our own, because its errors must be sentences that never repeat the password.

use crate::domain::secret::SecretString;

/// The parts of a connection URL, decoded.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub user: Option<String>,
    pub password: Option<SecretString>,
    /// Empty where none is named.
    pub hosts: Vec<String>,
    /// As many as there are hosts; none where none is named.
    pub ports: Vec<Option<u16>>,
    pub path: Option<String>,
    pub params: Vec<(String, String)>,
}

/// Reads what follows `scheme://`.
///
/// # Errors
/// A sentence for the operator that quotes nothing of the text.
pub(super) fn parse(rest: &str) -> Result<Parts, String> {
    // The last @ of everything before the query ends the password, so that an unescaped / or @ in one still works.
    let (before_query, query) = rest.split_once('?').map_or((rest, None), |(a, b)| (a, Some(b)));
    let (login, place) = match before_query.rsplit_once('@') {
        Some((login, place)) => (Some(login), place),
        None => (None, before_query),
    };
    let (authority, path) = place.split_once('/').map_or((place, None), |(a, p)| (a, Some(p)));
    let mut parts = Parts { params: params(query.unwrap_or_default())?, ..Parts::default() };
    if let Some(login) = login {
        let (user, password) = login.split_once(':').map_or((login, None), |(u, p)| (u, Some(p)));
        parts.user = filled(decode(user)?);
        parts.password = password.map(decode).transpose()?.and_then(filled).map(SecretString::from);
    }
    for server in authority.split(',') {
        let (host, port) = host_and_port(server)?;
        parts.hosts.extend(filled(decode(host)?));
        parts.ports.push(port.map(port_number).transpose()?);
    }
    let servers = parts.ports.len();
    if servers > 1 && parts.hosts.len() != servers {
        return Err("the URL names several servers, and one of them without a host".into());
    }
    if parts.ports.iter().all(Option::is_none) {
        parts.ports.clear();
    }
    parts.path = path.map(decode).transpose()?.and_then(filled);
    Ok(parts)
}

fn host_and_port(authority: &str) -> Result<(&str, Option<&str>), String> {
    let (host, port) = match authority.strip_prefix('[') {
        // An IPv6 address stands in brackets because it holds colons itself.
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or("the URL's IPv6 address has no closing bracket")?;
            (host, after.strip_prefix(':'))
        }
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    Ok((host, port.filter(|port| !port.is_empty())))
}

/// A port.
pub(super) fn port_number(text: &str) -> Result<u16, String> {
    text.parse().ok().filter(|port| *port != 0).ok_or_else(|| {
        // The text is not repeated: with a @ missing it may be the password.
        "the port is not a number from 1 to 65535 (is the @ before the host missing?)".into()
    })
}

fn params(query: &str) -> Result<Vec<(String, String)>, String> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(key)?, decode(value)?))
        })
        .collect()
}

fn filled(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// Undoes percent encoding.
pub(super) fn decode(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = (rest.next().and_then(hex), rest.next().and_then(hex));
        let (Some(high), Some(low)) = digits else {
            return Err("a % in the URL is not followed by two hexadecimal digits (a plain % is written %25)".into());
        };
        bytes.push(high << 4 | low);
    }
    String::from_utf8(bytes).map_err(|_| "a percent-encoded part of the URL is not UTF-8".into())
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Percent-encodes everything but the characters that mean nothing in a URL.
pub(super) fn encode(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::secret::ExposeSecret;

    #[test]
    fn the_parts_are_decoded() {
        let parts = parse("sh%40p:p%25w@db1:5433/my%20db?sslmode=verify-full&application_name=a%26b").unwrap();
        assert_eq!(parts.user.as_deref(), Some("sh@p"));
        assert_eq!(parts.password.unwrap().expose_secret(), "p%w");
        assert_eq!((parts.hosts, parts.ports), (vec!["db1".to_owned()], vec![Some(5433)]));
        assert_eq!(parts.path.as_deref(), Some("my db"));
        assert_eq!(parts.params[1], ("application_name".into(), "a&b".into()));
    }

    #[test]
    fn a_password_with_an_unescaped_at_sign_or_slash_is_still_read() {
        let parts = parse("shop:a@b/c@db1/shop").unwrap();
        assert_eq!(parts.password.unwrap().expose_secret(), "a@b/c");
        assert_eq!(parts.hosts, ["db1"]);
    }

    #[test]
    fn every_part_may_be_missing() {
        let parts = parse("").unwrap();
        assert!(parts.user.is_none() && parts.hosts.is_empty() && parts.ports.is_empty() && parts.path.is_none());
        assert_eq!(parse("[::1]:5/x").unwrap().hosts, ["::1"]);
        assert_eq!(parse("/shop").unwrap().path.as_deref(), Some("shop"));
    }

    #[test]
    fn several_servers_have_a_port_each_or_none() {
        let read = |text| parse(text).map(|parts| (parts.hosts, parts.ports));
        let both = || vec!["db1".to_owned(), "::1".to_owned()];
        assert_eq!(read("db1,[::1]/x"), Ok((both(), Vec::new())));
        assert_eq!(read("db1:6000,[::1]/x"), Ok((both(), vec![Some(6000), None])));
        assert!(read("db1,/x").unwrap_err().contains("without a host"));
    }

    #[test]
    fn errors_are_sentences_that_repeat_nothing() {
        for text in ["shop:hunter2", "h:99999/x", "a:b%zz@h/x", "h1,:0/x", "[::1/x", "u:hunter2%@h"] {
            let error = parse(text).unwrap_err();
            assert!(!error.contains("hunter2") && !error.contains("zz"), "{error}");
        }
    }

    #[test]
    fn what_is_encoded_is_decoded_to_itself() {
        for text in ["/var/run/postgresql", "a b&c=d%?#é", ""] {
            assert_eq!(decode(&encode(text)).unwrap(), text);
        }
    }
}
