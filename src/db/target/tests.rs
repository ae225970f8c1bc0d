use super::*;

use sqlx::postgres::PgConnectOptions;

fn read(url: &str) -> Target {
    Target::read_url(url, &|_| None).unwrap()
}

/// The options for each server of a PostgreSQL URL.
fn servers(url: &str) -> Vec<PgConnectOptions> {
    read(url).postgres_options().unwrap().0
}

#[test]
fn the_label_shows_where_and_who_but_no_password() {
    assert_eq!(read("postgres://shop:hunter2@db1/shop").label(), "shop@db1:5432/shop");
    assert_eq!(read("mariadb://shop:hunter2@db1/shop").label(), "shop@db1:3306/shop");
    assert_eq!(read("mysql2://shop:hunter2@db1/shop").label(), "shop@db1:3306/shop");
    assert_eq!(read("postgresql:///shop?host=/run/pg&user=x").label(), "x@[/run/pg]/shop");
    assert_eq!(read("postgres://u@[::1]:5433/d").label(), "u@[::1]:5433/d");
    let here = std::env::current_dir().unwrap();
    assert_eq!(read("sqlite:a%20b.db").label(), here.join("a b.db").display().to_string());
    assert_eq!(read("sqlite:///var/shop.db").label(), "/var/shop.db");
}

#[test]
fn nothing_that_is_printed_holds_the_password() {
    for url in ["postgres://shop:hunter2@db1/shop", "mysql://shop@db1/shop?password=hunter2"] {
        let target = read(url);
        assert!(target.has_password());
        assert!(!format!("{target} {target:?} {target:#?}").contains("hunter2"));
    }
}

