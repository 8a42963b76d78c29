//! `temblor io describe`: what a file is, its geometry and its numbers, and what is doubtful.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use temblor_io::segy::{Field, RawTraceHeader, TraceHeader, WordOrder};
use temblor_io::statistics::{Count, Statistics, Tally};
use temblor_io::{Error, Format, Traces, Volume, rsf, trace_fields};

use super::points;
use crate::commands::volume_args::{VolumeArgs, parse_spacing};
use crate::progress::Work;
use crate::stop;

/// Arguments of `temblor io describe`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    temblor io describe shot.sgy line.su vp.rsf\n  \
    temblor io describe big.sgy --quick        # no pass over the numbers\n  \
    temblor io describe vp.bin --shape 676,676,210 --spacing 20")]
pub struct DescribeArgs {
    /// Files: SEG-Y, SU, RSF, npy, VTI, raw, CSV or SPS
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Say what the headers say; do not read all numbers
    #[arg(long)]
    pub quick: bool,
    /// Take the file as traces or as a volume [default: by format]
    #[arg(long = "as", value_enum, value_name = "KIND")]
    pub kind: Option<Kind>,
    /// Node spacing, m, instead of the file's: one number or hx,hy,hz
    #[arg(long, value_name = "M", value_parser = parse_spacing)]
    pub spacing: Option<[f64; 3]>,
    /// Time between samples, ms, instead of the file's
    #[arg(long, value_name = "MS")]
    pub dt_ms: Option<f64>,
    /// How to read the files.
    #[command(flatten)]
    pub reading: VolumeArgs,
}

/// What a file is taken as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// Traces: time along the fastest axis.
    Traces,
    /// A model or snapshot: depth along one axis.
    Volume,
}

/// What a file of a format is unless the user says otherwise: RSF tells by its first axis.
pub(in crate::commands) fn usual_kind(path: &Path, format: Format) -> Kind {
    match format {
        Format::Segy | Format::Su => Kind::Traces,
        Format::Rsf => {
            let first = rsf::read_header(path, None).ok().and_then(|header| {
                let axis = header.axes.into_iter().next()?;
                Some((axis.label.unwrap_or_default().to_lowercase(), axis.unit.unwrap_or_default()))
            });
            let time = |(label, unit): &(String, String)| {
                label.starts_with("time") || matches!(unit.as_str(), "s" | "sec" | "ms" | "us")
            };
            if first.as_ref().is_some_and(time) { Kind::Traces } else { Kind::Volume }
        }
        _ => Kind::Volume,
    }
}

/// Says in the log what is doubtful of a file.
pub(super) fn warn(path: &Path, warnings: &[String]) {
    for warning in warnings {
        tracing::warn!("{}: {warning}", path.display());
    }
}

pub(in crate::commands) fn run(args: &DescribeArgs, quiet: bool) -> Result<()> {
    let stop = stop::on_ctrl_c("stopping; once more to stop at once");
    for path in &args.files {
        let identity = args.reading.identify(path)?;
        let mut text = format!("{}\n", path.display());
        let kind = args.kind.unwrap_or_else(|| usual_kind(path, identity.format));
        let total = std::fs::metadata(path).map_or(0, |m| m.len());
        let work = Work::new("reading", total / 4, quiet, stop.clone());
        let mut warnings = identity.warnings;
        warnings.extend(match (identity.format, kind) {
            (format @ (Format::Csv | Format::Sps), _) => {
                writeln!(text, "  format     {}, a list of points", format.name())?;
                points::describe(path, format, &mut text)?
            }
            (format, Kind::Traces) => {
                let interval = args.dt_ms.map(|ms| ms / 1e3);
                let mut options = args.reading.trace_options(interval);
                options.format = Some(format);
                let traces = Traces::open(path, &options)?;
                let (warnings, positive) = describe_traces(&traces, !args.quick, &work, &mut text)?;
                if traces.has_headers() && positive {
                    also_a_model(args, path, format, &mut text)?;
                }
                warnings
            }
            (format, Kind::Volume) => {
                let mut options = args.reading.options(args.spacing);
                options.format = Some(format);
                let volume = Volume::open(path, &options)?;
                describe_volume(&volume, !args.quick, &work, &mut text)?
            }
        });
        drop(work);
        print!("{text}");
        for warning in warnings {
            println!("  warning    {warning}");
        }
    }
    Ok(())
}

/// Says what the columns of a file make, where its headers place them on a grid.
fn also_a_model(args: &DescribeArgs, path: &Path, format: Format, text: &mut String) -> Result<()> {
    let mut options = args.reading.options(args.spacing);
    options.format = Some(format);
    let Ok(volume) = Volume::open(path, &options) else { return Ok(()) };
    let ([nx, ny, nz], Some([hx, hy, hz])) = (volume.shape(), volume.spacing()) else {
        return Ok(());
    };
    let spacing = if ny > 1 { format!("{hx}, {hy}, {hz}") } else { format!("{hx}, {hz}") };
    writeln!(text, "  as volume  ({nx}, {ny}, {nz}), every {spacing} m: --as volume says more")?;
    Ok(())
}

