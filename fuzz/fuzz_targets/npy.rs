//! Any bytes as an npy file: refused, or read whole as traces and as a volume.
#![no_main]

use libfuzzer_sys::fuzz_target;
use temblor_fuzz::{readers, with_file};
use temblor_io::Format;

fuzz_target!(|data: &[u8]| {
    with_file(data, "npy", |path| {
        let format = Some(Format::Npy);
        readers::traces(path, format);
        readers::volume(path, format);
    });
});
