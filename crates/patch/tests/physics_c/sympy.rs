//! What SymPy's C99 printer writes goes in as it is.

use temblor_patch::{Physics, Term};

use super::run::{agree, jobs, random};

/// `codegen(("momentum", Eq(F, expressions)), "C99", "physics", header=True)` of SymPy 1.14.0, whole.
/// `Q` is `MatrixSymbol("Q", 3, 1)`; the three expressions are `Q1`, `Q1**2/Q0 + g*Q0**2/2` and the sum
/// of `Q1*Q2/Q0*Piecewise((1, Q0 > d), (sqrt(Abs(Q0)), True))`,
/// `sign(Q1)*Max(Q0, Q1, Q2)**Rational(5, 2)`, `exp(-Q0**2/3)`, `pi/Q2**3` and `Min(Q0, 1)`.
const PRINTED: &str = r#"/******************************************************************************
 *                      Code generated with SymPy 1.14.0                      *
 *                                                                            *
 *              See http://www.sympy.org/ for more information.               *
 *                                                                            *
 *                       This file is part of 'project'                       *
 ******************************************************************************/
#include "physics.h"
#include <math.h>

void momentum(double *Q, double d, double g, double *F) {

   F[0] = Q[1];
   F[1] = (1.0/2.0)*g*pow(Q[0], 2) + pow(Q[1], 2)/Q[0];
   F[2] = ((d < Q[0]) ? (
      1
   )
   : (
      sqrt(fabs(Q[0]))
   ))*Q[1]*Q[2]/Q[0] + (((Q[1]) > 0) - ((Q[1]) < 0))*pow(fmax(Q[0], fmax(Q[1], Q[2])), 5.0/2.0) + fmin(1, Q[0]) + M_PI/pow(Q[2], 3) + exp(-1.0/3.0*pow(Q[0], 2));

}
"#;

/// What a user writes around it.
const AROUND: &str = "
enum unknowns { H, HU, HV };
void source(const double *Q, double *S) {
  double q[3] = {Q[0], Q[1], Q[2]};
  momentum(q, 1.0, 9.81, S);
}
";

#[test]
fn code_printed_by_sympy_is_taken_verbatim() {
    let physics = Physics::from_c("physics.c", &format!("{PRINTED}{AROUND}")).unwrap();
    // One of the first and the second is positive: so is the power's base.
    let cases = random(Term::Source, &[(0.1, 2.0), (-2.0, 2.0), (-2.0, 2.0)], 17, 300);
    agree(&physics, &jobs(Term::Source, &cases, &[]));
    let want = |q: &[f64]| -> [f64; 3] {
        let pick = if q[0] > 1.0 { 1.0 } else { q[0].sqrt() };
        let most = q[0].max(q[1]).max(q[2]);
        [
            q[1],
            0.5 * 9.81 * q[0] * q[0] + q[1] * q[1] / q[0],
            pick * q[1] * q[2] / q[0]
                + q[1].signum() * most.powf(2.5)
                + q[0].min(1.0)
                + std::f64::consts::PI / q[2].powi(3)
                + (-q[0] * q[0] / 3.0).exp(),
        ]
    };
    for case in &cases {
        let got = physics.evaluate(Term::Source, 0, case, &[]).unwrap();
        for (got, want) in got.iter().zip(want(case)) {
            assert!((got - want).abs() <= 1e-12 * want.abs().max(1.0), "{got} is not {want}");
        }
    }
}
