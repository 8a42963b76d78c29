//! Numbers as text: what is not a number is blank, never a word that looks like a value.

/// With so many significant digits, never in scientific notation; blank if not finite.
#[must_use]
pub fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return String::new();
    }
    if value == 0.0 {
        return "0".into();
    }
    // Rounded first: 9.996 with three digits is 10.0, not 10.00.
    let rounded: f64 = format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(f64::NAN);
    #[expect(clippy::cast_possible_truncation, reason = "an exponent of ten")]
    let before = rounded.abs().log10().floor() as i64 + 1;
    let decimals = i64::try_from(digits).unwrap_or(0) - before;
    format!("{value:.*}", usize::try_from(decimals).unwrap_or(0))
}

/// A rate as the seeds print theirs: one decimal from ten on, three digits below; blank if not finite.
#[must_use]
pub fn rate(value: f64) -> String {
    if value.is_finite() && value.abs() >= 10.0 {
        format!("{value:.1}")
    } else {
        significant(value, 3)
    }
}

/// A part of one as a percentage with one decimal, without the sign; blank if not finite.
#[must_use]
pub fn percent(part: f64) -> String {
    if part.is_finite() { format!("{:.1}", 100.0 * part) } else { String::new() }
}

/// Two digits and an exponent, as `1.8e-6`; `0` for zero, blank if not finite.
#[must_use]
pub fn scientific(value: f64) -> String {
    match value {
        v if !v.is_finite() => String::new(),
        0.0 => "0".into(),
        v => format!("{v:.1e}"),
    }
}

/// Bytes in GiB with three digits.
#[must_use]
pub fn gib(bytes: u64) -> String {
    significant(bytes as f64 / f64::from(1 << 30), 3)
}

/// A shape as text: `800³` for a cube, else `33 × 17 × 65`.
#[must_use]
pub fn shape(shape: [usize; 3]) -> String {
    let [nx, ny, nz] = shape;
    if nx == ny && ny == nz { format!("{nx}³") } else { format!("{nx} × {ny} × {nz}") }
}

/// A part as STREAM's sweep writes it: `1/128` where it is one over a whole number, else decimal.
#[must_use]
pub fn fraction(part: f64) -> String {
    let inverse = (1.0 / part).round();
    if part > 0.0 && (1.0 / inverse).to_bits() == part.to_bits() {
        format!("1/{inverse}")
    } else {
        significant(part, 3)
    }
}

/// Steps asked for as the seeds write them: `1k`, `500`.
#[must_use]
pub fn thousands(steps: u32) -> String {
    if steps > 0 && steps.is_multiple_of(1000) {
        format!("{}k", steps / 1000)
    } else {
        steps.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn significant_digits_do_not_grow_by_rounding() {
        let cases =
            [(9.996, "10.0"), (0.1234, "0.123"), (1234.5, "1234"), (99.95, "100"), (0.0, "0")];
        for (value, text) in cases {
            assert_eq!(significant(value, 3), text, "{value}");
        }
    }

    #[test]
    fn what_is_not_finite_is_blank() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let all = [significant(value, 3), rate(value), percent(value), scientific(value)];
            assert_eq!(all, ["", "", "", ""]);
        }
    }

    #[test]
    fn rates_and_accuracies_look_as_in_the_seeds() {
        assert_eq!([rate(26.63), rate(240.24), rate(0.2154)], ["26.6", "240.2", "0.215"]);
        assert_eq!([scientific(1.84e-6), scientific(11.0)], ["1.8e-6", "1.1e1"]);
        assert_eq!([thousands(4000), thousands(1500)], ["4k", "1500"]);
    }

    #[test]
    fn fractions_are_written_as_they_were_asked_for() {
        assert_eq!(
            [1.0, 0.5, 1.0 / 128.0, 0.75, 0.0].map(fraction),
            ["1/1", "1/2", "1/128", "0.750", "0"]
        );
    }

    #[test]
    fn cubes_are_short() {
        assert_eq!([shape([800; 3]), shape([33, 17, 65])], ["800³", "33 × 17 × 65"]);
    }
}
