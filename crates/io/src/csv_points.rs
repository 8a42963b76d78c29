//! Lists of sources or receivers: one position per line, x, y and z (depth) in metres.
//!
//! Columns are separated by commas, semicolons, tabs or blanks. A first line of names is optional
//! and lets columns stand in any order (`x`, `y`, `z` or `depth`; others are ignored; without `y`
//! it is 0). A name may end in its unit, as in `x_ft`, `x (ft)` or `depth [km]`; m, km and ft are
//! known. Without names a line holds x, y, z, or x, z, in m. `#` starts a comment.

use std::path::Path;

use crate::{Error, Result};

/// Reads positions (x, y, z), m.
///
/// # Errors
/// [`Error::Io`], [`Error::Line`] with the first line that cannot be read, [`Error::Invalid`] if no
/// position is found.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<[f64; 3]>> {
    let path = path.as_ref();
    let text = std::fs::read(path).map_err(|e| Error::io(path, "read", None, e))?;
    parse(&String::from_utf8_lossy(&text), path)
}

/// Reads positions from text; `path` is named in errors.
///
/// # Errors
/// As [`read`].
pub fn parse(text: &str, path: &Path) -> Result<Vec<[f64; 3]>> {
    let mut columns: Option<Columns> = None;
    let mut points = Vec::new();
    for (index, full) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let at = |what: String, remedy: &str| Error::Line {
            path: path.to_owned(),
            line: index + 1,
            what,
            remedy: remedy.to_owned(),
        };
        let line = full.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let cells = split(line);
        let wanted = match &columns {
            Some(columns) => *columns,
            None => {
                let names = cells.iter().any(|cell| cell.parse::<f64>().is_err());
                let found = if names { Columns::named(&cells) } else { Columns::plain(&cells) };
                let found = found.map_err(|what| at(what, "name or give the columns x, y, z"))?;
                columns = Some(found);
                if names {
                    continue;
                }
                found
            }
        };
        let complete =
            if wanted.exact { cells.len() == wanted.count } else { cells.len() >= wanted.count };
        if !complete {
            let what = format!("{} columns instead of {}", cells.len(), wanted.count);
            return Err(at(what, "give every line the same columns"));
        }
        let mut point = [0.0; 3];
        for (a, column) in wanted.axes.iter().enumerate() {
            let Some(column) = *column else { continue };
            let value = cells[column].parse::<f64>().ok().filter(|v| v.is_finite());
            let Some(value) = value else {
                let what = format!("`{}` is not a number of metres", cells[column]);
                return Err(at(what, "use digits and a decimal point"));
            };
            point[a] = value * wanted.factors[a];
        }
        points.push(point);
    }
    if points.is_empty() {
        let remedy = "give one line x, y, z per point";
        return Err(Error::invalid(path, "the number of points", 0, remedy));
    }
    Ok(points)
}

/// Which column holds which axis.
#[derive(Debug, Clone, Copy)]
struct Columns {
    axes: [Option<usize>; 3],
    /// From each column's unit to m.
    factors: [f64; 3],
    /// Columns that a line must have, exactly or at least.
    count: usize,
    exact: bool,
}

impl Columns {
    fn named(cells: &[&str]) -> std::result::Result<Self, String> {
        let find = |names: &[&str]| {
            cells.iter().enumerate().find_map(|(column, cell)| {
                let cell = cell.trim_matches('"').trim().to_ascii_lowercase();
                let at = cell.find(['(', '[', '_']).unwrap_or(cell.len());
                let (name, unit) = (cell[..at].trim(), cell[at..].trim());
                names.contains(&name).then(|| (column, unit.to_owned()))
            })
        };
        let found = [find(&["x"]), find(&["y"]), find(&["z", "depth"])];
        let mut factors = [1.0; 3];
        for (factor, (_, unit)) in
            factors.iter_mut().zip(&found).filter_map(|(f, c)| Some((f, c.as_ref()?)))
        {
            *factor = match unit.trim_matches(['(', ')', '[', ']', '_']) {
                "" | "m" => 1.0,
                "km" => 1000.0,
                "ft" | "feet" => 0.3048,
                other => return Err(format!("a column in `{other}`; m, km and ft are known")),
            };
        }
        let axes = found.map(|column| column.map(|(column, _)| column));
        if axes[0].is_none() || axes[2].is_none() {
            return Err(format!("no columns x and z in `{}`", cells.join(", ")));
        }
        let count = axes.iter().flatten().max().map_or(0, |last| last + 1);
        Ok(Self { axes, factors, count, exact: false })
    }

    fn plain(cells: &[&str]) -> std::result::Result<Self, String> {
        let axes = match cells.len() {
            2 => [Some(0), None, Some(1)],
            3 => [Some(0), Some(1), Some(2)],
            n => return Err(format!("{n} columns without names")),
        };
        Ok(Self { axes, factors: [1.0; 3], count: cells.len(), exact: true })
    }
}

fn split(line: &str) -> Vec<&str> {
    let by = |separator: char| line.split(separator).map(str::trim).collect();
    match [',', ';', '\t'].into_iter().find(|&c| line.contains(c)) {
        Some(separator) => by(separator),
        None => line.split_whitespace().collect(),
    }
}
