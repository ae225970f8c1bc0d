//! What is said where no database is reached: the address, what named it, what answers there instead, and which password it
//! was. Never the words of a library.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread::spawn;

use super::{Ended, User};
use crate::harness;
use crate::tls::Guarded;

/// Traces of libraries and of our own source.
const INTERNAL: [&str; 14] = [
    "sqlx",
    "serde",
    "rustls",
    "tokio",
    "Rust type",
    "unknown variant",
    "untagged",
    "struct ",
    "expected u",
    "expected i6",
    " 0x",
    "InvalidContentType",
    "SSLRequest",
    "os error",
];

fn assert_plain(ended: &Ended) {
    let said = format!("{}{}", ended.out, ended.err);
    for word in INTERNAL {
        assert!(!said.contains(word), "{word}: {said}");
    }
}

/// Answers each connection for as long as the tests run; returns the port.
fn service(answer: fn(&mut TcpStream)) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    spawn(move || {
        for stream in listener.incoming().flatten() {
            spawn(move || {
                let mut stream = stream;
                answer(&mut stream);
            });
        }
    });
    port
}

fn reads_first(stream: &mut TcpStream, ends: impl Fn(&[u8]) -> bool, answer: &[u8]) {
    let (mut heard, mut piece) = (Vec::new(), [0; 256]);
    while !ends(&heard) {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(n) => heard.extend(&piece[..n]),
        }
    }
    drop(stream.write_all(answer));
}

fn web(stream: &mut TcpStream) {
    reads_first(stream, |heard| heard.len() >= 8, b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
}

fn ssh(stream: &mut TcpStream) {
    drop(stream.write_all(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"));
    reads_first(stream, |_| false, b"");
}

fn redis(stream: &mut TcpStream) {
    reads_first(stream, |heard| heard.ends_with(b"\n"), b"-ERR wrong number of arguments for 'get' command\r\n");
}

fn silent(stream: &mut TcpStream) {
    reads_first(stream, |_| false, b"");
}

fn hangs_up(_: &mut TcpStream) {}

/// A command that fails to reach a URL of the environment.
fn fails(url: &str) -> String {
    let ended = User::with_url(url).run(&["stats"]);
    assert_plain(&ended);
    ended.with(1).to_owned()
}

#[test]
fn what_answers_in_place_of_a_database_is_named() {
    for (answer, what) in [
        (web as fn(&mut TcpStream), "a web server (HTTP)"),
        (ssh, "an SSH server"),
        (redis, "Redis"),
        (silent, "accepts connections there and never answers"),
        (hangs_up, "the server closed the connection"),
    ] {
        let port = service(answer);
        for scheme in ["postgres", "mysql"] {
            for mode in ["prefer", "require", "disable"] {
                let err = fails(&format!("{scheme}://ops@127.0.0.1:{port}/shop?sslmode={mode}&connect_timeout=1"));
                let address = format!("127.0.0.1:{port} (from DATABASE_URL): ");
                assert!(err.contains(what) && err.contains(&address), "{scheme} {mode} {what}: {err}");
            }
        }
    }
}

#[test]
fn the_other_database_on_the_port_is_named() {
    for (server, other, what) in [
        (harness::postgres(), "mysql", "what answers there is PostgreSQL; the URL says mysql://"),
        (harness::mariadb(), "postgres", "what answers there is MySQL or MariaDB; the URL says postgres://"),
    ] {
        let Some(server) = server else { continue };
        let port = server.port();
        let err = fails(&format!("{other}://ops@127.0.0.1:{port}/shop?connect_timeout=1"));
        assert!(err.contains(what), "{err}");
    }
}

#[test]
fn an_address_that_refuses_is_told_with_what_named_it() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address").port()
    };
    let url = format!("postgres://ops@127.0.0.1:{port}/shop");
    let config = format!(
        "[sources.a]\nurl = \"{url}\"\n[sources.b]\nurl_env = \"SHOP_URL\"\n[sources.c]\nurl_command = [\"echo\", \"{url}\"]\n"
    );
    let user = User::new().configured(&config);
    let service = user.home().join("services");
    std::fs::write(&service, format!("[shop]\nhost=127.0.0.1\nport={port}\n")).expect("a file");
    let (port_text, service) = (port.to_string(), service.display().to_string());
    type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], &'a str);
    let cases: [Case<'_>; 7] = [
        (&["stats", "--url", &url], &[], "--url"),
        (&["stats", "--source", "a"], &[], "[sources.a] of the config"),
        (&["stats", "--source", "b"], &[("SHOP_URL", &url)], "SHOP_URL, url_env of [sources.b]"),
        (&["stats", "--source", "c"], &[], "url_command of [sources.c]"),
        (&["stats"], &[("DATABASE_URL", &url)], "DATABASE_URL"),
        (&["stats", "--url", "postgres:///shop"], &[("PGHOST", "127.0.0.1"), ("PGPORT", &port_text)], "PGHOST"),
        (&["stats"], &[("PGSERVICE", "shop"), ("PGSERVICEFILE", &service)], "service shop"),
    ];
    for (args, env, named_by) in cases {
        let mut command = user.command(args);
        command.envs(env.iter().copied());
        let ended = Ended::from(command.output().expect("the binary starts"));
        assert_plain(&ended);
        let told = format!("cannot reach the database: 127.0.0.1:{port} (from {named_by}): connection refused");
        assert!(ended.with(1).contains(&told), "{}", ended.err);
    }
}

