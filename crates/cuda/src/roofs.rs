//! What the device moves and computes at most: measured, and as the driver's figures have it.

use std::time::Instant;

use temblor_backend::{Error, Nominal, Result, StreamRequest};

use crate::backend::Device;
use crate::memory::{Buffer, free_bytes};
use crate::module::{Kernels, roofs::NAMES};
use crate::sys::{self, Clocks, failed};

/// Elements whose first part is random and whose rest is constant, as on the CPU: far more than what
/// hardware compresses as one, and few enough for all multiprocessors to see the same mixture.
const CHUNK: usize = 1 << 16;

/// STREAM's constants for a, b and c.
const CONSTANTS: [f32; 3] = [1.0, 2.0, 0.0];

fn kernels(device: &Device) -> Result<Kernels> {
    device.context.bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
    Kernels::load(&device.modules, &NAMES.map(String::from))
}

/// Elements to allocate for a request, a multiple of four.
fn elements(request: &StreamRequest, available: u64) -> Result<usize> {
    request.check()?;
    let elements = request.elements.div_ceil(4).saturating_mul(4);
    let needed = elements.saturating_mul(12);
    match usize::try_from(elements) {
        Ok(elements) if needed <= available => Ok(elements),
        _ => Err(Error::OutOfMemory { needed, available }),
    }
}

/// [`temblor_backend::Backend::stream`] of a device. Samples end with a synchronisation and are
/// timed by the host's clock, as the steps of a plan are.
pub(crate) fn stream(device: &Device, request: &StreamRequest) -> Result<Vec<f64>> {
    let kernels = kernels(device)?;
    let elements = elements(request, free_bytes(&device.context)?)?;
    let stream = device.context.new_stream().map_err(failed("cuStreamCreate"))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "part of a chunk")]
    let noisy = (request.fill * CHUNK as f64).round() as usize;
    let mut arrays = Vec::new();
    for (which, constant) in (0..).zip(CONSTANTS) {
        let array = Buffer::zeros(&stream, elements)?;
        let (part, address) = ([CHUNK, noisy], array.address());
        kernels.stream_fill(&stream, elements, part, (which, constant), address)?;
        arrays.push(array);
    }
    let addresses = [arrays[0].address(), arrays[1].address(), arrays[2].address()];
    let timed = |passes: u32| -> Result<f64> {
        let start = Instant::now();
        for _ in 0..passes {
            kernels.stream(&stream, request.pattern, elements, addresses)?;
        }
        stream.synchronize().map_err(failed("cuStreamSynchronize"))?;
        Ok(start.elapsed().as_secs_f64())
    };
    // Warms up, and finds how many passes to queue at a time so that waiting for them is no part of
    // the time: a quarter of a sample.
    timed(1)?;
    let (mut passes, mut spent) = (1, 0.0);
    loop {
        let seconds = timed(passes)?;
        spent += seconds;
        if seconds >= request.seconds / 4.0 && spent >= request.seconds {
            break;
        }
        if seconds < request.seconds / 4.0 {
            passes = passes.saturating_mul(2);
        }
    }
    let bytes = elements as f64 * f64::from(request.pattern.bytes_per_element());
    let sample = || -> Result<f64> {
        let (mut done, mut seconds) = (0.0, 0.0);
        while done == 0.0 || seconds < request.seconds {
            seconds += timed(passes)?;
            done += f64::from(passes);
        }
        Ok(done * bytes / seconds)
    };
    (0..request.samples).map(|_| sample()).collect()
}

/// Seconds that a sample of multiply-adds lasts at least: long enough for clocks to settle.
const SECONDS: f64 = 0.1;

/// Most turns of a launch of multiply-adds.
const TURNS: i32 = 1 << 30;

