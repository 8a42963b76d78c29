//! `NumPy`'s array files: a dictionary in ASCII, then the elements.
//!
//! Format: NEP 1 and `numpy.lib.format`, versions 1.0 to 3.0. Written files are version 1.0, little
//! endian, C order, with the header padded to a multiple of 64 bytes as `NumPy` does, so the bytes
//! equal those of `numpy.save`.

use std::fs::File;
use std::path::Path;

use crate::positioned::read_exact_at;
use crate::{ArrayWriter, ByteOrder, Element, Error, Result, Sample};

const MAGIC: &[u8] = b"\x93NUMPY";
/// Headers are some 120 bytes; structured types reach kilobytes.
const HEADER_LIMIT: usize = 1 << 20;

/// What the header of an npy file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpyHeader {
    /// Number format.
    pub element: Element,
    /// Byte order.
    pub order: ByteOrder,
    /// Whether the first axis is the fastest.
    pub fortran: bool,
    /// Shape as stored, any number of axes.
    pub shape: Vec<usize>,
    /// Where the elements start, bytes.
    pub data_offset: u64,
}

/// Whether a file starts as npy files do.
#[must_use]
pub fn is_npy(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

/// Reads the header of an npy file.
///
/// # Errors
/// [`Error::Io`], or [`Error::Format`] if it is not an npy file or of a type that is not read.
pub fn read_header(path: impl AsRef<Path>) -> Result<NpyHeader> {
    let path = path.as_ref();
    let file = File::open(path).map_err(|e| Error::io(path, "open", None, e))?;
    header_of(path, &file)
}

pub(crate) fn header_of(path: &Path, file: &File) -> Result<NpyHeader> {
    let cut = |offset: u64, source: std::io::Error| {
        if source.kind() == std::io::ErrorKind::UnexpectedEof {
            Error::format(path, offset, "the npy header is cut short", "copy the file again")
        } else {
            Error::io(path, "read", None, source)
        }
    };
    let mut start = [0_u8; 12];
    read_exact_at(file, &mut start, 0).map_err(|e| cut(0, e))?;
    if !is_npy(&start) {
        let remedy = "raw files need a name that does not end in .npy";
        return Err(Error::format(path, 0, "this is not an npy file", remedy));
    }
    let (length, text_at) = match start[6] {
        1 => (usize::from(u16::from_le_bytes([start[8], start[9]])), 10_u64),
        2 | 3 => {
            let length = u32::from_le_bytes([start[8], start[9], start[10], start[11]]);
            (usize::try_from(length).unwrap_or(usize::MAX), 12)
        }
        version => {
            let what = format!("npy version {version} is not known");
            return Err(Error::format(path, 6, what, "save it again with numpy.save"));
        }
    };
    if length > HEADER_LIMIT {
        let what = format!("a header of {length} bytes");
        return Err(Error::format(path, 8, what, "save it again with numpy.save"));
    }
    let size = file.metadata().map_err(|e| Error::io(path, "read", None, e))?.len();
    if text_at + length as u64 > size {
        return Err(cut(text_at, std::io::ErrorKind::UnexpectedEof.into()));
    }
    let mut text = vec![0_u8; length];
    read_exact_at(file, &mut text, text_at).map_err(|e| cut(text_at, e))?;
    let text = String::from_utf8_lossy(&text);
    parse(&text, text_at + length as u64)
        .map_err(|(what, remedy)| Error::format(path, text_at, what, remedy))
}

/// Reads the dictionary `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
fn parse(text: &str, data_offset: u64) -> std::result::Result<NpyHeader, (String, String)> {
    let broken = || {
        let what = format!("the npy header cannot be understood: {}", text.trim_end());
        (what, "save the array again with numpy.save".to_owned())
    };
    let value_of = |key: &str| {
        let quoted = [format!("'{key}'"), format!("\"{key}\"")];
        let at = quoted.iter().find_map(|q| text.find(q.as_str()).map(|at| at + q.len()))?;
        text[at..].trim_start().strip_prefix(':').map(str::trim_start)
    };
    let descr = value_of("descr").ok_or_else(broken)?;
    let type_name = descr
        .strip_prefix(['\'', '"'])
        .and_then(|rest| rest.split(['\'', '"']).next())
        .ok_or_else(|| {
            let what = "an npy file of records, not of numbers".to_owned();
            (what, "save one field as a plain array".to_owned())
        })?;
    let (order, name) = match type_name.split_at_checked(1) {
        Some((">", name)) => (ByteOrder::Big, name),
        Some(("<", name)) => (ByteOrder::Little, name),
        Some(("|" | "=", name)) => (ByteOrder::Little, name),
        _ => return Err(broken()),
    };
    let element = Element::from_name(name).ok_or_else(|| {
        let what = format!("elements of type {type_name}");
        (what, "f2, f4, f8, i2 and i4 are read: use array.astype('f4')".to_owned())
    })?;
    let fortran = value_of("fortran_order").ok_or_else(broken)?;
    let fortran = match (fortran.starts_with("True"), fortran.starts_with("False")) {
        (true, _) => true,
        (_, true) => false,
        _ => return Err(broken()),
    };
    let tuple = value_of("shape")
        .and_then(|rest| rest.strip_prefix('('))
        .and_then(|rest| rest.split_once(')'))
        .ok_or_else(broken)?
        .0;
    let shape = tuple
        .split(',')
        .map(|axis| axis.trim().trim_end_matches('L'))
        .filter(|axis| !axis.is_empty())
        .map(str::parse)
        .collect::<std::result::Result<Vec<usize>, _>>()
        .map_err(|_| broken())?;
    Ok(NpyHeader { element, order, fortran, shape, data_offset })
}

/// Starts an npy file of that shape, C order; its elements are given piece by piece.
///
/// # Errors
/// As [`crate::AtomicFile::create`].
pub fn writer<T: Sample>(path: impl AsRef<Path>, shape: &[usize]) -> Result<ArrayWriter<T>> {
    let path = path.as_ref();
    let elements = shape.iter().try_fold(1_u64, |n, &axis| n.checked_mul(axis as u64));
    let Some(elements) = elements else {
        return Err(Error::invalid(path, "the shape", format!("{shape:?}"), "lower the shape"));
    };
    ArrayWriter::create(path, &header_bytes(T::ELEMENT, shape), elements, ByteOrder::Little)
}

/// Writes a whole array at once; `shape` and `values` agree.
///
/// # Errors
/// As [`ArrayWriter::write`] and [`ArrayWriter::finish`].
pub fn write<T: Sample>(path: impl AsRef<Path>, shape: &[usize], values: &[T]) -> Result<()> {
    let mut writer = writer(path, shape)?;
    writer.write(values)?;
    writer.finish()
}

/// The bytes before the elements of an npy file of that shape, C order, little-endian.
///
/// # Panics
/// Never: a shape prints in far less than 64 KiB.
#[must_use]
pub fn header_bytes(element: Element, shape: &[usize]) -> Vec<u8> {
    header_bytes_as(element, ByteOrder::Little, false, shape)
}

/// As [`header_bytes`], in any byte order, and in Fortran order if asked for: `shape` is that of the
/// array either way.
///
/// # Panics
/// Never: a shape prints in far less than 64 KiB.
#[must_use]
pub fn header_bytes_as(
    element: Element,
    order: ByteOrder,
    fortran: bool,
    shape: &[usize],
) -> Vec<u8> {
    let axes = match shape {
        [one] => format!("{one},"),
        _ => shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    };
    let name = element.name();
    let mark = if order == ByteOrder::Big { '>' } else { '<' };
    let fortran_order = if fortran { "True" } else { "False" };
    let mut text = format!(
        "{{'descr': '{mark}{name}', 'fortran_order': {fortran_order}, 'shape': ({axes}), }}"
    );
    // NumPy leaves room for the axis that can grow, the slowest, to get 21 digits, then pads magic,
    // version, length, text and newline to a multiple of 64.
    let slowest = if fortran { shape.last() } else { shape.first() };
    if let Some(slowest) = slowest {
        text.push_str(&" ".repeat(21_usize.saturating_sub(slowest.to_string().len())));
    }
    let unpadded = MAGIC.len() + 4 + text.len() + 1;
    text.push_str(&" ".repeat(unpadded.next_multiple_of(64) - unpadded));
    text.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&[1, 0]);
    let length = u16::try_from(text.len()).expect("a shape prints in less than 64 KiB");
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes
}
