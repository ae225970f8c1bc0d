//! The config, from its text to what it means.

use super::*;
use crate::domain::run_options::validator::Validator;
use crate::domain::secret::ExposeSecret;

const FULL: &str = r#"
default_source = "billing"

[sources.billing]
url = "postgres://ops:s3cret@db/billing"
store = "dead_letter_jobs"
production = true
read_only = true
refresh = "2s"
statement_timeout = "3s"
replay = { command = ["bin/replay", "--fast"], timeout = "90s" }
validate = { command = "bin/check --rule 'a b'", timeout = "30s" }

[sources.other]
url_command = "pass show 'other db'"
replay = { table = "jobs" }

[ui]
theme = "16"
ascii = true
mouse = true
timezone = "Europe/Berlin"
refresh = "5s"

[redaction]
extra = ["iban"]
allow = ["token_count"]

[thresholds]
confirm_count = 20

[timeouts]
connect = "4s"
statement = "7s"
"#;

#[test]
fn every_key_is_read() {
    let config = Config::parse(FULL).expect("the text above");
    let billing = config.source("billing").expect("named above");
    assert!(billing.production && billing.read_only);
    assert_eq!(billing.store.as_deref(), Some("dead_letter_jobs"));
    assert_eq!(billing.refresh, Some(Duration::from_secs(2)));
    assert_eq!(billing.statement_timeout, Some(Duration::from_secs(3)));
    let command = vec!["bin/replay".to_owned(), "--fast".to_owned()];
    assert_eq!(billing.replay, Some(ReplayTo::Command { command, timeout: Duration::from_secs(90) }));
    assert_eq!(billing.url().expect("written out").expose_secret(), "postgres://ops:s3cret@db/billing");
    let other = config.source("other").expect("named above");
    assert_eq!(other.replay, Some(ReplayTo::Table("jobs".into())));
    assert!(matches!(&other.address, SourceAddress::Command(words) if words[2] == "other db"));
    assert_eq!(config.ui.theme, Some(ThemeChoice::Sixteen));
    assert!(config.ui.ascii && config.ui.mouse);
    assert_eq!(config.ui.refresh, Duration::from_secs(5));
    assert_eq!(config.ui.timezone.to_string(), "Europe/Berlin");
    assert_eq!(config.redaction.extra, ["iban"]);
    assert_eq!(config.thresholds.confirm_count, 20);
    assert_eq!(config.timeouts, Timeouts { connect: Duration::from_secs(4), statement: Duration::from_secs(7) });
    assert_eq!(config.only_source().expect("it exists").map(|s| s.name.as_str()), Some("billing"));
}

#[test]
fn an_unknown_key_names_its_line_and_the_key_that_was_meant() {
    let error = Config::parse("[sources.a]\nurl = \"sqlite://x\"\nprodution = true\n").expect_err("misspelt");
    assert_eq!(error.to_string(), "config.toml, line 3: unknown key `prodution`; did you mean `production`?");
    let error = Config::parse("[sauces.a]\n").expect_err("misspelt");
    assert_eq!(error.to_string(), "config.toml, line 1: unknown key `sauces`; did you mean `sources`?");
    let error = Config::parse("[ui]\ntheme = \"drak\"\n").expect_err("no such theme");
    assert!(error.to_string().starts_with("config.toml, line 2: unknown word `drak`; did you mean `dark`?"), "{error}");
    let error = Config::parse("[ui]\nrefresh = \"fast\"\n").expect_err("no span");
    assert!(error.to_string().starts_with("config.toml, line 2: `fast` is not a span"), "{error}");
    let error = Config::parse("[ui]\ntimezone = \"Berlin\"\n").expect_err("no zone");
    assert!(error.to_string().starts_with("config.toml, line 2: no time zone is called \"Berlin\""), "{error}");
}

