//! The bindings as they hold: those of the table, or what the config puts in their place.

use std::collections::HashMap;
use std::sync::Arc;

use super::{BINDINGS, Binding, Chord, KeyCommand, KeyContext};
use crate::config::nearest;

/// A line of the table with the keys that it has here.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundKeys {
    /// Keys as text.
    pub keys: Vec<String>,
    chords: Vec<Chord>,
    line: usize,
}

impl BoundKeys {
    /// The line of the table.
    pub fn binding(&self) -> &'static Binding {
        &BINDINGS[self.line]
    }
}

/// Which keys ask for what.
#[derive(Clone, Debug, PartialEq)]
pub struct Keymap(Arc<Vec<BoundKeys>>);

/// What is wrong with keys of the config.
#[derive(Clone, Debug, PartialEq)]
pub struct Misbound {
    /// The name that is bound.
    pub name: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Default for Keymap {
    fn default() -> Self {
        let bound = |(line, binding): (usize, &Binding)| {
            let keys: Vec<String> = binding.keys.iter().map(|key| (*key).to_owned()).collect();
            BoundKeys { chords: keys.iter().filter_map(|key| Chord::parse(key)).collect(), keys, line }
        };
        Self(Arc::new(BINDINGS.iter().enumerate().map(bound).collect()))
    }
}

impl Keymap {
    /// The table with other keys for some commands, by name.
    ///
    /// # Errors
    /// When a name or a key is none, a key would mean two things in one place, or a bare lowercase letter would write.
    pub fn configured<'a>(wishes: impl IntoIterator<Item = (&'a str, &'a [String])>) -> Result<Self, Misbound> {
        let mut rows: Vec<BoundKeys> = Self::default().0.to_vec();
        let mut names = HashMap::new();
        for (name, keys) in wishes {
            let wrong = |reason| Misbound { name: name.to_owned(), reason };
            let command = command(name).map_err(wrong)?;
            let chords = keys.iter().map(|key| chord(key, command)).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
            for row in rows.iter_mut().filter(|row| row.binding().command == command) {
                (row.keys, row.chords) = (keys.to_vec(), chords.clone());
            }
            names.insert(command, name);
        }
        let map = Self(Arc::new(rows));
        match map.clash(|command| names.contains_key(&command)) {
            None => Ok(map),
            Some((a, b, reason)) => {
                let name = names.get(&a).or_else(|| names.get(&b)).copied().unwrap_or_default();
                Err(Misbound { name: name.to_owned(), reason })
            }
        }
    }

    /// Every command that can be bound, with its keys.
    pub fn named(&self) -> Vec<(String, Vec<String>)> {
        let mut named: Vec<(String, Vec<String>)> = Vec::new();
        for row in self.0.iter() {
            let Some(name) = row.binding().command.name() else { continue };
            match named.iter_mut().find(|(known, _)| *known == name) {
                Some((_, keys)) => {
                    keys.extend(row.keys.iter().filter(|k| !keys.contains(k)).cloned().collect::<Vec<_>>())
                }
                None => named.push((name, row.keys.clone())),
            }
        }
        named
    }

    /// The command that a key asks for at `place`, if any.
    pub fn dispatch(&self, place: KeyContext, chord: Chord) -> Option<KeyCommand> {
        let bound = |at: KeyContext| {
            let row = self.0.iter().find(|row| row.binding().places.contains(&at) && row.chords.contains(&chord));
            row.map(|row| row.binding().command)
        };
        bound(place).or_else(|| if place.inherits() { bound(KeyContext::Anywhere) } else { None })
    }

    /// The lines that hold at `place` itself.
    pub fn own(&self, place: KeyContext) -> impl Iterator<Item = &BoundKeys> {
        self.0.iter().filter(move |row| row.binding().places.contains(&place))
    }

    /// The lines that hold at `place`, its own first.
    pub fn at(&self, place: KeyContext) -> Vec<&BoundKeys> {
        let shared = self.own(KeyContext::Anywhere).filter(move |_| place.inherits());
        self.own(place).chain(shared).collect()
    }

    /// The lines for the footer at `place`, those to be kept longest first.
    pub fn footer(&self, place: KeyContext) -> Vec<&BoundKeys> {
        let mut hints: Vec<_> = self.at(place).into_iter().filter(|row| !row.binding().hint.is_empty()).collect();
        hints.retain(|row| !row.keys.is_empty());
        hints.sort_by_key(|row| row.binding().rank);
        hints
    }

    /// The first key of a command, for a sentence that names it.
    pub fn key(&self, command: KeyCommand) -> &str {
        let row = self.0.iter().find(|row| row.binding().command == command && !row.keys.is_empty());
        row.map_or("(no key)", |row| row.keys[0].as_str())
    }

    /// Two commands that one key would mean in one place. What already is so in the table is meant.
    fn clash(&self, chosen: impl Fn(KeyCommand) -> bool) -> Option<(KeyCommand, KeyCommand, String)> {
        for place in KeyContext::ALL {
            let rows = self.at(place);
            for (n, a) in rows.iter().enumerate() {
                for (chord, key) in a.chords.iter().zip(&a.keys) {
                    let (one, is_new) =
                        (a.binding().command, |row: &BoundKeys| !defaults(row.binding().command, *chord));
                    if chord.digit().is_some_and(|n| n > 0) && place.inherits() {
                        return Some((one, one, format!("`{key}` goes to a facet or tab")));
                    }
                    for b in &rows[n + 1..] {
                        let other = b.binding().command;
                        let differ = one != other && b.chords.contains(chord) && (is_new(a) || is_new(b));
                        if differ && (chosen(one) || chosen(other)) {
                            let said = |c: KeyCommand| c.name().unwrap_or_else(|| "a key of every dialog".to_owned());
                            let place = place.title().to_lowercase();
                            let reason = format!("`{key}` would be {} and {} ({place})", said(one), said(other));
                            return Some(if chosen(one) { (one, other, reason) } else { (other, one, reason) });
                        }
                    }
                }
            }
        }
        None
    }
}

