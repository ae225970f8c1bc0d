//! What holds for every frame, whatever happened before and whatever the size.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use proptest::prelude::*;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::fixture::{self, NOW};
use super::{draw_in, theme_of};
use crate::triage::plan::Confirm;
use crate::tui::app::model::PlanWords;
use crate::tui::app::model::{Focus, HelpPage, Model, Overlay, PlanDialog, ResumeDialog, RunsPage, ScrollState};
use crate::tui::app::{Msg, update};
use crate::tui::keys::KeyContext;
use crate::tui::theme::Theme;

/// Whether a character may stand in a cell: nothing that acts, and a joiner only inside an emoji.
fn may_stand(symbol: &str) -> bool {
    let emoji = symbol.chars().count() > 2;
    symbol.chars().all(|c| match c.general_category() {
        GeneralCategory::Control | GeneralCategory::LineSeparator | GeneralCategory::ParagraphSeparator => false,
        GeneralCategory::Format => c == '\u{200d}' && emoji,
        GeneralCategory::PrivateUse | GeneralCategory::Unassigned => false,
        _ => true,
    })
}

fn check(model: &Model, theme: &Theme) {
    let buffer = draw_in(model, theme);
    for cell in buffer.content() {
        assert!(may_stand(cell.symbol()), "{:?} reached a cell", cell.symbol());
        assert!(!theme.glyphs.is_plain() || cell.symbol().is_ascii(), "{:?} is not plain", cell.symbol());
    }
}

fn overlays() -> Vec<fn() -> Overlay> {
    fn plan(confirm: Confirm) -> Overlay {
        let mut plan = fixture::plan(confirm);
        plan.filter = Some("\u{202e}msg:\u{1b}[2J".into());
        plan.warnings.push("\u{9b}31m日本".into());
        let typed = tui_input::Input::default();
        Overlay::Plan(Box::new(PlanDialog {
            plan,
            typed,
            drawn: true,
            seen: Some(NOW),
            top: 3,
            words: PlanWords::default(),
            complaint: None,
            shell: None,
        }))
    }
    vec![
        || Overlay::None,
        || {
            Overlay::Help(HelpPage {
                reading: ScrollState { top: 30 },
                typing: true,
                ..HelpPage::new(KeyContext::List)
            })
        },
        || Overlay::Freezing(None),
        || plan(Confirm::TypeCount),
        || plan(Confirm::Yes),
        || Overlay::Run,
        || Overlay::Leave,
        || Overlay::Resume(ResumeDialog { page: RunsPage::new(vec![fixture::run()]), ..ResumeDialog::default() }),
        || Overlay::Resume(ResumeDialog::default()),
        || Overlay::Receipt(Box::new(fixture::run()), ScrollState { top: 1 }),
        || Overlay::Runs(RunsPage::new(vec![fixture::run()])),
        || {
            let mut page = RunsPage::new(Vec::new());
            page.at = 7;
            Overlay::Runs(page)
        },
        || Overlay::Picker(Default::default()),
        || Overlay::Contrast(Box::default()),
        || fixture::contrast("args.\u{202e}x = \"\u{1b}[31m\"", 9),
        || Overlay::Text {
            title: "\u{202e}title".into(),
            lines: vec!["dlq-tui \u{1b}[31m -f 'x'".into()],
            reading: ScrollState { top: 9 },
        },
    ]
}

#[test]
fn no_cell_of_any_frame_holds_a_character_that_acts() {
    for size in super::SIZES {
        for focus in [Focus::Histogram, Focus::List, Focus::Detail] {
            for overlay in overlays() {
                for theme in [theme_of("dark", false), theme_of("16", true)] {
                    let mut model = fixture::focused(fixture::nasty(size), focus);
                    model.runner.going = Some(fixture::progress());
                    model.overlay = overlay();
                    check(&model, &theme);
                }
            }
        }
    }
}

