//! `temblor io convert`: from any format to any other that can hold it.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use temblor_io::atomic::PendingName;
use temblor_io::segy::TraceHeader;
use temblor_io::trace_writer::HeaderOf;
use temblor_io::volume::{VolumeLayout, write};
use temblor_io::{
    ByteOrder, Element, Error, Format, Real, TraceLayout, TraceWriter, Traces, Volume,
};

use super::describe::{Kind, usual_kind, warn};
use crate::commands::reordered::{Reordered, parse_axes};
use crate::commands::volume_args::{ElementName, FormatName, OrderName, VolumeArgs, parse_spacing};
use crate::progress::Work;
use crate::stop;

/// Arguments of `temblor io convert`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Traces go to SEG-Y, SU, RSF and npy, headers along to SEG-Y and SU; volumes to RSF, \
    npy, VTI, raw and SU. What the file says of spacing and interval is kept unless \
    --spacing or --dt-ms says otherwise. Ctrl-C leaves nothing half written.\n\n\
    Examples:\n  \
    temblor io convert shot.sgy shot.su\n  \
    temblor io convert shot.npy shot.sgy --dt-ms 4\n  \
    temblor io convert vp.rsf vp.vti            # for ParaView\n  \
    temblor io convert vp.su vp.npy --as volume\n  \
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
    /// Byte order to write [default: little; SEG-Y is big endian]
    #[arg(long, value_enum, value_name = "ORDER")]
    pub write_order: Option<OrderName>,
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
    let kind = args.kind.unwrap_or_else(|| match (from.format, to) {
        (_, Format::Vti | Format::Raw) => Kind::Volume,
        (_, Format::Segy) => Kind::Traces,
        _ if args.dt_ms.is_some() => Kind::Traces,
        (format, _) => usual_kind(&args.input, format),
    });
    match kind {
        Kind::Traces => convert_traces(args, from.format, to, quiet),
        Kind::Volume => convert_volume(args, from.format, to, quiet),
    }
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
    if matches!(to, Format::Su | Format::Segy) {
        ensure!(
            layout.element == Element::F32,
            "{} files are written as f4: leave --element out",
            to.name()
        );
        ensure!(
            to == Format::Su || args.write_order.is_none(),
            "SEG-Y is written big endian: leave --write-order out"
        );
        if !traces.has_headers() {
            tracing::warn!(
                "{} has no trace headers: geometry is 0, traces are numbered",
                args.input.display()
            );
        }
    }
    layout.text = text(&traces);
    layout.check(&args.output)?;
    let stop = stop::on_ctrl_c("stopping; nothing will be left half written");
    let work = Work::new("converting", traces.traces(), quiet, stop);
    let pending = PendingName::new(&args.output)?;
    let mut writer = TraceWriter::create(pending.temporary(), &layout)?;
    for trace in 0..traces.traces() {
        match traces.element() {
            Some(Element::F64 | Element::I32) => copy::<f64>(&traces, trace, &mut writer)?,
            _ => copy::<f32>(&traces, trace, &mut writer)?,
        }
        if !work.at(trace + 1) {
            return Err(Error::Stopped { path: args.output.clone() }.into());
        }
    }
    writer.finish()?;
    pending.commit()?;
    drop(work);
    println!(
        "{}: {}, {} traces of {} samples",
        args.output.display(),
        to.name(),
        traces.traces(),
        traces.samples()
    );
    Ok(())
}

fn copy<R: Real>(traces: &Traces, trace: u64, writer: &mut TraceWriter) -> Result<()> {
    let samples = traces.samples_as::<R>(trace)?;
    match traces.header(trace)? {
        Some(header) => {
            let su = traces.format() == Format::Su;
            writer.write(HeaderOf::Raw { header: &header, su }, &samples)?;
        }
        None => {
            let number = i32::try_from(trace + 1).ok().context("too many traces for headers")?;
            let header = TraceHeader {
                field_record: 1,
                trace_in_record: number,
                delay: traces.start(),
                ..TraceHeader::default()
            };
            writer.write(HeaderOf::Decoded(&header), &samples)?;
        }
    }
    Ok(())
}

/// Lines for a text header: the input's own, or where the traces come from.
fn text(traces: &Traces) -> Vec<String> {
    let Some(segy) = traces.segy() else {
        let name = traces.path().file_name().unwrap_or_default().to_string_lossy();
        return vec![format!("Converted by temblor from {name} ({})", traces.format().name())];
    };
    // The writer numbers the lines itself.
    let bare = segy.text().iter().map(|line| line.get(3..).unwrap_or("").trim().to_owned());
    let mut lines: Vec<String> = bare.take(38).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}
