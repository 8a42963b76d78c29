//! Prints all trace header fields of a SEG-Y file as CSV, one trace a line:
//! `cargo run -p temblor-io --example segy_headers -- FILE.sgy`.

use std::io::Write;

use temblor_io::segy::{SegyOptions, SegyReader, TRACE_FIELDS};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: segy_headers FILE.sgy");
        std::process::exit(2);
    };
    let reader = SegyReader::open(path, &SegyOptions::default())?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    writeln!(out, "{}", TRACE_FIELDS.map(|field| field.byte.to_string()).join(","))?;
    let mut traces = reader.sequence();
    while let Some(trace) = traces.next_trace()? {
        let header = trace.header();
        let row = TRACE_FIELDS.map(|field| header.get(&field).to_string());
        writeln!(out, "{}", row.join(","))?;
    }
    Ok(())
}
