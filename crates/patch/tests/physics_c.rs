//! The C subset: what a term's trace computes is what its text says.

use temblor_patch::graph::{Function, Leaf};
use temblor_patch::physics::arguments;
use temblor_patch::{Physics, Term};

/// Runs a traced function.
fn run(function: &Function, arguments: &[f64], parameters: &[f64]) -> Vec<f64> {
    let needed = function.graph.reachable(&function.outputs);
    let mut values = Vec::new();
    function.graph.evaluate(&needed, &mut values, |leaf| match leaf {
        Leaf::Argument(place) => arguments[usize::from(place)],
        Leaf::Parameter(place) => parameters[usize::from(place)],
        other => panic!("a physics has no leaf {other:?}"),
    });
    function.outputs.iter().map(|output| values[output.index()]).collect()
}

#[test]
fn flux_of_euler_at_a_known_state() {
    let euler = Physics::shipped("euler").unwrap();
    assert_eq!(euler.unknowns, ["density", "momentum_x", "momentum_y", "momentum_z", "energy"]);
    // rho = 2, u = (3, -1, 0.5), p = 4 with gamma = 1.4: E = 10 + 10.25 = 20.25.
    let mut given = vec![0.0; arguments(Term::Flux, 5).len()];
    given[..5].copy_from_slice(&[2.0, 6.0, -2.0, 1.0, 20.25]);
    let flux = euler.trace(Term::Flux, 0, &[]).unwrap();
    let got = run(&flux, &given, &[1.4]);
    let want = [6.0, 22.0, -6.0, 3.0, 72.75];
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() < 1e-14 * 72.75, "{got} is not {want}");
    }
    assert_eq!(got, euler.evaluate(Term::Flux, 0, &given, &[1.4]).unwrap());
    let speed = euler.trace(Term::Eigenvalue, 1, &[]).unwrap();
    let got = run(&speed, &given, &[1.4]);
    assert!((got[0] - (1.0 + 2.8f64.sqrt())).abs() < 1e-14, "{got:?}");
}
