//! Rates of patch kernels on a card, by schedule, beside the measured copy bandwidth.
//!
//! `cargo run --release -p temblor-cuda --example patch_rates -- [parts of cases' names, by commas]
//! [schedule ...] [--compile-only] [--no-apply] [--only-apply] [--memory=part of a name]
//! [--results=WAY,WAY...] [--hand-out]`. Kernels are compiled first, in parallel, into the user's cache
//! (`XDG_CACHE_HOME`); `--compile-only` stops there and needs no card. Data are random and valid, far
//! larger than the second-level cache; times are those of device events, median of ten; a rate counts
//! voxels of the interiors. `roof` is the copy bandwidth over [`Kernel::least_bytes`].
//!
//! A way of `--results` is how results of small chunks anywhere in page-locked memory cross, measured in turns:
//! `kernel`, or `host` with `:threads=N`, `:staging=MIB` and `:gaps=N` behind it; see [`patch::Crossings`].
//! `--hand-out` measures how fast the host hands results out, without a card, and ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use temblor_backend::{
    Backend, Cell, HostMemory, PatchKernel, PatchOptions, Result, StreamPattern, StreamRequest,
};
use temblor_cuda::{CudaBackend, patch};
use temblor_patch::emit::gpu::candidates;
use temblor_patch::{Kernel, Output, Physics, Plan, Request, Scheme, lower};

struct Case {
    physics: &'static str,
    scheme: &'static str,
    cells: u16,
    /// Voxels in all, a power of two.
    log2: u32,
}

const CASES: [Case; 11] = [
    Case { physics: "euler", scheme: "rusanov", cells: 3, log2: 20 },
    Case { physics: "euler", scheme: "rusanov", cells: 6, log2: 21 },
    Case { physics: "euler", scheme: "rusanov", cells: 16, log2: 22 },
    Case { physics: "euler", scheme: "fd4", cells: 3, log2: 19 },
    Case { physics: "euler", scheme: "fd4", cells: 6, log2: 20 },
    Case { physics: "euler", scheme: "fd4", cells: 16, log2: 21 },
    Case { physics: "ccz4", scheme: "rusanov", cells: 3, log2: 17 },
    Case { physics: "ccz4", scheme: "rusanov", cells: 6, log2: 18 },
    Case { physics: "ccz4", scheme: "fd4", cells: 3, log2: 17 },
    Case { physics: "ccz4", scheme: "fd4", cells: 6, log2: 18 },
    Case { physics: "ccz4", scheme: "fd4", cells: 16, log2: 19 },
];

fn kernel(case: &Case, plan: Plan) -> Kernel {
    let physics = Arc::new(Physics::shipped(case.physics).expect("it ships"));
    let scheme = Scheme::shipped(case.scheme).expect("it ships");
    let integers = if case.physics == "ccz4" {
        vec![("lapse".into(), 1), ("s".into(), 1), ("bs".into(), 1)]
    } else {
        Vec::new()
    };
    let request = Request::new(3, case.cells).with_plan(plan).with_integers(integers);
    lower(&scheme, &physics, &request).expect("shipped physics and schemes go together")
}

/// A chunk near rest.
fn chunk(kernel: &Kernel, seed: u32) -> Vec<f64> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12345);
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / 16_777_216.0 - 0.5
    };
    let rest: &[(usize, f64)] = match kernel.physics.name.as_str() {
        "euler" => &[(0, 1.0), (4, 3.0)],
        _ => &[(0, 1.0), (3, 1.0), (5, 1.0), (16, 1.0), (54, 1.0)],
    };
    let width = kernel.shape.width();
    let mut values: Vec<f64> = (0..kernel.shape.input_len()).map(|_| 0.1 * noise()).collect();
    for voxel in values.chunks_exact_mut(width) {
        rest.iter().for_each(|&(unknown, value)| voxel[unknown] += value);
    }
    values
}

fn cells(count: usize) -> Vec<Cell> {
    let cell = Cell { centre: [0.0; 3], size: [1.0; 3], time: 0.0, time_step: 1e-4 };
    vec![cell; count]
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

struct Job {
    kernel: Arc<Kernel>,
    schedule: String,
    chunks: bool,
}

fn compile(jobs: &[Job]) {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Job { kernel, schedule, chunks } = job;
                    let done = patch::compile_ahead(kernel, schedule, 90, true, *chunks);
                    if let Err(error) = done {
                        let source = std::error::Error::source(&error).map(ToString::to_string);
                        println!(
                            "{} {schedule}: {error}: {}",
                            kernel.name,
                            source.unwrap_or_default()
                        );
                    }
                }
            });
        }
    });
    println!("compiled {} programs in {:.1} s", jobs.len(), start.elapsed().as_secs_f64());
}

