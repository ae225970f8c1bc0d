//! What a store remembers from one call to the next, opaque to everyone else.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// State of a store that a caller keeps and hands back. Only who made it can read it.
#[derive(Clone)]
pub struct Token {
    state: Arc<dyn State>,
    /// Names of the moment at which it was made, each of which stands for it alone.
    moments: Arc<[String]>,
}

trait State: Any + fmt::Debug + Send + Sync {}

impl<T: Any + fmt::Debug + Send + Sync> State for T {}

impl Token {
    /// A token that holds `state`.
    pub fn new<T: Any + fmt::Debug + Send + Sync>(state: T) -> Self {
        Self::at(state, [])
    }

    /// A token that holds `state`, made at the moment that the source calls by these names.
    pub fn at<T: Any + fmt::Debug + Send + Sync>(state: T, moments: impl IntoIterator<Item = String>) -> Self {
        Self { state: Arc::new(state), moments: moments.into_iter().collect() }
    }

    /// Whether the source tells that nothing was written between the two.
    pub fn is_same_moment(&self, other: &Token) -> bool {
        self.moments.iter().any(|moment| other.moments.contains(moment))
    }

    /// The state, where it is of this type: another store's token is of none that this one knows.
    pub fn state<T: Any>(&self) -> Option<&T> {
        let state: &dyn Any = &*self.state;
        state.downcast_ref()
    }
}

/// The same token, not one with the same state.
impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.state, &other.state)
    }
}

impl Eq for Token {}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Token").field(&self.state).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_by_who_made_it_alone() {
        let token = Token::new(7_u32);
        assert_eq!((token.state::<u32>(), token.state::<i32>()), (Some(&7), None));
        assert!(token == token.clone() && token != Token::new(7_u32));
        assert_eq!(format!("{token:?}"), "Token(7)");
    }

    #[test]
    fn two_tokens_are_of_one_moment_if_the_source_calls_it_by_the_same_name() {
        let at = |moments: &[&str]| Token::at((), moments.iter().map(|moment| (*moment).to_owned()));
        assert!(at(&["1:7", "2:5"]).is_same_moment(&at(&["2:5"])));
        assert!(!at(&["1:7"]).is_same_moment(&at(&["1:8"])));
        assert!(!at(&[]).is_same_moment(&at(&[])), "nobody tells");
    }
}
