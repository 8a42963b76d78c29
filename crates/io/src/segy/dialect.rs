//! Finds out which dialect a file is written in: byte order, sample format, text headers.
//!
//! Each candidate is tried whole, headers and traces; the first that makes the file's size a whole
//! number of traces is taken, and what was tried is named if none does.

use std::path::Path;

use super::layout::{self, Layout};
use super::source::Source;
use super::{
    BINARY_BYTES, BinaryHeader, RawTraceHeader, SampleFormat, SegyOptions, TEXT_BYTES,
    TRACE_HEADER_BYTES, Warning, WordOrder, text,
};
use crate::{Error, Result};

/// Bytes of the label that tapes have before the text header (revision 1, section 3).
const LABEL_BYTES: u64 = 128;

/// All that is found out when a file is opened.
#[derive(Debug)]
pub(super) struct Dialect {
    pub(super) text_start: u64,
    pub(super) text_bytes: u64,
    pub(super) binary: BinaryHeader,
    pub(super) format: SampleFormat,
    pub(super) revision: (u8, u8),
    pub(super) extended_text: u32,
    pub(super) layout: Layout,
    pub(super) interval_us: f64,
    pub(super) warnings: Vec<Warning>,
}

/// Why a candidate does not fit: the byte where it shows, and a sentence.
pub(super) struct Misfit {
    pub(super) offset: u64,
    pub(super) what: String,
}

impl Misfit {
    pub(super) fn new(offset: u64, what: impl Into<String>) -> Self {
        Self { offset, what: what.into() }
    }
}

pub(super) fn find(source: &Source, options: &SegyOptions) -> Result<Dialect> {
    let path = source.path();
    if let Some(misfit) = too_short(source, 0) {
        return Err(refused(path, &[misfit], ""));
    }
    if let Some(text_bytes) = options.text_bytes {
        let found = at_text_length(source, 0, text_bytes, options)?;
        return found.map_err(|misfits| refused(path, &misfits, ""));
    }
    let start = if has_label(source)? { LABEL_BYTES } else { 0 };
    match at_text_length(source, start, TEXT_BYTES as u64, options)? {
        Ok(dialect) => Ok(dialect),
        Err(misfits) => {
            // Line ends added by a text-mode copy, or a text header that was left out.
            for text_bytes in [0, 3240, 3280] {
                if at_text_length(source, 0, text_bytes, options)?.is_ok() {
                    let hint = format!(
                        "its binary header seems to stand at byte {text_bytes}: give {text_bytes} \
                         as the length of the text header, or "
                    );
                    return Err(refused(path, &misfits, &hint));
                }
            }
            Err(refused(path, &misfits, ""))
        }
    }
}

fn refused(path: &Path, misfits: &[Misfit], hint: &str) -> Error {
    let tried: Vec<&str> = misfits.iter().map(|misfit| misfit.what.as_str()).collect();
    let remedy = format!(
        "{hint}copy the file again, read the whole traces before a cut (--allow-truncated, \
         SegyOptions::allow_truncated), or say what it is: byte order, sample format, samples per \
         trace, extended text headers, first byte of traces"
    );
    let offset = misfits.last().map_or(0, |misfit| misfit.offset);
    Error::format(path, offset, format!("no dialect fits: {}", tried.join("; ")), remedy)
}

/// Whether no trace header can follow a binary header at that byte.
fn too_short(source: &Source, binary_at: u64) -> Option<Misfit> {
    let least = binary_at.saturating_add((BINARY_BYTES + TRACE_HEADER_BYTES) as u64);
    (source.size() < least).then(|| {
        let what = format!("{} bytes are too few for the headers of a SEG-Y file", source.size());
        Misfit::new(source.size(), what)
    })
}

/// Whether a tape label precedes the text header: `SY1.0` or `SY2.0` after the four digits of its
/// number.
fn has_label(source: &Source) -> Result<bool> {
    let bytes: [u8; 9] = source.array(0)?;
    Ok(bytes[4..6] == *b"SY" && bytes[6].is_ascii_digit() && bytes[7] == b'.')
}

/// Tries all byte orders with a text header of that length.
fn at_text_length(
    source: &Source,
    text_start: u64,
    text_bytes: u64,
    options: &SegyOptions,
) -> Result<std::result::Result<Dialect, Vec<Misfit>>> {
    let binary_at = text_start.saturating_add(text_bytes);
    if let Some(misfit) = too_short(source, binary_at) {
        return Ok(Err(vec![misfit]));
    }
    let bytes: [u8; BINARY_BYTES] = source.array(binary_at)?;
    let orders = match orders(source, &bytes, binary_at, options)? {
        Ok(orders) => orders,
        Err(misfit) => return Ok(Err(vec![misfit])),
    };
    let mut misfits = Vec::new();
    for order in orders {
        let binary = BinaryHeader { bytes, order };
        let place = Place { text_start, text_bytes, binary_at };
        match in_order(source, &place, binary, options)? {
            Ok(dialect) => return Ok(Ok(dialect)),
            Err(mut misfit) => {
                misfit.what = format!("{order}: {}", misfit.what);
                misfits.push(misfit);
            }
        }
    }
    Ok(Err(misfits))
}

struct Place {
    text_start: u64,
    text_bytes: u64,
    binary_at: u64,
}

