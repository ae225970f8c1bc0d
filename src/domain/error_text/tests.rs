use proptest::prelude::*;

use super::*;

fn check(text: &str, class: Option<&str>, message: &str) {
    assert_eq!(cut(text), ErrorText { class, message }, "{text}");
}

#[test]
fn a_class_before_the_first_colon_is_cut_off() {
    check("Net::ReadTimeout: Net::ReadTimeout with #<TCP>", Some("Net::ReadTimeout"), "Net::ReadTimeout with #<TCP>");
    check("foo.bar.Baz: boom: twice", Some("foo.bar.Baz"), "boom: twice");
    check("App\\Exceptions\\X: msg", Some("App\\Exceptions\\X"), "msg");
    check("com.acme.Foo$Inner: msg", Some("com.acme.Foo$Inner"), "msg");
    check("KeyError: key not found: :b\nline 2", Some("KeyError"), "key not found: :b\nline 2");
    check("TypeError [ERR_X]: bad", Some("TypeError"), "bad");
    check("Timeout: x", Some("Timeout"), "x");
    check("ECONNREFUSED: connect", Some("ECONNREFUSED"), "connect");
}

#[test]
fn a_class_without_a_message_is_a_class() {
    check("Foo::Bar: ", Some("Foo::Bar"), "");
    check("Foo::Bar", Some("Foo::Bar"), "");
    check("KeyboardInterrupt", Some("KeyboardInterrupt"), "");
}

#[test]
fn what_does_not_look_like_a_class_stays_in_the_message() {
    for text in [
        "",
        "card declined: insufficient_funds",
        "rpc error: code = Unavailable",
        "example.com: connection refused",
        "ERROR: duplicate key value",
        "Warnings were found: 3",
        "Payment: failed",
        "http://a.b/c: d",
        "{\"a\": 1}",
        "C:\\x y: z",
        "10.0.0.1: refused",
        "Hello",
        ": x",
        "::: x",
    ] {
        check(text, None, text.trim());
    }
}

#[test]
fn a_banner_loses_its_stack_and_keeps_a_message_of_many_lines() {
    let text = "** (ArgumentError) card declined\nacct=42\n    # 1\n    run.exs:12: MyApp.Charge.perform/1\n    (lib 2.1) a/b.ex:145: B.c/1\n";
    check(text, Some("ArgumentError"), "card declined\nacct=42\n    # 1");
    check("** (My.CrashError) ** (exit) :kaboom", Some("My.CrashError"), "** (exit) :kaboom");
    check("** (not a class) x", None, "** (not a class) x");
}

#[test]
fn the_last_error_of_a_traceback_is_taken() {
    let text = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\nKeyError: 'x'\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"a.py\", line 3, in f\n    raise X\nmy.app.PaymentError: declined\nacct: 42\n";
    check(text, Some("my.app.PaymentError"), "declined\nacct: 42");
}

#[test]
fn of_a_chain_that_prints_inner_errors_first_the_thrown_one_is_taken() {
    let text = "RuntimeException: inner in /a/b.php:6\nStack trace:\n#0 {main}\n\nNext App\\Outer: card\nacct=42 in /a/b.php:9\nStack trace:\n#0 /v/c.php(36): f()\n#1 {main}";
    check(text, Some("App\\Outer"), "card\nacct=42");
    check("App\\Outer in /a/b.php:9\nStack trace:\n#0 {main}", Some("App\\Outer"), "");
}

#[test]
fn words_that_announce_an_error_are_left_out() {
    check(
        "Exception in thread \"main\" java.lang.IllegalStateException: x",
        Some("java.lang.IllegalStateException"),
        "x",
    );
    check("Uncaught TypeError: x is not a function", Some("TypeError"), "x is not a function");
}

proptest! {
    #[test]
    fn class_and_message_are_parts_of_any_text(text in "[A-Za-z:. \\n()*\\\\\"é]{0,60}") {
        let parts = cut(&text);
        prop_assert!(text.contains(parts.message));
        prop_assert!(parts.class.is_none_or(|class| text.contains(class) && !class.is_empty()));
    }
}
