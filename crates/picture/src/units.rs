//! Units that keep tick labels short.

/// A unit: what a value in SI is multiplied by, and the symbol.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unit {
    pub factor: f64,
    pub symbol: &'static str,
}

/// The unit for lengths up to `largest` m.
pub(super) fn length(largest: f64) -> Unit {
    let table = [(5e3, 1e-3, "km"), (0.5, 1.0, "m"), (5e-4, 1e3, "mm"), (0.0, 1e6, "µm")];
    pick(largest, &table)
}

/// The unit for times up to `largest` s.
pub(super) fn time(largest: f64) -> Unit {
    let table = [(0.5, 1.0, "s"), (5e-4, 1e3, "ms"), (5e-7, 1e6, "µs"), (0.0, 1e9, "ns")];
    pick(largest, &table)
}

fn pick(largest: f64, table: &[(f64, f64, &'static str)]) -> Unit {
    let found = table.iter().find(|row| largest >= row.0).or(table.last());
    found.map_or(Unit { factor: 1.0, symbol: "" }, |&(_, factor, symbol)| Unit { factor, symbol })
}

/// Power of 1000 to take out of values up to `largest`, as an exponent of ten; 0 where the plain
/// numbers are short.
pub(super) fn exponent(largest: f64) -> i32 {
    if !largest.is_finite() || largest <= 0.0 || (0.01..1e5).contains(&largest) {
        return 0;
    }
    #[expect(clippy::cast_possible_truncation, reason = "at most 308 / 3")]
    let thousands = (largest.log10() / 3.0).floor() as i32;
    3 * thousands
}

/// An exponent of ten in superscript digits: -6 gives `10⁻⁶`.
pub(super) fn power_of_ten(exponent: i32) -> String {
    let text = exponent.to_string();
    let digits = text.chars().map(|c| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        c => c.to_digit(10).and_then(|d| char::from_u32(0x2070 + d)).unwrap_or(c),
    });
    format!("10{}", digits.collect::<String>())
}

/// A tick label: as few decimals as a step of the axis from `from` to `to` needs.
pub(super) fn tick(value: f64, from: f64, to: f64) -> String {
    let span = (to - from).abs();
    let decimals = (1.3 - span.max(f64::MIN_POSITIVE).log10()).ceil().clamp(0.0, 9.0);
    #[expect(clippy::cast_possible_truncation, reason = "clamped")]
    #[expect(clippy::cast_sign_loss, reason = "clamped")]
    let text = format!("{value:.*}", decimals as usize);
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    };
    if text == "-0" { "0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_keep_numbers_short() {
        let lengths = [20_000.0, 800.0, 0.05, 1e-5].map(|l| length(l).symbol);
        assert_eq!(lengths, ["km", "m", "mm", "µm"]);
        let times = [4.0, 0.2, 4e-5].map(|t| time(t).symbol);
        assert_eq!(times, ["s", "ms", "µs"]);
    }

    #[test]
    fn exponents_are_multiples_of_three_and_only_where_needed() {
        assert_eq!([3.0, 0.02, 4e-7, 6e9, 0.0].map(exponent), [0, 0, -9, 9, 0]);
        assert_eq!(power_of_ten(-12), "10⁻¹²");
    }

    #[test]
    fn ticks_have_no_idle_digits() {
        assert_eq!(tick(0.5, 0.0, 4.0), "0.5");
        assert_eq!(tick(2.0, 0.0, 4.0), "2");
        assert_eq!(tick(1500.0, 0.0, 20_000.0), "1500");
        assert_eq!(tick(0.000_25, 0.0, 0.001), "0.00025");
        assert_eq!(tick(-1e-18, -1.0, 1.0), "0");
    }
}
