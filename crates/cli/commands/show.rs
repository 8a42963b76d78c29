//! `temblor show`: a picture of a gather, a model or a snapshot.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use ndarray::{Array2, Axis};
use temblor_io::{Format, Traces, Volume};

use super::io::{Kind as FileKind, usual_kind};
use super::volume_args::bad_input;
use super::volume_args::{VolumeArgs, parse_spacing};
use crate::args::parse_range;
use crate::picture::{
    Colours, Direction, Gather, Horizontal, Image, Quantity, Section, Style, clip_level,
};

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Traces against time.
    Seismogram,
    /// Wave speed or another property.
    Model,
    /// A wavefield at one time.
    Snapshot,
}

/// Arguments of `temblor show`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Draw a gather, a model or a snapshot as PNG",
    after_help = "Examples:\n  \
        temblor show shot.sgy\n  \
        temblor show line.su\n  \
        temblor show survey.sgy --shot 3 --style wiggle --trace-range 1:200\n  \
        temblor show vp.npy --spacing 25 -o vp.png\n  \
        temblor show vp.bin --shape 676,676,210 --spacing 20 --slice z=60"
)]
pub struct ShowArgs {
    /// SEG-Y, SU, RSF, npy, VTI or raw file
    pub file: PathBuf,
    /// Picture to write; the file's name with .png if absent
    #[arg(short, long, value_name = "PNG")]
    pub output: Option<PathBuf>,
    /// What the file holds; guessed if absent
    #[arg(long, value_enum)]
    pub kind: Option<Kind>,
    /// How to draw traces
    #[arg(long, value_enum, default_value = "density")]
    pub style: Style,
    /// Percentile of amplitudes at which colours saturate (default 99; models: 100)
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub clip: Option<f64>,
    /// Colours; by kind if absent
    #[arg(long, value_enum)]
    pub colours: Option<Colours>,
    /// Slice of a volume, by node: x=10, y=3 or z=0 (default: the middle of y)
    #[arg(long, value_name = "AXIS=NODE", value_parser = parse_slice)]
    pub slice: Option<(usize, usize)>,
    /// Node spacing of a volume, m, instead of the file's: one number or hx,hy,hz
    #[arg(long, value_name = "M", value_parser = parse_spacing)]
    pub spacing: Option<[f64; 3]>,
    /// Time between samples of a seismogram, ms, instead of the file's
    #[arg(long, value_name = "MS")]
    pub dt_ms: Option<f64>,
    /// Field record (FFID) to draw; the file's first if absent
    #[arg(long, value_name = "FFID")]
    pub shot: Option<i32>,
    /// Traces to draw, counted from 1 within the shot: first:last
    #[arg(long, value_name = "FIRST:LAST", value_parser = parse_range)]
    pub trace_range: Option<(usize, usize)>,
    /// Title; the file's name if absent
    #[arg(long)]
    pub title: Option<String>,
    /// Size of the picture, pixels
    #[arg(long, value_name = "WxH", value_parser = parse_size)]
    pub size: Option<(u32, u32)>,
    /// How to read raw files.
    #[command(flatten)]
    pub volume: VolumeArgs,
}

/// Draws the picture and prints where it is.
///
/// # Errors
/// Bad input ([`crate::exit::Failure::BadInput`] or an error of `temblor_io`), or a picture that cannot be
/// written.
pub fn run(args: &ShowArgs) -> Result<()> {
    let output = args.output.clone().unwrap_or_else(|| args.file.with_extension("png"));
    let image = draw(args, &output).map_err(bad_input)?;
    image.write(&output)?;
    println!("{}: {} x {} pixels", output.display(), image.width, image.height);
    Ok(())
}

fn draw(args: &ShowArgs, output: &Path) -> Result<Image> {
    ensure!(output != args.file, "the picture would replace {}: give -o", args.file.display());
    let format = args.volume.identify(&args.file)?.format;
    let traces = match args.kind {
        Some(Kind::Seismogram) => !matches!(format, Format::Npy | Format::Raw),
        Some(_) => false,
        None => usual_kind(&args.file, format) == FileKind::Traces,
    };
    if traces {
        return draw_gather(args, format);
    }
    let volume = args.volume.open(&args.file, args.spacing)?;
    let kind = match args.kind {
        Some(kind) => kind,
        None => guess_kind(args, &volume)?,
    };
    match kind {
        Kind::Seismogram => draw_traces(args, &volume),
        Kind::Model | Kind::Snapshot => draw_slice(args, &volume, kind),
    }
}

