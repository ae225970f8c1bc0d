//! The merged config as text: each key with its value, and the layer that it comes from.

use std::collections::BTreeMap;

use toml::Value;

use super::{Config, Paths, Thresholds, Timeouts, Ui, Watch, mask_secrets};
use crate::domain::redact::Redactor;
use crate::domain::time::exact_span;

/// A key of the merged config.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The key with its tables: `sources.billing.url`.
    pub key: String,
    /// Its value as TOML, with secrets masked.
    pub value: String,
    /// The file that says so, or `default`.
    pub origin: String,
}

const DEFAULT: &str = "default";
/// Of these, a layer that has one replaces all of the layers below: an address is one thing.
const ADDRESS: [&str; 3] = ["url", "url_env", "url_command"];

impl Config {
    /// Every key that is set or has a default, in order; of files that [`Config::load`] has taken for right.
    pub fn settings(paths: &Paths) -> Vec<Setting> {
        let mut settings = defaults();
        for path in paths.config_files() {
            let Ok(text) = std::fs::read_to_string(path) else { continue };
            let Ok(table) = text.parse::<toml::Table>() else { continue };
            lay_over(&mut settings, &table, &path.display().to_string());
        }
        let redactor = Redactor::default();
        let setting = |(key, (value, origin)): (String, (String, String))| {
            // The words of a command may hold what no address does.
            let value = redactor.prose(&mask_secrets(&value)).into_owned();
            Setting { key, value, origin }
        };
        settings.into_iter().map(setting).collect()
    }
}

type Layers = BTreeMap<String, (String, String)>;

fn defaults() -> Layers {
    let (ui, thresholds, timeouts) = (Ui::default(), Thresholds::default(), Timeouts::default());
    let text = |span| format!("\"{}\"", exact_span(span));
    let values = [
        ("ui.ascii", ui.ascii.to_string()),
        ("ui.mouse", ui.mouse.to_string()),
        ("ui.refresh", text(ui.refresh)),
        ("ui.timezone", format!("\"{}\"", ui.timezone)),
        ("redaction.extra", "[]".to_owned()),
        ("redaction.allow", "[]".to_owned()),
        ("redaction.off", "false".to_owned()),
        ("thresholds.confirm_count", thresholds.confirm_count.to_string()),
        ("thresholds.max_replays", thresholds.max_replays.to_string()),
        ("watch.budget", format!("\"{}\"", Watch::default().budget)),
        ("timeouts.connect", text(timeouts.connect)),
        ("timeouts.statement", text(timeouts.statement)),
    ];
    values.into_iter().map(|(key, value)| (key.to_owned(), (value, DEFAULT.to_owned()))).collect()
}

fn lay_over(settings: &mut Layers, table: &toml::Table, origin: &str) {
    for (name, source) in table.get("sources").and_then(Value::as_table).into_iter().flatten() {
        if ADDRESS.iter().any(|key| source.get(key).is_some()) {
            ADDRESS.iter().for_each(|key| drop(settings.remove(&format!("sources.{}.{key}", bare(name)))));
        }
    }
    flatten(settings, "", table, origin);
}

fn flatten(settings: &mut Layers, prefix: &str, table: &toml::Table, origin: &str) {
    for (key, value) in table {
        let key = format!("{prefix}{}", bare(key));
        match value {
            // A replay destination or a validator is one value, however it is written.
            Value::Table(inner) if !key.ends_with(".replay") && !key.ends_with(".validate") => {
                flatten(settings, &format!("{key}."), inner, origin);
            }
            value => drop(settings.insert(key, (value.to_string(), origin.to_owned()))),
        }
    }
}

/// A key as TOML writes it.
fn bare(key: &str) -> String {
    let is_bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if is_bare { key.to_owned() } else { Value::from(key).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(files: &[(&str, &str)]) -> Layers {
        let mut settings = defaults();
        for (origin, text) in files {
            lay_over(&mut settings, &text.parse().expect("TOML"), origin);
        }
        settings
    }

    #[test]
    fn the_upper_layer_wins_key_by_key_and_is_named() {
        let settings = layers(&[
            ("etc", "[ui]\nrefresh = \"5s\"\nmouse = true\n[sources.a]\nurl = \"sqlite:a\"\nstore = \"x\""),
            ("home", "[ui]\nrefresh = \"2s\"\n[sources.a]\nurl_env = \"A\""),
        ]);
        let of = |key: &str| settings.get(key).map(|(value, origin)| (value.as_str(), origin.as_str()));
        assert_eq!(of("ui.refresh"), Some(("\"2s\"", "home")));
        assert_eq!(of("ui.mouse"), Some(("true", "etc")));
        assert_eq!(of("ui.ascii"), Some(("false", "default")));
        assert_eq!(of("sources.a.url"), None, "the address of the upper layer replaces the lower one");
        assert_eq!(of("sources.a.url_env"), Some(("\"A\"", "home")));
        assert_eq!(of("sources.a.store"), Some(("\"x\"", "etc")));
    }

    #[test]
    fn every_default_is_what_an_empty_config_means() {
        let all: String = defaults().iter().map(|(key, (value, _))| format!("{key} = {value}\n")).collect();
        let written = Config::parse(&all).expect("the defaults are a config");
        let empty = Config::parse("").expect("an empty config");
        assert_eq!(format!("{written:?}"), format!("{empty:?}"));
    }

    const TOLD: &str = r#"
        [sources.a]
        url = "postgres://me:hunter2@db/x"
        replay = { command = ["curl", "--verbose", "--token", "hunter2", "--api-key=hunter2", "--data", "a.json"] }
        validate = { command = "check --password hunter2 --token='hunter2' -H 'Authorization: Bearer hunter2'" }
    "#;

    #[test]
    fn passwords_are_not_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("config.toml");
        std::fs::write(&file, TOLD).expect("a file");
        let paths = Paths::within(folder.path().into(), folder.path().into(), Some(file));
        let settings = Config::settings(&paths);
        assert!(settings.iter().any(|s| s.key == "sources.a.url"));
        assert!(settings.iter().any(|s| s.value.contains("--verbose") && s.value.contains("a.json")), "{settings:?}");
        assert!(settings.iter().all(|s| !s.value.contains("hunter2")), "{settings:?}");
    }
}