/// Median time of an evaluation of all patches, and the report's columns.
fn measure(
    backend: &CudaBackend,
    kernel: &Kernel,
    schedule: &str,
    patches: usize,
) -> Result<(f64, String)> {
    let options = PatchOptions::new(true).with_schedule(schedule);
    let made = backend.patch_kernel(kernel, &options)?;
    let (states, rates) = match kernel.shape.output {
        Output::Step => (2, 0),
        Output::Rate => (1, 1),
    };
    let mut set = made.patches(&cells(patches), states, rates)?;
    let pool: Vec<Vec<f64>> = (0..8).map(|seed| chunk(kernel, seed)).collect();
    for patch in 0..patches {
        set.upload(0, patch, &pool[patch % pool.len()])?;
    }
    let into = states - 1;
    set.time(0, into, 2)?;
    let seconds = median(set.time(0, into, 10)?);
    let report = made.report();
    let number = |value: Option<u32>| value.map_or_else(|| "-".into(), |v| v.to_string());
    let columns = format!(
        "{:>4} {:>6} {:>7} {:>4.0}% {:>6.0} {:>6.0}",
        number(report.registers),
        number(report.spills),
        number(report.shared),
        100.0 * report.occupancy.unwrap_or(0.0),
        report.flops,
        report.bytes
    );
    Ok((seconds, columns))
}

/// Where the chunks of a call lie: in pageable memory, or in page-locked memory in another order than they
/// are given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    Pageable,
    /// With gaps of a value.
    Scattered,
    /// With gaps of an eighth of a chunk.
    Apart,
    /// With gaps of any size up to an eighth of a chunk, inputs and outputs in orders of their own.
    Anywhere,
    /// In order, one after the other.
    Adjacent,
}

/// Places of chunks, and all that they take.
fn places(count: usize, len: usize, memory: Memory) -> (Vec<usize>, usize) {
    let (mut order, mut state): (Vec<usize>, u32) = ((0..count).collect(), 12345);
    if memory == Memory::Anywhere {
        state ^= u32::try_from(len).unwrap_or(0);
    }
    let mut below = |most: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 4) as usize % most
    };
    if !matches!(memory, Memory::Pageable | Memory::Adjacent) {
        for k in (1..count).rev() {
            order.swap(k, below(k + 1));
        }
    }
    let mut gap = || match memory {
        Memory::Scattered => 1,
        Memory::Apart => len / 8 + 1,
        Memory::Anywhere => below(len / 8 + 1),
        Memory::Pageable | Memory::Adjacent => 0,
    };
    let (mut places, mut end) = (vec![0; count], 0);
    for k in order {
        places[k] = end;
        end += len + gap();
    }
    (places, end)
}

/// Chunks of memory at places in any order.
fn split<'a>(mut memory: &'a mut [f64], places: &[usize], len: usize) -> Vec<&'a mut [f64]> {
    let mut order: Vec<(usize, usize)> = places.iter().copied().zip(0..).collect();
    order.sort_unstable();
    let mut chunks: Vec<(usize, &mut [f64])> = Vec::with_capacity(places.len());
    let mut start = 0;
    for (place, k) in order {
        let (chunk, rest) = memory.split_at_mut(place - start + len);
        chunks.push((k, &mut chunk[place - start..]));
        (memory, start) = (rest, place + len);
    }
    chunks.sort_unstable_by_key(|(k, _)| *k);
    chunks.into_iter().map(|(_, chunk)| chunk).collect()
}

/// A way of results by its name.
fn crossings(name: &str) -> std::result::Result<patch::Crossings, String> {
    let mut words = name.split(':');
    let mut found = patch::Crossings::default();
    found.handed = match words.next() {
        Some("kernel") => 0,
        Some("host") => usize::MAX,
        Some("default") => found.handed,
        _ => return Err(format!("`{name}` begins with neither `kernel` nor `host` nor `default`")),
    };
    for word in words {
        let number = |text: &str| text.parse().map_err(|error| format!("`{word}`: {error}"));
        match word.split_once('=').unwrap_or((word, "")) {
            ("threads", text) => found.threads = number(text)?,
            ("staging", text) => found.staging = number(text)? << 20,
            ("gaps", text) => found.gaps = number(text)?.max(1),
            _ => return Err(format!("`{name}` has an unknown `{word}`")),
        }
    }
    Ok(found)
}