/// [`temblor_backend::Backend::peak_flops`] of a device.
pub(crate) fn peak_flops(device: &Device, samples: u32) -> Result<Vec<f64>> {
    let kernels = kernels(device)?;
    let stream = device.context.new_stream().map_err(failed("cuStreamCreate"))?;
    // Eight blocks fill a multiprocessor; eight times as many, so that none idles for long.
    let blocks = 64 * sys::units(&device.context)?.max(1);
    let sums = Buffer::zeros(&stream, 256 * blocks)?;
    stream.synchronize().map_err(failed("cuStreamSynchronize"))?;
    let timed = |turns: i32| -> Result<(f64, f64)> {
        let start = Instant::now();
        let flops = kernels.multiply_adds(&stream, blocks, turns, sums.address())?;
        stream.synchronize().map_err(failed("cuStreamSynchronize"))?;
        Ok((start.elapsed().as_secs_f64(), flops))
    };
    let mut turns = 1 << 12;
    while timed(turns)?.0 < SECONDS && turns < TURNS {
        turns *= 2;
    }
    let rate = |(seconds, flops): (f64, f64)| flops / seconds;
    (0..samples).map(|_| timed(turns).map(rate)).collect()
}

/// Single-precision multiply-adds of a multiprocessor per cycle (CUDA programming guide, throughput
/// of arithmetic instructions), by compute capability.
fn lanes(capability: i32) -> Option<u32> {
    match capability {
        70 | 72 | 75 | 80 => Some(64),
        86 | 87 | 88 | 89 | 90 | 100 | 103 | 110 | 120 | 121 => Some(128),
        _ => None,
    }
}

/// What the clocks and widths that the driver gives amount to; two transfers per memory clock.
pub(crate) fn nominal(clocks: Clocks, units: usize, capability: i32) -> Nominal {
    let Clocks { core, memory, bus_bits } = clocks;
    let bandwidth = 2.0 * memory * f64::from(bus_bits) / 8.0;
    let flops = lanes(capability).map(|lanes| 2.0 * f64::from(lanes) * units as f64 * core);
    let told = |value: f64| (value > 0.0).then_some(value);
    Nominal { bandwidth: told(bandwidth), flops: flops.and_then(told) }
}

#[cfg(test)]
mod tests {
    use temblor_backend::StreamPattern;

    use super::*;

    #[test]
    fn an_h200s_figures_are_those_of_its_data_sheet() {
        // 4.8 TB/s and 67 Tflop/s; the driver gives 1.98 GHz, 3.201 GHz and 6144 bits.
        let clocks = Clocks { core: 1.98e9, memory: 3.201e9, bus_bits: 6144 };
        let figures = nominal(clocks, 132, 90);
        assert!((figures.bandwidth.unwrap() / 4.8e12 - 1.0).abs() < 0.03, "{figures:?}");
        assert!((figures.flops.unwrap() / 67e12 - 1.0).abs() < 0.01, "{figures:?}");
    }

    #[test]
    fn what_the_driver_does_not_tell_is_no_figure() {
        let clocks = Clocks { core: 0.0, memory: 0.0, bus_bits: 0 };
        assert_eq!(nominal(clocks, 132, 90), Nominal::default());
        let clocks = Clocks { core: 1e9, memory: 1e9, bus_bits: 256 };
        assert_eq!(nominal(clocks, 100, 999).flops, None);
    }

    #[test]
    fn arrays_that_do_not_fit_are_refused_with_both_numbers() {
        let (pattern, fill) = (StreamPattern::Copy, 1.0);
        let request = StreamRequest { pattern, elements: 99, fill, samples: 1, seconds: 0.1 };
        assert_eq!(elements(&request, 1200).unwrap(), 100);
        let error = elements(&request, 1199).unwrap_err();
        let expected = matches!(error, Error::OutOfMemory { needed: 1200, available: 1199 });
        assert!(expected, "{error}");
        let endless = StreamRequest { elements: u64::MAX, ..request };
        assert!(matches!(elements(&endless, 1 << 40), Err(Error::OutOfMemory { .. })));
        let told = |request| elements(&request, 1 << 40).unwrap_err().to_string();
        assert!(told(StreamRequest { elements: 0, ..request }).contains("0 elements"));
        assert!(told(StreamRequest { fill: -0.5, ..request }).contains("-0.5"));
        assert!(told(StreamRequest { seconds: f64::NAN, ..request }).contains("NaN"));
    }
}
