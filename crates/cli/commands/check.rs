//! `temblor check`: everything that can be known before a run.

use clap::Args;
use temblor_backend::DeviceInfo;
use temblor_physics::{Arithmetic, Boundary, BoundaryKind, Face, Operator, cfl, dispersion};
use temblor_solver::Survey;

use crate::args::{BackendArgs, NumericsArgs, RunFileArg};
use crate::preflight::{Facts, TimeDispersion, suggested_minimod, time_dispersion};
use crate::runfile::{Job, OutputSpec};
use crate::{backends, output};

/// Arguments of `temblor check`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  temblor check shot.toml --backend cpu-ref")]
pub struct CheckArgs {
    /// What to check.
    #[command(flatten)]
    pub file: RunFileArg,
    /// Where it would run.
    #[command(flatten)]
    pub backend: BackendArgs,
    /// Operator and arithmetic.
    #[command(flatten)]
    pub numerics: NumericsArgs,
}

/// Checks a run file and prints what a run would be.
///
/// # Errors
/// What the run would fail with before its first step.
pub fn run(args: &CheckArgs) -> anyhow::Result<()> {
    let job = Job::open_with(&args.file.path, &args.numerics)?;
    let backend = backends::open_for(&args.backend.backend, &job.survey.problem)?;
    let facts = Facts::new(&job, backend.as_ref(), args.backend.variant.as_deref())?;
    print_survey(&job.survey, &job.model_name);
    print_time(&job.survey);
    print_operator(&job);
    print_arithmetic(&job.survey);
    print_resolution(&job.survey, &facts);
    print_boundaries(&job.survey);
    print_geometry(&job.survey, &job.output);
    print_memory(&job.survey, &facts, backend.device());
    for warning in &facts.warnings {
        println!("warning: {warning}");
    }
    output::check_traces(&job.output, &job.survey)?;
    output::check_folders(&job.output, false)?;
    facts.check_memory()?;
    println!("ready: `temblor run {}`", args.file.path.display());
    Ok(())
}

fn print_survey(survey: &Survey, model: &str) {
    let grid = &survey.spec.grid;
    let [nx, ny, nz] = grid.shape;
    let [hx, hy, hz] = grid.spacing;
    let [px, py, pz] = survey.padding.padded;
    println!("model        {model}");
    println!("wave speed   {} to {} m/s", survey.speed.min, survey.speed.max);
    println!(
        "grid         {nx} x {ny} x {nz} nodes, {hx} x {hy} x {hz} m, {}-D",
        grid.dimensions()
    );
    println!(
        "with layers  {px} x {py} x {pz} nodes, {:.3} million",
        survey.problem.grid.points() as f64 / 1e6
    );
}

fn print_time(survey: &Survey) {
    println!(
        "time step    {:.6e} s, {:.4} of the largest stable {:.6e} s",
        survey.dt(),
        survey.cfl_fraction(),
        survey.largest_dt
    );
    let grid = &survey.spec.grid;
    let finest =
        grid.active_axes().map(|axis| grid.spacing[axis.index()]).fold(f64::INFINITY, f64::min);
    println!("CFL          {:.4} (c dt / h, largest)", survey.speed.max * survey.dt() / finest);
    println!(
        "steps        {}, to {:.4} s ({:.4} s past the record, for the resampler)",
        survey.steps(),
        (survey.steps() - 1) as f64 * survey.dt(),
        survey.resampler.half_width()
    );
    println!(
        "record       {} samples every {} s, 0 to {} s, flat up to {:.1} Hz",
        survey.samples(),
        survey.spec.interval,
        (survey.samples() - 1) as f64 * survey.spec.interval,
        survey.resampler.passband_hz()
    );
}

fn print_operator(job: &Job) {
    let survey = &job.survey;
    let (operator, grid) = (&survey.spec.operator, &survey.spec.grid);
    let weights = operator.second_derivative();
    let dimensions = grid.dimensions();
    let points = |tolerance| {
        let points = dispersion::points_for(&weights, 0.0, dimensions, tolerance);
        points.map_or_else(|| "more than 1000".to_owned(), |p| format!("{p:.2}"))
    };
    println!(
        "operator     {operator}, radius {}; in space 1 %, 0.1 %, 0.01 % from {}, {}, {} points per \
         wavelength; Courant limit {:.4}",
        operator.radius(),
        points(1e-2),
        points(1e-3),
        points(1e-4),
        cfl::courant_limit_of(&weights, dimensions)
    );
    let speeds = [survey.speed.min, survey.speed.max];
    let hz = survey.band.max_hz;
    let dt = if survey.spec.correct_dispersion { 0.0 } else { survey.dt() };
    let band = |dt| dispersion::error_in_band(grid, &weights, dt, speeds, hz, f64::INFINITY);
    println!(
        "  in the band  within {:.3} % of space alone, {:.3} % with the time step{}: up to {hz:.2} Hz, \
         all directions and wave speeds",
        100.0 * band(0.0),
        100.0 * band(dt),
        if survey.spec.correct_dispersion { " (corrected)" } else { "" }
    );
    if let Some(why) = &job.operator_why {
        println!("  why        {why}");
    }
}

