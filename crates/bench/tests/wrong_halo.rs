//! A kernel that is fast and wrong gets no rate: a naive backend whose tiles read their halo one
//! plane too far, beside the same backend without that mistake.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::cast_possible_truncation, reason = "the kernel computes in single precision")]

use std::io::{Read, Write};
use std::ops::Range;

use ndarray::{Array3, ArrayView3, ArrayViewMut3, Zip, s};
use temblor_backend::{
    Backend, Capabilities, DeviceInfo, Error, Field, Footprint, Health, HostArray, HostView,
    HostViewMut, PlanOptions, Propagator, ReceiverTable, Region, Result, SourceTable, Ticket,
    Traces, Variant,
};
use temblor_bench::matrix::{self, Subject, Variants};
use temblor_bench::measure::{self, Settings, Sink};
use temblor_bench::preset::Preset;
use temblor_bench::results::{Outcome, Row};
use temblor_bench::roofs::RoofOptions;
use temblor_physics::{Arithmetic, BoundaryKind, Equation, WaveProblem};

/// Planes of a tile along x.
const TILE: usize = 16;

/// Zeros around p: the radius and one plane more, which the wrong halo reads.
const PAD: usize = 5;

/// Plain loops over tiles along x, with nothing beyond the grid.
struct Naive {
    device: DeviceInfo,
    capabilities: Capabilities,
    /// How many planes beyond the right ones a tile reads above its end.
    slip: usize,
}

impl Naive {
    fn new(slip: usize) -> Self {
        let device = DeviceInfo {
            backend: "naive".into(),
            name: "loops".into(),
            arch: "any".into(),
            memory: 1 << 30,
            driver: "none".into(),
            units: 1,
        };
        let capabilities = Capabilities::new(
            vec![Equation::AcousticIso],
            vec![Arithmetic::F32],
            vec![BoundaryKind::Zero],
            (2, 16),
            vec!["tiles".into()],
        );
        Self { device, capabilities, slip }
    }
}

impl Backend for Naive {
    fn device(&self) -> &DeviceInfo {
        &self.device
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn variants(&self, _: &WaveProblem) -> Result<Vec<Variant>> {
        Ok(vec![Variant::new("tiles", "tiles along x", 16.0, 33.0, 1)])
    }

    fn footprint(&self, problem: &WaveProblem, _: &PlanOptions) -> Result<Footprint> {
        Ok(Footprint::default().with("fields", 12 * problem.grid.points()))
    }

    fn propagator(&self, problem: &WaveProblem, _: &PlanOptions) -> Result<Box<dyn Propagator>> {
        let [nx, ny, nz] = problem.grid.shape;
        let field = || Array3::zeros((nx, ny, nz));
        let padded = problem.grid.shape.map(|n| n + 2 * PAD);
        Ok(Box::new(Plan {
            problem: problem.clone(),
            variant: self.variants(problem)?.remove(0),
            slip: self.slip,
            p: Array3::zeros(padded),
            previous: field(),
            c2dt2: field(),
            sources: SourceTable::none(),
            step: 0,
        }))
    }
}

struct Plan {
    problem: WaveProblem,
    variant: Variant,
    slip: usize,
    /// With zeros around it.
    p: Array3<f32>,
    previous: Array3<f32>,
    c2dt2: Array3<f32>,
    sources: SourceTable,
    step: usize,
}

impl Plan {
    fn one_step(&mut self) {
        let [nx, ny, nz] = self.problem.grid.shape;
        let weights: Vec<f32> =
            self.problem.operator.second_derivative().iter().map(|&w| w as f32).collect();
        let inverse = (1.0 / self.problem.grid.spacing[0].powi(2)) as f32;
        let p = self.p.as_slice().unwrap();
        let (along_y, along_x) = (nz + 2 * PAD, (ny + 2 * PAD) * (nz + 2 * PAD));
        let mut next = Array3::<f32>::zeros((nx, ny, nz));
        Zip::indexed(&mut next).and(&self.previous).and(&self.c2dt2).for_each(
            |(i, j, k), next, previous, c2dt2| {
                let at = (i + PAD) * along_x + (j + PAD) * along_y + k + PAD;
                let inside = (i / TILE + 1) * TILE - i;
                let mut sum = 3.0 * weights[0] * p[at];
                for (r, weight) in weights.iter().enumerate().skip(1) {
                    let above = if r < inside { r } else { r + self.slip };
                    let x = p[at - r * along_x] + p[at + above * along_x];
                    let y = p[at - r * along_y] + p[at + r * along_y];
                    sum += weight * (x + y + p[at - r] + p[at + r]);
                }
                *next = 2.0 * p[at] - previous + c2dt2 * inverse * sum;
            },
        );
        for (n, point) in self.sources.points.iter().enumerate() {
            let amplitude = self.sources.amplitudes.get((self.step, n)).copied().unwrap_or(0.0);
            for (node, weight) in point.nodes() {
                next[node] += self.c2dt2[node] * (weight * amplitude) as f32;
            }
        }
        self.previous = self.inside(0..nx).to_owned();
        self.inside_mut(0..nx).assign(&next);
        self.step += 1;
    }

    /// Planes of p without the zeros around it.
    fn inside(&self, planes: Range<usize>) -> ArrayView3<'_, f32> {
        let [_, ny, nz] = self.problem.grid.shape;
        let planes = PAD + planes.start..PAD + planes.end;
        self.p.slice(s![planes, PAD..PAD + ny, PAD..PAD + nz])
    }

