//! From values to places along an axis, and where its ticks stand.

use super::Scale;
use crate::figures::fraction;

/// An axis between two values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub scale: Scale,
    pub from: f64,
    pub to: f64,
}

impl Span {
    /// A span that holds all `values`, its ends on ticks where it is linear.
    pub(super) fn around(scale: Scale, values: impl Iterator<Item = f64> + Clone) -> Self {
        let fit = values.filter(|v| v.is_finite() && (scale == Scale::Linear || *v > 0.0));
        let low = fit.clone().fold(f64::INFINITY, f64::min);
        let high = fit.fold(f64::NEG_INFINITY, f64::max);
        if low > high {
            return Self { scale, from: 1.0, to: 10.0 };
        }
        match scale {
            Scale::Linear => {
                let high = if high > 0.0 { high } else { 1.0 };
                let step = step(high);
                let to = (high / step - 1e-9).ceil() * step;
                Self { scale, from: low.min(0.0), to }
            }
            Scale::Decades => {
                let from = 10_f64.powf(low.log10().floor());
                let to = 10_f64.powf(high.log10().ceil());
                Self { scale, from, to: if to > from { to } else { 10.0 * from } }
            }
            Scale::Halves => {
                let to = if high > low { high } else { 2.0 * low };
                Self { scale, from: low, to }
            }
        }
    }

    /// The same, with the ends where they are and not on ticks.
    pub(super) fn tight(values: impl Iterator<Item = f64> + Clone) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(f64::NEG_INFINITY, f64::max);
        let (from, to) = if high > low { (low, high) } else { (low - 1.0, low + 1.0) };
        Self { scale: Scale::Linear, from, to }
    }

    /// Part of the way from one end to the other.
    pub(super) fn at(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            Scale::Decades | Scale::Halves => (value / self.from).ln() / (self.to / self.from).ln(),
        }
    }

    /// Values of ticks and their texts.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let inside = |v: &f64| (-1e-9..=1.0 + 1e-9).contains(&self.at(*v));
        match self.scale {
            Scale::Linear => {
                let step = step(self.to - self.from);
                #[expect(clippy::cast_possible_truncation, reason = "a decimal exponent")]
                let decimals = (-(step * 1.0001).log10().floor()).max(0.0) as i32;
                let decimals = usize::try_from(decimals).unwrap_or(0);
                let first = (self.from / step).ceil();
                let values = (0..30).map(|n| (first + f64::from(n)) * step).filter(inside);
                values.map(|v| (v, grouped(&format!("{v:.decimals$}")))).collect()
            }
            Scale::Decades => {
                let decades = (self.to / self.from).log10();
                let parts: &[f64] = if decades <= 2.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
                let (first, last) = (self.from.log10().floor(), self.to.log10().ceil());
                let mut ticks = Vec::new();
                let mut power = first;
                while power <= last {
                    ticks.extend(parts.iter().map(|part| part * 10_f64.powf(power)));
                    power += 1.0;
                }
                ticks.retain(inside);
                let text = |v: f64| {
                    if v >= 1.0 { grouped(&format!("{v:.0}")) } else { trimmed(&format!("{v:.6}")) }
                };
                ticks.into_iter().map(|v| (v, text(v))).collect()
            }
            Scale::Halves => {
                let mut ticks = Vec::new();
                let mut value = 2_f64.powf(self.to.log2().floor());
                while value > self.from * 0.999 {
                    ticks.push((value, fraction(value)));
                    value *= 0.5;
                }
                ticks.retain(|(v, _)| inside(v));
                ticks.reverse();
                ticks
            }
        }
    }
}

/// A round distance of ticks: 1, 2 or 5 times a power of ten, five or so to `span`.
fn step(span: f64) -> f64 {
    let rough = span / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let part = rough / power;
    power
        * if part < 1.5 {
            1.0
        } else if part < 3.5 {
            2.0
        } else if part < 7.5 {
            5.0
        } else {
            10.0
        }
}

/// Groups of three digits, from 10,000 on.
fn grouped(text: &str) -> String {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits < 5 || digits != text.len() {
        return text.to_owned();
    }
    let mut grouped = String::new();
    for (at, digit) in text.chars().enumerate() {
        if at > 0 && (digits - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn trimmed(text: &str) -> String {
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(span: Span) -> Vec<String> {
        span.ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn linear_axes_begin_at_zero_and_end_on_a_tick() {
        let span = Span::around(Scale::Linear, [130.0, 242.0].into_iter());
        assert_eq!(texts(span), ["0", "50", "100", "150", "200", "250"]);
        let small = Span::around(Scale::Linear, [0.31, 0.9].into_iter());
        assert_eq!(texts(small), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    }

    #[test]
    fn decades_end_on_powers_of_ten() {
        let span = Span::around(Scale::Decades, [300.0, 60_000.0].into_iter());
        assert_eq!(texts(span), ["100", "1000", "10,000", "100,000"]);
        assert!((span.at(1000.0) - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn halves_are_fractions() {
        let span = Span::around(Scale::Halves, [0.125, 1.0].into_iter());
        assert_eq!(texts(span), ["1/8", "1/4", "1/2", "1/1"]);
    }

    #[test]
    fn nothing_and_a_single_value_still_make_a_span() {
        for scale in [Scale::Linear, Scale::Decades, Scale::Halves] {
            for values in [&[][..], &[3.0], &[f64::NAN], &[0.0]] {
                let span = Span::around(scale, values.iter().copied());
                assert!(span.to > span.from, "{scale:?} {values:?} {span:?}");
            }
        }
    }
}