/// Prints how fast threads of the host hand out results of Euler `rusanov` with 3 and 6 cells.
fn hand_out() {
    println!(
        "results handed out by the host, GB/s: bytes of a result, of a piece, pieces in a ring"
    );
    for (len, piece) in [(5 * 27, 2 << 20), (5 * 216, 4 << 20)] {
        for ring in [6, 16] {
            let rate = |threads: usize| {
                let rate = patch::hand_out_rate(len, (piece, ring), threads);
                format!("{:.1} by {threads}", 1e-9 * rate)
            };
            let rates = [1, 2, 4, 6, 8, 12].map(rate).join(", ");
            println!("{} B, {} MiB, {ring}: {rates}", 8 * len, piece >> 20);
        }
    }
}

fn apply(
    backend: &CudaBackend,
    case: &Case,
    copies: &mut patch::PinnedCopies,
    (wanted, ways): (&str, &[(String, patch::Crossings)]),
) -> Result<()> {
    let kernel = kernel(case, Plan::Fused);
    let lens = [kernel.shape.input_len(), kernel.shape.output_len()];
    let count = ((1usize << 29) / (8 * lens[0])).max(1);
    let mut made = backend.patch_kernel(&kernel, &PatchOptions::new(true))?;
    let pool: Vec<Vec<f64>> = (0u32..64).map(|seed| chunk(&kernel, seed)).collect();
    let cells = cells(count);
    for (memory, name) in [
        (Memory::Pageable, "pageable"),
        (Memory::Scattered, "page-locked, scattered"),
        (Memory::Apart, "page-locked, scattered far apart"),
        (Memory::Anywhere, "page-locked, anywhere"),
        (Memory::Adjacent, "page-locked, adjacent"),
    ] {
        if !name.contains(wanted) {
            continue;
        }
        let [(from, all), (to, all_out)] = lens.map(|len| places(count, len, memory));
        let get = |values: usize| -> Result<Box<dyn HostMemory>> {
            match memory {
                Memory::Pageable => Ok(Box::new(vec![0.0; values])),
                _ => made.host_memory(values),
            }
        };
        let (mut source, mut target) = (get(all)?, get(all_out)?);
        for (place, chunk) in from.iter().zip(pool.iter().cycle()) {
            source.values_mut()[*place..place + lens[0]].copy_from_slice(chunk);
        }
        target.values_mut().fill(1.0);
        let inputs: Vec<&[f64]> =
            from.iter().map(|&at| &source.values()[at..at + lens[0]]).collect();
        let mut outputs = split(target.values_mut(), &to, lens[1]);
        let mut once = |made: &mut dyn PatchKernel| {
            let start = Instant::now();
            made.apply(&cells, &inputs, &mut outputs, &mut [])?;
            Ok(start.elapsed().as_secs_f64())
        };
        // In turns; the first round makes buffers.
        let mut times = vec![Vec::new(); ways.len()];
        for round in 0..8 {
            for ((_, crossings), times) in ways.iter().zip(&mut times) {
                backend.set_crossings(*crossings);
                let seconds: Result<f64> = once(made.as_mut());
                times.extend((round > 0).then_some(seconds?));
            }
        }
        let ideal = copies.time(lens.map(|len| 8 * len * count))?;
        for ((way, _), times) in ways.iter().zip(times) {
            print_apply(&kernel, &format!("{name}, {way}"), count, median(times), ideal);
        }
    }
    Ok(())
}

