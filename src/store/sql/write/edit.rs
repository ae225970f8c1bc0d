//! Changed arguments: the column that holds them is read under the lock, compared with what was read before, and written.

use std::collections::{BTreeMap, HashMap};
use std::mem::take;

use crate::adapter::{Column, EditSpec, ExpectedRows, FieldKind, Keep, Part};
use crate::db::Tx;
use crate::db::cells::Cells;
use crate::domain::action::{JobOutcome, JobResult, SkipReason};
use crate::domain::job::JobId;
use crate::domain::repair::{ArgumentsDocument, ArgumentsEdit};
use crate::store::sql::context::Context;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::dialect::{BatchRow, ValueSort};
use crate::store::sql::query::columns::complete_text;
use crate::store::sql::query::layout::Layout;
use crate::store::sql::query::lookup_parts::json_bytes;
use crate::store::sql::query::row_snapshot::{Keeping, RelatedRow};
use crate::store::sql::query::template::{Fill, push};
use crate::store::sql::write::batch::{BatchWriter, Filled, Held, failed, run_each};
use crate::store::sql::write::verb::{VerbMethod, Work};
use crate::store::{Budget, FoundArguments, Result, SourceError};

/// Why a job is left that the run has nothing for.
const NOTHING_KEPT: &str = "the ledger has no arguments for this job";
const NO_ARGUMENTS: &str = "the job has no arguments";
const NO_TEXT: &str = "the arguments are not stored as text";
const ELSEWHERE: &str = "the arguments are not stored in one place as they are shown";

/// Settles the jobs whose arguments are no longer as they were read, and gives the others what is to be written.
pub(crate) fn leave_changed(work: &Work<'_>, edit: &EditSpec, held: &mut Held) {
    let edits = by_job(&work.batch.edits);
    let stored: HashMap<JobId, String> = take(&mut held.archive).into_iter().collect();
    let mut rows = take(&mut held.rows);
    rows.retain_mut(|row| {
        let id = JobId::new(&row.id);
        let now = stored.get(&id).and_then(|kept| column_text(kept, edit.column.get_ref()));
        let result = match edits.get(&id) {
            None => failed(NOTHING_KEPT),
            Some(edit) if now.as_deref() == Some(edit.original.as_str()) => {
                row.message = Some(edit.edited.clone());
                return true;
            }
            Some(_) => JobResult::Skipped(SkipReason::Changed),
        };
        held.settled.push((id, result));
        false
    });
    held.rows = rows;
}

fn by_job(edits: &[ArgumentsEdit]) -> HashMap<&JobId, &ArgumentsEdit> {
    edits.iter().map(|edit| (&edit.id, edit)).collect()
}

/// The text of a column in what was kept of its row; `None` where it is no text.
fn column_text(kept: &str, column: &str) -> Option<String> {
    match RelatedRow::parse(kept)?.value(column)? {
        (ValueSort::Text, text) => Some(text),
        _ => None,
    }
}

/// The columns of the table that has the arguments.
pub(crate) fn edited_columns<'c>(
    edit: &EditSpec,
    own: &'c [Column],
    others: &'c BTreeMap<String, Vec<Column>>,
) -> &'c [Column] {
    match &edit.row {
        None => own,
        Some(row) => others.get(row.table.get_ref()).map_or(&[], Vec::as_slice),
    }
}

/// Reads a column of the rows that have the arguments: their jobs' ids first, then what `own` reads of the dead rows, then what
/// `others` and `keeping` read of theirs.
fn column_query(
    layout: &Layout,
    edit: &EditSpec,
    (own, others): (Option<&str>, Option<&str>),
    keeping: &Keeping,
    ids: &[String],
) -> Sql {
    let mut sql = Sql::new(layout.dialect);
    let own = own.map_or(String::new(), |own| format!(", {own} AS shown"));
    let names = Fill { ids, ..Fill::names_only(layout, None) };
    let dead = format!(" FROM {} WHERE {{ids}}", layout.tables.from);
    let others: String = others.into_iter().map(|other| format!(", {other}")).collect();
    let kept: String = keeping.expressions().map(|expression| format!(", {expression}")).collect();
    let text = match &edit.row {
        None => format!("SELECT {}{own}{others}{kept}{dead}", layout.key.text),
        // The other table is `t` here, as the expressions of what is kept have it.
        Some(row) => format!(
            "SELECT p.k{}{others}{kept} FROM (SELECT {} AS k{own}, t.{} AS o{dead}) AS p JOIN {{schema}}.{} AS t ON t.{} = p.o",
            if own.is_empty() { "" } else { ", p.shown" },
            layout.key.text,
            layout.dialect.quote(&row.of),
            layout.dialect.quote(row.table.get_ref()),
            layout.dialect.quote(&row.key),
        ),
    };
    push(&mut sql, &text, &names);
    sql
}

