//! `temblor io convert`: from any format to any other that can hold it.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use temblor_io::atomic::PendingName;
use temblor_io::segy::{SampleFormat, SegyHeader, TraceHeader};
use temblor_io::trace_writer::HeaderOf;
use temblor_io::volume::{VolumeLayout, write};
use temblor_io::{
    ByteOrder, Element, Error, Format, Real, TraceLayout, TraceWriter, Traces, Volume,
};

use super::describe::{Kind, usual_kind, warn};
use super::points;
use crate::commands::reordered::{Reordered, parse_axes};
use crate::commands::volume_args::{
    ElementName, FormatName, OrderName, VolumeArgs, parse_sample_format, parse_spacing,
};
use crate::progress::Work;
use crate::stop;

/// Arguments of `temblor io convert`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Traces go to SEG-Y, SU, RSF and npy, headers along to SEG-Y and SU; volumes to \
    SEG-Y, SU, RSF, npy, VTI and raw; SPS points to CSV. What the file says of spacing and interval is kept unless \
    --spacing or --dt-ms says otherwise; SEG-Y to SEG-Y keeps all headers. Ctrl-C leaves nothing half written.\n\n\
    Examples:\n  \
    temblor io convert shot.sgy shot.su\n  \
    temblor io convert ibm.sgy ieee.sgy --sample-format ieee\n  \
    temblor io convert shot.npy shot.sgy --dt-ms 4\n  \
    temblor io convert vp.rsf vp.vti            # for ParaView\n  \
    temblor io convert vp.sgy vp.npy --as volume\n  \
    temblor io convert salt.bin salt.rsf --shape 676,676,210 --spacing 20"
)]
pub struct ConvertArgs {
    /// File to read
    pub input: PathBuf,
    /// File to write
    pub output: PathBuf,
    /// Format to write [default: by the name's ending; raw if unknown]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Option<FormatName>,
    /// Take the file as traces or as a volume [default: by the formats]
    #[arg(long = "as", value_enum, value_name = "KIND")]
    pub kind: Option<Kind>,
    /// Element type to write [default: the file's, f4 for f2]
    #[arg(long, value_enum, value_name = "TYPE")]
    pub element: Option<ElementName>,
    /// Byte order to write [default: little; SEG-Y: the file's, else big]
    #[arg(long, value_enum, value_name = "ORDER")]
    pub write_order: Option<OrderName>,
    /// SEG-Y: sample format to write: ibm, ieee, f8, i2, .. [default: the file's if it is SEG-Y, else
    /// ieee]
    #[arg(long, value_name = "FORMAT", value_parser = parse_sample_format)]
    pub sample_format: Option<SampleFormat>,
    /// SEG-Y: revision to write, 0, 1 or 2 [default: 1, or 2 where that is needed]
    #[arg(long, value_name = "REVISION", value_parser = clap::value_parser!(u8).range(0..=2))]
    pub revision: Option<u8>,
    /// Write npy and raw volumes with x fastest
    #[arg(long)]
    pub write_x_fastest: bool,
    /// Axes of the volume from slowest to fastest; alone it means zyx
    #[arg(long, value_name = "AXES", num_args = 0..=1, default_missing_value = "zyx",
          value_parser = parse_axes)]
    pub transpose: Option<[usize; 3]>,
    /// Node spacing, m, instead of the file's: one number or hx,hy,hz
    #[arg(long, value_name = "M", value_parser = parse_spacing)]
    pub spacing: Option<[f64; 3]>,
    /// Position of the first node, m, instead of the file's: x,y,z
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_origin, allow_hyphen_values = true)]
    pub origin: Option<[f64; 3]>,
    /// Time between samples, ms, instead of the file's
    #[arg(long, value_name = "MS")]
    pub dt_ms: Option<f64>,
    /// SPS to CSV: height above sea level of z = 0, m
    #[arg(long, value_name = "M", default_value_t = 0.0, allow_negative_numbers = true)]
    pub datum: f64,
    /// How to read the file.
    #[command(flatten)]
    pub reading: VolumeArgs,
}

fn parse_origin(text: &str) -> Result<[f64; 3], String> {
    let values: Option<Vec<f64>> =
        text.split(',').map(|v| v.trim().parse().ok().filter(|v: &f64| v.is_finite())).collect();
    match values.as_deref() {
        Some([x, y, z]) => Ok([*x, *y, *z]),
        Some([x, z]) => Ok([*x, 0.0, *z]),
        _ => Err("give metres: x,y,z or x,z".to_owned()),
    }
}