fn stopped(path: &Path) -> anyhow::Error {
    Error::Stopped { path: path.to_owned() }.into()
}

fn describe_volume(
    volume: &Volume,
    read: bool,
    work: &Work,
    text: &mut String,
) -> Result<Vec<String>> {
    let [nx, ny, nz] = volume.shape();
    let names = ["x", "y", "z"];
    let axes = volume.axes().map(|a| names[a]).join(", ");
    let (format, element) = (volume.format().name(), volume.element().name());
    writeln!(text, "  format     {format}, {element}, {}", WordOrder::from(volume.order()))?;
    let nodes = nx as u64 * ny as u64 * nz as u64;
    writeln!(text, "  shape      ({nx}, {ny}, {nz}) = (x, y, z), {nodes} nodes")?;
    writeln!(text, "  axes       {axes} on disk, slowest first")?;
    match volume.spacing() {
        Some(h) => {
            let origin = volume.origin().unwrap_or([0.0; 3]);
            writeln!(text, "  spacing    m")?;
            for a in (0..3).filter(|&a| volume.shape()[a] > 1) {
                let end = origin[a] + (volume.shape()[a] - 1) as f64 * h[a];
                writeln!(text, "    {:9}{} to {end}, every {}", names[a], origin[a], h[a])?;
            }
        }
        None => writeln!(text, "  spacing    not said; --spacing gives it")?,
    }
    let mut warnings = volume.warnings().to_vec();
    if read {
        let mut whole = true;
        let tally = volume.statistics_with(|done| {
            whole = work.at(done);
            whole
        })?;
        if !whole {
            return Err(stopped(volume.path()));
        }
        let found = tally.finish();
        statistics(text, &found, |[x, y, z]| format!("node ({x}, {y}, {z})"))?;
        if let Some([x, y, z]) = found.first_not_positive() {
            let count = found.zero.number + found.negative.number;
            warnings.push(format!(
                "{count} values are zero or negative, the first at node ({x}, {y}, {z}): no wave \
                 speed"
            ));
        }
    }
    Ok(warnings)
}

/// Ranges of all header fields and of the geometry.
struct Ranges {
    fields: Vec<(Field, f64, f64)>,
    /// Source x, y, z, receiver x, y, z, m.
    places: [(f64, f64); 6],
    shots: std::collections::BTreeSet<i32>,
}

impl Ranges {
    fn add(&mut self, header: &RawTraceHeader, decoded: &TraceHeader) {
        for (field, least, most) in &mut self.fields {
            let value = header.get(field).to_f64();
            (*least, *most) = (least.min(value), most.max(value));
        }
        let places = [decoded.source, decoded.receiver];
        for (range, &value) in self.places.iter_mut().zip(places.as_flattened()) {
            *range = (range.0.min(value), range.1.max(value));
        }
        self.shots.insert(decoded.field_record);
    }
}

/// What a file of traces is; whether all its samples are positive, as those of a model are.
fn describe_traces(
    traces: &Traces,
    read: bool,
    work: &Work,
    text: &mut String,
) -> Result<(Vec<String>, bool)> {
    let su = traces.format() == Format::Su;
    let mut kind = traces.element().map_or(String::new(), |e| format!(", {}", e.name()));
    if let Some(segy) = traces.segy() {
        let (major, minor) = segy.revision();
        let format = segy.format();
        kind = format!(
            " revision {major}.{minor}, {} samples (code {})",
            format.name(),
            format.code()
        );
    }
    writeln!(text, "  format     {}{kind}, {}", traces.format().name(), traces.order())?;
    writeln!(text, "  traces     {}", traces.traces())?;
    if traces.is_variable() {
        writeln!(text, "  lengths    differ, up to:")?;
    }
    let (samples, start) = (traces.samples(), traces.start());
    let mut warnings = traces.warnings().to_vec();
    match traces.sample_interval() {
        Some(dt) => {
            let end = start + (samples - 1) as f64 * dt;
            let us = |v: f64| (v * 1e9).round() / 1e9;
            let (dt, start, end) = (us(dt * 1e3), us(start), us(end));
            writeln!(text, "  samples    {samples}, every {dt} ms, {start} to {end} s")?;
        }
        None => writeln!(text, "  samples    {samples}, interval not said; --dt-ms gives it")?,
    }
    let outside = (f64::INFINITY, f64::NEG_INFINITY);
    // Revision 0 says nothing of what stands behind byte 180.
    let last_byte =
        if traces.segy().is_some_and(|segy| segy.revision().0 == 0) { 180 } else { 240 };
    let known = trace_fields::fields(su).filter(|field| field.byte <= last_byte).copied();
    let fields = if traces.has_headers() { known.collect() } else { vec![] };
    let mut ranges = Ranges {
        fields: fields.into_iter().map(|field: Field| (field, outside.0, outside.1)).collect(),
        places: [outside; 6],
        shots: std::collections::BTreeSet::new(),
    };
    let mut tally = Tally::default();
    let last = traces.traces().saturating_sub(1);
    for trace in 0..traces.traces() {
        if !read && trace != 0 && trace != last {
            continue;
        }
        if let (Some(header), Some(decoded)) = (traces.header(trace)?, traces.geometry(trace)?) {
            ranges.add(&header, &decoded);
        }
        if read {
            tally.add(&traces.samples_of(trace)?, |sample| (trace, sample));
            if !work.at((trace + 1) * samples as u64) {
                return Err(stopped(traces.path()));
            }
        }
    }
    if traces.has_headers() {
        headers(text, &ranges, read, &mut warnings)?;
    }
    let found = tally.finish();
    if read {
        statistics(text, &found, |(trace, sample)| {
            format!("trace {}, sample {}", trace + 1, sample + 1)
        })?;
    }
    let positive = found.count > 0
        && found.first_not_positive().is_none()
        && found.first_not_finite().is_none();
    Ok((warnings, positive))
}

