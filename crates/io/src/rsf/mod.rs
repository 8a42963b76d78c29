//! RSF, Madagascar's regularly sampled format: a text header and numbers in memory order.
//!
//! The header is `key=value` pairs among free text; a later pair overrides an earlier one, so a file
//! that many programs appended to is read by its last words. `n1` is the fastest axis; `oN`, `dN`,
//! `labelN` and `unitN` belong to axis N. The numbers stand in the file that `in=` names (absolute,
//! or relative to the header; if an absolute path is gone, a file of that name beside the header is
//! taken and said so), or in the same file behind the three bytes 12 12 4.
//!
//! `data_format` is `native_` (taken as little endian unless told otherwise), `xdr_` (big endian) or
//! `ascii_`, with `float`, `double`, `short` or `int`. Precedence: `data_format` over `esize`, an
//! option over both.
//!
//! ```
//! use temblor_io::{Volume, VolumeOptions};
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("vp.rsf");
//! # std::fs::write(folder.path().join("vp.rsf@"), [0_u8; 24]).unwrap();
//! // A header as `sfput` leaves it, with its numbers in vp.rsf@.
//! let header = "n1=2 d1=0.01 unit1=km n2=3 d2=25 data_format=native_float in=vp.rsf@";
//! std::fs::write(&path, header).unwrap();
//! let volume = Volume::open(&path, &VolumeOptions::default())?;
//! assert_eq!(volume.shape(), [3, 1, 2]);
//! assert_eq!(volume.spacing(), Some([25.0, 1.0, 10.0]));
//! # Ok::<(), temblor_io::Error>(())
//! ```
//!
//! Source: Madagascar's manual, "RSF format"; Fomel et al. 2013, J. Open Research
//! Software 1, e8.

mod keys;
mod write;

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::positioned::read_exact_at;
use crate::{ByteOrder, Element, Error, Result};
pub(crate) use keys::Keys;
pub use write::{RsfLayout, header_bytes};

/// What stands between the header and numbers in the same file.
pub const MARKER: [u8; 3] = [12, 12, 4];
/// Longest header that is read, bytes.
const HEADER_LIMIT: usize = 1 << 20;
/// Axes that a header can name.
const MOST_AXES: usize = 9;

/// One axis of an RSF file, units as the file has them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RsfAxis {
    /// Number of points.
    pub n: usize,
    /// Position of the first point.
    pub o: Option<f64>,
    /// Distance of points.
    pub d: Option<f64>,
    /// Name.
    pub label: Option<String>,
    /// Unit of `o` and `d`.
    pub unit: Option<String>,
}

/// How numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RsfEncoding {
    /// `native_`: the byte order of the machine that wrote.
    Native,
    /// `xdr_`: big endian.
    Xdr,
    /// `ascii_`: text.
    Ascii,
}

/// What an RSF header says.
#[derive(Debug, Clone, PartialEq)]
pub struct RsfHeader {
    /// Axes, the fastest first, without trailing axes of one point behind the second.
    pub axes: Vec<RsfAxis>,
    /// Number format.
    pub element: Element,
    /// How numbers are stored.
    pub encoding: RsfEncoding,
    /// Byte order; that of an option, else of the encoding.
    pub order: ByteOrder,
    /// The file with the numbers.
    pub data: PathBuf,
    /// Where they start there, bytes.
    pub data_offset: u64,
    /// What is doubtful, with both values.
    pub warnings: Vec<String>,
}

/// Whether a file starts as RSF headers do: text that gives `n1` and a data format or `in`.
#[must_use]
pub fn is_rsf(start: &[u8]) -> bool {
    let text = &start[..marker(start).unwrap_or(start.len())];
    let printable = |b: &u8| matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..);
    if !text.iter().all(printable) {
        return false;
    }
    let keys = Keys::parse(&String::from_utf8_lossy(text));
    keys.get("n1").is_some() && (keys.get("in").is_some() || keys.get("data_format").is_some())
}

fn marker(bytes: &[u8]) -> Option<usize> {
    bytes.windows(3).position(|window| window == MARKER)
}

