//! What arithmetics err by over many steps, as the guide's table has it.
//!
//! Energy in a closed box near the CFL limit, a trace against the exact discrete Green's function, traces in
//! a layered model against FP32 with unrounded wave speeds, and what layers leave of a shot. The checks
//! are short forms of the same runs.

use std::sync::OnceLock;

use ndarray::Array3;
use temblor_backend::Backend;
use temblor_cpu::ReferenceBackend;
use temblor_physics::{
    Arithmetic, Boundaries, Boundary, Cpml, DigitKind, Face, Grid, Minimod, PointWeights,
    QuantisedOperator, WaveProblem, WavefieldStorage, Wavelet,
};

use super::{laplacian, offer};
use crate::physics::absorption::left_over;
use crate::physics::conservation::drift_near_the_limit;
use crate::physics::homogeneous::discrete_error;
use crate::physics::shot::{Shot, one_source, open_problem, relative_l2};
use crate::{CheckError, Outcome};

const SPACING: f64 = 10.0;
/// A step in FP32: some roundings.
const SINGLE: f64 = 4.0 * f32::EPSILON as f64;
const PEAK_HZ: f64 = 12.0;
/// Of the layered model, m/s.
pub(super) const SPEEDS: [f64; 2] = [1500.0, 4500.0];

/// Steps of each run, and nodes of the layered model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    /// In a closed box.
    pub drift: usize,
    /// In the layered model.
    pub traces: usize,
    /// Nodes of that along (x, y, z).
    pub model: [usize; 3],
    /// In boxes with layers on all faces.
    pub layers: usize,
}

impl Lengths {
    /// Those of the guide's table.
    pub const GUIDE: Self =
        Self { drift: 10_000, traces: 2000, model: [64, 60, 72], layers: 100_000 };
    /// Those of the checks.
    pub const SHORT: Self = Self { drift: 400, traces: 250, model: [38, 34, 44], layers: 1000 };
}

/// Errors of one arithmetic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    /// The arithmetic.
    pub arithmetic: Arithmetic,
    /// Of the Laplacian, relative root mean square: uniform data, waves of 8 cells.
    pub laplacian: [f64; 2],
    /// Of traces against the discrete Green's function, relative L2.
    pub greens: f64,
    /// Of the same traces against FP32.
    pub greens_single: f64,
    /// Largest relative drift of the energy at 0.95 of the CFL limit.
    pub drift: f64,
    /// Of traces in the layered model against FP32, relative L2.
    pub traces: f64,
    /// What C-PML and Minimod's layer leave of the largest pressure, after half of the steps and after all.
    pub left: [[f64; 2]; 2],
}

/// Traces in single precision by a backend's preferred variant, which others are compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    layered: Vec<f64>,
    greens: Vec<f64>,
}

/// Weights that an arithmetic computes with, whose energy it conserves.
fn weights(problem: &WaveProblem) -> Result<Vec<f64>, CheckError> {
    Ok(match problem.arithmetic {
        Arithmetic::Digits(digits) if digits.kind == DigitKind::Int8 => {
            QuantisedOperator::new(&problem.operator, digits.operator)?.weights()
        }
        _ => problem.operator.second_derivative(),
    })
}

/// A shot in five layers whose wave speeds no two-byte form holds, C-PML on all faces, 0.95 of the limit.
pub(super) fn layered(lengths: Lengths, arithmetic: Arithmetic) -> Result<Shot, CheckError> {
    let [nx, ny, nz] = lengths.model;
    let grid = Grid::new(lengths.model, [SPACING; 3], [0.0; 3])?;
    let mut problem = open_problem(grid, 8, SPEEDS[1], 0.95, arithmetic)?;
    let layer = Cpml { cells: 10, ..Cpml::for_wavelet(PEAK_HZ, SPEEDS[1]) };
    problem.boundaries = Boundaries::uniform(Boundary::Cpml(layer));
    let wavelet = Wavelet::ricker(PEAK_HZ);
    let mut point = PointWeights::on_node([nx / 2, ny / 2, 14]);
    // Pressures between 1 and 100, where halves are best.
    point.axes[0].weights[0] = 100.0;
    let speeds = [SPEEDS[0], 1873.3, 2614.7, 3391.9, SPEEDS[1]];
    let receivers = (12..nx - 12)
        .step_by(4)
        .flat_map(|i| [[i, ny / 2, 13], [i, ny / 2 - 5, nz - 13]].map(PointWeights::on_node));
    Ok(Shot {
        wave_speed: Array3::from_shape_fn(lengths.model, |(_, _, k)| speeds[5 * k / nz]),
        sources: one_source(point, wavelet.sampled(problem.dt, lengths.traces)),
        receivers: receivers.collect(),
        steps: lengths.traces,
        problem,
    })
}