/// Traces as two axes, signed fields as snapshots, positive values as models.
fn guess_kind(args: &ShowArgs, volume: &Volume) -> Result<Kind> {
    if args.dt_ms.is_some() || args.trace_range.is_some() {
        return Ok(Kind::Seismogram);
    }
    let [nx, ny, nz] = volume.shape();
    // A few planes show the sign; a model is positive everywhere.
    let positive = [0, nx / 2, nx - 1].into_iter().try_fold(true, |so_far, i| {
        let plane = volume.read_region([i, ny / 2, 0], [1, 1, nz])?;
        anyhow::Ok(so_far && plane.iter().all(|&v| v > 0.0))
    })?;
    Ok(match (positive, volume.stored_shape().len()) {
        (true, _) => Kind::Model,
        (false, 2) if volume.spacing().is_none() => Kind::Seismogram,
        (false, _) => Kind::Snapshot,
    })
}

fn title(args: &ShowArgs, what: &str) -> String {
    args.title.clone().unwrap_or_else(|| {
        let name = args.file.file_name().unwrap_or(args.file.as_os_str()).to_string_lossy();
        if what.is_empty() { name.into_owned() } else { format!("{name}, {what}") }
    })
}

/// Traces of SEG-Y and SU by shots, of RSF as they come.
fn draw_gather(args: &ShowArgs, format: Format) -> Result<Image> {
    let mut options = args.volume.trace_options(args.dt_ms.map(|ms| ms / 1e3));
    options.format = Some(format);
    let file = Traces::open(&args.file, &options)?;
    for warning in file.warnings() {
        tracing::warn!("{}: {warning}", args.file.display());
    }
    let mut shots: Vec<i32> = Vec::new();
    let mut of_trace = Vec::new();
    for trace in 0..file.traces() {
        let Some(header) = file.header(trace)? else { break };
        let shot = header.i32(9);
        if shots.last() != Some(&shot) && !shots.contains(&shot) {
            shots.push(shot);
        }
        of_trace.push(shot);
    }
    ensure!(
        args.shot.is_none() || file.has_headers(),
        "--shot needs trace headers: use SEG-Y or SU, or --trace-range"
    );
    let shot = args.shot.or(shots.first().copied());
    ensure!(
        shot.is_none_or(|shot| shots.contains(&shot)),
        "{} has no shot {}: its field records are {}",
        args.file.display(),
        shot.unwrap_or(0),
        listed(&shots)
    );
    let wanted = |trace: &u64| match (shot, usize::try_from(*trace)) {
        (Some(shot), Ok(trace)) => of_trace.get(trace) == Some(&shot),
        _ => true,
    };
    let traces: Vec<u64> = (0..file.traces()).filter(wanted).collect();
    ensure!(!traces.is_empty(), "{} has no traces", args.file.display());
    let (from, to) = chosen(args, traces.len())?;
    let traces = &traces[from..to];
    let mut samples = Array2::<f32>::zeros((traces.len(), file.samples()));
    let (mut receivers, mut start) = (Vec::new(), file.start());
    for (n, (mut row, &trace)) in samples.rows_mut().into_iter().zip(traces).enumerate() {
        // Traces of SEG-Y may be shorter than the longest.
        for (to, value) in row.iter_mut().zip(file.samples_of(trace)?) {
            *to = value;
        }
        if let Some(header) = file.geometry(trace)? {
            receivers.push(header.receiver);
            start = if n == 0 { header.delay } else { start };
        }
    }
    let horizontal = if receivers.len() == traces.len() {
        Horizontal::of_receivers(&receivers, from as u64 + 1)
    } else {
        Horizontal::Number(from as u64 + 1, to as u64)
    };
    let what = match shot {
        Some(shot) if shots.len() > 1 => format!("shot {shot} of {}", shots.len()),
        _ => String::new(),
    };
    gather(args, &what, &samples, start, file.sample_interval(), horizontal)
}

fn listed(shots: &[i32]) -> String {
    let shown = shots.iter().take(10).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if shots.len() > 10 { format!("{shown}, ... ({} in all)", shots.len()) } else { shown }
}

/// Traces asked for, as a range from 0.
fn chosen(args: &ShowArgs, count: usize) -> Result<(usize, usize)> {
    let Some((first, last)) = args.trace_range else { return Ok((0, count)) };
    ensure!(
        last <= count,
        "--trace-range {first}:{last}: there are {count} traces, numbered from 1"
    );
    Ok((first - 1, last))
}

/// npy or raw traces, shape (trace, time).
fn draw_traces(args: &ShowArgs, volume: &Volume) -> Result<Image> {
    let [traces, ny, samples] = volume.shape();
    ensure!(
        ny == 1,
        "a seismogram has two axes (trace, time), {} has three: use --kind snapshot and --slice",
        args.file.display()
    );
    ensure!(args.shot.is_none(), "--shot needs trace headers: use SEG-Y or SU, or --trace-range");
    let (from, to) = chosen(args, traces)?;
    let values = volume.read_region([from, 0, 0], [to - from, 1, samples])?;
    let values = values.index_axis_move(Axis(1), 0);
    let interval = args.dt_ms.map(|ms| ms / 1e3);
    ensure!(
        interval.is_none_or(|dt| dt.is_finite() && dt > 0.0),
        "--dt-ms must be a positive number of milliseconds"
    );
    gather(args, "", &values, 0.0, interval, Horizontal::Number(from as u64 + 1, to as u64))
}

