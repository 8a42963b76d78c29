//! Reads a SEG-Y file and writes its samples as an npy array of shape (trace, sample):
//! `cargo run -p temblor-io --example segy_to_npy -- shot.sgy shot.npy`.

use temblor_io::segy::{SegyOptions, SegyReader};
use temblor_io::{Result, npy};

fn main() -> Result<()> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let [input, output] = paths.as_slice() else {
        eprintln!("usage: segy_to_npy INPUT.sgy OUTPUT.npy");
        std::process::exit(2);
    };
    let reader = SegyReader::open(input, &SegyOptions::default())?;
    let traces = usize::try_from(reader.traces()).unwrap_or(usize::MAX);
    let mut writer = npy::writer::<f32>(output, &[traces, reader.samples()])?;
    for trace in 0..reader.traces() {
        writer.write(&reader.samples_of(trace)?)?;
    }
    writer.finish()
}
