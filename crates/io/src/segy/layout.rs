//! Where the traces of a file are: all of one length, or each as its own header says.

use super::dialect::Misfit;
use super::field::word;
use super::index::{self, Walk};
use super::source::Source;
use super::trace_header::rounded_us;
use super::{
    BinaryHeader, RawTraceHeader, SampleFormat, SegyOptions, TEXT_BYTES, TRACE_HEADER_BYTES,
    Warning, WordOrder, text,
};
use crate::Result;

/// Traces looked at when a length is tried.
const PROBES: u64 = 64;

/// Place and length of all traces.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) first_trace: u64,
    pub(super) traces: u64,
    /// Trace header extensions of a trace, where its own header says nothing else.
    pub(super) extensions: u16,
    /// Samples of a trace, the largest number where they differ.
    pub(super) samples: u32,
    pub(super) shape: Shape,
}

#[derive(Debug)]
pub(super) enum Shape {
    /// All traces take as many bytes.
    Fixed,
    /// Each trace has its own number of samples.
    Variable(index::Index),
}

/// Header and samples of one trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) offset: u64,
    pub(super) header_bytes: u64,
    pub(super) samples: u32,
}

/// What is known when the traces' lengths are looked for.
pub(super) struct Facts<'a> {
    pub(super) binary: &'a BinaryHeader,
    pub(super) format: SampleFormat,
    pub(super) revision: (u8, u8),
    pub(super) text_end: u64,
}

pub(super) struct Found {
    pub(super) layout: Layout,
    pub(super) interval_us: f64,
}

/// The traces' part of the file and what headers say of their length.
struct Body<'a> {
    source: &'a Source,
    facts: &'a Facts<'a>,
    first: u64,
    end: u64,
    /// Number of traces in the file header of revision 2, 0 if unknown.
    stated: u64,
    extensions: u16,
    in_file: u32,
    in_trace: u32,
}

/// Finds the layout; a sentence on what was tried if nothing fits.
pub(super) fn find(
    source: &Source,
    facts: &Facts<'_>,
    options: &SegyOptions,
    warnings: &mut Vec<Warning>,
) -> Result<std::result::Result<Found, Misfit>> {
    let second = facts.revision.0 >= 2;
    let stated_first = if second { facts.binary.u64(3521) } else { 0 };
    let starts = match options.first_trace {
        Some(first) => vec![first],
        // The statement overrides by the standard; where it makes no whole traces, the headers' end.
        None if stated_first > facts.text_end => vec![stated_first, facts.text_end],
        None => vec![facts.text_end],
    };
    let mut tried = Misfit::new(facts.text_end, "");
    for first in starts {
        match from(source, facts, first, options, warnings)? {
            Ok(found) => {
                let computed = facts.text_end;
                if stated_first != 0 && stated_first != computed {
                    let (stated, used) = (stated_first, first);
                    warnings.push(Warning::FirstTrace { stated, computed, used });
                }
                return Ok(Ok(found));
            }
            Err(misfit) => {
                if !tried.what.is_empty() {
                    tried.what.push_str("; ");
                }
                tried.what.push_str(&misfit.what);
                tried.offset = misfit.offset;
            }
        }
    }
    Ok(Err(tried))
}

/// The layout of traces that begin at `first`.
fn from(
    source: &Source,
    facts: &Facts<'_>,
    first: u64,
    options: &SegyOptions,
    warnings: &mut Vec<Warning>,
) -> Result<std::result::Result<Found, Misfit>> {
    let none = |end: u64| {
        Misfit::new(first.min(end), format!("no trace between byte {first} and the end at {end}"))
    };
    if first >= source.size() {
        return Ok(Err(none(source.size())));
    }
    let end = end_of_traces(source, facts, first)?;
    if end < first + TRACE_HEADER_BYTES as u64 {
        return Ok(Err(none(end)));
    }
    let extensions = options.trace_extensions.unwrap_or_else(|| extensions(facts));
    let order = facts.binary.order;
    let header: [u8; TRACE_HEADER_BYTES] = source.array(first)?;
    let raw = RawTraceHeader { bytes: header, order };
    let extended = extensions > 0 && end >= first + 2 * TRACE_HEADER_BYTES as u64;
    let extension: [u8; TRACE_HEADER_BYTES] = if extended {
        source.array(first + TRACE_HEADER_BYTES as u64)?
    } else {
        [0; TRACE_HEADER_BYTES]
    };
    let second = facts.revision.0 >= 2;
    let in_file = match facts.binary.u32(3269) {
        count if second && count > 0 => count,
        _ => facts.binary.u16(3221).into(),
    };
    let body = Body {
        source,
        facts,
        first,
        end,
        stated: if second { facts.binary.u64(3513) } else { 0 },
        extensions,
        in_file,
        in_trace: trace_samples(order, &raw, extended.then_some(&extension)),
    };
    let interval_us = interval(facts, &raw, &extension, options, warnings);
    Ok(body.layout(options, warnings)?.map(|layout| Found { layout, interval_us }))
}

