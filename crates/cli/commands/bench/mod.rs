//! `temblor bench`: the matrix of kernels and problems, each beside its accuracy and the machine's roof.

pub mod compare;
mod files;
pub mod output;
mod profile;
mod table;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use temblor_bench::matrix::{self, Subject, Variants};
use temblor_bench::measure::{self, Settings, Sink};
use temblor_bench::preset::{self, Preset};
use temblor_bench::results::{BoundaryName, Case, Counters, Device, Outcome, Peer, Row, Start};
use temblor_bench::roofs::{self, RoofOptions};
use temblor_bench::sizes;
use temblor_conformance::arithmetic;
use temblor_physics::Arithmetic;

use self::files::Files;
use crate::exit::Failure;
use crate::progress::Stages;
use crate::{backends, stop};

/// The oracle, which is measured only where it is asked for.
const ORACLE: &str = "cpu-ref";

/// Arguments of `temblor bench`.
#[derive(Debug, Args)]
#[command(
    next_help_heading = "What is measured",
    after_help = "\
Every row is first compared with the oracle on a small twin; a row whose error
is above its bound gets no rate (exit code 6). Rows that do not fit are skipped
and say so. Lists with commas give a product. Ctrl-C keeps finished rows.

Examples:
  temblor bench --preset quick
  temblor bench --size 256,512 --boundary zero,cpml --variant all
  temblor bench --preset minimod --backend cuda --json h200.json
  temblor bench --size 50:850:50 --start zero,random --jsonl -
  temblor bench --preset minimod --dry-run
  temblor bench --preset dslhype --within 500 --json all.json
  temblor bench --preset dslhype --resume all.json --json all.json
  temblor bench --from h200.json mi300.json --html report.html
  temblor bench --compare old.json new.json --gate"
)]
pub struct BenchArgs {
    /// A frozen matrix with its physics: quick, minimod, libxstream, dslhype
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Backends [default: all that work here but the oracle cpu-ref]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub backend: Vec<String>,
    /// Variants: names or all [default: what each backend prefers]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub variant: Vec<String>,
    /// Nodes, layers included: 256,512 or 50:850:50 or 800x400x200
    /// [default: 256]
    #[arg(long, value_name = "SIZES", value_parser = shapes)]
    pub size: Option<Shapes>,
    /// Orders of the operator [default: 8]
    #[arg(long, value_name = "ORDERS", value_delimiter = ',')]
    pub order: Vec<usize>,
    /// Boundaries: zero, free, minimod, cpml [default: zero]
    #[arg(
        long,
        value_name = "KINDS",
        value_delimiter = ',',
        value_parser = |name: &str| preset::boundary(name)
    )]
    pub boundary: Vec<BoundaryName>,
    /// Cells of the layers [default: 27 for minimod, 20 for cpml]
    #[arg(long, value_name = "N")]
    pub cells: Option<usize>,
    /// Arithmetics: f32, int16+u16, int8-2x3 and so on [default: f32]
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        value_parser = |name: &str| preset::arithmetic(name)
    )]
    pub arithmetic: Vec<Arithmetic>,
    /// What fields hold at the start: zero, random, gauss, or the random part
    /// of the grid, 0 to 1 [default: random]
    #[arg(
        long,
        value_name = "STARTS",
        value_delimiter = ',',
        value_parser = |name: &str| preset::start(name)
    )]
    pub start: Vec<Start>,
    /// Values of the variants' parameters; a variant without one is skipped
    #[arg(long, value_name = "NAME=N", value_delimiter = ',', value_parser = parameter)]
    pub set: Vec<(String, u32)>,
    /// Patches per call, of patch kernels: 1,64,4096 [default: the preset's]
    #[arg(
        long,
        value_name = "K",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub patches: Vec<u32>,
    /// Rows of a preset by name, such as "Euler FV" [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "preset")]
    pub rows: Vec<String>,
    /// Point sources that inject at every step [default: 1]
    #[arg(long, value_name = "N")]
    pub sources: Option<usize>,
    /// Receivers that record at every step, over a level of the grid [default: none]
    #[arg(long, value_name = "N")]
    pub receivers: Option<usize>,

    /// How rows are timed.
    #[command(flatten)]
    pub timing: TimingArgs,
    /// What is shown beside the rates.
    #[command(flatten)]
    pub beside: BesideArgs,
    /// Where results go.
    #[command(flatten)]
    pub files: FileArgs,
    /// How they are shown.
    #[command(flatten)]
    pub output: output::OutputArgs,
    /// Comparing instead of measuring.
    #[command(flatten)]
    pub compare: compare::CompareArgs,
}

