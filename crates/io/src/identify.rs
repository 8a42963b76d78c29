//! What a file is: by its content first, by its name second; where the two disagree the content is
//! believed and a warning says so.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::segy::{SegyOptions, SegyReader};
use crate::su::{SuOptions, SuReader};
use crate::{Error, Result, npy, rsf, sps, vti};

/// Bytes that are looked at.
const START: u64 = 1 << 16;

/// The formats that are known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Format {
    /// Traces with headers, the trade's exchange format.
    Segy,
    /// Seismic Un*x.
    Su,
    /// Madagascar.
    Rsf,
    /// `NumPy`.
    Npy,
    /// VTK image data.
    Vti,
    /// Numbers and nothing else.
    Raw,
    /// Points as text.
    Csv,
    /// Points and relations in the columns of Shell's format.
    Sps,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 8] =
        [Self::Segy, Self::Su, Self::Rsf, Self::Npy, Self::Vti, Self::Raw, Self::Csv, Self::Sps];

    /// Name for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Segy => "SEG-Y",
            Self::Su => "SU",
            Self::Rsf => "RSF",
            Self::Npy => "npy",
            Self::Vti => "VTI",
            Self::Raw => "raw",
            Self::Csv => "CSV",
            Self::Sps => "SPS",
        }
    }

    /// The format that a name's ending stands for.
    #[must_use]
    pub fn of_extension(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_string_lossy().to_ascii_lowercase();
        match extension.as_str() {
            "sgy" | "segy" | "seg" => Some(Self::Segy),
            "su" => Some(Self::Su),
            "rsf" => Some(Self::Rsf),
            "npy" => Some(Self::Npy),
            "vti" => Some(Self::Vti),
            "bin" | "raw" | "f32" | "f4" | "dat" => Some(Self::Raw),
            "csv" | "txt" => Some(Self::Csv),
            "sps" | "rps" | "xps" | "s01" | "r01" | "x01" => Some(Self::Sps),
            _ => None,
        }
    }
}

/// What a file is found to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Its format.
    pub format: Format,
    /// What speaks against it.
    pub warnings: Vec<String>,
}

/// Finds out what a file is. A file that is none of the others is raw.
///
/// # Errors
/// [`Error::Io`] if it cannot be read, [`Error::Invalid`] for a folder.
pub fn identify(path: impl AsRef<Path>) -> Result<Identity> {
    let path = path.as_ref();
    let file = File::open(path).map_err(|e| Error::io(path, "open", None, e))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(Error::invalid(path, "the path", "a folder", "name a file"));
    }
    let mut start = Vec::new();
    file.take(START).read_to_end(&mut start).map_err(|e| Error::io(path, "read", None, e))?;
    if start.is_empty() {
        return Err(Error::invalid(
            path,
            "the size",
            "0 bytes",
            "the file is empty: copy it again",
        ));
    }
    let named = Format::of_extension(path);
    let format = by_content(path, &start, named);
    let mut warnings = Vec::new();
    if let Some(named) = named.filter(|&named| named != format && !both_text(named, format)) {
        warnings.push(format!(
            "its name says {}, its content is {}: read as {}",
            named.name(),
            format.name(),
            format.name()
        ));
    }
    Ok(Identity { format, warnings })
}

/// A list of points may be called .txt or .sps whichever it is.
fn both_text(a: Format, b: Format) -> bool {
    matches!((a, b), (Format::Csv | Format::Sps, Format::Csv | Format::Sps))
}

fn by_content(path: &Path, start: &[u8], named: Option<Format>) -> Format {
    if npy::is_npy(start) {
        return Format::Npy;
    }
    if vti::is_vti(start) {
        return Format::Vti;
    }
    if rsf::is_rsf(start) {
        return Format::Rsf;
    }
    let segy = || SegyReader::open(path, &SegyOptions::default()).is_ok();
    let su = || SuReader::open(path, &SuOptions::default()).is_ok_and(|su| su.looks_like_su());
    match named {
        Some(Format::Segy) => {
            return if !segy() && su() { Format::Su } else { Format::Segy };
        }
        Some(Format::Su) => {
            let other = SuReader::open(path, &SuOptions::default()).is_err() && segy();
            return if other { Format::Segy } else { Format::Su };
        }
        // Without its magic the file is broken; its own reader says how.
        Some(format @ (Format::Npy | Format::Vti | Format::Rsf)) => return format,
        // Raw numbers may look like anything.
        Some(Format::Raw) => return Format::Raw,
        _ => {}
    }
    if is_text(start) {
        return if sps::is_sps(&String::from_utf8_lossy(start)) {
            Format::Sps
        } else {
            Format::Csv
        };
    }
    if segy() {
        Format::Segy
    } else if su() {
        Format::Su
    } else {
        Format::Raw
    }
}

/// Printable up to a few bytes of some other alphabet.
fn is_text(start: &[u8]) -> bool {
    let printable = |b: &&u8| matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..);
    let ascii = start.iter().filter(|b| b.is_ascii()).count();
    !start.is_empty() && start.iter().all(|b| printable(&b)) && 4 * ascii >= 3 * start.len()
}
