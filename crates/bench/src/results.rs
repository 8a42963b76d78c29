//! The file of results: what was asked, on what, and what came out.
//!
//! JSON, one object; `--jsonl` writes the same objects one per line as they come, each with its kind.
//! Times are kept as samples, s, so that whoever reads the file can judge the spread.

use serde::{Deserialize, Serialize};
use temblor_backend::{DeviceInfo, KernelKind, KernelTime, Nominal, Parameters, StreamPattern};
use temblor_physics::Arithmetic;

pub use crate::patches::PatchFigures;

/// Version of the format.
pub const SCHEMA: u32 = 1;

/// All of one run, or of several merged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Version of the format, [`SCHEMA`].
    pub schema: u32,
    /// Runs that the rows are from: one, or those merged.
    pub runs: Vec<Run>,
    /// Rows in the order in which they were measured.
    pub rows: Vec<Row>,
}

/// One process that measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The command line.
    pub command: String,
    /// When it began, RFC 3339, UTC.
    pub date: String,
    /// Version, commit, compiler, target, profile, features of the program, by name.
    pub program: Vec<(String, String)>,
    /// The machine around the devices.
    pub host: Host,
    /// Devices, each with its roofs.
    pub devices: Vec<Device>,
    /// Peers that ran in the same minutes.
    #[serde(default)]
    pub peers: Vec<Peer>,
    /// False if it was stopped before all rows were measured.
    pub complete: bool,
}

/// The machine around the devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Processor as the system names it.
    pub processor: String,
    /// Threads that the process may run at once.
    pub threads: usize,
    /// Memory that the process may use, bytes.
    pub memory: u64,
    /// Operating system and its version.
    pub system: String,
}

/// A device and what it can do at most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// What it is.
    pub info: DeviceInfo,
    /// [`temblor_backend::Backend::kernels`].
    pub kernels: String,
    /// What the vendor or the driver says.
    pub nominal: Nominal,
    /// Measured traffic.
    pub streams: Vec<Stream>,
    /// Measured operations per second, one value per sample; empty where they are not measured.
    pub flops: Vec<f64>,
    /// Bandwidth that the user gave as the roof, B/s.
    #[serde(default)]
    pub given_bandwidth: Option<f64>,
    /// Why roofs are missing, where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_no_roof: Option<String>,
}

/// Measured traffic of one pattern.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// Pattern.
    pub pattern: StreamPattern,
    /// Elements of each of three arrays of f32.
    pub elements: u64,
    /// Part of the arrays that held random values; the rest held constants.
    pub fill: f64,
    /// B/s, one value per sample.
    pub samples: Vec<f64>,
}

/// A peer's rate on the same problem in the same minutes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// Name and version.
    pub name: String,
    /// Device that it ran on.
    pub device: String,
    /// Nodes along (x, y, z).
    pub shape: [usize; 3],
    /// Boundary, in [`Case::boundary`]'s words.
    pub boundary: BoundaryName,
    /// Gpts/s, one value per call.
    pub gpts: Vec<f64>,
    /// The command.
    pub command: String,
}

/// What a row measures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Preset that it is from, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Row of the seeds' tables that it stands for, in the preset's words, such as `FP32 direct`;
    /// empty outside presets.
    #[serde(default)]
    pub path: String,
    /// Backend id.
    pub backend: String,
    /// Device name.
    pub device: String,
    /// Variant.
    pub variant: String,
    /// All of the variant's parameters.
    #[serde(default)]
    pub parameters: Parameters,
    /// Nodes along (x, y, z), layers included.
    pub shape: [usize; 3],
    /// Spacing along (x, y, z), m.
    pub spacing: [f64; 3],
    /// Highest wave speed, m/s.
    pub vmax: f64,
    /// Space operator: `direct-8`, and later `compact-fit-r3` and others.
    pub operator: String,
    /// Storage and arithmetic.
    pub arithmetic: Arithmetic,
    /// Kind of boundary on all faces.
    pub boundary: BoundaryName,
    /// Cells of the absorbing layer on each face; 0 without one.
    pub cells: usize,
    /// What the fields hold at the start.
    pub start: Start,
    /// Steps that were asked for in one go, as the 1k, 2k and 4k of the Minimod table; `None` where
    /// steps are sized for a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// Point sources, each injecting at every step.
    pub sources: usize,
    /// Receivers, each recording at every step.
    pub receivers: usize,
}

impl Case {
    /// What two files are compared by: everything but preset, path and parameters, which a tuner may
    /// change.
    #[must_use]
    pub fn key(&self) -> String {
        let [nx, ny, nz] = self.shape;
        let steps = self.steps.map_or_else(String::new, |steps| format!(" {steps} steps"));
        format!(
            "{} {} {nx}x{ny}x{nz} {} {} {} {}{steps} {} sources {} receivers on {}",
            self.backend,
            self.variant,
            self.operator,
            arithmetic_name(self.arithmetic),
            self.boundary.name(),
            self.start,
            self.sources,
            self.receivers,
            self.device,
        )
    }

