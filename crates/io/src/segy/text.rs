//! Text headers: 40 lines of 80 characters at the start of a file, more of them as extended text
//! headers, in EBCDIC (code page 037) or ASCII.

use std::path::Path;

use super::TEXT_BYTES;
use crate::{Error, Result};

const LINES: usize = 40;
const COLUMNS: usize = 80;
/// Characters that follow `C 1 `.
const WIDTH: usize = 76;
/// Lines free for the caller: the standard sets the last two.
const FREE_LINES: usize = 38;

/// EBCDIC (IBM code page 037) to Latin-1.
#[rustfmt::skip]
const TO_LATIN: [u8; 256] = [
    0x00, 0x01, 0x02, 0x03, 0x9c, 0x09, 0x86, 0x7f, 0x97, 0x8d, 0x8e, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f,
    0x10, 0x11, 0x12, 0x13, 0x9d, 0x85, 0x08, 0x87, 0x18, 0x19, 0x92, 0x8f, 0x1c, 0x1d, 0x1e, 0x1f,
    0x80, 0x81, 0x82, 0x83, 0x84, 0x0a, 0x17, 0x1b, 0x88, 0x89, 0x8a, 0x8b, 0x8c, 0x05, 0x06, 0x07,
    0x90, 0x91, 0x16, 0x93, 0x94, 0x95, 0x96, 0x04, 0x98, 0x99, 0x9a, 0x9b, 0x14, 0x15, 0x9e, 0x1a,
    0x20, 0xa0, 0xe2, 0xe4, 0xe0, 0xe1, 0xe3, 0xe5, 0xe7, 0xf1, 0xa2, 0x2e, 0x3c, 0x28, 0x2b, 0x7c,
    0x26, 0xe9, 0xea, 0xeb, 0xe8, 0xed, 0xee, 0xef, 0xec, 0xdf, 0x21, 0x24, 0x2a, 0x29, 0x3b, 0xac,
    0x2d, 0x2f, 0xc2, 0xc4, 0xc0, 0xc1, 0xc3, 0xc5, 0xc7, 0xd1, 0xa6, 0x2c, 0x25, 0x5f, 0x3e, 0x3f,
    0xf8, 0xc9, 0xca, 0xcb, 0xc8, 0xcd, 0xce, 0xcf, 0xcc, 0x60, 0x3a, 0x23, 0x40, 0x27, 0x3d, 0x22,
    0xd8, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0xab, 0xbb, 0xf0, 0xfd, 0xfe, 0xb1,
    0xb0, 0x6a, 0x6b, 0x6c, 0x6d, 0x6e, 0x6f, 0x70, 0x71, 0x72, 0xaa, 0xba, 0xe6, 0xb8, 0xc6, 0xa4,
    0xb5, 0x7e, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0xa1, 0xbf, 0xd0, 0xdd, 0xde, 0xae,
    0x5e, 0xa3, 0xa5, 0xb7, 0xa9, 0xa7, 0xb6, 0xbc, 0xbd, 0xbe, 0x5b, 0x5d, 0xaf, 0xa8, 0xb4, 0xd7,
    0x7b, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0xad, 0xf4, 0xf6, 0xf2, 0xf3, 0xf5,
    0x7d, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f, 0x50, 0x51, 0x52, 0xb9, 0xfb, 0xfc, 0xf9, 0xfa, 0xff,
    0x5c, 0xf7, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0xb2, 0xd4, 0xd6, 0xd2, 0xd3, 0xd5,
    0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0xb3, 0xdb, 0xdc, 0xd9, 0xda, 0x9f,
];

/// Latin-1 to EBCDIC; the table is a permutation, so every byte has one.
fn to_ebcdic(latin: u8) -> u8 {
    let at = TO_LATIN.iter().position(|&b| b == latin).unwrap_or(0x6f);
    u8::try_from(at).unwrap_or(0x6f)
}

/// How text is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TextEncoding {
    /// EBCDIC, IBM code page 037: the standard's.
    #[default]
    Ebcdic,
    /// ASCII, allowed since revision 1.
    Ascii,
}

