//! Made-up results for tests of tables and plots: no device, no measurement, seeded.

use temblor_backend::{DeviceInfo, KernelTime, Nominal, Parameters, StreamPattern};
use temblor_physics::Arithmetic;

use crate::patches::PatchFigures;
use crate::results::{
    Accuracy, BoundaryName, Case, Counters, Device, Host, Kinds, Measured, Outcome, Peer, Results,
    Row, Run, SCHEMA, Start, Stream,
};

/// Splitmix64: enough to spread samples.
struct Noise(u64);

impl Noise {
    /// Uniform in [-1, 1).
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// Five values within a part `spread` of `value`.
    fn five(&mut self, value: f64, spread: f64) -> Vec<f64> {
        (0..5).map(|_| value * (1.0 + spread * self.next())).collect()
    }
}

/// What tells one made-up case from another.
struct Want<'a> {
    preset: &'a str,
    path: &'a str,
    variant: &'a str,
    n: usize,
    operator: &'a str,
    boundary: BoundaryName,
    start: Start,
    steps: Option<u32>,
    gpts: f64,
}

fn case(backend: &str, device: &str, want: &Want<'_>) -> Case {
    let layered = want.boundary == BoundaryName::Minimod;
    let named = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Case {
        preset: named(want.preset),
        path: want.path.into(),
        backend: backend.into(),
        device: device.into(),
        variant: want.variant.into(),
        parameters: Parameters::from([("rows".into(), 16)]),
        shape: [want.n; 3],
        spacing: [20.0; 3],
        vmax: 4500.0,
        operator: want.operator.into(),
        arithmetic: Arithmetic::F32,
        boundary: want.boundary,
        cells: if layered { 27 } else { 0 },
        start: want.start,
        steps: want.steps,
        sources: usize::from(layered),
        receivers: 0,
    }
}

fn measured(case: &Case, gpts: f64, roof: f64, noise: &mut Noise) -> Measured {
    let points = case.points() as f64;
    let steps = case.steps.unwrap_or(64);
    let second = points * f64::from(steps) / (gpts * 1e9);
    let accuracy = [(1, 1.0), (10, 4.0), (100, 11.0)].map(|(steps, grown)| {
        let unit = if case.operator == "direct-8" { 1.1e-7 } else { 2.3e-3 };
        let bound = (case.operator == "direct-8").then_some(1e-5);
        Accuracy { steps, l2: unit * grown, linf: 1.7 * unit * grown, bound }
    });
    Measured {
        steps,
        seconds: noise.five(second, 0.01),
        footprint: 12 * case.points() + 4_000_000,
        bytes_per_point: 16.0,
        flops_per_point: 33.0,
        least_bytes_per_step: points * if case.cells > 0 { 17.5 } else { 16.0 },
        roof_elements: case.points(),
        roof_bandwidth: Some(roof),
        checksum: "9ae0daaf".into(),
        twin: [45, 37, 53],
        accuracy: accuracy.to_vec(),
        digit_products: None,
        patch: None,
        kernels: Vec::new(),
        counters: Vec::new(),
        histogram: Vec::new(),
    }
}

fn by_kernel(measured: &mut Measured, points: u64, gpts: f64, noise: &mut Noise) {
    let layers = points / 5;
    for (name, points, bytes, flops, part) in
        [("interior", points - layers, 16.0, 33.0, 1.0), ("layers", layers, 24.0, 61.0, 0.55)]
    {
        measured.kernels.push(KernelTime {
            name: name.into(),
            points,
            bytes_per_step: bytes * points as f64,
            flops_per_step: flops * points as f64,
            seconds: noise.five(points as f64 / (gpts * part * 1e9), 0.02),
        });
    }
    let counted = |kernel: &str, part: f64| Counters {
        kernel: kernel.into(),
        tool: "sample profiler".into(),
        milliseconds: Some(1.8 * part),
        dram_read: Some(6.4e9 * part),
        dram_written: Some(2.0e9 * part),
        l2_read: Some(1.9e10 * part),
        l2_to_sm: Some(2.4e10 * part),
        l1_read: Some(3.3e10 * part),
        l2_hit: Some(0.66),
        l1_hit: Some(0.41),
    };
    measured.counters = vec![counted("interior", 1.0), counted("layers", 0.4)];
}

