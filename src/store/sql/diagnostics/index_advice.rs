//! Which counts and lists an index serves, and what the missing ones would cost and bring.

use std::collections::HashMap;
use std::time::Duration;

use crate::adapter::{Index, Part};
use crate::db::Statement;
use crate::db::cells::Cells;
use crate::domain::job::State;
use crate::store::sql::diagnostics::Diagnostics;
use crate::store::sql::dialect::catalogue::table_stats::{Width, table_stats};
use crate::store::sql::dialect::{Place, dialect};
use crate::store::sql::query::layout::part_of_facet;
use crate::store::{Budget, Extent, MissingIndex, Result, Served, Service, SortKey};

impl<'s> Diagnostics<'s> {
    pub(crate) async fn extent(self, budget: &Budget) -> Result<Extent> {
        let statement = table_stats(self.context.engine.kind()).extent(self.place());
        let Some(row) = self.context.engine.read(&[statement], budget).await?.pop().unwrap_or_default().pop() else {
            return Ok(Extent::default());
        };
        let mut cells = Cells::new(row);
        let (rows, bytes) = (cells.int()?, cells.int()?);
        Ok(Extent {
            rows: rows.and_then(|n| u64::try_from(n).ok()),
            bytes: bytes.and_then(|n| u64::try_from(n).ok()).unwrap_or(0),
        })
    }

    pub(crate) async fn served(self, extent: Extent, budget: &Budget) -> Result<Vec<Served>> {
        let asked = self.wishes();
        let wanted: Vec<&Index> = asked.iter().filter_map(|(_, wish)| wish.as_ref().err()?.as_ref()).collect();
        let measures = self.measures(&wanted, budget).await?;
        let mut served = Vec::new();
        for (what, wish) in asked {
            let by = match wish {
                Ok(service) => service,
                Err(None) => Service::Missing(None),
                Err(Some(index)) => Service::Missing(Some(self.missing(&index, extent, &measures))),
            };
            served.push(Served { what, by });
        }
        Ok(served)
    }

