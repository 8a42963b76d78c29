//! A velocity model or a snapshot on disk, read by slabs.
//!
//! Shape is (nx, ny, nz) with z fastest. 2-D files of shape (nx, nz) are (nx, 1, nz), 1-D files of
//! nz numbers are (1, 1, nz). npy files say their shape; raw files need it in [`VolumeOptions`].
//! Memory is the slab asked for plus a buffer of a few MiB, whatever the file's size and order.

use std::fs::File;
use std::path::{Path, PathBuf};

use ndarray::Array3;

use crate::positioned::read_exact_at;
use crate::{ByteOrder, Element, Error, Result, npy};

/// Bytes read at a time.
const BUFFER_BYTES: usize = 4 << 20;

/// How the numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum VolumeFormat {
    /// `NumPy`'s format.
    Npy,
    /// Elements and nothing else.
    Raw,
}

/// What a file does not say about itself.
#[derive(Debug, Clone, Default)]
pub struct VolumeOptions {
    /// Format; guessed from the first bytes if absent (anything but npy is raw).
    pub format: Option<VolumeFormat>,
    /// Shape (nx, ny, nz): needed for raw files; npy files are checked against it.
    pub shape: Option<[usize; 3]>,
    /// Number format of a raw file.
    pub element: Element,
    /// Byte order of a raw file.
    pub order: ByteOrder,
    /// Whether x is the fastest axis of a raw file, instead of z.
    pub fortran: bool,
    /// Bytes before the first element of a raw file.
    pub header_bytes: u64,
}

/// What [`Volume::statistics`] finds.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// Smallest finite value; infinite if there is none.
    pub min: f32,
    /// Largest finite value; minus infinity if there is none.
    pub max: f32,
    /// Mean of the finite values.
    pub mean: f64,
    /// First node (x, y, z), in C order, that is NaN or infinite.
    pub first_not_finite: Option<[usize; 3]>,
    /// First node (x, y, z), in C order, that is zero or negative.
    pub first_not_positive: Option<[usize; 3]>,
}

/// An open volume of shape (nx, ny, nz).
#[derive(Debug)]
pub struct Volume {
    path: PathBuf,
    file: File,
    format: VolumeFormat,
    shape: [usize; 3],
    stored_shape: Vec<usize>,
    element: Element,
    order: ByteOrder,
    fortran: bool,
    data_offset: u64,
}

