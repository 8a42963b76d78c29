//! Whether samples can be what the format code says.

use super::{SegyReader, Warning};
use crate::Result;

/// Traces looked at, and samples of each.
const TRACES: u64 = 8;
const SAMPLES: usize = 1024;
/// Different words that make a judgement.
const ENOUGH: usize = 64;

/// Whether samples that are said to be IBM floats look like IEEE floats.
///
/// IBM floats are normalised: the first of the six digits is not zero, but for zero itself. Of IEEE
/// floats that digit, one bit of exponent and three of fraction, is zero in one word of 16.
pub(super) fn looks_ieee(reader: &SegyReader) -> Result<Option<Warning>> {
    let mut words = Vec::new();
    let count = TRACES.min(reader.traces());
    for probe in 0..count {
        let last = u128::from(reader.traces() - 1) * u128::from(probe);
        let trace = u64::try_from(last / u128::from(count.max(2) - 1)).unwrap_or(0);
        let extent = reader.extent(trace)?;
        let samples = usize::try_from(extent.samples).unwrap_or(SAMPLES).min(SAMPLES);
        let bytes =
            reader.source().first_bytes(extent.offset + extent.header_bytes, 4 * samples)?;
        let (chunks, _) = bytes.as_chunks::<4>();
        words.extend(chunks.iter().map(|&b| u32::from_be_bytes(reader.order().to_big(b))));
    }
    words.retain(|word| word & 0x00ff_ffff != 0);
    words.sort_unstable();
    words.dedup();
    let odd = words.iter().filter(|&word| word & 0x00f0_0000 == 0).count();
    let doubtful = words.len() >= ENOUGH && 50 * odd >= words.len();
    let warning = Warning::LooksIeee { odd: odd as u64, words: words.len() as u64 };
    Ok(doubtful.then_some(warning))
}
