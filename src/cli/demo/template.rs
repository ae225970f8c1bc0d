//! Texts with gaps: `<cents>`, `<1..900>` and the like are filled in again for each job.

use std::fmt::Write as _;

use super::random::Random;

/// A text with gaps. A `<…>` that names nothing known stands for itself.
#[derive(Clone, Debug)]
pub struct DemoTemplate(Vec<DemoPiece>);

#[derive(Clone, Debug)]
enum DemoPiece {
    Literal(String),
    Range(u64, u64),
    Letters(usize),
    Hex(usize),
    Pool(&'static [&'static str]),
    ValueKind(GapKind),
}

#[derive(Clone, Copy, Debug)]
enum GapKind {
    Reference,
    Cents,
    Decimal,
    Big,
    Epoch,
    Date,
    Month,
    Email,
    Ip,
    Iban,
    Sku,
    Uuid,
}

impl DemoTemplate {
    /// Reads a text with gaps.
    pub fn parse(text: &str) -> DemoTemplate {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('<') {
            literal.push_str(&rest[..open]);
            rest = &rest[open..];
            match rest.find('>').and_then(|close| Some((close, gap(&rest[1..close])?))) {
                Some((close, piece)) => {
                    pieces.push(DemoPiece::Literal(std::mem::take(&mut literal)));
                    pieces.push(piece);
                    rest = &rest[close + 1..];
                }
                None => {
                    literal.push('<');
                    rest = &rest[1..];
                }
            }
        }
        literal.push_str(rest);
        pieces.push(DemoPiece::Literal(literal));
        DemoTemplate(pieces)
    }

    /// Appends the text with its gaps filled in. `reference` is what `<ref>` stands for.
    pub fn fill(&self, random: &mut Random, reference: &str, out: &mut String) {
        for piece in &self.0 {
            match piece {
                DemoPiece::Literal(text) => out.push_str(text),
                DemoPiece::Range(from, to) => put(out, format_args!("{}", from + random.below(to - from + 1))),
                DemoPiece::Letters(n) => letters(*n, random, out),
                DemoPiece::Hex(n) => hex(*n, random, out),
                DemoPiece::Pool(words) => out.push_str(random.pick(words).copied().unwrap_or_default()),
                DemoPiece::ValueKind(kind) => kind.fill(random, reference, out),
            }
        }
    }
}

impl GapKind {
    fn fill(self, random: &mut Random, reference: &str, out: &mut String) {
        let mut up_to = |n: u64| random.below(n);
        match self {
            GapKind::Reference => out.push_str(reference),
            GapKind::Cents => put(out, format_args!("{}", 190 + up_to(400) * up_to(400))),
            GapKind::Decimal => put(out, format_args!("{}.{:02}", 3 + up_to(60) * up_to(60), up_to(100))),
            // Beyond what a 64-bit float can hold, as ids from other systems are.
            GapKind::Big => put(out, format_args!("{}", 9_007_199_254_740_993 + up_to(1 << 62))),
            GapKind::Epoch => put(out, format_args!("{}", 1_790_000_000 + up_to(9_000_000))),
            GapKind::Date => put(out, format_args!("2026-{:02}-{:02}", 1 + up_to(12), 1 + up_to(28))),
            GapKind::Month => put(out, format_args!("2026-{:02}", 1 + up_to(12))),
            GapKind::Email => {
                let name = random.pick(PERSONS).copied().unwrap_or_default();
                out.extend(name.chars().filter(char::is_ascii).map(|c| match c {
                    ' ' => '.',
                    c => c.to_ascii_lowercase(),
                }));
                put(
                    out,
                    format_args!("{}@{}.example", random.below(90), random.pick(COMPANIES).copied().unwrap_or("acme")),
                );
            }
            GapKind::Ip => put(out, format_args!("203.0.113.{}", 1 + up_to(254))),
            GapKind::Iban => put(out, format_args!("DE{:02}5001051{:011}", 10 + up_to(89), up_to(99_999_999_999))),
            GapKind::Sku => {
                put(out, format_args!("{}-{:05}", ["TS", "HD", "MG", "BK", "SH"][up_to(5) as usize], up_to(99_999)))
            }
            GapKind::Uuid => put(out, format_args!("{}", uuid(random))),
        }
    }
}

/// A version 4 UUID out of the generator.
pub fn uuid(random: &mut Random) -> uuid::Uuid {
    uuid::Builder::from_random_bytes(((u128::from(random.next()) << 64) | u128::from(random.next())).to_be_bytes())
        .into_uuid()
}

/// Appends `n` hexadecimal digits.
pub fn hex(n: usize, random: &mut Random, out: &mut String) {
    draw(n, b"0123456789abcdef", random, out);
}