impl Volume {
    /// Opens a file and checks its size against its shape.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Format`] for a broken npy header, [`Error::Size`] if size and shape
    /// disagree, [`Error::Shape`] if the file has another shape than the options ask for,
    /// [`Error::Invalid`] for a raw file without a shape.
    pub fn open(path: impl AsRef<Path>, options: &VolumeOptions) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|e| Error::io(path, "open", None, e))?;
        let metadata = file.metadata().map_err(|e| Error::io(path, "read", None, e))?;
        if metadata.is_dir() {
            return Err(Error::invalid(path, "the path", "a folder", "name a file"));
        }
        let format = options.format.unwrap_or_else(|| guess_format(path, &file));
        let volume = match format {
            VolumeFormat::Npy => Self::from_npy(path, file, options)?,
            VolumeFormat::Raw => Self::from_raw(path, file, options)?,
        };
        volume.check_size(metadata.len())?;
        Ok(volume)
    }

    fn from_npy(path: &Path, file: File, options: &VolumeOptions) -> Result<Self> {
        let header = npy::header_of(path, &file)?;
        let own = match header.shape[..] {
            [nz] => [1, 1, nz],
            [nx, nz] => [nx, 1, nz],
            [nx, ny, nz] => [nx, ny, nz],
            _ => {
                let got = format!("{:?}", header.shape);
                let remedy = "one to three axes are read: save one part of it";
                return Err(Error::invalid(path, "the npy shape", got, remedy));
            }
        };
        // A flat list of the right length is taken in the shape asked for.
        let flat = |want: &[usize; 3]| header.shape.len() == 1 && elements(*want) == Some(own[2]);
        let shape = options.shape.filter(flat).unwrap_or(own);
        if let Some(want) = options.shape.filter(|&want| want != shape) {
            let remedy = transposition(want, &header.shape);
            let found = header.shape;
            return Err(Error::Shape { path: path.to_owned(), want, found, remedy });
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            format: VolumeFormat::Npy,
            shape,
            stored_shape: header.shape,
            element: header.element,
            order: header.order,
            fortran: header.fortran && shape == own,
            data_offset: header.data_offset,
        })
    }

    fn from_raw(path: &Path, file: File, options: &VolumeOptions) -> Result<Self> {
        let Some(shape) = options.shape else {
            let remedy = "raw files do not say their shape: give it as nx,ny,nz, or use npy";
            return Err(Error::invalid(path, "the shape", "unknown", remedy));
        };
        Ok(Self {
            path: path.to_owned(),
            file,
            format: VolumeFormat::Raw,
            shape,
            stored_shape: shape.to_vec(),
            element: options.element,
            order: options.order,
            fortran: options.fortran,
            data_offset: options.header_bytes,
        })
    }

    fn check_size(&self, found: u64) -> Result<()> {
        let width = self.element.bytes() as u64;
        let expected = elements(self.shape)
            .and_then(|n| (n as u64).checked_mul(width)?.checked_add(self.data_offset));
        if expected == Some(found) && found > self.data_offset {
            return Ok(());
        }
        let bytes = found.saturating_sub(self.data_offset);
        let remedy = match self.format {
            VolumeFormat::Npy => "the file is damaged or half written: copy it again".to_owned(),
            VolumeFormat::Raw if found < self.data_offset || !bytes.is_multiple_of(width) => {
                "the file does not hold whole elements: check its element type".to_owned()
            }
            VolumeFormat::Raw => raw_remedy(self.shape, self.element, bytes),
        };
        let [nx, ny, nz] = self.shape;
        let what = format!("shape ({nx}, {ny}, {nz}) of {} elements", self.element.name());
        let expected = expected.unwrap_or(u64::MAX);
        Err(Error::Size { path: self.path.clone(), what, expected, found, remedy })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How the file is stored.
    #[must_use]
    pub fn format(&self) -> VolumeFormat {
        self.format
    }

    /// Shape (nx, ny, nz).
    #[must_use]
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Shape as the file says it; 2-D files have two axes.
    #[must_use]
    pub fn stored_shape(&self) -> &[usize] {
        &self.stored_shape
    }

    /// Number format on disk.
    #[must_use]
    pub fn element(&self) -> Element {
        self.element
    }

    /// Byte order on disk.
    #[must_use]
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// Whether x is the fastest axis on disk.
    #[must_use]
    pub fn fortran(&self) -> bool {
        self.fortran
    }

    /// Planes `start..start + count` along x: shape (count, ny, nz), standard layout.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read.
    ///
    /// # Panics
    /// If the planes reach past nx.
    pub fn read_planes(&self, start: usize, count: usize) -> Result<Array3<f32>> {
        self.read_region([start, 0, 0], [count, self.shape[1], self.shape[2]])
    }

    /// The whole volume, shape (nx, ny, nz).
    ///
    /// # Errors
    /// As [`Volume::read_planes`].
    pub fn read(&self) -> Result<Array3<f32>> {
        self.read_planes(0, self.shape[0])
    }

    /// The box of `shape` nodes from node `start`, standard layout.
    ///
    /// # Errors
    /// As [`Volume::read_planes`].
    ///
    /// # Panics
    /// If the box reaches outside.
    pub fn read_region(&self, start: [usize; 3], shape: [usize; 3]) -> Result<Array3<f32>> {
        for a in 0..3 {
            let fits = start[a].checked_add(shape[a]).is_some_and(|end| end <= self.shape[a]);
            assert!(fits, "region {start:?} + {shape:?} in a volume of {:?}", self.shape);
        }
        let mut out = Array3::zeros((shape[0], shape[1], shape[2]));
        if out.is_empty() {
            return Ok(out);
        }
        // On disk the array is (slow, middle, fast) in C order; axes says which of x, y, z each is.
        let axes: [usize; 3] = if self.fortran { [2, 1, 0] } else { [0, 1, 2] };
        let disk: [usize; 3] = axes.map(|a| self.shape[a]);
        let from: [usize; 3] = axes.map(|a| start[a]);
        let size: [usize; 3] = axes.map(|a| shape[a]);
        let mut target = out.view_mut().permuted_axes(axes);
        let mut reader = RowReader { volume: self, bytes: Vec::new(), values: Vec::new() };
        // Rows of the region that lie near each other are read together with what is between them.
        let group = (BUFFER_BYTES / (disk[2] * self.element.bytes()).max(1)).clamp(1, size[1]);
        for i in 0..size[0] {
            for first in (0..size[1]).step_by(group) {
                let rows = group.min(size[1] - first);
                let row = (from[0] + i) * disk[1] + from[1] + first;
                let begin = row as u64 * disk[2] as u64 + from[2] as u64;
                let span = (rows - 1) * disk[2] + size[2];
                reader.read(begin, span, |at, part| {
                    scatter(at, part, disk[2], size[2], |j, k, value| {
                        target[[i, first + j, k]] = value;
                    });
                })?;
            }
        }
        Ok(out)
    }

    /// Smallest, largest and mean value and the first suspicious nodes; reads the file once.
    ///
    /// # Errors
    /// As [`Volume::read_planes`].
    pub fn statistics(&self) -> Result<Statistics> {
        let mut found = Statistics {
            min: f32::INFINITY,
            max: f32::NEG_INFINITY,
            mean: 0.0,
            first_not_finite: None,
            first_not_positive: None,
        };
        let (mut sum, mut finite) = (0.0_f64, 0_u64);
        let total = elements(self.shape).unwrap_or(0);
        let node = |at: usize| {
            let [nx, ny, nz] = self.shape;
            if self.fortran {
                [at % nx, at / nx % ny, at / nx / ny]
            } else {
                [at / nz / ny, at / nz % ny, at % nz]
            }
        };
        let earlier = |best: Option<[usize; 3]>, at| best.map_or(node(at), |b| b.min(node(at)));
        let mut reader = RowReader { volume: self, bytes: Vec::new(), values: Vec::new() };
        reader.read(0, total, |at, part| {
            for (n, &value) in part.iter().enumerate() {
                if value.is_finite() {
                    found.min = found.min.min(value);
                    found.max = found.max.max(value);
                    sum += f64::from(value);
                    finite += 1;
                } else {
                    found.first_not_finite = Some(earlier(found.first_not_finite, at + n));
                }
                if value <= 0.0 {
                    found.first_not_positive = Some(earlier(found.first_not_positive, at + n));
                }
            }
        })?;
        found.mean = if finite > 0 { sum / finite as f64 } else { f64::NAN };
        Ok(found)
    }
}

