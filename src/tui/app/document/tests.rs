//! A job as the console shows it, nasty ones too.

use proptest::prelude::*;

use super::*;
use crate::domain::action::Action;
use crate::domain::filter::Filter;
use crate::domain::job::JobRow;
use crate::domain::time::Timestamp;
use crate::ledger::{Operator, RunId};

fn row() -> JobRow {
    JobRow { native_state: "failed".into(), error_class: Some("Net::ReadTimeout".into()), ..JobRow::bare("7") }
}

fn detail() -> JobDetail {
    JobDetail {
        row: row(),
        message: None,
        arguments: None,
        undecodable: false,
        backtrace: None,
        metadata: Vec::new(),
        decoded_from: Vec::new(),
        lineage: None,
    }
}

fn document(detail: JobDetail) -> JobDocument {
    JobDocument::build(detail, Vec::new(), &Notation::default(), &Redactor::default())
}

fn with_arguments(text: &str) -> JobDocument {
    document(JobDetail { arguments: Some(text.into()), ..detail() })
}

fn shown(document: &JobDocument, tab: Tab) -> Vec<String> {
    let folds = LineFolds::default();
    document.pane(tab, &folds, 200, false).window(Spot::default(), 1_000, 0, None).iter().map(ScreenRow::text).collect()
}

#[test]
fn a_line_of_the_arguments_is_a_filter_term_where_it_has_one_value_that_is_not_masked() {
    let text = r#"{"user":{"id":1.10,"tags":["a b"],"password":"x"},"note":null,"list":[],"a.b":""}"#;
    let document = with_arguments(text);
    let term = |line: usize| match document.filter_term(Tab::Arguments, line) {
        Ok((key, value)) => Filter::all().with(&key, value.as_deref(), false).expect("a filter").to_string(),
        Err(why) => why.to_owned(),
    };
    let several = "this line has no single value: go to one in it";
    let expected = [
        several,
        several,
        "args.user.id:1.10",
        several,
        r#"args.user.tags:"a b""#,
        several,
        "the value is masked",
        several,
        r#"args.note:"""#,
        r#"args.list:"""#,
        r#"args."a.b":"""#,
        several,
    ];
    let told: Vec<String> = (0..shown(&document, Tab::Arguments).len()).map(term).collect();
    assert_eq!(told, expected);
    assert!(document.filter_term(Tab::Error, 0).is_err());
    assert!(with_arguments("[1]").filter_term(Tab::Arguments, 1).is_err(), "no key");
    assert!(with_arguments("no JSON").filter_term(Tab::Arguments, 0).is_err());
}

