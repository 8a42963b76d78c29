//! SEG-Y as a velocity model: a regular cube or line of columns.
//!
//! Where a trace stands follows from its inline and crossline numbers (bytes 189-196), else its CDP
//! number (21-24), else its coordinates; spacing follows from the coordinates (CDP 181-188, else
//! receiver 81-88, else source 73-80). [`super::SegyOptions::fields`] moves these fields.

mod lattice;
mod scan;
mod writer;

use std::path::Path;

use ndarray::{Array3, ArrayViewMut1};

use self::lattice::Lattice;
use self::scan::{Pair, Scan};
use super::{SegyOptions, SegyReader};
use crate::{Error, Result};

pub use writer::CubeWriter;

/// Smallest number in the field of the sample interval that is taken as thousandths of a metre.
const LEAST_INTERVAL: f64 = 500.0;

/// What the text header says of it in files that are written here.
const INTERVAL_UNIT: &str = "sample interval in thousandths of a metre";

/// What a cube is told to be, against what its headers say.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CubeOptions {
    /// Spacing along (x, y, z), m; what is absent is found from the headers.
    pub spacing: [Option<f64>; 3],
}

/// One horizontal axis of a cube.
#[derive(Debug, Clone, PartialEq)]
pub struct CubeAxis {
    /// The header field whose numbers run along it: `iline`, `xline`, `cdp`, a coordinate, or
    /// `trace` for the order in the file.
    pub field: &'static str,
    /// Number at the first node.
    pub first: i64,
    /// Difference from node to node.
    pub step: i64,
    /// Number of nodes.
    pub count: usize,
}

/// A regular cube or line of columns in a SEG-Y file.
///
/// The axis whose coordinates run more along x is x; each axis points to where its larger
/// coordinate grows. A line has one node along y. Where traces are in no order, their list takes 8
/// bytes of memory per trace.
///
/// ```
/// use temblor_io::segy::cube::{CubeOptions, CubeWriter, SegyCube};
/// use temblor_io::segy::SegyOptions;
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("model.sgy");
/// # let values = ndarray::Array3::from_shape_fn((4, 3, 5), |(i, j, k)| (100 * i + 10 * j + k) as f32);
/// # let mut writer = CubeWriter::create(&path, [4, 3, 5], [25.0, 12.5, 10.0], [0.0; 3], &[])?;
/// # writer.write_planes(&values.view())?;
/// # writer.finish()?;
/// let cube = SegyCube::open(&path, &SegyOptions::default(), &CubeOptions::default())?;
/// println!("{cube}");
/// assert_eq!((cube.shape(), cube.spacing()), ([4, 3, 5], [25.0, 12.5, 10.0]));
/// // A slab of two planes, shape (x, y, z).
/// let slab = cube.read_planes(1, 2)?;
/// assert_eq!(slab[[0, 2, 4]], 124.0);
/// # Ok::<(), temblor_io::Error>(())
/// ```
#[derive(Debug)]
pub struct SegyCube {
    reader: SegyReader,
    lattice: Lattice,
    /// Which lattice axis is x: 0 for the first field (inline), 1 for the second (crossline).
    x_axis: usize,
    flipped: [bool; 2],
    spacing: [f64; 3],
    origin: [f64; 3],
    notes: Vec<String>,
}

impl SegyCube {
    /// Opens a file as a cube; reads all headers once or twice.
    ///
    /// # Errors
    /// As [`SegyReader::open`]; [`Error::Trace`] with the first traces that are twice there,
    /// missing or off the grid; [`Error::Invalid`] if a spacing is neither in the headers nor given.
    pub fn open(path: impl AsRef<Path>, options: &SegyOptions, cube: &CubeOptions) -> Result<Self> {
        Self::new(SegyReader::open(path, options)?, cube)
    }

    /// Takes an open file as a cube; as [`SegyCube::open`].
    ///
    /// # Errors
    /// As [`SegyCube::open`].
    pub fn new(reader: SegyReader, options: &CubeOptions) -> Result<Self> {
        if reader.is_variable() {
            let remedy = "a model has columns of one length: resample it";
            let what = "the trace length";
            return Err(Error::invalid(reader.path(), what, "not the same for all", remedy));
        }
        for spacing in options.spacing.into_iter().flatten() {
            if !(spacing.is_finite() && spacing > 0.0) {
                let remedy = "give metres above 0";
                return Err(Error::invalid(reader.path(), "a spacing", spacing, remedy));
            }
        }
        let scan = Scan::new(&reader)?;
        let mut notes = Vec::new();
        let keys = scan.keys(&reader, true, &mut notes);
        let mut place = scan.coordinates(&keys);
        let lattice = match Lattice::new(&reader, &scan, keys, place) {
            // Revision 0 left bytes 181 to 240 to everybody's own use.
            Err(error) if scan.numbers_are_doubtful(&reader, keys) => {
                let keys = scan.keys(&reader, false, &mut notes);
                place = scan.coordinates(&keys);
                notes.push(format!(
                    "bytes 189-196 make no grid of inlines and crosslines, which revision 0 has not: \
                     traces are placed by {}",
                    scan.names(keys)
                ));
                Lattice::new(&reader, &scan, keys, place).map_err(|_| error)?
            }
            found => found?,
        };
        Self::placed(reader, options, &scan, lattice, place, notes)
    }

