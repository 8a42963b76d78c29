//! Sets of patches that stay on a card against the same on the host. These need an NVIDIA device and
//! NVRTC:
//! `cargo test --release -p temblor-cuda --test patch_sets_card -- --ignored --nocapture`.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a failure is a failed test")]

mod patches;

use patches::{cells, chunk, interior, kernel};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use temblor_backend::{Backend, Beyond, PatchOptions, PatchSet};
use temblor_cuda::CudaBackend;
use temblor_patch::{Kernel, Plan, Term};

/// The reference of a set's operations on chunks, on the host.
fn exchanged(kernel: &Kernel, states: &[Vec<f64>], beside: &[[[Beyond; 2]; 3]]) -> Vec<Vec<f64>> {
    let (block, shape) = (&kernel.blocks[0], &kernel.shape);
    let (p, h) = (shape.cells.cast_signed(), shape.halo.cast_signed());
    let depth = if shape.dimensions == 3 { p } else { 1 };
    let mut result = states.to_vec();
    for (k, sides) in beside.iter().enumerate() {
        for axis in 0..usize::from(shape.dimensions) {
            for side in 0..2 {
                for layer in 0..h {
                    for b in 0..if axis == 2 { p } else { depth } {
                        for a in 0..p {
                            let mut to = [a, b, b];
                            match axis {
                                0 => to = [0, a, b],
                                1 => to = [a, 0, b],
                                _ => {}
                            }
                            let mut from = to;
                            to[axis] = if side == 0 { -1 - layer } else { p + layer };
                            let source = match sides[axis][side] {
                                Beyond::Patch(n) => {
                                    from[axis] = if side == 0 { p - 1 - layer } else { layer };
                                    n
                                }
                                Beyond::Outflow => {
                                    from[axis] = if side == 0 { 0 } else { p - 1 };
                                    k
                                }
                                Beyond::Fixed => continue,
                            };
                            for u in 0..shape.width() {
                                result[k][block.offset(to) + u] =
                                    states[source][block.offset(from) + u];
                            }
                        }
                    }
                }
            }
        }
    }
    result
}

fn all(set: &mut dyn PatchSet, state: usize, count: usize, len: usize) -> Vec<Vec<f64>> {
    let read = |k| {
        let mut values = vec![0.0; len];
        set.download(state, k, &mut values).unwrap();
        values
    };
    (0..count).map(read).collect()
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn a_sets_operations_are_those_on_the_host() {
    let backend = CudaBackend::new(0).unwrap();
    for (d, p, schedule) in
        [(3, 4, "flat-t64"), (2, 5, "flat-t64"), (3, 4, "flat-t64-l8"), (2, 5, "direct-t64-l2")]
    {
        let kernel = kernel("euler", "fd4", d, p, Plan::Fused).unwrap();
        let options = PatchOptions::new(false).with_schedule(schedule);
        let made = backend.patch_kernel(&kernel, &options).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let count = 4;
        let len = kernel.shape.input_len();
        let states: Vec<Vec<f64>> = (0..count).map(|_| chunk(&kernel, &mut rng, 0.5)).collect();
        let mut set = made.patches(&cells(count), 3, 2).unwrap();
        for (k, state) in states.iter().enumerate() {
            set.upload(0, k, state).unwrap();
        }
        assert!(all(set.as_mut(), 0, count, len) == states, "up and down");
        let beside = |k: usize| {
            let other = Beyond::Patch((k + 1) % count);
            [[other, Beyond::Outflow], [Beyond::Fixed, Beyond::Patch(k)], [Beyond::Patch(0), other]]
        };
        let beside: Vec<_> = (0..count).map(beside).collect();
        set.set_neighbours(&beside).unwrap();
        set.exchange(0).unwrap();
        let want = exchanged(&kernel, &states, &beside);
        assert!(all(set.as_mut(), 0, count, len) == want, "halos of {d} dimensions");
        // A finite state has no fault, its speed is the largest of all.
        assert_eq!(set.fault(0).unwrap(), None);
        let physics = &kernel.physics;
        let parameters: Vec<f64> = physics.parameters.iter().map(|p| p.default).collect();
        let mut fastest = 0.0f64;
        for state in &states {
            for q in interior(&kernel, state).chunks_exact(5) {
                for n in 0..d {
                    let mut arguments = vec![0.0; 5 + 8];
                    arguments[..5].copy_from_slice(q);
                    let speed = physics.evaluate(Term::Eigenvalue, n, &arguments, &parameters);
                    fastest = fastest.max(speed.unwrap()[0]);
                }
            }
        }
        assert_eq!(set.speed(0).unwrap().to_bits(), fastest.to_bits());
        let mut bad = states[2].clone();
        let voxel = if d == 3 { [1, 2, 3] } else { [1, 2, 0] };
        let block = &kernel.blocks[0];
        bad[block.offset(voxel) + 4] = f64::INFINITY;
        set.upload(0, 2, &bad).unwrap();
        let fault = set.fault(0).unwrap().unwrap();
        assert_eq!((fault.patch, fault.unknown), (2, 4));
        assert_eq!(fault.voxel.map(u16::cast_signed), voxel);
        assert!(fault.value.is_infinite());
    }
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn a_set_that_does_not_fit_is_refused_before_anything_is_allocated() {
    let backend = CudaBackend::new(0).unwrap();
    let kernel = kernel("euler", "rusanov", 3, 16, Plan::Fused).unwrap();
    let made = backend.patch_kernel(&kernel, &PatchOptions::new(true)).unwrap();
    let free = backend.free_memory().unwrap();
    let many = usize::try_from(free / made.set_bytes(1, 2, 0)).unwrap() + 1;
    let error = made.patches(&cells(many), 2, 0).err().unwrap().to_string();
    assert!(error.contains("bytes"), "{error}");
    assert_eq!(backend.free_memory().unwrap(), free);
}
