//! Measures rows of patch kernels; a kernel is made, and compared with the interpreter, once for all
//! its rows.

use std::time::Instant;

use rayon::prelude::*;
use temblor_backend::{Backend, Error, PatchKernel, PatchOptions, PatchReport};
use temblor_cpu::ReferenceBackend;
use temblor_patch::Output;

use super::{Chunks, PatchRow};
use crate::matrix::Subject;
use crate::measure::Settings;
use crate::results::{Accuracy, Case, Device, Measured, Outcome, PatchFigures, median};

/// Largest difference from the interpreter over the largest value, without and with contraction.
const BOUNDS: [f64; 2] = [1e-13, 1e-12];

/// Patches that are compared with the interpreter.
const COMPARED: usize = 2;

/// Part of free memory that a row may take.
const FULL: f64 = 0.8;

/// Least time of a sample by the host's clock, s: shorter calls are repeated, as a march or an engine would,
/// and a sample is their mean. Alone they are measured from a machine half asleep.
const LEAST: f64 = 2e-3;

/// Most calls of a sample.
const CALLS: u32 = 1000;

/// Fewest samples of a row that is stopped early by its time.
const FEWEST: u32 = 3;

/// The kernel of the row measured last.
#[derive(Default)]
pub(crate) struct Maker {
    key: Option<(usize, String, String)>,
    made: Option<Result<Made, Outcome>>,
}

struct Made {
    kernel: Box<dyn PatchKernel>,
    chunks: Chunks,
    /// Chunks on the host, kept for rows of more patches: filling gigabytes takes longer than any
    /// call on them.
    inputs: Vec<Vec<f64>>,
    outputs: Vec<Vec<f64>>,
    accuracy: Accuracy,
    checksum: String,
    /// Name of the kernel statement by statement.
    of: String,
}

/// Chunks on the host.
type Held = (Vec<Vec<f64>>, Vec<Vec<f64>>);

/// Samples of one kind.
struct Pace<'a> {
    repeats: u32,
    /// Seconds that all samples may take.
    timeout: f64,
    stop: &'a dyn Fn() -> bool,
}

impl Maker {
    /// Measures a row; nothing if the user wants to stop.
    pub(crate) fn measure(
        &mut self,
        (row, case): (&PatchRow, &Case),
        (place, subject): (usize, &Subject),
        device: Option<&Device>,
        settings: &Settings,
        stop: &dyn Fn() -> bool,
        stage: &mut dyn FnMut(&str),
    ) -> Option<Outcome> {
        let key = (place, row.kernel.name.clone(), row.schedule.clone());
        let name =
            format!("{}/{} {} K = {}", case.backend, case.variant, row.kernel.name, row.patches);
        if self.key.as_ref() != Some(&key) {
            stage(&format!("{name}: making the kernel"));
            // Other schedules and backends take the same chunks.
            let same = |made: &Made| made.of == row.oracle.name;
            let before = self.made.take().and_then(Result::ok).filter(same);
            let held = before.map(|made| (made.inputs, made.outputs)).unwrap_or_default();
            self.made = Some(make(row, subject.backend.as_ref(), held));
            self.key = Some(key);
        }
        let made = match self.made.as_mut()? {
            Ok(made) => made,
            Err(outcome) => return Some(outcome.clone()),
        };
        if stop() {
            return None;
        }
        stage(&format!("{name}: samples"));
        if let Err(why) = fits(row, made, subject) {
            return Some(Outcome::Skipped { why });
        }
        let timeout = settings.timeout.unwrap_or(f64::INFINITY).min(20.0 * settings.seconds);
        let pace = Pace { repeats: settings.repeats.max(1), timeout, stop };
        let times = compute(row, made, subject.on_host, &pace).and_then(|compute| match compute {
            Some(compute) => Ok(total(row, made, &pace)?.map(|total| (compute, total))),
            None => Ok(None),
        });
        match times {
            Ok(Some((compute, total))) => {
                Some(Outcome::Measured(Box::new(measured(row, made, device, compute, total))))
            }
            Ok(None) => None,
            Err(error @ Error::OutOfMemory { .. }) => {
                Some(Outcome::Skipped { why: error.to_string() })
            }
            Err(error) => Some(Outcome::Failed { why: error.to_string() }),
        }
    }
}

