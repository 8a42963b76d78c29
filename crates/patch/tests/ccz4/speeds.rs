//! The speeds that `eigenvalue` gives against the spectral radius of the principal part.

use temblor_patch::{Physics, Term};

use crate::agreement::run;
use crate::seeded::{Draw, cases};
use crate::transcription::problems::enforced;

type Matrix = Vec<[f64; 59]>;

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let row = |i: usize| -> [f64; 59] {
        let mut sum = [0.0; 59];
        for (k, factor) in a[i].iter().enumerate() {
            sum.iter_mut().zip(&b[k]).for_each(|(s, entry)| *s += factor * entry);
        }
        sum
    };
    (0..59).map(row).collect()
}

/// Largest |eigenvalue| by Gelfand's formula: the root of order 2^30 of the norm of that power. The
/// powers of a block of Jordan grow like a polynomial of the exponent, which the root takes to 1 + 1e-7.
fn spectral_radius(mut matrix: Matrix) -> f64 {
    let mut logarithm = 0.0;
    let mut exponent = 1.0;
    for _ in 0..30 {
        let norm = matrix.iter().flatten().fold(0.0f64, |most, value| most.max(value.abs()));
        matrix.iter_mut().flatten().for_each(|value| *value /= norm);
        logarithm += norm.ln() / exponent;
        matrix = product(&matrix, &matrix);
        exponent *= 2.0;
    }
    logarithm.exp()
}

#[test]
fn sharp_speeds_are_the_spectral_radius_and_the_bound_holds() {
    let physics = Physics::shipped("ccz4").unwrap();
    let mut draw = Draw(3);
    let mut case = cases()[0].clone();
    case.constants.advection = true;
    for round in 0..12 {
        case.constants.one_plus_log = round % 2 == 1;
        (case.constants.s, case.constants.bs) = if round % 4 < 2 { (0.0, 0.0) } else { (1.0, 1.0) };
        case.constants.e = draw.between(0.8, 1.4);
        case.constants.f = draw.between(0.5, 1.0);
        case.constants.xi = draw.between(0.5, 1.5);
        case.constants.c = if round < 6 { 1.0 } else { 0.0 };
        case.constants.mu = draw.between(0.0, 0.3);
        case.extra.glm = [1.2, 2.0];
        case.q = enforced(&draw.state(), 1e-16);
        let integers = case.integers(&physics);
        let parameters = case.parameters(&physics, &[]);
        for n in 0..3 {
            let ncp = physics.trace(Term::Ncp, u8::try_from(n).unwrap(), &integers).unwrap();
            let mut matrix: Matrix = vec![[0.0; 59]; 59];
            for u in 0..59 {
                case.dq = [[0.0; 59]; 3];
                case.dq[n][u] = 1.0;
                let column = run(&ncp, &case.arguments(Term::Ncp, n), &parameters);
                (0..59).for_each(|row| matrix[row][u] = column[row]);
            }
            let radius = spectral_radius(matrix);
            let [bound, sharp] = [0, 1].map(|sharp| {
                case.evaluate(&physics, Term::Eigenvalue, n, &[("sharp", sharp)]).unwrap()[0]
            });
            assert!((sharp / radius - 1.0).abs() <= 1e-6, "{round} {n}: {sharp}, not {radius}");
            assert!(bound >= radius, "{round} {n}: {bound} is below {radius}");
        }
    }
}
