//! Reading VTI files: the XML by its few tags that matter, then the numbers where they stand.

use std::fs::File;
use std::path::Path;

use super::VtiHeader;
use crate::positioned::read_exact_at;
use crate::{ByteOrder, Element, Error, Result};

/// Longest XML before the numbers, bytes.
const XML_LIMIT: usize = 1 << 20;

/// The array of a VTI file that is read, and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct VtiArray {
    /// Grid and name; for values on cells the grid of their centres.
    pub header: VtiHeader,
    /// Number format.
    pub element: Element,
    /// Byte order.
    pub order: ByteOrder,
    /// Where the numbers start, bytes.
    pub data_offset: u64,
    /// What is doubtful.
    pub warnings: Vec<String>,
}

/// Whether a file starts as VTK's XML files do.
#[must_use]
pub fn is_vti(start: &[u8]) -> bool {
    let start = &start[..start.len().min(512)];
    start.windows(8).any(|window| window == b"<VTKFile")
}

/// Reads the XML of a VTI file.
///
/// # Errors
/// [`Error::Io`], [`Error::Format`] with what to do for files that are compressed, encoded as text,
/// of another data set or of several pieces, [`Error::Size`] if the numbers are cut short.
pub fn read_header(path: impl AsRef<Path>) -> Result<VtiArray> {
    open(path.as_ref()).map(|(array, _)| array)
}

pub(crate) fn open(path: &Path) -> Result<(VtiArray, File)> {
    let file = File::open(path).map_err(|e| Error::io(path, "open", None, e))?;
    let size = file.metadata().map_err(|e| Error::io(path, "read", None, e))?.len();
    let mut bytes = vec![0_u8; usize::try_from(size).unwrap_or(usize::MAX).min(XML_LIMIT)];
    read_exact_at(&file, &mut bytes, 0).map_err(|e| Error::io(path, "read", None, e))?;
    let array = Xml::new(path, &bytes)?.array(&file, size)?;
    Ok((array, file))
}

struct Xml<'a> {
    path: &'a Path,
    text: String,
    /// Byte of the first number block.
    data: Option<u64>,
}

/// A tag with its attributes.
#[derive(Clone)]
struct Tag<'a> {
    at: usize,
    text: &'a str,
}

impl<'a> Tag<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        let mut rest = self.text;
        while let Some((key, tail)) = rest.split_once('=') {
            let tail = tail.trim_start();
            let quote = tail.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            let (value, tail) = tail[1..].split_once(quote)?;
            if key.split_whitespace().last() == Some(name) {
                return Some(value);
            }
            rest = tail;
        }
        None
    }

    fn numbers<T: std::str::FromStr, const N: usize>(&self, name: &str) -> Option<[T; N]> {
        let numbers: Option<Vec<T>> =
            self.get(name)?.split_whitespace().map(|n| n.parse().ok()).collect();
        numbers?.try_into().ok()
    }
}

impl<'a> Xml<'a> {
    fn new(path: &'a Path, bytes: &[u8]) -> Result<Self> {
        let start = bytes.windows(13).position(|window| window == b"<AppendedData");
        let data = start.and_then(|at| {
            let end = at + bytes[at..].iter().position(|&b| b == b'>')?;
            let gap = bytes[end..].iter().position(|&b| b == b'_')?;
            Some((end + gap + 1) as u64)
        });
        let end = start.map_or(bytes.len(), |at| {
            at + bytes[at..].iter().position(|&b| b == b'>').map_or(0, |n| n + 1)
        });
        // Positions in the text serve for messages; they are those of the file as long as it is
        // plain ASCII up to there.
        let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
        if !is_vti(bytes) {
            return Err(Error::format(path, 0, "this is not a VTK file", "check its name"));
        }
        Ok(Self { path, text, data })
    }