/// Samples of a trace by its own headers; 0 if they do not say.
pub(super) fn trace_samples(
    order: WordOrder,
    raw: &RawTraceHeader,
    extension: Option<&[u8; TRACE_HEADER_BYTES]>,
) -> u32 {
    let extended = extension.map_or(0, |bytes| u32::from_be_bytes(word(order, bytes, 136)));
    if extended == 0 { raw.samples().into() } else { extended }
}

/// Trace header extensions per trace: 16 bits in revision 2.1, 32 in 2.0, where some writers of 2.0
/// use 16 as well.
fn extensions(facts: &Facts<'_>) -> u16 {
    let binary = facts.binary;
    match facts.revision {
        (2, _) if binary.u16(3507) > 0 => binary.u16(3507),
        (2, 0) => u16::try_from(binary.u32(3507)).unwrap_or(0),
        _ => 0,
    }
}

/// Where data trailers begin, the file's end if there are none.
fn end_of_traces(source: &Source, facts: &Facts<'_>, first: u64) -> Result<u64> {
    let size = source.size();
    let block = TEXT_BYTES as u64;
    if facts.revision.0 < 2 {
        return Ok(size);
    }
    match facts.binary.u32(3529).cast_signed() {
        0 => Ok(size),
        count @ 1.. => {
            let trailers = u64::from(count.unsigned_abs()) * block;
            Ok(if trailers <= size - first.min(size) { size - trailers } else { size })
        }
        _ => {
            let mut end = size;
            while end >= first + block && text::begins_stanza(&source.array::<2>(end - block)?) {
                end -= block;
            }
            Ok(end)
        }
    }
}

/// Sample interval, us: the file header's (extended, then 16 bits), then the first trace's.
fn interval(
    facts: &Facts<'_>,
    raw: &RawTraceHeader,
    extension: &[u8; TRACE_HEADER_BYTES],
    options: &SegyOptions,
    warnings: &mut Vec<Warning>,
) -> f64 {
    let sound = |value: f64| value.is_finite() && value > 0.0;
    let second = facts.revision.0 >= 2;
    let mut in_file = f64::from(facts.binary.u16(3217));
    let extended = facts.binary.f64(3273);
    if second && extended.to_bits() << 1 != 0 {
        if sound(extended) {
            in_file = extended;
        } else {
            warnings.push(Warning::ExtendedInterval { value: extended });
        }
    }
    let extended = f64::from_be_bytes(word(facts.binary.order, extension, 144));
    let in_trace = if sound(extended) { extended } else { raw.interval_us().into() };
    if let Some(seconds) = options.interval {
        return seconds * 1e6;
    }
    if !sound(in_file) {
        if !sound(in_trace) {
            warnings.push(Warning::NoInterval);
        }
        return in_trace;
    }
    let same = (in_trace - in_file).abs() <= 1e-9 * in_file
        || in_trace.to_bits() == f64::from(rounded_us(in_file)).to_bits();
    if sound(in_trace) && !same {
        warnings.push(Warning::Interval { in_file, in_trace });
    }
    in_file
}

