//! A jq expression over the arguments of one job.
//!
//! It sees the arguments alone: no clock, environment, file or other input. It has no limits of its own: it can use up time,
//! memory and stack, so it runs in a child process only.

use std::fmt::{self, Write as _};
use std::io;

use jaq_core::load::{Arena, Errors, File, Loader, lex, parse};
use jaq_core::{Compiler, Ctx, Filter, Vars, compile, data, load, unwrap_valr};
use jaq_json::{Val, read, write};
use thiserror::Error;

/// Filters that see or reach more than the arguments, and the definitions that use them.
const LEFT_OUT: [&str; 12] = [
    "env",
    "now",
    "localtime",
    "strflocaltime",
    "halt",
    "halt_error",
    "debug",
    "debug_empty",
    "stderr",
    "stderr_empty",
    "input",
    "inputs",
];

/// Containers within one another that arguments may have: the language reads them by recursion, and what is changed is compared
/// to the same depth.
const MAX_DEPTH: usize = 256;

/// Characters of an error that are told.
const MAX_ERROR_LENGTH: usize = 300;

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the expression cannot be read at character {at}: {reason}")]
pub struct ExpressionError {
    /// The character where it fails, from 1.
    pub at: usize,
    /// What was expected, or is unknown.
    pub reason: String,
}

/// What an expression made of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evaluation {
    /// The same value.
    Unchanged,
    /// Another value.
    Changed {
        /// The text as the language writes it without a change.
        before: String,
        /// The new value, written in the same way.
        after: String,
    },
    /// No value, and why.
    Failed(String),
}

type Values = data::JustLut<Val>;

/// An expression that was checked.
pub struct Expression {
    filter: Filter<Values>,
}

impl Expression {
    /// Checks `code`.
    ///
    /// # Errors
    /// Says where and why when it is not an expression, or names what is not there.
    pub fn parse(code: &str) -> Result<Self, ExpressionError> {
        let is_allowed = |name: &str| !LEFT_OUT.contains(&name);
        let defs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs()).filter(|def| is_allowed(def.name));
        let funs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs()).filter(|fun| is_allowed(fun.0));
        let arena = Arena::default();
        let modules =
            Loader::new(defs).load(&arena, File { code, path: () }).map_err(|errors| unreadable(code, errors))?;
        load::import(&modules, |_| Err(String::new())).map_err(|errors| unreadable(code, errors))?;
        let filter = Compiler::default().with_funs(funs).compile(modules).map_err(|errors| undefined(code, errors))?;
        Ok(Self { filter })
    }

    /// The one value of the expression for `text`; at most `max_length` bytes of it.
    pub fn evaluate(&self, text: &str, max_length: usize) -> Evaluation {
        self.changed(text, max_length).unwrap_or_else(Evaluation::Failed)
    }

    fn changed(&self, text: &str, max_length: usize) -> Result<Evaluation, String> {
        if depth(text) > MAX_DEPTH {
            return Err(format!("the arguments have more than {MAX_DEPTH} levels"));
        }
        let value = read::parse_single(text.as_bytes()).map_err(|_| "the arguments are not JSON".to_owned())?;
        let before = printed(&value, max_length)?;
        let context = Ctx::<Values>::new(&self.filter.lut, Vars::new([]));
        let mut values = self.filter.id.run((context, value)).map(unwrap_valr);
        let value = values.next().ok_or("the expression has no value here")?;
        let after = printed(&value.map_err(thrown)?, max_length)?;
        match values.next() {
            Some(Err(e)) => Err(thrown(e)),
            Some(Ok(_)) => Err("the expression has more than one value here".to_owned()),
            None if before == after => Ok(Evaluation::Unchanged),
            None => Ok(Evaluation::Changed { before, after }),
        }
    }
}

/// Containers within one another in a JSON text; of any other text, some number.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut is_escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// JSON on one line.
fn printed(value: &Val, max_length: usize) -> Result<String, String> {
    let mut out = Bounded { bytes: Vec::new(), max_length };
    write::write(&mut out, &write::Pp::default(), 0, value)
        .map_err(|_| format!("the value is longer than {max_length} bytes"))?;
    String::from_utf8(out.bytes).map_err(|_| "the value holds text that is not UTF-8".to_owned())
}

