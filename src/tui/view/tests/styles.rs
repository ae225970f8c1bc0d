//! Styles where they matter: what must not be overlooked, and that nothing is told by colour alone.

use std::fmt::Write as _;

use ratatui::buffer::Buffer;

use super::{draw_in, fixture, theme_of};
use crate::tui::app::model::Focus;

/// The style of the first cell of a text.
fn style_of(buffer: &Buffer, text: &str) -> String {
    let area = buffer.area;
    for y in 0..area.height {
        let row: Vec<&str> = (0..area.width).map(|x| buffer[(x, y)].symbol()).collect();
        for x in 0..row.len() {
            if row[x..].concat().starts_with(text) {
                let cell = &buffer[(u16::try_from(x).expect("a column"), y)];
                return format!("fg {:?} bg {:?} {:?}", cell.fg, cell.bg, cell.modifier);
            }
        }
    }
    panic!("`{text}` is not on the screen");
}

#[test]
fn what_matters_stands_out_in_every_palette() {
    let mut out = String::new();
    for theme in ["dark", "light", "16", "none"] {
        let buffer = draw_in(&fixture::focused(fixture::night((140, 45)), Focus::List), &theme_of(theme, false));
        let _ = writeln!(out, "{theme}");
        for text in
            [" PRODUCTION ", "60,351", "[Jobs]", "03:12:09", "gone", "37 new", "new ▏", "(I ignore)", "Enter open"]
        {
            let _ = writeln!(out, "  {text:<13} {}", style_of(&buffer, text));
        }
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("styles", out));
}

#[test]
fn colours_carry_nothing_that_the_text_does_not() {
    for focus in [Focus::Histogram, Focus::List, Focus::Detail] {
        let model = fixture::focused(fixture::night((140, 45)), focus);
        let coloured = super::text(&draw_in(&model, &theme_of("dark", false)));
        let plain = draw_in(&model, &theme_of("none", false));
        assert_eq!(coloured, super::text(&plain));
        assert!(plain.content().iter().all(|c| c.fg == ratatui::style::Color::Reset), "colour without colours");
        assert!(coloured.contains('['), "the pane that has the keys is in brackets");
    }
}

#[test]
fn the_footer_keeps_the_most_important_hints_and_never_half_a_hint() {
    for width in 40..=200 {
        let text = super::frame(&fixture::night((width, 24)));
        let footer = text.lines().last().unwrap_or_default();
        assert!(footer.starts_with(" ? help  Enter open"), "{footer}");
        assert!(!footer.contains('…'), "{footer}");
    }
    let wide = super::frame(&fixture::night((200, 24)));
    for hint in ["(I ignore)", "q quit", "r refresh"] {
        assert!(wide.contains(hint), "{hint}");
    }
}