fn kinds() -> Vec<Kinds> {
    (0..=20_u32)
        .map(|n| {
            let filled = (f64::from(n) / 14.0).powi(3).min(1.0);
            let denormal = 0.3 * filled * (1.0 - filled);
            let normal = filled - denormal;
            let zero = 1.0 - normal - denormal;
            Kinds { step: u64::from(100 * n), normal, denormal, zero, nan: 0.0 }
        })
        .collect()
}

fn streams(noise: &mut Noise, bandwidth: f64) -> Vec<Stream> {
    let mut streams = Vec::new();
    for pattern in StreamPattern::ALL {
        for power in 0..=7 {
            let fill = 0.5_f64.powi(power);
            // A machine that compresses constant data.
            let value = bandwidth * (1.0 + 0.12 * f64::from(power));
            let samples = noise.five(value, 0.005);
            streams.push(Stream { pattern, elements: 800_u64.pow(3), fill, samples });
        }
    }
    streams
}

fn device(backend: &str, name: &str, bandwidth: f64, noise: &mut Noise) -> Device {
    Device {
        info: DeviceInfo {
            backend: backend.into(),
            name: name.into(),
            arch: "sample_90".into(),
            memory: 140 << 30,
            driver: "1.2.3".into(),
            units: 132,
        },
        kernels: "0123abcd".into(),
        nominal: Nominal { bandwidth: Some(1.15 * bandwidth), flops: Some(6.0e13) },
        streams: streams(noise, bandwidth),
        flops: noise.five(5.6e13, 0.01),
        given_bandwidth: None,
        why_no_roof: None,
    }
}

fn run(devices: Vec<Device>, day: u32) -> Run {
    Run {
        command: "temblor bench --preset minimod --by-kernel --json sample.json".into(),
        date: format!("2026-11-{day:02}T10:00:00Z"),
        program: vec![("version".into(), "0.1.0".into()), ("commit".into(), "sample".into())],
        host: Host {
            processor: "Sample host processor".into(),
            threads: 16,
            memory: 128 << 30,
            system: "Sample Linux 6".into(),
        },
        devices,
        peers: Vec::new(),
        complete: true,
    }
}