    fn inside_mut(&mut self, planes: Range<usize>) -> ArrayViewMut3<'_, f32> {
        let [_, ny, nz] = self.problem.grid.shape;
        let planes = PAD + planes.start..PAD + planes.end;
        self.p.slice_mut(s![planes, PAD..PAD + ny, PAD..PAD + nz])
    }

    fn planes(region: Region) -> Range<usize> {
        region.start[0]..region.start[0] + region.shape[0]
    }
}

fn unsupported<T>() -> Result<T> {
    Err(Error::Unsupported { backend: "naive".into(), what: "this".into() })
}

impl Propagator for Plan {
    fn variant(&self) -> &Variant {
        &self.variant
    }

    fn upload(&mut self, field: Field, region: Region, host: HostView<'_>) -> Result<()> {
        let HostView::F32(host) = host else { return unsupported() };
        let dt = self.problem.dt as f32;
        let planes = Self::planes(region);
        match field {
            Field::WaveSpeed => {
                let mut target = self.c2dt2.slice_mut(s![planes, .., ..]);
                target.assign(&host.mapv(|c| (c * dt).powi(2)));
            }
            Field::Pressure => self.inside_mut(planes).assign(&host),
            _ => self.previous.slice_mut(s![planes, .., ..]).assign(&host),
        }
        Ok(())
    }

    fn download(&mut self, _: Field, region: Region, host: HostViewMut<'_>) -> Result<()> {
        let part = self.inside(Self::planes(region));
        match host {
            HostViewMut::F32(mut host) => host.assign(&part),
            HostViewMut::F64(mut host) => host.assign(&part.mapv(f64::from)),
        }
        Ok(())
    }

    fn set_sources(&mut self, sources: &SourceTable) -> Result<()> {
        self.sources = sources.clone();
        Ok(())
    }

    fn advance(&mut self, steps: u32) -> Result<()> {
        (0..steps).for_each(|_| self.one_step());
        Ok(())
    }

    fn step(&self) -> u64 {
        self.step as u64
    }

    fn health(&mut self) -> Result<Health> {
        let largest = self.p.iter().fold(0.0, |m: f64, v| m.max(f64::from(v.abs())));
        let step = self.step();
        Ok(Health { step, largest, largest_in_layers: 0.0, first_bad: None })
    }

    fn synchronize(&mut self) -> Result<()> {
        Ok(())
    }

    fn snapshot(&mut self, _: Field, _: Region) -> Result<Ticket> {
        unsupported()
    }

    fn wait(&mut self, _: Ticket) -> Result<HostArray> {
        unsupported()
    }

    fn set_receivers(&mut self, _: &ReceiverTable) -> Result<()> {
        unsupported()
    }

    fn traces(&mut self) -> Result<Traces> {
        unsupported()
    }

    fn save(&mut self, _: &mut dyn Write) -> Result<()> {
        unsupported()
    }

    fn restore(&mut self, _: &mut dyn Read) -> Result<()> {
        unsupported()
    }

    fn reset(&mut self) -> Result<()> {
        self.step = 0;
        self.p.fill(0.0);
        self.previous.fill(0.0);
        Ok(())
    }
}

struct Rows(Vec<Row>);

impl Sink for Rows {
    fn stage(&mut self, _: &str) {}

    fn row(&mut self, row: Row) {
        self.0.push(row);
    }
}

/// The outcome of one small row on the naive backend.
fn outcome(slip: usize) -> Outcome {
    let preset = Preset::usual([20, 21, 22]);
    let subjects = [Subject { backend: Box::new(Naive::new(slip)), on_host: true }];
    let planned = matrix::build(&preset, &subjects, &Variants::Preferred);
    let settings = Settings {
        seconds: 0.01,
        warm_up: 0.0,
        repeats: 2,
        timeout: None,
        host_steps: None,
        roof: RoofOptions { samples: 1, seconds: 0.01, fill_sweep: false, given: None },
        by_kernel: false,
        histogram: None,
        counters: false,
        peers: Vec::new(),
    };
    let mut rows = Rows(Vec::new());
    assert!(measure::run(&planned, &subjects, &[], &settings, &|| false, &mut rows));
    assert_eq!(rows.0.len(), 1);
    rows.0.remove(0).outcome
}

#[test]
fn a_halo_off_by_one_gets_no_rate_but_the_reason_with_both_values() {
    let Outcome::Failed { why } = outcome(1) else { panic!("it was not noticed") };
    assert!(why.contains("wrong results") && why.contains("after 1 step"), "{why}");
    // 2 sqrt(2 x 4 x 3 + 8) 2^-24.
    assert!(why.contains("bound 6.74e-7"), "{why}");
}

#[test]
fn the_same_kernel_with_the_right_halo_gets_one() {
    let outcome = outcome(0);
    let measured = outcome.measured().unwrap_or_else(|| panic!("{outcome:?}"));
    assert_eq!(measured.seconds.len(), 2);
    assert!(measured.gpts(20 * 21 * 22) > 0.0);
    for accuracy in &measured.accuracy {
        // Rounding shows, and stays below its bound.
        assert!(accuracy.l2 > 1e-9 && accuracy.l2 < accuracy.bound.unwrap(), "{accuracy:?}");
    }
}
