//! The run file as it stands on disk: tables and keys, nothing derived.

use std::path::PathBuf;

use serde::Deserialize;
use temblor_io::{ByteOrder, Element, Format};
use temblor_physics::Arithmetic;

use super::one_or_many::OneOrMany;
use super::wavelet::WaveletSpec;

/// A whole run file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFile {
    /// `[grid]`
    pub grid: GridTable,
    /// `[model]`
    pub model: ModelTable,
    /// `[time]`
    pub time: TimeTable,
    /// `[operator]`
    #[serde(default)]
    pub operator: OperatorTable,
    /// `[boundary]`
    #[serde(default)]
    pub boundary: BoundaryTable,
    /// `[source]` or `[[source]]`: all fire together, in one shot.
    #[serde(default)]
    pub source: Option<OneOrMany<SourceTable>>,
    /// `[shots]` or `[[shots]]`: every position is a shot.
    #[serde(default)]
    pub shots: Option<OneOrMany<ShotTable>>,
    /// `[receivers]`
    pub receivers: ReceiverTable,
    /// `[output]`
    pub output: OutputTable,
}

/// `[grid]`: the model's nodes, layers not included.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GridTable {
    /// Nodes along (x, y, z); y = 1 is 2-D.
    pub shape: [usize; 3],
    /// Spacing along (x, y, z), m.
    pub spacing: [f64; 3],
    /// Position of the first node, m.
    #[serde(default)]
    pub origin: [f64; 3],
}

/// `[model]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelTable {
    /// Wave speed, m/s.
    pub vp: SpeedTable,
}

/// `vp = { .. }`: exactly one of `file`, `constant` and `layers`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpeedTable {
    /// SEG-Y, SU, RSF, npy, VTI or raw numbers.
    pub file: Option<PathBuf>,
    /// Its format; found from content and name if absent.
    #[serde(default)]
    pub format: Option<Format>,
    /// One value everywhere, m/s.
    pub constant: Option<f64>,
    /// Flat layers, downwards.
    pub layers: Option<Vec<LayerTable>>,
    /// Number format of a raw file.
    #[serde(default)]
    pub element: Option<Element>,
    /// Byte order of a raw file.
    #[serde(default)]
    pub byte_order: Option<ByteOrder>,
    /// Bytes before the first number of a raw file.
    #[serde(default)]
    pub header_bytes: Option<u64>,
    /// Whether x is the fastest axis of a raw file.
    #[serde(default)]
    pub x_fastest: Option<bool>,
    /// Places of SEG-Y trace header fields that are not the standard's, such as `iline=9`.
    #[serde(default)]
    pub header_map: Option<String>,
    /// Whether the file is an (x, z) section to be repeated along y.
    #[serde(default)]
    pub extrude_y: Option<bool>,
    /// Factor that turns the file's numbers into m/s, such as 1000 for km/s.
    #[serde(default)]
    pub scale: Option<f64>,
}

/// One flat layer.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerTable {
    /// Depth of the upper edge, m.
    pub top: Option<f64>,
    /// Thickness, m; the last layer needs none.
    pub thickness: Option<f64>,
    /// Wave speed, m/s.
    pub vp: f64,
}

/// `[time]`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeTable {
    /// Length of the record, s.
    pub duration: f64,
    /// Time step, s.
    pub dt: Option<f64>,
    /// Time step as a fraction of the largest stable one.
    pub cfl_fraction: Option<f64>,
    /// Whether the scheme's time dispersion is taken out.
    #[serde(default)]
    pub dispersion_correction: bool,
}

/// `[operator]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OperatorTable {
    /// Order of central differences, even, 2 to 16; 8 without it and without a name.
    pub order: Option<usize>,
    /// Operator by name, such as `minimax-r3`; what it leaves out is the run's.
    pub name: Option<String>,
    /// Storage and arithmetic by name, such as `f32`, `int16+u16` or `int8-2x3`.
    pub arithmetic: Arithmetic,
    /// Most that reduced storage may cost traces, relative L2 after 2,000 steps.
    pub max_trace_error: Option<f64>,
    /// Most that dropped products of digits may cost a Laplacian, relative rms of white data.
    pub max_laplacian_error: Option<f64>,
}