#[test]
fn on_a_plain_terminal_nothing_of_ours_is_lost() {
    for focus in [Focus::Histogram, Focus::List, Focus::Detail] {
        let model = fixture::focused(fixture::night((140, 45)), focus);
        let text = super::text(&draw_in(&model, &theme_of("16", true)));
        assert!(!text.replace("? help", "").contains('?'), "{text}");
    }
}

fn key() -> impl Strategy<Value = KeyEvent> {
    let codes = prop_oneof![
        8 => prop::sample::select(vec![
            'j', 'k', 'g', 'G', 'R', 'D', 'I', 'A', 'v', '*', ' ', '/', ':', '?', 'p', 's', 'w', 'z', 'y', 'n', 'c',
            'L', 'q', '1', '2', '3', '4', '5', ']', 'e', 'h', 'l', 'x', '"', '\u{202e}', '日', '\u{301}',
        ])
        .prop_map(KeyCode::Char),
        4 => prop::sample::select(vec![
            KeyCode::Enter, KeyCode::Esc, KeyCode::Tab, KeyCode::BackTab, KeyCode::Up, KeyCode::Down, KeyCode::Left,
            KeyCode::Right, KeyCode::Backspace, KeyCode::PageDown, KeyCode::PageUp, KeyCode::Home, KeyCode::End,
        ]),
    ];
    codes.prop_map(|code| KeyEvent::new(code, KeyModifiers::NONE))
}

fn msg() -> impl Strategy<Value = Msg> {
    prop_oneof![
        12 => key().prop_map(Msg::Key),
        3 => (1u16..160, 1u16..50).prop_map(|(width, height)| Msg::Resize { width, height }),
        1 => Just(()).prop_map(|()| Msg::Tick),
        1 => "\\PC{0,20}".prop_map(Msg::Paste),
        1 => any::<bool>().prop_map(|ok| Msg::Said(if ok { Ok("copied".into()) } else { Err("\u{1b}[2Jno".into()) })),
        1 => Just(()).prop_map(|()| Msg::Running(fixture::progress())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn whatever_happens_at_whatever_size_a_frame_can_be_drawn(
        nasty in any::<bool>(),
        overlay in 0usize..12,
        size in (1u16..220, 1u16..70),
        msgs in prop::collection::vec(msg(), 0..40),
    ) {
        let mut model = if nasty { fixture::nasty(size) } else { fixture::night(size) };
        model.overlay = overlays()[overlay]();
        let theme = theme_of("dark", nasty && overlay % 2 == 0);
        check(&model, &theme);
        let mut now = NOW;
        for (n, msg) in msgs.into_iter().enumerate() {
            now = now.after(std::time::Duration::from_millis(170));
            let _ = update(&mut model, msg, now);
            if n % 4 == 0 {
                check(&model, &theme);
            }
        }
        check(&model, &theme);
    }
}

#[test]
fn a_filter_that_says_a_secret_shows_it_nowhere() {
    let written = "error:\"login of ann failed password=hunter2\"";
    let mut run = fixture::run();
    run.intent.filter = written.into();
    let mut plan = fixture::plan(Confirm::Yes);
    plan.filter = Some(written.into());
    let (typed, seen) = (tui_input::Input::default(), None);
    let (top, complaint, words, shell) = (0, None, PlanWords::default(), None);
    let dialog = PlanDialog { plan, typed, drawn: true, seen, top, complaint, words, shell };
    for overlay in [
        Overlay::None,
        Overlay::Plan(Box::new(dialog)),
        Overlay::Receipt(Box::new(run.clone()), ScrollState::default()),
        Overlay::Runs(RunsPage::new(vec![run])),
    ] {
        let mut model = fixture::night((140, 45));
        model.filter.set(crate::domain::filter::Filter::parse(written).expect("a filter"), NOW);
        model.overlay = overlay;
        let shown = super::frame(&model);
        assert!(shown.contains("password=[redacted]") && !shown.contains("hunter2"), "{shown}");
    }
}
