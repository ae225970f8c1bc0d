//! An adapter's layout as it stands in one database: every field an expression, every name quoted.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::adapter::{Adapter, Column, Field, FieldKind, Part, Piece, Spec, Table, pieces};
use crate::domain::encoding::Encoding;
use crate::domain::facet::Facet;
use crate::domain::filter::Key;
use crate::domain::job::State;
use crate::store::SortKey;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::dialect::{BatchRow, Dialect, TextExpression};

/// What stands in an id between what the key is unique within and the key, which has none of it.
const SCOPE_END: char = '/';

/// An SQL expression over the dead-letter table `t`, with how its values are read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expr {
    pub(crate) raw: String,
    pub(crate) kind: FieldKind,
    /// The column, where it is one.
    pub(crate) column: Option<String>,
    pub(crate) nullable: bool,
    /// Whether it is text in the character set that the connection speaks.
    pub(crate) is_spoken: bool,
}

impl Expr {
    /// The same as a text, which it is.
    pub(crate) fn text(&self) -> TextExpression {
        TextExpression { raw: self.raw.clone(), is_spoken: self.is_spoken }
    }
}

/// The dead-letter table as statements name it.
pub(crate) struct TableSql {
    /// Quoted, with its schema.
    pub(crate) table: String,
    /// What is joined to it; empty where nothing is.
    pub(crate) join: String,
    /// As `t`, with what is joined to it.
    pub(crate) from: String,
    /// As `t` where it is read as it is stored, with nothing joined to it.
    pub(crate) stored: String,
    /// Whether it is stored in the order of the key.
    pub(crate) is_stored_by_key: bool,
}

/// What identifies a job.
pub(crate) struct LayoutKey {
    pub(crate) expr: Expr,
    /// What the key is unique within, where it is not unique in the whole table.
    pub(crate) scope: Option<Expr>,
    /// A job's id as a contract column: the key, behind what it is unique within.
    pub(crate) text: String,
    /// The key column's collation, where the database has one.
    pub(crate) collation: Option<String>,
}

/// The orders of lists, the parts of a job, and the conditions of the states that have one.
struct LayoutExprs {
    time: Expr,
    otherwise: Option<Expr>,
    attempts: Option<Expr>,
    parts: BTreeMap<Part, Expr>,
    conditions: BTreeMap<State, String>,
}

/// A layout in one database.
pub(crate) struct Layout {
    pub(crate) dialect: &'static dyn Dialect,
    pub(crate) adapter: String,
    pub(crate) spec: Spec,
    pub(crate) schema: String,
    pub(crate) tables: TableSql,
    pub(crate) key: LayoutKey,
    pub(crate) columns: Vec<Column>,
    exprs: LayoutExprs,
    /// What else is shown of an open job.
    pub(crate) more: BTreeMap<String, Expr>,
    /// How the column counts time that says when replayed jobs may run, where it does.
    pub(crate) due: Option<FieldKind>,
    /// Whether its rows change with transactions of the database that is asked, which is what change tokens tell of.
    pub(crate) has_transactions: bool,
}

