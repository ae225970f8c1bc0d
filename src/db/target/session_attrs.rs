//! What the server is to be that we connect to, where several are named.

/// What a server has to be, under the names of libpq's `target_session_attrs`
/// (<https://www.postgresql.org/docs/current/libpq-connect.html>).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionAttrs {
    /// Whichever answers first.
    #[default]
    Any,
    /// Transactions write there unless told otherwise.
    ReadWrite,
    /// Transactions do not write there unless told otherwise, or cannot.
    ReadOnly,
    /// It follows no other one.
    Primary,
    /// It follows another one.
    Standby,
    /// It follows another one; where none does, whichever answers.
    PreferStandby,
}

impl SessionAttrs {
    /// Reads libpq's word.
    ///
    /// # Errors
    /// A sentence with the words that there are.
    pub(super) fn read(word: &str) -> Result<Self, String> {
        Ok(match word {
            "any" => SessionAttrs::Any,
            "read-write" => SessionAttrs::ReadWrite,
            "read-only" => SessionAttrs::ReadOnly,
            "primary" => SessionAttrs::Primary,
            "standby" => SessionAttrs::Standby,
            "prefer-standby" => SessionAttrs::PreferStandby,
            _ => {
                return Err(
                    "target_session_attrs is one of any, read-write, read-only, primary, standby, prefer-standby"
                        .into(),
                );
            }
        })
    }

    /// What is wanted, and what is taken where there is none.
    pub fn choices(self) -> &'static [SessionAttrs] {
        match self {
            SessionAttrs::Any => &[SessionAttrs::Any],
            SessionAttrs::ReadWrite => &[SessionAttrs::ReadWrite],
            SessionAttrs::ReadOnly => &[SessionAttrs::ReadOnly],
            SessionAttrs::Primary => &[SessionAttrs::Primary],
            SessionAttrs::Standby => &[SessionAttrs::Standby],
            SessionAttrs::PreferStandby => &[SessionAttrs::Standby, SessionAttrs::Any],
        }
    }

    /// Why a server that is a replica, or takes no writes, is not such a one; `None` where it is.
    pub fn objection(self, is_replica: bool, is_read_only: bool) -> Option<&'static str> {
        match self {
            SessionAttrs::Any => None,
            SessionAttrs::ReadWrite => is_read_only.then_some("it takes no writes"),
            SessionAttrs::ReadOnly => (!is_read_only).then_some("it takes writes"),
            SessionAttrs::Primary => is_replica.then_some("it is a replica"),
            SessionAttrs::Standby | SessionAttrs::PreferStandby => (!is_replica).then_some("it is no replica"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_known_or_the_known_ones_are_told() {
        assert_eq!(SessionAttrs::read("prefer-standby").unwrap().choices(), [SessionAttrs::Standby, SessionAttrs::Any]);
        assert!(SessionAttrs::read("master").unwrap_err().contains("read-write"));
    }

    #[test]
    fn a_replica_is_no_primary_and_a_primary_may_still_take_no_writes() {
        let fits = |role: SessionAttrs, replica, read_only| role.objection(replica, read_only).is_none();
        assert!(
            fits(SessionAttrs::Any, true, true)
                && fits(SessionAttrs::Primary, false, true)
                && fits(SessionAttrs::Standby, true, true)
        );
        assert!(!fits(SessionAttrs::Primary, true, true) && !fits(SessionAttrs::Standby, false, false));
        assert!(fits(SessionAttrs::ReadWrite, false, false) && !fits(SessionAttrs::ReadWrite, false, true));
        assert!(fits(SessionAttrs::ReadOnly, false, true) && !fits(SessionAttrs::ReadOnly, false, false));
    }
}
