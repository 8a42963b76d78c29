//! The run file of `temblor patch` as it stands on disk: tables and keys, nothing derived.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use temblor_solver::patches::Side;

use crate::runfile::OneOrMany;

/// A whole run file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatchFile {
    /// `[physics]`
    pub physics: PhysicsTable,
    /// `[parameters]`: of physics and scheme, by name.
    #[serde(default)]
    pub parameters: BTreeMap<String, f64>,
    /// `[scheme]`
    pub scheme: SchemeTable,
    /// `[domain]`
    pub domain: DomainTable,
    /// `[time]`
    pub time: TimeTable,
    /// `[[output]]`
    #[serde(default)]
    pub output: Option<OneOrMany<OutputTable>>,
}

/// `[physics]`: exactly one of `shipped` and `file`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhysicsTable {
    /// Name of a physics that temblor ships.
    pub shipped: Option<String>,
    /// The user's C text.
    pub file: Option<PathBuf>,
    /// More C text, read after the physics: `initial`, `exact`.
    #[serde(default)]
    pub setup: Option<PathBuf>,
}

/// `[scheme]`: exactly one of `shipped` and `file`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchemeTable {
    /// Name of a scheme that temblor ships.
    pub shipped: Option<String>,
    /// The user's scheme.
    pub file: Option<PathBuf>,
    /// Order of the Runge-Kutta method, 1 to 4: 4 for a scheme that gives a rate, else 1.
    #[serde(default)]
    pub runge_kutta: Option<u8>,
    /// Whether `a * b + c` may be one rounding.
    #[serde(default)]
    pub contract: bool,
    /// Schedule of the kernel; the backend's choice if absent.
    #[serde(default)]
    pub schedule: Option<String>,
}

/// `[domain]`: arrays have an entry per axis, two or three.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DomainTable {
    /// Patches along (x, y, z).
    pub patches: Vec<usize>,
    /// Voxels of a patch per axis.
    pub cells: u16,
    /// Size of the box, m.
    pub size: Vec<f64>,
    /// Its corner with the smallest coordinates, m; 0 if absent.
    #[serde(default)]
    pub origin: Option<Vec<f64>>,
    /// Faces along x: `"periodic"`, or `["fixed", "outflow"]` for the low and the high one.
    #[serde(default)]
    pub x: Option<SidesValue>,
    /// Faces along y.
    #[serde(default)]
    pub y: Option<SidesValue>,
    /// Faces along z.
    #[serde(default)]
    pub z: Option<SidesValue>,
}

/// Both faces along an axis.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"periodic\", \"outflow\" or \"fixed\", or two of them: [\"fixed\", \"outflow\"]"
)]
pub enum SidesValue {
    /// The same.
    Both(Side),
    /// Low, high.
    Each([Side; 2]),
}

impl SidesValue {
    /// Low, high.
    #[must_use]
    pub const fn pair(self) -> [Side; 2] {
        match self {
            Self::Both(side) => [side; 2],
            Self::Each(pair) => pair,
        }
    }
}

/// `[time]`: exactly one of `courant` and `dt`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeTable {
    /// Time at the end, s; it begins at 0.
    pub end: f64,
    /// Factor of the step that the speeds give.
    pub courant: Option<f64>,
    /// Step, s.
    pub dt: Option<f64>,
    /// Steps between looks for values that are not finite.
    #[serde(default = "ten")]
    pub check_every: u64,
    /// Wall time between restart files, s.
    #[serde(default = "five_minutes")]
    pub restart_every: f64,
}

const fn ten() -> u64 {
    10
}

const fn five_minutes() -> f64 {
    300.0
}

/// `[[output]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputTable {
    /// `.vti`, `.npy` or `.png`; `{unknown}` in the name makes a file per unknown.
    pub file: PathBuf,
    /// Names of unknowns; all if absent.
    #[serde(default)]
    pub unknowns: Option<Vec<String>>,
    /// Time between files, s, the first at 0; absent: one at the end.
    #[serde(default)]
    pub interval: Option<f64>,
    /// Of a picture: the axis of a line plot; absent, a map of the whole (in 3-D of its middle).
    #[serde(default)]
    pub along: Option<AxisName>,
    /// Of a line plot: a point of the line, m; the middle if absent.
    #[serde(default)]
    pub through: Option<Vec<f64>>,
}

/// An axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AxisName {
    /// x
    X,
    /// y
    Y,
    /// z
    Z,
}

impl AxisName {
    /// 0, 1 or 2.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Letter.
    #[must_use]
    pub const fn name(self) -> &'static str {
        ["x", "y", "z"][self as usize]
    }
}
