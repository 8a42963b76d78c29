//! What a file is told to be, against what its headers say.

use super::{HeaderMap, SampleFormat, WordOrder};

/// What the file is told to be; the default believes its headers.
///
/// What is given here goes before all headers; [`super::Warning`]s say where that is a
/// contradiction.
///
/// ```
/// use temblor_io::segy::{SampleFormat, SegyOptions};
/// // A file of revision 0 that says IBM and means IEEE, with inlines in bytes 9-12.
/// let options = SegyOptions {
///     format: Some(SampleFormat::Ieee),
///     fields: "iline=9".parse()?,
///     ..SegyOptions::default()
/// };
/// # Ok::<(), temblor_io::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SegyOptions {
    /// Byte order; found from the file if absent.
    pub order: Option<WordOrder>,
    /// Sample format, such as IEEE for a file that says IBM wrongly.
    pub format: Option<SampleFormat>,
    /// Samples of every trace.
    pub samples: Option<u32>,
    /// Time between samples, s.
    pub interval: Option<f64>,
    /// Bytes before the binary header, 3200 by the standard.
    pub text_bytes: Option<u64>,
    /// Number of extended text headers.
    pub extended_text: Option<u32>,
    /// Number of trace header extensions of every trace.
    pub trace_extensions: Option<u16>,
    /// Offset of the first trace, bytes.
    pub first_trace: Option<u64>,
    /// Reads the whole traces of a file that ends within one.
    pub allow_truncated: bool,
    /// Where trace header fields stand.
    pub fields: HeaderMap,
    /// Reads by system calls only. Otherwise files that are read in sequence are mapped into
    /// memory, which is faster, but ends the program if another one shortens the file meanwhile.
    pub unmapped: bool,
}
