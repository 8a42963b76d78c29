//! Reads a file of any format as traces or as a volume and writes its numbers as an npy array:
//! `cargo run -p temblor-io --example to_npy -- traces shot.su shot.npy`.

use temblor_io::volume::{VolumeLayout, write};
use temblor_io::{
    Element, Format, NumberWriter, Result, TraceOptions, Traces, Volume, VolumeOptions, npy,
};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["traces", input, output] => traces(input, output),
        ["volume", input, output] => volume(input, output),
        _ => {
            eprintln!("usage: to_npy traces|volume INPUT OUTPUT.npy");
            std::process::exit(2);
        }
    }
}

fn traces(input: &str, output: &str) -> Result<()> {
    let file = Traces::open(input, &TraceOptions::default())?;
    report(file.warnings());
    let shape = [usize::try_from(file.traces()).unwrap_or(usize::MAX), file.samples()];
    let element = file.element().unwrap_or_default();
    let head = npy::header_bytes(element, &shape);
    let count = file.traces() * file.samples() as u64;
    let mut writer = NumberWriter::create(output, &head, count, element, Default::default())?;
    for trace in 0..file.traces() {
        writer.write(&file.samples_as::<f64>(trace)?)?;
    }
    writer.finish(&[])
}

fn volume(input: &str, output: &str) -> Result<()> {
    let file = Volume::open(input, &VolumeOptions::default())?;
    report(file.warnings());
    let layout = VolumeLayout {
        format: Format::Npy,
        shape: file.shape(),
        element: if file.element() == Element::F16 { Element::F32 } else { file.element() },
        order: Default::default(),
        fortran: false,
        spacing: None,
        origin: [0.0; 3],
        name: String::new(),
    };
    write(output, &layout, |start, shape| file.read_region_as::<f64>(start, shape), |_| true)
}

fn report(warnings: &[String]) {
    warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
}
