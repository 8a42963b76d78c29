//! Problems of a line each.

use std::sync::Arc;

use temblor_backend::{Backend, PatchOptions};
use temblor_cpu::CpuBackend;
use temblor_patch::{Physics, Request, Scheme, lower};
use temblor_solver::patches::{Problem, Side, Started, Tiling};

pub(crate) const PERIODIC: [[Side; 2]; 3] = [[Side::Periodic; 2]; 3];

/// A shipped physics and scheme on a box; `integers` choose the problem.
pub(crate) fn problem(
    physics: &str,
    scheme: &str,
    integers: &[(&str, i64)],
    tiling: &Tiling,
) -> Problem {
    let physics = Arc::new(Physics::shipped(physics).unwrap());
    let scheme = Scheme::shipped(scheme).unwrap();
    let integers = integers.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let request = Request::new(tiling.dimensions, tiling.cells).with_integers(integers);
    Problem::new(lower(&scheme, &physics, &request).unwrap(), *tiling)
}

/// Begins a march, contraction off.
pub(crate) fn start(problem: &Problem) -> Started {
    start_on(&CpuBackend::new(), problem)
}

/// Begins a march on a backend.
pub(crate) fn start_on(backend: &dyn Backend, problem: &Problem) -> Started {
    problem.start(backend, &PatchOptions::new(false)).unwrap()
}

/// A strip along x of `count` voxels, 1 m long, in patches of `cells`, one patch high.
pub(crate) fn strip(count: usize, cells: u16, sides: [[Side; 2]; 3]) -> Tiling {
    let patches = count / usize::from(cells);
    let height = 1.0 / patches as f64;
    Tiling::new(2, cells, [patches, 1, 1], [0.0; 3], [1.0, height, 0.0], sides).unwrap()
}

/// Orders between errors of doubled resolutions.
pub(crate) fn orders(errors: &[f64]) -> Vec<f64> {
    errors.windows(2).map(|pair| (pair[0] / pair[1]).log2()).collect()
}

/// Asserts values within 5 % and orders within 0.2.
#[track_caller]
pub(crate) fn assert_table(errors: &[f64], wanted: &[f64], wanted_orders: &[f64]) {
    for (error, wanted) in errors.iter().zip(wanted) {
        assert!((error / wanted - 1.0).abs() < 0.05, "{errors:?} {wanted}");
    }
    for (order, wanted) in orders(errors).iter().zip(wanted_orders) {
        assert!((order - wanted).abs() < 0.2, "{:?} {wanted_orders:?}", orders(errors));
    }
}