/// Collects what is written, up to a length.
struct Bounded {
    bytes: Vec<u8>,
    max_length: usize,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.max_length {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What an expression failed with.
fn thrown(error: jaq_json::Error) -> String {
    match error.into_val() {
        Val::TStr(text) => shortened(&String::from_utf8_lossy(&text)),
        other => shortened(&other),
    }
}

/// The beginning of an error, however long the values are that it names.
fn shortened(error: &dyn fmt::Display) -> String {
    struct Head(String);
    impl fmt::Write for Head {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let left = MAX_ERROR_LENGTH.saturating_sub(self.0.chars().count());
            self.0.extend(text.chars().take(left));
            if text.chars().nth(left).is_some() { Err(fmt::Error) } else { Ok(()) }
        }
    }
    let mut head = Head(String::new());
    if write!(head, "{error}").is_err() {
        head.0.push('…');
    }
    head.0
}

/// The character of `code` where `part`, which is cut from it, begins.
fn position(code: &str, part: &str) -> usize {
    let at = (part.as_ptr() as usize).wrapping_sub(code.as_ptr() as usize);
    code.get(..at).unwrap_or(code).chars().count() + 1
}

fn unreadable(code: &str, errors: Errors<&str, ()>) -> ExpressionError {
    let first = errors.into_iter().next().map(|(_, error)| error);
    let found = |part: &str| match part.chars().take(20).collect::<String>() {
        part if part.is_empty() => "it ends".to_owned(),
        part => format!("found `{part}`"),
    };
    match first {
        Some(load::Error::Lex(errors)) => match errors.into_iter().next() {
            Some((expected, part)) => not_as_expected(code, part, lexed(&expected), &found(part)),
            None => not_as_expected(code, "", "an expression", "found none"),
        },
        Some(load::Error::Parse(errors)) => match errors.into_iter().next() {
            Some((expected, part)) => not_as_expected(code, part, parsed(&expected), &found(part)),
            None => not_as_expected(code, "", "an expression", "found none"),
        },
        Some(load::Error::Io(parts)) => {
            let at = parts.first().map_or(1, |(part, _)| position(code, part));
            ExpressionError { at, reason: "it cannot load files".to_owned() }
        }
        None => not_as_expected(code, "", "an expression", "found none"),
    }
}

fn not_as_expected(code: &str, part: &str, expected: &str, found: &str) -> ExpressionError {
    ExpressionError { at: position(code, part), reason: format!("expected {expected}, but {found}") }
}

fn lexed(expected: &lex::Expect<&str>) -> &'static str {
    match expected {
        // The library has no words for other delimiters.
        lex::Expect::Delim(open) if !["(", "[", "{", "\""].contains(open) => "a closing delimiter",
        expected => expected.as_str(),
    }
}

fn parsed<'c>(expected: &parse::Expect<&'c str>) -> &'c str {
    match expected {
        parse::Expect::Nothing => "the end",
        expected => expected.as_str(),
    }
}

