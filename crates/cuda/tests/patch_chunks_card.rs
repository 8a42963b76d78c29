//! Patch kernels on a card: chunks of the host give the same bits wherever they lie and whatever their
//! order. These need an NVIDIA device and NVRTC:
//! `cargo test --release -p temblor-cuda --test patch_chunks_card -- --ignored --nocapture`.

mod patches;

use patches::{cells, chunk, kernel};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use temblor_backend::{Backend, Cell, PatchOptions};
use temblor_cuda::CudaBackend;
use temblor_cuda::patch::Crossings;
use temblor_patch::{Plan, interpret};

#[test]
#[ignore = "needs an NVIDIA device"]
fn the_order_of_cells_changes_no_bit() {
    let backend = CudaBackend::new(0).unwrap();
    let kernel = kernel("euler", "rusanov", 3, 6, Plan::Fused).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let count = 1000;
    let inputs: Vec<Vec<f64>> = (0..count).map(|_| chunk(&kernel, &mut rng, 0.0)).collect();
    let cells = cells(count);
    for contract in [false, true] {
        let mut made = backend.patch_kernel(&kernel, &PatchOptions::new(contract)).unwrap();
        let mut run = |order: &[usize]| {
            let views: Vec<&[f64]> = order.iter().map(|&k| inputs[k].as_slice()).collect();
            let cells: Vec<Cell> = order.iter().map(|&k| cells[k]).collect();
            let mut outputs = vec![vec![f64::NAN; kernel.shape.output_len()]; order.len()];
            let mut into: Vec<&mut [f64]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
            let mut speeds = vec![f64::NAN; order.len()];
            made.apply(&cells, &views, &mut into, &mut speeds).unwrap();
            (outputs, speeds)
        };
        let forward: Vec<usize> = (0..count).collect();
        let (outputs, speeds) = run(&forward);
        let backward: Vec<usize> = (0..count).rev().collect();
        let (other, others) = run(&backward);
        for k in 0..count {
            let n = count - 1 - k;
            assert!(outputs[k] == other[n] && speeds[k].to_bits() == others[n].to_bits());
        }
        // Alone, in a batch of its own.
        let (alone, _) = run(&[77]);
        assert!(alone[0] == outputs[77]);
    }
}

/// How chunks lie in memory, in a shuffled order but for the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lie {
    /// With gaps of 0 to 16 values.
    Near,
    /// With gaps of up to a chunk.
    Apart,
    /// At equal distances.
    Rows,
    /// One after the other, in their own order.
    Adjacent,
}

/// Places of chunks of so many values, and the end of the last.
fn strewn(count: usize, len: usize, lie: Lie, rng: &mut ChaCha8Rng) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..count).collect();
    if lie != Lie::Adjacent {
        for k in (1..count).rev() {
            order.swap(k, rng.random_range(0..=k));
        }
    }
    let (mut places, mut end) = (vec![0; count], 0);
    for k in order {
        end += match lie {
            Lie::Near => rng.random_range(0..=16),
            Lie::Apart => rng.random_range(0..=len),
            Lie::Rows => len / 3 + 1,
            Lie::Adjacent => 0,
        };
        places[k] = end;
        end += len;
    }
    (places, end)
}

/// Disjoint chunks of memory at places in any order.
fn split<'a>(mut memory: &'a mut [f64], places: &[usize], len: usize) -> Vec<&'a mut [f64]> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|&k| places[k]);
    let mut chunks: Vec<(usize, &mut [f64])> = Vec::new();
    let mut start = 0;
    for k in order {
        let (chunk, rest) = memory.split_at_mut(places[k] - start + len);
        chunks.push((k, &mut chunk[places[k] - start..]));
        (memory, start) = (rest, places[k] + len);
    }
    chunks.sort_by_key(|(k, _)| *k);
    chunks.into_iter().map(|(_, chunk)| chunk).collect()
}

