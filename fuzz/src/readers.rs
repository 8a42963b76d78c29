//! Reads a file in every way that its format allows; what is read twice must be the same.

use std::path::Path;

use temblor_io::{Format, TraceOptions, Traces, Volume, VolumeOptions};

/// Reads a volume: statistics, all of it in both precisions, a box within.
///
/// # Panics
/// If a file that was opened cannot be read, or its parts are not those of the whole.
pub fn volume(path: &Path, format: Option<Format>) {
    let volume = match Volume::open(path, &VolumeOptions { format, ..VolumeOptions::default() }) {
        Ok(volume) => volume,
        Err(error) => return drop(error.to_string()),
    };
    let shape @ [nx, ny, nz] = volume.shape();
    // Text may hold words where numbers are due, traces may lie about their length.
    let Ok(whole) = volume.read() else { return };
    assert_eq!(whole.len(), nx * ny * nz);
    let found = volume.statistics().expect("it was read before");
    assert_eq!(found.count, whole.len() as u64);
    let doubles = volume.read_region_as::<f64>([0; 3], shape).expect("it was read before");
    assert!(
        doubles.iter().zip(&whole).all(|(d, s)| (*d as f32).to_bits() == s.to_bits() || d.is_nan())
    );
    let start = [nx / 2, ny / 2, nz / 2];
    let size = [nx - start[0], ny - start[1], nz - start[2]];
    let part = volume.read_region(start, size).expect("it was read before");
    let corner = (start[0], start[1], start[2]);
    assert_eq!(part[(0, 0, 0)].to_bits(), whole[corner].to_bits());
}

/// Reads all traces, with headers where there are any.
///
/// # Panics
/// If a trace is missing or has another length.
pub fn traces(path: &Path, format: Option<Format>) {
    let traces = match Traces::open(path, &TraceOptions { format, ..TraceOptions::default() }) {
        Ok(traces) => traces,
        Err(error) => return drop(error.to_string()),
    };
    for trace in 0..traces.traces() {
        let Ok(samples) = traces.samples_of(trace) else { return };
        assert_eq!(samples.len(), traces.samples());
        let header = traces.header(trace).expect("the samples were read");
        assert_eq!(header.is_some(), traces.has_headers());
        drop(traces.geometry(trace));
    }
    assert!(traces.samples_of(traces.traces()).is_err());
}
