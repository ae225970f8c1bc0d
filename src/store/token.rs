//! What a store remembers from one call to the next, opaque to everyone else.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// State of a store that a caller keeps and hands back. Only who made it can read it.
#[derive(Clone)]
pub struct Token(Arc<dyn State>);

trait State: Any + fmt::Debug + Send + Sync {}

impl<T: Any + fmt::Debug + Send + Sync> State for T {}

impl Token {
    /// A token that holds `state`.
    pub fn new<T: Any + fmt::Debug + Send + Sync>(state: T) -> Self {
        Self(Arc::new(state))
    }

    /// The state, where it is of this type: another store's token is of none that this one knows.
    pub fn state<T: Any>(&self) -> Option<&T> {
        let state: &dyn Any = &*self.0;
        state.downcast_ref()
    }
}

/// The same token, not one with the same state.
impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Token {}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Token").field(&self.0).finish()
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
}