#[test]
fn a_threshold_that_lets_no_job_through_is_refused() {
    let error = Config::parse("[thresholds]\nmax_replays = 0\n").expect_err("none");
    assert_eq!(error.to_string(), "config.toml, line 2: max_replays is a number from 1");
    let config = Config::parse("[thresholds]\nmax_replays = 1\nconfirm_count = 0\n").expect("valid");
    assert_eq!((config.thresholds.max_replays, config.thresholds.confirm_count), (1, 0));
}

#[test]
fn a_password_reaches_neither_debug_output_nor_errors() {
    let config = Config::parse(FULL).expect("the text above");
    assert!(!format!("{config:?}").contains("s3cret"));
    for broken in [
        "[sources.a]\nurl = \"postgres://u:s3cret@h/d\n",
        "[sources.a]\nproduction = \"postgres://u:s3cret@h/d\"\n",
        "[sources.a]\nrefresh = \"postgres://u:s3cret@h/d\"\n",
        "[sources.a]\nurl = [\"postgres://u:s3cret@h/d\"]\n",
    ] {
        let error = Config::parse(broken).expect_err("broken on purpose");
        assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
    }
}

#[test]
fn contradictions_are_refused() {
    for (text, says) in [
        ("[sources.a]\n", "sources.a: one of url, url_env and url_command is needed"),
        (
            "[sources.a]\nurl = \"x\"\nurl_env = \"Y\"\n",
            "sources.a: only one of url, url_env and url_command can be given",
        ),
        ("[sources.a]\nurl = \"x\"\nreplay = {}\n", "sources.a.replay: give either table or command"),
        (
            "default_source = \"b\"\n[sources.a]\nurl = \"x\"\n",
            "there is no source `b` in the config; did you mean `a`?",
        ),
    ] {
        assert_eq!(Config::parse(text).expect_err(text).to_string(), says);
    }
}

#[test]
fn the_upper_file_wins_key_by_key_and_a_missing_file_is_no_fault() {
    let lower =
        file::parse("lower", "[sources.a]\nurl = \"x\"\nproduction = true\n[ui]\nmouse = true\n").expect("valid");
    let upper = file::parse("upper", "[sources.a]\nurl_env = \"A_URL\"\n[ui]\nascii = true\n").expect("valid");
    let config = upper.over(lower).check().expect("consistent");
    let a = config.source("a").expect("in both");
    assert!(a.production && matches!(&a.address, SourceAddress::Env(v) if v == "A_URL"));
    assert!(config.ui.mouse && config.ui.ascii);
    let folder = tempfile::tempdir().expect("a folder");
    let nowhere = Paths::within(folder.path().into(), folder.path().into(), None);
    assert!(Config::load(&nowhere).expect("no file").sources.is_empty());
    let named = Paths::within(folder.path().into(), folder.path().into(), Some(folder.path().join("no.toml")));
    assert!(matches!(Config::load(&named), Err(ConfigError::Unreadable { .. })));
}

#[cfg(unix)]
#[test]
fn a_password_in_a_file_that_others_can_read_is_warned_of() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("c.toml");
    let paths = Paths::within(folder.path().into(), folder.path().into(), Some(path.clone()));
    std::fs::write(&path, FULL).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("opened");
    assert_eq!(Config::load(&paths).expect("valid").warnings.len(), 1);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("closed");
    assert!(Config::load(&paths).expect("valid").warnings.is_empty());
}

#[test]
fn a_validator_is_a_command_with_a_patience() {
    let config = Config::parse(FULL).expect("the text above");
    let validate = config.source("billing").expect("a source").validate.clone().expect("a validator");
    assert_eq!(validate.command, ["bin/check", "--rule", "a b"]);
    assert_eq!(validate.timeout(), Duration::from_secs(30));
    let usual = Config::parse("[sources.a]\nurl = \"x\"\n[sources.a.validate]\ncommand = [\"x\"]\n").expect("valid");
    assert_eq!(usual.source("a").expect("a source").validate.as_ref().expect("one").timeout(), Validator::TIMEOUT);
    let error = Config::parse("[sources.a]\nurl = \"x\"\nvalidate = { comand = \"x\" }\n").expect_err("a typo");
    assert!(error.to_string().contains("did you mean `command`"), "{error}");
}
