//! Any text as a list of points: refused with a line, or finite positions.
#![no_main]

use libfuzzer_sys::fuzz_target;
use temblor_fuzz::with_file;
use temblor_io::csv_points;

/// A point of four characters takes 24 bytes, twice while its list grows: within the bound for all
/// targets as long as the text is short.
const LONGEST: usize = 16 << 10;

fuzz_target!(|data: &[u8]| {
    with_file(&data[..data.len().min(LONGEST)], "csv", |path| {
        let Ok(points) = csv_points::read(path) else { return };
        assert!(!points.is_empty() && points.iter().flatten().all(|v| v.is_finite()));
    });
});
