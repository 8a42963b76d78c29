//! Any text as an SPS file: refused with a line, or read with its relations.
#![no_main]

use libfuzzer_sys::fuzz_target;
use temblor_fuzz::with_file;
use temblor_io::sps;

fuzz_target!(|data: &[u8]| {
    with_file(data, "sps", |path| {
        let Ok(file) = sps::read(path) else { return };
        drop(file.relate(&file.sources, &file.receivers, path));
    });
});
