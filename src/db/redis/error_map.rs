//! What an error of the driver or the server means to the operator.

use redis::{ErrorKind, RedisError};

use crate::db::net::tls_errors;
use crate::domain::source_error::SourceError;

/// Names what went wrong while a connection was being made: there a fault of TLS is no matter of waiting.
pub(super) fn connecting(error: RedisError) -> SourceError {
    let text = error.to_string();
    if error.is_io_error()
        && error.code().is_none()
        && let Some(reason) = tls_errors::fault(&text)
    {
        return SourceError::Unproven(reason);
    }
    source_error(error)
}

/// Names what went wrong with a command.
pub(super) fn source_error(error: RedisError) -> SourceError {
    let detail = || error.detail().map(str::to_owned).unwrap_or_else(|| error.category().to_owned());
    let Some(code) = error.code() else {
        return match error.kind() {
            ErrorKind::AuthenticationFailed => SourceError::ShutOut {
                message: "the server refuses the login".to_owned(),
                code: "WRONGPASS".to_owned(),
            },
            _ if error.is_timeout() => SourceError::Unreachable("no answer came in time".to_owned()),
            ErrorKind::InvalidClientConfig => {
                SourceError::Input(format!("the connection settings do not work: {}", detail()))
            }
            ErrorKind::Io => SourceError::Unreachable(io(&error)),
            ErrorKind::Parse | ErrorKind::UnexpectedReturnType => {
                SourceError::Unreachable("what it answers is not understood: is it a Redis server?".to_owned())
            }
            _ => SourceError::Unreachable("the connection was lost".to_owned()),
        };
    };
    by_code(code, detail())
}

pub(super) fn by_code(code: &str, detail: String) -> SourceError {
    let code = code.to_owned();
    match code.as_str() {
        "NOAUTH" => SourceError::ShutOut { message: "the server asks for a password".to_owned(), code },
        "WRONGPASS" => SourceError::ShutOut { message: "the server refuses user or password".to_owned(), code },
        "NOPERM" => SourceError::Denied(format!("{detail} (NOPERM)")),
        "READONLY" => SourceError::Denied("the server is a replica and takes no writes (READONLY)".to_owned()),
        "OOM" => SourceError::Full("the server uses more memory than its maxmemory allows (OOM)".to_owned()),
        "LOADING" => SourceError::Unreachable("the server is still loading its data (LOADING)".to_owned()),
        "BUSY" => SourceError::Locked("another client's script keeps the server busy (BUSY)".to_owned()),
        "MASTERDOWN" | "CLUSTERDOWN" | "TRYAGAIN" | "NOREPLICAS" | "UNBLOCKED" => {
            SourceError::Unreachable(format!("{detail} ({code})"))
        }
        "MISCONF" => {
            let message = "the server takes no writes, because it cannot save its data to disk".to_owned();
            SourceError::Unfit { message, code }
        }
        "WRONGTYPE" => {
            SourceError::Unfit { message: "a key is of another type than the adapter says".to_owned(), code }
        }
        "MOVED" | "ASK" | "CROSSSLOT" => {
            let message = "the server is part of a Redis Cluster, which is not supported yet".to_owned();
            SourceError::Unfit { message, code }
        }
        _ => SourceError::Refused { message: detail, code: Some(code) },
    }
}

fn io(error: &RedisError) -> String {
    let text = error.to_string();
    let has = |words: &str| text.contains(words);
    if error.is_connection_refusal() || has("Connection refused") {
        "connection refused (is the server running there?)".to_owned()
    } else if has("No such file") {
        "there is no such socket (is the server running on this machine?)".to_owned()
    } else if has("Permission denied") {
        "no permission to use this socket".to_owned()
    } else if has("failed to lookup address") || has("No address") {
        "there is no host of this name (it does not resolve)".to_owned()
    } else if error.is_connection_dropped() || has("broken pipe") || has("reset") {
        "the server closed the connection".to_owned()
    } else {
        // The system's words without its number.
        text.split(" (os error ").next().unwrap_or_default().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_by_itself_is_tried_again_and_what_does_not_is_not() {
        let of = |code: &str| by_code(code, "text".to_owned());
        for code in ["LOADING", "BUSY", "MASTERDOWN", "TRYAGAIN"] {
            assert!(of(code).retryable(), "{code}");
        }
        for code in ["OOM", "NOPERM", "READONLY", "WRONGTYPE", "MISCONF", "ERR"] {
            assert!(!of(code).retryable(), "{code}");
        }
        assert!(of("OOM").remedy().is_some() && of("NOPERM").to_string().ends_with("text (NOPERM)"));
    }
}
