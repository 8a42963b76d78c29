//! The text for GPUs, compiled as C with a stand-in for threads and barriers, gives the interpreter's
//! bits: every way, layout, dimension and size, with groups of outputs, values in shared memory and
//! poisoned halo corners. What a card's compiler does with it is for the tests on a card.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a failure is a failed test")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Command;
use std::sync::Arc;

use temblor_patch::emit::gpu::{
    self, Dialect, Layout, Layouts, Program, Schedule, candidates, speed_of_key,
};
use temblor_patch::{Cell, Kernel, Physics, Plan, Request, Scheme, interpret, lower};

const SHIM: &str = include_str!("gpu_text/shim.c");

/// Numbers in (0, 1), the same for the same seed (`SplitMix64`, Steele et al. 2014).
fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 * (0.5 / (1u64 << 52) as f64)
    }
}

fn kernel(physics: &str, scheme: &str, d: u8, p: u16, plan: Plan) -> Kernel {
    let file = format!("{}/../../csrc/physics/{physics}.c", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(file).expect("the physics ships");
    let physics = Arc::new(Physics::from_c(physics, &text).expect("a physics"));
    let integers = if physics.name == "ccz4" {
        vec![("lapse".into(), 1), ("s".into(), 1), ("bs".into(), 1)]
    } else {
        Vec::new()
    };
    let request = Request::new(d, p).with_plan(plan).with_integers(integers);
    lower(&Scheme::shipped(scheme).expect("it ships"), &physics, &request).expect("a kernel")
}

/// Values near a state in which every term is defined, edges and corners of the halo NaN.
fn chunk(kernel: &Kernel, seed: u64) -> Vec<f64> {
    let mut noise = noise(seed);
    let block = &kernel.blocks[0];
    let (d, p) = (usize::from(kernel.shape.dimensions), kernel.shape.cells.cast_signed());
    let base: &[(usize, f64)] = match kernel.physics.name.as_str() {
        "euler" => &[(0, 1.0), (4, 3.0)],
        "ccz4" => &[(0, 1.0), (3, 1.0), (5, 1.0), (16, 1.0), (54, 1.0)],
        _ => &[(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0), (5, 1.0)],
    };
    let mut values = vec![0.0; kernel.shape.input_len()];
    for z in block.low[2]..block.high[2] {
        for y in block.low[1]..block.high[1] {
            for x in block.low[0]..block.high[0] {
                let outside = [x, y, z][..d].iter().filter(|&&i| i < 0 || i >= p).count();
                for u in 0..kernel.shape.width() {
                    let rest = base.iter().find(|(place, _)| *place == u).map_or(0.0, |b| b.1);
                    let value = rest + 0.2 * (noise() - 0.5);
                    let place = block.offset([x, y, z]) + u;
                    values[place] = if outside > 1 { f64::NAN } else { value };
                }
            }
        }
    }
    values
}

fn cells(count: usize) -> Vec<Cell> {
    let cell = |k: usize| {
        let k = k as f64;
        Cell {
            centre: [0.1 + k, -0.2 * k, 0.3],
            size: [1.0 + 0.1 * k, 1.3, 0.9],
            time: 0.25 * k,
            time_step: 1e-3 * (1.0 + k),
        }
    };
    (0..count).map(cell).collect()
}

/// Places of a chunk's values in a layout.
fn places(kernel: &Kernel, block: usize, layout: &Layout) -> Vec<usize> {
    let block = &kernel.blocks[block];
    let mut list = vec![0; block.voxels() * usize::from(block.width)];
    for z in block.low[2]..block.high[2] {
        for y in block.low[1]..block.high[1] {
            for x in block.low[0]..block.high[0] {
                for u in 0..block.width {
                    let place = layout.place([x, y, z].map(i64::from), i64::from(u));
                    list[block.offset([x, y, z]) + usize::from(u)] =
                        usize::try_from(place).unwrap();
                }
            }
        }
    }
    list
}

/// Compiles and runs a program over K chunks.
fn run(
    kernel: &Kernel,
    program: &Program,
    layouts: &Layouts,
    inputs: &[Vec<f64>],
) -> (Vec<Vec<f64>>, Vec<f64>) {
    let count = inputs.len();
    let folder = tempfile::tempdir().expect("a folder");
    let mut text = SHIM.to_owned();
    text.push_str(
        &program.source[Dialect::Cuda.prelude().len()..]
            .replace("extern \"C\" __global__ void __launch_bounds__", "KERNEL"),
    );
    let lens = [layouts.input.len.next_multiple_of(2), layouts.output.len];
    text.push_str("static struct parameters P;\n");
    let mut calls = String::new();
    for (n, entry) in program.entries.iter().enumerate() {
        writeln!(
            text,
            "static void call{n}(void) {{ {}(in, out, cells, speeds, scratch, P, count); }}",
            entry.name
        )
        .unwrap();
        let blocks = entry.blocks(count);
        writeln!(calls, "launch({blocks}, {}, {}, call{n});", entry.threads, entry.shared).unwrap();
    }
    let (input, output) = (lens[0], lens[1]);
    writeln!(
        text,
        "int main(void) {{ setup({count}, {input}, {output}, {}, {}, {}); memcpy(&P, given, sizeof P);\n\
         {calls} finish(); return 0; }}",
        program.scratch,
        kernel.parameters.len(),
        layouts.input.lanes
    )
    .unwrap();
    let source = folder.path().join("kernel.c");
    std::fs::write(&source, &text).unwrap();
    let built = Command::new("cc")
        .args(["-std=gnu11", "-O1", "-fno-tree-sra", "-w", "-ffp-contract=off", "-o"])
        .arg(folder.path().join("kernel"))
        .args([source.to_str().unwrap(), "-lm"])
        .output()
        .expect("a C compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let mut data: Vec<f64> = kernel.parameters.iter().map(|p| p.default).collect();
    data.resize(program.parameters, 0.0);
    for cell in cells(count) {
        data.extend(cell.centre.iter().chain(&cell.size).chain([&cell.time, &cell.time_step]));
    }
    let from = places(kernel, 0, &layouts.input);
    let padded = layouts.input.padded(count);
    let mut laid = vec![f64::NAN; padded * lens[0]];
    for (k, input) in inputs.iter().enumerate() {
        let start = layouts.input.start(k, lens[0]);
        from.iter().zip(input).for_each(|(&place, &value)| laid[start + place] = value);
    }
    data.extend(laid);
    let bytes: Vec<u8> = data.iter().flat_map(|value| value.to_le_bytes()).collect();
    let (to, back) = (folder.path().join("in"), folder.path().join("out"));
    std::fs::File::create(&to).unwrap().write_all(&bytes).unwrap();
    let status = Command::new(folder.path().join("kernel")).args([&to, &back]).status().unwrap();
    assert!(status.success(), "{}: {status}", kernel.name);
    let bytes = std::fs::read(&back).unwrap();
    let words: Vec<u64> =
        bytes.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().unwrap())).collect();
    let from = places(kernel, 1, &layouts.output);
    let outputs = (0..count)
        .map(|k| {
            let start = layouts.output.start(k, lens[1]);
            from.iter().map(|&n| f64::from_bits(words[start + n])).collect()
        })
        .collect();
    let speeds = words[padded * lens[1]..].iter().map(|&key| speed_of_key(key)).collect();
    (outputs, speeds)
}

