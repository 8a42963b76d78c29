//! Any bytes as a VTI file: refused, or read whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use temblor_fuzz::{readers, with_file};
use temblor_io::Format;

fuzz_target!(|data: &[u8]| {
    with_file(data, "vti", |path| {
        readers::volume(path, Some(Format::Vti));
    });
});