#[test]
fn a_wrong_url_is_a_sentence_without_the_password() {
    for url in [
        "",
        "hunter2",
        "oracle://shop:hunter2@db1/shop",
        "postgres:shop:hunter2@db1",
        "shop:hunter2@db1/shop",
        "postgres://shop:hunter2",
        "postgres://shop:hunter2@db1:port/shop",
        "postgres://shop:hunter2@a,/shop",
        "postgres://shop:hunter2@a:1,b:2/shop?host=c,d,e",
        "postgres://shop:hunter2@a,b/shop?target_session_attrs=master",
        "mysql://shop:hunter2@a,b/shop",
        "postgres://shop:hunter2@db1/shop?sslmode=bogus",
        "postgres://shop:hunter2@db1/shop?passwort=hunter2",
        "mysql://shop:hunter2@db1/shop?connect_timeout=soon",
        "sqlite:",
        "sqlite::memory:",
        "sqlite:x.db?mode=memory",
    ] {
        let error = Target::read_url(url, &|_| None).unwrap_err();
        assert!(matches!(error, SourceError::Input(_)), "{url}: {error:?}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[test]
fn the_transport_tells_a_checked_server_from_an_unchecked_one() {
    let transport = |url| read(url).transport();
    assert_eq!(transport("postgres:///shop?host=/run/pg"), Transport::Local);
    assert_eq!(transport("sqlite:shop.db"), Transport::Local);
    assert_eq!(transport("postgres://db1/shop"), Transport::Perhaps);
    assert_eq!(transport("postgres://db1/shop?sslmode=require"), Transport::Unverified);
    assert_eq!(transport("postgres://db1/shop?sslmode=require&sslrootcert=ca.pem"), Transport::Issued);
    assert_eq!(transport("postgres://db1/shop?sslmode=disable"), Transport::Clear);
    assert_eq!(transport("postgres://db1/shop?sslmode=verify-ca"), Transport::Issued);
    assert_eq!(transport("postgres://db1/shop?sslmode=verify-full"), Transport::Verified);
    assert_eq!(transport("postgres://db1/shop?sslrootcert=system"), Transport::Verified);
    assert_eq!(transport("mysql://db1/shop?ssl-mode=VERIFY_IDENTITY"), Transport::Verified);
    assert_eq!(transport("mysql://db1/shop?ssl-mode=REQUIRED&ssl-ca=ca.pem"), Transport::Issued);
    assert_eq!(transport("mysql://db1/shop?ssl-ca=system"), Transport::Verified);
    assert!(read("postgres://127.0.0.1/shop").is_here() && read("postgres:///shop").is_here());
    assert!(!read("postgres://db1/shop").is_here());
}

#[test]
fn the_url_counts_before_the_service_and_the_service_before_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("services");
    std::fs::write(&file, "[shop]\nhost=from-service\nuser=from-service\nconnect_timeout=7\nfoo=bar\n").unwrap();
    let env = move |name: &str| match name {
        "PGSERVICEFILE" => Some(file.display().to_string()),
        "PGSERVICE" => Some("shop".into()),
        "PGHOST" => Some("from-env".into()),
        "PGDATABASE" => Some("from-env".into()),
        _ => None,
    };
    let target = Target::read_url("postgres://from-url@/", &env).unwrap();
    assert_eq!(target.label(), "from-url@from-service:5432/from-env");
    assert_eq!(target.connect_timeout(), Some(Duration::from_secs(7)));
    assert_eq!(Target::read_env(&env).unwrap().unwrap().label(), "from-service@from-service:5432/from-env");
}

#[test]
fn a_demand_that_cannot_be_kept_is_refused_wherever_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("services");
    std::fs::write(&file, "[shop]\nhost=db1\nchannel_binding=require\n").unwrap();
    let service = |name: &str| match name {
        "PGSERVICEFILE" => Some(file.display().to_string()),
        "PGSERVICE" => Some("shop".into()),
        _ => None,
    };
    let told = |read: Result<Option<Target>>| read.unwrap_err().to_string();
    assert!(told(Target::read_env(&service)).starts_with("service shop: channel_binding=require cannot be kept"));
    for (variable, value) in [("PGREQUIREAUTH", "scram-sha-256"), ("PGSSLMINPROTOCOLVERSION", "TLSv1.3")] {
        let env = |name: &str| match name {
            "PGHOST" => Some("db1".to_owned()),
            name => (name == variable).then(|| value.to_owned()),
        };
        assert!(told(Target::read_env(&env)).starts_with(&format!("{variable}: ")), "{variable}");
        let url = Target::read_url("postgres://db1/shop", &env).map(Some);
        assert!(told(url).contains("cannot be kept here"), "{variable}");
    }
}

#[test]
fn the_password_for_mysql_is_that_of_the_url_and_else_of_the_environment() {
    let env = |name: &str| (name == "MYSQL_PWD").then(|| "hunter2".to_owned());
    let options = |url| format!("{:?}", Target::read_url(url, &env).unwrap().mysql_options().unwrap());
    assert!(options("mysql://shop@db1/shop").contains("hunter2"));
    assert!(!options("mysql://shop:other@db1/shop").contains("hunter2"));
    let target = Target::read_url("mysql://shop@db1/shop", &env).unwrap();
    assert!(!target.has_password() && !format!("{target} {target:?}").contains("hunter2"));
}

#[test]
fn the_environment_alone_names_a_target_or_none() {
    assert!(Target::read_env(&|_| None).unwrap().is_none());
    let url = |name: &str| (name == "DATABASE_URL").then(|| "mysql://a@b/c".to_owned());
    assert_eq!(Target::read_env(&url).unwrap().unwrap().label(), "a@b:3306/c");
    let wrong = |name: &str| (name == "DATABASE_URL").then(|| "hunter2".to_owned());
    let error = Target::read_env(&wrong).unwrap_err().to_string();
    assert!(error.starts_with("DATABASE_URL: ") && !error.contains("hunter2"), "{error}");
    let port = |name: &str| match name {
        "PGHOST" => Some("h".to_owned()),
        "PGPORT" => Some("x".to_owned()),
        _ => None,
    };
    assert!(Target::read_env(&port).unwrap_err().to_string().starts_with("PGPORT: "));
}

#[test]
fn a_login_user_is_found_where_no_one_names_one() {
    // The driver's own fallback would be the user "anonymous".
    let [options] = &servers("postgres://db1/shop")[..] else { panic!("one server") };
    assert!(std::env::var("PGUSER").is_ok() || options.get_username() == whoami::username().unwrap());
    assert_ne!(options.get_username(), "anonymous");
}

#[test]
fn a_missing_file_is_named_with_its_setting_before_anything_is_tried() {
    for (engine, scheme) in [("PostgreSQL", "postgres"), ("MySQL", "mysql")] {
        let options = |settings: &str| {
            let target = read(&format!("{scheme}://u@db1/shop?{settings}"));
            if scheme == "mysql" { target.mysql_options().map(drop) } else { target.postgres_options().map(drop) }
        };
        let error = options("sslmode=verify-full&sslrootcert=/nonexistent/ca.pem").unwrap_err().to_string();
        assert!(error.starts_with("sslrootcert: cannot read /nonexistent/ca.pem: No such file"), "{engine}: {error}");
        let error = options("sslmode=require&sslkey=/nonexistent/key.pem").unwrap_err().to_string();
        assert!(error.contains("sslcert must name"), "{engine}: {error}");
        // What is not read need not be there.
        assert!(options("sslmode=prefer&sslrootcert=/nonexistent/ca.pem").is_ok(), "{engine}");
        assert!(options("sslmode=disable&sslcert=/nonexistent/crt.pem").is_ok(), "{engine}");
    }
}

#[test]
fn settings_reach_the_driver() {
    let [options] = &servers("postgres://u:p@h:1234/d?sslmode=verify-ca")[..] else { panic!("one server") };
    assert_eq!((options.get_host(), options.get_port()), ("h", 1234));
    assert_eq!((options.get_username(), options.get_database()), ("u", Some("d")));
    assert!(matches!(options.get_ssl_mode(), sqlx::postgres::PgSslMode::VerifyCa));
    let [options] = &servers("postgres:///d?host=/run/pg")[..] else { panic!("one server") };
    assert_eq!(options.get_socket().map(|path| path.as_path()), Some(Path::new("/run/pg")));
    let options = read("mysql://u@h:1234/d").mysql_options().unwrap();
    assert_eq!((options.get_host(), options.get_port(), options.get_database()), ("h", 1234, Some("d")));
}

#[test]
fn several_servers_are_tried_in_order_each_with_its_own_port() {
    let places = |url| -> Vec<(String, u16)> {
        servers(url).iter().map(|options| (options.get_host().to_owned(), options.get_port())).collect()
    };
    let both = |first, second| vec![("db1".to_owned(), first), ("db2".to_owned(), second)];
    assert_eq!(places("postgres://u@db1:6001,db2:6002/d"), both(6001, 6002));
    assert_eq!(places("postgres://u@db1:6001,db2/d"), both(6001, 5432));
    assert_eq!(places("postgres://u@/d?host=db1,db2&port=6001"), both(6001, 6001));
    let target = read("postgres://u@db1,db2:6002/d?target_session_attrs=primary");
    assert_eq!((target.label(), target.is_here()), ("u@db1:5432,db2:6002/d".to_owned(), false));
    assert_eq!(target.postgres_options().unwrap().1, SessionAttrs::Primary);
    let env = |name: &str| match name {
        "PGHOST" => Some("db1,db2".to_owned()),
        "PGPORT" => Some("6001,6002".to_owned()),
        "PGTARGETSESSIONATTRS" => Some("read-write".to_owned()),
        _ => None,
    };
    let target = Target::read_env(&env).unwrap().unwrap();
    assert_eq!(
        (target.label(), target.postgres_options().unwrap().1),
        ("db1:6001,db2:6002".to_owned(), SessionAttrs::ReadWrite)
    );
}

#[test]
fn a_missing_sqlite_file_is_not_created_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.db");
    let error = Target::sqlite(&file, false).sqlite_options(false).unwrap_err();
    assert!(error.to_string().starts_with("there is no SQLite file "), "{error}");
    assert!(error.to_string().ends_with("; a URL that ends in ?mode=rwc makes one"), "{error}");
    assert!(Target::sqlite(&file, true).sqlite_options(false).is_ok());
}