fn gather(
    args: &ShowArgs,
    what: &str,
    samples: &Array2<f32>,
    start: f64,
    interval: Option<f64>,
    horizontal: Horizontal,
) -> Result<Image> {
    let picture = Gather {
        title: title(args, what),
        samples: samples.view(),
        start,
        interval,
        horizontal,
        clip: clip_level(samples.iter().copied(), args.clip.unwrap_or(99.0)),
        label: "Amplitude".to_owned(),
        style: args.style,
        colours: args.colours.unwrap_or(match args.style {
            Style::Both => Colours::RedBlue,
            Style::Density | Style::Wiggle => Colours::Grey,
        }),
    };
    picture.draw(args.size)
}

fn draw_slice(args: &ShowArgs, volume: &Volume, kind: Kind) -> Result<Image> {
    let shape = volume.shape();
    let default = if shape[1] == 1 { (1, 0) } else { (1, shape[1] / 2) };
    let (axis, node) = args.slice.unwrap_or(default);
    let names = ["x", "y", "z"];
    ensure!(
        node < shape[axis],
        "--slice {}={node}: the volume has nodes 0 to {} along {}",
        names[axis],
        shape[axis] - 1,
        names[axis]
    );
    let (mut start, mut size) = ([0; 3], shape);
    (start[axis], size[axis]) = (node, 1);
    let values = volume.read_region(start, size)?.index_axis_move(Axis(axis), 0);
    // Sections have depth downwards, maps have y downwards.
    let (across, down) = [(1, 2), (0, 2), (0, 1)][axis];
    let direction = |a: usize| Direction {
        name: ["Distance x", "Distance y", "Depth"][a].to_owned(),
        origin: volume.origin().map_or(0.0, |o| o[a]),
        spacing: volume.spacing().map(|h| h[a]),
    };
    let slice = match volume.spacing() {
        _ if shape[1] == 1 && axis == 1 => String::new(),
        Some(h) => {
            let origin = volume.origin().map_or(0.0, |o| o[axis]);
            format!("{} = {} m", names[axis], origin + node as f64 * h[axis])
        }
        None => format!("{} = node {node}", names[axis]),
    };
    let picture = Section {
        title: title(args, &slice),
        values: values.view(),
        across: direction(across),
        down: direction(down),
        quantity: quantity(args, kind, &values),
    };
    picture.draw(args.size)
}

fn quantity(args: &ShowArgs, kind: Kind, values: &Array2<f32>) -> Quantity {
    let all = || values.iter().copied();
    if kind == Kind::Snapshot {
        let clip = f64::from(clip_level(all(), args.clip.unwrap_or(99.0)));
        let colours = args.colours.unwrap_or(Colours::RedBlue);
        return Quantity {
            label: "Amplitude".into(),
            from: -clip,
            to: clip,
            colours,
            smooth: true,
        };
    }
    let mut sorted: Vec<f32> = all().filter(|v| v.is_finite()).collect();
    sorted.sort_unstable_by(f32::total_cmp);
    let (from, to) = match args.clip {
        _ if sorted.is_empty() => (0.0, 1.0),
        clip => {
            let cut = (1.0 - clip.unwrap_or(100.0) / 100.0) * (sorted.len() - 1) as f64;
            #[expect(clippy::cast_possible_truncation, reason = "below the length")]
            #[expect(clippy::cast_sign_loss, reason = "not negative")]
            let cut = (cut as usize).min((sorted.len() - 1) / 2);
            (f64::from(sorted[cut]), f64::from(sorted[sorted.len() - 1 - cut]))
        }
    };
    let colours = args.colours.unwrap_or(Colours::Viridis);
    Quantity { label: "Wave speed (m/s)".into(), from, to, colours, smooth: false }
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|p| (1.0..=100.0).contains(p));
    percent.ok_or_else(|| "give a percentile from 1 to 100".to_owned())
}

fn parse_slice(text: &str) -> Result<(usize, usize), String> {
    let help = || "give an axis and a node, such as y=3".to_owned();
    let (name, node) = text.split_once('=').ok_or_else(help)?;
    let axis = ["x", "y", "z"].iter().position(|a| *a == name.trim()).ok_or_else(help)?;
    Ok((axis, node.trim().parse().map_err(|_| help())?))
}

fn parse_size(text: &str) -> Result<(u32, u32), String> {
    let parsed = text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    parsed
        .filter(|&(w, h): &(u32, u32)| (100..=20_000).contains(&w) && (100..=20_000).contains(&h))
        .ok_or_else(|| "give WIDTHxHEIGHT in pixels, 100 to 20000 each".to_owned())
}

#[cfg(test)]
mod tests;
