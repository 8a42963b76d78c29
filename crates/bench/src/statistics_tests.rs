use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

#[test]
fn probabilities_of_u_are_those_of_the_tables() {
    // Mann and Whitney (1947), table I: n = m = 4, P(U <= 1) = 0.029; n = m = 5: P(U <= 4) = 0.048.
    assert!((below(4, 4)[1] - 2.0 / 70.0).abs() < 1e-15);
    assert!((below(5, 5)[4] - 12.0 / 252.0).abs() < 1e-15);
    // All orders of 3 + 2 values: U is 0..=6 in 1, 1, 2, 2, 2, 1, 1 of 10.
    for (u, count) in [1.0, 2.0, 4.0, 6.0].into_iter().enumerate() {
        assert!((below(3, 2)[u] - count / 10.0).abs() < 1e-15, "{u}");
    }
}

#[test]
fn large_sets_take_the_normal_law_without_a_step() {
    let exact = below(500, 500);
    let normal = below(501, 501);
    let at = exact.partition_point(|&p| p <= 0.005);
    let near = normal.partition_point(|&p| p <= 0.005);
    // The limit moves by one set's size as the sets grow by one.
    assert!(near.abs_diff(at) < 600, "{at} {near}");
}

#[test]
fn students_law_is_that_of_the_tables() {
    // Abramowitz and Stegun, table 26.10, A = 0.99.
    for (freedom, t) in [(1, 63.657), (2, 9.925), (3, 5.841), (8, 3.355), (18, 2.878)] {
        assert!((student_limit(freedom) - t).abs() < 6e-4, "{freedom}");
    }
}

#[test]
fn fewer_than_five_samples_a_side_show_nothing() {
    assert_eq!(fewest_samples(), 5);
    let times = |n| vec![vec![1.0; n]];
    assert!(speedup(&times(4), &times(4)).is_none());
    assert!(speedup(&times(5), &times(5)).is_some());
    assert!(speedup(&times(5), &Vec::new()).is_none());
}

#[test]
fn limits_miss_the_truth_no_oftener_than_once_in_a_hundred() {
    // Skewed times, as on a machine with other work: never below a floor, exponential above it.
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut draw = |scale: f64| -> Vec<f64> {
        (0..12).map(|_| scale * (1.0 - 0.03 * (1.0 - rng.random::<f64>()).ln())).collect()
    };
    let draws = 4000;
    let missed = (0..draws).filter(|_| {
        let found = speedup(&vec![draw(1.0)], &vec![draw(1.25)]).unwrap();
        !(found.low..=found.high).contains(&0.8)
    });
    let missed = missed.count();
    // At most 1 % of 4000 and three standard deviations of it.
    assert!(missed <= 40 + 3 * 7, "{missed} of {draws}");
}

#[test]
fn one_disturbed_sample_moves_no_limit_far() {
    let old: Vec<f64> = (0..10).map(|i| 1.0 + 0.001 * f64::from(i)).collect();
    let mut new = old.clone();
    new[3] = 7.0;
    let found = speedup(&vec![old.clone()], &vec![new]).unwrap();
    assert!(found.low > 0.99 && found.high < 1.01, "{found:?}");
}

#[test]
fn runs_that_differ_widen_the_limits() {
    // Each run is steady to 0.1 %; runs differ by 4 %.
    let run = |level: f64| (0..10).map(|i| level * (1.0 + 1e-4 * f64::from(i))).collect();
    let (a, b) = (vec![run(1.0), run(1.04), run(1.02)], vec![run(1.05), run(1.01), run(1.03)]);
    let pooled = |runs: &Runs| vec![runs.concat()];
    let (apart, together) = (speedup(&a, &b).unwrap(), speedup(&pooled(&a), &pooled(&b)).unwrap());
    assert_eq!((apart.method, together.method), (Method::FewRuns, Method::Samples));
    // By hand: medians differ by -0.0098 in the mean, scatter by 0.0196; t = 4.604 of 4 degrees.
    let (shift, reach) = (-0.0098_f64, 4.604 * 0.0196 * (2.0_f64 / 3.0).sqrt());
    assert!((apart.low - (shift - reach).exp()).abs() < 1e-3, "{apart:?}");
    assert!((apart.high - (shift + reach).exp()).abs() < 1e-3, "{apart:?}");
    assert!(together.high - together.low < 0.5 * (apart.high - apart.low), "{together:?}");
}

#[test]
fn five_runs_a_side_need_no_normal_law() {
    let runs = |level: f64| (0..5).map(|i| vec![level + 0.001 * f64::from(i); 3]).collect();
    let found = speedup(&runs(1.0), &runs(2.0)).unwrap();
    assert_eq!(found.method, Method::Runs);
    assert!(found.high < 0.51 && found.chance < ALPHA, "{found:?}");
}
