//! Any bytes as an SU file: refused, or read whole as traces and as a section.
#![no_main]

use libfuzzer_sys::fuzz_target;
use temblor_fuzz::{readers, with_file};
use temblor_io::Format;

fuzz_target!(|data: &[u8]| {
    with_file(data, "su", |path| {
        let format = Some(Format::Su);
        readers::traces(path, format);
        readers::volume(path, format);
    });
});