/// How rows are timed.
#[derive(Debug, Args)]
#[command(next_help_heading = "How it is timed")]
pub struct TimingArgs {
    /// Steps of a sample [default: as many as --seconds takes]
    #[arg(
        long,
        value_name = "STEPS",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub steps: Vec<u32>,
    /// Seconds of a sample, where --steps does not say [default: 0.5]
    #[arg(long, value_name = "S", value_parser = positive)]
    pub seconds: Option<f64>,
    /// Seconds that a row runs before its first sample: devices lower their
    /// clocks under load [default: a fifth of --seconds]
    #[arg(long, value_name = "S", value_parser = positive)]
    pub warm_up: Option<f64>,
    /// Samples per row [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,
    /// Seconds that a row may take, its twin apart; else it is skipped
    #[arg(long, value_name = "S", value_parser = positive)]
    pub timeout: Option<f64>,
    /// Seconds after which no row begins; finished rows are kept, as by
    /// Ctrl-C, and --resume goes on
    #[arg(long, value_name = "S", value_parser = positive)]
    pub within: Option<f64>,
    /// Run at most this many of a preset's steps on the host's processor; the
    /// row says so
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub cpu_steps: Option<u32>,
}

/// What is shown beside the rates.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is beside it")]
pub struct BesideArgs {
    /// Bandwidth to take as the roof, GB/s [default: measured]
    #[arg(long, value_name = "GB/S", value_parser = positive)]
    pub roof: Option<f64>,
    /// Stream arrays of which 1/128 to all is random: shows compression
    #[arg(long)]
    pub fill_sweep: bool,
    /// Time interior and layers separately as well
    #[arg(long)]
    pub by_kernel: bool,
    /// Count normal, denormal, zero and NaN values of p every N steps
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        default_missing_value = "100",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub histogram: Option<u32>,
    /// Count traffic with memory and caches by ncu or perf, in a run of its own
    #[arg(long)]
    pub counters: bool,
    /// Command of a peer, may be repeated: called between rounds with --size N
    /// --boundary KIND, its last line NAME VERSION SIZE THREADS GPTS
    #[arg(long = "peer", value_name = "COMMAND")]
    pub peers: Vec<String>,
}

/// Where results go.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct FileArgs {
    /// Write all results as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a line of JSON per row as it comes; - is standard output
    #[arg(long, value_name = "FILE")]
    pub jsonl: Option<PathBuf>,
    /// Take measured rows of this file instead of measuring them again, and
    /// write them with the others
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Print the matrix with the memory it takes; run nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Step the first row this often and nothing else: what profilers run
    #[arg(long, value_name = "N", hide = true)]
    pub bare: Option<u32>,
}

/// Shapes (x, y, z) of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shapes(Vec<[usize; 3]>);

fn shapes(list: &str) -> temblor_bench::Result<Shapes> {
    sizes::parse(list).map(Shapes)
}

fn parameter(text: &str) -> Result<(String, u32), String> {
    let pair = text.split_once('=').and_then(|(name, value)| Some((name, value.parse().ok()?)));
    pair.map(|(name, value)| (name.trim().to_owned(), value))
        .ok_or_else(|| "give a name and a whole number, as in rows=16".into())
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        _ => Err("give a positive number".into()),
    }
}