    fn tags(&self, name: &str) -> Vec<Tag<'_>> {
        let open = format!("<{name}");
        let found = self.text.match_indices(&open).filter_map(|(at, _)| {
            let rest = &self.text[at + open.len()..];
            let attributes = rest.split_once('>')?.0;
            let ends_name = attributes.starts_with(|c: char| c.is_whitespace() || c == '/');
            (ends_name || attributes.is_empty()).then_some(Tag { at, text: attributes })
        });
        found.collect()
    }

    fn bad(&self, at: usize, what: impl Into<String>, remedy: &str) -> Error {
        Error::format(self.path, at as u64, what, remedy)
    }

    fn one(&self, name: &str) -> Result<Tag<'_>> {
        let tags = self.tags(name);
        tags.first()
            .cloned()
            .ok_or_else(|| self.bad(0, format!("no <{name}> in the XML"), "write image data again"))
    }

    fn array(&self, file: &File, size: u64) -> Result<VtiArray> {
        let file_tag = self.one("VTKFile")?;
        let rewrite = "write it from ParaView as ImageData with data mode Appended, no compressor \
                       and no encoding";
        if file_tag.get("type") != Some("ImageData") {
            let what = format!("a data set of type {}", file_tag.get("type").unwrap_or("unknown"));
            return Err(self.bad(file_tag.at, what, "only ImageData (.vti) is read"));
        }
        if let Some(compressor) = file_tag.get("compressor") {
            let what = format!("the numbers are compressed ({compressor})");
            return Err(self.bad(file_tag.at, what, rewrite));
        }
        let order = match file_tag.get("byte_order") {
            Some("BigEndian") => ByteOrder::Big,
            _ => ByteOrder::Little,
        };
        let wide = file_tag.get("header_type") == Some("UInt64");
        let (shape, mut origin, spacing) = self.grid()?;
        let (array, on_cells) = self.choose()?;
        let mut warnings = Vec::new();
        let arrays = self.tags("DataArray").len();
        let name = unescaped(array.get("Name").unwrap_or("values"));
        if arrays > 1 {
            warnings.push(format!("{arrays} arrays in the file: took the first, {name}"));
        }
        let mut points = shape;
        if on_cells {
            points = shape.map(|n| n.saturating_sub(1).max(1));
            for a in 0..3 {
                origin[a] += if shape[a] > 1 { 0.5 * spacing[a] } else { 0.0 };
            }
            warnings.push("values stand on cells: took their centres as nodes".into());
        }
        let components = array.get("NumberOfComponents").unwrap_or("1");
        if !matches!(components, "1" | "0") {
            let what = format!("{name} has {components} components");
            return Err(self.bad(array.at, what, "give one scalar array"));
        }
        if array.get("format") != Some("appended") || self.data.is_none() {
            let format = array.get("format").unwrap_or("unknown");
            return Err(self.bad(array.at, format!("numbers in format {format}"), rewrite));
        }
        if let encoding @ (Some("base64") | None) = self.one("AppendedData")?.get("encoding") {
            let what = format!("appended data in encoding {}", encoding.unwrap_or("base64"));
            return Err(self.bad(self.one("AppendedData")?.at, what, rewrite));
        }
        let element = match array.get("type") {
            Some("Float32") => Element::F32,
            Some("Float64") => Element::F64,
            Some("Int16") => Element::I16,
            Some("Int32") => Element::I32,
            other => {
                let what = format!("numbers of type {}", other.unwrap_or("unknown"));
                return Err(self.bad(array.at, what, "Float32, Float64, Int16 and Int32 are read"));
            }
        };
        let offset = array.get("offset").unwrap_or("0");
        let offset = offset.trim().parse::<u64>().ok();
        let block = offset.and_then(|n| n.checked_add(self.data.unwrap_or(0)));
        let block = block.ok_or_else(|| {
            let what = format!("offset {:?}", array.get("offset").unwrap_or(""));
            self.bad(array.at, what, "write the file again")
        })?;
        let header = VtiHeader { shape: points, spacing, origin, name };
        let data_offset = self.check_block(file, size, block, wide, order, &header, element)?;
        Ok(VtiArray { header, element, order, data_offset, warnings })
    }

    /// Points along (x, y, z), position of the first, spacing.
    fn grid(&self) -> Result<([usize; 3], [f64; 3], [f64; 3])> {
        let image = self.one("ImageData")?;
        let pieces = self.tags("Piece");
        let extent = |tag: &Tag<'_>, name| tag.numbers::<i64, 6>(name);
        let bad = |what: &str| self.bad(image.at, what, "write the file again");
        let whole = extent(&image, "WholeExtent").ok_or_else(|| bad("no WholeExtent"))?;
        if pieces.len() > 1 {
            let what = format!("{} pieces", pieces.len());
            return Err(self.bad(image.at, what, "merge them: one piece is read"));
        }
        if pieces.first().is_some_and(|piece| extent(piece, "Extent") != Some(whole)) {
            return Err(bad("the piece is not the whole extent"));
        }
        if let Some(direction) = image.get("Direction") {
            let axes: Vec<f64> =
                direction.split_whitespace().filter_map(|n| n.parse().ok()).collect();
            if axes != [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0] {
                return Err(self.bad(
                    image.at,
                    format!("turned axes ({direction})"),
                    "turn them back",
                ));
            }
        }
        let mut shape = [0; 3];
        for a in 0..3 {
            let count = whole[2 * a + 1].checked_sub(whole[2 * a]).and_then(|n| n.checked_add(1));
            let count = count.and_then(|n| usize::try_from(n).ok()).filter(|&n| n > 0);
            shape[a] = count.ok_or_else(|| bad("an empty WholeExtent"))?;
        }
        let spacing = image.numbers::<f64, 3>("Spacing").unwrap_or([1.0; 3]);
        let mut origin = image.numbers::<f64, 3>("Origin").unwrap_or([0.0; 3]);
        if spacing.iter().chain(&origin).any(|v| !v.is_finite()) {
            return Err(bad("Spacing or Origin that is no number"));
        }
        for a in 0..3 {
            origin[a] += whole[2 * a] as f64 * spacing[a];
        }
        Ok((shape, origin, spacing))
    }

    /// The first array on points, else the first on cells.
    fn choose(&self) -> Result<(Tag<'_>, bool)> {
        let section = |name: &str| {
            let start = self.text.find(&format!("<{name}"))?;
            let end = self.text[start..].find(&format!("</{name}>")).map(|n| start + n)?;
            self.tags("DataArray").into_iter().find(|tag| (start..end).contains(&tag.at))
        };
        let points = section("PointData").map(|tag| (tag, false));
        points
            .or_else(|| section("CellData").map(|tag| (tag, true)))
            .ok_or_else(|| self.bad(0, "no array on points or cells", "write the file with one"))
    }

    /// Compares the length before the numbers with the shape and the file; the numbers' offset.
    fn check_block(
        &self,
        file: &File,
        size: u64,
        block: u64,
        wide: bool,
        order: ByteOrder,
        header: &VtiHeader,
        element: Element,
    ) -> Result<u64> {
        let width = if wide { 8 } else { 4 };
        let cut = |found: u64, expected: u64| Error::Size {
            path: self.path.to_owned(),
            what: format!("shape {:?} of {} elements", header.shape, element.name()),
            expected,
            found,
            remedy: "the file is damaged or half written: copy it again".into(),
        };
        let bytes = header
            .shape
            .iter()
            .try_fold(element.bytes() as u64, |n, &axis| n.checked_mul(axis as u64));
        let expected = bytes.and_then(|n| n.checked_add(block)?.checked_add(width));
        let (Some(bytes), Some(expected)) = (bytes, expected) else {
            return Err(cut(size, u64::MAX));
        };
        if expected > size {
            return Err(cut(size, expected));
        }
        let mut length = [0_u8; 8];
        let used = &mut length[..if wide { 8 } else { 4 }];
        read_exact_at(file, used, block).map_err(|e| Error::io(self.path, "read", None, e))?;
        if order == ByteOrder::Big {
            used.reverse();
        }
        let length = u64::from_le_bytes(length);
        if length != bytes {
            let what = format!("a block of {length} bytes where the shape makes {bytes}");
            return Err(self.bad(
                usize::try_from(block).unwrap_or(0),
                what,
                "write the file again",
            ));
        }
        Ok(block + width)
    }
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&quot;", "\"").replace("&gt;", ">").replace("&amp;", "&")
}