impl Layout {
    pub(crate) fn new(
        dialect: &'static dyn Dialect,
        adapter: &Adapter,
        spec: &Spec,
        schema: &str,
        found: &Table,
    ) -> Self {
        let table = format!("{}.{}", dialect.quote(schema), dialect.quote(&spec.table));
        let names = Names { table: &table, schema: dialect.quote(schema), spec };
        let expr = |field: &Field| expression(dialect, field, found, &names);
        let mut key = expr(&spec.key);
        let key_type = key.column.as_deref().and_then(|c| found.column(c)).map(|c| c.data_type.to_ascii_lowercase());
        if key.kind == FieldKind::Uuid && !key_type.is_some_and(|t| t.contains("uuid")) {
            // A column of text holds whatever the application calls a key, and is compared as text.
            key.kind = FieldKind::Text;
        }
        let (time, otherwise) = (expr(&spec.order.time), spec.order.otherwise.as_ref().map(expr));
        let scope = spec.scope.as_ref().map(expr);
        let key_column = key.column.as_deref().and_then(|c| found.column(c));
        let bare = match key_column.is_some_and(|c| dialect.is_padded(&c.data_type)) {
            true => dialect.contract(&dialect.contract(&key.raw, key.kind), FieldKind::Text),
            false => dialect.contract(&key.raw, FieldKind::Text),
        };
        let key_text = scope.as_ref().map_or(bare.clone(), |scope| {
            dialect.concat(&[&dialect.contract(&scope.raw, FieldKind::Text), &format!("'{SCOPE_END}'"), &bare])
        });
        let join = spec.join.as_ref().map_or(String::new(), |j| format!(" {}", names.fill(j.get_ref().trim())));
        let conditions = State::ALL.into_iter().filter_map(|state| {
            let condition = spec.states.when.get(state)?;
            Some((state, format!("({})", names.fill(condition.get_ref().trim()))))
        });
        let has_transactions = found.without_transactions.is_none() && !found.is_elsewhere;
        // What has no transactions is stored in files that go by no key.
        let is_primary = found.unique.get("").is_some_and(|of| of.iter().eq(key.column.iter()));
        let leads = key_column.is_some_and(|c| dialect.leads(c));
        let collation = key_column.and_then(|c| c.collation.clone());
        let by_key = dialect.by_primary_key().filter(|_| leads && is_primary && scope.is_none() && has_transactions);
        let tables = TableSql {
            from: format!("{table} AS t{join}"),
            stored: format!("{table} AS t{}", by_key.unwrap_or_default()),
            is_stored_by_key: by_key.is_some(),
            join,
            table: table.clone(),
        };
        let exprs = LayoutExprs {
            time: match &otherwise {
                Some(otherwise) if !served(found, &time, spec.order.needs.as_deref()) => otherwise.clone(),
                _ => time,
            },
            otherwise,
            attempts: spec.order.attempts.as_ref().map(expr),
            parts: spec.fields.iter().map(|(part, field)| (part, expr(field))).collect(),
            conditions: conditions.collect(),
        };
        Self {
            dialect,
            adapter: adapter.name.clone(),
            schema: schema.to_owned(),
            tables,
            key: LayoutKey { expr: key, scope, text: key_text, collation },
            columns: found.columns.clone(),
            exprs,
            more: spec.more.iter().map(|(name, field)| (name.clone(), expr(field))).collect(),
            due: None,
            has_transactions,
            spec: spec.clone(),
        }
    }

    /// What of the arguments is not JSON, and how it is written.
    pub(crate) fn decode(&self) -> Option<&BTreeMap<String, Encoding>> {
        self.spec.fields.get(Part::Arguments).map(|field| &field.decode).filter(|places| !places.is_empty())
    }

    /// The columns that hold what is decoded, as it is stored.
    pub(crate) fn decoded_from(&self) -> Vec<String> {
        let Some(expr) = self.decode().and_then(|_| self.part(Part::Arguments)) else { return Vec::new() };
        let word = |c: char| !(c.is_alphanumeric() || c == '_');
        let names = |name: &str| expr.column.as_deref() == Some(name) || expr.raw.split(word).any(|w| w == name);
        self.columns.iter().map(|c| c.name.clone()).filter(|name| names(name)).collect()
    }

    /// The expression of a part, where the layout has it.
    pub(crate) fn part(&self, part: Part) -> Option<&Expr> {
        self.exprs.parts.get(&part)
    }

    /// The expression of any field of an adapter over the same table.
    pub(crate) fn expr(&self, field: &Field) -> Expr {
        let names = Names { table: &self.tables.table, schema: self.dialect.quote(&self.schema), spec: &self.spec };
        expression(self.dialect, field, &Table { columns: self.columns.clone(), ..Table::default() }, &names)
    }

    /// A job's id as a text.
    pub(crate) fn id_text(&self) -> TextExpression {
        let is_spoken = self.key.scope.is_some() || matches!(self.key.expr.kind, FieldKind::Text | FieldKind::Uuid);
        TextExpression { raw: self.key.text.clone(), is_spoken }
    }

    /// What an order sorts by, in lists of dead jobs alone or of others too; `None` where the layout cannot.
    pub(crate) fn order(&self, key: SortKey, dead: bool) -> Option<&Expr> {
        match key {
            SortKey::Time if dead => Some(&self.exprs.time),
            SortKey::Time => Some(self.exprs.otherwise.as_ref().unwrap_or(&self.exprs.time)),
            SortKey::Attempts => self.exprs.attempts.as_ref(),
        }
    }

    /// A condition that all jobs of a list meet, where only dead jobs have what orders them: without it, no index that knows
    /// the state would serve, and all that lives would be looked at behind them.
    pub(crate) fn among(&self, dead: bool) -> Option<&str> {
        let ordered = self.exprs.otherwise.as_ref().is_some_and(|otherwise| otherwise.raw != self.exprs.time.raw);
        self.condition(State::Dead).filter(|_| dead && ordered && self.tables.join.is_empty())
    }

