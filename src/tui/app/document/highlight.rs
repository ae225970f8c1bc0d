//! Colouring of single lines with syntect, by a grammar set of our own that is compiled into the program.
//!
//! The grammars lie in `assets/syntaxes`; `assets/syntaxes.packdump` is made from them by the test below, run with
//! `DLQ_TUI_UPDATE_ASSETS=1`.

use std::sync::LazyLock;

use syntect::dumps::from_uncompressed_data;
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use super::text_roles::TextRole;

/// Longer lines stay plain: the work grows with the line and a screen shows little of it.
const LONGEST: usize = 8_000;

/// The grammars by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grammar {
    Json,
    Backtrace,
    Message,
}

impl Grammar {
    #[cfg(test)]
    const ALL: [Grammar; 3] = [Grammar::Json, Grammar::Backtrace, Grammar::Message];

    fn name(self) -> &'static str {
        match self {
            Grammar::Json => "JSON",
            Grammar::Backtrace => "Backtrace",
            Grammar::Message => "Message",
        }
    }
}

/// What the scopes of our grammars mean; the first that fits from the innermost scope outwards is taken.
const MEANINGS: [(&str, TextRole); 13] = [
    ("constant.character.escape", TextRole::Escape),
    ("punctuation.definition.key", TextRole::Key),
    ("punctuation.definition.string", TextRole::String),
    ("punctuation", TextRole::Punctuation),
    ("entity.name.key", TextRole::Key),
    ("string", TextRole::String),
    ("constant.numeric.line", TextRole::LineNumber),
    ("constant.numeric", TextRole::Number),
    ("constant.language", TextRole::Literal),
    ("markup.underline.link", TextRole::Link),
    ("entity.name.path", TextRole::Path),
    ("entity.name.function", TextRole::Function),
    ("entity.name.exception", TextRole::ErrorClass),
];

struct Palette {
    set: SyntaxSet,
    meanings: Vec<(Scope, TextRole)>,
}

/// `None` when the dump cannot be read, which a test rules out; lines stay plain then.
static PALETTE: LazyLock<Option<Palette>> = LazyLock::new(|| {
    let set = from_uncompressed_data(include_bytes!("../../../../assets/syntaxes.packdump")).ok()?;
    let meanings = MEANINGS.iter().map(|&(scope, ink)| Some((Scope::new(scope).ok()?, ink))).collect::<Option<_>>()?;
    Some(Palette { set, meanings })
});

impl Palette {
    fn syntax(&self, grammar: Grammar) -> Option<&SyntaxReference> {
        self.set.find_syntax_by_name(grammar.name())
    }

    fn text_role(&self, stack: &ScopeStack) -> Option<TextRole> {
        stack.scopes.iter().rev().find_map(|&scope| {
            self.meanings.iter().find(|(meaning, _)| meaning.is_prefix_of(scope)).map(|&(_, ink)| ink)
        })
    }
}

/// The roles of one line: where each run ends, in bytes, and its role; `None` for what the grammar does not name.
///
/// Every line stands for itself, so that any window can be coloured without what comes before it.
pub(super) fn line(grammar: Grammar, text: &str) -> Vec<(usize, Option<TextRole>)> {
    if text.len() > LONGEST {
        return vec![(text.len(), None)];
    }
    coloured(grammar, text).unwrap_or_else(|| vec![(text.len(), None)])
}

fn coloured(grammar: Grammar, text: &str) -> Option<Vec<(usize, Option<TextRole>)>> {
    let palette = PALETTE.as_ref()?;
    let mut state = ParseState::new(palette.syntax(grammar)?);
    let ops = state.parse_line(text, &palette.set).ok()?;
    let mut stack = ScopeStack::new();
    let mut runs = Vec::new();
    for (at, op) in ops {
        if runs.last().map_or(0, |&(end, _)| end) < at {
            runs.push((at, palette.text_role(&stack)));
        }
        stack.apply(&op).ok()?;
    }
    if runs.last().map_or(0, |&(end, _)| end) < text.len() {
        runs.push((text.len(), palette.text_role(&stack)));
    }
    Some(runs)
}