impl Default for OperatorTable {
    fn default() -> Self {
        Self {
            order: None,
            name: None,
            arithmetic: Arithmetic::F32,
            max_trace_error: None,
            max_laplacian_error: None,
        }
    }
}

/// `[boundary]`: a face not named takes `other`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BoundaryTable {
    /// x smallest.
    pub x_min: Option<FaceValue>,
    /// x largest.
    pub x_max: Option<FaceValue>,
    /// y smallest.
    pub y_min: Option<FaceValue>,
    /// y largest.
    pub y_max: Option<FaceValue>,
    /// The surface.
    pub z_min: Option<FaceValue>,
    /// The bottom.
    pub z_max: Option<FaceValue>,
    /// All others.
    pub other: Option<FaceValue>,
}

/// A face: a name, or a table with parameters.
#[derive(Debug, Clone, Copy)]
pub enum FaceValue {
    /// `"free"`, `"rigid"`, `"cpml"`, `"minimod"`.
    Named(FaceKind),
    /// `{ kind = "cpml", cells = 20 }`
    Table(FaceTable),
}

/// What happens at a face.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaceKind {
    /// Pressure is zero on the face.
    Free,
    /// A wall half a cell outside.
    Rigid,
    /// The absorbing layer.
    Cpml,
    /// The benchmark's layer.
    Minimod,
}

/// Parameters of a face.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaceTable {
    /// What happens there.
    pub kind: FaceKind,
    /// Width of a layer, cells.
    pub cells: Option<usize>,
    /// Reflection coefficient of a C-PML.
    pub r0: Option<f64>,
    /// Peak frequency of a C-PML, Hz.
    pub peak_hz: Option<f64>,
    /// Damping of Minimod's layer.
    pub eta_peak: Option<f64>,
}

impl<'de> Deserialize<'de> for FaceValue {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = FaceValue;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("\"free\", \"rigid\", \"cpml\", \"minimod\" or a table with `kind`")
            }
            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<FaceValue, E> {
                let name = serde::de::value::StrDeserializer::new(name);
                FaceKind::deserialize(name).map(FaceValue::Named)
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                map: A,
            ) -> Result<FaceValue, A::Error> {
                let table = serde::de::value::MapAccessDeserializer::new(map);
                FaceTable::deserialize(table).map(FaceValue::Table)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// A straight row of points.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineTable {
    /// First point, m.
    pub from: [f64; 3],
    /// Last point, m.
    pub to: [f64; 3],
    /// Number of points.
    pub count: usize,
}

/// A box of points, both corners included; x varies slowest.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointGridTable {
    /// One corner, m.
    pub from: [f64; 3],
    /// The opposite corner, m.
    pub to: [f64; 3],
    /// Number of points along (x, y, z).
    pub count: [usize; 3],
}

/// `sps = "file"` or `sps = { file, datum }`.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "expected a file name or { file = \"..\", datum = 0.0 }")]
pub enum SpsTable {
    /// The file; depths are below sea level.
    File(PathBuf),
    /// The file and the level where z is 0.
    WithDatum {
        /// The file.
        file: PathBuf,
        /// Height of z = 0 above sea level, m.
        datum: f64,
    },
}

/// `[source]`: all positions fire together.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceTable {
    /// What is fired.
    pub wavelet: WaveletSpec,
    /// Factor on the wavelet.
    #[serde(default = "one")]
    pub scale: f64,
    /// Points, m.
    #[serde(default)]
    pub positions: Vec<[f64; 3]>,
    /// Rows of points.
    #[serde(default)]
    pub line: Option<OneOrMany<LineTable>>,
    /// Boxes of points.
    #[serde(default)]
    pub grid: Option<OneOrMany<PointGridTable>>,
    /// A list of points on disk.
    #[serde(default)]
    pub csv: Option<PathBuf>,
    /// Points of a survey on disk, in Shell's columns.
    #[serde(default)]
    pub sps: Option<SpsTable>,
}