/// Makes a kernel and compares it with the interpreter.
fn make(row: &PatchRow, backend: &dyn Backend, (inputs, outputs): Held) -> Result<Made, Outcome> {
    let failed = |error: Error| match error {
        error @ Error::Unsupported { .. } => Outcome::Skipped { why: error.to_string() },
        error => Outcome::Failed { why: with_source(&error) },
    };
    let chunks =
        Chunks::new(&row.kernel, &row.parameters).map_err(|why| Outcome::Skipped { why })?;
    let options = PatchOptions::new(row.contract).with_schedule(row.schedule.as_str());
    let mut kernel = backend.patch_kernel(&row.kernel, &options).map_err(failed)?;
    kernel.set_parameters(&row.parameters).map_err(failed)?;
    let reference = ReferenceBackend::new();
    let mut oracle =
        reference.patch_kernel(&row.oracle, &PatchOptions::new(false)).map_err(failed)?;
    oracle.set_parameters(&row.parameters).map_err(failed)?;
    let got = once(row, kernel.as_mut(), &chunks).map_err(failed)?;
    let wanted = once(row, oracle.as_mut(), &chunks).map_err(failed)?;
    let (mut difference, mut largest, mut squares) = (0.0_f64, 0.0_f64, [0.0_f64; 2]);
    for (got, wanted) in got.iter().zip(&wanted) {
        let off = (got - wanted).abs();
        difference = if off.is_nan() { f64::INFINITY } else { difference.max(off) };
        largest = largest.max(wanted.abs());
        squares = [squares[0] + off * off, squares[1] + wanted * wanted];
    }
    let bound = BOUNDS[usize::from(row.contract)];
    let linf = difference / largest;
    let accuracy =
        Accuracy { steps: 1, l2: (squares[0] / squares[1]).sqrt(), linf, bound: Some(bound) };
    if linf.is_nan() || linf > bound {
        let why = format!(
            "one evaluation is {linf:.2e} of its largest value off the interpreter's, above the \
             bound {bound:.1e}"
        );
        return Err(Outcome::Failed { why });
    }
    let mut sum = crc32fast::Hasher::new();
    got.iter().for_each(|value| sum.update(&value.to_le_bytes()));
    Ok(Made {
        kernel,
        chunks,
        inputs,
        outputs,
        accuracy,
        checksum: format!("{:08x}", sum.finalize()),
        of: row.oracle.name.clone(),
    })
}

