//! Writes one file per format, with contents that a formula gives: `.ci/check_files.py` reads them
//! with other people's readers and compares with the same formula.
//! `cargo run -p temblor-io --example write_formats -- FOLDER`.

use std::path::PathBuf;

use ndarray::Array3;
use temblor_io::segy::{SegyHeader, SegyWriter, TraceHeader};
use temblor_io::{ByteOrder, Result, npy, raw, vti};

const SHOTS: u16 = 3;
const RECEIVERS: u16 = 7;
const SAMPLES: u16 = 501;

fn main() -> Result<()> {
    let Some(folder) = std::env::args().nth(1).map(PathBuf::from) else {
        eprintln!("usage: write_formats FOLDER");
        std::process::exit(2);
    };
    write_segy(&folder)?;
    write_volumes(&folder)
}

/// Sample `(shot - receiver / 8 + sample^2 / 1024)`, exact in single precision.
fn write_segy(folder: &std::path::Path) -> Result<()> {
    let mut header = SegyHeader::new(0.002, SAMPLES.into());
    header.text = vec!["written by temblor".into(), "peak frequency 8 Hz".into()];
    header.traces_per_record = RECEIVERS.into();
    let mut writer = SegyWriter::create(folder.join("survey.sgy"), &header)?;
    for shot in 1..=SHOTS {
        for receiver in 1..=RECEIVERS {
            let trace = TraceHeader {
                field_record: shot.into(),
                trace_in_record: receiver.into(),
                source_point: (100 + shot).into(),
                source: [1000.0 + 12.5 * f64::from(shot), -30.25, 7.5],
                receiver: [900.0 + 25.125 * f64::from(receiver), 400.0, 12.0],
                delay: -0.1,
                ..TraceHeader::default()
            };
            let samples: Vec<f32> = (0..SAMPLES)
                .map(|k| {
                    let k = f32::from(k);
                    f32::from(shot) - f32::from(receiver) / 8.0 + k * k / 1024.0
                })
                .collect();
            writer.write_trace(&trace, &samples)?;
        }
    }
    writer.finish()
}

/// Value `100 x + 10 y + z` of node numbers, shape (5, 3, 7).
fn write_volumes(folder: &std::path::Path) -> Result<()> {
    let values = Array3::from_shape_fn((5, 3, 7), |(i, j, k)| (100 * i + 10 * j + k) as f32);
    let header = vti::VtiHeader {
        shape: [5, 3, 7],
        spacing: [25.0, 12.5, 10.0],
        origin: [1000.0, -37.5, 5.0],
        name: "wave_speed".to_owned(),
    };
    vti::write(folder.join("volume.vti"), &header, &values.view())?;
    let mut whole = npy::writer::<f32>(folder.join("volume.npy"), &[5, 3, 7])?;
    whole.write_planes(&values.view())?;
    whole.finish()?;
    let mut big = raw::writer::<f32>(folder.join("volume.bin"), 105, ByteOrder::Big)?;
    big.write_planes(&values.view())?;
    big.finish()
}