#[test]
fn arguments_that_were_encoded_twice_are_shown_decoded_with_exact_numbers() {
    let document = with_arguments(r#""[{\"amount\":12345678901234567890.10}]""#);
    assert_eq!(shown(&document, Tab::Arguments)[2], "    \"amount\": 12345678901234567890.10");
}

#[test]
fn arguments_that_are_no_json_are_shown_as_stored_with_the_reason() {
    let document = with_arguments("{\"a\": 1,\n\x1b[31mnot json");
    assert_eq!(shown(&document, Tab::Arguments)[0], "{\"a\": 1,");
    assert!(document.note(Tab::Arguments).expect("a reason").starts_with("shown as stored: not JSON at byte"));
}

#[test]
fn secrets_are_masked_on_every_tab_and_in_copies_and_reach_only_the_editor() {
    let document = document(JobDetail {
        message: Some("refused: password=hunter2 for ana".into()),
        arguments: Some(r#"{"user":"ana","password":"hunter2"}"#.into()),
        undecodable: false,
        backtrace: Some("app/a.rb:1:in `x'\ntoken=hunter2".into()),
        metadata: vec![("options".into(), Some(r#"{"api_key":"hunter2"}"#.into()))],
        ..detail()
    });
    for tab in Tab::ALL {
        let lines = shown(&document, tab);
        let copies = (0..lines.len()).map(|line| document.line(tab, line)).chain([document.copy(tab)]);
        for text in lines.iter().cloned().chain(copies) {
            assert!(!text.contains("hunter2"), "{tab:?}: {text}");
        }
    }
    let (name, text) = document.exact(Tab::Arguments);
    assert!(name == "arguments.json" && text.contains("ana") && !text.contains("hunter2"), "{text}");
}

#[test]
fn secrets_in_the_class_of_an_error_are_masked_as_those_of_its_message() {
    let reason = "login of ana: password=hunter2 refused";
    let row = JobRow { error_class: Some(reason.into()), message: Some(reason.into()), ..row() };
    let of = || JobDetail { row: row.clone(), message: Some(reason.into()), ..detail() };
    let masked = document(of());
    assert_eq!(shown(&masked, Tab::Error)[0], "login of ana: password=[redacted] refused");
    let shown = format!("{:?} {}", masked.detail.row, masked.copy(Tab::Error));
    assert!(!shown.contains("hunter2"), "{shown}");
    let redactor = Redactor::default().revealing(true);
    let revealed = JobDocument::build(of(), Vec::new(), &Notation::default(), &redactor);
    assert!(revealed.copy(Tab::Error).contains("hunter2"));
}

#[test]
fn the_applications_frames_come_first_and_libraries_are_dimmed() {
    let trace = "/usr/lib/ruby/gems/3.2.0/gems/net-http-0.4/lib/net/http.rb:9:in `connect'\n\
                 /srv/app/app/jobs/charge_job.rb:12:in `perform'\n\
                 /usr/lib/ruby/gems/3.2.0/gems/activejob-7.1/lib/active_job/execution.rb:5:in `perform_now'";
    let document = document(JobDetail { backtrace: Some(trace.into()), ..detail() });
    let lines = shown(&document, Tab::Backtrace);
    assert_eq!(lines[0], "The application's frames: 1");
    assert_eq!(lines[1], "/srv/app/app/jobs/charge_job.rb:12:in `perform'");
    assert_eq!(lines[4..], trace.lines().collect::<Vec<_>>());
    let folds = LineFolds::default();
    let rows = document.pane(Tab::Backtrace, &folds, 200, false).window(Spot { line: 4, row: 0 }, 1, 0, None);
    assert!(rows[0].pieces.iter().all(|piece| piece.ink == TextRole::LibraryFrame));
}

#[test]
fn a_column_that_the_arguments_were_read_from_is_masked_where_they_hold_a_secret() {
    let of = |arguments: &str| JobDetail {
        arguments: Some(arguments.into()),
        metadata: vec![("handler".into(), Some("secret: |\n  hunter2".into())), ("queue".into(), Some("low".into()))],
        decoded_from: vec!["handler".to_owned()],
        ..detail()
    };
    let masked = document(of(r#"{"secret":"hunter2"}"#));
    assert_eq!(shown(&masked, Tab::Metadata), ["{", "  \"handler\": \"[redacted]\",", "  \"queue\": \"low\"", "}"]);
    assert!(!masked.copy(Tab::Metadata).contains("hunter2"));
    let harmless = document(of(r#"{"name":"hunter2"}"#));
    assert!(harmless.copy(Tab::Metadata).contains("hunter2"));
    let redactor = Redactor::default().revealing(true);
    let revealed = JobDocument::build(of(r#"{"secret":"hunter2"}"#), Vec::new(), &Notation::default(), &redactor);
    assert!(revealed.copy(Tab::Metadata).contains("hunter2"));
}

#[test]
fn a_tab_without_text_says_why() {
    let document = document(JobDetail { row: JobRow { error_class: None, ..row() }, ..detail() });
    for tab in Tab::ALL {
        assert!(shown(&document, tab).is_empty());
        assert!(document.note(tab).is_some_and(|remark| remark.len() > 10), "{tab:?}");
        assert_eq!(document.size(tab), Size::default());
        let (folds, needle) = (LineFolds::default(), Needle::new("x").expect("words"));
        let pane = document.pane(tab, &folds, 80, true);
        assert_eq!((pane.bottom(5), pane.scroll(Spot::default(), 9), pane.shown()), Default::default());
        assert_eq!(document.search(tab, &needle, 3, Direction::Backward), None);
        assert_eq!(document.toggle(tab, &mut LineFolds::default(), 3), None);
    }
}

#[test]
fn columns_that_hold_json_are_shown_as_json_and_others_as_text() {
    let metadata = vec![
        ("job_id".into(), Some("7".into())),
        ("metadata".into(), Some(r#""{\"run\":\"r1\"}""#.into())),
        ("locked_at".into(), None),
    ];
    let document = document(JobDetail { metadata, ..detail() });
    assert_eq!(
        shown(&document, Tab::Metadata),
        ["{", "  \"job_id\": \"7\",", "  \"metadata\": {", "    \"run\": \"r1\"", "  },", "  \"locked_at\": null", "}"]
    );
}

#[test]
fn history_says_what_was_done_by_whom_and_why() {
    let entry = HistoryEntry {
        run: RunId("r7".into()),
        action: Action::Replay,
        at: Timestamp(0),
        operator: Operator {
            user: "ana".into(),
            host: "bastion".into(),
            ssh_client: Some("10.0.0.9".into()),
            ..Operator::default()
        },
        reason: Some("fixed\x1b[2J".into()),
        outcome: "done".into(),
    };
    let document = JobDocument::build(detail(), vec![entry], &Notation::default(), &Redactor::default());
    let lines = shown(&document, Tab::History);
    assert_eq!(lines[0], "1970-01-01 00:00:00Z  replay  done");
    assert_eq!(lines[1], "  run r7 by ana@bastion from 10.0.0.9");
    assert!(lines[2].starts_with("  because: fixed") && !lines[2].contains('\x1b'), "{lines:?}");
}

#[test]
fn hits_are_marked_and_found_inside_folds() {
    let document = with_arguments(r#"{"a":{"needle":1},"b":"a Needle in hay"}"#);
    let mut folds = LineFolds::default();
    document.fold_level(Tab::Arguments, &mut folds, 1);
    let needle = Needle::new("needle").expect("words");
    let line = document.search(Tab::Arguments, &needle, 0, Direction::Forward).expect("a hit");
    assert_ne!(folds.shown(line), line);
    folds.reveal(line);
    let rows = document.pane(Tab::Arguments, &folds, 80, false).window(Spot::default(), 10, 0, Some(&needle));
    let hits: Vec<String> =
        rows.iter().flat_map(|row| &row.pieces).filter(|piece| piece.hit).map(|piece| piece.text.clone()).collect();
    assert_eq!(hits, ["needle", "Needle"]);
}

#[test]
fn ten_megabytes_are_built_and_drawn_anywhere() {
    let rows: Vec<String> =
        (0..150_000).map(|i| format!("{{\"id\":{i},\"tags\":[\"x\",null],\"note\":\"{i}\"}}")).collect();
    let text = format!("[{}]", rows.join(","));
    let document = with_arguments(&text);
    assert_eq!(document.size(Tab::Arguments), Size { bytes: text.len(), lines: 150_000 * 8 + 2 });
    let mut folds = LineFolds::default();
    document.fold_level(Tab::Arguments, &mut folds, 1);
    let pane = document.pane(Tab::Arguments, &folds, 80, true);
    assert_eq!(pane.shown(), 150_002);
    let last = pane.window(pane.bottom(3), 3, 0, None);
    assert_eq!(last[1].text(), "  { … 3 }");
    assert_eq!(pane.shown_before(last[1].line), 150_000);
}

proptest! {
    #[test]
    fn scrolling_by_rows_never_skips_or_repeats_one(
        lines in prop::collection::vec("[a-z日 ]{0,60}", 1..12),
        width in 1usize..40,
        height in 1usize..9,
        steps in prop::collection::vec(-6isize..7, 0..12),
    ) {
        let document = document(JobDetail { message: Some(lines.join("\n").as_str().into()), ..detail() });
        let folds = LineFolds::default();
        let pane = document.pane(Tab::Error, &folds, width, true);
        let all: Vec<(usize, usize)> =
            pane.window(Spot::default(), usize::MAX, 0, None).iter().map(|row| (row.line, row.row)).collect();
        let place = |spot: Spot| all.iter().position(|&row| row == (spot.line, spot.row));
        let mut spot = Spot::default();
        for step in steps {
            let before = place(spot).expect("a row");
            spot = pane.scroll(spot, step);
            let wanted = before.saturating_add_signed(step).min(all.len() - 1);
            prop_assert_eq!(place(spot), Some(wanted));
            let window: Vec<_> = pane.window(spot, height, 0, None).iter().map(|row| (row.line, row.row)).collect();
            prop_assert_eq!(&window[..], &all[wanted..all.len().min(wanted + height)]);
            let revealed = place(pane.reveal(spot, 0, height)).expect("a row");
            prop_assert_eq!(revealed, 0);
        }
        prop_assert_eq!(place(pane.bottom(height)), Some(all.len().saturating_sub(height)));
    }
}