impl BatchWriter<'_> {
    /// Locks rows as [`BatchWriter::lock_rows`] does; where the verb changes arguments too, they have the new ones already.
    pub(crate) async fn lock_edited(self, tx: &mut Tx<'_>, work: &Work<'_>, ids: &[String]) -> Result<Held> {
        if !work.edits_too() {
            return self.lock_rows(tx, work, ids).await;
        }
        let edited = self.edit(tx, work, work.when, ids).await?;
        let ids: Vec<String> = edited.rows.into_iter().map(|row| row.id).collect();
        if ids.is_empty() {
            return Ok(Held { settled: edited.settled, ..Held::default() });
        }
        let mut held = self.lock_rows(tx, work, &ids).await?;
        // What was changed must not be committed without the rest.
        if let (true, Some((_, result))) = (held.rows.len() < ids.len(), held.settled.first()) {
            return Err(refused(result));
        }
        held.settled.extend(edited.settled);
        Ok(held)
    }

    /// Changes back the arguments of jobs that were taken back.
    pub(crate) async fn edit_back(self, tx: &mut Tx<'_>, work: &Work<'_>, rows: &[BatchRow]) -> Result<()> {
        let ids: Vec<String> = rows.iter().map(|row| row.id.clone()).collect();
        let when = ArgumentsEditor::new(self.context).spec()?.verb.when.as_ref().map(|when| when.get_ref().as_str());
        let edited = self.edit(tx, work, when, &ids).await?;
        match edited.settled.first() {
            Some((_, result)) => Err(refused(result)),
            None => Ok(()),
        }
    }

    /// Writes the arguments of those jobs that have them as they were read.
    async fn edit(self, tx: &mut Tx<'_>, work: &Work<'_>, when: Option<&str>, ids: &[String]) -> Result<Held> {
        let (layout, edit) = (&self.context.layout, ArgumentsEditor::new(self.context).spec()?);
        let work = Work {
            batch: work.batch,
            tx_journal: None,
            when,
            refuse: work.refuse,
            lock: work.lock,
            taken: None,
            recipe: None,
            keeping: Keeping::of(layout.dialect, &layout.columns, &edit.verb.keep),
            along: &[],
            archives: false,
            stamps: false,
            way: VerbMethod::Edit(edit),
        };
        let held = self.lock_rows(tx, &work, ids).await?;
        let statements = Box::new(self.edit_statement(&work, edit, &held.rows).into_iter());
        run_each(tx, statements, held.rows.len()).await?;
        Ok(held)
    }

    /// Writes what the rows have as their message; none where there are no rows.
    pub(crate) fn edit_statement(self, work: &Work<'_>, edit: &EditSpec, rows: &[BatchRow]) -> Option<Filled> {
        let text = update_text(&self.context.layout, edit, &self.context.along)?;
        let mut sql = Sql::new(self.context.layout.dialect);
        push(&mut sql, &text, &Fill { batch: rows, ..self.fill(work) });
        (!rows.is_empty()).then(|| Filled { statement: sql.done(), no: 1, rows: ExpectedRows::Each })
    }
}

/// Why a batch is undone of which one job cannot be done: it is halved until that job stands alone.
fn refused(result: &JobResult) -> SourceError {
    let message = match result {
        JobResult::Skipped(reason) => reason.word().to_owned(),
        JobResult::Failed(why) => why.exact().to_owned(),
        JobResult::Done => String::new(),
    };
    SourceError::Refused { message, code: None }
}

