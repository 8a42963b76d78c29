//! `temblor io headers`: chosen fields of trace headers.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use temblor_io::segy::{Field, HeaderMap, apply_scalar};
use temblor_io::{Format, Traces, trace_fields};

use crate::args::parse_range;
use crate::commands::volume_args::VolumeArgs;

/// Fields that are printed unless others are asked for.
const USUAL: &str = "tracl,fldr,tracf,offset,sx,sy,gx,gy,gelev,sdepth,scalco,ns,dt";
/// Traces that are printed as a table unless more are asked for.
const TABLE_TRACES: u64 = 50;

/// Arguments of `temblor io headers`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Fields have the names of SU; `--list` prints them. byteN:K is the field that starts \
    at byte N, K one of u1, i2, u2, i4, u4, i8, f4, f8 and ibm.\n\n\
    Examples:\n  \
    temblor io headers shot.sgy\n  \
    temblor io headers shot.su --fields fldr,tracf,sx,gx --traces 1:10\n  \
    temblor io headers survey.sgy --fields sx,sy,gx,gy --metres --csv > geometry.csv"
)]
pub struct HeadersArgs {
    /// SEG-Y or SU file
    pub file: PathBuf,
    /// Fields, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = USUAL)]
    pub fields: Vec<String>,
    /// Traces, counted from 1: first:last [default: the first 50; all with --csv]
    #[arg(long, value_name = "FIRST:LAST", value_parser = parse_range)]
    pub traces: Option<(usize, usize)>,
    /// Comma-separated values, all traces
    #[arg(long)]
    pub csv: bool,
    /// Apply the scalars: coordinates and elevations in metres
    #[arg(long)]
    pub metres: bool,
    /// List the fields' names and end
    #[arg(long)]
    pub list: bool,
    /// How to read the file.
    #[command(flatten)]
    pub reading: VolumeArgs,
}

pub(super) fn run(args: &HeadersArgs) -> Result<()> {
    let traces = Traces::open(&args.file, &args.reading.trace_options(None))?;
    super::describe::warn(&args.file, traces.warnings());
    ensure!(
        traces.has_headers(),
        "{} is {}: it has no trace headers; SEG-Y and SU files have",
        args.file.display(),
        traces.format().name()
    );
    let su = traces.format() == Format::Su;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    if args.list {
        writeln!(out, "name      bytes    type  meaning")?;
        for field in trace_fields::fields(su) {
            let bytes = format!("{}-{}", field.byte, field.byte + field.kind.bytes() - 1);
            let kind = field.kind.name();
            writeln!(out, "{:10}{bytes:9}{kind:6}{}", field.name, field.about)?;
        }
        return quietly(out.flush());
    }
    let fields = chosen(&args.fields, su, args.reading.header_map.as_ref())?;
    let last = if args.csv { traces.traces() } else { traces.traces().min(TABLE_TRACES) };
    let (first, last) = match args.traces {
        None => (0, last),
        Some((first, last)) => {
            let (first, last) = (first as u64 - 1, last as u64);
            ensure!(
                last <= traces.traces(),
                "--traces {}:{last}: the file has {} traces",
                first + 1,
                traces.traces()
            );
            (first, last)
        }
    };
    let printed = print(&mut out, args, &traces, &fields, first..last);
    printed.or_else(|error| match error.downcast::<std::io::Error>() {
        Ok(error) => quietly(Err(error)),
        Err(error) => Err(error),
    })?;
    quietly(out.flush())?;
    if args.traces.is_none() && last < traces.traces() {
        tracing::info!("{last} of {} traces; --traces first:last or --csv", traces.traces());
    }
    Ok(())
}

/// A reader that has gone, as in `temblor io headers | head`, is no fault.
fn quietly(result: std::io::Result<()>) -> Result<()> {
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        other => other.context("cannot print"),
    }
}

fn chosen(names: &[String], su: bool, map: Option<&HeaderMap>) -> Result<Vec<(String, Field)>> {
    let mut fields = Vec::new();
    for name in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
        let moved = map.filter(|map| map.moves(name)).and_then(|map| map.field(name));
        let Some(field) = moved.or_else(|| trace_fields::find(name, su)) else {
            let format = if su { "SU" } else { "SEG-Y" };
            bail!(
                "there is no field `{name}` in {format} trace headers: `--list` prints them, and \
                 byteN:i2, byteN:i4, byteN:f4 and so on read any byte"
            );
        };
        fields.push((name.to_owned(), field));
    }
    ensure!(!fields.is_empty(), "--fields names no field");
    Ok(fields)
}

fn print(
    out: &mut impl Write,
    args: &HeadersArgs,
    traces: &Traces,
    fields: &[(String, Field)],
    range: std::ops::Range<u64>,
) -> Result<()> {
    let widths: Vec<usize> = fields.iter().map(|(name, _)| name.len().max(9)).collect();
    let names: Vec<_> = fields.iter().map(|(name, _)| name.as_str()).collect();
    if args.csv {
        writeln!(out, "trace,{}", names.join(","))?;
    } else {
        write!(out, "{:>8}", "trace")?;
        for (name, width) in names.iter().zip(&widths) {
            write!(out, " {name:>width$}")?;
        }
        writeln!(out)?;
    }
    for trace in range {
        let header = traces.header(trace)?.context("a trace without header")?;
        write!(out, "{:>width$}", trace + 1, width = if args.csv { 0 } else { 8 })?;
        for ((_, field), width) in fields.iter().zip(&widths) {
            let scalar = args.metres.then(|| scalar_of(field)).flatten();
            let stored = header.get(field).to_f64();
            let value = scalar.map_or(stored, |byte| apply_scalar(stored, header.i16(byte)));
            if args.csv {
                write!(out, ",{value}")?;
            } else {
                write!(out, " {value:>width$}")?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Byte of the scalar of a length, if the field is one.
fn scalar_of(field: &Field) -> Option<usize> {
    match field.name {
        "gelev" | "selev" | "sdepth" | "gdel" | "sdel" | "swdep" | "gwdep" => Some(69),
        "sx" | "sy" | "gx" | "gy" | "cdpx" | "cdpy" => Some(71),
        _ => None,
    }
}
