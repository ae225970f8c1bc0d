//! What a driver's error means to the operator.
//!
//! Only a server's message and code are shown: the drivers' `Display` adds positions in the server's own source.

use std::time::Duration;

use sqlx::error::DatabaseError;
use sqlx::mysql::MySqlDatabaseError;
use sqlx::postgres::PgDatabaseError;

use crate::db::net::tls_errors;
use crate::db::pool::NO_ANSWER;
use crate::domain::source_error::SourceError;

/// A server's deadline, whose length only the caller of the driver knows.
const SERVER_DEADLINE: SourceError = SourceError::Timeout(Duration::ZERO);

/// Where PostgreSQL checks whether a new row is allowed: a row-level security policy.
const ROW_CHECK: &str = "ExecWithCheckOptions";

/// What answers sends what no such database does.
const NOT_UNDERSTOOD: &str = "what it answers is not understood";
/// The other side is gone.
const HUNG_UP: &str = "the server closed the connection";
/// A column has another type than the adapter says.
const UNREADABLE: &str = "a value is not of the kind that its statement says: cast it to text or to a whole number";

/// What SQLite says of a statement that names what is not there.
const MISSING: [&str; 4] = ["no such table", "no such column", "has no column named", "no such function"];

/// Names what went wrong while a connection was being made: there a fault of TLS is no matter of waiting.
pub(crate) fn connecting(error: sqlx::Error) -> SourceError {
    let reason = match &error {
        sqlx::Error::Io(error) => tls_errors::fault(&error.to_string()),
        sqlx::Error::Tls(error) => Some(tls_errors::sentence(&error.to_string())),
        _ => None,
    };
    reason.map_or_else(|| store_error(error), SourceError::Unproven)
}

/// Whether a failure to connect leaves open what it is that answers.
pub(crate) fn is_puzzling(error: &SourceError) -> bool {
    match error {
        SourceError::Unreachable(why) => {
            [NOT_UNDERSTOOD, HUNG_UP].contains(&why.as_str()) || why.starts_with(NO_ANSWER)
        }
        SourceError::Unproven(why) => why == tls_errors::NO_TLS || why == tls_errors::NOT_TLS,
        _ => false,
    }
}

/// Names what went wrong in a connection.
pub(crate) fn store_error(error: sqlx::Error) -> SourceError {
    match error {
        sqlx::Error::Database(error) => database(&*error),
        sqlx::Error::Io(error) => SourceError::Unreachable(io(&error)),
        sqlx::Error::Tls(error) => SourceError::Unreachable(tls_errors::sentence(&error.to_string())),
        sqlx::Error::Protocol(text) => protocol(&text),
        sqlx::Error::Configuration(error) if error.to_string().starts_with("RSA auth backend disabled") => {
            SourceError::Input(
                "the password of this MySQL user can only be sent over TLS or a Unix socket: \
                 add ?sslmode=require or ?socket=/path to the URL"
                    .into(),
            )
        }
        sqlx::Error::Configuration(error) => {
            SourceError::Input(format!("the connection settings do not work: {error}"))
        }
        sqlx::Error::Encode(_) => SourceError::Layout("a value cannot be sent as what its statement says".into()),
        sqlx::Error::Decode(_) => SourceError::Layout(UNREADABLE.into()),
        sqlx::Error::ColumnDecode { index, .. } => SourceError::Layout(format!("column {index}: {UNREADABLE}")),
        sqlx::Error::TypeNotFound { type_name } => SourceError::Layout(format!("no type named {type_name}")),
        // Whatever else a driver says concerns the connection itself, which is of no use afterwards.
        _ => SourceError::Unreachable("the connection was lost".into()),
    }
}

/// What a driver could not make sense of. Its words name its own source and the protocol's bytes; what an operator can do
/// something about is a way to log in that it does not know.
fn protocol(text: &str) -> SourceError {
    let plugin = text.split_once("unknown authentication plugin: ").map(|(_, rest)| rest);
    let plugin = plugin.map(|rest| rest.split_whitespace().next().unwrap_or_default());
    let method = match plugin {
        Some(plugin) => format!("the server asks for the authentication plugin {plugin}"),
        None if text.contains("mysql_cleartext_plugin disabled") => {
            "the server asks for the password unencrypted (the plugin mysql_clear_password)".to_owned()
        }
        None if text.contains("unknown authentication method: 7")
            || text.contains("unknown authentication method: 9") =>
        {
            "the server asks for Kerberos (GSSAPI or SSPI)".to_owned()
        }
        None if text.contains("authentication method") || text.contains("SASL authentication mechanisms") => {
            "the server asks for a way to log in".to_owned()
        }
        // The driver takes the end of what is read for an answer.
        None if text.contains("SSLRequest: 0x00") => return SourceError::Unreachable(HUNG_UP.into()),
        None => return SourceError::Unreachable(NOT_UNDERSTOOD.into()),
    };
    SourceError::Input(format!("{method}, which is not supported here: use a user that logs in with a password"))
}