/// A made-up accelerator, by its seed: both presets, by kernel, counters, kinds of values.
#[must_use]
pub fn gpu(seed: u32) -> Results {
    let noise = &mut Noise(u64::from(seed));
    let (backend, name, bandwidth) = ("cuda", "Sample GPU A", 4.4e12);
    let devices = vec![device(backend, name, bandwidth, noise)];
    let mut results = Results { schema: SCHEMA, runs: vec![run(devices, seed)], rows: Vec::new() };
    let mut add = |want: &Want<'_>, detailed: bool| {
        let case = case(backend, name, want);
        let mut measured = measured(&case, want.gpts, bandwidth, noise);
        if detailed {
            by_kernel(&mut measured, case.points(), want.gpts, noise);
            measured.histogram = kinds();
        }
        let outcome = Outcome::Measured(Box::new(measured));
        results.rows.push(Row { run: 0, case, outcome });
    };
    let base = Want {
        preset: "minimod",
        path: "",
        variant: "wide",
        n: 800,
        operator: "direct-8",
        boundary: BoundaryName::Minimod,
        start: Start::Zero,
        steps: Some(1000),
        gpts: 210.0,
    };
    for (variant, gpts) in [("wide", 206.0), ("tma", 180.0)] {
        for (start, more) in [(Start::Zero, 4.0), (Start::Random, 0.0)] {
            for (n, steps) in [1000, 2000, 4000].into_iter().enumerate() {
                let gpts = gpts + more - n as f64;
                let want = Want { variant, start, steps: Some(steps), gpts, ..base };
                add(&want, steps == 1000 && start == Start::Zero);
            }
        }
    }
    let free = Want {
        preset: "libxstream",
        path: "FP32 direct",
        boundary: BoundaryName::Zero,
        start: Start::Random,
        steps: None,
        gpts: 240.0,
        ..base
    };
    add(&free, false);
    let compact = Want { path: "FP32 compact", operator: "compact-fit-r3", gpts: 262.0, ..free };
    add(&compact, false);
    for n in (100..=700).step_by(100) {
        for (variant, factor) in [("wide", 1.0), ("tma", 0.92), ("baseline", 0.5)] {
            let gpts = factor * 240.0 * (1.0 - (-(n as f64) / 160.0).exp());
            add(&Want { preset: "", path: "", variant, n, gpts, ..free }, false);
        }
    }
    let mut refused = |want: &Want<'_>, outcome: Outcome| {
        results.rows.push(Row { run: 0, case: case(backend, name, want), outcome });
    };
    let why = "needs 170 GiB, 139 GiB are free: use a smaller size".to_owned();
    refused(&Want { preset: "", path: "", n: 2400, ..free }, Outcome::Skipped { why });
    let why = "relative L2 after 10 steps is 3.1e-2, above its bound 1.0e-5".to_owned();
    refused(&Want { preset: "", path: "", variant: "fused2", ..free }, Outcome::Failed { why });
    let why = "there are no patch kernels in this build".to_owned();
    let patch = Want {
        preset: "dslhype",
        path: "Euler FV",
        variant: "patch",
        n: 3,
        operator: "euler-fv-rusanov-k8694",
        ..free
    };
    refused(&patch, Outcome::Skipped { why });
    results.runs[0].peers.push(Peer {
        name: "sample peer 1.0".into(),
        device: name.into(),
        shape: [800; 3],
        boundary: BoundaryName::Zero,
        gpts: noise.five(60.0, 0.01),
        command: "python peer.py".into(),
    });
    results
}

/// A made-up processor with two backends and fewer steps than asked for.
#[must_use]
pub fn cpu() -> Results {
    let noise = &mut Noise(7);
    let (name, bandwidth) = ("Sample(R) Xeon(R) Q", 2.1e10);
    let mut reference = device("cpu-ref", name, bandwidth, noise);
    (reference.streams, reference.flops) = (Vec::new(), Vec::new());
    reference.nominal = Nominal::default();
    let mut tuned = device("cpu", name, bandwidth, noise);
    (tuned.nominal, tuned.flops) = (Nominal::default(), noise.five(1.5e11, 0.01));
    let mut results =
        Results { schema: SCHEMA, runs: vec![run(vec![tuned, reference], 3)], rows: Vec::new() };
    for start in [Start::Zero, Start::Random] {
        let want = Want {
            preset: "minimod",
            path: "",
            variant: "blocked",
            n: 800,
            operator: "direct-8",
            boundary: BoundaryName::Minimod,
            start,
            steps: Some(1000),
            gpts: 0.9,
        };
        let case = case("cpu", name, &want);
        let mut measured = measured(&case, want.gpts, bandwidth, noise);
        measured.steps = 20;
        for second in &mut measured.seconds {
            *second *= 20.0 / 1000.0;
        }
        let outcome = Outcome::Measured(Box::new(measured));
        results.rows.push(Row { run: 0, case, outcome });
    }
    results
}

/// Nothing measured: a run that was stopped at once.
#[must_use]
pub fn empty() -> Results {
    let mut run = run(Vec::new(), 4);
    run.complete = false;
    Results { schema: SCHEMA, runs: vec![run], rows: Vec::new() }
}

/// Figures of `patches` patches whose calls from the host take `total`, s.
#[must_use]
pub fn patch_figures(patches: u32, total: f64) -> PatchFigures {
    PatchFigures {
        patches,
        total: vec![total],
        made_by: "made up".into(),
        note: None,
        registers: None,
        spills: None,
        occupancy: None,
    }
}
