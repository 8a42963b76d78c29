//! Writing a volume in any format, slab by slab.

use std::path::Path;

use ndarray::{Array3, ArrayView3, Axis};

use super::VolumeFormat;
use crate::atomic::PendingName;
use crate::element::Real;
use crate::rsf::{self, RsfAxis, RsfLayout};
use crate::segy::TraceHeader;
use crate::segy::cube::CubeWriter;
use crate::su::{SuHeader, SuWriter};
use crate::{ByteOrder, Element, Error, NumberWriter, Result, npy, vti};

/// Numbers of a slab.
const SLAB: usize = 8 << 20;

/// A volume to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct VolumeLayout {
    /// Format.
    pub format: VolumeFormat,
    /// Shape (nx, ny, nz).
    pub shape: [usize; 3],
    /// Number format; VTI and RSF have no f2, SU and SEG-Y have f4 only here.
    pub element: Element,
    /// Byte order; VTI files are little endian, SEG-Y ones always big.
    pub order: ByteOrder,
    /// Whether x is the fastest axis of npy and raw files.
    pub fortran: bool,
    /// Spacing along (x, y, z), m, where it is known.
    pub spacing: Option<[f64; 3]>,
    /// Position of the first node, m.
    pub origin: [f64; 3],
    /// Name of the quantity, such as `wave_speed`.
    pub name: String,
}

impl VolumeLayout {
    /// Which of x, y, z each axis on disk is, slowest first: y is the slowest of 3-D RSF files.
    fn axes(&self) -> [usize; 3] {
        match self.format {
            VolumeFormat::Vti => [2, 1, 0],
            VolumeFormat::Rsf if self.shape[1] > 1 => [1, 0, 2],
            VolumeFormat::Npy | VolumeFormat::Raw if self.fortran => [2, 1, 0],
            _ => [0, 1, 2],
        }
    }

    /// What stands before and after the numbers.
    fn frame(&self, path: &Path) -> Result<(Vec<u8>, Vec<u8>)> {
        let [nx, ny, nz] = self.shape;
        let unfit = |remedy: &str| {
            Err(Error::invalid(path, "the element type", self.element.name(), remedy))
        };
        match self.format {
            VolumeFormat::Npy => {
                // 2-D models are stored with two axes, as the world does.
                let shape = if ny == 1 { vec![nx, nz] } else { vec![nx, ny, nz] };
                Ok((npy::header_bytes_as(self.element, self.order, self.fortran, &shape), vec![]))
            }
            VolumeFormat::Raw => Ok((vec![], vec![])),
            VolumeFormat::Rsf => match rsf::header_bytes(&self.rsf()) {
                Some(header) => Ok((header, vec![])),
                None => unfit("RSF knows f4, f8, i2 and i4"),
            },
            VolumeFormat::Vti if self.element == Element::F16 => {
                unfit("VTK knows f4, f8, i2 and i4")
            }
            VolumeFormat::Vti if self.order == ByteOrder::Big => {
                let remedy = "VTI files are written little endian, which VTK reads everywhere";
                Err(Error::invalid(path, "the byte order", "big endian", remedy))
            }
            VolumeFormat::Vti => {
                let header = vti::VtiHeader {
                    shape: self.shape,
                    spacing: self.spacing.unwrap_or([1.0; 3]),
                    origin: self.origin,
                    name: self.name.clone(),
                };
                let mut start = vti::xml(&header, self.element).into_bytes();
                let bytes =
                    elements(self.shape).and_then(|n| n.checked_mul(self.element.bytes() as u64));
                start.extend_from_slice(&bytes.unwrap_or(u64::MAX).to_le_bytes());
                Ok((start, vti::XML_END.as_bytes().to_vec()))
            }
            format => {
                let remedy = "volumes are written as SEG-Y, SU, RSF, npy, VTI and raw";
                Err(Error::invalid(path, "the format", format.name(), remedy))
            }
        }
    }

    fn rsf(&self) -> RsfLayout {
        let axis = |a: usize, label: &str| RsfAxis {
            n: self.shape[a],
            o: Some(self.origin[a]),
            d: self.spacing.map(|h| h[a]),
            label: Some(label.to_owned()),
            unit: Some("m".to_owned()),
        };
        let mut axes = vec![axis(2, "Depth"), axis(0, "X")];
        if self.shape[1] > 1 {
            axes.push(axis(1, "Y"));
        }
        let label = Some(self.name.clone());
        RsfLayout { axes, element: self.element, order: self.order, label, unit: None }
    }
}

fn elements(shape: [usize; 3]) -> Option<u64> {
    shape.iter().try_fold(1_u64, |n, &axis| n.checked_mul(axis as u64)).filter(|&n| n > 0)
}

/// Writes a volume; `region(start, shape)` gives its boxes, `go_on` is told how many numbers are
/// done and stops the writing by saying false. The file appears when it is complete.
///
/// # Errors
/// [`Error::Invalid`] for what the format cannot hold, [`Error::Stopped`], [`Error::DiskFull`],
/// [`Error::Io`], and whatever `region` fails with.
pub fn write<R: Real>(
    path: impl AsRef<Path>,
    layout: &VolumeLayout,
    mut region: impl FnMut([usize; 3], [usize; 3]) -> Result<Array3<R>>,
    mut go_on: impl FnMut(u64) -> bool,
) -> Result<()> {
    R::write_volume(path.as_ref(), layout, &mut region, &mut go_on)
}