    /// Nodes, layers included.
    #[must_use]
    pub fn points(&self) -> u64 {
        self.shape.iter().map(|&n| n as u64).product()
    }
}

/// Name of an arithmetic as in files.
#[must_use]
pub fn arithmetic_name(arithmetic: Arithmetic) -> String {
    arithmetic.to_string()
}

/// Kind of boundary on all faces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BoundaryName {
    /// Zero beyond all faces.
    Zero,
    /// A free surface on top, zero elsewhere.
    Free,
    /// Minimod's layer on all faces.
    Minimod,
    /// C-PML on all faces.
    Cpml,
}

impl BoundaryName {
    /// All.
    pub const ALL: [Self; 4] = [Self::Zero, Self::Free, Self::Minimod, Self::Cpml];

    /// Name as in files and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zero => "zero",
            Self::Free => "free",
            Self::Minimod => "minimod",
            Self::Cpml => "cpml",
        }
    }
}

/// What the fields hold at the start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Start {
    /// Zeros: flatters machines that compress memory.
    Zero,
    /// Uniform random values.
    Random,
    /// A Gaussian bump in the middle.
    Gauss,
    /// Random values in the first part of the grid along x, zeros elsewhere.
    Fraction {
        /// Part that is random, 0 to 1.
        part: f64,
    },
}

impl std::fmt::Display for Start {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Zero => f.write_str("zero"),
            Self::Random => f.write_str("random"),
            Self::Gauss => f.write_str("gauss"),
            Self::Fraction { part } => write!(f, "{part}"),
        }
    }
}

/// A case and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Place of its run in [`Results::runs`].
    pub run: usize,
    /// What was asked.
    pub case: Case,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Outcome {
    /// It ran and its accuracy is within the bound.
    Measured(Box<Measured>),
    /// It was not run; says why: it does not fit, is not supported, ran out of time.
    Skipped {
        /// Reason.
        why: String,
    },
    /// It ran and failed, or its results are wrong: no rate.
    Failed {
        /// Reason, with both values where a bound was exceeded.
        why: String,
    },
}

impl Outcome {
    /// What was measured, if it was.
    #[must_use]
    pub fn measured(&self) -> Option<&Measured> {
        match self {
            Self::Measured(measured) => Some(measured),
            _ => None,
        }
    }
}

/// Figures of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Steps of each sample; of patch kernels the patches of an evaluation.
    pub steps: u32,
    /// Time of each sample, s, waited for until the device is done.
    pub seconds: Vec<f64>,
    /// Allocations of the plan, bytes.
    pub footprint: u64,
    /// Least traffic with main memory of the variant outside layers, bytes per point and step.
    pub bytes_per_point: f64,
    /// Operations outside layers, per point and step.
    pub flops_per_point: f64,
    /// Least traffic of a one-step method on the whole grid with its layers, bytes per step.
    pub least_bytes_per_step: f64,
    /// Elements of the arrays that the roof beside this row was measured with.
    pub roof_elements: u64,
    /// Roof beside this row, B/s: traffic of [`StreamPattern::Step`], median, or what the user gave.
    pub roof_bandwidth: Option<f64>,
    /// CRC-32 of the field after a fixed number of steps of the twin, hexadecimal: a change without
    /// an intended reason is a bug.
    pub checksum: String,
    /// Shape of the small twin that accuracy is measured on.
    pub twin: [usize; 3],
    /// Accuracy of the twin against `cpu-ref` in double precision.
    pub accuracy: Vec<Accuracy>,
    /// Products of INT8 digits per point and step, where there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digit_products: Option<f64>,
    /// What patch kernels alone have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<PatchFigures>,
    /// Time by kernel, if asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<KernelTime>,
    /// Counters, if asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<Counters>,
    /// Kinds of values by step, if asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<Kinds>,
}

/// Accuracy after some steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// Steps done.
    pub steps: u32,
    /// `||p - p_ref||_2 / ||p_ref||_2`.
    pub l2: f64,
    /// `max |p - p_ref| / max |p_ref|`.
    pub linf: f64,
    /// Largest `l2` that passes; none where the operator is another than the reference's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
}

