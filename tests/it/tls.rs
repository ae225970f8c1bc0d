//! Encrypted connections: the shipped binary against a server that insists on them.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::cli::{Ended, User};
use crate::fixtures::Layout;
use crate::harness::{self, Engine, TestDb};
use crate::pty::Pty;

/// Of the role `ops`. Whatever prints it has leaked a secret.
pub const SECRET: &str = "tr0ub4dor-and-3";

/// Who may come, and how. The tests' own role makes databases.
const RULES: &str = "\
hostssl   all dlq       all trust
hostssl   all keyholder all cert
hostssl   all all       all scram-sha-256
hostnossl all all       all reject
";

/// A server with TLS on, a database of dead jobs in it, and the certificates that belong to it.
pub struct Guarded {
    folder: tempfile::TempDir,
    port: u16,
    pub db: TestDb,
    _server: harness::Server,
}

/// How one command line ends.
pub struct Case {
    pub what: &'static str,
    pub url: String,
    pub code: i32,
    pub says: Vec<String>,
}

impl Guarded {
    pub async fn start() -> Option<Self> {
        let folder = lent_certificates()?;
        std::fs::write(folder.path().join("hba"), RULES).expect("a file");
        harness::lend_to_servers(folder.path());
        let at = |name: &str| folder.path().join(name).display().to_string();
        let settings = [
            "ssl=on".to_owned(),
            format!("ssl_cert_file={}", at("server/crt")),
            format!("ssl_key_file={}", at("server/key")),
            format!("ssl_ca_file={}", at("ca.crt")),
            format!("hba_file={}", at("hba")),
            "password_encryption=scram-sha-256".to_owned(),
            // Two addresses of which the certificate names one.
            "listen_addresses=127.0.0.1,127.0.0.2".to_owned(),
        ];
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let server = harness::guarded_postgres(&settings)?;
        let db = server.database("tls").await;
        Layout::JobsDlq.seed(&db, 3).await;
        db.execute(&format!(
            "create role ops login password '{SECRET}'; create role keyholder login; \
             grant select on all tables in schema public to ops, keyholder"
        ))
        .await;
        Some(Self::of(folder, db, server))
    }

    /// A MariaDB of the kind. `ops` comes by password, `keyholder` by that and a certificate, `private` never unencrypted.
    pub async fn mariadb() -> Option<Self> {
        let folder = lent_certificates()?;
        let at = |name: &str| folder.path().join(name).display().to_string();
        let settings = [
            format!("--ssl-cert={}", at("server/crt")),
            format!("--ssl-key={}", at("server/key")),
            format!("--ssl-ca={}", at("ca.crt")),
            "--bind-address=127.0.0.1,127.0.0.2".to_owned(),
        ];
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let server = harness::guarded_mariadb(&settings)?;
        let db = server.database("tls").await;
        Layout::JobsDlq.seed(&db, 3).await;
        for (role, demand) in [("ops", ""), ("keyholder", "require x509"), ("private", "require ssl")] {
            let name = db.name();
            db.execute(&format!(
                "create user {role} identified by '{SECRET}' {demand}; grant select on {name}.* to {role}"
            ))
            .await;
        }
        Some(Self::of(folder, db, server))
    }

    fn of(folder: tempfile::TempDir, db: TestDb, server: harness::Server) -> Self {
        let port = db.url.rsplit_once("@127.0.0.1:").and_then(|(_, rest)| rest.split_once('/')?.0.parse().ok());
        Self { folder, port: port.expect("a port"), db, _server: server }
    }

    pub fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    pub fn url(&self, role: &str, host: &str, settings: &str) -> String {
        let scheme = if self.db.engine == Engine::Mysql { "mysql" } else { "postgres" };
        format!("{scheme}://{role}@{host}:{}/{}?{settings}", self.port, self.db.name())
    }

    /// The shipped binary, with the right password in its environment.
    pub fn run(&self, command: &[&str], url: &str) -> Ended {
        let mut command = User::new().command(&[command, &["--url", url]].concat());
        command.env(self.password_variable(), SECRET);
        Ended::from(command.output().expect("it starts"))
    }