/// Byte orders to try, likeliest first: the one in which the constant of revision 2 reads right,
/// else those in which the format code is one.
fn orders(
    source: &Source,
    bytes: &[u8; BINARY_BYTES],
    binary_at: u64,
    options: &SegyOptions,
) -> Result<std::result::Result<Vec<WordOrder>, Misfit>> {
    if let Some(order) = options.order {
        return Ok(Ok(vec![order]));
    }
    let header = |order| BinaryHeader { bytes: *bytes, order };
    let constant = |&order: &WordOrder| header(order).u32(3297) == 0x0102_0304;
    if let Some(order) = WordOrder::ALL.into_iter().find(constant) {
        return Ok(Ok(vec![order]));
    }
    let code = |order| header(order).u16(3225);
    if (1..=16).contains(&code(WordOrder::Big)) {
        return Ok(Ok(vec![WordOrder::Big]));
    }
    // 16-bit words are alike in these two orders: 32-bit words tell, since numbers are small more
    // often than they are multiples of 65,536.
    let first = source.first_bytes(binary_at + BINARY_BYTES as u64, TRACE_HEADER_BYTES)?;
    let first = |order| RawTraceHeader::from_bytes(&first, order);
    let digits = |order| -> u32 {
        let numbers = [3201, 3205, 3209].map(|byte| header(order).u32(byte));
        let in_trace = first(order)
            .map_or([0; 6], |raw| [1, 5, 9, 13, 17, 21].map(|byte| raw.i32(byte).unsigned_abs()));
        numbers.iter().chain(&in_trace).map(|n| n.checked_ilog2().map_or(0, |log| log + 1)).sum()
    };
    // Two numbers that agree, of 16 bits each, are asked for before the rarer order is believed.
    let [little, pairwise] = [WordOrder::Little, WordOrder::Pairwise];
    let swapped = if digits(pairwise) + 32 <= digits(little) {
        [pairwise, little]
    } else {
        [little, pairwise]
    };
    if (1..=16).contains(&code(little)) {
        return Ok(Ok(swapped.to_vec()));
    }
    if options.format.is_some() {
        return Ok(Ok([&[WordOrder::Big][..], &swapped].concat()));
    }
    let what = format!(
        "the sample format code is {} big endian and {} little endian, which are none",
        code(WordOrder::Big),
        code(little)
    );
    Ok(Err(Misfit::new(binary_at + 24, what)))
}

fn in_order(
    source: &Source,
    place: &Place,
    binary: BinaryHeader,
    options: &SegyOptions,
) -> Result<std::result::Result<Dialect, Misfit>> {
    let mut warnings = Vec::new();
    let code = binary.u16(3225);
    let format = match options.format {
        Some(format) => {
            if code != format.code() {
                warnings.push(Warning::Format { stated: code, used: format.code() });
            }
            format
        }
        None => match SampleFormat::from_code(code) {
            Some(format) => format,
            None if code == 4 => {
                let what = "sample format 4 (fixed point with gain) is obsolete and not read";
                return Ok(Err(Misfit::new(place.binary_at + 24, what)));
            }
            None => {
                let what = format!("the sample format code is {code}, which is none");
                return Ok(Err(Misfit::new(place.binary_at + 24, what)));
            }
        },
    };
    if binary.order == WordOrder::Pairwise && format.bytes() % 2 == 1 {
        let what = format!("samples of {} bytes have no pairs", format.bytes());
        return Ok(Err(Misfit::new(place.binary_at + 24, what)));
    }
    let (major, minor) = binary.revision();
    let revision = if major > 2 {
        let used = u8::from(options.extended_text.is_some());
        warnings.push(Warning::Revision { major, minor, used });
        (used, 0)
    } else {
        (major, minor)
    };
    let text = match extended_text(source, place, &binary, revision.0, options, &mut warnings)? {
        Ok(text) => text,
        Err(misfit) => return Ok(Err(misfit)),
    };
    let facts = layout::Facts { binary: &binary, format, revision, text_end: text.end };
    Ok(layout::find(source, &facts, options, &mut warnings)?.map(|found| Dialect {
        text_start: place.text_start,
        text_bytes: place.text_bytes,
        binary,
        format,
        revision,
        extended_text: text.count,
        layout: found.layout,
        interval_us: found.interval_us,
        warnings,
    }))
}

struct ExtendedText {
    count: u32,
    end: u64,
}

/// Number of extended text headers and where they end.
fn extended_text(
    source: &Source,
    place: &Place,
    binary: &BinaryHeader,
    revision: u8,
    options: &SegyOptions,
    warnings: &mut Vec<Warning>,
) -> Result<std::result::Result<ExtendedText, Misfit>> {
    let start = place.binary_at + BINARY_BYTES as u64;
    let at = |count: u32| start + u64::from(count) * TEXT_BYTES as u64;
    let counted = |count: u32| {
        let end = at(count);
        if end + TRACE_HEADER_BYTES as u64 > source.size() {
            let what = format!("{count} extended text headers leave no room for traces");
            return Err(Misfit::new(place.binary_at + 304, what));
        }
        Ok(ExtendedText { count, end })
    };
    if let Some(count) = options.extended_text {
        return Ok(counted(count));
    }
    let stated = binary.u16(3505).cast_signed();
    if stated == 0 {
        return Ok(counted(0));
    }
    // Revision 0 left the bytes unassigned, yet files use them: believed where text follows.
    if revision == 0 {
        let first = source.first_bytes(start, TEXT_BYTES)?;
        if first.len() < TEXT_BYTES || !text::is_text(&first[..80]) {
            return Ok(counted(0));
        }
        warnings.push(Warning::ExtendedText { count: stated });
    }
    if let Ok(count) = u16::try_from(stated) {
        return Ok(counted(count.into()));
    }
    let mut count = 0;
    while at(count + 1) + TRACE_HEADER_BYTES as u64 <= source.size() {
        let block: [u8; TEXT_BYTES] = source.array(at(count))?;
        count += 1;
        if text::ends_extension(&block) {
            return Ok(counted(count));
        }
    }
    let what = "extended text headers without ((SEG: EndText))";
    Ok(Err(Misfit::new(place.binary_at + 304, what)))
}