impl TextEncoding {
    fn encode(self, latin: u8) -> u8 {
        match self {
            Self::Ebcdic => to_ebcdic(latin),
            Self::Ascii => latin,
        }
    }

    fn decode(self, byte: u8) -> u8 {
        match self {
            Self::Ebcdic => TO_LATIN[usize::from(byte)],
            Self::Ascii => byte,
        }
    }

    /// Eight ASCII characters in this encoding.
    pub(super) fn word(self, ascii: [u8; 8]) -> [u8; 8] {
        ascii.map(|b| self.encode(b))
    }
}

/// Printable ASCII: tabs become blanks, all else `?`.
fn plain(line: &str) -> Vec<char> {
    line.chars()
        .map(|c| if c == '\t' { ' ' } else { c })
        .map(|c| if c == ' ' || c.is_ascii_graphic() { c } else { '?' })
        .collect()
}

/// Cuts a line that is too long behind the last blank that fits, or within a word without one.
fn wrap(line: &[char], width: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = line;
    while rest.len() > width {
        let blank = rest[..width].iter().rposition(|&c| c == ' ').filter(|&at| at > 0);
        let (part, next) = rest.split_at(blank.map_or(width, |at| at + 1));
        parts.push(part.iter().collect());
        rest = next;
    }
    parts.push(rest.iter().collect());
    parts
}

/// Builds the text header: the caller's lines, wrapped at 76 characters, in C 1 to C38. Characters
/// outside printable ASCII become `?`.
pub(super) fn encode(
    path: &Path,
    lines: &[String],
    revision: &str,
    encoding: TextEncoding,
) -> Result<Vec<u8>> {
    let mut wrapped: Vec<String> = Vec::new();
    for line in lines {
        wrapped.extend(wrap(&plain(line), WIDTH));
    }
    if wrapped.len() > FREE_LINES {
        let remedy = format!("the text header holds {FREE_LINES} lines of {WIDTH} characters");
        return Err(Error::invalid(path, "the number of text lines", wrapped.len(), remedy));
    }
    wrapped.resize(FREE_LINES, String::new());
    wrapped.push(revision.to_owned());
    wrapped.push("END TEXTUAL HEADER".to_owned());
    let mut bytes = Vec::with_capacity(TEXT_BYTES);
    for (index, line) in wrapped.iter().enumerate() {
        let card = format!("C{:>2} {line:<WIDTH$}", index + 1);
        bytes.extend(card.bytes().map(|b| encoding.encode(b)));
    }
    Ok(bytes)
}

/// Builds an extended text header of up to 40 lines, wrapped at 80 characters.
pub(super) fn encode_extended(
    path: &Path,
    lines: &[String],
    encoding: TextEncoding,
) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(TEXT_BYTES);
    for line in lines {
        for part in wrap(&plain(line), COLUMNS) {
            let card = format!("{part:<COLUMNS$}");
            bytes.extend(card.bytes().map(|b| encoding.encode(b)));
        }
    }
    if bytes.len() > TEXT_BYTES {
        let remedy = format!("one holds {LINES} lines of {COLUMNS} characters: use several");
        let what = "the number of lines of an extended text header";
        return Err(Error::invalid(path, what, bytes.len() / COLUMNS, remedy));
    }
    bytes.resize(TEXT_BYTES, encoding.encode(b' '));
    Ok(bytes)
}

/// Finds how bytes are encoded, from the count of blanks, letters and digits.
pub(super) fn encoding(bytes: &[u8]) -> TextEncoding {
    // A blank is 0x40 in EBCDIC and 0x20 in ASCII, where 0x40 is @.
    let readable = |encoding: TextEncoding| {
        let wanted = |&&b: &&u8| {
            let latin = encoding.decode(b);
            latin == b' ' || latin.is_ascii_alphanumeric()
        };
        bytes.iter().filter(wanted).count()
    };
    if readable(TextEncoding::Ebcdic) > readable(TextEncoding::Ascii) {
        TextEncoding::Ebcdic
    } else {
        TextEncoding::Ascii
    }
}