/// `ideal` is the time in which pinned copies of the same bytes cross, both ways at once, s.
fn print_apply(kernel: &Kernel, name: &str, count: usize, seconds: f64, ideal: f64) {
    let shape = &kernel.shape;
    let bytes = |len: usize| 8.0 * (len * count) as f64;
    let (to, from) = (bytes(shape.input_len()), bytes(shape.output_len()));
    println!(
        "apply {}, {name}: {count} chunks, {:.1} GB/s in and {:.1} GB/s out, {:.0}% of the pinned \
         copies, {:.4} Gcell/s",
        kernel.name,
        to / seconds / 1e9,
        from / seconds / 1e9,
        100.0 * ideal / seconds,
        1e-9 * (count * shape.voxels()) as f64 / seconds
    );
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let flag = |name: &str| arguments.iter().any(|argument| argument == name);
    let value = |name: &str| {
        let given = arguments.iter().filter_map(|argument| argument.strip_prefix(name));
        given.filter_map(|rest| rest.strip_prefix('=')).next_back()
    };
    if flag("--hand-out") {
        hand_out();
        return Ok(());
    }
    let ways = value("--results").unwrap_or("default").split(',');
    let ways = ways.map(|way| Ok((way.to_owned(), crossings(way)?)));
    let ways: Vec<_> = ways.collect::<std::result::Result<_, String>>()?;
    let words: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let wanted = words.first().map_or("", |word| word.as_str());
    let cases: Vec<(&Case, Arc<Kernel>, Arc<Kernel>)> = CASES
        .iter()
        .map(|case| {
            (case, Arc::new(kernel(case, Plan::Fused)), Arc::new(kernel(case, Plan::Unfused)))
        })
        .filter(|(_, fused, _)| wanted.split(',').any(|part| fused.name.contains(part)))
        .collect();
    // What an H200 gives a block; a card with less refuses what does not fit.
    let list = |fused: &Kernel| -> Vec<String> {
        let named: Vec<String> = words.iter().skip(1).map(|&word| word.clone()).collect();
        if named.is_empty() { candidates(fused, 232_448, true) } else { named }
    };
    let mut jobs = Vec::new();
    for (_, fused, unfused) in &cases {
        let most = if flag("--only-apply") { 1 } else { usize::MAX };
        for (n, schedule) in list(fused).into_iter().take(most).enumerate() {
            jobs.push(Job { kernel: fused.clone(), schedule, chunks: n == 0 });
        }
        let schedule = "unfused".to_owned();
        jobs.push(Job { kernel: unfused.clone(), schedule, chunks: false });
    }
    // The longest first.
    jobs.sort_by_key(|job| std::cmp::Reverse(job.kernel.graph.nodes().len()));
    compile(&jobs);
    if flag("--compile-only") {
        return Ok(());
    }
    let backend = CudaBackend::new(0)?;
    let device = backend.device();
    println!("{} ({}, {})", device.name, device.arch, device.driver);
    let request = StreamRequest {
        pattern: StreamPattern::Copy,
        elements: 1 << 29,
        fill: 1.0,
        samples: 5,
        seconds: 0.1,
    };
    let copy = match backend.stream(&request) {
        Ok(rates) => median(rates),
        Err(error) => {
            println!("no copy bandwidth ({error}); 4.3 TB/s is assumed");
            4.3e12
        }
    };
    println!("device copy {:.2} TB/s", copy / 1e12);
    for (case, fused, unfused) in cases.iter().filter(|_| !flag("--only-apply")) {
        let voxels = fused.shape.voxels();
        let patches = (1usize << case.log2) / voxels;
        let rate = |seconds: f64| 1e-9 * (patches * voxels) as f64 / seconds;
        let chain = measure(&backend, unfused, "unfused", patches);
        let roof = 1e-9 * copy / fused.least_bytes();
        println!("\n{}: {patches} patches, roof {roof:.2} Gcell/s", fused.name);
        println!(
            "{:<26} {:>8} {:>6} {:>7} {:>4} {:>6} {:>7} {:>5} {:>6} {:>6}",
            "schedule",
            "Gcell/s",
            "roof",
            "/chain",
            "regs",
            "local",
            "shared",
            "occ",
            "flops",
            "bytes"
        );
        let chain = match chain {
            Ok((seconds, columns)) => {
                let share = 100.0 * rate(seconds) / roof;
                println!(
                    "{:<26} {:>8.3} {share:>5.1}% {:>7} {columns}",
                    "unfused",
                    rate(seconds),
                    1.0
                );
                seconds
            }
            Err(error) => {
                println!("unfused: {error}");
                f64::NAN
            }
        };
        for schedule in list(fused) {
            match measure(&backend, fused, &schedule, patches) {
                Ok((seconds, columns)) => println!(
                    "{schedule:<26} {:>8.3} {:>5.1}% {:>7.2} {columns}",
                    rate(seconds),
                    100.0 * rate(seconds) / roof,
                    chain / seconds
                ),
                Err(error) => {
                    let source = std::error::Error::source(&error).map(ToString::to_string);
                    println!("{schedule}: {error}: {}", source.unwrap_or_default());
                }
            }
        }
    }
    if !flag("--no-apply") {
        let mut copies = patch::PinnedCopies::new(0)?;
        let rates = copies.rates()?;
        println!(
            "\npinned copies: {:.1} GB/s to the card, {:.1} back, {:.1} each way at once",
            rates[0] / 1e9,
            rates[1] / 1e9,
            rates[2] / 1e9
        );
        for (case, ..) in &cases {
            apply(&backend, case, &mut copies, (value("--memory").unwrap_or(""), &ways))?;
        }
    }
    Ok(())
}