/// What a profiler counted for one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Kernel.
    pub kernel: String,
    /// Profiler, or why there is none.
    pub tool: String,
    /// Time of one launch, ms.
    pub milliseconds: Option<f64>,
    /// Read from main memory per launch, bytes.
    pub dram_read: Option<f64>,
    /// Written to main memory per launch, bytes.
    pub dram_written: Option<f64>,
    /// Read through the second-level cache per launch, bytes.
    pub l2_read: Option<f64>,
    /// Between the second-level cache and the multiprocessors per launch, both ways, bytes.
    #[serde(default)]
    pub l2_to_sm: Option<f64>,
    /// Read through the first-level cache per launch, bytes.
    pub l1_read: Option<f64>,
    /// Hit rate of the second-level cache, 0 to 1.
    pub l2_hit: Option<f64>,
    /// Hit rate of the first-level cache, 0 to 1.
    pub l1_hit: Option<f64>,
}

/// Kinds of values in p at a step; parts of all nodes that add to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Kinds {
    /// Step.
    pub step: u64,
    /// Normal numbers.
    pub normal: f64,
    /// Denormal numbers.
    pub denormal: f64,
    /// Zeros.
    pub zero: f64,
    /// NaN and infinities.
    pub nan: f64,
}

/// Median of samples; NaN of none.
#[must_use]
pub fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[middle],
        _ => 0.5 * (sorted[middle - 1] + sorted[middle]),
    }
}

/// Half the distance between the quartiles of samples over their median: what "spread" means in all
/// tables; 0 of fewer than two.
#[must_use]
pub fn spread(samples: &[f64]) -> f64 {
    if samples.len() < 2 {
        return 0.0;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quantile = |part: f64| {
        let at = part * (sorted.len() - 1) as f64;
        let (low, weight) = (at.floor(), at.fract());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
        let low = low as usize;
        let high = (low + 1).min(sorted.len() - 1);
        sorted[low] * (1.0 - weight) + sorted[high] * weight
    };
    0.5 * (quantile(0.75) - quantile(0.25)) / median(samples)
}

impl Measured {
    /// Times of the kernels that step nodes: interior and layers, as the paper's Table IV and Figure 5
    /// have them. Walls, sources and receivers move next to nothing.
    pub fn stepping(&self) -> impl Iterator<Item = &KernelTime> {
        let stepping = [KernelKind::Interior, KernelKind::Layers].map(KernelKind::name);
        self.kernels.iter().filter(move |kernel| stepping.contains(&kernel.name.as_str()))
    }

    /// Points per second and 1e9, layers included: of the median sample.
    #[must_use]
    pub fn gpts(&self, points: u64) -> f64 {
        points as f64 * f64::from(self.steps) / median(&self.seconds) / 1e9
    }

    /// Traffic at the variant's own least bytes per point, B/s: what the device must have moved.
    #[must_use]
    pub fn bandwidth(&self, points: u64) -> f64 {
        1e9 * self.gpts(points) * self.bytes_per_point
    }

    /// Rate over that of a one-step method, which moves four values per point at the roof's bandwidth;
    /// more than 1 is possible for variants that fuse steps. A patch kernel has to move its own least
    /// bytes.
    #[must_use]
    pub fn of_roof(&self, case: &Case) -> Option<f64> {
        let bytes = match (case.arithmetic, &self.patch) {
            (_, Some(_)) => self.bytes_per_point,
            (Arithmetic::F64, None) => 32.0,
            _ => 16.0,
        };
        Some(1e9 * self.gpts(case.points()) * bytes / self.roof_bandwidth?)
    }

    /// The same with the least bytes of the layers.
    #[must_use]
    pub fn of_layered_roof(&self) -> Option<f64> {
        let bytes = f64::from(self.steps) * self.least_bytes_per_step;
        Some(bytes / median(&self.seconds) / self.roof_bandwidth?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_middle_two() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]).to_bits(), 2.5_f64.to_bits());
        assert_eq!(median(&[5.0, 1.0, 3.0]).to_bits(), 3.0_f64.to_bits());
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn a_row_that_moves_its_four_values_at_the_roofs_bandwidth_is_at_the_roof() {
        let results = crate::sample::gpu(1);
        let row = &results.rows[0];
        let mut case = row.case.clone();
        let mut measured = row.outcome.measured().unwrap().clone();
        for (arithmetic, bytes) in [(Arithmetic::F32, 16.0), (Arithmetic::F64, 32.0)] {
            case.arithmetic = arithmetic;
            let seconds = bytes * case.points() as f64 * f64::from(measured.steps) / 1e12;
            (measured.seconds, measured.roof_bandwidth) = (vec![seconds], Some(1e12));
            assert!((measured.of_roof(&case).unwrap() - 1.0).abs() < 1e-12, "{arithmetic:?}");
        }
    }

    #[test]
    fn the_spread_is_half_the_distance_of_the_quartiles() {
        // Quartiles of 1..=5 are 2 and 4.
        assert!((spread(&[5.0, 1.0, 4.0, 2.0, 3.0]) - 1.0 / 3.0).abs() < 1e-15);
        assert_eq!(spread(&[1.0]).to_bits(), 0.0_f64.to_bits());
    }
}
