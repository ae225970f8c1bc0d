//! Rules that name keys, and the keys that are secret by default.

/// Keys that are taken for secrets, as rules. Case, `_`, `-` and spaces do not count: `apikey` is `API-Key` too.
pub(super) const WELL_KNOWN: &[&str] = &[
    "*password*",
    "*passwd",
    "*passphrase",
    "*passwort",
    "*motdepasse",
    "*contraseña",
    "*contrasena",
    "pwd",
    "pass",
    "passcode",
    "*secret",
    "*secretkey",
    "secretkeybase",
    "*clientsecret*",
    "token",
    "*accesstoken",
    "*authtoken",
    "*apitoken",
    "*refreshtoken",
    "idtoken",
    "*sessiontoken",
    "*bearertoken",
    "*csrftoken",
    "*secrettoken",
    "jwt",
    "*authorization",
    "*apikey",
    "*accesskey",
    "*accesskeyid",
    "*privatekey",
    "*encryptionkey",
    "*signingkey",
    "*credential",
    "*credentials",
    "cookie",
    "setcookie",
    "sessionid",
    "*cardnumber",
    "*creditcard",
    "ccnumber",
    "pan",
    "card.number",
    "*cvv",
    "cvv2",
    "cvc",
    "cvc2",
    "*securitycode",
    "pin",
    "pincode",
    "otp",
    "ssn",
    "*socialsecuritynumber",
    "*iban",
    "*bankaccountnumber",
    "*routingnumber",
];

/// Words that make a key a secret where they are the last of several: `stripe_token`, `smtpPass`. Not in a name of a class,
/// `InvalidToken`, behind which a message stands.
const LAST_WORDS: [&str; 2] = ["token", "pass"];

/// Whether the last of the words of `key` makes it a secret, however many stand before it.
pub(super) fn ends_in_secret_word(key: &str) -> bool {
    LAST_WORDS.iter().any(|word| {
        let Some(at) = key.len().checked_sub(word.len()).filter(|at| key.is_char_boundary(*at)) else { return false };
        let (before, last) = key.split_at(at);
        let is_word = before.ends_with(['_', '-', ' '])
            || (last.starts_with(char::is_uppercase) && before.starts_with(char::is_lowercase));
        is_word && last.eq_ignore_ascii_case(word)
    })
}

/// The last part of a key that names a path by itself, `user.token` or `user[token]`.
pub(super) fn last_part(key: &str) -> &str {
    let key = key.strip_suffix(']').unwrap_or(key);
    key.rsplit(['.', '[', ':']).next().unwrap_or(key)
}

/// Keys in a row, each with `*` for any characters: `card.number` is any `number` directly inside any `card`.
///
/// Elements of arrays are not named, as in filters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyRule(Vec<String>);

impl KeyRule {
    pub(super) fn new(text: &str) -> Self {
        // `**` and `items[0]` are how other programs write what holds anyway: any depth, and elements without a name.
        let keys = text.split('.').map(|key| key.split('[').next().unwrap_or_default());
        let is_named = |key: &&str| !key.is_empty() && *key != "$" && !key.bytes().all(|b| b.is_ascii_digit());
        let mut keys: Vec<String> = keys.filter(is_named).map(folded).collect();
        let any_depth = keys.iter().take_while(|key| *key == "**").count();
        keys.drain(..any_depth.min(keys.len().saturating_sub(1)));
        Self(keys)
    }

    /// Whether the keys on the way to a value, the last first, end in this rule's keys. `keys` are folded.
    pub(super) fn matches<'a>(&self, keys: impl Iterator<Item = &'a str>) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let mut keys = keys;
        self.0.iter().rev().all(|pattern| keys.next().is_some_and(|key| glob(pattern, key)))
    }

    /// Whether it needs no other key than the last.
    pub(super) fn is_single(&self) -> bool {
        self.0.len() == 1
    }

    /// Whether it could concern a value whose own key is `key`.
    pub(super) fn ends_in(&self, key: &str) -> bool {
        self.0.last().is_some_and(|pattern| glob(pattern, key))
    }
}

/// A key without what spellings differ in.
pub(super) fn folded(key: &str) -> String {
    key.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Whether `text` is what `pattern` describes, `*` standing for any characters. Linear but for the stars' own restarts.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = text.strip_prefix(parts.next().unwrap_or("")) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    let mut rest = rest;
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_several_words_makes_a_secret() {
        for secret in ["stripe_token", "X-Vault-Token", "deviceToken", "smtp_pass", "USER_PASS", "userPass"] {
            assert!(ends_in_secret_word(secret), "{secret}");
        }
        for other in
            ["tokens", "max_tokens", "token_type", "token_count", "InvalidToken", "compass", "bypass", "ñtoken", "é"]
        {
            assert!(!ends_in_secret_word(other), "{other}");
        }
        assert_eq!([last_part("user.token"), last_part("user[token]"), last_part("pin")], ["token", "token", "pin"]);
    }

    #[test]
    fn stars_stand_for_any_characters_and_the_rest_for_itself() {
        for (pattern, text, fits) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*b*c", "axbyc", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("*b*", "abc", true),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
        }
    }
}
