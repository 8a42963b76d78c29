//! What the host's processors move and compute at most, measured as plans would: by the same
//! instruction set, on the pool that the call is made in.
//!
//! Each thread owns a stretch of the arrays, touches it first and takes its chunks first, so that
//! with several memories it works on its own; a thread that is done helps the others, so that a
//! disturbed one does not hold up the pass. Random data: the first part of every chunk. All threads
//! then see the same mixture at any time, and a chunk is far longer than what hardware compresses as
//! one. Values are multiples of 2^-22 below 1 or STREAM's constants, for which every pattern is exact
//! in f32; `step` done twice gives what it began with, so nothing grows, decays or becomes denormal.

#![allow(unsafe_code, reason = "launcher: threads write disjoint chunks of shared arrays")]

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use temblor_backend::{Error, Result, StreamPattern, StreamRequest};

use crate::memory::{AlignedVec, available_memory};
use crate::tuned::{Isa, RoofKernels, StreamArgs};

/// Elements that a thread takes at a time: 256 KiB of each array.
const CHUNK: usize = 1 << 16;

/// STREAM's constants for a, b and c.
const CONSTANTS: [f32; 3] = [1.0, 2.0, 0.0];

/// Three arrays and the kernels that stream over them.
#[derive(Debug)]
pub struct Streams {
    arrays: [AlignedVec; 3],
    kernels: RoofKernels,
}

impl Streams {
    /// Arrays of at least `elements` each, of which `fill`, 0 to 1, is random.
    #[must_use]
    pub fn new(isa: Isa, elements: usize, fill: f64) -> Self {
        let elements = elements.next_multiple_of(16);
        let arrays = [elements; 3].map(AlignedVec::untouched);
        let mut streams = Self { arrays, kernels: RoofKernels::new(isa) };
        streams.on_chunks(|first, args| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a part of a chunk"
            )]
            let random = (fill * args.len as f64).round() as usize;
            for (which, start) in [args.a, args.b, args.c].into_iter().enumerate() {
                // SAFETY: the chunk is this thread's and this is its only borrow; zeros are f32.
                let values = unsafe { std::slice::from_raw_parts_mut(start, args.len) };
                for (n, value) in values.iter_mut().enumerate() {
                    let number = (which * elements + first + n) as u64;
                    *value = if n < random { noise(number) } else { CONSTANTS[which] };
                }
            }
        });
        streams
    }

    /// Elements of each array.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.arrays[0].len()
    }

    /// One pass of a pattern over the arrays.
    pub fn pass(&mut self, pattern: StreamPattern) {
        let stream = self.kernels.stream[pattern as usize];
        // SAFETY: the kernels are of an instruction set of this processor, the chunk is the caller's.
        self.on_chunks(|_, args| unsafe { stream(args) });
    }

    /// Calls `work` once for every chunk, with the number of its first element, on all threads.
    fn on_chunks(&mut self, work: impl Fn(usize, &StreamArgs) + Sync) {
        struct Arrays([*mut f32; 3]);
        // SAFETY: each chunk is given to one thread, as each number is claimed once.
        unsafe impl Sync for Arrays {}

        let elements = self.elements();
        let arrays = Arrays(self.arrays.each_mut().map(AlignedVec::pointer));
        let (chunks, threads) = (elements.div_ceil(CHUNK), rayon::current_num_threads());
        let bound = |thread: usize| thread * chunks / threads;
        let next: Vec<_> = (0..threads).map(|thread| AtomicUsize::new(bound(thread))).collect();
        rayon::broadcast(|context| {
            let arrays = &arrays;
            for turn in 0..threads {
                let owner = (context.index() + turn) % threads;
                loop {
                    let chunk = next[owner].fetch_add(1, Ordering::Relaxed);
                    if chunk >= bound(owner + 1) {
                        break;
                    }
                    let first = chunk * CHUNK;
                    let [a, b, c] = arrays.0.map(|array| array.wrapping_add(first));
                    work(first, &StreamArgs { a, b, c, len: CHUNK.min(elements - first) });
                }
            }
        });
    }
}

/// A multiple of 2^-22 in [0, 1) by the mixer of splitmix64 (Steele, Lea and Flood 2014).
fn noise(number: u64) -> f32 {
    let mut x = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 42) as f32 / 4_194_304.0
}

/// Runs multiply-adds from registers on all threads: so many turns on each; the operations done, a
/// multiply-add counted as two.
#[must_use]
pub fn multiply_adds(isa: Isa, turns: u64) -> f64 {
    let kernels = RoofKernels::new(isa);
    let sums = rayon::broadcast(|_| {
        // SAFETY: the kernels are of an instruction set of this processor.
        black_box(unsafe { (kernels.multiply_adds)(black_box(turns)) })
    });
    (sums.len() as u64 * turns * kernels.flops_per_turn) as f64
}

/// Refuses what cannot be measured.
fn check(request: &StreamRequest) -> Result<usize> {
    request.check()?;
    let needed = request.elements.saturating_mul(12).saturating_add(3 * 128);
    let available = available_memory();
    match usize::try_from(request.elements) {
        Ok(elements) if needed <= available => Ok(elements),
        _ => Err(Error::OutOfMemory { needed, available }),
    }
}

/// [`temblor_backend::Backend::stream`] of the host.
pub(crate) fn stream(isa: Isa, request: &StreamRequest) -> Result<Vec<f64>> {
    let mut streams = Streams::new(isa, check(request)?, request.fill);
    let bytes = streams.elements() as f64 * f64::from(request.pattern.bytes_per_element());
    let mut sample = || {
        let (start, mut passes) = (Instant::now(), 0_u32);
        loop {
            streams.pass(request.pattern);
            passes += 1;
            let seconds = start.elapsed().as_secs_f64();
            if seconds >= request.seconds {
                return f64::from(passes) * bytes / seconds;
            }
        }
    };
    sample();
    Ok((0..request.samples).map(|_| sample()).collect())
}

