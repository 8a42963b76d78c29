//! The report of a run, JSON: what was run, how well resolved, how fast, on what, with what result.

use std::path::Path;

use serde::Serialize;
use temblor_backend::{DeviceInfo, Parameters, Variant};
use temblor_physics::WaveProblem;
use temblor_solver::{MemoryPlan, Survey, Timings};

use super::FinishedShot;
use crate::exit::Failure;
use crate::preflight::Facts;
use crate::provenance;

/// A report; field names are the keys of the file.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    temblor: provenance::Provenance,
    run_file: String,
    fingerprint: String,
    device: &'a DeviceInfo,
    threads: usize,
    variant: &'a Variant,
    parameters: &'a Parameters,
    variant_why: &'a str,
    model: &'a str,
    model_checksum: String,
    problem: &'a WaveProblem,
    model_shape: [usize; 3],
    time: TimeAxis,
    resolution: Resolution,
    memory: Memory<'a>,
    performance: Performance,
    shots: Shots<'a>,
    traces: String,
}

#[derive(Debug, Serialize)]
struct TimeAxis {
    dt_s: f64,
    largest_dt_s: f64,
    cfl_fraction: f64,
    steps: usize,
    duration_s: f64,
    interval_s: f64,
    samples: usize,
    dispersion_correction: bool,
}

#[derive(Debug, Serialize)]
struct Resolution {
    operator: String,
    vmin_m_per_s: f64,
    vmax_m_per_s: f64,
    peak_hz: f64,
    max_hz: f64,
    points_per_wavelength_at_peak: f64,
    points_per_wavelength_at_max: f64,
    velocity_error_at_peak: f64,
    velocity_error_at_max: f64,
}

#[derive(Debug, Serialize)]
struct Memory<'a> {
    plan: &'a MemoryPlan,
    predicted_bytes: u64,
    available_bytes: u64,
    base_rss_bytes: Option<u64>,
    peak_rss_bytes: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Performance {
    grid_points: u64,
    steps_done: f64,
    seconds: Seconds,
    gpts_per_s: Rates,
}

#[derive(Debug, Serialize)]
struct Seconds {
    planning: f64,
    upload: f64,
    time_loop: f64,
    recording: f64,
    health: f64,
    resampling: f64,
    output: f64,
    whole: f64,
}

/// Points of the grid with its layers times steps, over the time of ...
#[derive(Debug, Serialize)]
struct Rates {
    /// ... the time steps alone.
    time_loop: f64,
    /// ... and taking and resampling the samples.
    with_recording: f64,
    /// ... and health checks and files.
    with_output: f64,
    /// ... everything.
    whole: f64,
}

#[derive(Debug, Serialize)]
struct Shots<'a> {
    total: usize,
    run_now: usize,
    traces: u64,
    samples_checksum: String,
    each: &'a [FinishedShot],
}

/// What the report is made from, beside the survey.
#[derive(Debug)]
pub struct Run<'a> {
    /// The run file.
    pub run_file: &'a Path,
    /// Digest of what decides the results.
    pub fingerprint: &'a str,
    /// The device.
    pub device: &'a DeviceInfo,
    /// What was known before.
    pub facts: &'a Facts,
    /// The model's name.
    pub model: &'a str,
    /// The traces' name.
    pub traces: &'a Path,
    /// Where the time went.
    pub timings: &'a Timings,
    /// Shots run by this process.
    pub run_now: usize,
    /// All finished shots.
    pub finished: &'a [FinishedShot],
    /// Resident memory before the run, bytes.
    pub base_rss: Option<u64>,
}

impl<'a> Report<'a> {
    /// Gathers a report.
    #[must_use]
    pub fn new(survey: &'a Survey, run: &Run<'a>) -> Self {
        let facts = run.facts;
        let t = run.timings;
        let grid_points = survey.problem.grid.points();
        let stepping = t.time_loop.seconds();
        let recording = stepping + t.recording.seconds() + t.resampling.seconds();
        let output = recording + t.health.seconds() + t.output.seconds();
        let whole = t.whole.as_secs_f64();
        Self {
            temblor: provenance::Provenance::new(),
            run_file: run.run_file.display().to_string(),
            fingerprint: run.fingerprint.to_owned(),
            device: run.device,
            threads: rayon::current_num_threads(),
            variant: &facts.variant,
            parameters: &facts.parameters,
            variant_why: &facts.variant_why,
            model: run.model,
            model_checksum: format!("{:08x}", survey.speed.checksum),
            problem: &survey.problem,
            model_shape: survey.spec.grid.shape,
            time: TimeAxis {
                dt_s: survey.dt(),
                largest_dt_s: survey.largest_dt,
                cfl_fraction: survey.cfl_fraction(),
                steps: survey.steps(),
                duration_s: survey.spec.duration,
                interval_s: survey.spec.interval,
                samples: survey.samples(),
                dispersion_correction: survey.spec.correct_dispersion,
            },
            resolution: Resolution {
                vmin_m_per_s: survey.speed.min,
                vmax_m_per_s: survey.speed.max,
                peak_hz: survey.band.peak_hz,
                max_hz: survey.band.max_hz,
                operator: survey.spec.operator.to_string(),
                points_per_wavelength_at_peak: survey.points_per_wavelength(survey.band.peak_hz),
                points_per_wavelength_at_max: survey.points_per_wavelength(survey.band.max_hz),
                velocity_error_at_peak: facts.velocity_error_at_peak,
                velocity_error_at_max: facts.velocity_error_at_max,
            },
            memory: Memory {
                plan: &facts.memory,
                predicted_bytes: facts.memory.total(),
                available_bytes: facts.available,
                base_rss_bytes: run.base_rss,
                peak_rss_bytes: resident("VmHWM:"),
            },
            performance: Performance {
                grid_points,
                steps_done: t.point_steps as f64 / grid_points as f64,
                seconds: Seconds {
                    planning: t.planning.seconds(),
                    upload: t.upload.seconds(),
                    time_loop: stepping,
                    recording: t.recording.seconds(),
                    health: t.health.seconds(),
                    resampling: t.resampling.seconds(),
                    output: t.output.seconds(),
                    whole,
                },
                gpts_per_s: Rates {
                    time_loop: t.rate(stepping),
                    with_recording: t.rate(recording),
                    with_output: t.rate(output),
                    whole: t.rate(whole),
                },
            },
            shots: Shots {
                total: survey.shots.len(),
                run_now: run.run_now,
                traces: run.finished.last().map_or(0, |shot| shot.traces_so_far),
                samples_checksum: checksum(run.finished),
                each: run.finished,
            },
            traces: run.traces.display().to_string(),
        }
    }

    /// Writes the report in one piece.
    ///
    /// # Errors
    /// [`Failure::Output`].
    ///
    /// # Panics
    /// Never: plain structures have JSON.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(self).expect("plain structures have JSON");
        text.push('\n');
        temblor_io::atomic::write(path, text.as_bytes()).map_err(Failure::output)
    }
}

/// CRC-32 of all samples of all shots, from those of the shots.
fn checksum(finished: &[FinishedShot]) -> String {
    let mut all = crc32fast::Hasher::new();
    for shot in finished {
        let checksum = u32::from_str_radix(&shot.checksum, 16).unwrap_or(0);
        all.combine(&crc32fast::Hasher::new_with_initial_len(checksum, shot.bytes));
    }
    format!("{:08x}", all.finalize())
}

/// A line of `/proc/self/status` in bytes: `VmRSS:` now, `VmHWM:` at most so far.
#[must_use]
pub fn resident(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