/// `[shots]`: every position is a shot; or `sources`, which fire together in one.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShotTable {
    /// What is fired at every position.
    #[serde(default)]
    pub wavelet: Option<WaveletSpec>,
    /// Factor on the wavelet.
    #[serde(default = "one")]
    pub scale: f64,
    /// Points, m.
    #[serde(default)]
    pub positions: Vec<[f64; 3]>,
    /// Rows of points.
    #[serde(default)]
    pub line: Option<OneOrMany<LineTable>>,
    /// Boxes of points.
    #[serde(default)]
    pub grid: Option<OneOrMany<PointGridTable>>,
    /// A list of points on disk.
    #[serde(default)]
    pub csv: Option<PathBuf>,
    /// Points of a survey on disk, in Shell's columns.
    #[serde(default)]
    pub sps: Option<SpsTable>,
    /// Sources of one shot.
    #[serde(default)]
    pub sources: Vec<SourceTable>,
}

/// Whether receivers stay or go along with the shot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spread {
    /// Positions are the same for all shots.
    #[default]
    Fixed,
    /// x and y are distances from the shot's first source; z is a depth.
    Moving,
}

/// What becomes of receivers outside the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutsidePolicy {
    /// They are an error.
    #[default]
    Error,
    /// They are left out.
    Drop,
}

/// `[receivers]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiverTable {
    /// Record interval, s.
    pub interval: f64,
    /// Points, m.
    #[serde(default)]
    pub positions: Vec<[f64; 3]>,
    /// Rows of points.
    #[serde(default)]
    pub line: Option<OneOrMany<LineTable>>,
    /// Boxes of points.
    #[serde(default)]
    pub grid: Option<OneOrMany<PointGridTable>>,
    /// A list of points on disk.
    #[serde(default)]
    pub csv: Option<PathBuf>,
    /// Points of a survey on disk, in Shell's columns.
    #[serde(default)]
    pub sps: Option<SpsTable>,
    /// Relation records: which receivers were live for which shot; needs `sps` here and in `[shots]`.
    #[serde(default)]
    pub relation: Option<PathBuf>,
    /// Whether they go along with the shot.
    #[serde(default)]
    pub spread: Spread,
    /// What becomes of those outside the model.
    #[serde(default)]
    pub outside: OutsidePolicy,
}

/// `[output]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputTable {
    /// Traces: `.sgy`, `.segy`, `.su`, `.rsf` or `.npy`; with `{id}` in the name, a file per shot.
    pub traces: PathBuf,
    /// Sample format of SEG-Y: `ieee`, `ibm` and so on.
    pub sample_format: Option<String>,
    /// Revision of SEG-Y: 0, 1 or 2; 1 unless something needs 2.
    pub revision: Option<u8>,
    /// Byte order of SU, RSF, npy and SEG-Y; little endian unless it is SEG-Y.
    pub byte_order: Option<ByteOrder>,
    /// The report, JSON.
    pub report: Option<PathBuf>,
    /// A picture of the gather, PNG: of the first shot, or with `{id}` in the name of every shot.
    pub picture: Option<PathBuf>,
    /// Snapshots of the wavefield.
    pub snapshots: Option<SnapshotTable>,
    /// Wall time between checkpoints of a running shot, s.
    pub checkpoint: Option<f64>,
}

/// File format of snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SnapshotFormat {
    /// `NumPy`.
    #[default]
    Npy,
    /// VTK image data, for `ParaView`.
    Vti,
    /// RSF, for Madagascar.
    Rsf,
}

/// `[output.snapshots]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotTable {
    /// Time between snapshots, s.
    pub interval: f64,
    /// Every how many nodes, one number or (x, y, z).
    pub stride: Option<StrideValue>,
    /// A part of the model.
    pub region: Option<RegionTable>,
    /// File format.
    #[serde(default)]
    pub format: SnapshotFormat,
    /// Folder for the files.
    pub folder: Option<PathBuf>,
}

/// A stride.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "expected a whole number or three of them")]
pub enum StrideValue {
    /// The same along all axes.
    All(usize),
    /// Along (x, y, z).
    PerAxis([usize; 3]),
}

/// A box.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegionTable {
    /// One corner, m.
    pub from: [f64; 3],
    /// The opposite corner, m.
    pub to: [f64; 3],
}

const fn one() -> f64 {
    1.0
}
