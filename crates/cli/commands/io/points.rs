//! Lists of points: what `describe` says of them, and CSV from them.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Result, ensure};
use temblor_io::{Format, csv_points, sps};

/// Describes a CSV or SPS file.
pub(super) fn describe(path: &Path, format: Format, text: &mut String) -> Result<Vec<String>> {
    if format == Format::Csv {
        let points = csv_points::read(path)?;
        writeln!(text, "  points     {}", points.len())?;
        extent(text, &points)?;
        return Ok(Vec::new());
    }
    let file = sps::read(path)?;
    let revision = if file.revision_2 { "2.1" } else { "0" };
    writeln!(text, "  revision   {revision}, one unit is {} m", file.factor)?;
    for (name, points) in [("sources", &file.sources), ("receivers", &file.receivers)] {
        if points.is_empty() {
            continue;
        }
        writeln!(text, "  {name:10} {}", points.len())?;
        let positions: Vec<_> = points.iter().map(|point| point.position(0.0)).collect();
        extent(text, &positions)?;
    }
    if !file.relations.is_empty() {
        let mut records: Vec<_> = file.relations.iter().map(|x| x.field_record).collect();
        records.sort_unstable();
        records.dedup();
        let lines = file.relations.len();
        writeln!(text, "  relations  {lines}, of {} field records", records.len())?;
    }
    Ok(file.warnings)
}

/// Writes points as CSV: what `csv` in a run file reads, with the names of SPS points beside.
pub(super) fn convert(input: &Path, from: Format, output: &Path, datum: f64) -> Result<usize> {
    let mut text = String::new();
    let count = if from == Format::Sps {
        let file = sps::read(input)?;
        let (sources, receivers) = (&file.sources, &file.receivers);
        ensure!(
            sources.is_empty() != receivers.is_empty(),
            "{} has {} sources and {} receivers: a list holds one kind, keep its records only",
            input.display(),
            sources.len(),
            receivers.len()
        );
        text.push_str("line,point,index,x,y,z\n");
        for point in sources.iter().chain(receivers) {
            let ((line, number, index), [x, y, z]) = (&point.name, point.position(datum));
            writeln!(text, "{line},{},{index},{x},{y},{z}", *number as f64 / 100.0)?;
        }
        sources.len() + receivers.len()
    } else {
        let points = csv_points::read(input)?;
        text.push_str("x,y,z\n");
        for [x, y, z] in &points {
            writeln!(text, "{x},{y},{z}")?;
        }
        points.len()
    };
    temblor_io::atomic::write(output, text.as_bytes())?;
    Ok(count)
}

fn extent(text: &mut String, points: &[[f64; 3]]) -> Result<()> {
    for (a, name) in ["x", "y", "z, down"].into_iter().enumerate() {
        let values = points.iter().map(|point| point[a]);
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let most = values.fold(f64::NEG_INFINITY, f64::max);
        writeln!(text, "    {name:9}{least} to {most} m")?;
    }
    Ok(())
}