fn io(error: &std::io::Error) -> String {
    let text = error.to_string();
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe => {
            HUNG_UP.into()
        }
        std::io::ErrorKind::ConnectionRefused => "connection refused (is the server running there?)".into(),
        std::io::ErrorKind::NotFound => "there is no such socket (is the server running on this machine?)".into(),
        std::io::ErrorKind::PermissionDenied => "no permission to use this socket".into(),
        std::io::ErrorKind::InvalidData => NOT_UNDERSTOOD.into(),
        _ if text.contains("failed to lookup address") => "there is no host of this name (it does not resolve)".into(),
        // The system's words without its number.
        _ => text.split(" (os error ").next().unwrap_or_default().to_owned(),
    }
}

fn database(error: &dyn DatabaseError) -> SourceError {
    let code = error.code().map(|code| code.into_owned());
    let message = error.message().to_owned();
    if let Some(error) = error.try_downcast_ref::<PgDatabaseError>() {
        // The server's own name for where it happened: its words may be in any language.
        postgres(message, code, error.routine() == Some(ROW_CHECK))
    } else if let Some(error) = error.try_downcast_ref::<MySqlDatabaseError>() {
        mysql(message, error.number())
    } else {
        sqlite(message, code)
    }
}

fn postgres(message: String, code: Option<String>, is_of_row: bool) -> SourceError {
    let class = code.as_deref().unwrap_or_default();
    match class {
        // A policy that does not let this row be as it would be: others may.
        "42501" if is_of_row => SourceError::Refused { message, code },
        // A schema, table, column or function that is not there, or is of another type.
        "3F000" | "42P01" | "42703" | "42804" | "42883" => SourceError::Unfit { message, code: class.to_owned() },
        "57014" => SERVER_DEADLINE,
        "55P03" | "40001" | "40P01" => SourceError::Locked(message),
        "42501" | "25006" => SourceError::Denied(message),
        // The driver looks up a type that it does not know with a statement of its own, which replaces ours.
        "26000" => SourceError::Layout(
            "a column or value has a type of the database's own (an enum?): the statement must cast it to text".into(),
        ),
        // Wrong password, unknown role or database: waiting does not help, so it is not `Unreachable`.
        "28000" | "28P01" | "3D000" => SourceError::Refused { message: tls_errors::with_remedy(message), code },
        // Shut down, starting up, the database dropped (which the next login says), too many connections, too long or
        // too long idle in a transaction: the session is gone. In a transaction that has failed: it is of no more use.
        "57P01" | "57P02" | "57P03" | "57P04" | "57P05" | "53300" | "25P02" | "25P03" | "25P04" => {
            SourceError::Unreachable(message)
        }
        // No space on the disk, no memory, a limit of the configuration; the file system refuses.
        "53000" | "53100" | "53200" | "53400" | "58030" => SourceError::Full(message),
        _ if class.starts_with("08") => SourceError::Unreachable(message),
        _ => SourceError::Refused { message, code },
    }
}

fn mysql(message: String, number: u16) -> SourceError {
    match number {
        // Interrupted; out of max_statement_time (MariaDB) or max_execution_time (MySQL).
        1317 | 1969 | 3024 => SERVER_DEADLINE,
        // Lock wait, deadlock, NOWAIT.
        1205 | 1213 | 3572 => SourceError::Locked(message),
        // No right to the database, the command, the column; read-only server or transaction.
        1044 | 1142 | 1143 | 1227 | 1370 | 1792 | 1836 => SourceError::Denied(message),
        // Some option of the server stands in the way: this one closes it for writing.
        1290 if message.contains("read-only") || message.contains("read_only") => SourceError::Denied(message),
        // The disk, the table or its space is full; a storage engine says so with the system's own number.
        1021 | 1026 | 1114 => SourceError::Full(message),
        1030 if message.contains("28") => SourceError::Full(message),
        // Too many connections (of all, of a user, of what a user is allowed), a node that is not part of its cluster, shutting
        // down, killed, idle for too long.
        1040 | 1047 | 1053 | 1203 | 1226 | 1927 | 3168 | 4031 => SourceError::Unreachable(message),
        // A table or a column that is not there, no database that is in use; a table that is damaged.
        1046 | 1054 | 1146 | 1194 | 1195 => SourceError::Unfit { message, code: number.to_string() },
        _ => SourceError::Refused { message, code: Some(number.to_string()) },
    }
}

