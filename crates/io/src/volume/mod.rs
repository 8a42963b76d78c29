//! A velocity model or a snapshot on disk, read by slabs.
//!
//! Shape is (nx, ny, nz) with z the depth, whatever order a file has its axes in. 2-D files of shape
//! (nx, nz) are (nx, 1, nz), 1-D files of nz numbers are (1, 1, nz). Raw files need their shape in
//! [`VolumeOptions`]; the others say it. RSF files have z on axis 1, x on axis 2 and y on axis 3
//! unless their labels say otherwise; every SU trace is a column of a section; SEG-Y files are taken
//! as cubes ([`crate::segy::cube`]).
//!
//! Precedence for spacing: an option over the file, with a warning that shows both. Memory is the
//! slab asked for plus a buffer of a few MiB, whatever the file's size and order.

pub(crate) mod open;
mod read;
mod remedy;
mod write;

use std::path::{Path, PathBuf};

use crate::segy::SegyOptions;
use crate::store::Store;
use crate::{ByteOrder, Element, Result, identify};

pub use crate::identify::Format as VolumeFormat;
pub use crate::statistics::Statistics;
pub(crate) use write::write_as;
pub use write::{Region, VolumeLayout, write};

/// Largest relative difference of two spacings that are the same.
const SAME: f64 = 1e-6;

/// What a file does not say about itself, or says wrongly.
#[derive(Debug, Clone, Default)]
pub struct VolumeOptions {
    /// Format; found from content and name if absent.
    pub format: Option<VolumeFormat>,
    /// Shape (nx, ny, nz): needed for raw files; others are checked against it.
    pub shape: Option<[usize; 3]>,
    /// Number format of a raw file.
    pub element: Element,
    /// Byte order; little for raw files, else what the file says or looks like.
    pub order: Option<ByteOrder>,
    /// Whether x is the fastest axis of a raw file, instead of z.
    pub fortran: bool,
    /// Bytes before the first element of a raw file.
    pub header_bytes: u64,
    /// Spacing along (x, y, z), m, instead of the file's.
    pub spacing: Option<[f64; 3]>,
    /// How to read SEG-Y.
    pub segy: SegyOptions,
}

/// An open volume of shape (nx, ny, nz).
#[derive(Debug)]
pub struct Volume {
    path: PathBuf,
    store: Store,
    format: VolumeFormat,
    shape: [usize; 3],
    stored_shape: Vec<usize>,
    element: Element,
    order: ByteOrder,
    /// Which of x, y, z each axis on disk is, slowest first.
    axes: [usize; 3],
    spacing: Option<[f64; 3]>,
    origin: Option<[f64; 3]>,
    warnings: Vec<String>,
}

impl Volume {
    /// Opens a file and checks its size against its shape.
    ///
    /// # Errors
    /// [`crate::Error::Io`], [`crate::Error::Format`] for a broken header, [`crate::Error::Size`] if
    /// size and shape disagree, [`crate::Error::Shape`] if the file has another shape than the
    /// options ask for, [`crate::Error::Invalid`] for a raw file without a shape or a format that holds no volume.
    pub fn open(path: impl AsRef<Path>, options: &VolumeOptions) -> Result<Self> {
        let path = path.as_ref();
        let mut found = Vec::new();
        let format = match options.format {
            Some(format) => format,
            None => {
                let identity = identify::identify(path)?;
                found = identity.warnings;
                // A list of numbers as text may still be read as bytes if a shape says so.
                match identity.format {
                    VolumeFormat::Csv | VolumeFormat::Sps if options.shape.is_some() => {
                        VolumeFormat::Raw
                    }
                    format => format,
                }
            }
        };
        let mut volume = open::open(path, format, options)?;
        volume.warnings.splice(0..0, found);
        volume.override_spacing(options.spacing);
        Ok(volume)
    }

    /// Takes the caller's spacing, and says so where the file has another.
    fn override_spacing(&mut self, given: Option<[f64; 3]>) {
        let Some(given) = given else { return };
        if let Some(own) = self.spacing
            && (0..3).any(|a| self.shape[a] > 1 && (own[a] - given[a]).abs() > SAME * own[a].abs())
        {
            let [x, y, z] = own;
            let [gx, gy, gz] = given;
            self.warnings.push(format!(
                "the file's spacing is {x}, {y}, {z} m, {gx}, {gy}, {gz} m was given: took the \
                 given one"
            ));
        }
        self.spacing = Some(given);
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

    /// Shape as the file says it, slowest axis first; 2-D files have two axes.
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
        self.axes == [2, 1, 0]
    }

    /// Which of x, y, z (0, 1, 2) each axis on disk is, slowest first.
    #[must_use]
    pub fn axes(&self) -> [usize; 3] {
        self.axes
    }

    /// Spacing along (x, y, z), m, as given or as the file says; axes of one node have 1.
    #[must_use]
    pub fn spacing(&self) -> Option<[f64; 3]> {
        self.spacing
    }

    /// Position of the first node, m, where the file says it.
    #[must_use]
    pub fn origin(&self) -> Option<[f64; 3]> {
        self.origin
    }

    /// What is doubtful, with both values.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

fn elements(shape: [usize; 3]) -> Option<usize> {
    shape.iter().try_fold(1_usize, |n, &axis| n.checked_mul(axis))
}
