//! Which variant is fastest, as measured: tables that a backend embeds, and what a user's own
//! machine showed.
//!
//! Who asks for a variant by name overrides both; the user's measurement overrides the table; without
//! either the first of `variants` is taken. Keys are what decides speed: order, dimensions, the most
//! demanding kind of face, and size.

use serde::{Deserialize, Serialize};
use temblor_physics::{BoundaryKind, WaveProblem};

use crate::{DeviceInfo, Error, Parameters, Result};

/// The most demanding kind among a problem's faces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Faces {
    /// Zero beyond all faces.
    Zero,
    /// Free surfaces or rigid walls.
    Walls,
    /// Minimod's layer.
    Minimod,
    /// C-PML.
    Cpml,
}

impl Faces {
    /// The kind of a problem.
    #[must_use]
    pub fn of(problem: &WaveProblem) -> Self {
        let kinds = problem.class().boundaries.into_iter().map(|kind| match kind {
            BoundaryKind::Cpml => Self::Cpml,
            BoundaryKind::Minimod => Self::Minimod,
            BoundaryKind::Free | BoundaryKind::Rigid => Self::Walls,
            _ => Self::Zero,
        });
        kinds.max().unwrap_or(Self::Zero)
    }
}

/// What tables call the order: twice the radius. Rates depend on the radius and not on the weights.
fn order_of(problem: &WaveProblem) -> usize {
    2 * problem.operator.radius()
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuningEntry {
    /// Twice the operator's radius: the order of central differences.
    pub order: usize,
    /// 2 or 3.
    pub dimensions: usize,
    /// Kind of faces.
    pub faces: Faces,
    /// Fewest nodes, layers included; of the rows that fit, the one with the most holds.
    pub points_from: u64,
    /// The fastest variant.
    pub variant: String,
    /// Its parameters, where they are not the defaults.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    /// Its rate where it was measured, Gpts/s.
    pub gpts: f64,
}

/// Measured choices for a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuningTable {
    /// Names of devices that it holds for, as [`DeviceInfo::name`] has them.
    pub devices: Vec<String>,
    /// When, with which driver and by which command it was measured.
    pub measured: String,
    /// Rows in any order.
    #[serde(default, rename = "entry")]
    pub entries: Vec<TuningEntry>,
}

impl TuningTable {
    /// Reads a table from TOML.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the parser's message.
    pub fn from_toml(text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|e| Error::Invalid {
            what: format!("tuning table: {e}"),
            remedy: "mend the table or delete it".into(),
        })
    }

    /// The row for a problem on a device.
    #[must_use]
    pub fn lookup(&self, device: &DeviceInfo, problem: &WaveProblem) -> Option<&TuningEntry> {
        let order = order_of(problem);
        if !self.devices.contains(&device.name) {
            return None;
        }
        let (faces, points) = (Faces::of(problem), problem.grid.points());
        let fits = |e: &&TuningEntry| {
            e.order == order
                && e.dimensions == problem.grid.dimensions()
                && e.faces == faces
                && e.points_from <= points
        };
        self.entries.iter().filter(fits).max_by_key(|e| e.points_from)
    }
}

/// A choice with its reason, for logs and reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Name of the variant.
    pub variant: String,
    /// Its parameters, where they are not the defaults.
    pub parameters: Parameters,
    /// Why this one.
    pub why: String,
}

/// A variant with its parameters, and what came of measuring it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// Variant.
    pub variant: String,
    /// Parameters, where they are not the defaults.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    /// Rate, Gpts/s: the median of its samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpts: Option<f64>,
    /// Half the distance of its samples' quartiles over their median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
    /// Why it has no rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What `temblor tune` measured on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// Backend id.
    pub backend: String,
    /// [`DeviceInfo::name`].
    pub device: String,
    /// [`DeviceInfo::driver`].
    pub driver: String,
    /// [`crate::Backend::kernels`].
    pub kernels: String,
    /// Order of the direct operator.
    pub order: usize,
    /// Per axis, the power of two at or below the number of nodes.
    pub shape_class: [u32; 3],
    /// Kind of faces.
    pub faces: Faces,
    /// The fastest variant.
    pub variant: String,
    /// Its parameters, where they are not the defaults.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    /// Its rate, Gpts/s.
    pub gpts: f64,
    /// All that were tried, the fastest first; empty in caches of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Candidate>,
}

/// What the cache has for a problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cached<'a> {
    /// Nothing.
    None,
    /// Measured with these kernels and this driver.
    Fresh(&'a Measurement),
    /// Measured with others.
    Stale(&'a Measurement),
}

/// The user's measurements, one per backend, device and class of problems.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuneCache {
    /// Measurements in any order.
    #[serde(default, rename = "entry")]
    pub entries: Vec<Measurement>,
}

