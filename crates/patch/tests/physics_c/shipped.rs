//! The physics that ship: all their terms, and states whose fluxes are known.

use temblor_patch::physics::arguments;
use temblor_patch::{Physics, Term, library};

use super::run::{agree, graph, jobs, parameters, random};

/// Parameters that differ from their defaults.
type Changed<'a> = &'a [(&'a str, f64)];

/// Ranges of each physics' unknowns in which its terms are defined, and choices of its parameters.
type Case = (&'static str, Vec<(f64, f64)>, Vec<Vec<(&'static str, f64)>>);

fn cases() -> Vec<Case> {
    let sides = (-1.0, 1.0);
    let problems = |count: u8| -> Vec<Vec<(&str, f64)>> {
        (0..count).map(|problem| vec![("problem", f64::from(problem))]).collect()
    };
    let mut elastic = vec![sides; 9];
    elastic.extend([(0.5, 2.0), (0.0, 2.0), (0.1, 2.0)]);
    // Metric, lapse and phi around those of flat space.
    let mut ccz4 = vec![(-0.2, 0.2); 59];
    for place in [0, 3, 5, 16, 54] {
        ccz4[place] = (0.8, 1.2);
    }
    vec![
        ("euler", vec![(0.5, 2.0), sides, sides, sides, (5.0, 9.0)], problems(3)),
        ("acoustics", vec![sides, sides, sides, sides, (0.5, 2.0), (0.5, 2.0)], vec![vec![]]),
        ("elastics", elastic, vec![vec![("wave", 0.0)], vec![("wave", 1.0)]]),
        ("shallow_water", vec![(-1e-3, 1.0), sides, sides, sides], problems(2)),
        ("ccz4", ccz4, vec![vec![], vec![("lapse", 1.0), ("s", 1.0), ("bs", 1.0)]]),
        ("advection", vec![sides], vec![vec![("velocity_y", -0.5), ("waves_y", 2.0)]]),
    ]
}

#[test]
fn every_shipped_physics_is_the_same_traced_run_and_compiled() {
    let cases = cases();
    for (name, _) in library::shipped() {
        let physics = Physics::shipped(name).unwrap();
        let Some((_, states, choices)) = cases.iter().find(|(case, ..)| case == name) else {
            panic!("{name} ships without ranges of its unknowns here: add them");
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

#[test]
fn exact_solutions_solve_their_equations() {
    let elastic_s = [("wave", 1.0), ("width", 0.3)];
    let cases: [(&str, Changed, usize); 7] = [
        ("euler", &[("problem", 1.0)], 5),
        ("euler", &[("problem", 2.0)], 5),
        ("acoustics", &[("width", 0.3)], 4),
        ("elastics", &[("wave", 0.0), ("width", 0.3)], 9),
        ("elastics", &elastic_s, 9),
        ("shallow_water", &[("problem", 1.0)], 3),
        ("advection", &[("velocity_y", 0.5), ("waves_y", 2.0), ("waves_z", 1.0)], 1),
    ];
    for (name, changed, evolved) in cases {
        let physics = Physics::shipped(name).unwrap();
        let parameters = parameters(&physics, changed);
        let run = |term: Term, n: u8, first: &[f64], x: [f64; 3], t: f64| {
            let width = u16::try_from(physics.width()).unwrap();
            let mut given = vec![0.0; arguments(term, width).len()];
            let end = given.len();
            given[..first.len()].copy_from_slice(first);
            given[end - 8..end - 5].copy_from_slice(&x);
            given[end - 2] = t;
            physics.evaluate(term, n, &given, &parameters).unwrap()
        };
        let exact = |x: [f64; 3], t: f64| run(Term::Exact, 0, &[], x, t);
        let h = 1e-4;
        // Points in both media and off them, away from edges of the vortex' box.
        for x in [[0.3, -0.2, 0.1], [0.85, 0.4, -0.7], [-0.6, 0.9, 0.2]] {
            let (before, after) = (exact(x, 0.2 - h), exact(x, 0.2 + h));
            let mut residual: Vec<f64> =
                before.iter().zip(&after).map(|(a, b)| (b - a) / (2.0 * h)).collect();
            let mut largest = residual.iter().fold(0.0f64, |most, r| most.max(r.abs()));
            let here = exact(x, 0.2);
            for n in 0..3u8 {
                let beside = |step: f64| {
                    let mut x = x;
                    x[usize::from(n)] += step;
                    exact(x, 0.2)
                };
                let (left, right) = (beside(-h), beside(h));
                if physics.has(Term::Flux) {
                    let flux = |q: &[f64]| run(Term::Flux, n, q, x, 0.2);
                    for (u, (l, r)) in flux(&left).iter().zip(flux(&right)).enumerate() {
                        residual[u] += (r - l) / (2.0 * h);
                        largest = largest.max((r - l).abs() / (2.0 * h));
                    }
                }
                if physics.has(Term::Ncp) {
                    let slope = left.iter().zip(&right).map(|(l, r)| (r - l) / (2.0 * h));
                    let first: Vec<f64> = here.iter().copied().chain(slope).collect();
                    for (u, product) in run(Term::Ncp, n, &first, x, 0.2).iter().enumerate() {
                        residual[u] += product;
                    }
                }
            }
            // Central differences: h^2 / 6 times a third derivative of order (2 pi)^3.
            for r in &residual[..evolved] {
                assert!(
                    r.abs() < 5e-6 * largest.max(1.0),
                    "{name} {changed:?} at {x:?}: {residual:?}"
                );
            }
        }
    }
}

#[test]
fn a_numerical_flux_of_two_equal_sides_is_the_flux() {
    for (name, states) in [
        ("euler", vec![(0.5, 2.0), (-1.0, 1.0), (-1.0, 1.0), (-1.0, 1.0), (5.0, 9.0)]),
        ("shallow_water", vec![(0.1, 1.0), (-1.0, 1.0), (-1.0, 1.0), (-1.0, 1.0)]),
        ("advection", vec![(-1.0, 1.0)]),
    ] {
        let physics = Physics::shipped(name).unwrap();
        let parameters = parameters(&physics, &[]);
        let width = states.len();
        for case in random(Term::Flux, &states, 23, 50) {
            let twice = [&case[..width], &case[..width], &case[width..]].concat();
            for n in 0..3 {
                let flux = physics.evaluate(Term::Flux, n, &case, &parameters).unwrap();
                let face = physics.evaluate(Term::Face, n, &twice, &parameters).unwrap();
                for (face, flux) in face.iter().zip(&flux) {
                    assert!((face - flux).abs() < 1e-12, "{name} {n}: {face} is not {flux}");
                }
            }
        }
    }
}

#[test]
fn the_example_of_the_page_is_read() {
    let page = include_str!("../../../../docs/patch-physics.md");
    let (_, text) = page.split_once("```c\n").unwrap();
    let (text, _) = text.split_once("```").unwrap();
    let physics = Physics::from_c("shallow.c", text).unwrap();
    assert_eq!(physics.terms, [Term::Flux, Term::Eigenvalue, Term::Initial]);
    let parameters = parameters(&physics, &[]);
    let cases = random(Term::Flux, &[(0.5, 2.0), (-1.0, 1.0), (-1.0, 1.0)], 29, 50);
    let mut jobs = jobs(Term::Flux, &cases, &parameters);
    jobs.truncate(2);
    agree(&physics, &jobs);
}