/// Loads grammars and compiles their expressions, which costs milliseconds once: for a thread that can wait.
pub(super) fn warm_up(grammars: &[Grammar]) {
    for grammar in grammars {
        line(*grammar, "{\"a\": [1, true, \"b\"]} lib/a.rb:1:in 'b'");
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use syntect::dumps::dump_to_uncompressed_file;
    use syntect::parsing::{SyntaxDefinition, SyntaxSetBuilder};

    use super::*;

    fn inks(grammar: Grammar, text: &str) -> Vec<(&str, TextRole)> {
        let mut start = 0;
        let mut pieces = Vec::new();
        for (end, ink) in line(grammar, text) {
            pieces.extend(ink.map(|ink| (&text[start..end], ink)));
            start = end;
        }
        pieces
    }

    /// The pieces of one role, joined where they touch.
    fn of(grammar: Grammar, text: &str, wanted: TextRole) -> String {
        inks(grammar, text).into_iter().filter(|(_, ink)| *ink == wanted).map(|(piece, _)| piece).collect()
    }

    #[test]
    fn the_committed_dump_is_made_from_the_grammars_beside_it() {
        let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
        let mut builder = SyntaxSetBuilder::new();
        // In the order of their names: a folder lists its files in any order, and the dump depends on it.
        let mut grammars: Vec<_> =
            std::fs::read_dir(assets.join("syntaxes")).expect("folder").map(|f| f.expect("file").path()).collect();
        grammars.sort();
        for path in grammars {
            let text = std::fs::read_to_string(&path).expect("grammar");
            builder.add(SyntaxDefinition::load_from_str(&text, true, None).expect("grammar"));
        }
        let fresh = tempfile::NamedTempFile::new().expect("file");
        dump_to_uncompressed_file(&builder.build(), fresh.path()).expect("dump");
        let fresh = std::fs::read(fresh.path()).expect("dump");
        let committed = assets.join("syntaxes.packdump");
        if std::env::var_os("DLQ_TUI_UPDATE_ASSETS").is_some() {
            std::fs::write(&committed, &fresh).expect("written");
        }
        let stale = std::fs::read(&committed).expect("dump") != fresh;
        assert!(!stale, "run this test with DLQ_TUI_UPDATE_ASSETS=1 and commit assets/syntaxes.packdump");
        for grammar in Grammar::ALL {
            assert!(PALETTE.as_ref().and_then(|palette| palette.syntax(grammar)).is_some(), "{grammar:?}");
        }
    }

    #[test]
    fn json_is_told_apart_in_any_line_of_it() {
        let text = r#"  "id": [12345678901234567890.10, "a\nb", true],"#;
        assert_eq!(of(Grammar::Json, text, TextRole::Key), "\"id\"");
        assert_eq!(of(Grammar::Json, text, TextRole::Number), "12345678901234567890.10");
        assert_eq!(of(Grammar::Json, text, TextRole::String), "\"ab\"");
        assert_eq!(of(Grammar::Json, text, TextRole::Escape), "\\n");
        assert_eq!(of(Grammar::Json, text, TextRole::Literal), "true");
        let link = r#""url": "https://shop.test/o/1","#;
        assert_eq!(of(Grammar::Json, link, TextRole::Link), "https://shop.test/o/1");
    }

    #[test]
    fn frames_of_many_languages_show_path_line_and_function() {
        for (frame, path, line, function) in [
            ("app/jobs/charge.rb:12:in `perform'", "app/jobs/charge.rb", "12", "perform"),
            ("/srv/app/x.rb:3:in 'Charge#call'", "/srv/app/x.rb", "3", "Charge#call"),
            ("  File \"/srv/app/tasks.py\", line 7, in run", "\"/srv/app/tasks.py\"", "7", "run"),
            ("    (shop 0.1.0) lib/shop/pay.ex:41: Shop.Pay.charge/2", "lib/shop/pay.ex", "41", "Shop.Pay.charge/2"),
            ("\t/srv/app/worker.go:88 +0x1d", "/srv/app/worker.go", "88", ""),
            ("main.(*Worker).Perform(0xc000010000, 0x1)", "", "", "main.(*Worker).Perform"),
            ("    at Billing.charge (/srv/app/billing.js:12:5)", "/srv/app/billing.js", "12:5", "Billing.charge"),
            ("\tat com.shop.Job.run(Job.java:12)", "Job.java", "12", "com.shop.Job.run"),
            ("#0 /srv/app/Job.php(12): App\\Job->handle()", "/srv/app/Job.php", "12", "App\\Job->handle()"),
        ] {
            let found = |ink| of(Grammar::Backtrace, frame, ink);
            assert_eq!(found(TextRole::Path), path, "{frame}");
            assert_eq!(found(TextRole::LineNumber), line, "{frame}");
            assert_eq!(found(TextRole::Function), function, "{frame}");
        }
    }

    #[test]
    fn the_class_at_the_start_of_a_message_is_seen() {
        let text = "Stripe::CardError: card \"4242\" was declined after 3 tries";
        assert_eq!(of(Grammar::Message, text, TextRole::ErrorClass), "Stripe::CardError");
        assert_eq!(of(Grammar::Message, text, TextRole::String), "\"4242\"");
        assert_eq!(of(Grammar::Message, text, TextRole::Number), "3");
    }

    #[test]
    fn a_line_of_megabytes_stays_plain() {
        let text = "[1, ".repeat(500_000);
        assert_eq!(line(Grammar::Json, &text), [(text.len(), None)]);
    }
}
