//! What the TOML reader says of a value, in an operator's words: it speaks of the types and variants of our own source.

/// A message of the reader in words that need no knowledge of the program; others stay as they are.
pub fn plain(message: &str) -> String {
    if let Some((found, wanted)) = misfit(message) {
        return format!("found {} where {} is expected", value(found), kind(wanted));
    }
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("the key {key} is missing");
    }
    if let Some(key) = message.strip_prefix("duplicate field ") {
        return format!("duplicate key {key}");
    }
    if message.starts_with("unknown variant ") {
        let mut words = message.split('`').skip(1).step_by(2);
        let found = words.next().unwrap_or_default();
        let known: Vec<&str> = words.collect();
        return match super::nearest(found, known.iter().copied()) {
            Some(near) => format!("unknown word `{found}`; did you mean `{near}`?"),
            None => format!("unknown word `{found}`; known here: {}", known.join(", ")),
        };
    }
    if message.contains("untagged enum") {
        return "the value has the wrong form for this key".to_owned();
    }
    message.to_owned()
}

/// What was found and what was expected, as the reader names them.
fn misfit(message: &str) -> Option<(&str, &str)> {
    let rest = ["invalid type: ", "invalid value: "].into_iter().find_map(|begin| message.strip_prefix(begin))?;
    // The value comes first and may hold the word, too.
    rest.rsplit_once(", expected ")
}

fn value(found: &str) -> String {
    let (sort, quoted) = found.split_once(' ').unwrap_or((found, ""));
    match sort {
        "integer" | "boolean" | "floating" | "float" => quoted.trim_start_matches("point ").to_owned(),
        "string" if quoted.len() > 2 => quoted.to_owned(),
        "string" => "an empty text".to_owned(),
        "sequence" => "a list".to_owned(),
        "map" => "a section".to_owned(),
        "datetime" => "a date".to_owned(),
        _ => found.to_owned(),
    }
}

fn kind(wanted: &str) -> &str {
    match wanted {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "a nonzero u64" | "a nonzero u32" | "a nonzero usize" => "a whole number above 0",
        "f32" | "f64" => "a number",
        "a boolean" | "bool" => "true or false",
        "a string" | "a borrowed string" | "string or map" | "a character" => "a text in quotes",
        "a sequence" => "a list",
        "a map" => "a section",
        wanted if wanted.starts_with("struct ") => "a section",
        wanted if wanted.starts_with("enum ") || wanted.starts_with("tuple ") => "another form",
        wanted => wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_variants_of_the_source_are_not_told() {
        for (said, wanted) in [
            (
                "invalid type: string \"ten\", expected u64",
                "found \"ten\" where a whole number that is not negative is expected",
            ),
            (
                "invalid value: integer `-1`, expected usize",
                "found `-1` where a whole number that is not negative is expected",
            ),
            ("invalid type: integer `5`, expected a boolean", "found `5` where true or false is expected"),
            (
                "invalid type: floating point `1.5`, expected u32",
                "found `1.5` where a whole number that is not negative is expected",
            ),
            ("invalid type: string \"x\", expected struct RawUi", "found \"x\" where a section is expected"),
            ("invalid type: map, expected a string", "found a section where a text in quotes is expected"),
            ("missing field `url`", "the key `url` is missing"),
            ("unknown variant `darc`, expected one of `dark`, `light`", "unknown word `darc`; did you mean `dark`?"),
            ("data did not match any variant of untagged enum Chords", "the value has the wrong form for this key"),
            ("invalid string, expected `\"`, `'`", "invalid string, expected `\"`, `'`"),
        ] {
            assert_eq!(plain(said), wanted, "{said}");
        }
    }
}