/// Measures the matrix; or compares two files of results, or shows some.
///
/// # Errors
/// Those of [`compare::run`] and [`output::show`]; [`Failure::BadInput`], [`Failure::Unsupported`] for a backend or a variant that does not exist,
/// [`Failure::VerifyFailed`] if a row's results are wrong, [`Failure::Output`],
/// [`Failure::Interrupted`].
pub fn run(args: &BenchArgs, quiet: bool) -> anyhow::Result<()> {
    if args.compare.asked() {
        return compare::run(&args.compare, args.output.markdown.as_deref());
    }
    if output::show(&args.output, args.files.json.as_deref())? {
        return Ok(());
    }
    let preset = asked(args)?;
    let subjects = open(&args.backend)?;
    // Schedules of patch kernels are known by kernel; one that there is not has no row.
    let variants = match &args.variant[..] {
        [_, ..] if args.variant != ["all"] && preset.rows.iter().all(|b| b.patch.is_some()) => {
            Variants::Named(args.variant.clone())
        }
        names => variants(names, &subjects)?,
    };
    let mut planned = matrix::build(&preset, &subjects, &variants);
    if planned.is_empty() {
        let message = "no backend has these variants for these problems".to_owned();
        return Err(Failure::Unsupported(message).into());
    }
    let before = args.files.resume.as_deref().map(|file| files::measured(file, &planned));
    let before = before.transpose()?;
    if let Some(before) = &before {
        planned.retain(|row| before.rows.iter().all(|known| known.case != row.case));
    }
    if args.files.dry_run {
        print!("{}", table::dry(&planned, &subjects));
        return Ok(());
    }
    if let Some(steps) = args.files.bare {
        let Some(first) = planned.first() else { return Ok(()) };
        return Ok(measure::bare(first, &subjects, steps).map_err(Failure::Unsupported)?);
    }
    let stop = stop::on_ctrl_c("stopping; finished rows are kept (again: at once)");
    let mut files = Files::new(&args.files, before)?;
    let settings = settings(args, &preset);
    let stages = Stages::new(planned.len() as u64, quiet);
    let began = std::time::Instant::now();
    let devices = devices(&subjects, &settings, &stop, &stages);
    if !quiet {
        for device in &devices {
            stages.print(&table::roofs(device), files.takes_stdout());
        }
    }
    files.begin(devices.clone())?;
    let (width, backends) = (table::width(&planned), args.backend.clone());
    let mut show = Show { stages, files, error: None, quiet, header: false, width, backends };
    let within = args.timing.within.unwrap_or(f64::INFINITY);
    let stopped = || stop.load(Ordering::Relaxed) || began.elapsed().as_secs_f64() > within;
    let whole = measure::run(&planned, &subjects, &devices, &settings, &stopped, &mut show);
    show.stages.finish();
    if let Some(error) = show.error {
        return Err(error.into());
    }
    show.files.end(whole)?;
    let results = show.files.results();
    let rows = &results.rows;
    if !quiet {
        let peers = results.runs.last().map_or(&[][..], |run| &run.peers);
        let peers = table::peers(peers, rows);
        show.stages.print(&peers, show.files.takes_stdout());
    }
    output::write(results, &args.output)?;
    if !whole {
        let all = planned.len() + show.files.before();
        let message = format!(
            "stopped after {} of {all} rows{}",
            rows.len(),
            if args.files.json.is_some() { "; --resume with that file goes on" } else { "" }
        );
        return Err(Failure::Interrupted(message).into());
    }
    let failed = rows.iter().filter(|row| matches!(row.outcome, Outcome::Failed { .. })).count();
    if failed > 0 {
        let message = format!("{failed} of {} rows failed; the table says why", rows.len());
        return Err(Failure::VerifyFailed(message).into());
    }
    Ok(())
}

/// The preset, or a matrix of the usual physics, with the lists of the command line in place of its
/// own.
fn asked(args: &BenchArgs) -> Result<Preset, Failure> {
    let mut preset = match &args.preset {
        Some(name) => preset::named(name).map_err(Failure::input)?,
        None => Preset::usual([256; 3]),
    };
    preset.sources = args.sources.unwrap_or(preset.sources);
    preset.receivers = args.receivers.unwrap_or(preset.receivers);
    let known: Vec<String> = preset.rows.iter().map(|block| block.path.clone()).collect();
    if let Some(name) = args.rows.iter().find(|name| !known.contains(name)) {
        let there = known.join(", ");
        return Err(Failure::input(format!("--rows {name}: the preset's rows are {there}")));
    }
    preset.rows.retain(|block| args.rows.is_empty() || args.rows.contains(&block.path));
    for block in &mut preset.rows {
        if let Some(patch) = &mut block.patch {
            replace(&mut patch.patches, &args.patches);
        }
        block.sources = args.sources.or(block.sources);
        if let Some(Shapes(shapes)) = &args.size {
            block.sizes.clone_from(shapes);
        }
        // Rows that cannot run yet stand for one operator each.
        if !args.order.is_empty() && block.missing.is_none() && block.patch.is_none() {
            block.operators = args.order.iter().map(|order| format!("direct-{order}")).collect();
        }
        replace(&mut block.boundaries, &args.boundary);
        replace(&mut block.arithmetics, &args.arithmetic);
        replace(&mut block.starts, &args.start);
        replace(&mut block.steps, &args.timing.steps);
        block.cells = args.cells.or(block.cells);
        block.parameters.extend(args.set.iter().cloned());
    }
    Ok(preset)
}