fn headers(
    text: &mut String,
    ranges: &Ranges,
    read: bool,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let whose = if read { "" } else { " (first and last trace)" };
    if read {
        writeln!(text, "  shots      {} field records", ranges.shots.len())?;
    }
    writeln!(text, "  geometry   m{whose}")?;
    for (n, name) in ["source", "receiver"].into_iter().enumerate() {
        let shown: Vec<_> = (0..3)
            .map(|a| {
                let (least, most) = ranges.places[3 * n + a];
                let axis = ["x", "y", "depth"][a];
                if least < most {
                    format!("{axis} {least} to {most}")
                } else {
                    format!("{axis} {least}")
                }
            })
            .collect();
        writeln!(text, "    {name:9}{}", shown.join(", "))?;
    }
    writeln!(text, "  headers    fields that are not 0, as stored{whose}")?;
    for (field, least, most) in &ranges.fields {
        let nothing = *least == 0.0 && *most == 0.0;
        if nothing {
            continue;
        }
        let range = if least < most { format!("{least} to {most}") } else { least.to_string() };
        let name = field.name;
        writeln!(text, "    {name:9}{range:20} {}", field.about)?;
        if matches!(field.byte, 69 | 71 | 109 | 115 | 117) && least < most {
            warnings.push(format!("{name} differs between traces: {range}"));
        }
    }
    let zero = |(least, most): (f64, f64)| least == 0.0 && most == 0.0;
    let of_model = |(field, least, most): &(Field, f64, f64)| {
        matches!(field.name, "cdpx" | "cdpy" | "iline" | "xline" | "d2") && !zero((*least, *most))
    };
    let flat = ranges.places.iter().copied().all(zero) && !ranges.fields.iter().any(of_model);
    if flat {
        warnings.push("all coordinates are 0: the file has no geometry".into());
    }
    Ok(())
}

/// Some seven digits, with a power of ten where zeros would be needed.
fn short(value: f64) -> String {
    let text = match value.abs() {
        0.0 => return "0".to_owned(),
        size if (1e-2..1e3).contains(&size) => format!("{value:.6}"),
        size if (1e3..1e7).contains(&size) => format!("{value:.3}"),
        _ => return format!("{value:.6e}"),
    };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Prints what the numbers are like; `place` names a position.
fn statistics<P: Ord + Copy>(
    text: &mut String,
    found: &Statistics<P>,
    place: impl Fn(P) -> String,
) -> Result<()> {
    if found.max >= found.min {
        let (min, max, mean, rms) = (found.min, found.max, found.mean, found.rms);
        let (min, max) = (short(min.into()), short(max.into()));
        let (mean, rms) = (short(mean), short(rms));
        writeln!(text, "  values     {min} to {max}, mean {mean}, rms {rms}")?;
    }
    let count = |text: &mut String, name: &str, count: Count<P>| match count.first {
        Some(first) => {
            writeln!(text, "  {name:10} {}, the first at {}", count.number, place(first))
        }
        None => writeln!(text, "  {name:10} none"),
    };
    count(text, "NaN", found.nan)?;
    count(text, "infinite", found.infinite)?;
    count(text, "denormal", found.denormal)?;
    count(text, "zero", found.zero)?;
    Ok(())
}
