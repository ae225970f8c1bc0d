//! The pages that people read: links between them lead somewhere, and the config page describes the program's config.

use std::path::{Path, PathBuf};

use super::User;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every Markdown page in the root and in `docs/`.
fn pages() -> Vec<PathBuf> {
    let folders = [root(), root().join("docs")];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder"));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// The lines of a page outside its code blocks.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    page.lines().filter(move |line| {
        let fence = line.starts_with("```");
        in_code ^= fence;
        !in_code && !fence
    })
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(page: &str) -> Vec<String> {
    let headings =
        prose(page).filter_map(|line| line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')));
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    headings.map(|heading| heading.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")).collect()
}

/// The targets of a line's links and pictures, without those on other sites.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    targets.filter(|target| !target.contains("://"))
}

#[test]
fn links_between_pages_lead_to_a_file_and_a_heading() {
    let mut broken = Vec::new();
    for path in pages() {
        let page = read(&path);
        for link in prose(&page).flat_map(links) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.parent().expect("a folder").join(file) };
            let found = target.exists() && (anchor.is_empty() || anchors(&read(&target)).iter().any(|a| a == anchor));
            if !found {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
}

#[test]
fn the_config_page_has_every_key_and_its_example_is_valid() {
    let page = read(&root().join("docs/config.md"));
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split_once("```")).expect("an example").0;
    let printed = User::new().configured(example).run(&["config"]);
    printed.with(0);
    let keys = printed.out.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(" = "));
    let missing: Vec<String> = keys
        .map(|(key, _)| key.replace("sources.billing.", "sources.NAME."))
        .filter(|key| !key.starts_with("keys.") && !page.contains(&format!("`{key}`")))
        .collect();
    assert!(missing.is_empty(), "docs/config.md lacks {missing:?}");
}
