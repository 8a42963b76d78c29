//! Says what a SEG-Y file is: `cargo run -p temblor-io --example segy_describe -- FILE.sgy...`.

use temblor_io::Result;
use temblor_io::segy::cube::{CubeOptions, SegyCube};
use temblor_io::segy::{BINARY_FIELDS, SegyOptions, SegyReader};

fn main() {
    let mut failed = false;
    for path in std::env::args().skip(1) {
        if let Err(error) = describe(&path) {
            println!("{error}");
            failed = true;
        }
    }
    std::process::exit(failed.into());
}

fn describe(path: &str) -> Result<()> {
    let reader = SegyReader::open(path, &SegyOptions::default())?;
    let (major, minor) = reader.revision();
    println!("{path}: SEG-Y revision {major}.{minor}, {}", reader.order());
    println!(
        "  {} traces of {}{} samples ({}), {} s apart, {} extensions of each header",
        reader.traces(),
        if reader.is_variable() { "up to " } else { "" },
        reader.samples(),
        reader.format().name(),
        reader.sample_interval(),
        reader.trace_extensions(),
    );
    for warning in reader.warnings() {
        println!("  warning: {warning}");
    }
    let lines = reader.text().iter().filter(|line| line.len() > 3).take(4);
    lines.for_each(|line| println!("  {line}"));
    for field in BINARY_FIELDS {
        let value = reader.binary().named(field.name).filter(|value| !value.is_zero());
        if let Some(value) = value {
            println!("  {} {value}: {}", field.name, field.about);
        }
    }
    let first = reader.trace_header(0)?;
    println!("  first trace: source {:?} m, receiver {:?} m", first.source, first.receiver);
    match SegyCube::new(reader, &CubeOptions::default()) {
        Ok(cube) => {
            println!("as a model:");
            cube.to_string()
                .lines()
                .chain(cube.notes().iter().map(String::as_str))
                .for_each(|line| println!("  {line}"));
        }
        Err(error) => println!("no model: {error}"),
    }
    Ok(())
}