fn undefined(code: &str, errors: compile::Errors<&str, ()>) -> ExpressionError {
    let first = errors.into_iter().flat_map(|(_, errors)| errors).next();
    let Some((name, what)) = first else {
        return ExpressionError { at: 1, reason: "it cannot be compiled".to_owned() };
    };
    let at = position(code, name);
    let bare = name.trim_start_matches('$');
    let reason = match &what {
        _ if LEFT_OUT.contains(&bare) || ["ENV", "__prog_args"].contains(&bare) => {
            format!("{name} is left out: an expression sees the arguments of the job alone")
        }
        compile::Undefined::Filter(arity) => format!("there is no filter {name}/{arity}"),
        what => format!("there is no {} {name}", what.as_str()),
    };
    ExpressionError { at, reason }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const LENGTH: usize = 1 << 20;

    fn evaluated(code: &str, text: &str) -> Evaluation {
        Expression::parse(code).expect("an expression").evaluate(text, LENGTH)
    }

    fn after(code: &str, text: &str) -> String {
        match evaluated(code, text) {
            Evaluation::Changed { after, .. } => after,
            other => panic!("{code}: {other:?}"),
        }
    }

    fn refused(code: &str) -> String {
        Expression::parse(code).err().unwrap_or_else(|| panic!("{code} is an expression")).to_string()
    }

    #[test]
    fn numbers_keep_their_digits_and_keys_their_order() {
        let text = r#"{"z":12345678901234567890123,"a":1.10,"e":1e400,"currency":null}"#;
        assert_eq!(after(r#".currency = "EUR""#, text), text.replace("null", "\"EUR\""));
    }

    #[test]
    fn what_is_the_same_is_unchanged_however_it_is_spaced() {
        assert_eq!(evaluated(".", " { \"a\" : 1.0 }\n"), Evaluation::Unchanged);
        assert_eq!(evaluated(".a //= 2", r#"{"a":-0}"#), Evaluation::Unchanged);
        assert_eq!(after(".a = 1", r#"{"a":1.0}"#), r#"{"a":1}"#, "another number, as some programs tell them apart");
    }

    #[test]
    fn an_expression_has_one_value_or_fails() {
        for (code, text, why) in [
            ("empty", "1", "no value"),
            (".[]", "[1,2]", "more than one"),
            (". + 1", "\"a\"", "cannot calculate"),
            ("error(\"no such plan\")", "1", "no such plan"),
            (".", "{", "not JSON"),
            ("[range(9)]", "1", ""),
        ] {
            match evaluated(code, text) {
                Evaluation::Failed(said) => assert!(said.contains(why) && !why.is_empty(), "{code}: {said}"),
                other => assert!(why.is_empty(), "{code}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_value_and_an_error_have_a_greatest_length() {
        let long = Expression::parse("[range(100)]").expect("an expression").evaluate("1", 64);
        assert_eq!(long, Evaluation::Failed("the value is longer than 64 bytes".to_owned()));
        let Evaluation::Failed(said) = evaluated("[range(1000)] + 1", "1") else { panic!("no error") };
        assert!(said.starts_with("cannot calculate [0,1") && said.ends_with('…'), "{said}");
        assert_eq!(said.chars().count(), MAX_ERROR_LENGTH + 1);
    }

    #[test]
    fn arguments_have_a_greatest_depth_in_which_brackets_in_texts_do_not_count() {
        let nested = |levels: usize| {
            let (open, close) = ("{\"a\":[".repeat(levels / 2), "]}".repeat(levels / 2));
            format!("{open}\"{}\\\"[\"{close}", "[".repeat(MAX_DEPTH))
        };
        assert_eq!(evaluated(".", &nested(MAX_DEPTH)), Evaluation::Unchanged);
        let too_deep = Evaluation::Failed("the arguments have more than 256 levels".to_owned());
        assert_eq!(evaluated(".", &nested(MAX_DEPTH + 2)), too_deep);
    }

    #[test]
    fn an_error_says_where_it_is() {
        for (code, said) in [
            (".a = ", "at character 6: expected term, but it ends"),
            ("\"ä\" | |", "at character 7: expected term, but found `|`"),
            ("(.a", "at character 4: expected closing parenthesis"),
            (".a | nosuch(1)", "at character 6: there is no filter nosuch/1"),
            ("$other", "there is no variable $other"),
        ] {
            assert!(refused(code).contains(said), "{code}: {}", refused(code));
        }
    }

    #[test]
    fn an_expression_sees_the_arguments_alone() {
        for code in [
            "env",
            "$ENV",
            "$ENV.HOME",
            "now",
            "0 | localtime",
            "0 | strflocaltime(\"%Y\")",
            "halt",
            "halt(1)",
            "halt_error",
            "debug",
            "debug(1)",
            "stderr",
            "input",
            "[inputs]",
            "$__prog_args",
        ] {
            assert!(refused(code).contains("is left out"), "{code}: {}", refused(code));
        }
        assert!(refused("include \"other\"; .").contains("cannot load files"));
        assert!(refused("import \"other\" as $data; $data").contains("cannot load files"));
        for code in ["input_filename", "input_line_number", "$__loc__", "get_search_list", "modulemeta"] {
            refused(code);
        }
    }

    /// What the language has beside definitions in itself. A new name has to be looked at before it is allowed.
    #[test]
    fn every_native_filter_is_known() {
        let funs = jaq_core::funs::<Values>().chain(jaq_std::funs()).chain(jaq_json::funs());
        let names: BTreeSet<&str> = funs.map(|fun| fun.0).filter(|name| !LEFT_OUT.contains(name)).collect();
        let known = "acos acosh ascii_downcase ascii_upcase asin asinh atan atan2 atanh bsearch cbrt ceil contains \
             copysign cos cosh decode_base64 decode_uri encode_base64 encode_uri endswith erf erfc error_empty \
             escape_html escape_sh exp exp10 exp2 explode expm1 fabs fdim first floor fma fmax fmin fmod frexp \
             fromdateiso8601 fromjson gmtime group_by has hypot ilogb implode indices j0 j1 jn key_values \
             keys_unsorted last ldexp length lgamma limit log log10 log1p log2 ltrim ltrimstr matches \
             max_by_or_empty min_by_or_empty mktime modf nearbyint nextafter path path_value pow range remainder \
             reverse rint round rtrim rtrimstr scalbln sin sinh skip sort sort_by split_ split_matches sqrt \
             startswith strftime strptime tan tanh tgamma tobytes todateiso8601 tojson trim trunc unescape_html \
             utf8bytelength y0 y1 yn";
        assert_eq!(names.into_iter().collect::<Vec<_>>().join(" "), known);
    }
}