    fn place(self) -> Place<'s> {
        Place { schema: &self.context.layout.schema, table: &self.context.layout.spec.table }
    }

    /// What is asked of the table, with the service that there is or the index that would be one.
    fn wishes(self) -> Vec<(String, std::result::Result<Service, Option<Index>>)> {
        // The catalogue numbers indexes; what they hold says more.
        let named = |begins: &dyn Fn(&[String]) -> bool| {
            let columns = self.table.indexes.values().find(|columns| begins(columns))?;
            Some(Service::Index(format!("({})", columns.join(", "))))
        };
        let mut wishes = Vec::new();
        for index in &self.context.layout.spec.indexes {
            let there = named(&|columns| columns.starts_with(&index.columns));
            wishes.push((index.purpose.clone(), there.ok_or_else(|| Some(index.clone()))));
        }
        let order = self.context.layout.order(SortKey::Time, true).and_then(|order| order.column.clone());
        let key = self.context.layout.key.expr.column.clone();
        if let Some(column) = &order {
            let there = named(&|columns| columns.iter().take(2).any(|c| c == column));
            let there =
                there.or_else(|| (Some(column) == key.as_ref()).then(|| Service::Index("the primary key".to_owned())));
            wishes.push(("the list by time".to_owned(), there.ok_or(None)));
        }
        let state = self.context.layout.part(Part::State).and_then(|e| e.column.clone());
        for facet in self.context.layout.facets() {
            let Some(part) = part_of_facet(facet).and_then(|part| self.context.layout.part(part)) else { continue };
            let wish = match &part.column {
                None => Ok(Service::Computed),
                Some(column) => {
                    let leads = |columns: &[String]| {
                        let rest = columns.strip_prefix(state.as_slice()).unwrap_or(columns);
                        [rest.first(), columns.first()].contains(&Some(column))
                    };
                    let there = named(&leads);
                    there
                        .ok_or_else(|| Some(self.facet_index(facet.word(), column, order.as_deref(), state.as_deref())))
                }
            };
            wishes.push((format!("counts, lists and replays by {}", facet.word()), wish));
        }
        wishes
    }

    /// The index that makes a facet quick: its counts with the first and last time of each value, the pages of one value, and
    /// the jobs that a replay of one value takes.
    fn facet_index(self, word: &str, column: &str, order: Option<&str>, state: Option<&str>) -> Index {
        let key = self.context.layout.key.expr.column.as_deref();
        let partial = table_stats(self.context.engine.kind()).has_partial_indexes();
        let leading = state.filter(|state| !partial && *state != column);
        let mut columns: Vec<String> = leading.into_iter().chain([column]).map(str::to_owned).collect();
        for more in [order, key].into_iter().flatten() {
            if !columns.iter().any(|c| c == more) {
                columns.push(more.to_owned());
            }
        }
        let only = if partial { self.only_dead(state) } else { None };
        Index { columns, only, purpose: format!("counts, lists and replays by {word}") }
    }

    /// The condition of dead jobs as an index can have it.
    fn only_dead(self, state: Option<&str>) -> Option<String> {
        if let Some(only) = self.context.layout.spec.indexes.iter().find_map(|index| index.only.clone()) {
            return Some(only);
        }
        let words = self.context.layout.words(State::Dead);
        // Where statements compare another expression than the column, the planner does not see that they mean these rows.
        let compared = self.context.layout.part(Part::State).map(|expr| expr.raw.as_str());
        let column = format!("t.{}", self.context.layout.dialect.quote(state?));
        if self.context.layout.condition(State::Dead).is_none() && compared != Some(column.as_str()) {
            return None;
        }
        let literal = |word: &String| format!("'{}'", word.replace('\'', "''"));
        let state = self.context.layout.dialect.quote(state?);
        match words {
            [] => None,
            [word] => Some(format!("{state} = {}", literal(word))),
            words => Some(format!("{state} IN ({})", words.iter().map(literal).collect::<Vec<_>>().join(", "))),
        }
    }

    fn missing(self, index: &Index, extent: Extent, measures: &Measures) -> MissingIndex {
        let ddl = dialect(self.context.engine.kind()).create_index(self.place(), index, self.table.is_partitioned);
        let vitals = table_stats(self.context.engine.kind());
        let share = index.only.as_ref().map_or(1.0, |_| measures.dead_share);
        let rows = extent.rows.map(|rows| rows as f64 * share);
        let width = |name: &String| {
            let column = self.context.layout.columns.iter().find(|c| c.name == *name)?;
            Some(Width { column, bytes: measures.widths.get(name).map_or(8.0, |w| w.bytes) })
        };
        let columns: Vec<Width<'_>> = index.columns.iter().filter_map(width).collect();
        let key = self.context.layout.key.expr.column.iter().filter(|key| !index.columns.contains(key));
        let key: Vec<Width<'_>> = key.filter_map(width).collect();
        let known = |name: &String| measures.widths.get(name).and_then(|w| w.distinct);
        let distinct = index.columns.iter().map(known).try_fold(1.0, |product, n| Some(product * n?.max(1.0)));
        MissingIndex {
            purpose: index.purpose.clone(),
            ddl,
            bytes: rows.map(|rows| vitals.index_bytes(rows, &columns, &key, distinct) as u64),
            build: rows.map(|rows| Duration::from_secs_f64(vitals.build_seconds(extent.bytes as f64, rows, &columns))),
        }
    }

    /// What is known of the columns of these indexes, and of how many rows are dead.
    async fn measures(self, indexes: &[&Index], budget: &Budget) -> Result<Measures> {
        let mut names: Vec<&str> = indexes.iter().flat_map(|index| index.columns.iter().map(String::as_str)).collect();
        let key = self.context.layout.key.expr.column.as_deref().unwrap_or_default();
        names.push(key);
        names.sort_unstable();
        names.dedup();
        let statement: Statement = table_stats(self.context.engine.kind()).widths(self.place(), &names, key);
        let mut widths = HashMap::new();
        for row in self.context.engine.read(&[statement], budget).await?.pop().unwrap_or_default() {
            let mut cells = Cells::new(row);
            let (name, bytes, distinct) = (cells.text()?, cells.int()?, cells.int()?);
            if let (Some(name), Some(bytes)) = (name, bytes) {
                widths.insert(name, Measure { bytes: bytes as f64, distinct: distinct.map(|n| n as f64) });
            }
        }
        Ok(Measures { widths, dead_share: self.statistics.share_of_dead(budget).await? })
    }
}

/// What is known of columns.
struct Measures {
    widths: HashMap<String, Measure>,
    /// Of all rows.
    dead_share: f64,
}

struct Measure {
    bytes: f64,
    distinct: Option<f64>,
}
