//! Euler's equations. Expected errors are those of an independent program on the same schemes.

use temblor_solver::patches::{Problem, Side, Tiling};

use crate::support::{PERIODIC, assert_table, problem, start, strip};

/// Mean absolute and root mean square error of the density at a time.
fn density_errors(problem: &Problem, time: f64) -> (f64, f64) {
    let mut started = start(problem);
    started.run_to(time).unwrap();
    let norms = started.errors().unwrap().expect("the solution is known");
    (norms[0].l1, norms[0].l2)
}

/// Errors of the density wave for doubled resolutions.
fn density_wave(scheme: &str, courant: f64) -> Vec<f64> {
    let error = |count| {
        let problem = problem("euler", scheme, &[("problem", 2)], &strip(count, 8, PERIODIC));
        let problem = problem.courant(courant);
        let problem = match scheme {
            "fd4" => problem.with("sigma", 0.1).unwrap(),
            _ => problem,
        };
        density_errors(&problem, 1.0).1
    };
    [16, 32, 64, 128].map(error).to_vec()
}

#[test]
fn the_density_wave_by_finite_differences_converges_with_order_4() {
    // A quarter of dx / lambda: four stages divide by 7.
    let errors = density_wave("fd4", 1.75);
    let wanted = [6.917e-4, 4.383e-5, 2.749e-6, 1.719e-7];
    assert_table(&errors, &wanted, &[3.98, 4.0, 4.0]);
}

#[test]
fn the_density_wave_by_finite_volumes_has_the_errors_of_the_first_order() {
    let errors = density_wave("rusanov", 0.45);
    assert_table(&errors, &[1.295e-1, 1.002e-1, 6.50e-2, 3.75e-2], &[0.37, 0.62, 0.80]);
}

fn vortex(scheme: &str, count: usize) -> Problem {
    let patches = [count / 16, count / 16, 1];
    let tiling = Tiling::new(2, 16, patches, [-5.0; 3], [10.0; 3], PERIODIC).unwrap();
    problem("euler", scheme, &[("problem", 1)], &tiling)
}

#[test]
fn the_isentropic_vortex_by_finite_differences_converges_with_order_4() {
    let error = |count| {
        let problem = vortex("fd4", count).with("sigma", 0.1).unwrap().courant(1.75);
        density_errors(&problem, 2.0).1
    };
    // The kink where the box closes costs a little of the order.
    assert_table(&[32, 64, 128].map(error), &[1.233e-3, 8.575e-5, 5.550e-6], &[3.85, 3.95]);
}

#[test]
fn the_isentropic_vortex_by_finite_volumes_has_the_errors_of_the_first_order() {
    let error = |count| density_errors(&vortex("rusanov", count).courant(0.45), 2.0).1;
    assert_table(&[32, 64, 128].map(error), &[4.99e-2, 3.77e-2, 2.44e-2], &[0.40, 0.63]);
}

fn sod(scheme: &str, count: usize) -> f64 {
    let sides = [[Side::Outflow; 2], [Side::Periodic; 2], [Side::Outflow; 2]];
    let problem = problem("euler", scheme, &[("problem", 0)], &strip(count, 5, sides));
    density_errors(&problem.courant(0.45), 0.2).0
}

#[test]
fn sods_tube_has_the_errors_of_rusanovs_flux_and_hllc_is_better() {
    let errors = [100, 200, 400, 800].map(|count| sod("rusanov", count));
    assert_table(&errors, &[2.458e-2, 1.679e-2, 1.103e-2, 7.117e-3], &[0.55, 0.61, 0.63]);
    let hllc = sod("godunov", 400);
    assert!(hllc < 0.8 * errors[2], "{hllc} {}", errors[2]);
}