/// What [`errors`] compares with.
///
/// # Errors
/// Those of the backend.
pub fn reference(backend: &dyn Backend, lengths: Lengths) -> Result<Reference, CheckError> {
    let shot = layered(lengths, Arithmetic::F32)?;
    let variant = backend.variants(&shot.problem)?[0].name.clone();
    Ok(Reference {
        layered: shot.traces(backend, &variant)?.into_iter().collect(),
        greens: discrete_error(backend, &variant, Arithmetic::F32)?.0.into_iter().collect(),
    })
}

/// Relative L2 error of traces in the layered model.
fn traces_off(
    backend: &dyn Backend,
    variant: &str,
    arithmetic: Arithmetic,
    lengths: Lengths,
    reference: &[f64],
) -> Result<f64, CheckError> {
    let got = layered(lengths, arithmetic)?.traces(backend, variant)?;
    Ok(relative_l2(&got, reference))
}

/// What C-PML and Minimod's layer leave after half of the steps and after all.
fn left(
    backend: &dyn Backend,
    variant: &str,
    arithmetic: Arithmetic,
    steps: usize,
) -> Result<[[f64; 2]; 2], CheckError> {
    const VMAX: f64 = 3500.0;
    let grid = Grid::new([26, 24, 28], [SPACING; 3], [0.0; 3])?;
    let mut problem = open_problem(grid, 8, VMAX, 0.95, arithmetic)?;
    let cpml = Cpml { cells: 10, ..Cpml::for_wavelet(20.0, VMAX) };
    let minimod = Minimod::for_speed(10, VMAX, SPACING, problem.dt);
    let mut run = |layer| -> Result<[f64; 2], CheckError> {
        problem.boundaries = Boundaries::uniform(layer);
        problem.boundaries.set(Face::ZMin, Boundary::Free);
        Ok(left_over(backend, variant, &problem, [steps / 2, steps])?.map(|[field, _]| field))
    };
    Ok([run(Boundary::Cpml(cpml))?, run(Boundary::Minimod(minimod))?])
}

/// All errors of an arithmetic on a variant; `reference` is what [`reference()`] gives.
///
/// # Errors
/// Those of the backend.
pub fn errors(
    backend: &dyn Backend,
    variant: &str,
    arithmetic: Arithmetic,
    lengths: Lengths,
    reference: &Reference,
) -> Result<Errors, CheckError> {
    let [white, waves] = laplacian::errors(backend, variant, arithmetic)?;
    let (greens_traces, greens) = discrete_error(backend, variant, arithmetic)?;
    Ok(Errors {
        arithmetic,
        laplacian: [white.error, waves.error],
        greens,
        greens_single: relative_l2(&greens_traces, &reference.greens),
        drift: drift_near_the_limit(backend, variant, arithmetic, weights, lengths.drift)?,
        traces: traces_off(backend, variant, arithmetic, lengths, &reference.layered)?,
        left: left(backend, variant, arithmetic, lengths.layers)?,
    })
}

/// Bits below a tile's mean square that adaptive digits leave out, as a part of it.
fn left_out(arithmetic: Arithmetic) -> f64 {
    match arithmetic {
        Arithmetic::Digits(d) if d.adaptive > 0 => (-f64::from(d.adaptive)).exp2(),
        _ => 0.0,
    }
}