/// Reads an RSF header and finds its numbers; `order` overrides the byte order.
///
/// # Errors
/// [`Error::Io`], [`Error::Format`] if it is not RSF, [`Error::Invalid`] for a key that cannot be
/// understood, [`Error::Size`] if there are fewer numbers than the axes make.
pub fn read_header(path: impl AsRef<Path>, order: Option<ByteOrder>) -> Result<RsfHeader> {
    open(path.as_ref(), order).map(|(header, _)| header)
}

/// The header and the open file with the numbers.
pub(crate) fn open(path: &Path, order: Option<ByteOrder>) -> Result<(RsfHeader, File)> {
    let file = File::open(path).map_err(|e| Error::io(path, "open", None, e))?;
    let size = file.metadata().map_err(|e| Error::io(path, "read", None, e))?.len();
    let head = usize::try_from(size).unwrap_or(usize::MAX).min(HEADER_LIMIT);
    let mut bytes = vec![0_u8; head];
    read_exact_at(&file, &mut bytes, 0).map_err(|e| Error::io(path, "read", None, e))?;
    let mark = marker(&bytes);
    if mark.is_none() && size > HEADER_LIMIT as u64 {
        let what = "1 MiB without the end of an RSF header";
        return Err(Error::format(
            path,
            HEADER_LIMIT as u64,
            what,
            "name the header, not its data",
        ));
    }
    if !is_rsf(&bytes) {
        let what = "no RSF header: text with n1= and in= or data_format=";
        return Err(Error::format(path, 0, what, "name the header file"));
    }
    let text = String::from_utf8_lossy(&bytes[..mark.unwrap_or(bytes.len())]);
    let keys = Keys::parse(&text);
    let mut warnings = Vec::new();
    let axes = axes(path, &keys)?;
    let (encoding, element) = data_format(path, &keys, &mut warnings)?;
    let order = order.unwrap_or(match encoding {
        RsfEncoding::Xdr => ByteOrder::Big,
        RsfEncoding::Native | RsfEncoding::Ascii => ByteOrder::Little,
    });
    let behind = mark.map(|at| (at + MARKER.len()) as u64);
    let (data, data_offset) = find_data(path, &keys, behind, &mut warnings)?;
    let data_file = if data == path {
        file
    } else {
        File::open(&data).map_err(|e| Error::io(&data, "open", None, e))?
    };
    let mut header = RsfHeader { axes, element, encoding, order, data, data_offset, warnings };
    if encoding != RsfEncoding::Ascii {
        check_size(path, &mut header, &data_file)?;
    }
    Ok((header, data_file))
}

fn axes(path: &Path, keys: &Keys) -> Result<Vec<RsfAxis>> {
    let mut axes = Vec::new();
    for number in 1..=MOST_AXES {
        let Some(text) = keys.get(&format!("n{number}")) else { break };
        let n = text.parse::<usize>().ok().filter(|&n| n > 0).ok_or_else(|| {
            Error::invalid(path, format!("n{number}"), text, "give a positive whole number")
        })?;
        let real = |key: &str| -> Result<Option<f64>> {
            let key = format!("{key}{number}");
            let Some(text) = keys.get(&key) else { return Ok(None) };
            let value = text.parse::<f64>().ok().filter(|v| v.is_finite());
            let bad = || Error::invalid(path, key.clone(), text, "give a finite number");
            value.map(Some).ok_or_else(bad)
        };
        let text = |key: &str| {
            keys.get(&format!("{key}{number}")).filter(|t| !t.is_empty()).map(str::to_owned)
        };
        let (o, d) = (real("o")?, real("d")?);
        axes.push(RsfAxis { n, o, d, label: text("label"), unit: text("unit") });
    }
    // The second one may still say where a single trace is.
    while axes.len() > 2 && axes.last().is_some_and(|axis| axis.n == 1) {
        axes.pop();
    }
    Ok(axes)
}

