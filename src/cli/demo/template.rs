//! Texts with gaps: `<cents>`, `<1..900>` and the like are filled in again for each job.

use std::fmt::Write as _;

use super::random::Random;

/// A text with gaps. A `<…>` that names nothing known stands for itself.
#[derive(Clone, Debug)]
pub struct Template(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Literal(String),
    Range(u64, u64),
    Letters(usize),
    Hex(usize),
    Pool(&'static [&'static str]),
    ValueKind(ValueKind),
}

#[derive(Clone, Copy, Debug)]
enum ValueKind {
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

impl Template {
    /// Reads a text with gaps.
    pub fn parse(text: &str) -> Template {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('<') {
            literal.push_str(&rest[..open]);
            rest = &rest[open..];
            match rest.find('>').and_then(|close| Some((close, gap(&rest[1..close])?))) {
                Some((close, piece)) => {
                    pieces.push(Piece::Literal(std::mem::take(&mut literal)));
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
        pieces.push(Piece::Literal(literal));
        Template(pieces)
    }

    /// Appends the text with its gaps filled in. `reference` is what `<ref>` stands for.
    pub fn fill(&self, random: &mut Random, reference: &str, out: &mut String) {
        for piece in &self.0 {
            match piece {
                Piece::Literal(text) => out.push_str(text),
                Piece::Range(from, to) => put(out, format_args!("{}", from + random.below(to - from + 1))),
                Piece::Letters(n) => letters(*n, random, out),
                Piece::Hex(n) => hex(*n, random, out),
                Piece::Pool(words) => out.push_str(random.pick(words).copied().unwrap_or_default()),
                Piece::ValueKind(kind) => kind.fill(random, reference, out),
            }
        }
    }
}

impl ValueKind {
    fn fill(self, random: &mut Random, reference: &str, out: &mut String) {
        let mut up_to = |n: u64| random.below(n);
        match self {
            ValueKind::Reference => out.push_str(reference),
            ValueKind::Cents => put(out, format_args!("{}", 190 + up_to(400) * up_to(400))),
            ValueKind::Decimal => put(out, format_args!("{}.{:02}", 3 + up_to(60) * up_to(60), up_to(100))),
            // Beyond what a 64-bit float can hold, as ids from other systems are.
            ValueKind::Big => put(out, format_args!("{}", 9_007_199_254_740_993 + up_to(1 << 62))),
            ValueKind::Epoch => put(out, format_args!("{}", 1_790_000_000 + up_to(9_000_000))),
            ValueKind::Date => put(out, format_args!("2026-{:02}-{:02}", 1 + up_to(12), 1 + up_to(28))),
            ValueKind::Month => put(out, format_args!("2026-{:02}", 1 + up_to(12))),
            ValueKind::Email => {
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
            ValueKind::Ip => put(out, format_args!("203.0.113.{}", 1 + up_to(254))),
            ValueKind::Iban => put(out, format_args!("DE{:02}5001051{:011}", 10 + up_to(89), up_to(99_999_999_999))),
            ValueKind::Sku => {
                put(out, format_args!("{}-{:05}", ["TS", "HD", "MG", "BK", "SH"][up_to(5) as usize], up_to(99_999)))
            }
            ValueKind::Uuid => put(out, format_args!("{}", uuid(random))),
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

fn gap(word: &str) -> Option<Piece> {
    if let Some((from, to)) = word.split_once("..") {
        let (from, to) = (from.parse().ok()?, to.parse().ok()?);
        return (from <= to).then_some(Piece::Range(from, to));
    }
    if let Some(n) = word.strip_prefix("alnum") {
        return n.parse().ok().map(Piece::Letters);
    }
    if let Some(n) = word.strip_prefix("hex") {
        return n.parse().ok().map(Piece::Hex);
    }
    Some(match word {
        "ref" => Piece::ValueKind(ValueKind::Reference),
        "cents" => Piece::ValueKind(ValueKind::Cents),
        "decimal" => Piece::ValueKind(ValueKind::Decimal),
        "big" => Piece::ValueKind(ValueKind::Big),
        "epoch" => Piece::ValueKind(ValueKind::Epoch),
        "date" => Piece::ValueKind(ValueKind::Date),
        "month" => Piece::ValueKind(ValueKind::Month),
        "email" => Piece::ValueKind(ValueKind::Email),
        "ip" => Piece::ValueKind(ValueKind::Ip),
        "iban" => Piece::ValueKind(ValueKind::Iban),
        "sku" => Piece::ValueKind(ValueKind::Sku),
        "uuid" => Piece::ValueKind(ValueKind::Uuid),
        "person" => Piece::Pool(PERSONS),
        "company" => Piece::Pool(COMPANIES),
        "city" => {
            Piece::Pool(&["Berlin", "Lyon", "Kraków", "København", "Torino", "Málaga", "Utrecht", "Graz", "Zürich"])
        }
        "street" => Piece::Pool(&["Hauptstraße", "Rue Voltaire", "ul. Długa", "Via Roma", "Nørregade", "Calle Mayor"]),
        "country" => Piece::Pool(&["DE", "FR", "PL", "DK", "IT", "ES", "NL", "AT", "CH"]),
        "currency" => Piece::Pool(&["eur", "eur", "eur", "usd", "chf", "pln", "dkk", "gbp"]),
        "locale" => Piece::Pool(&["de-DE", "fr-FR", "pl-PL", "da-DK", "it-IT", "es-ES", "nl-NL", "en-GB"]),
        "plan" => Piece::Pool(&["starter", "team", "business", "enterprise"]),
        "brand" => Piece::Pool(&["visa", "mastercard", "amex", "girocard"]),
        "gateway" => Piece::Pool(&["stripe", "stripe", "stripe", "adyen"]),
        "carrier" => Piece::Pool(&["dhl", "dpd", "gls", "ups"]),
        "warehouse" => Piece::Pool(&["FRA1", "LYS2", "WAW1"]),
        "category" => Piece::Pool(&["shoes/running", "kitchen/knives", "audio/headphones", "books/travel"]),
        "refund_reason" => Piece::Pool(&["requested_by_customer", "duplicate", "fraudulent", "damaged_in_transit"]),
        "event" => Piece::Pool(&[
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
        Template::parse(text).fill(&mut Random::new(1), "c0ffee", &mut out);
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
