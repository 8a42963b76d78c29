//! Any bytes as a file of whatever format they look like.
#![no_main]

use libfuzzer_sys::fuzz_target;
use temblor_fuzz::{readers, with_file};
use temblor_io::identify;

fuzz_target!(|data: &[u8]| {
    with_file(data, "unknown", |path| {
        drop(identify(path).map(|found| found.format));
        readers::traces(path, None);
        readers::volume(path, None);
    });
});
