//! Slabs of patches: which kernels have them, and where their chunks lie.

use std::sync::Arc;

use temblor_patch::{Kernel, Physics, Request, Scheme, lower};

fn kernel(physics: &str, scheme: &str, dimensions: u8, cells: u16) -> Kernel {
    let physics = Arc::new(Physics::shipped(physics).expect("it ships"));
    lower(&Scheme::shipped(scheme).expect("it ships"), &physics, &Request::new(dimensions, cells))
        .expect("they go together")
}

#[test]
fn slabs_lie_plane_by_plane_in_the_chunks_of_a_patch() {
    // fd4 reads a halo of 3: chunks of 14^3 voxels of 5 unknowns; two slabs of 4 planes and 3 + 3 more.
    let whole = kernel("euler", "fd4", 3, 8);
    let halo = usize::from(whole.shape.halo);
    let wide = 8 + 2 * halo;
    let slab = whole.slab(2).unwrap();
    assert_eq!(slab.parts, 2);
    assert_eq!(slab.input_step, wide * wide * 4 * 5);
    assert_eq!(slab.input_len, wide * wide * (4 + 2 * halo) * 5);
    assert_eq!(slab.output_len, 8 * 8 * 4 * 5);
    assert_eq!(slab.input_step + slab.input_len, whole.shape.input_len());
    assert_eq!(2 * slab.output_len, whole.shape.output_len());
    // In two dimensions the slowest axis is y.
    let whole = kernel("shallow_water", "rusanov", 2, 6);
    let slab = whole.slab(3).unwrap();
    let wide = 6 + 2 * usize::from(whole.shape.halo);
    assert_eq!(slab.input_step, wide * 2 * whole.shape.width());
    assert_eq!(3 * slab.output_len, whole.shape.output_len());
}

#[test]
fn patches_are_cut_evenly_or_not_at_all() {
    let whole = kernel("euler", "rusanov", 3, 6);
    let cut = |parts| whole.slab(parts).map(|slab| slab.kernel.blocks[1].high);
    assert_eq!(cut(1), Some([6, 6, 6]));
    assert_eq!(cut(2), Some([6, 6, 3]));
    assert_eq!(cut(3), Some([6, 6, 2]));
    assert_eq!(cut(4), None);
    assert_eq!(cut(0), None);
}

#[test]
fn values_that_depend_on_the_plane_forbid_slabs() {
    // A matrix along every axis.
    assert!(kernel("advection", "dg", 2, 4).slab(2).is_none());
    let physics = |axis: u8| {
        let text = format!(
            "enum unknowns {{ Q0 }};
             void flux(const double *Q, int n, double *F) {{ F[0] = n == 0 ? Q[0] : 0.0; }}
             double eigenvalue(const double *Q, int n) {{ return 1.0 + 0.0 * Q[0]; }}
             void source(const double *Q, const double *x, double *S) {{ S[0] = x[{axis}] * Q[0]; }}"
        );
        Arc::new(Physics::from_c("own.c", &text).unwrap())
    };
    let scheme = Scheme::shipped("rusanov").unwrap();
    let along = |axis| lower(&scheme, &physics(axis), &Request::new(3, 4)).unwrap();
    assert!(along(2).slab(2).is_none());
    // Planes are across z: what depends on y is the same in all.
    assert!(along(1).slab(2).is_some());
}