/// The statement that writes the messages of a batch into the column; `None` where the table has no such column.
pub(crate) fn update_text(layout: &Layout, edit: &EditSpec, others: &BTreeMap<String, Vec<Column>>) -> Option<String> {
    let columns = edited_columns(edit, &layout.columns, others);
    let column = columns.iter().find(|column| column.name == *edit.column.get_ref())?;
    let (table, on) = match &edit.row {
        None => {
            let scope =
                layout.key.scope.as_ref().map_or(String::new(), |scope| format!(" AND {} = b.scope", scope.raw));
            (layout.tables.table.clone(), format!("{} = b.id{scope}", layout.key.expr.raw))
        }
        Some(row) => (
            format!("{{schema}}.{}", layout.dialect.quote(row.table.get_ref())),
            format!("t.{} = b.live", layout.dialect.quote(&row.key)),
        ),
    };
    Some(layout.dialect.update_column(
        &table,
        &layout.dialect.quote(&column.name),
        &layout.dialect.column_value("b.message", &column.data_type),
        &on,
    ))
}

/// Reads arguments so that they can be changed.
#[derive(Clone, Copy)]
pub(crate) struct ArgumentsEditor<'s> {
    context: &'s Context,
}

impl<'s> ArgumentsEditor<'s> {
    pub(crate) fn new(context: &'s Context) -> Self {
        Self { context }
    }

