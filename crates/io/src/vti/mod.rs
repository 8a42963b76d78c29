//! VTK's `ImageData` for `ParaView`: XML with the numbers appended as raw bytes.
//!
//! Format: "VTK File Formats", XML `ImageData`, `header_type` `UInt64`, little endian, x fastest.
//! [`read_header`] reads such files, also big endian, with 32-bit lengths, other element types, and
//! values on cells; files that are compressed or encoded as text are refused.
//! Values stand on points; `Origin` and `Spacing` are in metres. z is depth, positive downwards as
//! everywhere here, so `ParaView` shows the surface at the bottom until the view is turned.

mod read;

use std::path::Path;

use ndarray::ArrayView3;

pub(crate) use read::open;
pub use read::{VtiArray, is_vti, read_header};

use crate::{AtomicFile, Element, Error, Result};

/// What a VTI file says about its grid.
#[derive(Debug, Clone, PartialEq)]
pub struct VtiHeader {
    /// Points along (x, y, z).
    pub shape: [usize; 3],
    /// Distance of points along (x, y, z), m.
    pub spacing: [f64; 3],
    /// Position of the first point (x, y, z), m.
    pub origin: [f64; 3],
    /// Name of the quantity, such as `pressure`.
    pub name: String,
}

/// Writes a volume that is in memory, shape (nx, ny, nz).
///
/// # Errors
/// [`Error::DiskFull`], [`Error::Io`], or [`Error::Invalid`] for an empty or another shape.
pub fn write(
    path: impl AsRef<Path>,
    header: &VtiHeader,
    values: &ArrayView3<'_, f32>,
) -> Result<()> {
    let path = path.as_ref();
    let (nx, ny, nz) = values.dim();
    if header.shape != [nx, ny, nz] {
        let got = format!("{:?}", values.dim());
        return Err(Error::invalid(path, "the shape of the values", got, "give the header's"));
    }
    write_with(path, header, |file, buffer| {
        for k in 0..nz {
            append(file, buffer, &values.slice(ndarray::s![.., .., k..k + 1]))?;
        }
        Ok(())
    })
}

/// Writes a volume in pieces along z, each of at most `thickness` points: `piece(start, count)`
/// gives shape (nx, ny, count). For volumes larger than memory.
///
/// # Errors
/// [`Error::DiskFull`], [`Error::Io`], and whatever `piece` fails with.
pub fn write_pieces(
    path: impl AsRef<Path>,
    header: &VtiHeader,
    thickness: usize,
    mut piece: impl FnMut(usize, usize) -> Result<ndarray::Array3<f32>>,
) -> Result<()> {
    let nz = header.shape[2];
    let thickness = thickness.max(1);
    write_with(path.as_ref(), header, |file, buffer| {
        for start in (0..nz).step_by(thickness) {
            let count = thickness.min(nz - start);
            append(file, buffer, &piece(start, count)?.view())?;
        }
        Ok(())
    })
}

fn append(file: &mut AtomicFile, buffer: &mut Vec<u8>, part: &ArrayView3<'_, f32>) -> Result<()> {
    let (nx, ny, nz) = part.dim();
    for k in 0..nz {
        buffer.clear();
        for j in 0..ny {
            for i in 0..nx {
                buffer.extend_from_slice(&part[[i, j, k]].to_le_bytes());
            }
        }
        file.write(buffer)?;
    }
    Ok(())
}

fn write_with(
    path: &Path,
    header: &VtiHeader,
    body: impl FnOnce(&mut AtomicFile, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let data_bytes = header.shape.iter().try_fold(4_u64, |n, &axis| n.checked_mul(axis as u64));
    let Some(data_bytes) = data_bytes.filter(|&n| n > 0) else {
        let got = format!("{:?}", header.shape);
        return Err(Error::invalid(path, "the shape", got, "give at least one point per axis"));
    };
    let start = xml(header, Element::F32);
    let end = XML_END;
    let total = data_bytes.saturating_add((start.len() + 8 + end.len()) as u64);
    let mut file = AtomicFile::create(path, Some(total))?;
    file.write(start.as_bytes())?;
    file.write(&data_bytes.to_le_bytes())?;
    body(&mut file, &mut Vec::new())?;
    file.write(end.as_bytes())?;
    file.commit()
}

/// What follows the numbers.
pub(crate) const XML_END: &str = "\n  </AppendedData>\n</VTKFile>\n";

/// What stands before the numbers and their length in bytes, 8 bytes little endian.
pub(crate) fn xml(header: &VtiHeader, element: Element) -> String {
    let kind = match element {
        Element::F64 => "Float64",
        Element::I16 => "Int16",
        Element::I32 => "Int32",
        // VTK has no half precision; callers ask for what it has.
        Element::F16 | Element::F32 => "Float32",
    };
    let [nx, ny, nz] = header.shape.map(|n| n - 1);
    let [x, y, z] = header.origin;
    let [hx, hy, hz] = header.spacing;
    let escaped = header.name.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    format!(
        r#"<?xml version="1.0"?>
<VTKFile type="ImageData" version="1.0" byte_order="LittleEndian" header_type="UInt64">
  <ImageData WholeExtent="0 {nx} 0 {ny} 0 {nz}" Origin="{x} {y} {z}" Spacing="{hx} {hy} {hz}">
    <Piece Extent="0 {nx} 0 {ny} 0 {nz}">
      <PointData Scalars="{escaped}">
        <DataArray type="{kind}" Name="{escaped}" format="appended" offset="0"/>
      </PointData>
      <CellData/>
    </Piece>
  </ImageData>
  <AppendedData encoding="raw">
   _"#
    )
}