    pub fn password_variable(&self) -> &'static str {
        if self.db.engine == Engine::Mysql { "MYSQL_PWD" } else { "PGPASSWORD" }
    }

    /// Runs each and tells of all that end otherwise.
    pub fn assert_ends(&self, cases: Vec<Case>) {
        let mut wrong = Vec::new();
        for Case { what, url, code, says } in cases {
            let ended = self.run(&["stats"], &url);
            let missing: Vec<&String> = says.iter().filter(|words| !ended.err.contains(*words)).collect();
            if ended.code != code || !missing.is_empty() || ended.err.lines().count() > 1 {
                wrong.push(format!("{what} ({url}): {} not {code}, lacks {missing:?}: {}", ended.code, ended.err));
            }
            assert!(!(ended.out + &ended.err).contains(SECRET), "{what}");
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }
}

/// Certificates in a folder that servers can read; none where they cannot be made.
fn lent_certificates() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().expect("a folder");
    if let Err(reason) = certificates(folder.path()) {
        harness::skip("openssl", &reason);
        return None;
    }
    harness::lend_to_servers(&folder.path().join("server"));
    harness::lend_to_servers(folder.path());
    Some(folder)
}

/// An authority of our own with a certificate each for the server and for a client, and another authority.
fn certificates(folder: &Path) -> Result<(), String> {
    let at = |name: &str| folder.join(name);
    std::fs::create_dir(at("server")).map_err(|e| e.to_string())?;
    authority(&at("ca"), "dlq test authority")?;
    authority(&at("other"), "another authority")?;
    let names = "subjectAltName=DNS:localhost,IP:127.0.0.1";
    signed(&at("ca"), &at("server/crt"), &at("server/key"), "/CN=localhost", names)?;
    signed(&at("ca"), &at("client.crt"), &at("client.key"), "/CN=keyholder", "keyUsage=digitalSignature")?;
    std::fs::set_permissions(at("server/key"), PermissionsExt::from_mode(0o600)).map_err(|e| e.to_string())
}

fn authority(stem: &Path, name: &str) -> Result<(), String> {
    let (key, certificate) = (stem.with_extension("key"), stem.with_extension("crt"));
    let mut command = openssl(&["req", "-x509", "-days", "2", "-addext", "keyUsage=critical,keyCertSign"]);
    command.args(KEY).arg("-subj").arg(format!("/CN={name}")).arg("-keyout").arg(key).arg("-out").arg(certificate);
    run(command)
}

fn signed(ca: &Path, certificate: &Path, key: &Path, subject: &str, extension: &str) -> Result<(), String> {
    let mut command = openssl(&["req", "-x509", "-days", "2", "-addext", "basicConstraints=critical,CA:FALSE"]);
    command.args(KEY).args(["-subj", subject, "-addext", extension]);
    command.arg("-CA").arg(ca.with_extension("crt")).arg("-CAkey").arg(ca.with_extension("key"));
    command.arg("-keyout").arg(key).arg("-out").arg(certificate);
    run(command)
}

const KEY: [&str; 4] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];

fn openssl(args: &[&str]) -> Command {
    let mut command = Command::new("openssl");
    command.args(args).arg("-nodes");
    command
}