    fn spec(self) -> Result<&'s EditSpec> {
        let spec = self.context.layout.spec.verbs.repair.as_ref().filter(|edit| edit.verb.disabled.is_none());
        spec.ok_or_else(|| SourceError::Input("arguments of this layout cannot be changed".to_owned()))
    }

    fn column(self, edit: &EditSpec) -> Result<&'s Column> {
        let name = edit.column.get_ref();
        let columns = edited_columns(edit, &self.context.layout.columns, &self.context.along);
        let column = columns.iter().find(|column| column.name == *name);
        column.ok_or_else(|| SourceError::Layout(format!("there is no column {name}")))
    }

    /// Locks the rows of another table that have the arguments of the jobs that are held, and reads what is to be compared.
    /// Jobs whose row somebody else holds are left.
    pub(crate) async fn lock_rows(self, tx: &mut Tx<'_>, edit: &EditSpec, held: &mut Held) -> Result<()> {
        let Some(row) = edit.row.as_ref().filter(|_| !held.rows.is_empty()) else { return Ok(()) };
        let layout = &self.context.layout;
        let columns = edited_columns(edit, &layout.columns, &self.context.along);
        let keeping = Keeping::of(layout.dialect, columns, &Keep::Columns(vec![edit.column.get_ref().clone()]));
        let key = layout.dialect.contract(&format!("t.{}", layout.dialect.quote(&row.key)), FieldKind::Text);
        let ids: Vec<String> = held.rows.iter().map(|row| row.id.clone()).collect();
        let mut sql = column_query(layout, edit, (None, Some(&key)), &keeping, &ids);
        sql.push(&layout.dialect.lock_clause("t"));
        let mut found = HashMap::new();
        for row in tx.fetch(&sql.done()).await? {
            let mut cells = Cells::new(row);
            let (id, key) = (cells.text()?, cells.text()?);
            if let Some(id) = id {
                held.archive.push((JobId::new(&id), keeping.read(&mut cells, None)?));
                found.insert(id, key);
            }
        }
        let Held { rows, settled, .. } = held;
        rows.retain_mut(|row| match found.remove(&row.id) {
            Some(key) => {
                row.live = key;
                true
            }
            None => {
                settled.push((JobId::new(&row.id), JobResult::Skipped(SkipReason::Locked)));
                false
            }
        });
        Ok(())
    }

    /// What the column holds of each job, and where the arguments stand in it.
    pub(crate) async fn read(self, ids: &[JobId], budget: &Budget) -> Result<Vec<(JobId, FoundArguments)>> {
        let (layout, edit) = (&self.context.layout, self.spec()?);
        let ids = self.context.valid(ids);
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let columns = edited_columns(edit, &layout.columns, &self.context.along);
        let keeping = Keeping::of(layout.dialect, columns, &Keep::Columns(vec![edit.column.get_ref().clone()]));
        let shown = complete_text(layout, Part::Arguments);
        let sql = column_query(layout, edit, (Some(&shown), None), &keeping, &ids);
        let mut found = Vec::new();
        for row in self.context.engine.read(&[sql.done()], budget).await?.pop().unwrap_or_default() {
            let mut cells = Cells::new(row);
            let (id, shown) = (cells.text()?, cells.stored()?);
            let Some(id) = id.map(JobId::new) else { continue };
            let arguments = match (shown, keeping.read(&mut cells, None)) {
                (Ok(Some(shown)), Ok(kept)) => match column_text(&kept, edit.column.get_ref()) {
                    Some(text) => ArgumentsDocument::locate(&text, &edit.paths, &shown).ok_or(ELSEWHERE.to_owned()),
                    None => Err(NO_TEXT.to_owned()),
                },
                (Ok(None), _) => Err(NO_ARGUMENTS.to_owned()),
                (Err(_), _) => Err(NO_TEXT.to_owned()),
                (_, Err(SourceError::Refused { message, .. })) => Err(message),
                (_, Err(error)) => return Err(error),
            };
            found.push((id, arguments));
        }
        Ok(found)
    }

    /// What the column would hold of each text.
    pub(crate) async fn stored_forms(
        self,
        texts: &[String],
        budget: &Budget,
    ) -> Result<Vec<std::result::Result<String, String>>> {
        let column = self.column(self.spec()?)?;
        let mut forms = Vec::with_capacity(texts.len());
        let mut waiting: Vec<&[String]> = self.context.parts(texts, |text| json_bytes(text));
        waiting.reverse();
        while let Some(part) = waiting.pop() {
            match self.render(part, column, budget).await {
                Ok(rendered) => forms.extend(rendered.into_iter().map(Ok)),
                Err(SourceError::Refused { message, .. }) if part.len() == 1 => forms.push(Err(message)),
                Err(SourceError::Refused { .. }) => {
                    let (left, right) = part.split_at(part.len() / 2);
                    waiting.extend([right, left]);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(forms)
    }

    async fn render(self, texts: &[String], column: &Column, budget: &Budget) -> Result<Vec<String>> {
        let dialect = self.context.layout.dialect;
        let keep = Keep::Columns(vec![column.name.clone()]);
        let keeping = Keeping::of(dialect, std::slice::from_ref(column), &keep);
        let mut sql = Sql::new(dialect);
        sql.push("SELECT ").push(&keeping.expressions().collect::<Vec<_>>().join(", ")).push(" FROM (");
        for (n, text) in texts.iter().enumerate() {
            let place = sql.text(text);
            let value = dialect.column_value(&place, &column.data_type);
            let all = if n > 0 { " UNION ALL " } else { "" };
            sql.push(&format!("{all}SELECT {n} AS dlq_tui_place, {value} AS {}", dialect.quote(&column.name)));
        }
        sql.push(") AS t ORDER BY t.dlq_tui_place");
        let rows = self.context.engine.read(&[sql.done()], budget).await?.pop().unwrap_or_default();
        let refused = || SourceError::Refused { message: NO_TEXT.to_owned(), code: None };
        let text = |row| column_text(&keeping.read(&mut Cells::new(row), None)?, &column.name).ok_or_else(refused);
        rows.into_iter().map(text).collect()
    }

    /// What would become of jobs, with those skipped whose arguments are no longer as they were read.
    pub(crate) async fn leave_changed(
        self,
        work: &Work<'_>,
        told: Vec<JobOutcome>,
        budget: &Budget,
    ) -> Result<Vec<JobOutcome>> {
        let edits = by_job(&work.batch.edits);
        let open = told.iter().filter(|(_, result)| *result == JobResult::Done);
        let open: Vec<JobId> = open.map(|(id, _)| id.clone()).collect();
        let mut now: HashMap<JobId, FoundArguments> = HashMap::new();
        for part in self.context.parts(&open, |id| json_bytes(id.as_str())) {
            now.extend(self.read(part, budget).await?);
        }
        let judged = |(id, result): JobOutcome| {
            let result = match (&result, edits.get(&id), now.get(&id)) {
                (JobResult::Done, None, _) => failed(NOTHING_KEPT),
                (JobResult::Done, Some(edit), Some(Ok(document))) if document.text() == edit.original => result,
                (JobResult::Done, Some(_), _) => JobResult::Skipped(SkipReason::Changed),
                _ => result,
            };
            (id, result)
        };
        Ok(told.into_iter().map(judged).collect())
    }
}
