//! What `[[output]]` asks for, checked against unknowns and axes.

use std::path::PathBuf;

use super::schema::{AxisName, OutputTable};
use crate::exit::Failure;
use crate::nearest::hint;

/// Stands for an unknown's name in `file`.
pub const UNKNOWN_PLACEHOLDER: &str = "{unknown}";

/// What a file holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// VTK image data, one unknown per file.
    Vti,
    /// `NumPy`, shape (x, y, z) or, of several unknowns, (unknown, x, y, z).
    Npy,
    /// A plot along a line through a point, m.
    Line {
        /// Axis.
        axis: usize,
        /// A point of it, m; the middle if absent.
        through: Option<[f64; 3]>,
    },
    /// A map of the whole, in 3-D of its middle in z.
    Map,
}

/// An output.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSpec {
    /// Name as given, relative to the output folder; may hold [`UNKNOWN_PLACEHOLDER`].
    pub file: PathBuf,
    /// What it holds.
    pub kind: Kind,
    /// Places of unknowns.
    pub unknowns: Vec<usize>,
    /// Time between files, s; none: one at the end.
    pub interval: Option<f64>,
}

impl OutputSpec {
    /// Checks a table; `number` counts outputs from 1, `names` are the N + M unknowns.
    ///
    /// # Errors
    /// [`Failure::BadInput`] that names the key.
    pub fn new(
        table: &OutputTable,
        number: usize,
        names: &[String],
        dimensions: usize,
    ) -> Result<Self, Failure> {
        let key = |key: &str| format!("[[output]] {number}, {key}");
        let kind = kind(table, &key, dimensions)?;
        let unknowns = match &table.unknowns {
            None => (0..names.len()).collect(),
            Some(list) => list
                .iter()
                .map(|wanted| {
                    names.iter().position(|name| name == wanted).ok_or_else(|| {
                        let hint = hint(wanted, names.iter().map(String::as_str));
                        Failure::input(format!(
                            "{}: no unknown `{wanted}`; {hint}",
                            key("unknowns")
                        ))
                    })
                })
                .collect::<Result<Vec<_>, _>>()?,
        };
        if unknowns.is_empty() {
            return Err(Failure::input(format!("{}: name at least one", key("unknowns"))));
        }
        let text = table.file.to_string_lossy();
        if matches!(kind, Kind::Vti | Kind::Map)
            && unknowns.len() > 1
            && !text.contains(UNKNOWN_PLACEHOLDER)
        {
            return Err(Failure::input(format!(
                "{} = \"{text}\": such a file holds one unknown and {} are asked for: put \
                 {UNKNOWN_PLACEHOLDER} into the name",
                key("file"),
                unknowns.len()
            )));
        }
        if let Some(interval) = table.interval
            && !(interval.is_finite() && interval > 0.0)
        {
            let what = key("interval");
            return Err(Failure::input(format!("{what} is {interval} s: give a positive time")));
        }
        Ok(Self { file: table.file.clone(), kind, unknowns, interval: table.interval })
    }

    /// Name of a file, for an unknown (where the name asks for one) and a frame.
    #[must_use]
    pub fn name(&self, unknown: &str, frame: Option<u64>) -> PathBuf {
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        let mut name = name.replace(UNKNOWN_PLACEHOLDER, unknown);
        if let Some(frame) = frame {
            let dot = name.rfind('.').unwrap_or(name.len());
            name.insert_str(dot, &format!("-{frame:04}"));
        }
        self.file.with_file_name(name)
    }
}

fn kind(
    table: &OutputTable,
    key: &dyn Fn(&str) -> String,
    dimensions: usize,
) -> Result<Kind, Failure> {
    let text = table.file.to_string_lossy();
    let extension = table.file.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let kind = match (extension.as_str(), table.along) {
        ("vti", None) => Kind::Vti,
        ("npy", None) => Kind::Npy,
        ("png", None) => Kind::Map,
        ("png", Some(along)) => line(along, table.through.as_deref(), key, dimensions)?,
        ("vti" | "npy", Some(_)) => {
            let message = "is of line plots, whose file ends in .png: remove it";
            return Err(Failure::input(format!("{} {message}", key("along"))));
        }
        _ => {
            let message = "the name must end in .vti, .npy or .png";
            return Err(Failure::input(format!("{} = \"{text}\": {message}", key("file"))));
        }
    };
    if table.through.is_some() && !matches!(kind, Kind::Line { .. }) {
        let message = "is of line plots: give `along` too, or remove it";
        return Err(Failure::input(format!("{} {message}", key("through"))));
    }
    Ok(kind)
}

fn line(
    along: AxisName,
    through: Option<&[f64]>,
    key: &dyn Fn(&str) -> String,
    dimensions: usize,
) -> Result<Kind, Failure> {
    let axis = along.index();
    if axis >= dimensions {
        let message = format!("is {}, the domain has {dimensions} axes", along.name());
        return Err(Failure::input(format!("{} {message}", key("along"))));
    }
    let through = match through {
        None => None,
        Some(point) if point.len() == dimensions => {
            let mut padded = [0.0; 3];
            padded[..dimensions].copy_from_slice(point);
            Some(padded)
        }
        Some(point) => {
            let message = format!("has {} coordinates, the domain {dimensions}", point.len());
            return Err(Failure::input(format!("{} {message}", key("through"))));
        }
    };
    Ok(Kind::Line { axis, through })
}
