//! What is doubtful about a file that was read all the same.

/// A contradiction or doubt, with both sides and what was done; [`std::fmt::Display`] says it in a
/// sentence. Traces are counted from 1 in sentences.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// Headers disagree on the number of samples per trace.
    #[error(
        "trace {trace} says {in_trace} samples, the file header {in_file}: {used} is used, {reason}"
    )]
    Samples {
        /// In the file header (the extended count of revision 2, where that is not zero).
        in_file: u64,
        /// In a trace's header.
        in_trace: u64,
        /// Number of that trace, from 1.
        trace: u64,
        /// What is used.
        used: u64,
        /// Why.
        reason: &'static str,
    },
    /// Headers disagree on the sample interval; the file header's is used.
    #[error(
        "the first trace says an interval of {in_trace} us, the file header {in_file} us, which is \
         used"
    )]
    Interval {
        /// In the file header, us.
        in_file: f64,
        /// In the first trace's header, us.
        in_trace: f64,
    },
    /// No header gives a sample interval.
    #[error("no header gives a sample interval: it is 0 until one is given")]
    NoInterval,
    /// An extended interval that is no interval; the others are used.
    #[error("the extended sample interval is {value} us, which is none: it is left aside")]
    ExtendedInterval {
        /// What stands in bytes 3273-3280.
        value: f64,
    },
    /// A revision that does not exist.
    #[error(
        "the file header says revision {major}.{minor}, which is none: read as revision {used}"
    )]
    Revision {
        /// Byte 3501.
        major: u8,
        /// Byte 3502.
        minor: u8,
        /// What is assumed.
        used: u8,
    },
    /// Extended text headers in a file of revision 0, which has none; they look like text.
    #[error("revision 0 has no extended text headers, but {count} follow (-1: up to EndText)")]
    ExtendedText {
        /// What stands in bytes 3505-3506.
        count: i16,
    },
    /// The stated offset of the first trace is not where the headers end; the end is used.
    #[error(
        "the file header says that traces begin at byte {stated}, its text headers end at \
         {computed}: {used} is used, which makes whole traces"
    )]
    FirstTrace {
        /// Bytes 3521-3528.
        stated: u64,
        /// From the number of text headers.
        computed: u64,
        /// What is used.
        used: u64,
    },
    /// The stated number of traces is not the file's.
    #[error(
        "the file header says {stated} traces, the file's size makes {found}: {found} are read"
    )]
    Traces {
        /// Bytes 3513-3520.
        stated: u64,
        /// From the file's size.
        found: u64,
    },
    /// The file ends within a trace, which was allowed.
    #[error(
        "the file ends within trace {trace}, which begins at byte {offset}: {left} of {wanted} \
         bytes are there, the traces before it are read"
    )]
    Truncated {
        /// Number of the trace that is cut short, from 1.
        trace: u64,
        /// Where it begins.
        offset: u64,
        /// Bytes that are there.
        left: u64,
        /// Bytes of a whole one.
        wanted: u64,
    },
    /// The sample format was given and is not the file's.
    #[error("the file header says sample format {stated}, {used} was asked for and is used")]
    Format {
        /// Code of bytes 3225-3226.
        stated: u16,
        /// Code used.
        used: u16,
    },
    /// Samples that are said to be IBM floats but are hardly ever normalised, as IBM floats are.
    #[error(
        "samples are said to be IBM floats, but {odd} of {words} begin with a zero digit, which \
         IBM floats hardly do and IEEE floats do often: if they look wrong, give the format `f4`"
    )]
    LooksIeee {
        /// Words that are not normalised.
        odd: u64,
        /// Different words looked at.
        words: u64,
    },
}
