use super::*;

fn json(bytes: &[u8], steps: &[DecodeStep]) -> Option<String> {
    decode(bytes, steps).map(|value| value.to_json())
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("hex"), 16).expect("hex")).collect()
}

/// Nothing of a payload that breaks off is read, and nothing breaks here.
fn every_prefix_fails(bytes: &[u8], steps: &[DecodeStep]) {
    for end in 0..bytes.len() {
        assert_eq!(json(&bytes[..end], steps), None, "{end} of {} bytes", bytes.len());
    }
}

/// Whatever a byte is changed to, reading ends; what it makes does not matter.
fn every_change_ends(bytes: &[u8], steps: &[DecodeStep]) {
    for at in 0..bytes.len() {
        for flip in [1, 0x0f, 0x80, 0xff] {
            let mut changed = bytes.to_vec();
            changed[at] ^= flip;
            let _ = json(&changed, steps);
        }
    }
}

/// `("rq_jobs.send_email", None, (0,), {"to": "u0@example.com"})`, as a worker's library stored it.
const CALL: &str = "789c6b609d6ace00011a3d424585f159f949c57ac5a97929f1a9b989993953fcbc195aa7d44ee9612ac99fd2c3576ae0905a91985b9093aa979c9f3ba5b8648a1e00a16416b8";

#[test]
fn a_compressed_pickle_is_read() {
    let steps = [DecodeStep::Zlib, DecodeStep::Pickle];
    let call = r#"["rq_jobs.send_email",null,[0],{"to":"u0@example.com"}]"#;
    assert_eq!(json(&hex(CALL), &steps).as_deref(), Some(call));
    every_prefix_fails(&hex(CALL)[..hex(CALL).len() - 4], &steps);
    every_change_ends(&hex(CALL), &steps);
    let plain = inflate::read(&hex(CALL)).expect("compressed");
    every_prefix_fails(&plain, &[DecodeStep::Pickle]);
    every_change_ends(&plain, &[DecodeStep::Pickle]);
}

#[test]
fn a_pickle_that_calls_something_shows_what_and_calls_nothing() {
    // Protocol 0: os.system("touch /tmp/x")
    let evil = b"cos\nsystem\n(S'touch /tmp/x'\ntR.";
    assert_eq!(json(evil, &[DecodeStep::Pickle]).as_deref(), Some(r#"{"__class":"os.system","value":"touch /tmp/x"}"#));
    // datetime.date(2026, 11, 20), protocol 4.
    let date = hex("80049520000000000000008c086461746574696d65948c0464617465949394430407ea0b149485945294 2e");
    let shown = json(&date, &[DecodeStep::Pickle]).expect("a date");
    assert_eq!(shown, r#"{"__class":"datetime.date","value":{"__bytes":"B+oLFA=="}}"#);
    every_prefix_fails(&date, &[DecodeStep::Pickle]);
}

#[test]
fn what_a_pickle_remembers_is_whole_wherever_it_is_named_again() {
    // a = []; [a, a] with 1 appended to a after it was remembered, protocol 2.
    let twice = hex("8002 5d 7100 28 5d 7101 4b01 61 6801 65 2e");
    assert_eq!(json(&twice, &[DecodeStep::Pickle]).as_deref(), Some("[[1],[1]]"));
    // a = [a]
    let circle = hex("8002 5d 7100 6800 61 2e");
    assert_eq!(json(&circle, &[DecodeStep::Pickle]), None);
    // Forty lists, each with the one before twice: as text it would be a terabyte.
    let mut bomb = hex("8002 5d 7100");
    for level in 1..40_u8 {
        bomb.extend([b']', b'q', level, b'h', level - 1, b'a', b'h', level - 1, b'a']);
    }
    bomb.push(b'.');
    assert_eq!(json(&bomb, &[DecodeStep::Pickle]), None);
}

#[test]
fn msgpack_keeps_numbers_and_bytes() {
    // ["01M7…", bytes of {"order_id": 9001}, 1795161919985, 1, [2, nil]]
    let job = hex("95 a4 30314d37 c40d 81a86f726465725f6964cd2329 cf000001a1f7fc5a37 01 92 02 c0");
    let value = decode(&job, &[DecodeStep::Msgpack]).expect("a job");
    assert_eq!(value.at("2").map(|at| at.to_json()).as_deref(), Some("1795161872951"));
    let inner = value.at("1").and_then(DecodedValue::into_bytes).expect("bytes");
    assert_eq!(json(&inner, &[DecodeStep::Msgpack]).as_deref(), Some(r#"{"order_id":9001}"#));
    assert_eq!(value.at("4.1").map(|at| at.to_json()).as_deref(), Some("null"));
    let big = hex("93 cfffffffffffffffff d38000000000000000 cb3ff8000000000000");
    assert_eq!(json(&big, &[DecodeStep::Msgpack]).as_deref(), Some("[18446744073709551615,-9223372036854775808,1.5]"));
    every_prefix_fails(&job, &[DecodeStep::Msgpack]);
    every_change_ends(&job, &[DecodeStep::Msgpack]);
    // A list that says that it has four thousand million elements.
    assert_eq!(json(&hex("dd ffffffff 01"), &[DecodeStep::Msgpack]), None);
    // Lists in lists without end.
    assert_eq!(json(&[0x91; 100_000], &[DecodeStep::Msgpack]), None);
}

#[test]
fn a_message_is_read_by_field_number() {
    let task =
        hex("0a0b6368617267653a63617264 12177b226163636f756e745f6964223a34322c226e223a317d 2819 3019 5891b5e3ca06");
    let shown = r#"{"1":"charge:card","2":"{\"account_id\":42,\"n\":1}","5":25,"6":25,"11":1767430801}"#;
    assert_eq!(json(&task, &[DecodeStep::Protobuf]).as_deref(), Some(shown));
    assert_eq!(
        json(&hex("0801 0802 08ffffffffffffffffff01"), &[DecodeStep::Protobuf]).as_deref(),
        Some(r#"{"1":[1,2,18446744073709551615]}"#)
    );
    assert_eq!(json(&hex("08ffffffffffffffffff02"), &[DecodeStep::Protobuf]), None, "more than 64 bits");
    assert_eq!(json(&hex("0005"), &[DecodeStep::Protobuf]), None, "there is no field 0");
    every_change_ends(&task, &[DecodeStep::Protobuf]);
}

#[test]
fn base64_is_read_with_line_breaks_and_without_padding() {
    for text in ["aGkgdGhlcmU=", "aGkg\ndGhl\ncmU=\n", "aGkgdGhlcmU"] {
        assert_eq!(json(text.as_bytes(), &[DecodeStep::Base64, DecodeStep::Text]).as_deref(), Some("\"hi there\""));
    }
    assert_eq!(json(b"not base64!", &[DecodeStep::Base64]), None);
}

#[test]
fn json_stays_as_it_was_written_and_bombs_are_not_read() {
    let text = r#"{"a": 1.50, "b":12345678901234567890}"#;
    assert_eq!(json(text.as_bytes(), &[DecodeStep::Json]).as_deref(), Some(text));
    assert_eq!(json(b"{\"a\":", &[DecodeStep::Json]), None);
    let zeros = {
        use std::io::Write;
        let mut writer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        writer.write_all(&vec![0; SIZE + 1]).and_then(|()| writer.finish()).expect("compressed")
    };
    assert!(zeros.len() < 10_000);
    assert_eq!(json(&zeros, &[DecodeStep::Zlib]), None);
}