/// Largest part of the largest pressure that may be left after [`Lengths::SHORT`]: ten times what FP32's layers
/// leave, and what the arithmetic makes of traces, or the last bits of its digits ten times over.
fn most_left(arithmetic: Arithmetic) -> f64 {
    let noise = match arithmetic {
        Arithmetic::Digits(digits) => {
            10.0 * (-8.0 * f64::from(digits.wavefield.min(digits.operator))).exp2()
        }
        _ => arithmetic.trace_error().unwrap_or(0.0),
    };
    4e-5 + noise
}

pub(super) fn layers(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    let mut outcomes = Vec::new();
    let steps = Lengths::SHORT.layers;
    for arithmetic in offer::telling(backend, variant) {
        let found = left(backend, variant, arithmetic, steps)?;
        for ([_, found], layer) in found.into_iter().zip(["C-PML", "Minimod's layer"]) {
            let what =
                format!("{arithmetic}: left by {layer} after {steps} steps, over the largest p");
            outcomes.push(Outcome::new(what, found, most_left(arithmetic)));
        }
    }
    Ok(outcomes)
}

/// Traces of the short layered run in double precision: the same for every variant, made once.
fn exact_traces() -> Result<&'static [f64], CheckError> {
    static KNOWN: OnceLock<Vec<f64>> = OnceLock::new();
    if let Some(traces) = KNOWN.get() {
        return Ok(traces);
    }
    let shot = layered(Lengths::SHORT, Arithmetic::F64)?;
    let traces = shot.traces(&ReferenceBackend::new(), "loops")?;
    Ok(KNOWN.get_or_init(|| traces.into_iter().collect()))
}

pub(super) fn layered_traces(
    backend: &dyn Backend,
    variant: &str,
) -> Result<Vec<Outcome>, CheckError> {
    let mut outcomes = Vec::new();
    let lengths = Lengths::SHORT;
    let reference = exact_traces()?;
    for arithmetic in offer::telling(backend, variant) {
        // What storage says of itself; one digit is as coarse as one BF16 limb.
        let most = match arithmetic {
            Arithmetic::Digits(digits) if digits.operator.min(digits.wavefield) == 1 => 3e-1,
            _ => arithmetic.trace_error().unwrap_or(5e-5) + left_out(arithmetic),
        };
        let off = traces_off(backend, variant, arithmetic, lengths, reference)?;
        let what = format!("{arithmetic}: traces of {} steps in five layers", lengths.traces);
        outcomes.push(Outcome::new(what, off, most));
    }
    Ok(outcomes)
}

pub(super) fn drift(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    let mut outcomes = Vec::new();
    let steps = Lengths::SHORT.drift;
    for arithmetic in offer::telling(backend, variant) {
        // What a step adds to p by chance changes the energy by as large a part, up or down: four standard
        // deviations of the sum. Of bytes it is relative to a tile's largest value, whose exponent wastes up
        // to a bit, which is two or three times the field's mean; one digit's sum is as large as the field.
        let noise = match arithmetic {
            Arithmetic::F64 => 1e-14,
            Arithmetic::Digits(d) if d.kind == DigitKind::Int8 => {
                (3.0 - 8.0 * f64::from(d.wavefield)).exp2()
            }
            Arithmetic::Digits(d) => (1.0 - 9.0 * f64::from(d.wavefield)).exp2().max(SINGLE),
            Arithmetic::Stored(storage) => match storage.wavefields {
                WavefieldStorage::Bf16 => 2.0_f64.powi(-8),
                WavefieldStorage::Fp16 | WavefieldStorage::Fp16Scaled => 2.0_f64.powi(-11),
                WavefieldStorage::Bf16Pair => 2.0_f64.powi(-17),
                WavefieldStorage::Int16 | WavefieldStorage::Int16Increment => 2.0_f64.powi(-15),
                _ => SINGLE,
            },
            _ => SINGLE,
        };
        let noise = noise + left_out(arithmetic);
        let found = drift_near_the_limit(backend, variant, arithmetic, weights, steps)?;
        let what =
            format!("{arithmetic}: drift of the energy over {steps} steps at 0.95 of the limit");
        outcomes.push(Outcome::new(what, found, 4.0 * noise * (steps as f64).sqrt()));
    }
    Ok(outcomes)
}
