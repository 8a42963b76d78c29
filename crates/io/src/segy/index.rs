//! Traces of different lengths: found by going from header to header, with a mark every so many.

use super::layout::{Extent, Facts, trace_samples};
use super::source::Source;
use super::{RawTraceHeader, SampleFormat, TRACE_HEADER_BYTES, WordOrder};
use crate::Result;

/// Traces from one mark to the next: 8 bytes of memory for as many traces.
const STEP: u64 = 256;

/// How to go from a trace to the next one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stride {
    order: WordOrder,
    format: SampleFormat,
    end: u64,
    extensions: u16,
    default_samples: u32,
}

/// Marks along a file whose traces differ in length.
#[derive(Debug)]
pub(super) struct Index {
    stride: Stride,
    marks: Vec<u64>,
    traces: u64,
    most_samples: u32,
    uniform: bool,
}

/// Why going from header to header failed.
pub(super) struct Stop {
    pub(super) trace: u64,
    pub(super) offset: u64,
    pub(super) what: &'static str,
}

/// Going from header to header.
pub(super) struct Walk<'a> {
    source: &'a Source,
    first: u64,
    stride: Stride,
}

impl Stride {
    /// The trace at an offset; `None` if its headers do not end within the file.
    pub(super) fn extent(&self, source: &Source, offset: u64) -> Result<Option<Extent>> {
        const BLOCK: u64 = TRACE_HEADER_BYTES as u64;
        let room = self.end.saturating_sub(offset);
        if room < BLOCK {
            return Ok(None);
        }
        let raw = RawTraceHeader { bytes: source.array(offset)?, order: self.order };
        let mut header_bytes = BLOCK * (1 + u64::from(self.extensions));
        let mut samples = raw.samples().into();
        if self.extensions > 0 && room >= 2 * BLOCK {
            let extension: [u8; TRACE_HEADER_BYTES] = source.array(offset + BLOCK)?;
            samples = trace_samples(self.order, &raw, Some(&extension));
            let own = u16::from_be_bytes(super::field::word(self.order, &extension, 156));
            if own > 0 {
                header_bytes = BLOCK * (1 + u64::from(own));
            }
        }
        if samples == 0 {
            samples = self.default_samples;
        }
        Ok((room >= header_bytes).then_some(Extent { offset, header_bytes, samples }))
    }

    pub(super) fn after(&self, extent: &Extent) -> u64 {
        let samples = u64::from(extent.samples) * self.format.bytes() as u64;
        extent.offset + extent.header_bytes + samples
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        source: &'a Source,
        facts: &Facts<'_>,
        first: u64,
        end: u64,
        extensions: u16,
    ) -> Self {
        let (order, format) = (facts.binary.order, facts.format);
        let stride = Stride { order, format, end, extensions, default_samples: 0 };
        Self { source, first, stride }
    }

    /// Samples of traces that do not say a number.
    pub(super) fn with_default(mut self, samples: u32) -> Self {
        self.stride.default_samples = samples;
        self
    }

    /// Samples that the trace at an offset says it has.
    pub(super) fn stated(&self, offset: u64) -> Result<u32> {
        let said = Stride { default_samples: 0, ..self.stride }.extent(self.source, offset)?;
        Ok(said.map_or(0, |extent| extent.samples))
    }

    /// Goes to the file's end; why not, if a trace does not end there.
    pub(super) fn index(&self) -> Result<std::result::Result<Index, Stop>> {
        let mut index = Index {
            stride: self.stride,
            marks: Vec::new(),
            traces: 0,
            most_samples: 0,
            uniform: true,
        };
        let mut first: Option<Extent> = None;
        let mut offset = self.first;
        while offset < self.stride.end {
            let stop = |what| Ok(Err(Stop { trace: index.traces, offset, what }));
            let Some(extent) = self.stride.extent(self.source, offset)? else {
                return stop("has no whole header");
            };
            if extent.samples == 0 {
                return stop("says no number of samples");
            }
            let next = self.stride.after(&extent);
            if next > self.stride.end {
                return stop("runs past the end");
            }
            if index.traces.is_multiple_of(STEP) {
                index.marks.push(offset);
            }
            let alike = first.get_or_insert(extent);
            index.uniform &=
                (alike.samples, alike.header_bytes) == (extent.samples, extent.header_bytes);
            index.traces += 1;
            index.most_samples = index.most_samples.max(extent.samples);
            offset = next;
        }
        Ok(Ok(index))
    }
}

impl Index {
    pub(super) fn traces(&self) -> u64 {
        self.traces
    }

    /// Whether all traces are alike after all.
    pub(super) fn is_uniform(&self) -> bool {
        self.uniform
    }

    pub(super) fn most_samples(&self) -> u32 {
        self.most_samples
    }

    /// The trace of a number below [`Index::traces`], from the last mark before it.
    pub(super) fn extent(&self, source: &Source, trace: u64) -> Result<Option<Extent>> {
        let mark = usize::try_from(trace / STEP).unwrap_or(usize::MAX);
        let Some(&mark) = self.marks.get(mark) else { return Ok(None) };
        let mut extent = self.stride.extent(source, mark)?;
        for _ in 0..trace % STEP {
            let Some(found) = extent else { return Ok(None) };
            extent = self.stride.extent(source, self.stride.after(&found))?;
        }
        Ok(extent)
    }

    /// The trace after another.
    pub(super) fn next(&self, source: &Source, extent: &Extent) -> Result<Option<Extent>> {
        self.stride.extent(source, self.stride.after(extent))
    }
}