/// Compares a schedule with the interpreter of another kernel of the same scheme.
fn agrees(kernel: &Kernel, oracle: &Kernel, name: &str, resident: bool) {
    let inputs: Vec<Vec<f64>> = (0..3).map(|k| chunk(kernel, 7 + k)).collect();
    let views: Vec<&[f64]> = inputs.iter().map(Vec::as_slice).collect();
    let mut expected = vec![vec![0.0; kernel.shape.output_len()]; 3];
    let mut into: Vec<&mut [f64]> = expected.iter_mut().map(Vec::as_mut_slice).collect();
    let parameters: Vec<f64> = kernel.parameters.iter().map(|p| p.default).collect();
    let mut speeds = vec![0.0; 3];
    interpret(oracle, &parameters, &cells(3), &views, &mut into, &mut speeds).unwrap();
    let schedule = Schedule::parse(name).unwrap();
    let layouts =
        if resident { Layouts::resident(kernel, &schedule) } else { Layouts::chunks(kernel) };
    let program = gpu::emit(kernel, &schedule, &layouts, Dialect::Cuda).unwrap();
    let (outputs, keys) = run(kernel, &program, &layouts, &inputs);
    // Adding zero makes zeros of both signs one.
    let bits = |v: f64| (v + 0.0).to_bits();
    for (k, (got, want)) in outputs.iter().zip(&expected).enumerate() {
        assert!(want.iter().all(|v| v.is_finite()), "{}: the oracle is not finite", kernel.name);
        // Cube roots are the library's, good to an ulp or two.
        let library = kernel.graph.nodes().iter().any(temblor_patch::emit::is_library_call);
        let bound =
            if library { 1e-13 * want.iter().fold(0.0, |m, v| f64::max(m, v.abs())) } else { 0.0 };
        let close = |a: f64, b: f64| bits(a) == bits(b) || (a - b).abs() <= bound;
        let differs = |(a, b): (&f64, &f64)| !close(*a, *b);
        let wrong = got.iter().zip(want).position(differs);
        assert!(
            wrong.is_none(),
            "{} by {name}: patch {k}, value {wrong:?}: {} instead of {}",
            kernel.name,
            got[wrong.unwrap_or(0)],
            want[wrong.unwrap_or(0)]
        );
    }
    if kernel.speeds {
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-13 * b.abs();
        assert!(
            keys.iter().zip(&speeds).all(close),
            "{} by {name}: {keys:?} {speeds:?}",
            kernel.name
        );
    }
}

