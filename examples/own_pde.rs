//! Burgers' equation, written here, by a scheme that ships: `cargo run --release --example own_pde`.

use std::sync::Arc;

use temblor::backend::PatchOptions;
use temblor::cpu::CpuBackend;
use temblor::patch::{Physics, Request, Scheme, lower};
use temblor::solver::patches::{Problem, Side, Tiling};

const BURGERS: &str = r"
#include <math.h>
enum unknowns { SPEED };
void flux(const double *Q, int n, double *F) { F[0] = n == 0 ? 0.5 * Q[0] * Q[0] : 0.0; }
double eigenvalue(const double *Q, int n) { return n == 0 ? fabs(Q[0]) : 0.0; }
void exact(const double *x, double t, double *Q) {  // a ramp that steepens to a shock at t = 1
  Q[0] = x[0] < t ? 1.0 : x[0] > 1.0 ? 0.0 : (1.0 - x[0]) / (1.0 - t);
}
void initial(const double *x, double *Q) { exact(x, 0.0, Q); }
";

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let physics = Arc::new(Physics::from_c("burgers.c", BURGERS)?);
    let kernel = lower(&Scheme::shipped("rusanov")?, &physics, &Request::new(2, 10))?;
    let sides = [[Side::Fixed; 2], [Side::Periodic; 2], [Side::Outflow; 2]];
    let tiling = Tiling::new(2, 10, [40, 1, 1], [-0.5, 0.0, 0.0], [2.0, 0.05, 0.0], sides)?;
    let problem = Problem::new(kernel, tiling).courant(0.45);
    let mut run = problem.start(&CpuBackend::new(), &PatchOptions::default())?;
    run.run_to(0.5)?;
    let norms = run.errors()?.ok_or("there is an exact solution")?[0];
    println!("L1 error {:.2e} after {} steps", norms.l1, run.march.status().step);
    if norms.l1 < 0.01 { Ok(()) } else { Err("the ramp is not where it should be".into()) }
}
