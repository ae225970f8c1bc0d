//! What the first screen shows, asked for before the console is there to ask.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::JoinSet;

use crate::store::{Budget, Glance, GlanceQuery, SourceError, Store};
use crate::tui::app::first_query;

/// An answer that is on its way before the console asks for it; nobody wants it any more once this is dropped.
pub struct Prefetch {
    query: GlanceQuery,
    answer: Mutex<Option<JoinSet<Result<Glance, SourceError>>>>,
}

impl Prefetch {
    /// Asks a store for what a console begins with that shows all of it.
    pub fn ask(store: Arc<dyn Store>, budget: Budget) -> Self {
        let query = first_query(store.info());
        let asked = query.clone();
        let mut answer = JoinSet::new();
        answer.spawn(async move { store.glance(asked, &budget).await });
        Self { query, answer: Mutex::new(Some(answer)) }
    }

    /// The answer to a question, where that is the one, nobody has had it, and there is one: what it failed of may be over. It
    /// may hold a job that was not asked for.
    pub async fn answer(&self, query: &GlanceQuery) -> Option<Glance> {
        let is_answered = *query == GlanceQuery { opens: query.opens, ..self.query.clone() };
        let answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        answer.filter(|_| is_answered)?.join_next().await?.ok()?.ok()
    }
}