pub(in crate::commands) fn run(args: &ConvertArgs, quiet: bool) -> Result<()> {
    ensure!(
        !same_file(&args.input, &args.output),
        "{} is both read and written: name another output",
        args.input.display()
    );
    ensure!(
        args.dt_ms.is_none_or(|ms| ms.is_finite() && ms > 0.0),
        "--dt-ms must be a positive number of milliseconds"
    );
    let from = args.reading.identify(&args.input)?;
    warn(&args.input, &from.warnings);
    let to = args
        .to
        .map(Format::from)
        .or_else(|| Format::of_extension(&args.output))
        .unwrap_or(Format::Raw);
    if matches!(from.format, Format::Csv | Format::Sps) {
        ensure!(to == Format::Csv, "points are written as CSV: name an output that ends in .csv");
        let count = points::convert(&args.input, from.format, &args.output, args.datum)?;
        println!("{}: CSV, {count} points", args.output.display());
        return Ok(());
    }
    ensure!(
        !matches!(to, Format::Csv | Format::Sps),
        "{} holds no points; `temblor io headers --csv` prints the geometry of traces",
        args.input.display()
    );
    let kind = match args.kind {
        Some(kind) => kind,
        None => guess_kind(args, from.format, to)?,
    };
    match kind {
        Kind::Traces => convert_traces(args, from.format, to, quiet),
        Kind::Volume => convert_volume(args, from.format, to, quiet),
    }
}

/// Traces or a volume, by the formats and by what the user gives.
fn guess_kind(args: &ConvertArgs, from: Format, to: Format) -> Result<Kind> {
    let given = (args.dt_ms.is_some(), args.spacing.is_some() || args.transpose.is_some());
    Ok(match (from, to, given) {
        (_, Format::Vti | Format::Raw, _) => Kind::Volume,
        (_, _, (true, false)) => Kind::Traces,
        (Format::Npy | Format::Raw, Format::Segy | Format::Su, (false, false)) => bail!(
            "{} may hold traces or a model: give --dt-ms for traces, --spacing for a model, or --as",
            args.input.display()
        ),
        (Format::Npy | Format::Raw | Format::Vti, ..) => Kind::Volume,
        _ => usual_kind(&args.input, from),
    })
}