fn sqlite(message: String, code: Option<String>) -> SourceError {
    // The low byte is the primary result code, the rest tells its kind.
    let extended = code.as_deref().and_then(|code| code.parse::<u32>().ok());
    match extended.map(|code| code & 0xff) {
        // Moved away while it was open; another one may be in its place.
        _ if extended == Some(1032) => SourceError::Unreachable(message),
        Some(5 | 6) => SourceError::Locked(message),
        Some(9) => SERVER_DEADLINE,
        Some(3 | 8) => SourceError::Denied(message),
        // Out of memory, of disk, of the file's trust: such errors end the transaction by themselves.
        Some(7 | 10 | 13 | 14) => SourceError::Unreachable(message),
        // Damaged, or no database at all.
        Some(primary @ (11 | 26)) => SourceError::Unfit { message, code: primary.to_string() },
        // Whatever is wrong with a statement has this one code.
        Some(1) if MISSING.into_iter().any(|what| message.contains(what)) => {
            SourceError::Unfit { message, code: "1".into() }
        }
        _ => SourceError::Refused { message, code },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(error: &SourceError) -> &'static str {
        match error {
            SourceError::Unreachable(_) => "unreachable",
            SourceError::Timeout(_) => "timeout",
            SourceError::Locked(_) => "locked",
            SourceError::Denied(_) => "denied",
            SourceError::Full(_) => "full",
            SourceError::Refused { .. } => "refused",
            SourceError::Unfit { .. } => "unfit",
            SourceError::Layout(_) => "layout",
            _ => "other",
        }
    }

    #[test]
    fn codes_say_whether_to_wait_to_ask_somebody_or_to_give_up() {
        for (code, wanted) in [
            ("57014", "timeout"),
            ("55P03", "locked"),
            ("40001", "locked"),
            ("40P01", "locked"),
            ("42501", "denied"),
            ("25006", "denied"),
            ("53100", "full"),
            ("28P01", "refused"),
            ("57P03", "unreachable"),
            ("57P04", "unreachable"),
            ("25P04", "unreachable"),
            ("53300", "unreachable"),
            ("08006", "unreachable"),
            ("26000", "layout"),
            ("23505", "refused"),
            ("42P01", "unfit"),
            ("42703", "unfit"),
            ("42883", "unfit"),
        ] {
            assert_eq!(kind(&postgres("m".into(), Some(code.into()), false)), wanted, "{code}");
        }
        assert_eq!(kind(&postgres("m".into(), Some("42501".into()), true)), "refused");
        for (number, wanted) in [
            (1317, "timeout"),
            (1969, "timeout"),
            (3024, "timeout"),
            (1205, "locked"),
            (1213, "locked"),
            (1142, "denied"),
            (1792, "denied"),
            (1114, "full"),
            (1045, "refused"),
            (1062, "refused"),
            (1053, "unreachable"),
            (1047, "unreachable"),
            (1226, "unreachable"),
            (4031, "unreachable"),
            (1054, "unfit"),
            (1146, "unfit"),
            (1049, "refused"),
        ] {
            assert_eq!(kind(&mysql("m".into(), number)), wanted, "{number}");
        }
        for (option, wanted) in [("--read-only", "denied"), ("--max-session-mem-used", "refused")] {
            let message = format!("The MariaDB server is running with the {option} option");
            assert_eq!(kind(&mysql(message, 1290)), wanted, "{option}");
        }
        // 517 is one of the kinds of 5, "busy"; 2067 one of 19, "constraint".
        for (code, wanted) in [
            ("5", "locked"),
            ("517", "locked"),
            ("9", "timeout"),
            ("8", "denied"),
            ("13", "unreachable"),
            ("1032", "unreachable"),
            ("2067", "refused"),
            ("1", "refused"),
            ("11", "unfit"),
            ("26", "unfit"),
        ] {
            assert_eq!(kind(&sqlite("m".into(), Some(code.into()))), wanted, "{code}");
        }
        for (message, wanted) in [("no such table: main.jobs", "unfit"), ("JSON path error near 'x'", "refused")] {
            assert_eq!(kind(&sqlite(message.into(), Some("1".into()))), wanted, "{message}");
        }
    }
}
