//! Encrypted connections to a MariaDB or MySQL: the shipped binary against a server that has TLS.

use crate::tls::{Case, Guarded, transport};

/// Whether it is a MySQL, whose users send no password unencrypted.
async fn is_mysql(server: &Guarded) -> bool {
    !server.db.scalar("select version()").await.contains("MariaDB")
}

fn cases(server: &Guarded, is_mysql: bool) -> Vec<Case> {
    let ca = format!("sslrootcert={}", server.file("ca.crt"));
    let other = format!("sslrootcert={}", server.file("other.crt"));
    let missing = server.file("nothing.crt");
    let client = format!("sslcert={}&sslkey={}", server.file("client.crt"), server.file("client.key"));
    let mut cases = Vec::new();
    let mut case = |what, (role, host, settings): (&str, &str, String), code, says: &[&str]| {
        let says = says.iter().map(|&s| s.to_owned()).collect();
        cases.push(Case { what, url: server.url(role, host, &settings), code, says });
    };
    let (near, wrong) = ("localhost", "127.0.0.2");
    let (code, says): (_, &[_]) = if is_mysql { (2, &["over TLS", "?sslmode=require"]) } else { (0, &[]) };
    case("never encrypted", ("ops", near, "sslmode=disable".into()), code, says);
    case("by default", ("private", near, String::new()), 0, &[]);
    case("where possible", ("private", near, "ssl-mode=PREFERRED".into()), 0, &[]);
    case("always", ("private", near, "ssl-mode=REQUIRED".into()), 0, &[]);
    let unencrypted = ["Access denied", "sslmode=require"];
    case("demanded of this user", ("private", near, "sslmode=disable".into()), 1, &unencrypted);
    case("by the authority", ("ops", near, format!("ssl-mode=VERIFY_CA&{ca}")), 0, &[]);
    let by_mysqls_name = format!("ssl-mode=VERIFY_CA&ssl-ca={}", server.file("ca.crt"));
    case("by the authority, under MySQL's name", ("ops", near, by_mysqls_name), 0, &[]);
    case("by the authority, whatever the name", ("ops", wrong, format!("sslmode=verify-ca&{ca}")), 0, &[]);
    let unknown = ["certificate", "sslrootcert"];
    case("by another authority", ("ops", near, format!("sslmode=verify-ca&{other}")), 1, &unknown);
    case("by the machine's authorities", ("ops", near, "sslmode=verify-full".into()), 1, &unknown);
    case("an authority given is one to ask", ("ops", near, format!("sslmode=require&{other}")), 1, &unknown);
    case("name and authority", ("ops", near, format!("ssl-mode=VERIFY_IDENTITY&{ca}")), 0, &[]);
    case("an address and authority", ("ops", "127.0.0.1", format!("sslmode=verify-full&{ca}")), 0, &[]);
    case("name and another authority", ("ops", near, format!("sslmode=verify-full&{other}")), 1, &unknown);
    let misnamed = ["certificate", "127.0.0.2", "localhost", "verify-ca"];
    case("another name", ("ops", wrong, format!("sslmode=verify-full&{ca}")), 1, &misnamed);
    case(
        "no such file",
        ("ops", near, format!("sslmode=verify-ca&sslrootcert={missing}")),
        2,
        &["sslrootcert", &missing, "No such file"],
    );
    case("the machine's authorities by name", ("ops", near, "sslrootcert=system".into()), 1, &unknown);
    case("a client's certificate", ("keyholder", near, format!("sslmode=verify-full&{ca}&{client}")), 0, &[]);
    case("a client's certificate, unchecked", ("keyholder", near, format!("sslmode=require&{client}")), 0, &[]);
    case("none", ("keyholder", near, format!("sslmode=verify-full&{ca}")), 1, &["Access denied", "sslcert"]);
    let half = format!("sslmode=require&sslcert={}", server.file("client.crt"));
    case("without its key", ("keyholder", near, half), 2, &["sslcert", "sslkey"]);
    let foreign = format!("sslmode=require&sslcert={}&sslkey={}", server.file("client.crt"), server.file("other.key"));
    case("with the key of another", ("keyholder", near, foreign), 1, &["sslcert", "sslkey"]);
    let forged = format!("sslmode=require&sslcert={}&sslkey={}", server.file("other.crt"), server.file("other.key"));
    case("of an authority that the server does not know", ("keyholder", near, forged), 1, &["not accept", "sslcert"]);
    case("somebody else's certificate", ("ops", near, format!("sslmode=require&{client}")), 0, &[]);
    cases
}

#[tokio::test]
async fn every_way_to_ask_for_encryption_works_or_is_refused_with_what_to_do() {
    let Some(server) = Guarded::mariadb().await else { return };
    server.assert_ends(cases(&server, is_mysql(&server).await));
}

#[tokio::test]
async fn the_doctor_tells_how_the_connection_is_protected() {
    let Some(server) = Guarded::mariadb().await else { return };
    let ca = format!("sslrootcert={}", server.file("ca.crt"));
    for (settings, says) in [
        ("sslmode=disable".into(), "not encrypted"),
        (String::new(), "encrypted (TLSv1.3): the server's certificate is not verified"),
        ("sslmode=require".into(), "encrypted (TLSv1.3): the server's certificate is not verified"),
        (
            format!("sslmode=verify-ca&{ca}"),
            "encrypted (TLSv1.3): the server's certificate is checked, the name in it is not",
        ),
        (format!("sslmode=verify-full&{ca}"), "encrypted (TLSv1.3): the server's certificate and its name are checked"),
    ] {
        if settings == "sslmode=disable" && is_mysql(&server).await {
            continue;
        }
        assert_eq!(transport(&server.run(&["doctor"], &server.url("ops", "localhost", &settings))), says);
    }
}

#[tokio::test]
async fn a_server_that_takes_nobody_unencrypted_is_told_what_encrypts() {
    let Some(server) = Guarded::mariadb().await else { return };
    server.db.execute("set global require_secure_transport = on").await;
    let ended = server.run(&["stats"], &server.url("ops", "localhost", "sslmode=disable"));
    let (code, says) = if is_mysql(&server).await { (2, "?sslmode=require") } else { (1, "sslmode=require encrypts") };
    assert!(ended.with(code).contains(says), "{}", ended.err);
    server.run(&["stats"], &server.url("ops", "localhost", "")).with(0);
}