fn same_file(a: &std::path::Path, b: &std::path::Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn order_of(args: &ConvertArgs) -> ByteOrder {
    args.write_order.map(ByteOrder::from).unwrap_or_default()
}

fn element_of(args: &ConvertArgs, own: Element, to: Format) -> Element {
    args.element.map_or_else(
        || match (own, to) {
            (_, Format::Su | Format::Segy) | (Element::F16, _) => Element::F32,
            (own, _) => own,
        },
        Element::from,
    )
}

fn convert_volume(args: &ConvertArgs, from: Format, to: Format, quiet: bool) -> Result<()> {
    let mut options = args.reading.options(args.spacing);
    options.format = Some(from);
    let volume = Volume::open(&args.input, &options)?;
    warn(&args.input, volume.warnings());
    let source = Reordered::new(&volume, args.transpose.unwrap_or([0, 1, 2]));
    let shape = source.shape();
    let layout = VolumeLayout {
        format: to,
        shape,
        element: element_of(args, volume.element(), to),
        order: order_of(args),
        fortran: args.write_x_fastest,
        // A given spacing is along x, y, z as they will be; the file's goes along with its axes.
        spacing: args.spacing.or_else(|| volume.spacing().map(|h| source.along(h))),
        origin: args
            .origin
            .or_else(|| volume.origin().map(|o| source.along(o)))
            .unwrap_or([0.0; 3]),
        name: "wave_speed".to_owned(),
    };
    let stop = stop::on_ctrl_c("stopping; nothing will be left half written");
    let total = shape.iter().map(|&n| n as u64).product();
    let work = Work::new("converting", total, quiet, stop);
    // Singles hold what singles, halves and short integers say; the rest needs doubles.
    if matches!(volume.element(), Element::F64 | Element::I32) {
        let region = |start, shape| source.region::<f64>(start, shape);
        write(&args.output, &layout, region, |done| work.at(done))?;
    } else {
        let region = |start, shape| source.region::<f32>(start, shape);
        write(&args.output, &layout, region, |done| work.at(done))?;
    }
    drop(work);
    let [nx, ny, nz] = shape;
    println!(
        "{}: {}, shape ({nx}, {ny}, {nz}), {}",
        args.output.display(),
        to.name(),
        layout.element.name()
    );
    Ok(())
}

fn convert_traces(args: &ConvertArgs, from: Format, to: Format, quiet: bool) -> Result<()> {
    let mut options = args.reading.trace_options(args.dt_ms.map(|ms| ms / 1e3));
    options.format = Some(from);
    let traces = Traces::open(&args.input, &options)?;
    warn(&args.input, traces.warnings());
    ensure!(
        args.transpose.is_none() && args.spacing.is_none(),
        "--transpose and --spacing belong to volumes: add --as volume"
    );
    let mut layout =
        TraceLayout::new(to, traces.samples(), traces.sample_interval(), traces.traces());
    layout.start = traces.start();
    layout.element = element_of(args, traces.element().unwrap_or_default(), to);
    layout.order = order_of(args);
    match to {
        Format::Segy => layout.segy = segy_header(args, &traces)?,
        _ => ensure!(
            !traces.is_variable(),
            "{}: its traces differ in length, which {} cannot hold: convert it to SEG-Y",
            args.input.display(),
            to.name()
        ),
    }
    if matches!(to, Format::Su | Format::Segy) && !traces.has_headers() {
        tracing::warn!(
            "{} has no trace headers: geometry is 0, traces are numbered",
            args.input.display()
        );
    }
    layout.check(&args.output)?;
    let stop = stop::on_ctrl_c("stopping; nothing will be left half written");
    let work = Work::new("converting", traces.traces(), quiet, stop);
    let pending = PendingName::new(&args.output)?;
    let named = |error: Error| error.about(&args.output);
    let mut writer = TraceWriter::create(pending.temporary(), &layout).map_err(named)?;
    let wide = match traces.segy() {
        Some(segy) => !matches!(
            segy.format(),
            SampleFormat::Ieee
                | SampleFormat::I16
                | SampleFormat::I8
                | SampleFormat::I24
                | SampleFormat::U8
                | SampleFormat::U16
                | SampleFormat::U24
        ),
        None => matches!(traces.element(), Some(Element::F64 | Element::I32)),
    };
    for trace in 0..traces.traces() {
        if wide {
            copy::<f64>(args, &traces, trace, &mut writer)?;
        } else {
            copy::<f32>(args, &traces, trace, &mut writer)?;
        }
        if !work.at(trace + 1) {
            return Err(Error::Stopped { path: args.output.clone() }.into());
        }
    }
    let losses = writer.losses();
    writer.finish().map_err(named)?;
    pending.commit()?;
    drop(work);
    for (count, what) in [
        (losses.saturated, "beyond the range of the sample format, written as its largest value"),
        (losses.not_a_number, "not a number, written as the largest IBM float or as 0"),
        (losses.rounded, "rounded to whole numbers"),
    ] {
        if count > 0 {
            tracing::warn!("{}: {count} samples were {what}", args.output.display());
        }
    }
    println!(
        "{}: {}, {} traces of {} samples",
        args.output.display(),
        to.name(),
        traces.traces(),
        traces.samples()
    );
    Ok(())
}

fn copy<R: Real>(
    args: &ConvertArgs,
    traces: &Traces,
    trace: u64,
    writer: &mut TraceWriter,
) -> Result<()> {
    let samples = traces.samples_as::<R>(trace)?;
    let written = match (traces.header(trace)?, traces.segy()) {
        (Some(header), Some(segy)) => {
            let extensions = segy.header_extensions(trace)?;
            writer.write(HeaderOf::Segy(&header, &extensions), &samples)
        }
        (Some(header), None) => writer.write(HeaderOf::Su(&header), &samples),
        (None, _) => {
            let number = i32::try_from(trace + 1).ok().context("too many traces for headers")?;
            let header = TraceHeader {
                field_record: 1,
                trace_in_record: number,
                delay: traces.start(),
                ..TraceHeader::default()
            };
            writer.write(HeaderOf::Decoded(&header), &samples)
        }
    };
    Ok(written.map_err(|error| error.about(&args.output))?)
}

/// The SEG-Y headers to write: the input's own where it is SEG-Y.
fn segy_header(args: &ConvertArgs, traces: &Traces) -> Result<SegyHeader> {
    let mut header = match traces.segy() {
        Some(segy) => SegyHeader::like(segy)?,
        None => {
            let name = args.input.file_name().unwrap_or_default().to_string_lossy();
            let mut header = SegyHeader::default();
            header
                .text
                .push(format!("Converted by temblor from {name} ({})", traces.format().name()));
            header
        }
    };
    if let Some(format) = args.sample_format {
        header.format = format;
    }
    if let Some(order) = args.write_order {
        header.order = ByteOrder::from(order).into();
    }
    header.revision = args.revision.or(header.revision);
    Ok(header)
}
