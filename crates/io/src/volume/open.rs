//! Opening a volume of each format.

use std::fs::File;
use std::path::Path;

use super::remedy::{raw_remedy, transposition};
use super::{Volume, VolumeFormat, VolumeOptions, elements};
use crate::ascii::AsciiNumbers;
use crate::rsf::{RsfAxis, RsfEncoding, RsfHeader};
use crate::segy::cube::{CubeOptions, SegyCube};
use crate::segy::{SampleFormat, WordOrder};
use crate::store::Store;
use crate::su::{SuOptions, SuReader};
use crate::{ByteOrder, Element, Error, Result, npy, rsf, vti};

/// z fastest, x slowest.
const C_ORDER: [usize; 3] = [0, 1, 2];
/// x fastest, z slowest.
const FORTRAN: [usize; 3] = [2, 1, 0];

pub(super) fn open(path: &Path, format: VolumeFormat, options: &VolumeOptions) -> Result<Volume> {
    match format {
        VolumeFormat::Npy => from_npy(path, options),
        VolumeFormat::Raw => from_raw(path, options),
        VolumeFormat::Rsf => from_rsf(path, options),
        VolumeFormat::Vti => from_vti(path, options),
        VolumeFormat::Su => from_su(path, options),
        VolumeFormat::Segy => from_segy(path, options),
        format => {
            let got = format!("a {} file", format.name());
            let remedy = "it holds no model or snapshot: give SEG-Y, SU, RSF, npy, VTI or raw";
            Err(Error::invalid(path, "the file", got, remedy))
        }
    }
}

fn open_file(path: &Path) -> Result<(File, u64)> {
    let file = File::open(path).map_err(|e| Error::io(path, "open", None, e))?;
    let metadata = file.metadata().map_err(|e| Error::io(path, "read", None, e))?;
    if metadata.is_dir() {
        return Err(Error::invalid(path, "the path", "a folder", "name a file"));
    }
    Ok((file, metadata.len()))
}

/// The shape (nx, ny, nz) of up to three stored axes, slowest first.
fn three_axes(path: &Path, stored: &[usize]) -> Result<[usize; 3]> {
    match *stored {
        [nz] => Ok([1, 1, nz]),
        [nx, nz] => Ok([nx, 1, nz]),
        [nx, ny, nz] => Ok([nx, ny, nz]),
        _ => {
            let remedy = "one to three axes are read: save one part of it";
            Err(Error::invalid(path, "the shape", format!("{stored:?}"), remedy))
        }
    }
}

/// Compares a file's shape with the one asked for.
fn check_shape(
    path: &Path,
    options: &VolumeOptions,
    own: [usize; 3],
    stored: &[usize],
) -> Result<()> {
    match options.shape {
        Some(want) if want != own => {
            let remedy = transposition(want, stored);
            Err(Error::Shape { path: path.to_owned(), want, found: stored.to_vec(), remedy })
        }
        _ => Ok(()),
    }
}

fn from_npy(path: &Path, options: &VolumeOptions) -> Result<Volume> {
    let (file, size) = open_file(path)?;
    let header = npy::header_of(path, &file)?;
    let own = three_axes(path, &header.shape)?;
    // A flat list of the right length is taken in the shape asked for.
    let flat = |want: &[usize; 3]| header.shape.len() == 1 && elements(*want) == Some(own[2]);
    let shape = options.shape.filter(flat).unwrap_or(own);
    check_shape(path, options, shape, &header.shape)?;
    let mut warnings = Vec::new();
    if let Some(order) = options.order.filter(|&order| order != header.order) {
        warnings.push(format!(
            "the npy header says {:?} endian, {order:?} was given: took the header's",
            header.order
        ));
    }
    let (element, order, offset) = (header.element, header.order, header.data_offset);
    check_size(path, VolumeFormat::Npy, shape, element, offset, size)?;
    Ok(Volume {
        path: path.to_owned(),
        store: Store::Array { file, element, order, offset },
        format: VolumeFormat::Npy,
        shape,
        stored_shape: header.shape,
        element,
        order,
        axes: if header.fortran && shape == own { FORTRAN } else { C_ORDER },
        spacing: None,
        origin: None,
        warnings,
    })
}

fn from_raw(path: &Path, options: &VolumeOptions) -> Result<Volume> {
    let (file, size) = open_file(path)?;
    let Some(shape) = options.shape else {
        let remedy = "raw files do not say their shape: give it as nx,ny,nz, or use npy";
        return Err(Error::invalid(path, "the shape", "unknown", remedy));
    };
    let (element, offset) = (options.element, options.header_bytes);
    let order = options.order.unwrap_or_default();
    check_size(path, VolumeFormat::Raw, shape, element, offset, size)?;
    Ok(Volume {
        path: path.to_owned(),
        store: Store::Array { file, element, order, offset },
        format: VolumeFormat::Raw,
        shape,
        stored_shape: shape.to_vec(),
        element,
        order,
        axes: if options.fortran { FORTRAN } else { C_ORDER },
        spacing: None,
        origin: None,
        warnings: Vec::new(),
    })
}

