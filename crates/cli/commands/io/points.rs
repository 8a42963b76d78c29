//! What `describe` says of lists of points.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;
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

fn extent(text: &mut String, points: &[[f64; 3]]) -> Result<()> {
    for (a, name) in ["x", "y", "z, down"].into_iter().enumerate() {
        let values = points.iter().map(|point| point[a]);
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let most = values.fold(f64::NEG_INFINITY, f64::max);
        writeln!(text, "    {name:9}{least} to {most} m")?;
    }
    Ok(())
}
