//! The physics that ship: all their terms, and states whose fluxes are known.

use temblor_patch::physics::arguments;
use temblor_patch::{Physics, Term, library};

use super::run::{agree, graph, jobs, parameters, random};

/// Ranges of each physics' unknowns in which its terms are defined, and choices of its parameters.
type Case = (&'static str, Vec<(f64, f64)>, Vec<Vec<(&'static str, f64)>>);

fn cases() -> Vec<Case> {
    let sides = (-1.0, 1.0);
    let problems = |count: u8| -> Vec<Vec<(&str, f64)>> {
        (0..count).map(|problem| vec![("problem", f64::from(problem))]).collect()
    };
    let mut elastic = vec![sides; 9];
    elastic.extend([(0.5, 2.0), (0.0, 2.0), (0.1, 2.0)]);
    vec![
        ("euler", vec![(0.5, 2.0), sides, sides, sides, (5.0, 9.0)], problems(3)),
        ("acoustics", vec![sides, sides, sides, sides, (0.5, 2.0), (0.5, 2.0)], vec![vec![]]),
        ("elastics", elastic, vec![vec![("wave", 0.0)], vec![("wave", 1.0)]]),
        ("shallow_water", vec![(-1e-3, 1.0), sides, sides, sides], problems(2)),
        ("advection", vec![sides], vec![vec![("velocity_y", -0.5), ("waves_y", 2.0)]]),
    ]
}

#[test]
fn every_shipped_physics_is_the_same_traced_run_and_compiled() {
    let cases = cases();
    for (name, _) in library::shipped() {
        let physics = Physics::shipped(name).unwrap();
        let Some((_, states, choices)) = cases.iter().find(|(case, ..)| case == name) else {
            // Physics with tests of their own, such as CCZ4.
            continue;
        };
        let mut all = Vec::new();
        for choice in choices {
            let parameters = parameters(&physics, choice);
            for &term in &physics.terms {
                all.extend(jobs(term, &random(term, states, 7, 100), &parameters));
            }
        }
        if *name == "euler" {
            // The explosion has no exact solution.
            let parameters = parameters(&physics, &[("problem", 3.0), ("dimensions", 2.0)]);
            let cases = random(Term::Initial, states, 7, 100);
            all.extend(jobs(Term::Initial, &cases, &parameters));
        }
        agree(&physics, &all);
    }
}

#[test]
fn a_physics_that_does_not_ship_is_refused_with_those_that_do() {
    let error = Physics::shipped("euler2").unwrap_err().to_string();
    for (name, _) in library::shipped() {
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn flux_of_euler_at_a_known_state() {
    let euler = Physics::shipped("euler").unwrap();
    assert_eq!(euler.unknowns, ["density", "momentum_x", "momentum_y", "momentum_z", "energy"]);
    // rho = 2, u = (3, -1, 0.5), p = 4 with gamma = 1.4: E = 10 + 10.25 = 20.25.
    let mut given = vec![0.0; arguments(Term::Flux, 5).len()];
    given[..5].copy_from_slice(&[2.0, 6.0, -2.0, 1.0, 20.25]);
    let parameters = parameters(&euler, &[]);
    let got = graph(&euler.trace(Term::Flux, 0, &[]).unwrap(), &given, &parameters);
    let want = [6.0, 22.0, -6.0, 3.0, 72.75];
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() < 1e-14 * 72.75, "{got} is not {want}");
    }
    let speed = euler.trace(Term::Eigenvalue, 1, &[]).unwrap();
    let got = graph(&speed, &given, &parameters);
    assert!((got[0] - (1.0 + 2.8f64.sqrt())).abs() < 1e-14, "{got:?}");
}

#[test]
fn sod_has_the_pressure_and_speeds_of_the_exact_riemann_solution() {
    let euler = Physics::shipped("euler").unwrap();
    let parameters = parameters(&euler, &[]);
    let exact = euler.trace(Term::Exact, 0, &[]).unwrap();
    let at = |x: f64| {
        let mut given = vec![0.0; arguments(Term::Exact, 5).len()];
        (given[0], given[6]) = (x, 0.2);
        graph(&exact, &given, &parameters)
    };
    // Toro, section 4.3.3, test 1, to all digits of a double.
    let (p, u) = (0.303_130_178_050_646_8, 0.927_452_620_048_949_8);
    let (shock, tail) = (1.752_155_732_030_178, -0.070_272_812_6);
    let check = |x: f64, density: f64, u: f64, p: f64| {
        let got = at(x);
        let want = [density, density * u, 0.0, 0.0, p / 0.4 + 0.5 * density * u * u];
        for (got, want) in got.iter().zip(want) {
            assert!((got - want).abs() < 1e-13, "at {x}: {got} is not {want}");
        }
    };
    let star = (0.426_319_428_178_495_16, 0.265_573_711_705_307);
    check(0.5 + 0.2 * (tail + 1e-6), star.0, u, p);
    check(0.5 + 0.2 * (u - 1e-9), star.0, u, p);
    check(0.5 + 0.2 * (u + 1e-9), star.1, u, p);
    check(0.5 + 0.2 * (shock - 1e-9), star.1, u, p);
    check(0.5 + 0.2 * (shock + 1e-9), 0.125, 0.0, 0.1);
    check(0.5 - 0.2 * (1.4f64.sqrt() + 1e-9), 1.0, 0.0, 1.0);
}
