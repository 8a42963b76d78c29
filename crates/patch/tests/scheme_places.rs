//! Where a term is called: voxels, neighbours, faces; and what the corners of a halo do.

#![allow(clippy::unwrap_used, reason = "what cannot be built fails the test")]

mod support;

use std::sync::Arc;

use support::{Random, apply, assert_same, cell, chunk, kernel, outside, physics};
use temblor_patch::{Physics, Plan, Request, Scheme, lower, text};

/// A physics whose terms give the position along their direction.
const POSITION: &str = "
enum unknowns { A };
void flux(const double *x, int n, double *F) { F[0] = x[n]; }
void ncp(const double *x, int n, double *F) { F[0] = x[n] * x[n]; }
double eigenvalue(const double *x, int n) { return x[n]; }
void face(const double *x, int n, double *F) { F[0] = x[n] * x[n]; }
";

/// The rate of a scheme's statements for [`POSITION`] on a patch of 2 x 2 voxels of 0.5 m from 0.
fn rate(statements: &str, plan: Plan) -> Vec<f64> {
    let head = "scheme own\nhalo 1\ninput Q\noutput rate R\n";
    let scheme = text::parse("own", &format!("{head}{statements}")).unwrap();
    let physics = Arc::new(Physics::from_c("position.c", POSITION).unwrap());
    let kernel = lower(&scheme, &physics, &Request::new(2, 2).with_plan(plan)).unwrap();
    let cell = temblor_patch::Cell {
        centre: [0.5, 0.5, 0.0],
        size: [1.0, 1.0, 8.0],
        time: 0.0,
        time_step: 1.0,
    };
    let (mut outputs, _) = apply(&kernel, &[cell], &[vec![0.0; kernel.shape.input_len()]]);
    outputs.remove(0)
}

/// Statements that use every term, and one value of interest.
fn each(statement: &str) -> String {
    let unused = "for each direction n\n    Z = 0 * (flux(Q, n) + ncp(Q, Q, n))\n";
    format!("{unused}    {statement}\nR = sum(C) + sum(Z)\n")
}

#[test]
fn terms_get_the_centre_of_their_voxel_or_face() {
    // Voxel centres 0.25 and 0.75 along both axes; voxels are (x, y) = (0, 0), (1, 0), (0, 1), (1, 1).
    for plan in [Plan::Fused, Plan::Unfused] {
        let got = |statement: &str| rate(&each(statement), plan.clone());
        assert_eq!(got("C = flux(Q, n)"), [0.5, 1.0, 1.0, 1.5]);
        // A shifted argument: the neighbour's centre, half a metre on along each axis.
        assert_eq!(got("C = flux(Q[+1], n)"), [1.5, 2.0, 2.0, 2.5]);
        assert_eq!(got("C = flux(Q[-1], n)"), [-0.5, 0.0, 0.0, 0.5]);
        // At faces: 0.5 and 1.0 beyond the voxels, squared.
        assert_eq!(got("C = face(Q, Q[+1], n)"), [0.5, 1.25, 1.25, 2.0]);
        assert_eq!(
            got("C at faces = ncp(0.5 * (Q + Q[+1]), Q[+1] - Q, n)"),
            [0.5, 1.25, 1.25, 2.0]
        );
        // At the voxel without `at faces`: 0.25 and 0.75 squared.
        assert_eq!(got("C = ncp(Q, Q[+1] - Q, n)"), [0.125, 0.625, 0.625, 1.125]);
    }
}

#[test]
fn faces_seen_from_both_sides_are_the_same_faces() {
    let statements = "for each direction n\n    Z = 0 * (flux(Q, n) + ncp(Q, Q, n))
    G = face(Q, Q[+1], n)\n    C = G - G[-1]\nR = sum(C) + sum(Z)\n";
    // (i + 1)^2 / 4 - i^2 / 4 per axis.
    for plan in [Plan::Fused, Plan::Unfused] {
        assert_eq!(rate(statements, plan), [0.5, 1.0, 1.0, 1.5]);
    }
}

#[test]
fn stages_on_larger_ranges_give_neighbours_their_own_place() {
    for (staged, statement) in
        [("F", "F = flux(Q, n)\n    C = F[+1]"), ("G", "G = face(Q, Q[+1], n)\n    C = G[-1]")]
    {
        let statements = each(statement);
        let plan = Plan::Staged(vec![staged.into()]);
        assert_eq!(rate(&statements, plan), rate(&statements, Plan::Fused), "{staged}");
    }
}

#[test]
fn corners_of_the_halo_have_no_influence() {
    for (name, scheme) in [("toy", "rusanov"), ("toy", "fd4"), ("toy", "godunov"), ("euler", "dg")]
    {
        let scheme = Scheme::shipped(scheme).unwrap();
        let physics = physics(name);
        for plan in [Plan::Fused, Plan::Unfused, Plan::Staged(vec!["F".into()])] {
            if name == "toy" && scheme.name == "godunov" && plan == Plan::Staged(vec!["F".into()]) {
                continue;
            }
            let kernel = kernel(&scheme, &physics, 3, 3, plan);
            let poisoned = chunk(&kernel, &mut Random(23));
            let mut random = Random(24);
            let width = kernel.shape.width();
            let mut filled = poisoned.clone();
            let mut corners = 0;
            for (voxel, place) in support::chunk_voxels(&kernel.shape) {
                if outside(&kernel.shape, voxel) > 1 {
                    corners += 1;
                    assert!(poisoned[place].is_nan());
                    filled[place..place + width].fill_with(|| 1.0 + random.next());
                }
            }
            assert!(corners > 0);
            let (a, fast) = apply(&kernel, &[cell()], &[poisoned]);
            let (b, fastest) = apply(&kernel, &[cell()], &[filled]);
            assert!(a[0].iter().all(|value| value.is_finite()), "{}", kernel.name);
            assert_same(&a[0], &b[0], &kernel.name);
            assert_same(&fast, &fastest, &kernel.name);
        }
    }
}
