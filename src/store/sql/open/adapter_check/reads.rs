//! What lists, counts and polls ask, as it is made of an adapter's fields: an expression that can be selected may still not be
//! compared.

use crate::adapter::{Field, Part, Spec};
use crate::db::Statement;
use crate::domain::filter::Filter;
use crate::domain::time::Timestamp;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::open::adapter_check::{CheckedPiece, offset_of};
use crate::store::sql::query::buckets::Axis;
use crate::store::sql::query::group_by::Grouping;
use crate::store::sql::query::layout::Layout;
use crate::store::sql::query::where_clause::WhereClause;

/// The statements.
pub(super) fn pieces(layout: &Layout, spec: &Spec) -> Vec<CheckedPiece> {
    let mut pieces = polls(layout, spec);
    let filters = [
        (Part::At, "since:2026-01-01 until:2026-02-01"),
        (Part::Touched, "idle:1d"),
        (Part::Attempts, "attempts:>=1"),
        (Part::Error, "error:x"),
        (Part::Message, "msg:x"),
        (Part::Class, "class:x*"),
        (Part::Queue, "queue:x"),
        (Part::Reason, "reason:x"),
        (Part::Worker, "worker:x"),
    ];
    for (part, text) in filters {
        let (Some(field), Ok(filter)) = (spec.fields.get(part), Filter::parse(text)) else { continue };
        let mut sql = Sql::new(layout.dialect);
        sql.push(&format!("SELECT 1 FROM {} WHERE ", layout.tables.from));
        WhereClause::new(layout, &filter, Timestamp(0)).push(&mut sql);
        pieces.push(piece(&format!("fields.{}, in a filter", part.word()), field, sql.done()));
    }
    let (all, filter) = (layout.facets(), Filter::all());
    let judge = WhereClause::new(layout, &filter, Timestamp(0));
    for facet in all {
        let counted = Grouping { layout, facet }.statement(&judge, None, |_| {});
        pieces.push(piece(&format!("counts by {}", facet.word()), &spec.fields.at, counted));
    }
    pieces
}

/// What polls ask, of dead jobs alone and of all.
fn polls(layout: &Layout, spec: &Spec) -> Vec<CheckedPiece> {
    let filter = Filter::all();
    let judges = [(true, WhereClause::new(layout, &filter, Timestamp(0))), (false, WhereClause::everything(layout))];
    let mut pieces = Vec::new();
    for (dead, judge) in judges {
        let (Some(axis), Some(facet)) = (Axis::of(layout, dead), layout.facets().first().copied()) else { continue };
        let field = spec.order.otherwise.as_ref().filter(|_| !dead).unwrap_or(&spec.order.time);
        let recount = axis.count_since(&Grouping { layout, facet }, &judge, 0, None);
        pieces.push(piece("order.time, in a poll", field, axis.poll_statement()));
        pieces.push(piece("order.time, in a poll", field, recount));
    }
    pieces
}

fn piece(what: &str, field: &Field, statement: Statement) -> CheckedPiece {
    CheckedPiece { what: what.to_owned(), offset: offset_of(field), statement }
}