impl TuneCache {
    /// Reads a cache from TOML.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the parser's message.
    pub fn from_toml(text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|e| Error::Invalid {
            what: format!("tune cache: {e}"),
            remedy: "delete it and run `temblor tune` again".into(),
        })
    }

    /// The cache as TOML.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a value cannot be written.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self).map_err(|e| Error::Invalid {
            what: format!("tune cache: {e}"),
            remedy: "report this".into(),
        })
    }

    /// What was measured for the class of `problem` on `device`.
    #[must_use]
    pub fn lookup(&self, device: &DeviceInfo, kernels: &str, problem: &WaveProblem) -> Cached<'_> {
        let order = order_of(problem);
        let (faces, shape_class) = (Faces::of(problem), problem.class().shape_class);
        let same = |e: &&Measurement| {
            e.backend == device.backend
                && e.device == device.name
                && e.order == order
                && e.faces == faces
                && e.shape_class == shape_class
        };
        match self.entries.iter().find(same) {
            None => Cached::None,
            Some(e) if e.driver == device.driver && e.kernels == kernels => Cached::Fresh(e),
            Some(e) => Cached::Stale(e),
        }
    }

    /// Keeps a measurement in place of an older one of its class.
    pub fn keep(&mut self, new: Measurement) {
        self.entries.retain(|e| {
            e.backend != new.backend
                || e.device != new.device
                || e.order != new.order
                || e.faces != new.faces
                || e.shape_class != new.shape_class
        });
        self.entries.push(new);
    }
}

#[cfg(test)]
mod tests {
    use temblor_physics::{Boundaries, Boundary, Cpml, Face, Grid};

    use super::*;

    const TABLE: &str = r#"
devices = ["a card"]
measured = "by hand"
entry = [
    { order = 8, dimensions = 3, faces = "cpml", points_from = 0, variant = "small", gpts = 1.0 },
    { order = 8, dimensions = 3, faces = "cpml", points_from = 100000, variant = "large", gpts = 2.0 },
    { order = 8, dimensions = 3, faces = "zero", points_from = 5000, variant = "bare", gpts = 3.0 },
]
"#;

    fn device() -> DeviceInfo {
        DeviceInfo {
            backend: "b".into(),
            name: "a card".into(),
            arch: "x".into(),
            memory: 1,
            driver: "1".into(),
            units: 1,
        }
    }

    fn problem(n: usize, face: Boundary) -> WaveProblem {
        let mut boundaries = Boundaries::uniform(Boundary::Zero);
        boundaries.set(Face::ZMin, Boundary::Free);
        boundaries.set(Face::XMax, face);
        if face == Boundary::Zero {
            boundaries.set(Face::ZMin, Boundary::Zero);
        }
        let grid = Grid::new([n; 3], [10.0; 3], [0.0; 3]).unwrap();
        WaveProblem::builder(grid, 1e-3).boundaries(boundaries).build().unwrap()
    }

    fn layered(n: usize) -> WaveProblem {
        problem(n, Boundary::Cpml(Cpml { cells: 4, r0: 1e-4, peak_hz: 10.0, vmax: 2000.0 }))
    }

    #[test]
    fn a_table_answers_by_device_faces_and_size() {
        let table = TuningTable::from_toml(TABLE).unwrap();
        let found = |device: &DeviceInfo, problem: &WaveProblem| {
            table.lookup(device, problem).map(|entry| entry.variant.clone())
        };
        assert_eq!(found(&device(), &layered(20)).as_deref(), Some("small"));
        assert_eq!(found(&device(), &layered(60)).as_deref(), Some("large"));
        assert_eq!(found(&device(), &problem(20, Boundary::Zero)).as_deref(), Some("bare"));
        assert_eq!(found(&device(), &problem(16, Boundary::Zero)), None);
        assert_eq!(found(&device(), &problem(20, Boundary::Rigid)), None);
        let other = DeviceInfo { name: "another card".into(), ..device() };
        assert_eq!(found(&other, &layered(20)), None);
    }

    #[test]
    fn a_cache_of_the_version_before_candidates_is_read() {
        let text = r#"
[[entry]]
backend = "b"
device = "a card"
driver = "1"
kernels = "k"
order = 8
shape_class = [4, 4, 4]
faces = "cpml"
variant = "v"
gpts = 1.5
"#;
        let cache = TuneCache::from_toml(text).unwrap();
        let Cached::Fresh(found) = cache.lookup(&device(), "k", &layered(20)) else {
            panic!("{cache:?}")
        };
        assert_eq!(found.variant, "v");
        assert!(found.parameters.is_empty() && found.candidates.is_empty());
    }

    #[test]
    fn a_measurement_with_another_driver_or_other_kernels_is_stale() {
        let problem = layered(20);
        let measurement = Measurement {
            backend: "b".into(),
            device: "a card".into(),
            driver: "1".into(),
            kernels: "k".into(),
            order: 8,
            shape_class: problem.class().shape_class,
            faces: Faces::Cpml,
            variant: "v".into(),
            parameters: [("rows".to_owned(), 8)].into(),
            gpts: 1.0,
            candidates: vec![Candidate {
                variant: "w".into(),
                parameters: Parameters::new(),
                gpts: None,
                spread: None,
                why: Some("its results differ".into()),
            }],
        };
        let mut cache = TuneCache::default();
        cache.keep(Measurement { variant: "old".into(), ..measurement.clone() });
        cache.keep(measurement.clone());
        let cache = TuneCache::from_toml(&cache.to_toml().unwrap()).unwrap();
        assert_eq!(cache.entries, std::slice::from_ref(&measurement));
        assert_eq!(cache.lookup(&device(), "k", &problem), Cached::Fresh(&measurement));
        assert_eq!(cache.lookup(&device(), "l", &problem), Cached::Stale(&measurement));
        let newer = DeviceInfo { driver: "2".into(), ..device() };
        assert_eq!(cache.lookup(&newer, "k", &problem), Cached::Stale(&measurement));
        assert_eq!(cache.lookup(&device(), "k", &layered(40)), Cached::None);
    }
}