fn check_size(
    path: &Path,
    format: VolumeFormat,
    shape: [usize; 3],
    element: Element,
    offset: u64,
    found: u64,
) -> Result<()> {
    let width = element.bytes() as u64;
    let expected = elements(shape).and_then(|n| (n as u64).checked_mul(width)?.checked_add(offset));
    if expected == Some(found) && found > offset {
        return Ok(());
    }
    let bytes = found.saturating_sub(offset);
    let remedy = match format {
        VolumeFormat::Npy => "the file is damaged or half written: copy it again".to_owned(),
        _ if found < offset || !bytes.is_multiple_of(width) => {
            "the file does not hold whole elements: check its element type".to_owned()
        }
        _ => raw_remedy(shape, element, bytes),
    };
    let [nx, ny, nz] = shape;
    let what = format!("shape ({nx}, {ny}, {nz}) of {} elements", element.name());
    let expected = expected.unwrap_or(u64::MAX);
    Err(Error::Size { path: path.to_owned(), what, expected, found, remedy })
}

fn from_vti(path: &Path, options: &VolumeOptions) -> Result<Volume> {
    let (array, file) = vti::open(path)?;
    let shape = array.header.shape;
    let [nx, ny, nz] = shape;
    check_shape(path, options, shape, &shape)?;
    let (element, order, offset) = (array.element, array.order, array.data_offset);
    Ok(Volume {
        path: path.to_owned(),
        store: Store::Array { file, element, order, offset },
        format: VolumeFormat::Vti,
        shape,
        stored_shape: vec![nz, ny, nx],
        element,
        order,
        axes: FORTRAN,
        spacing: Some(array.header.spacing),
        origin: Some(array.header.origin),
        warnings: array.warnings,
    })
}

fn from_su(path: &Path, options: &VolumeOptions) -> Result<Volume> {
    let reader = SuReader::open(path, &SuOptions { order: options.order })?;
    let traces = usize::try_from(reader.traces()).unwrap_or(usize::MAX);
    let own = [traces, 1, reader.samples()];
    // Traces say nothing of a second horizontal axis; the caller may.
    let folded =
        |want: &[usize; 3]| want[2] == own[2] && want[0].checked_mul(want[1]) == Some(traces);
    let shape = options.shape.filter(folded).unwrap_or(own);
    check_shape(path, options, shape, &[traces, reader.samples()])?;
    let [along_traces, along_samples] = reader.axes();
    let (spacing, origin) = match (along_traces, along_samples) {
        (Some((dx, fx)), Some((dz, fz))) if shape[1] == 1 => {
            (Some([dx, 1.0, dz]), Some([fx, 0.0, fz]))
        }
        _ => (None, None),
    };
    // Doubts about the sample interval are of no concern here.
    Ok(Volume {
        path: path.to_owned(),
        format: VolumeFormat::Su,
        shape,
        stored_shape: vec![traces, reader.samples()],
        element: Element::F32,
        order: reader.order(),
        axes: C_ORDER,
        spacing,
        origin,
        warnings: Vec::new(),
        store: Store::Su(Box::new(reader)),
    })
}

fn from_segy(path: &Path, options: &VolumeOptions) -> Result<Volume> {
    let mut segy = options.segy.clone();
    segy.order = options.order.map(WordOrder::from).or(segy.order);
    let spacing = options.spacing.map_or([None; 3], |h| h.map(Some));
    let cube = SegyCube::open(path, &segy, &CubeOptions { spacing })?;
    let shape = cube.shape();
    check_shape(path, options, shape, &shape)?;
    let reader = cube.reader();
    let mut warnings: Vec<String> = reader.warnings().iter().map(ToString::to_string).collect();
    warnings.extend_from_slice(cube.notes());
    let format = reader.format();
    if matches!(
        format,
        SampleFormat::F64
            | SampleFormat::I32
            | SampleFormat::U32
            | SampleFormat::I64
            | SampleFormat::U64
    ) {
        let name = format.name();
        warnings.push(format!("samples are {name}: a model of them is read in single precision"));
    }
    let order = match reader.order() {
        WordOrder::Little => ByteOrder::Little,
        WordOrder::Big | WordOrder::Pairwise => ByteOrder::Big,
    };
    let stored = if shape[1] == 1 { vec![shape[0], shape[2]] } else { shape.to_vec() };
    Ok(Volume {
        path: path.to_owned(),
        format: VolumeFormat::Segy,
        shape,
        stored_shape: stored,
        element: Element::F32,
        order,
        axes: C_ORDER,
        spacing: Some(cube.spacing()),
        origin: Some(cube.origin()),
        warnings,
        store: Store::Segy(Box::new(cube)),
    })
}

