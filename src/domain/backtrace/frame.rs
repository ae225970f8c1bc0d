//! Recognising a frame by how each language prints it. The shapes are tried in turn; no language is guessed beforehand.

use std::sync::LazyLock;

use crate::domain::bounded_regex::{BoundedRegex, RegexMatch};

/// Bytes of the longest line that can be a frame.
const MAX_LINE: usize = 2_000;

/// A line that is a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    pub file: Option<String>,
    pub line: Option<u32>,
    pub function: Option<String>,
    /// The package that the frame names itself.
    pub package: Option<String>,
    /// Whether only names tell whose frame it is, because its file has no folder that would.
    pub by_name: bool,
    /// Whether lines of code may follow.
    pub has_code: bool,
}

/// One language's frame. The groups `file`, `line`, `function` and `package` are taken where they are there.
struct FrameFormat {
    pattern: BoundedRegex,
    by_name: bool,
    has_code: bool,
}

/// What `\w` stands for between the brackets of the shapes: the letters of any script, by whatever bytes.
const WORD: &str = r"A-Za-z0-9_\x80-\xFF";

static SHAPES: LazyLock<Vec<FrameFormat>> = LazyLock::new(|| {
    let shape = |pattern: &str, by_name, has_code| {
        Some(FrameFormat { pattern: BoundedRegex::new(&pattern.replace(r"\w", WORD))?, by_name, has_code })
    };
    let shapes = [
        // Python: `  File "app/x.py", line 3, in f`, and below it the code
        shape(r#"^\s*File "(?P<file>[^"]+)", line (?P<line>[0-9]+)(?:, in (?P<function>.+))?$"#, false, true),
        // PHP: `#0 /srv/x.php(36): App\Job->handle()`
        shape(r"^#[0-9]+ (?P<file>.+?)\((?P<line>[0-9]+)\): (?P<function>.*)$", false, false),
        shape(r"^#[0-9]+ (?P<file>\[internal function\]): (?P<function>.*)$", false, false),
        // Java: `	at com.acme.Foo.bar(Foo.java:12)`
        shape(
            r"^\s*at (?P<function>(?:[\w.\-@]+/)*[\w.$<>]+)\((?P<file>[^():]+)(?::(?P<line>[0-9]+))?\)$",
            true,
            false,
        ),
        // JavaScript: `    at async f (/srv/x.js:1:2)`, `    at /srv/x.js:1:2`
        shape(r"^\s*at (?P<function>.+?) \((?P<file>.+?)(?::(?P<line>[0-9]+))?(?::[0-9]+)?\)$", false, false),
        shape(r"^\s*at (?:async )?(?P<file>\S+?):(?P<line>[0-9]+)(?::[0-9]+)?$", false, false),
        // Elixir and Erlang: `    (app 1.2.3) lib/x.ex:12: Mod.fun/2`
        shape(
            r"^\s*(?:\((?P<package>[\w][\w.]*)(?: [^)]*)?\) )?(?P<file>[^\s:()]+\.(?:exs?|[ehl]?eex|erl|hrl)):(?P<line>[0-9]+): (?P<function>.+)$",
            true,
            false,
        ),
        shape(r"^\s+\((?P<package>[\w][\w.]*) [0-9][^)]*\) (?P<function>\S+/[0-9]+)$", true, false),
        // Ruby: `app/x.rb:12:in 'Foo#bar'`
        shape(
            r"^\s*(?:from )?(?P<file><internal:[^>]+>|\([\w]+\)|(?:[A-Za-z]:)?[^:]+):(?P<line>[0-9]+):in [`'](?P<function>.+?)'?$",
            false,
            false,
        ),
        shape(
            r"^\s*(?:from )?(?P<file>(?:[A-Za-z]:)?[^\s:]*[./][^\s:]*\.[A-Za-z0-9_]{1,5}):(?P<line>[0-9]+)(?::in)?$",
            false,
            false,
        ),
    ];
    shapes.into_iter().flatten().collect()
});

/// Go: the place stands below the function, after a tab.
static PLACE: LazyLock<Option<BoundedRegex>> =
    LazyLock::new(|| BoundedRegex::new(r"^\t(?P<file>\S.*?):(?P<line>[0-9]+)(?: \+0x[0-9a-f]+)?$"));

/// `line` as a frame, if it is one.
pub(super) fn parse(line: &str) -> Option<Parsed> {
    if line.len() > MAX_LINE {
        return None;
    }
    SHAPES.iter().find_map(|shape| {
        let found = shape.pattern.first(line)?;
        Some(Parsed { by_name: shape.by_name, has_code: shape.has_code, ..taken(&found) })
    })
}

/// The frame whose function is `above` and whose place is the line below it.
pub(super) fn place_below(above: &str, line: &str) -> Option<Parsed> {
    let calls = above.ends_with(')') || above.starts_with("created by ") || above.contains('.');
    if !line.starts_with('\t') || line.len() > MAX_LINE || !calls || above.starts_with([' ', '\t']) {
        return None;
    }
    let found = PLACE.as_ref()?.first(line)?;
    let function = above.strip_prefix("created by ").unwrap_or(above);
    let function = function.split(" in goroutine").next().unwrap_or(function);
    Some(Parsed { function: Some(function.to_owned()), ..taken(&found) })
}

fn taken(found: &RegexMatch<'_>) -> Parsed {
    let get = |group| found.get(group).map(str::to_owned);
    Parsed {
        file: get("file"),
        line: get("line").and_then(|digits| digits.parse().ok()),
        function: get("function"),
        package: get("package"),
        ..Parsed::default()
    }
}