/// Whether the table gives a command this key.
fn defaults(command: KeyCommand, chord: Chord) -> bool {
    let of = |b: &&Binding| b.command == command && b.keys.iter().any(|key| Chord::parse(key) == Some(chord));
    BINDINGS.iter().any(|b| of(&b))
}

fn command(name: &str) -> Result<KeyCommand, String> {
    let known: Vec<(String, KeyCommand)> =
        BINDINGS.iter().filter_map(|b| Some((b.command.name()?, b.command))).collect();
    if let Some((_, command)) = known.iter().find(|(known, _)| known == name) {
        return Ok(*command);
    }
    let near = nearest(name, known.iter().map(|(name, _)| name.as_str()));
    let hint = near.map_or("; docs/keys.md has the names".to_owned(), |near| format!("; did you mean `{near}`?"));
    Err(format!("there is no command `{name}` to bind{hint}"))
}

fn chord(key: &str, command: KeyCommand) -> Result<Chord, String> {
    let Some(chord) = Chord::parse(key).filter(|_| !key.chars().any(char::is_control)) else {
        let near = nearest(key, Chord::names());
        let hint =
            near.map_or("; write `x`, `X`, `PgDn` or `Ctrl-x`".to_owned(), |near| format!("; did you mean `{near}`?"));
        return Err(format!("`{}` is no key{hint}", crate::domain::text::Clean::line(key)));
    };
    if !chord.is_legacy() {
        return Err(format!("`{key}` looks like another key in some terminals"));
    }
    if command.writes() && chord.is_bare_lowercase() {
        return Err(format!("`{key}`: a write is never a bare lowercase letter"));
    }
    Ok(chord)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::action::Action;

    fn configured(wishes: &[(&str, &[&str])]) -> Result<Keymap, Misbound> {
        let wishes: Vec<(&str, Vec<String>)> =
            wishes.iter().map(|(name, keys)| (*name, keys.iter().map(|k| (*k).to_owned()).collect())).collect();
        Keymap::configured(wishes.iter().map(|(name, keys)| (*name, keys.as_slice())))
    }

    fn at(map: &Keymap, place: KeyContext, key: &str) -> Option<KeyCommand> {
        map.dispatch(place, Chord::parse(key).expect("a key"))
    }

    #[test]
    fn a_command_has_the_keys_of_the_config_and_those_alone() {
        let map = configured(&[("replay", &["X"]), ("page-down", &["PgDn", "Ctrl-n"])]).expect("keys");
        assert_eq!(at(&map, KeyContext::List, "X"), Some(KeyCommand::Act(Action::Replay)));
        assert_eq!(at(&map, KeyContext::List, "R"), None);
        assert_eq!(at(&map, KeyContext::Detail, "Ctrl-n"), Some(KeyCommand::PageDown));
        assert!(map.footer(KeyContext::List).iter().any(|row| row.keys == ["X"]));
        assert_eq!((map.key(KeyCommand::Act(Action::Replay)), map.key(KeyCommand::Act(Action::Ignore))), ("X", "I"));
    }

    #[test]
    fn keys_can_be_exchanged_and_the_whole_table_can_be_written_down() {
        let map = configured(&[("replay", &["I"]), ("ignore", &["R"])]).expect("keys");
        assert_eq!(at(&map, KeyContext::List, "R"), Some(KeyCommand::Act(Action::Ignore)));
        let all = Keymap::default().named();
        let again = Keymap::configured(all.iter().map(|(name, keys)| (name.as_str(), keys.as_slice()))).expect("keys");
        for place in KeyContext::ALL {
            for row in Keymap::default().own(place) {
                for key in &row.keys {
                    assert_eq!(at(&again, place, key), at(&Keymap::default(), place, key), "{key} at {place:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_what_was_meant() {
        for (name, keys, says) in [
            ("replya", ["X"], "there is no command `replya` to bind; did you mean `replay`?"),
            ("yes", ["x"], "there is no command `yes` to bind"),
            ("sort", ["PageDn"], "`PageDn` is no key; did you mean `PgDn`?"),
            ("sort", ["Ctrl-m"], "`Ctrl-m` looks like another key in some terminals"),
            ("sort", ["r"], "`r` would be sort and refresh (job list)"),
            ("down", ["y"], "`y` would be down and copy (anywhere)"),
            ("sort", ["3"], "`3` goes to a facet or tab"),
            ("discard", ["x"], "`x`: a write is never a bare lowercase letter"),
            ("refresh", ["s"], "`s` would be sort and refresh (job list)"),
        ] {
            let fault = configured(&[(name, &keys)]).expect_err(name);
            assert!(fault.reason.contains(says), "{}", fault.reason);
            assert_eq!(fault.name, name);
        }
        assert!(configured(&[("mouse", &[])]).is_ok(), "a command may have no key");
    }
}