/// Hands the elements of a span that belong to a region's rows to `put(row, column, value)`; the
/// span starts at element `at` of the first row and rows are `pitch` elements apart.
fn scatter(
    at: usize,
    part: &[f32],
    pitch: usize,
    width: usize,
    mut put: impl FnMut(usize, usize, f32),
) {
    let (mut row, mut column) = (at / pitch, at % pitch);
    let mut n = 0;
    while n < part.len() {
        let run = width.saturating_sub(column).min(part.len() - n);
        for k in 0..run {
            put(row, column + k, part[n + k]);
        }
        n += (pitch - column).max(1);
        row += 1;
        column = 0;
    }
}

/// Reads spans of elements through one buffer.
struct RowReader<'a> {
    volume: &'a Volume,
    bytes: Vec<u8>,
    values: Vec<f32>,
}

impl RowReader<'_> {
    /// Reads `count` elements from element `begin` of the file; `take` gets pieces with their
    /// position in the span.
    fn read(
        &mut self,
        begin: u64,
        count: usize,
        mut take: impl FnMut(usize, &[f32]),
    ) -> Result<()> {
        let volume = self.volume;
        let width = volume.element.bytes();
        let most = BUFFER_BYTES / width;
        self.bytes.resize(count.min(most) * width, 0);
        self.values.resize(count.min(most), 0.0);
        for at in (0..count).step_by(most) {
            let n = most.min(count - at);
            let offset = volume.data_offset + (begin + at as u64) * width as u64;
            let (bytes, values) = (&mut self.bytes[..n * width], &mut self.values[..n]);
            read_exact_at(&volume.file, bytes, offset)
                .map_err(|e| Error::io(&volume.path, "read", None, e))?;
            volume.element.decode(volume.order, bytes, values);
            take(at, values);
        }
        Ok(())
    }
}

fn guess_format(path: &Path, file: &File) -> VolumeFormat {
    let mut start = [0_u8; 6];
    let magic = read_exact_at(file, &mut start, 0).is_ok() && npy::is_npy(&start);
    // A file called .npy that does not start as one should be told so, not be read as raw numbers.
    let named = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy"));
    if magic || named { VolumeFormat::Npy } else { VolumeFormat::Raw }
}

fn elements(shape: [usize; 3]) -> Option<usize> {
    shape.iter().try_fold(1_usize, |n, &axis| n.checked_mul(axis))
}

/// What to do about an npy shape that is not the one wanted.
fn transposition(want: [usize; 3], found: &[usize]) -> String {
    let squeeze = |shape: &[usize]| shape.iter().copied().filter(|&n| n > 1).collect::<Vec<_>>();
    let (mut a, mut b) = (squeeze(&want), squeeze(found));
    let same_axes = a == b;
    a.sort_unstable();
    b.sort_unstable();
    if same_axes {
        "the same axes with others of length 1 between them: set the grid's shape to the file's"
            .to_owned()
    } else if a == b {
        "the same axes in another order: `temblor model convert --transpose` puts z last".to_owned()
    } else {
        "set the grid's shape to the file's, or take another file".to_owned()
    }
}

/// What to do about a raw file whose size does not fit.
fn raw_remedy(shape: [usize; 3], element: Element, bytes: u64) -> String {
    let count = elements(shape).unwrap_or(usize::MAX) as u64;
    let other = Element::ALL
        .into_iter()
        .find(|e| *e != element && count.checked_mul(e.bytes() as u64) == Some(bytes));
    if let Some(other) = other {
        return format!("{} elements would fit that shape", other.name());
    }
    let found = bytes / element.bytes() as u64;
    let [nx, ny, nz] = shape.map(|n| n as u64);
    if count < found && found - count <= 1024 {
        let extra = (found - count) * element.bytes() as u64;
        return format!("{extra} bytes more: if they are a header, skip them (header bytes)");
    }
    let fits = |plane: u64| plane > 0 && found.is_multiple_of(plane);
    if fits(ny * nz) {
        return format!("shape ({}, {ny}, {nz}) would fit", found / (ny * nz));
    }
    if fits(nx * nz) {
        return format!("shape ({nx}, {}, {nz}) would fit", found / (nx * nz));
    }
    if fits(nx * ny) {
        return format!("shape ({nx}, {ny}, {}) would fit", found / (nx * ny));
    }
    format!("the file holds {found} {} elements: check the shape", element.name())
}
