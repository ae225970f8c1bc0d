//! The files under `docs/` say what the program says.

use super::User;

#[test]
fn the_generated_references_are_up_to_date() {
    let user = User::new();
    for name in ["commands", "filter", "adapters", "keys"] {
        let printed = user.run(&["docs", name]);
        printed.with(0);
        let path = format!("{}/docs/{name}.md", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &printed.out).expect("a file");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == printed.out,
            "docs/{name}.md is stale: `UPDATE_DOCS=1 cargo test --test it references` renews it"
        );
    }
}

#[test]
fn help_and_version_are_data() {
    let user = User::new();
    let help = user.run(&["--help"]);
    assert!(help.with(0).is_empty() && help.out.contains("Exit codes"));
    assert!(user.run(&["--version"]).out.starts_with("dlq-tui "));
    user.run(&["no-such-command"]).with(2);
}