/// Seconds that a sample of multiply-adds lasts at least: long enough for threads to wake and for
/// clocks to settle.
const SECONDS: f64 = 0.1;

/// [`temblor_backend::Backend::peak_flops`] of the host.
pub(crate) fn peak_flops(isa: Isa, samples: u32) -> Vec<f64> {
    let timed = |turns: u64| {
        let start = Instant::now();
        let flops = multiply_adds(isa, turns);
        (start.elapsed().as_secs_f64(), flops)
    };
    let mut turns = 1 << 16;
    while timed(turns).0 < SECONDS {
        turns *= 2;
    }
    let rate = |(seconds, flops): (f64, f64)| flops / seconds;
    (0..samples).map(|_| rate(timed(turns))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than a chunk per thread of the largest pool below, and no multiple of one.
    const ELEMENTS: usize = 5 * CHUNK + 48;

    fn request(pattern: StreamPattern) -> StreamRequest {
        StreamRequest { pattern, elements: 1 << 18, fill: 0.5, samples: 3, seconds: 0.0 }
    }

    fn values(streams: &Streams) -> [Vec<f32>; 3] {
        streams.arrays.each_ref().map(|array| array.to_vec())
    }

    #[test]
    fn every_pattern_is_exact_by_every_instruction_set_on_any_number_of_threads() {
        for isa in Isa::available() {
            for threads in [1, 2, 3, 7] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                for pattern in StreamPattern::ALL {
                    let mut streams = pool.install(|| Streams::new(isa, ELEMENTS, 0.7));
                    let [a, b, c] = values(&streams);
                    pool.install(|| streams.pass(pattern));
                    let after = values(&streams);
                    for n in 0..ELEMENTS {
                        let [x, y, z] = [a[n], b[n], c[n]].map(f64::from);
                        let expected = match pattern {
                            StreamPattern::Copy => [x, y, x],
                            StreamPattern::Scale => [x, 3.0 * z, z],
                            StreamPattern::Add => [x, y, x + y],
                            StreamPattern::Triad => [y + 3.0 * z, y, z],
                            StreamPattern::Step => [2.0 * y - x + z, y, z],
                        };
                        let got = [after[0][n], after[1][n], after[2][n]].map(f64::from);
                        let same = got.map(f64::to_bits) == expected.map(f64::to_bits);
                        assert!(same, "{isa:?} {pattern:?} {n}: {got:?}, not {expected:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn thousands_of_steps_neither_grow_nor_become_denormal() {
        let mut streams = Streams::new(Isa::available()[0], 4096, 0.5);
        let before = values(&streams);
        for _ in 0..2500 {
            streams.pass(StreamPattern::Step);
            let a = &streams.arrays[0];
            assert!(a.iter().all(|&v| v.abs() < 4.0 && (v == 0.0 || v.is_normal())));
            streams.pass(StreamPattern::Step);
        }
        assert!(values(&streams) == before, "an even number of steps gives back the first values");
    }

    #[test]
    fn the_fill_is_the_random_part_of_every_chunk() {
        let streams = Streams::new(Isa::available()[0], 2 * CHUNK, 0.25);
        for (array, constant) in streams.arrays.iter().zip(CONSTANTS) {
            for chunk in array.chunks(CHUNK) {
                let (random, rest) = chunk.split_at(CHUNK / 4);
                assert!(rest.iter().all(|v| v.to_bits() == constant.to_bits()));
                assert!(random.iter().all(|v| (0.0..1.0).contains(v)));
                // The mean of n uniform values is within 5 sigma of 1/2.
                let n = random.len() as f64;
                let mean = random.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
                assert!((mean - 0.5).abs() < 5.0 / (12.0 * n).sqrt(), "{mean}");
            }
        }
    }

    #[test]
    fn a_rate_is_given_per_sample() {
        for pattern in StreamPattern::ALL {
            let rates = stream(Isa::available()[0], &request(pattern)).unwrap();
            assert_eq!(rates.len(), 3);
            assert!(rates.iter().all(|rate| rate.is_finite() && *rate > 0.0), "{rates:?}");
        }
        let rates = peak_flops(Isa::available()[0], 2);
        assert_eq!(rates.len(), 2);
        // Below 1 Gflop/s the multiply-adds would not be those of a vector unit.
        assert!(rates.iter().all(|rate| rate.is_finite() && *rate > 1e9), "{rates:?}");
    }

    #[test]
    fn a_sample_lasts_as_long_as_asked_for() {
        let request = StreamRequest { seconds: 0.05, ..request(StreamPattern::Copy) };
        let start = Instant::now();
        stream(Isa::available()[0], &request).unwrap();
        assert!(start.elapsed().as_secs_f64() >= 4.0 * 0.05);
    }

    #[test]
    fn what_cannot_be_measured_is_refused_with_its_value() {
        let told = |change: fn(&mut StreamRequest)| {
            let mut request = request(StreamPattern::Step);
            change(&mut request);
            stream(Isa::available()[0], &request).unwrap_err().to_string()
        };
        assert!(told(|r| r.elements = 0).contains("0 elements"));
        assert!(told(|r| r.fill = 1.5).contains("1.5"));
        assert!(told(|r| r.fill = f64::NAN).contains("NaN"));
        assert!(told(|r| r.seconds = f64::INFINITY).contains("inf"));
        assert!(told(|r| r.elements = 1 << 60).contains(&(12_u64 << 60).to_string()[..4]));
    }
}
