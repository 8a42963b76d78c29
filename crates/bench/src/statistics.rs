//! Whether two sets of times differ, from few and skewed samples.
//!
//! The estimate is the shift of Hodges and Lehmann (1963, doi:10.1214/aoms/1177704172) between the
//! logarithms of the times: the median of the ratios of every old time to every new one. Its limits
//! are order statistics of the same ratios, with exact probabilities from the distribution of Mann and
//! Whitney (1947, doi:10.1214/aoms/1177730491). Nothing is assumed of the times but that a change
//! multiplies them; one disturbed sample moves no limit by much; there is no random number in it.
//!
//! Processes differ from each other by more than the samples of one do (placement of pages, clocks),
//! so where a side has several runs a run counts as one value, its median. Too few runs for order
//! statistics are taken as normal, with Student's limits.

use crate::results::median;

/// Chance that an interval misses the truth: 99 % confidence.
pub const ALPHA: f64 = 0.01;

/// Pairs above which the exact distribution costs more than it is worth, and the normal one stands
/// for it.
const MOST_PAIRS: usize = 250_000;

/// Times of one case: a list per run, s per step.
pub type Runs = Vec<Vec<f64>>;

/// How an interval came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Order statistics of the ratios of single samples; how runs differ is not in it.
    Samples,
    /// Order statistics of the ratios of the runs' medians.
    Runs,
    /// Student's limits for the mean of the runs' medians.
    FewRuns,
}

/// How much faster the new times are than the old ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speedup {
    /// Old time over new time: above 1 is faster.
    pub ratio: f64,
    /// Lower limit.
    pub low: f64,
    /// Upper limit.
    pub high: f64,
    /// Chance that equal times look at least as different, either way.
    pub chance: f64,
    /// How the limits came about.
    pub method: Method,
}

/// Fewest samples of each of two equal sets that can show a difference at all.
#[must_use]
pub fn fewest_samples() -> usize {
    (1..).find(|&n| 2.0 * below(n, n)[0] <= ALPHA).unwrap_or(usize::MAX)
}

/// The speedup with its limits at 99 % confidence; `None` where there are too few samples for any.
#[must_use]
pub fn speedup(old: &Runs, new: &Runs) -> Option<Speedup> {
    let logs = |runs: &Runs| -> Vec<Vec<f64>> {
        let full = runs.iter().filter(|run| !run.is_empty());
        full.map(|run| run.iter().map(|s| s.ln()).collect()).collect()
    };
    let (old, new) = (logs(old), logs(new));
    if old.is_empty() || new.is_empty() {
        return None;
    }
    if old.len() == 1 && new.len() == 1 {
        return by_order(&old[0], &new[0], Method::Samples);
    }
    let medians = |runs: &[Vec<f64>]| runs.iter().map(|run| median(run)).collect::<Vec<_>>();
    let (old, new) = (medians(&old), medians(&new));
    by_order(&old, &new, Method::Runs).or_else(|| by_student(&old, &new))
}

fn by_order(old: &[f64], new: &[f64], method: Method) -> Option<Speedup> {
    let below = below(old.len(), new.len());
    // Limits are the `first`th ratio from below and from above, counted from 1.
    let first = below.partition_point(|&p| 2.0 * p <= ALPHA);
    if first == 0 {
        return None;
    }
    let mut shifts: Vec<f64> = old.iter().flat_map(|a| new.iter().map(move |b| a - b)).collect();
    shifts.sort_by(f64::total_cmp);
    let faster = shifts.iter().filter(|&&shift| shift > 0.0).count();
    let slower = shifts.iter().filter(|&&shift| shift < 0.0).count();
    let fewer = (shifts.len() - faster.max(slower)).min(below.len() - 1);
    Some(Speedup {
        ratio: median(&shifts).exp(),
        low: shifts[first - 1].exp(),
        high: shifts[shifts.len() - first].exp(),
        chance: (2.0 * below[fewer]).min(1.0),
        method,
    })
}

/// P(U <= u) for u = 0, 1, ... of Mann and Whitney's U of two equal laws, up to its middle.
fn below(m: usize, n: usize) -> Vec<f64> {
    let half = m * n / 2;
    if m * n > MOST_PAIRS {
        let deviation = ((m * n * (m + n + 1)) as f64 / 12.0).sqrt();
        let middle = 0.5 * (m * n) as f64;
        return (0..=half)
            .map(|u| 0.5 * student((middle - u as f64 - 0.5).max(0.0) / deviation, 1000))
            .collect();
    }
    // The counts are the coefficients of a Gaussian binomial: the product over i = 1..=m of
    // (1 - x^(n+i)) / (1 - x^i), of which those up to the middle are enough.
    let mut counts = vec![0.0_f64; half + 1];
    counts[0] = 1.0;
    for i in 1..=m {
        for u in (n + i..=half).rev() {
            counts[u] -= counts[u - n - i];
        }
        for u in i..=half {
            counts[u] += counts[u - i];
        }
    }
    let all: f64 = (1..=m).map(|i| ((n + i) as f64 / i as f64).ln()).sum();
    let mut sum = 0.0;
    let running = counts.iter().map(|count| {
        sum += count;
        sum / all.exp()
    });
    running.collect()
}

/// Limits from few runs: the spread between runs is taken as the same on both sides.
fn by_student(old: &[f64], new: &[f64]) -> Option<Speedup> {
    let freedom = (old.len() + new.len()).checked_sub(2).filter(|&f| f > 0)?;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let squares = |values: &[f64]| {
        let middle = mean(values);
        values.iter().map(|v| (v - middle).powi(2)).sum::<f64>()
    };
    let variance = (squares(old) + squares(new)) / freedom as f64;
    let deviation = (variance * (1.0 / old.len() as f64 + 1.0 / new.len() as f64)).sqrt();
    let (shift, reach) = (mean(old) - mean(new), deviation * student_limit(freedom));
    Some(Speedup {
        ratio: shift.exp(),
        low: (shift - reach).exp(),
        high: (shift + reach).exp(),
        chance: if deviation > 0.0 { student(shift.abs() / deviation, freedom) } else { 0.0 },
        method: Method::FewRuns,
    })
}

/// P(|T| > t) of Student's law (Abramowitz and Stegun 26.7.3 and 26.7.4).
fn student(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let cos2 = angle.cos().powi(2);
    let odd = freedom % 2 == 1;
    let mut term = if odd { angle.cos() } else { 1.0 };
    let mut sum = if freedom == 1 { 0.0 } else { term };
    let mut k = if odd { 3 } else { 2 };
    while k < freedom {
        term *= cos2 * (k - 1) as f64 / k as f64;
        sum += term;
        k += 2;
    }
    let inside = angle.sin() * sum;
    let inside = if odd { (angle + inside) * std::f64::consts::FRAC_2_PI } else { inside };
    (1.0 - inside).clamp(0.0, 1.0)
}

/// t with P(|T| > t) = [`ALPHA`].
fn student_limit(freedom: usize) -> f64 {
    let (mut low, mut high) = (0.0, 1000.0);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if student(middle, freedom) > ALPHA { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
#[path = "statistics_tests.rs"]
mod tests;