#[test]
fn hosts_and_sockets_that_are_not_there_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().display();
    for (url, what) in [
        (
            "postgres://ops@no-such-host.invalid/shop".to_owned(),
            "no-such-host.invalid:5432 (from DATABASE_URL): there is no host",
        ),
        (
            "mysql://ops@no-such-host.invalid/shop".to_owned(),
            "no-such-host.invalid:3306 (from DATABASE_URL): there is no host",
        ),
        (format!("postgres:///shop?host={socket}"), "there is no such socket"),
        (format!("mysql:///shop?socket={socket}/mysqld.sock"), "there is no such socket"),
    ] {
        let err = fails(&url);
        assert!(err.contains(what), "{err}");
    }
}

#[tokio::test]
async fn a_missing_password_is_told_apart_from_a_wrong_one() {
    for server in [Guarded::start().await, Guarded::mariadb().await].into_iter().flatten() {
        let url = server.url("ops", "localhost", "sslmode=require");
        let variable = server.password_variable();
        let run = |value: Option<&str>| {
            let mut command = User::new().command(&["stats", "--url", &url]);
            command.envs(value.map(|value| (variable, Path::new(value))));
            let ended = Ended::from(command.output().expect("the binary starts"));
            assert_plain(&ended);
            ended.with(1).to_owned()
        };
        let missing = run(None);
        assert!(missing.contains("no password was found; looked in the URL, "), "{missing}");
        assert!(missing.contains(variable), "{missing}");
        let wrong = run(Some("hunter2"));
        assert!(wrong.contains(&format!("the password is from {variable}")), "{wrong}");
        assert!(!wrong.contains("hunter2") && !wrong.contains("no password was found"), "{wrong}");
    }
}

#[test]
fn values_of_the_config_are_refused_in_plain_words() {
    for (text, what) in [
        ("[thresholds]\nconfirm_count = \"ten\"\n", "a whole number"),
        ("[thresholds]\nconfirm_count = -1\n", "a whole number"),
        ("[ui]\ntheme = \"darc\"\n", "did you mean `dark`?"),
        ("[ui]\nascii = 1\n", "true or false"),
        ("[ui]\nrefresh = 5\n", "a text in quotes"),
        ("ui = 5\n", "a section"),
        ("[sources]\na = \"postgres://db/x\"\n", "a section"),
        ("[sources.a]\nurl = 5\n", "a text in quotes"),
        ("[sources.a]\nurl = \"sqlite:x\"\nconnections = \"two\"\n", "a whole number"),
        ("[sources.a]\nurl = \"sqlite:x\"\nproduction = \"yes\"\n", "true or false"),
        ("[keys]\nquit = 5\n", "line 2"),
        ("[redaction]\nextra = \"card\"\n", "a list"),
    ] {
        let ended = User::new().configured(text).run(&["stats"]);
        assert_plain(&ended);
        assert!(ended.with(2).contains(what), "{text}: {}", ended.err);
    }
}