fn run(mut command: Command) -> Result<(), String> {
    let output = command.output().map_err(|e| format!("openssl cannot be run: {e}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

fn cases(server: &Guarded) -> Vec<Case> {
    let ca = format!("sslrootcert={}", server.file("ca.crt"));
    let other = format!("sslrootcert={}", server.file("other.crt"));
    let (missing, hba) = (server.file("nothing.crt"), server.file("hba"));
    let client = format!("sslcert={}&sslkey={}", server.file("client.crt"), server.file("client.key"));
    let mut cases = Vec::new();
    let mut case = |what, (role, host, settings): (&str, &str, String), code, says: &[&str]| {
        let says = says.iter().map(|&s| s.to_owned()).collect();
        cases.push(Case { what, url: server.url(role, host, &settings), code, says });
    };
    let (near, wrong) = ("localhost", "127.0.0.2");
    case("never encrypted", ("ops", near, "sslmode=disable".into()), 1, &["pg_hba.conf", "sslmode=require"]);
    case("by default", ("ops", near, String::new()), 0, &[]);
    case("where possible", ("ops", near, "sslmode=prefer".into()), 0, &[]);
    case("always", ("ops", near, "sslmode=require".into()), 0, &[]);
    case("by the authority", ("ops", near, format!("sslmode=verify-ca&{ca}")), 0, &[]);
    case("by the authority, whatever the name", ("ops", wrong, format!("sslmode=verify-ca&{ca}")), 0, &[]);
    let unknown = ["certificate", "sslrootcert"];
    case("by another authority", ("ops", near, format!("sslmode=verify-ca&{other}")), 1, &unknown);
    case("by the machine's authorities", ("ops", near, "sslmode=verify-full".into()), 1, &unknown);
    case("an authority given is one to ask", ("ops", near, format!("sslmode=require&{other}")), 1, &unknown);
    case("name and authority", ("ops", near, format!("sslmode=verify-full&{ca}")), 0, &[]);
    case("an address and authority", ("ops", "127.0.0.1", format!("sslmode=verify-full&{ca}")), 0, &[]);
    let misnamed = ["certificate", "127.0.0.2", "localhost", "verify-ca"];
    case("another name", ("ops", wrong, format!("sslmode=verify-full&{ca}")), 1, &misnamed);
    case(
        "no such file",
        ("ops", near, format!("sslmode=verify-ca&sslrootcert={missing}")),
        2,
        &["sslrootcert", &missing, "No such file"],
    );
    case("the machine's authorities by name", ("ops", near, "sslrootcert=system".into()), 1, &unknown);
    case(
        "no certificate in it",
        ("ops", near, format!("sslmode=verify-ca&sslrootcert={hba}")),
        2,
        &["sslrootcert", &hba, "no certificate"],
    );
    case("a client's certificate", ("keyholder", near, format!("sslmode=verify-full&{ca}&{client}")), 0, &[]);
    case("a client's certificate, unchecked", ("keyholder", near, format!("sslmode=require&{client}")), 0, &[]);
    case("none", ("keyholder", near, format!("sslmode=verify-full&{ca}")), 1, &["client certificate", "sslcert"]);
    let half = format!("sslmode=require&sslcert={}", server.file("client.crt"));
    case("without its key", ("keyholder", near, half), 2, &["sslcert", "sslkey"]);
    let lost = format!("sslmode=require&sslcert={}&sslkey={missing}", server.file("client.crt"));
    case("with a key that is not there", ("keyholder", near, lost), 2, &["sslkey", &missing, "No such file"]);
    let foreign = format!("sslmode=require&sslcert={}&sslkey={}", server.file("client.crt"), server.file("other.key"));
    case("with the key of another", ("keyholder", near, foreign), 1, &["sslcert", "sslkey"]);
    let forged = format!("sslmode=require&sslcert={}&sslkey={}", server.file("other.crt"), server.file("other.key"));
    case("of an authority that the server does not know", ("keyholder", near, forged), 1, &["not accept", "sslcert"]);
    case("somebody else's certificate", ("ops", near, format!("sslmode=require&{client}")), 0, &[]);
    cases
}

#[tokio::test]
async fn every_way_to_ask_for_encryption_works_or_is_refused_with_what_to_do() {
    let Some(server) = Guarded::start().await else { return };
    server.assert_ends(cases(&server));
}

#[tokio::test]
async fn the_doctor_tells_how_the_connection_is_protected() {
    let Some(server) = Guarded::start().await else { return };
    let ca = format!("sslrootcert={}", server.file("ca.crt"));
    for (settings, says) in [
        (String::new(), "encrypted (TLSv1.3): the server's certificate is not verified"),
        ("sslmode=require".into(), "encrypted (TLSv1.3): the server's certificate is not verified"),
        (
            format!("sslmode=verify-ca&{ca}"),
            "encrypted (TLSv1.3): the server's certificate is checked, the name in it is not",
        ),
        (format!("sslmode=verify-full&{ca}"), "encrypted (TLSv1.3): the server's certificate and its name are checked"),
    ] {
        assert_eq!(transport(&server.run(&["doctor"], &server.url("ops", "localhost", &settings))), says);
    }
}

/// What the doctor says of it, without where the server is.
pub fn transport(ended: &Ended) -> String {
    let line =
        ended.out.lines().find_map(|line| line.split_once("transport")).unwrap_or_else(|| panic!("{}", ended.out));
    let (fact, place) = line.1.trim().split_once("; ").unwrap_or_else(|| panic!("{}", ended.out));
    assert_eq!(place, "it does not leave this machine");
    fact.to_owned()
}

#[tokio::test]
async fn a_server_without_tls_is_told_from_one_that_has_it() {
    let Some(server) = harness::private_postgres() else { return };
    let db = server.database("plain").await;
    Layout::JobsDlq.seed(&db, 1).await;
    assert_eq!(transport(&User::of(&db).run(&["doctor"])), "not encrypted");
    for mode in ["require", "verify-full"] {
        let user = User::new().configured(&format!("[sources.a]\nurl = \"{}?sslmode={mode}\"\n", db.url));
        let ended = user.run(&["stats"]);
        let told = ended.with(1);
        assert!(told.contains("no trusted connection to the database: "), "{mode}: {told}");
        assert!(
            told.contains("(from [sources.a] of the config): the server offers no TLS, which sslmode demands"),
            "{mode}: {told}"
        );
    }
}

#[tokio::test]
async fn a_mariadb_without_tls_is_told_too() {
    let Some(server) = harness::private_mariadb() else { return };
    let db = server.database("plain").await;
    Layout::JobsDlq.seed(&db, 1).await;
    let told = transport(&User::of(&db).run(&["doctor"]));
    // Some make themselves a certificate when they start.
    assert!(told == "not encrypted" || told.ends_with(": the server's certificate is not verified"), "{told}");
}

#[tokio::test]
async fn the_authorities_of_the_machine_are_trusted_where_none_is_named() {
    let Some(server) = Guarded::start().await else { return };
    for (settings, host, code) in [
        ("sslmode=verify-full", "localhost", 0),
        ("sslrootcert=system", "localhost", 0),
        // Anybody can have a certificate of theirs, so the name counts whatever the mode.
        ("sslmode=require&sslrootcert=system", "127.0.0.2", 1),
    ] {
        let url = server.url("ops", host, settings);
        let mut command = User::new().command(&["stats", "--url", &url]);
        // Where the machine keeps them, for this one command.
        command.env("SSL_CERT_FILE", server.file("ca.crt")).env("PGPASSWORD", SECRET);
        Ended::from(command.output().expect("it starts")).with(code);
    }
}

#[tokio::test]
async fn a_console_does_not_wait_for_a_server_that_is_not_trusted() {
    let Some(server) = Guarded::start().await else { return };
    let url = server.url("ops", "localhost", "sslmode=verify-full");
    let mut console = Pty::console(&["--url", &url]).size(160, 24).env("PGPASSWORD", SECRET).start();
    console.wait_for_text("authority that is not trusted here");
    assert!(!console.wait_for_exit().success());
    console.assert_terminal_left_clean();
}

#[tokio::test]
async fn a_server_that_shows_an_authoritys_certificate_as_its_own_is_told_to_have_one_issued() {
    let Some(server) = Guarded::start().await else { return };
    for (authoritys, servers) in [("ca.crt", "server/crt"), ("ca.key", "server/key")] {
        std::fs::write(server.file(servers), std::fs::read(server.file(authoritys)).expect("a file")).expect("a file");
    }
    server.db.scalar("select pg_reload_conf()::text").await;
    let url = server.url("ops", "localhost", &format!("sslmode=verify-ca&sslrootcert={}", server.file("ca.crt")));
    harness::eventually("it is refused", || server.run(&["stats"], &url).code == 1);
    let ended = server.run(&["stats"], &url);
    assert!(ended.err.contains("CA:TRUE") && ended.err.contains("sslmode=require"), "{}", ended.err);
}