    /// Finds axes, spacing and origin of a lattice.
    fn placed(
        reader: SegyReader,
        options: &CubeOptions,
        scan: &Scan,
        lattice: Lattice,
        place: Option<Pair>,
        mut notes: Vec<String>,
    ) -> Result<Self> {
        let steps = lattice.steps;
        let length = |v: [f64; 2]| v[0].hypot(v[1]);
        let along_x = |v: [f64; 2]| if length(v) > 0.0 { v[0].abs() / length(v) } else { 0.0 };
        let counts = [lattice.axes[0].count, lattice.axes[1].count];
        let x_axis = match counts {
            // A line runs along x, whatever its direction.
            [_, 1] => 0,
            [1, _] => 1,
            _ if along_x(steps[0]) > along_x(steps[1]) => 0,
            _ => 1,
        };
        let (u, v) = (steps[0], steps[1]);
        let skew = (u[0] * v[0] + u[1] * v[1]).abs();
        if skew > 1e-3 * length(u) * length(v) {
            let degrees = (skew / (length(u) * length(v))).acos().to_degrees();
            let remedy = "resample it onto a grid with right angles";
            let what = "the angle between its axes";
            return Err(Error::invalid(reader.path(), what, format!("{degrees:.2}"), remedy));
        }
        let backwards = |v: [f64; 2]| {
            let larger = if v[0].abs() >= v[1].abs() { v[0] } else { v[1] };
            larger < 0.0
        };
        let flipped = [backwards(u), backwards(v)];
        let mut spacing = [0.0; 3];
        for (axis, lattice_axis) in [(0, x_axis), (1, 1 - x_axis)] {
            let found = length(steps[lattice_axis]);
            spacing[axis] = match options.spacing[axis] {
                Some(given) => {
                    if found > 0.0 && (found - given).abs() > 1e-3 * given {
                        let name = ["x", "y"][axis];
                        notes.push(format!(
                            "spacing along {name}: {given} m is given and used, coordinates say \
                             {found} m"
                        ));
                    }
                    given
                }
                None if found > 0.0 => {
                    let intervals = counts[lattice_axis].max(2) - 1;
                    let round = roundest(found, 2.0 * lattice.rounding / intervals as f64);
                    if (round - found).abs() > 1e-9 * found {
                        let name = ["x", "y"][axis];
                        notes.push(format!(
                            "spacing along {name}: coordinates say {found} m, {round} m within \
                             their rounding"
                        ));
                    }
                    round
                }
                None if counts[lattice_axis] == 1 => spacing[0],
                None => {
                    let what = format!("the spacing along {}", ["x", "y"][axis]);
                    let remedy = if scan.angles {
                        "its coordinates are angles: give the spacing of x, y and z in m"
                    } else {
                        "its coordinates do not say: give the spacing of x, y and z in m"
                    };
                    return Err(Error::invalid(reader.path(), what, "not known", remedy));
                }
            };
        }
        spacing[2] = depth_step(&reader, options, &mut notes)?;
        let corner = lattice.corner(flipped);
        let origin = match place {
            Some(_) => [corner[0], corner[1], scan.delay * 1e3],
            None => [0.0, 0.0, scan.delay * 1e3],
        };
        Ok(Self { reader, lattice, x_axis, flipped, spacing, origin, notes })
    }

    /// The file.
    #[must_use]
    pub fn reader(&self) -> &SegyReader {
        &self.reader
    }

    /// Number of nodes along (x, y, z).
    #[must_use]
    pub fn shape(&self) -> [usize; 3] {
        let count = |axis: usize| self.lattice.axes[axis].count;
        [count(self.x_axis), count(1 - self.x_axis), self.reader.samples()]
    }

    /// Spacing along (x, y, z), m.
    #[must_use]
    pub fn spacing(&self) -> [f64; 3] {
        self.spacing
    }

    /// Coordinates of the first node (x, y, z), m: where the file has it, not turned with the grid.
    #[must_use]
    pub fn origin(&self) -> [f64; 3] {
        self.origin
    }

    /// The header fields that run along x and along y.
    #[must_use]
    pub fn axes(&self) -> [&CubeAxis; 2] {
        [&self.lattice.axes[self.x_axis], &self.lattice.axes[1 - self.x_axis]]
    }

    /// Names of the file's axes, slowest first, as in `xline (x), iline (y), sample (z)`.
    #[must_use]
    pub fn file_order(&self) -> String {
        let name = |axis: usize| {
            let letter = if axis == self.x_axis { "x" } else { "y" };
            format!("{} ({letter})", self.lattice.axes[axis].field)
        };
        match self.lattice.slow {
            Some(slow) => format!("{}, {}, sample (z)", name(slow), name(1 - slow)),
            None => "traces in no order, sample (z)".into(),
        }
    }