impl Body<'_> {
    fn header_bytes(&self) -> u64 {
        (1 + u64::from(self.extensions)) * TRACE_HEADER_BYTES as u64
    }

    fn stride(&self, samples: u32) -> u64 {
        self.header_bytes() + u64::from(samples) * self.facts.format.bytes() as u64
    }

    /// Number of traces if all have that many samples.
    fn fits(&self, samples: u32) -> Option<u64> {
        let (body, stride) = (self.end - self.first, self.stride(samples));
        if samples == 0 {
            return None;
        }
        if body.is_multiple_of(stride) {
            return Some(body / stride);
        }
        // Trailers that the file header does not count.
        let traces = self.stated.checked_mul(stride)?;
        let beyond = body.checked_sub(traces)?;
        (traces > 0 && beyond.is_multiple_of(TEXT_BYTES as u64)).then_some(self.stated)
    }

    fn layout(
        &self,
        options: &SegyOptions,
        warnings: &mut Vec<Warning>,
    ) -> Result<std::result::Result<Layout, Misfit>> {
        if let Some(samples) = options.samples {
            return Ok(match self.fits(samples) {
                Some(traces) => Ok(self.fixed(samples, traces, warnings)),
                None => self.misfit(&[(samples, "as given")], options, warnings),
            });
        }
        let candidates = [(self.in_file, "file header"), (self.in_trace, "first trace header")];
        let fitting = candidates.iter().find_map(|&(n, _)| Some((n, self.fits(n)?)));
        let walk = Walk::new(self.source, self.facts, self.first, self.end, self.extensions)
            .with_default(self.in_file);
        if let Some((samples, traces)) = fitting {
            let Some((trace, in_trace)) = self.contradiction(&walk, samples, traces)? else {
                return Ok(Ok(self.fixed(samples, traces, warnings)));
            };
            // A file whose headers do not promise equal lengths may have traces of several.
            let promised = self.facts.revision.0 >= 1 && self.facts.binary.u16(3503) == 1;
            if !promised
                && let Ok(index) = walk.index()?
                && !index.is_uniform()
            {
                return Ok(Ok(self.variable(index)));
            }
            let reason = if samples == self.in_file {
                "which makes the file's size a whole number of traces"
            } else {
                "since the file header's makes no whole number of traces"
            };
            let (in_file, in_trace, used) = (self.in_file.into(), in_trace.into(), samples.into());
            warnings.push(Warning::Samples { in_file, in_trace, trace, used, reason });
            return Ok(Ok(self.fixed(samples, traces, warnings)));
        }
        match walk.index()? {
            Ok(index) => Ok(Ok(self.variable(index))),
            Err(stop) => Ok(self.misfit(&candidates, options, warnings).map_err(|mut misfit| {
                misfit.what.push_str(&format!(
                    "; by each trace's own count, trace {} at byte {} {}",
                    stop.trace + 1,
                    stop.offset,
                    stop.what
                ));
                misfit
            })),
        }
    }

    /// The first of some traces spread over the file whose header says another number.
    fn contradiction(
        &self,
        walk: &Walk<'_>,
        samples: u32,
        traces: u64,
    ) -> Result<Option<(u64, u32)>> {
        if self.in_file != samples && self.in_file != 0 {
            return Ok(Some((1, self.in_trace)));
        }
        let probes = PROBES.min(traces);
        for probe in 0..probes {
            // First, last and evenly between; 128 bits hold any product.
            let last = u128::from(traces - 1) * u128::from(probe);
            let trace = u64::try_from(last / u128::from(probes.max(2) - 1)).unwrap_or(0);
            let said = walk.stated(self.first + trace * self.stride(samples))?;
            if said != 0 && said != samples {
                return Ok(Some((trace + 1, said)));
            }
        }
        Ok(None)
    }

    fn fixed(&self, samples: u32, traces: u64, warnings: &mut Vec<Warning>) -> Layout {
        if self.stated != 0 && self.stated != traces {
            warnings.push(Warning::Traces { stated: self.stated, found: traces });
        }
        Layout {
            first_trace: self.first,
            traces,
            extensions: self.extensions,
            samples,
            shape: Shape::Fixed,
        }
    }

    fn variable(&self, index: index::Index) -> Layout {
        Layout {
            first_trace: self.first,
            traces: index.traces(),
            extensions: self.extensions,
            samples: index.most_samples(),
            shape: Shape::Variable(index),
        }
    }

    /// Why none of the numbers fits, or the whole traces of the first where that is allowed.
    fn misfit(
        &self,
        candidates: &[(u32, &str)],
        options: &SegyOptions,
        warnings: &mut Vec<Warning>,
    ) -> std::result::Result<Layout, Misfit> {
        let body = self.end - self.first;
        let mut misfit = Misfit::new(self.first, format!("{body} bytes of traces are "));
        for (n, &(samples, whose)) in candidates.iter().enumerate() {
            if n > 0 {
                if samples == candidates[0].0 {
                    misfit.what.push_str(&format!(" (so the {whose})"));
                    continue;
                }
                misfit.what.push_str(", ");
            }
            if samples == 0 {
                misfit.what.push_str(&format!("no samples per trace ({whose})"));
                continue;
            }
            let stride = self.stride(samples);
            let (traces, left) = (body / stride, body % stride);
            let offset = self.first + traces * stride;
            if options.allow_truncated && traces > 0 {
                let (trace, wanted) = (traces + 1, stride);
                warnings.push(Warning::Truncated { trace, offset, left, wanted });
                return Ok(self.fixed(samples, traces, warnings));
            }
            misfit.what.push_str(&format!(
                "{traces} traces of {samples} samples ({whose}) and {left} of {stride} bytes of \
                 trace {}, which begins at byte {offset} and is cut short",
                traces + 1
            ));
            misfit.offset = offset;
        }
        Err(misfit)
    }
}