fn print_arithmetic(survey: &Survey) {
    let arithmetic = survey.problem.arithmetic;
    let bytes = arithmetic.bytes_per_point();
    print!("arithmetic   {arithmetic}, {bytes} bytes per node and step");
    match arithmetic {
        Arithmetic::Digits(digits) => {
            print!("; {} products of digits per tap", digits.pairs().count());
            match arithmetic.trace_error().map(|error| 100.0 * error) {
                Some(error) => println!("; traces within about {error:.2} % of those of f32"),
                None => println!("; as right as f32"),
            }
        }
        Arithmetic::Stored(_) => println!(
            " where f32 moves {}; traces within about {} % of those of f32 (relative L2, 2,000 steps)",
            Arithmetic::F32.bytes_per_point(),
            100.0 * arithmetic.trace_error().unwrap_or(0.0)
        ),
        _ => println!(),
    }
}

fn print_resolution(survey: &Survey, facts: &Facts) {
    let band = &survey.band;
    for (name, hz, error) in [
        ("at the peak", band.peak_hz, facts.velocity_error_at_peak),
        ("at highest", band.max_hz, facts.velocity_error_at_max),
    ] {
        println!(
            "{:13}{:.2} points per wavelength, {hz:.2} Hz; phase velocity within {:.3} %",
            name,
            survey.points_per_wavelength(hz),
            100.0 * error
        );
    }
    if survey.spec.correct_dispersion {
        println!("dispersion   time dispersion is corrected; the figures are those of space");
        return;
    }
    if matches!(survey.spec.operator, Operator::Fitted(fit) if fit.time.is_some()) {
        println!("dispersion   space and time are fitted together; the figures are of both");
        return;
    }
    let Some(TimeDispersion { error, distance, shot }) = time_dispersion(survey) else { return };
    println!(
        "dispersion   of time: up to {:.2} % of a trace (relative L2) at {distance:.0} m from the \
         source (shot {shot}){}",
        100.0 * error,
        if error > 0.05 { "; dispersion_correction = true removes it" } else { "" }
    );
}

fn print_boundaries(survey: &Survey) {
    for face in Face::ALL.into_iter().filter(|face| survey.problem.grid.active(face.axis())) {
        let boundary = survey.problem.boundaries.at(face);
        let kind = format!("{:?}", BoundaryKind::from(boundary)).to_lowercase();
        let detail = match boundary {
            Boundary::Cpml(layer) => {
                format!(", {} cells, R0 {:e}, made for {} Hz", layer.cells, layer.r0, layer.peak_hz)
            }
            Boundary::Minimod(layer) => format!(
                ", {} cells, eta peak {:.4} (three longest wavelengths are {} cells)",
                layer.cells,
                layer.eta_peak,
                suggested_minimod(survey, face)
            ),
            _ => String::new(),
        };
        println!("{:13}{kind}{detail}", face.name());
    }
}

fn print_geometry(survey: &Survey, output: &OutputSpec) {
    let traces: usize = survey.shots.iter().map(|shot| shot.receivers.len()).sum();
    let sources: usize = survey.shots.iter().map(|shot| shot.sources.len()).sum();
    println!("shots        {}, with {sources} sources in all", survey.shots.len());
    println!("receivers    up to {} per shot, {traces} traces in all", survey.most_receivers());
    let files = if output.per_shot() { "a file per shot" } else { "one file" };
    println!("traces       {} ({files})", output.traces.display());
}

fn print_memory(survey: &Survey, facts: &Facts, device: &DeviceInfo) {
    println!("backend      {} on {} ({})", device.backend, device.name, device.arch);
    println!("variant      {}: {}", facts.named(), facts.variant_why);
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!(
        "memory       {:.1} MiB of {:.1} MiB",
        mib(facts.memory.total()),
        mib(facts.available)
    );
    for item in facts.memory.items() {
        println!("  {:36}{:>14.2} MiB", item.name, mib(item.bytes));
    }
    println!("  {:36}{:>14} bytes", "total", facts.memory.total());
    let work = survey.problem.grid.points() as f64 * survey.steps() as f64;
    println!(
        "work         {:.2} billion point steps per shot, {:.2} in all",
        work / 1e9,
        work * survey.shots.len() as f64 / 1e9
    );
}