/// What gives the boxes of a volume, by start and shape.
pub type Region<'a, R> = dyn FnMut([usize; 3], [usize; 3]) -> Result<Array3<R>> + 'a;

/// [`write`] behind its callbacks.
pub(crate) fn write_as<R: Real>(
    path: &Path,
    layout: &VolumeLayout,
    region: &mut Region<'_, R>,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<()> {
    let Some(total) = elements(layout.shape) else {
        let got = format!("{:?}", layout.shape);
        return Err(Error::invalid(path, "the shape", got, "give at least one node per axis"));
    };
    let axes = layout.axes();
    let disk = axes.map(|a| layout.shape[a]);
    let thickness = (SLAB / (disk[1] * disk[2]).max(1)).clamp(1, disk[0]);
    let mut done = 0;
    let mut each = |take: &mut dyn FnMut(&[R]) -> Result<()>| {
        for first in (0..disk[0]).step_by(thickness) {
            let (mut start, mut size) = ([0; 3], layout.shape);
            start[axes[0]] = first;
            size[axes[0]] = thickness.min(disk[0] - first);
            let slab = region(start, size)?.permuted_axes(axes);
            for plane in slab.axis_iter(Axis(0)) {
                take(&plane.iter().copied().collect::<Vec<R>>())?;
                done += plane.len() as u64;
                if !go_on(done) {
                    return Err(Error::Stopped { path: path.to_owned() });
                }
            }
        }
        Ok(())
    };
    match layout.format {
        VolumeFormat::Su => return write_su(path, layout, &mut each),
        VolumeFormat::Segy => return write_segy(path, layout, &mut each),
        _ => {}
    }
    let (header, trailer) = layout.frame(path)?;
    let mut writer = NumberWriter::create(path, &header, total, layout.element, layout.order)?;
    each(&mut |plane| writer.write(plane))?;
    writer.finish(&trailer)
}

/// Hands over planes of numbers, one after the other.
type Planes<'a, R> = dyn FnMut(&mut dyn FnMut(&[R]) -> Result<()>) -> Result<()> + 'a;

/// Every column a trace of a cube.
fn write_segy<R: Real>(path: &Path, layout: &VolumeLayout, each: &mut Planes<'_, R>) -> Result<()> {
    let [_, ny, nz] = layout.shape;
    if layout.element != Element::F32 || layout.order != ByteOrder::Little {
        let got = format!("{}, {:?} endian", layout.element.name(), layout.order);
        let remedy = "models are written to SEG-Y as big endian IEEE singles: leave both out";
        return Err(Error::invalid(path, "element type and byte order", got, remedy));
    }
    let Some(spacing) = layout.spacing else {
        let remedy = "SEG-Y stores places: give it";
        return Err(Error::invalid(path, "the spacing", "unknown", remedy));
    };
    let mut writer = CubeWriter::create(path, layout.shape, spacing, layout.origin, &[])?;
    let written = each(&mut |plane| {
        let singles: Vec<f32> = plane.iter().map(|v| v.to_f32()).collect();
        let plane = ArrayView3::from_shape((1, ny, nz), &singles);
        writer.write_planes(&plane.expect("a plane of x has ny times nz numbers"))
    });
    written.and_then(|()| writer.finish())
}

/// Every column a trace, with its place in `d1`, `f1`, `d2` and `f2`.
fn write_su<R: Real>(path: &Path, layout: &VolumeLayout, each: &mut Planes<'_, R>) -> Result<()> {
    if layout.element != Element::F32 {
        let got = layout.element.name();
        return Err(Error::invalid(path, "the element type", got, "SU holds f4"));
    }
    let [_, ny, nz] = layout.shape;
    let axis = |a: usize| layout.spacing.map(|h| (h[a], layout.origin[a]));
    let header = SuHeader {
        order: layout.order,
        samples: nz,
        sample_interval: None,
        along_samples: axis(2),
        along_traces: axis(0).filter(|_| ny == 1),
        coordinate_scalar: None,
    };
    let pending = PendingName::new(path)?;
    header.check(path)?;
    let named = |error: Error| error.about(path);
    let mut writer = SuWriter::create(pending.temporary(), &header).map_err(named)?;
    let spacing = layout.spacing.unwrap_or([1.0; 3]);
    let mut column = 0_usize;
    let mut samples = Vec::new();
    each(&mut |plane| {
        for values in plane.chunks(nz) {
            let node = [column / ny, column % ny];
            let at = |a: usize| layout.origin[a] + node[a] as f64 * spacing[a];
            let position = [at(0), at(1), layout.origin[2]];
            let (source, receiver) = (position, position);
            samples.clear();
            samples.extend(values.iter().map(|v| v.to_f32()));
            writer.write_trace(
                &TraceHeader { source, receiver, ..TraceHeader::default() },
                &samples,
            )?;
            column += 1;
        }
        Ok(())
    })?;
    writer.finish().map_err(named)?;
    pending.commit()
}