#[test]
fn every_way_gives_the_interpreters_bits_for_eulers_equations() {
    let oracle = |scheme, d, p| kernel("euler", scheme, d, p, Plan::Unfused);
    for (scheme, d, p) in
        [("rusanov", 3, 3), ("rusanov", 3, 4), ("rusanov", 2, 4), ("fd4", 3, 3), ("fd4", 2, 5)]
    {
        let fused = kernel("euler", scheme, d, p, Plan::Fused);
        let oracle = oracle(scheme, d, p);
        agrees(&fused, &oracle, "tile-t64", true);
        agrees(&fused, &oracle, "bulk-t128-p", false);
        agrees(&fused, &oracle, "tile-t32-r24-p", true);
        if d == 3 {
            agrees(&fused, &oracle, "bulk-t32-z1-p", true);
            if p == 4 {
                agrees(&fused, &oracle, "bulk-t32-z2", true);
                agrees(&fused, &oracle, "bulk-t64-z2-p", false);
            }
            agrees(&fused, &oracle, "tile-t32-z1", false);
        }
        agrees(&fused, &oracle, "direct-t32", true);
        agrees(&fused, &oracle, "flat-t64", false);
        agrees(&fused, &oracle, "flat-t64-r20-g2-s", true);
        agrees(&fused, &oracle, "direct-t64-r24-g3", true);
        agrees(&oracle, &oracle, "unfused-t64", true);
    }
}

/// Three patches never fill the lanes, so that places beyond the last patch are met too.
#[test]
fn patches_side_by_side_give_the_interpreters_bits() {
    for (physics, scheme, d, p) in [
        ("euler", "rusanov", 3, 3),
        ("euler", "rusanov", 2, 4),
        ("euler", "fd4", 3, 3),
        ("euler", "fd4", 2, 5),
        ("ccz4", "fd4", 3, 3),
    ] {
        let fused = kernel(physics, scheme, d, p, Plan::Fused);
        let oracle = kernel(physics, scheme, d, p, Plan::Unfused);
        let heavy = physics == "ccz4";
        let names: &[&str] = if heavy {
            &["flat-t64-b2-r88-od-g2-l8"]
        } else {
            &["flat-t64-l2", "flat-t96-r20-g2-s-l8", "direct-t64-l4", "direct-t224-r24-l8"]
        };
        for name in names {
            agrees(&fused, &oracle, name, true);
        }
        let tile = Schedule::parse("tile-t64-l8").unwrap();
        let layouts = Layouts::resident(&fused, &tile);
        let refused = gpu::emit(&fused, &tile, &layouts, Dialect::Cuda).unwrap_err();
        assert!(refused.to_string().contains("direct and flat"), "{refused}");
        // Chunks of the host stay as they are.
        if !heavy {
            agrees(&fused, &oracle, "flat-t64-l8", false);
            agrees(&fused, &oracle, "direct-t64-l32", true);
        }
    }
}

#[test]
fn every_order_and_fission_gives_the_interpreters_bits_for_ccz4() {
    for scheme in ["fd4", "rusanov"] {
        let fused = kernel("ccz4", scheme, 3, 3, Plan::Fused);
        let oracle = kernel("ccz4", scheme, 3, 3, Plan::Unfused);
        for name in ["flat-t32-r40-ob", "flat-t32-b2-r88-od-g4", "flat-t32-b4-r64-oe-g2-s"] {
            agrees(&fused, &oracle, name, true);
        }
    }
}

#[test]
fn schedules_of_every_shipped_kernel_can_be_printed() {
    for (physics, scheme) in [("euler", "rusanov"), ("euler", "fd4"), ("ccz4", "fd4")] {
        let sizes: &[u16] = if physics == "ccz4" { &[6] } else { &[3, 6, 16] };
        for &p in sizes {
            let kernel = kernel(physics, scheme, 3, p, Plan::Fused);
            for name in candidates(&kernel, 232_448, true) {
                let schedule = Schedule::parse(&name).unwrap();
                let layouts = Layouts::resident(&kernel, &schedule);
                let program = gpu::emit(&kernel, &schedule, &layouts, Dialect::Cuda).unwrap();
                for entry in &program.entries {
                    assert!(entry.shared <= 232_448, "{} by {name}: {entry:?}", kernel.name);
                }
            }
        }
    }
}