/// Results of chunks anywhere stored by a kernel, and handed out by the host: by one thread of the pool and
/// by two, from as few pieces as there may be.
fn ways() -> [Crossings; 3] {
    let kernel = Crossings { handed: 0, ..Crossings::default() };
    let host = Crossings { handed: usize::MAX, least: 0, threads: 1, staging: 0, gaps: 8 };
    [kernel, host, Crossings { threads: 2, gaps: 32, ..host }]
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn small_chunks_anywhere_equal_the_interpreter_by_a_kernel_and_by_the_host() {
    let backend = CudaBackend::new(0).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    // Twelve pieces, twice what waits to be handed out.
    for (p, count) in [(3, 2000), (6, 310)] {
        let unfused = kernel("euler", "rusanov", 3, p, Plan::Unfused).unwrap();
        let kernel = kernel("euler", "rusanov", 3, p, Plan::Fused).unwrap();
        let [input, output] = [kernel.shape.input_len(), kernel.shape.output_len()];
        let cells = cells(count);
        let mut made = backend.patch_kernel(&kernel, &PatchOptions::new(false)).unwrap();
        let (places, end) = strewn(count, input, Lie::Apart, &mut rng);
        let mut from = made.host_memory(end).unwrap();
        for to in split(from.values_mut(), &places, input) {
            to.copy_from_slice(&chunk(&kernel, &mut rng, 0.0));
        }
        let inputs: Vec<&[f64]> =
            places.iter().map(|&place| &from.values()[place..place + input]).collect();
        let mut want = vec![0.0; count * output];
        let mut into: Vec<&mut [f64]> = want.chunks_mut(output).collect();
        let parameters: Vec<f64> = kernel.parameters.iter().map(|p| p.default).collect();
        let mut speeds = vec![0.0; count];
        interpret(&unfused, &parameters, &cells, &inputs, &mut into, &mut speeds).unwrap();
        let (places, end) = strewn(count, output, Lie::Apart, &mut rng);
        let mut to = made.host_memory(end).unwrap();
        for way in ways() {
            backend.set_crossings(way);
            to.values_mut().fill(f64::NAN);
            let mut outputs = split(to.values_mut(), &places, output);
            made.apply(&cells, &inputs, &mut outputs, &mut []).unwrap();
            for (k, (got, want)) in outputs.iter().zip(want.chunks(output)).enumerate() {
                // Bits but for the signs of zeros.
                let same =
                    got.iter().zip(want).all(|(a, b)| (a + 0.0).to_bits() == (b + 0.0).to_bits());
                assert!(same, "{}, chunk {k}, {way:?}", kernel.name);
            }
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn chunks_in_the_hosts_memory_give_the_bits_of_packed_ones() {
    let backend = CudaBackend::new(0).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    // Euler with 3 cells: 5 x 125 values there and 5 x 27 back, 5 x 25 and 5 x 9 in the plane.
    let list = [
        ("euler", "rusanov", 3, 6, 1000),
        ("euler", "rusanov", 3, 3, 2000),
        ("euler", "rusanov", 2, 3, 5000),
        ("euler", "fd4", 3, 5, 300),
        ("acoustics", "godunov", 2, 3, 1000),
        // So large that chunks anywhere have copies of their own.
        ("euler", "rusanov", 3, 16, 120),
    ];
    let ways = ways();
    let mut odd = false;
    for (physics, scheme, d, p, count) in list {
        let kernel = kernel(physics, scheme, d, p, Plan::Fused).unwrap();
        let (input, output) = (kernel.shape.input_len(), kernel.shape.output_len());
        odd |= input % 2 == 1 && output % 2 == 1;
        let pool: Vec<Vec<f64>> = (0..count).map(|_| chunk(&kernel, &mut rng, 0.0)).collect();
        let cells = cells(count);
        let mut made = backend.patch_kernel(&kernel, &PatchOptions::new(true)).unwrap();
        let mut want = vec![vec![f64::NAN; output]; count];
        let mut want_speeds = vec![f64::NAN; if kernel.speeds { count } else { 0 }];
        let views: Vec<&[f64]> = pool.iter().map(Vec::as_slice).collect();
        let mut into: Vec<&mut [f64]> = want.iter_mut().map(Vec::as_mut_slice).collect();
        made.apply(&cells, &views, &mut into, &mut want_speeds).unwrap();
        let lies = [
            [Lie::Near, Lie::Near],
            [Lie::Adjacent, Lie::Adjacent],
            [Lie::Near, Lie::Adjacent],
            [Lie::Adjacent, Lie::Near],
            [Lie::Rows, Lie::Rows],
            [Lie::Apart, Lie::Rows],
            [Lie::Rows, Lie::Apart],
            [Lie::Apart, Lie::Apart],
        ];
        for (n, [lie, lie_out]) in lies.into_iter().enumerate() {
            let (places, end) = strewn(count, input, lie, &mut rng);
            // Every other time memory of our own, page-locked in place.
            let (mut own, mut own_out);
            let locked = n % 2 == 1;
            own = vec![0.0; if locked { end } else { 0 }];
            let mut from =
                if locked { made.pin(&mut own).unwrap() } else { made.host_memory(end).unwrap() };
            let chunks = split(from.values_mut(), &places, input);
            chunks.into_iter().zip(&pool).for_each(|(to, chunk)| to.copy_from_slice(chunk));
            let inputs: Vec<&[f64]> =
                places.iter().map(|&place| &from.values()[place..place + input]).collect();
            let (places, end) = strewn(count, output, lie_out, &mut rng);
            own_out = vec![0.0; if locked { end } else { 0 }];
            let mut to = if locked {
                made.pin(&mut own_out).unwrap()
            } else {
                made.host_memory(end).unwrap()
            };
            // Twice each way: the second call finds buffers in use before, and other results to overwrite.
            for (way, turn) in ways.iter().flat_map(|way| [(way, 1), (way, 2)]) {
                backend.set_crossings(*way);
                to.values_mut().fill(-7.0);
                let mut outputs = split(to.values_mut(), &places, output);
                let mut speeds = vec![f64::NAN; want_speeds.len()];
                made.apply(&cells, &inputs, &mut outputs, &mut speeds).unwrap();
                let name = &kernel.name;
                assert!(speeds.iter().zip(&want_speeds).all(|(a, b)| a.to_bits() == b.to_bits()));
                for (k, (got, want)) in outputs.iter().zip(&want).enumerate() {
                    let equal = got.iter().zip(want).all(|(a, b)| a.to_bits() == b.to_bits());
                    assert!(
                        equal,
                        "{name}, chunk {k}, {lie:?} there, {lie_out:?} back, {way:?}, {turn}"
                    );
                }
                // Between the chunks nothing is touched: they never come out as -7.
                let kept = to.values().iter().filter(|v| v.to_bits() == (-7.0f64).to_bits());
                assert_eq!(kept.count(), end - count * output, "{name}");
            }
            // One output elsewhere: the same by packing.
            let mut outputs = split(to.values_mut(), &places, output);
            let mut elsewhere = vec![f64::NAN; output];
            outputs[1] = &mut elsewhere;
            made.apply(&cells, &inputs, &mut outputs, &mut []).unwrap();
            assert!(outputs.iter().zip(&want).all(|(got, want)| **got == **want), "mixed");
        }
        // Last things first: a chunk's result does not depend on its place in the call.
        let mut from = made.host_memory(count * input).unwrap();
        from.values_mut().chunks_mut(input).zip(&pool).for_each(|(to, c)| to.copy_from_slice(c));
        let inputs: Vec<&[f64]> = from.values().chunks(input).rev().collect();
        let backward: Vec<Cell> = cells.iter().rev().copied().collect();
        let mut to = made.host_memory(count * output).unwrap();
        let mut outputs: Vec<&mut [f64]> = to.values_mut().chunks_mut(output).rev().collect();
        made.apply(&backward, &inputs, &mut outputs, &mut []).unwrap();
        assert!(to.values().chunks(output).zip(&want).all(|(got, want)| got == want), "backward");
    }
    assert!(odd, "no kernel has chunks of odd lengths");
}