fn replace<T: Clone>(list: &mut Vec<T>, by: &[T]) {
    if !by.is_empty() {
        *list = by.to_vec();
    }
}

fn open(names: &[String]) -> Result<Vec<Subject>, Failure> {
    let subject = |backend: Box<dyn temblor_backend::Backend>| {
        let on_host = backends::on_host(&backend.device().backend);
        Subject { backend, on_host }
    };
    if !names.is_empty() {
        return Ok(backends::open_each(names)?.into_iter().map(subject).collect());
    }
    let mut opened = Vec::new();
    for known in backends::all().into_iter().filter(|known| known.name != ORACLE) {
        match known.backend {
            Ok(backend) => opened.push(subject(backend)),
            Err(why) => tracing::warn!("{} is left out: {why}", known.name),
        }
    }
    Ok(opened)
}

fn variants(names: &[String], subjects: &[Subject]) -> Result<Variants, Failure> {
    match names {
        [] => return Ok(Variants::Preferred),
        [all] if all == "all" => return Ok(Variants::All),
        _ => {}
    }
    // Those of reduced storage and of digits too, which solve no problem in single precision.
    let mut known = Vec::new();
    for subject in subjects {
        let names = arithmetic::variants(subject.backend.as_ref());
        known.extend(names.map_err(|error| Failure::Unsupported(error.to_string()))?);
    }
    match names.iter().find(|name| !known.contains(name)) {
        None => Ok(Variants::Named(names.to_vec())),
        Some(name) => {
            let there = known.join(", ");
            let message = format!("there is no variant `{name}`; there are: {there}, or all");
            Err(Failure::Unsupported(message))
        }
    }
}

fn settings(args: &BenchArgs, preset: &Preset) -> Settings {
    let TimingArgs { seconds, warm_up, repeats, timeout, cpu_steps, .. } = args.timing;
    let seconds = seconds.unwrap_or(0.5);
    let repeats = repeats.or(preset.repeats).unwrap_or(10);
    Settings {
        seconds,
        warm_up: warm_up.unwrap_or(0.0),
        repeats,
        timeout,
        host_steps: cpu_steps,
        roof: RoofOptions {
            samples: repeats.min(7),
            // Roofs need no more than a fifth of a row's time: their spread is small.
            seconds: 0.2 * seconds,
            fill_sweep: args.beside.fill_sweep,
            given: args.beside.roof.map(|roof| 1e9 * roof),
        },
        by_kernel: args.beside.by_kernel,
        histogram: args.beside.histogram,
        counters: args.beside.counters,
        peers: args.beside.peers.clone(),
    }
}

fn devices(
    subjects: &[Subject],
    settings: &Settings,
    stop: &AtomicBool,
    stages: &Stages,
) -> Vec<Device> {
    let measured = |subject: &Subject| {
        stages.stage(&format!("{}: roofs", subject.backend.device().backend));
        roofs::measure(subject, settings.roof, || stop.load(Ordering::Relaxed))
    };
    subjects.iter().map(measured).collect()
}

/// Prints and keeps rows as they come.
struct Show {
    stages: Stages,
    files: Files,
    error: Option<Failure>,
    quiet: bool,
    header: bool,
    width: usize,
    /// As the command names them, with their devices.
    backends: Vec<String>,
}

impl Sink for Show {
    fn note(&mut self, what: &str) {
        self.stages.print(&format!("{what}\n"), true);
    }

    fn peers(&mut self, peers: &[Peer]) {
        self.files.peers_are(peers);
    }

    fn counters(&mut self, case: &Case) -> Vec<Counters> {
        self.stages.stage(&format!("{}/{}: counters", case.backend, case.variant));
        profile::counters(case, &self.backends)
    }

    fn stage(&mut self, what: &str) {
        self.stages.stage(what);
    }

    fn row(&mut self, row: Row) {
        if !self.quiet {
            let mut text = String::new();
            if !self.header {
                text += &table::header(self.width);
                self.header = true;
            }
            text += &table::line(&row, self.width);
            self.stages.print(&text, self.files.takes_stdout());
        }
        self.stages.done();
        // The first error is reported at the end; rows go on to the screen.
        if let Err(error) = self.files.row(row) {
            self.error.get_or_insert(error);
        }
    }
}