fn data_format(
    path: &Path,
    keys: &Keys,
    warnings: &mut Vec<String>,
) -> Result<(RsfEncoding, Element)> {
    let name = keys.get("data_format").unwrap_or("native_float");
    let unknown = |what: &str| {
        let remedy =
            format!("{what}: float, double, short and int are read, native_, xdr_ or ascii_");
        Error::invalid(path, "data_format", name, remedy)
    };
    let (encoding, kind) = name.split_once('_').ok_or_else(|| unknown("not a data format"))?;
    let encoding = match encoding {
        "native" => RsfEncoding::Native,
        "xdr" => RsfEncoding::Xdr,
        "ascii" => RsfEncoding::Ascii,
        _ => return Err(unknown("not an encoding")),
    };
    let element = match kind {
        "float" => Element::F32,
        "double" => Element::F64,
        "short" => Element::I16,
        "int" => Element::I32,
        "complex" => return Err(unknown("complex numbers are not read, take the real part")),
        _ => return Err(unknown("not a type that is read")),
    };
    let size = element.bytes();
    // Madagascar writes esize=0 for text.
    if let Some(esize) = keys.get("esize").filter(|&e| e != "0" && encoding != RsfEncoding::Ascii)
        && esize.parse() != Ok(size)
    {
        warnings.push(format!("esize is {esize}, data_format {name} makes {size}: took {size}"));
    }
    Ok((encoding, element))
}

/// The file with the numbers and where they start.
fn find_data(
    path: &Path,
    keys: &Keys,
    behind: Option<u64>,
    warnings: &mut Vec<String>,
) -> Result<(PathBuf, u64)> {
    let named = keys.get("in").filter(|name| *name != "stdin");
    let (name, offset) = match (named, behind, keys.get("in")) {
        (None, Some(offset), _) => return Ok((path.to_owned(), offset)),
        (None, None, Some(_)) => {
            let remedy = "the numbers went through a pipe and are not kept: write the file again \
                          with --out= and a name";
            return Err(Error::invalid(
                path,
                "in",
                "stdin, and no numbers follow the header",
                remedy,
            ));
        }
        (None, None, None) => {
            let remedy = "add in=\"file\", the name of the file with the numbers";
            return Err(Error::invalid(path, "in", "not given, and no numbers follow", remedy));
        }
        (Some(name), Some(offset), _) => {
            warnings.push(format!(
                "in=\"{name}\", but numbers follow the header at byte {offset}: took those"
            ));
            return Ok((path.to_owned(), offset));
        }
        (Some(name), None, _) => (name, 0),
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let data = folder.join(name);
    let beside = Path::new(name).file_name().map(|name| folder.join(name));
    let found = match beside {
        _ if data.is_file() => data,
        Some(beside) if beside.is_file() && beside != path => {
            let found = beside.display();
            warnings.push(format!("in=\"{name}\" is not there: took {found}, of the same name"));
            beside
        }
        _ => {
            let what = format!("in=\"{name}\" is no file, nor is there one of that name beside it");
            return Err(Error::format(path, 0, what, "put it there, or correct in="));
        }
    };
    if found == path {
        let what = "the header itself, without numbers behind it";
        return Err(Error::invalid(path, "in", what, "name the file with the numbers"));
    }
    Ok((found, offset))
}

fn check_size(path: &Path, header: &mut RsfHeader, data: &File) -> Result<()> {
    let found = data.metadata().map_err(|e| Error::io(&header.data, "read", None, e))?.len();
    let shape: Vec<String> = header.axes.iter().map(|axis| axis.n.to_string()).collect();
    let count = header.axes.iter().try_fold(1_u64, |n, axis| n.checked_mul(axis.n as u64));
    let expected = count.and_then(|n| {
        n.checked_mul(header.element.bytes() as u64)?.checked_add(header.data_offset)
    });
    let what = format!("n = {} of {} elements", shape.join(" x "), header.element.name());
    match expected {
        Some(expected) if expected == found => Ok(()),
        Some(expected) if expected < found => {
            let name = header.data.display();
            header.warnings.push(format!(
                "{what} makes {expected} bytes, {name} has {found}: took the first ones"
            ));
            Ok(())
        }
        _ => Err(Error::Size {
            path: if header.data == path { path.to_owned() } else { header.data.clone() },
            what,
            expected: expected.unwrap_or(u64::MAX),
            found,
            remedy: "the file is cut short, or its header is another's: copy both again".into(),
        }),
    }
}
