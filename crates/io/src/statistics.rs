//! What the numbers of a file are like, in one pass.

/// How many numbers of a kind there are, and the first of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count<P> {
    /// How many.
    pub number: u64,
    /// The first in the order of positions.
    pub first: Option<P>,
}

impl<P> Default for Count<P> {
    fn default() -> Self {
        Self { number: 0, first: None }
    }
}

impl<P: Ord + Copy> Count<P> {
    fn add(&mut self, at: P) {
        self.number += 1;
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
    }
}

/// Statistics of the numbers of a file; a position is a node (x, y, z) of a volume, or (trace,
/// sample), both counted from 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics<P = [usize; 3]> {
    /// Smallest finite value; infinite if there is none.
    pub min: f32,
    /// Largest finite value; minus infinity if there is none.
    pub max: f32,
    /// Mean of the finite values; NaN if there is none.
    pub mean: f64,
    /// Root of the mean square of the finite values; NaN if there is none.
    pub rms: f64,
    /// Numbers in all.
    pub count: u64,
    /// Numbers that are NaN.
    pub nan: Count<P>,
    /// Numbers that are infinite.
    pub infinite: Count<P>,
    /// Numbers too small for a normal single.
    pub denormal: Count<P>,
    /// Zeros of either sign.
    pub zero: Count<P>,
    /// Numbers below zero.
    pub negative: Count<P>,
}

impl<P: Ord + Copy> Statistics<P> {
    /// First number that is NaN or infinite.
    #[must_use]
    pub fn first_not_finite(&self) -> Option<P> {
        [self.nan.first, self.infinite.first].into_iter().flatten().min()
    }

    /// First number that is zero or negative.
    #[must_use]
    pub fn first_not_positive(&self) -> Option<P> {
        [self.zero.first, self.negative.first].into_iter().flatten().min()
    }
}

/// Collects [`Statistics`].
#[derive(Debug, Clone)]
pub struct Tally<P> {
    found: Statistics<P>,
    sum: f64,
    squares: f64,
    finite: u64,
}

impl<P: Ord + Copy> Default for Tally<P> {
    fn default() -> Self {
        let found = Statistics {
            min: f32::INFINITY,
            max: f32::NEG_INFINITY,
            mean: f64::NAN,
            rms: f64::NAN,
            count: 0,
            nan: Count::default(),
            infinite: Count::default(),
            denormal: Count::default(),
            zero: Count::default(),
            negative: Count::default(),
        };
        Self { found, sum: 0.0, squares: 0.0, finite: 0 }
    }
}

impl<P: Ord + Copy> Tally<P> {
    /// Counts values; `position(n)` is that of the nth.
    pub fn add(&mut self, values: &[f32], position: impl Fn(usize) -> P) {
        let found = &mut self.found;
        found.count += values.len() as u64;
        for (n, &value) in values.iter().enumerate() {
            if value.is_finite() {
                found.min = found.min.min(value);
                found.max = found.max.max(value);
                self.sum += f64::from(value);
                self.squares += f64::from(value).powi(2);
                self.finite += 1;
                if value < 0.0 {
                    found.negative.add(position(n));
                }
                if !value.is_normal() {
                    let kind = if value == 0.0 { &mut found.zero } else { &mut found.denormal };
                    kind.add(position(n));
                }
            } else if value.is_nan() {
                found.nan.add(position(n));
            } else {
                found.infinite.add(position(n));
                if value < 0.0 {
                    found.negative.add(position(n));
                }
            }
        }
    }

    /// What was found.
    #[must_use]
    pub fn finish(mut self) -> Statistics<P> {
        if self.finite > 0 {
            let finite = self.finite as f64;
            self.found.mean = self.sum / finite;
            self.found.rms = (self.squares / finite).sqrt();
        }
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_counted_with_their_first_place() {
        let tiny = f32::from_bits(1);
        let values = [3.0, -4.0, 0.0, -0.0, tiny, f32::NAN, f32::NEG_INFINITY, f32::NAN];
        let mut tally = Tally::default();
        tally.add(&values, |n| n);
        let found = tally.finish();
        let of = |count: Count<usize>| (count.number, count.first);
        assert_eq!(of(found.nan), (2, Some(5)));
        assert_eq!(of(found.infinite), (1, Some(6)));
        assert_eq!(of(found.zero), (2, Some(2)));
        assert_eq!(of(found.denormal), (1, Some(4)));
        assert_eq!(of(found.negative), (2, Some(1)));
        assert_eq!((found.first_not_finite(), found.first_not_positive()), (Some(5), Some(1)));
        // Five finite values: sum -1, squares 25, up to a subnormal.
        assert!((found.mean + 0.2).abs() < 1e-12 && (found.rms - 5.0_f64.sqrt()).abs() < 1e-12);
    }
}
