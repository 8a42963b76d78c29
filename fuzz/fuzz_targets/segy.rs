//! Any bytes as a SEG-Y file: refused, or read whole in every way with the same result.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use temblor_fuzz::with_file;
use temblor_io::segy::{SampleFormat, SegyOptions, SegyReader};

fuzz_target!(|data: &[u8]| {
    with_file(data, "sgy", |path| {
        read(path, &SegyOptions::default());
        read(path, &SegyOptions { allow_truncated: true, ..SegyOptions::default() });
        let format = Some(SampleFormat::I8);
        read(path, &SegyOptions { format, unmapped: true, ..SegyOptions::default() });
    });
});

fn read(path: &Path, options: &SegyOptions) {
    let reader = match SegyReader::open(path, options) {
        Ok(reader) => reader,
        Err(error) => return drop(error.to_string()),
    };
    assert!(reader.samples() > 0 && reader.traces() > 0);
    reader.warnings().iter().for_each(|warning| drop(warning.to_string()));
    for number in 0..reader.extended_text_headers() {
        reader.extended_text(number).expect("it was there when the file was opened");
    }
    let mut traces = reader.sequence();
    let (mut singles, mut doubles) = (Vec::new(), Vec::new());
    let mut count = 0;
    while let Some(trace) = traces.next_trace().expect("nobody changes the file") {
        assert_eq!(trace.number(), count);
        trace.samples_into(&mut singles);
        trace.samples_f64_into(&mut doubles);
        assert!(singles.len() == trace.samples() && singles.len() <= reader.samples());
        // Random access where it is cheap: it walks from a mark in files of unequal traces.
        if count < 4 || count + 1 == reader.traces() {
            let header = reader.header(count).expect("the trace is there");
            assert_eq!(header, trace.header());
            let same = reader.samples_of(count).expect("the trace is there");
            assert!(same.iter().zip(&singles).all(|(a, b)| a.to_bits() == b.to_bits()));
            // Geographic coordinates are refused.
            let _ = reader.trace_header(count);
        }
        count += 1;
    }
    assert_eq!(count, reader.traces());
    let all = reader.find(|_, raw| raw.in_order(reader.order()) == *raw).expect("a scan");
    assert_eq!(all.len() as u64, reader.traces());
}