/// Reads a text header as 40 lines without trailing blanks; line ends within it are blanks.
pub(super) fn decode(bytes: &[u8]) -> Vec<String> {
    let encoding = encoding(bytes);
    let readable = |b: u8| {
        let latin = encoding.decode(b);
        if latin == b' ' || latin.is_ascii_graphic() { char::from(latin) } else { ' ' }
    };
    bytes
        .chunks(COLUMNS)
        .take(LINES)
        .map(|line| line.iter().map(|&b| readable(b)).collect::<String>().trim_end().to_owned())
        .collect()
}

/// Whether bytes are text rather than numbers: nine of ten are printable.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let encoding = encoding(bytes);
    let printable = |&&b: &&u8| {
        let latin = encoding.decode(b);
        latin == b' ' || latin.is_ascii_graphic() || latin == b'\n' || latin == b'\r'
    };
    10 * bytes.iter().filter(printable).count() >= 9 * bytes.len()
}

/// Whether a 3200-byte block is the last of a variable number of extended text headers.
pub(super) fn ends_extension(bytes: &[u8]) -> bool {
    let text = decode(bytes).concat().to_ascii_lowercase();
    text.replace(' ', "").contains("((seg:endtext))")
}

/// Whether a 3200-byte block begins a stanza, as data trailers do.
pub(super) fn begins_stanza(bytes: &[u8]) -> bool {
    [TextEncoding::Ascii, TextEncoding::Ebcdic]
        .into_iter()
        .any(|encoding| bytes.len() >= 2 && bytes[..2].iter().all(|&b| encoding.decode(b) == b'('))
}

/// Whether the bytes of each pair are exchanged, so that lines begin with their second character.
pub(super) fn is_swapped(bytes: &[u8]) -> bool {
    let encoding = encoding(bytes);
    let lines_with_c = |column: usize| {
        let c = |line: &&[u8]| line.get(column).is_some_and(|&b| encoding.decode(b) == b'C');
        bytes.chunks(COLUMNS).filter(c).count()
    };
    lines_with_c(1) > lines_with_c(0)
}

/// Exchanges the bytes of each pair.
pub(super) fn swap(bytes: &mut [u8]) {
    bytes.as_chunks_mut::<2>().0.iter_mut().for_each(|pair| pair.reverse());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_page_037_is_a_permutation() {
        let mut seen = [false; 256];
        for &byte in &TO_LATIN {
            assert!(!std::mem::replace(&mut seen[usize::from(byte)], true), "{byte:#x} twice");
        }
    }

    #[test]
    fn letters_and_digits_have_their_ebcdic_codes() {
        // From the IBM code page 037 chart.
        for (latin, ebcdic) in
            [(b'C', 0xc3), (b' ', 0x40), (b'a', 0x81), (b'Z', 0xe9), (b'9', 0xf9)]
        {
            assert_eq!(to_ebcdic(latin), ebcdic, "{}", char::from(latin));
        }
    }

    #[test]
    fn text_header_ends_in_the_marks_of_revision_1() {
        let lines = ["a line".into(), "x".repeat(80)];
        let bytes = encode(Path::new("t.sgy"), &lines, "SEG Y REV1", TextEncoding::Ebcdic).unwrap();
        assert_eq!(bytes.len(), TEXT_BYTES);
        let lines = decode(&bytes);
        assert_eq!(lines[0], "C 1 a line");
        assert_eq!(lines[1], format!("C 2 {}", "x".repeat(76)));
        assert_eq!(lines[2], "C 3 xxxx");
        assert_eq!(lines[38], "C39 SEG Y REV1");
        assert_eq!(lines[39], "C40 END TEXTUAL HEADER");
    }

    #[test]
    fn lines_are_cut_between_words() {
        let line = format!("{} z_max cpml", "x".repeat(70));
        let bytes = encode(Path::new("t.sgy"), &[line], "", TextEncoding::Ascii).unwrap();
        let lines = decode(&bytes);
        assert_eq!(lines[0], format!("C 1 {}", "x".repeat(70)));
        assert_eq!(lines[1], "C 2 z_max cpml");
    }

    #[test]
    fn too_many_lines_are_refused() {
        let lines = vec![String::from("x"); 39];
        assert!(
            encode(Path::new("t.sgy"), &lines, "", TextEncoding::Ascii)
                .unwrap_err()
                .to_string()
                .contains("39")
        );
    }
}