fn with_source(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Results of a few patches.
fn once(
    row: &PatchRow,
    kernel: &mut dyn PatchKernel,
    chunks: &Chunks,
) -> temblor_backend::Result<Vec<f64>> {
    let length = row.kernel.shape.output_len();
    let mut results = vec![0.0; COMPARED * length];
    let inputs: Vec<&[f64]> = (0..COMPARED).map(|patch| chunks.of(patch)).collect();
    let mut outputs: Vec<&mut [f64]> = results.chunks_exact_mut(length).collect();
    kernel.apply(&chunks.cells(COMPARED), &inputs, &mut outputs, &mut [])?;
    Ok(results)
}

/// Whether a row's patches fit, with the bytes where they do not; chunks of earlier rows are given up where
/// the patches need their room.
fn fits(row: &PatchRow, made: &mut Made, subject: &Subject) -> Result<(), String> {
    let (states, rates) = row.arrays();
    let patches = row.patches as usize;
    let set = made.kernel.set_bytes(patches, states, rates);
    let shape = &row.kernel.shape;
    let each = 8 * (shape.input_len() + shape.output_len()) as u64;
    let host = patches as u64 * each;
    let held = made.inputs.len() as u64 * each;
    let free = subject.memory();
    let temporaries = set.saturating_sub(row.bytes());
    let (needed, all) =
        if subject.on_host { (set.max(host + temporaries), free + held) } else { (set, free) };
    if needed as f64 > FULL * all as f64 {
        return Err(format!("{patches} patches need {needed} bytes and {all} are free"));
    }
    let host_free = temblor_cpu::memory::available_memory() + held;
    if host as f64 > FULL * host_free as f64 {
        return Err(format!("chunks on the host need {host} bytes and {host_free} are free"));
    }
    if subject.on_host && set as f64 > FULL * free as f64 {
        (made.inputs, made.outputs) = Held::default();
    }
    Ok(())
}

/// Times of an evaluation of patches on the device, s.
fn compute(
    row: &PatchRow,
    made: &Made,
    on_host: bool,
    pace: &Pace<'_>,
) -> temblor_backend::Result<Option<Vec<f64>>> {
    let patches = row.patches as usize;
    let (states, rates) = row.arrays();
    let cells = made.chunks.cells(patches);
    let mut set = made.kernel.patches(&cells, states, rates)?;
    for patch in 0..patches {
        set.upload(0, patch, made.chunks.of(patch))?;
    }
    set.set_time(0.0, cells[0].time_step)?;
    let into = usize::from(row.kernel.shape.output == Output::Step);
    let one = || Ok(set.time(0, into, 1)?[0]);
    if on_host { sampled(pace, in_quick_succession(one)) } else { sampled(pace, one) }
}

/// Times of a call from scattered chunks of the host, s.
fn total(
    row: &PatchRow,
    made: &mut Made,
    pace: &Pace<'_>,
) -> temblor_backend::Result<Option<Vec<f64>>> {
    let patches = row.patches as usize;
    let cells = made.chunks.cells(patches);
    let Made { kernel, chunks, inputs, outputs, .. } = made;
    // By all threads: one alone takes minutes for what memory holds. Pages of results come with the first
    // call, which is not counted.
    let more = (inputs.len()..patches).into_par_iter();
    inputs.par_extend(more.map(|patch| chunks.of(patch).to_vec()));
    outputs.resize_with(outputs.len().max(patches), || vec![0.0; row.kernel.shape.output_len()]);
    let inputs: Vec<&[f64]> = inputs[..patches].iter().map(Vec::as_slice).collect();
    let call = || {
        let outputs = outputs[..patches].iter_mut();
        let mut outputs: Vec<&mut [f64]> = outputs.map(Vec::as_mut_slice).collect();
        let start = Instant::now();
        kernel.apply(&cells, &inputs, &mut outputs, &mut [])?;
        Ok(start.elapsed().as_secs_f64())
    };
    sampled(pace, in_quick_succession(call))
}

/// Mean times of as many calls as make a sample of [`LEAST`] seconds.
fn in_quick_succession(
    mut one: impl FnMut() -> temblor_backend::Result<f64>,
) -> impl FnMut() -> temblor_backend::Result<f64> {
    let mut last = f64::INFINITY;
    move || {
        let calls = (1..CALLS).find(|&calls| f64::from(calls) * last >= LEAST).unwrap_or(CALLS);
        let mut spent = 0.0;
        for _ in 0..calls {
            spent += one()?;
        }
        last = spent / f64::from(calls);
        Ok(last)
    }
}

/// Samples after one that is that of a cold machine, fewer where they take long; nothing if the user wants
/// to stop.
fn sampled(
    pace: &Pace<'_>,
    mut one: impl FnMut() -> temblor_backend::Result<f64>,
) -> temblor_backend::Result<Option<Vec<f64>>> {
    let mut samples = Vec::new();
    let mut spent = one()?;
    for number in 0..pace.repeats {
        if (pace.stop)() {
            return Ok(None);
        }
        if number >= FEWEST && spent > pace.timeout {
            break;
        }
        let took = one()?;
        spent += took;
        samples.push(took);
    }
    Ok(Some(samples))
}

fn measured(
    row: &PatchRow,
    made: &Made,
    device: Option<&Device>,
    compute: Vec<f64>,
    total: Vec<f64>,
) -> Measured {
    let (states, rates) = row.arrays();
    let shape = &row.kernel.shape;
    let report: &PatchReport = made.kernel.report();
    let copies = device.map_or(&[][..], |device| &device.streams);
    let copy = copies.iter().rev().find(|stream| {
        stream.pattern == temblor_backend::StreamPattern::Copy && stream.fill >= 1.0
    });
    let cells = usize::from(shape.cells);
    Measured {
        steps: row.patches,
        seconds: compute,
        footprint: made.kernel.set_bytes(row.patches as usize, states, rates),
        bytes_per_point: row.kernel.least_bytes(),
        flops_per_point: report.flops,
        least_bytes_per_step: row.kernel.least_bytes() * shape.voxels() as f64,
        roof_elements: copy.map_or(0, |stream| stream.elements),
        roof_bandwidth: device
            .and_then(|device| device.given_bandwidth)
            .or_else(|| copy.map(|stream| median(&stream.samples))),
        checksum: made.checksum.clone(),
        twin: [cells; 3],
        accuracy: vec![made.accuracy],
        digit_products: None,
        patch: Some(PatchFigures {
            patches: row.patches,
            total,
            made_by: report.made_by.clone(),
            note: report.note.clone(),
            registers: report.registers,
            spills: report.spills,
            occupancy: report.occupancy,
        }),
        kernels: Vec::new(),
        counters: Vec::new(),
        histogram: Vec::new(),
    }
}
