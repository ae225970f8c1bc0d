//! Keys as strings, and the bytes that a terminal sends for them.

/// The bytes for a string of keys. Characters stand for themselves; a name stands in angle brackets: `<Enter>` `<Esc>`
/// `<Tab>` `<S-Tab>` `<Space>` `<Backspace>` `<Delete>` `<Insert>` `<Up>` `<Down>` `<Left>` `<Right>` `<Home>` `<End>`
/// `<PageUp>` `<PageDown>` `<F1>`…`<F12>`, `<C-x>` with control, `<A-x>` with alt, and `<lt>` for `<` itself.
///
/// # Panics
/// On a name it does not know: the test is wrong.
pub fn bytes(keys: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = keys;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        if character == '<' {
            let (name, after) = rest.split_once('>').unwrap_or_else(|| panic!("no `>` after `<` in keys {keys:?}"));
            bytes.extend(named(name).unwrap_or_else(|| panic!("no key is called <{name}>, in {keys:?}")));
            rest = after;
        } else {
            bytes.extend(character.to_string().bytes());
        }
    }
    bytes
}

fn named(name: &str) -> Option<Vec<u8>> {
    if let Some(key) = name.strip_prefix("C-") {
        let letter = key.bytes().next().filter(|letter| key.len() == 1 && letter.is_ascii_graphic())?;
        return Some(vec![letter.to_ascii_uppercase() & 0x1f]);
    }
    if let Some(key) = name.strip_prefix("A-") {
        let key = if key.chars().count() == 1 { key.to_owned().into_bytes() } else { named(key)? };
        return Some([b"\x1b".as_slice(), &key].concat());
    }
    let sequence = match name {
        "Enter" => "\r",
        "Esc" => "\x1b",
        "Tab" => "\t",
        "S-Tab" => "\x1b[Z",
        "Space" => " ",
        "lt" => "<",
        "Backspace" => "\x7f",
        "Delete" => "\x1b[3~",
        "Insert" => "\x1b[2~",
        "Up" => "\x1b[A",
        "Down" => "\x1b[B",
        "Right" => "\x1b[C",
        "Left" => "\x1b[D",
        "Home" => "\x1b[H",
        "End" => "\x1b[F",
        "PageUp" => "\x1b[5~",
        "PageDown" => "\x1b[6~",
        _ => return function_key(name),
    };
    Some(sequence.as_bytes().to_vec())
}

fn function_key(name: &str) -> Option<Vec<u8>> {
    const CODES: [&str; 12] = ["OP", "OQ", "OR", "OS", "[15~", "[17~", "[18~", "[19~", "[20~", "[21~", "[23~", "[24~"];
    let number: usize = name.strip_prefix('F')?.parse().ok()?;
    Some(format!("\x1b{}", CODES.get(number.checked_sub(1)?)?).into_bytes())
}

mod tests {
    use super::bytes;

    #[test]
    fn keys_are_the_bytes_that_a_terminal_sends() {
        assert_eq!(bytes("j12G"), b"j12G");
        assert_eq!(bytes("<C-d><C-u>"), [4, 21]);
        assert_eq!(bytes("é<Enter><Esc>"), "é\r\x1b".as_bytes());
        assert_eq!(bytes("<A-x><A-Enter>"), b"\x1bx\x1b\r");
        assert_eq!(bytes("<lt>a><F5><S-Tab>"), b"<a>\x1b[15~\x1b[Z");
    }

    #[test]
    #[should_panic(expected = "no key is called <Retrun>")]
    fn an_unknown_key_is_the_tests_own_fault() {
        bytes("<Retrun>");
    }
}