fn letters(n: usize, random: &mut Random, out: &mut String) {
    draw(n, b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0123456789", random, out);
}

fn draw(n: usize, alphabet: &[u8], random: &mut Random, out: &mut String) {
    // Eight letters a draw: a byte each is random enough for the eye, and filling a million rows takes half the time.
    let mut bits = 0;
    for i in 0..n {
        if i % 8 == 0 {
            bits = random.next();
        }
        out.push(char::from(alphabet[(bits & 0xff) as usize * alphabet.len() / 256]));
        bits >>= 8;
    }
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = out.write_fmt(text);
}

fn gap(word: &str) -> Option<DemoPiece> {
    if let Some((from, to)) = word.split_once("..") {
        let (from, to) = (from.parse().ok()?, to.parse().ok()?);
        return (from <= to).then_some(DemoPiece::Range(from, to));
    }
    if let Some(n) = word.strip_prefix("alnum") {
        return n.parse().ok().map(DemoPiece::Letters);
    }
    if let Some(n) = word.strip_prefix("hex") {
        return n.parse().ok().map(DemoPiece::Hex);
    }
    Some(match word {
        "ref" => DemoPiece::ValueKind(GapKind::Reference),
        "cents" => DemoPiece::ValueKind(GapKind::Cents),
        "decimal" => DemoPiece::ValueKind(GapKind::Decimal),
        "big" => DemoPiece::ValueKind(GapKind::Big),
        "epoch" => DemoPiece::ValueKind(GapKind::Epoch),
        "date" => DemoPiece::ValueKind(GapKind::Date),
        "month" => DemoPiece::ValueKind(GapKind::Month),
        "email" => DemoPiece::ValueKind(GapKind::Email),
        "ip" => DemoPiece::ValueKind(GapKind::Ip),
        "iban" => DemoPiece::ValueKind(GapKind::Iban),
        "sku" => DemoPiece::ValueKind(GapKind::Sku),
        "uuid" => DemoPiece::ValueKind(GapKind::Uuid),
        "person" => DemoPiece::Pool(PERSONS),
        "company" => DemoPiece::Pool(COMPANIES),
        "city" => {
            DemoPiece::Pool(&["Berlin", "Lyon", "Kraków", "København", "Torino", "Málaga", "Utrecht", "Graz", "Zürich"])
        }
        "street" => {
            DemoPiece::Pool(&["Hauptstraße", "Rue Voltaire", "ul. Długa", "Via Roma", "Nørregade", "Calle Mayor"])
        }
        "country" => DemoPiece::Pool(&["DE", "FR", "PL", "DK", "IT", "ES", "NL", "AT", "CH"]),
        "currency" => DemoPiece::Pool(&["eur", "eur", "eur", "usd", "chf", "pln", "dkk", "gbp"]),
        "locale" => DemoPiece::Pool(&["de-DE", "fr-FR", "pl-PL", "da-DK", "it-IT", "es-ES", "nl-NL", "en-GB"]),
        "plan" => DemoPiece::Pool(&["starter", "team", "business", "enterprise"]),
        "brand" => DemoPiece::Pool(&["visa", "mastercard", "amex", "girocard"]),
        "gateway" => DemoPiece::Pool(&["stripe", "stripe", "stripe", "adyen"]),
        "carrier" => DemoPiece::Pool(&["dhl", "dpd", "gls", "ups"]),
        "warehouse" => DemoPiece::Pool(&["FRA1", "LYS2", "WAW1"]),
        "category" => DemoPiece::Pool(&["shoes/running", "kitchen/knives", "audio/headphones", "books/travel"]),
        "refund_reason" => DemoPiece::Pool(&["requested_by_customer", "duplicate", "fraudulent", "damaged_in_transit"]),
        "event" => DemoPiece::Pool(&[
            "order.paid",
            "order.refunded",
            "payment_intent.succeeded",
            "payment_intent.payment_failed",
            "charge.dispute.created",
            "invoice.finalized",
        ]),
        _ => return None,
    })
}

const PERSONS: &[&str] = &[
    "Anna Kowalska",
    "Jonas Weber",
    "Claire Moreau",
    "Søren Holm",
    "Giulia Conti",
    "Lukas Brandt",
    "Marta Ruiz",
    "Emil Nowak",
    "Zoë van Dijk",
    "Paul Leitner",
    "Inès Garnier",
    "Milo Fontana",
    "Katarzyna Wójcik",
    "Noah Frei",
];

const COMPANIES: &[&str] = &["lumen", "nordwind", "papillon", "kontor24", "vela", "brixen", "oakridge", "fjordly"];

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> String {
        let mut out = String::new();
        DemoTemplate::parse(text).fill(&mut Random::new(1), "c0ffee", &mut out);
        out
    }

    #[test]
    fn gaps_are_filled_and_all_other_brackets_stand() {
        assert_eq!(filled("req_<ref>!"), "req_c0ffee!");
        assert_eq!(filled("#<TCPSocket:(closed)> a < b <<html>"), "#<TCPSocket:(closed)> a < b <<html>");
        assert_eq!(filled("<7..7><9..1>"), "7<9..1>");
        assert_eq!(filled("<hex8>").len(), 8);
        assert!(filled("<email>").ends_with(".example"));
    }
}