    /// What was assumed or overridden, a sentence each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Number of the trace, from 0, of a column.
    ///
    /// # Panics
    /// If the column is not within the cube.
    #[must_use]
    pub fn trace_of(&self, ix: usize, iy: usize) -> u64 {
        let [nx, ny, _] = self.shape();
        assert!(ix < nx && iy < ny, "column ({ix}, {iy}) of ({nx}, {ny})");
        let mut node = [0; 2];
        node[self.x_axis] = ix;
        node[1 - self.x_axis] = iy;
        for axis in 0..2 {
            if self.flipped[axis] {
                node[axis] = self.lattice.axes[axis].count - 1 - node[axis];
            }
        }
        self.lattice.trace(node)
    }

    /// Reads a column, shape (z).
    ///
    /// # Errors
    /// [`Error::Io`].
    ///
    /// # Panics
    /// If the column is not within the cube or `out` has another length than it.
    pub fn read_column(&self, ix: usize, iy: usize, mut out: ArrayViewMut1<'_, f32>) -> Result<()> {
        let samples = self.reader.samples_of(self.trace_of(ix, iy))?;
        assert_eq!(out.len(), samples.len(), "samples of a column");
        out.iter_mut().zip(samples).for_each(|(to, value)| *to = value);
        Ok(())
    }

    /// Reads `count` planes of x from `first` on, shape (x, y, z).
    ///
    /// # Errors
    /// [`Error::Io`].
    ///
    /// # Panics
    /// If the planes are not within the cube.
    pub fn read_planes(&self, first: usize, count: usize) -> Result<Array3<f32>> {
        let [_, ny, nz] = self.shape();
        let mut values = Array3::zeros((count, ny, nz));
        for (ix, mut plane) in values.outer_iter_mut().enumerate() {
            for (iy, column) in plane.outer_iter_mut().enumerate() {
                self.read_column(first + ix, iy, column)?;
            }
        }
        Ok(values)
    }

    /// Reads everything, shape (x, y, z).
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn read(&self) -> Result<Array3<f32>> {
        self.read_planes(0, self.shape()[0])
    }
}

/// The number of fewest digits that differs from a positive one by no more than a tolerance.
fn roundest(value: f64, tolerance: f64) -> f64 {
    let powers = (-3..=12).map(|decimals| f64::powi(10.0, decimals));
    // A quotient of whole numbers, so that what is decimal is the double nearest to it.
    let mut candidates = powers.map(|power| (value * power).round() / power);
    let close = |round: &f64| *round > 0.0 && (round - value).abs() <= tolerance;
    candidates.find(close).unwrap_or(value)
}

/// Spacing along z, m: the sample interval's number in thousandths of a metre, as depths are stored.
fn depth_step(reader: &SegyReader, options: &CubeOptions, notes: &mut Vec<String>) -> Result<f64> {
    if let Some(given) = options.spacing[2] {
        return Ok(given);
    }
    let stored = reader.sample_interval() * 1e6;
    let said = reader.text().iter().any(|line| line.contains(INTERVAL_UNIT));
    if stored < LEAST_INTERVAL && !said {
        let remedy = "some mean metres, some thousandths of them: give the spacing of x, y and z \
                      in m";
        let what = "the sample interval's number";
        return Err(Error::invalid(reader.path(), what, stored, remedy));
    }
    // Thousandths, so that a whole number stays exact: 12500 is 12.5.
    let metres = stored.round() / 1e3;
    let metres =
        if (stored - stored.round()).abs() < 1e-9 * stored { metres } else { stored / 1e3 };
    if said {
        return Ok(metres);
    }
    notes.push(format!(
        "spacing along z: the sample interval's {stored} is taken as {metres} m; give the spacing \
         if the axis is another one"
    ));
    Ok(metres)
}

impl std::fmt::Display for SegyCube {
    /// Shape, spacing, extent and axis order on four lines.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ([nx, ny, nz], [hx, hy, hz], [x, y, z]) = (self.shape(), self.spacing, self.origin);
        let end = |n: usize, h: f64| (n - 1) as f64 * h;
        writeln!(f, "nodes: {nx} x {ny} x {nz} (x, y, z), spacing {hx} x {hy} x {hz} m")?;
        writeln!(
            f,
            "extent: {} x {} x {} m, first node at x {x}, y {y}, z {z} m",
            end(nx, hx),
            end(ny, hy),
            end(nz, hz)
        )?;
        let axis = |axis: &CubeAxis, flipped: bool| {
            let last = axis.first + axis.step * (axis.count as i64 - 1);
            let (first, last) = if flipped { (last, axis.first) } else { (axis.first, last) };
            format!("{} {first} to {last}", axis.field)
        };
        let [x, y] = self.axes();
        let [flip_x, flip_y] = [self.flipped[self.x_axis], self.flipped[1 - self.x_axis]];
        writeln!(f, "axes: x is {}, y is {}", axis(x, flip_x), axis(y, flip_y))?;
        write!(f, "order in the file, slowest first: {}", self.file_order())
    }
}