    /// Writes whether a row is one of these jobs.
    pub(crate) fn keys_in(&self, sql: &mut Sql, ids: &[String]) {
        let Some(scope) = &self.key.scope else {
            return self.dialect.keys_in(sql, &self.key.expr.raw, self.key.expr.kind, ids);
        };
        let apart: Vec<(String, String)> = ids.iter().map(|id| self.parts_of(id)).collect();
        self.dialect.pairs_in(sql, &scope.raw, (&self.key.expr.raw, self.key.expr.kind), &apart);
    }

    /// Whether text is a job's id as the database prints it.
    pub(crate) fn holds(&self, id: &str) -> bool {
        match &self.key.scope {
            None => is_key(id, self.key.expr.kind),
            Some(_) => id.rsplit_once(SCOPE_END).is_some_and(|(_, key)| is_key(key, self.key.expr.kind)),
        }
    }

    /// An id as what the key is unique within, and the key.
    fn parts_of(&self, id: &str) -> (String, String) {
        let (scope, key) = id.rsplit_once(SCOPE_END).unwrap_or(("", id));
        (scope.to_owned(), key.to_owned())
    }

    /// The key alone of a job's id.
    pub(crate) fn bare<'a>(&self, id: &'a str) -> &'a str {
        self.key.scope.as_ref().and_then(|_| id.rsplit_once(SCOPE_END)).map_or(id, |(_, key)| key)
    }

    /// The rows of a batch with their keys as the table has them.
    pub(crate) fn apart<'a>(&self, rows: &'a [BatchRow]) -> Cow<'a, [BatchRow]> {
        if self.key.scope.is_none() {
            return Cow::Borrowed(rows);
        }
        let apart = |row: &BatchRow| {
            let (scope, id) = self.parts_of(&row.id);
            BatchRow { id, scope, ..row.clone() }
        };
        Cow::Owned(rows.iter().map(apart).collect())
    }

    /// The table as `t` with what is joined to it, where it is read as it is stored.
    pub(crate) fn stored_joined(&self) -> String {
        format!("{}{}", self.tables.stored, self.tables.join)
    }

    /// Whether an order is that of the primary key itself.
    pub(crate) fn is_key(&self, expr: &Expr) -> bool {
        expr.raw == self.key.expr.raw
    }

    /// Whether an order alone tells two rows apart.
    pub(crate) fn is_unique(&self, expr: &Expr) -> bool {
        self.is_key(expr)
            || self.spec.order.unique
                && self.spec.order.time.column.as_ref().map(|c| c.get_ref()) == expr.column.as_ref()
    }

    /// The words of a state.
    pub(crate) fn words(&self, state: State) -> &[String] {
        let words = &self.spec.states;
        match state {
            State::Dead => &words.dead,
            State::Retrying => &words.retrying,
            State::Resolved => &words.resolved,
            State::Ignored => &words.ignored,
        }
    }

    /// The condition of a state, where the adapter has one.
    pub(crate) fn condition(&self, state: State) -> Option<&str> {
        self.exprs.conditions.get(&state).map(String::as_str)
    }

    /// What a native word means; a word that the adapter does not know is no state to act on.
    pub(crate) fn state_of(&self, word: &str) -> State {
        State::ALL.into_iter().find(|s| self.words(*s).iter().any(|w| w == word)).unwrap_or(State::Retrying)
    }

    /// The facets that can be counted by, in the order of the tabs.
    pub(crate) fn facets(&self) -> Vec<Facet> {
        let has = |facet: &Facet| match facet {
            Facet::Hour => true,
            Facet::Fingerprint => self.part(Part::Message).is_some(),
            facet => part_of_facet(*facet).is_some_and(|p| self.part(p).is_some()),
        };
        match &self.spec.facets {
            Some(named) => named.iter().map(|f| f.0).filter(|f| has(f)).collect(),
            None => Facet::ALL.into_iter().filter(has).collect(),
        }
    }
}

/// Whether an index serves the order by time; an expression says itself that one does.
fn served(found: &Table, time: &Expr, needs: Option<&[String]>) -> bool {
    let Some(column) = time.column.as_deref() else { return true };
    needs.map_or_else(|| found.serves(column), |needs| found.has_index(needs))
}

/// The part that a facet counts by, where it is one.
pub(crate) fn part_of_facet(facet: Facet) -> Option<Part> {
    match facet {
        // Its key takes our words for states, and the part has the layout's own.
        Facet::State => Some(Part::State),
        // Jobs are counted by the hour, and not by the instant of their deaths.
        Facet::Hour => None,
        facet => part_of_key(&Key::of_facet(facet)),
    }
}