fn from_rsf(path: &Path, options: &VolumeOptions) -> Result<Volume> {
    let (header, file) = rsf::open(path, options.order)?;
    let stored: Vec<usize> = header.axes.iter().rev().map(|axis| axis.n).collect();
    let kept = three_axes(path, &stored)?;
    // Axes of the file, fastest first, as x, y and z.
    let roles = roles(&header.axes);
    let axes = match header.axes.len() {
        3 => [roles[2], roles[1], roles[0]],
        2 if roles == [0, 2] => [2, 1, 0],
        _ => C_ORDER,
    };
    let mut shape = [1; 3];
    for (place, &axis) in axes.iter().enumerate() {
        shape[axis] = kept[place];
    }
    check_shape(path, options, shape, &stored)?;
    let mut warnings = header.warnings.clone();
    let (mut spacing, mut origin) = (Some([1.0; 3]), [0.0; 3]);
    for (axis, &role) in header.axes.iter().zip(&roles) {
        let factor = metres(axis.unit.as_deref(), role, &mut warnings);
        origin[role] = axis.o.unwrap_or(0.0) * factor;
        match axis.d {
            Some(d) if d < 0.0 => {
                let what = format!("d of {}", ["x", "y", "z"][role]);
                return Err(Error::invalid(path, what, d, "reverse the axis (sfreverse) first"));
            }
            Some(d) if d > 0.0 => {
                if let Some(spacing) = &mut spacing {
                    spacing[role] = d * factor;
                }
            }
            _ if axis.n > 1 => spacing = None,
            _ => {}
        }
    }
    let order = header.order;
    let element = header.element;
    let store = rsf_store(path, &header, file)?;
    Ok(Volume {
        path: path.to_owned(),
        store,
        format: VolumeFormat::Rsf,
        shape,
        stored_shape: stored,
        element,
        order,
        axes,
        spacing,
        origin: Some(origin),
        warnings,
    })
}

/// The numbers of an RSF file.
pub(crate) fn rsf_store(path: &Path, header: &RsfHeader, file: File) -> Result<Store> {
    let offset = header.data_offset;
    if header.encoding != RsfEncoding::Ascii {
        let (element, order) = (header.element, header.order);
        return Ok(Store::Array { file, element, order, offset });
    }
    let numbers = AsciiNumbers::open(&header.data, file, offset)?;
    let wanted = header.axes.iter().try_fold(1_u64, |n, axis| n.checked_mul(axis.n as u64));
    if Some(numbers.count) != wanted {
        let got = format!("{} in {}", numbers.count, header.data.display());
        let wanted = wanted.unwrap_or(u64::MAX);
        let remedy = format!("the header's axes make {wanted}: correct one of them");
        return Err(Error::invalid(path, "the number of numbers", got, remedy));
    }
    Ok(Store::Ascii(numbers))
}

/// Which of x, y, z each axis of an RSF file is, fastest first: by labels where they name all of
/// them, else z, x, y.
fn roles(axes: &[RsfAxis]) -> Vec<usize> {
    let usual: &[usize] = match axes.len() {
        1 => &[2],
        2 => &[2, 0],
        _ => &[2, 0, 1],
    };
    let named = |axis: &RsfAxis| {
        let label = axis.label.as_deref()?.trim().to_ascii_lowercase();
        let word = label.split([' ', '(', '[', '_']).next()?;
        match word {
            "x" | "inline" | "lateral" | "distance" => Some(0),
            "y" | "crossline" | "xline" => Some(1),
            "z" | "depth" => Some(2),
            _ => None,
        }
    };
    let labels: Option<Vec<usize>> = axes.iter().map(named).collect();
    labels
        .filter(|roles| usual.iter().all(|role| roles.contains(role)))
        .unwrap_or_else(|| usual.to_vec())
}

/// Factor from an axis' unit to metres.
fn metres(unit: Option<&str>, role: usize, warnings: &mut Vec<String>) -> f64 {
    match unit.map(|unit| unit.trim().to_ascii_lowercase()).as_deref() {
        None | Some("" | "m" | "meter" | "meters" | "metre" | "metres") => 1.0,
        Some("km") => 1000.0,
        Some("ft" | "feet" | "foot") => 0.3048,
        Some(other) => {
            let axis = ["x", "y", "z"][role];
            warnings.push(format!("axis {axis} is in `{other}`, no length: taken as metres"));
            1.0
        }
    }
}