/// The part whose text, number or instant a filter key looks at, where it is one.
pub(crate) fn part_of_key(key: &Key) -> Option<Part> {
    match key {
        Key::Error => Some(Part::Error),
        Key::Class => Some(Part::Class),
        Key::Queue => Some(Part::Queue),
        Key::Reason => Some(Part::Reason),
        Key::Worker => Some(Part::Worker),
        Key::Message => Some(Part::Message),
        Key::Native => Some(Part::State),
        Key::Attempts => Some(Part::Attempts),
        Key::At => Some(Part::At),
        Key::Idle => Some(Part::Touched),
        Key::Arg(path) if path.is_empty() => Some(Part::Arguments),
        Key::State | Key::Fingerprint | Key::Id | Key::Arg(_) | Key::Word => None,
        Key::Replayed | Key::Run | Key::Outcome => None,
    }
}

/// The names that a field's expression may hold as placeholders; others are filled in with the statement.
struct Names<'a> {
    table: &'a str,
    schema: String,
    spec: &'a Spec,
}

impl Names<'_> {
    fn fill(&self, text: &str) -> String {
        let piece = |piece: Piece<'_>| match piece {
            Piece::Sql(text) => text.to_owned(),
            Piece::Hole("table") => self.table.to_owned(),
            Piece::Hole("schema") => self.schema.clone(),
            Piece::Hole(hole) => format!("{{{hole}}}"),
        };
        pieces(text).into_iter().map(piece).collect()
    }
}

fn expression(dialect: &'static dyn Dialect, field: &Field, table: &Table, names: &Names<'_>) -> Expr {
    let readable = |raw: String, kind: FieldKind| if kind == FieldKind::Json { dialect.json_text(&raw) } else { raw };
    let Some(name) = field.column.as_ref().map(|c| c.get_ref().clone()) else {
        let sql = field.sql.as_ref().map(|s| names.fill(s.get_ref().trim())).unwrap_or_default();
        let raw = readable(format!("({sql})"), field.kind);
        return Expr { raw, kind: field.kind, column: None, nullable: true, is_spoken: false };
    };
    let column = table.column(&name);
    let quoted = format!("t.{}", dialect.quote(&name));
    let cast = field.kind == FieldKind::Text && column.is_some_and(|c| !dialect.is_text(&c.data_type));
    let raw = if cast { dialect.contract(&quoted, FieldKind::Text) } else { readable(quoted, field.kind) };
    let nullable = column.is_none_or(|c| c.nullable);
    let natural = field.kind == FieldKind::Int && column.is_some_and(|c| dialect.is_natural(&c.data_type));
    let epoch = column.and_then(|c| names.spec.epoch_of(&names.spec.table, c));
    let kind = match field.kind {
        FieldKind::Utc | FieldKind::Instant => epoch.unwrap_or(field.kind),
        _ if natural => FieldKind::Natural,
        kind => kind,
    };
    let is_spoken = cast || column.is_some_and(|c| dialect.is_spoken(c));
    Expr { raw, kind, column: Some(name), nullable, is_spoken }
}

/// Whether text is a primary key as the database prints it.
fn is_key(text: &str, kind: FieldKind) -> bool {
    match kind {
        FieldKind::Int => text.parse::<i64>().is_ok_and(|n| n.to_string() == text),
        FieldKind::Natural => text.parse::<u64>().is_ok_and(|n| n.to_string() == text),
        FieldKind::Uuid => uuid::Uuid::try_parse(text).is_ok() && text.len() == 36,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::built_in;
    use crate::db::DatabaseKind;
    use crate::store::sql::dialect::dialect;

    #[test]
    fn only_what_all_dead_jobs_are_ordered_by_limits_a_list_to_them() {
        let ordered = |adapter: &Adapter| {
            let spec = adapter.spec("postgres").filter(|spec| {
                spec.order.otherwise.is_some() && spec.join.is_none() && spec.fields.get(Part::State).is_some()
            })?;
            Some((adapter.clone(), spec.clone()))
        };
        let (adapter, spec) = built_in().iter().find_map(ordered).unwrap_or_else(|| panic!("none"));
        let time = spec.order.time.column.as_ref().map_or(String::new(), |column| column.get_ref().clone());
        let limits = |index: &str, dead: bool| {
            let indexes = BTreeMap::from([("i".to_owned(), vec!["state".to_owned(), index.to_owned()])]);
            let table = Table { indexes, ..Table::default() };
            let layout = Layout::new(dialect(DatabaseKind::Postgres), &adapter, &spec, "public", &table);
            layout.among(dead).map(str::to_owned)
        };
        assert!(limits(&time, true).is_some_and(|condition| condition.contains("t.state = ")));
        assert_eq!((limits(&time, false), limits("queue", true)), (None, None));
    }
}
