//! Writes one file per format, with contents that a formula gives: `.ci/check_files.py` reads them
//! with other people's readers and compares with the same formula.
//! `cargo run -p temblor-io --example write_formats -- FOLDER`.

use std::path::PathBuf;

use ndarray::{Array3, s};
use temblor_io::segy::{SegyHeader, SegyWriter, TraceHeader};
use temblor_io::trace_writer::HeaderOf;
use temblor_io::volume::{VolumeLayout, write};
use temblor_io::{ByteOrder, Element, Format, Result, TraceLayout, TraceWriter, npy, raw, vti};

const SHOTS: u16 = 3;
const RECEIVERS: u16 = 7;
const SAMPLES: u16 = 501;

fn main() -> Result<()> {
    let Some(folder) = std::env::args().nth(1).map(PathBuf::from) else {
        eprintln!("usage: write_formats FOLDER");
        std::process::exit(2);
    };
    write_segy(&folder)?;
    write_gathers(&folder)?;
    write_volumes(&folder)?;
    write_layouts(&folder)
}

/// Sample `(shot - receiver / 8 + sample^2 / 1024)`, exact in single precision.
fn write_segy(folder: &std::path::Path) -> Result<()> {
    let mut header = SegyHeader::new(0.002, SAMPLES.into());
    header.text = vec!["written by temblor".into(), "peak frequency 8 Hz".into()];
    header.traces_per_record = RECEIVERS.into();
    let mut writer = SegyWriter::create(folder.join("survey.sgy"), &header)?;
    for (trace, samples) in survey() {
        writer.write_trace(&trace, &samples)?;
    }
    writer.finish()
}

/// The traces of the survey with their geometry.
fn survey() -> impl Iterator<Item = (TraceHeader, Vec<f32>)> {
    let pairs = (1..=SHOTS).flat_map(|shot| (1..=RECEIVERS).map(move |receiver| (shot, receiver)));
    pairs.map(|(shot, receiver)| {
        let trace = TraceHeader {
            field_record: shot.into(),
            trace_in_record: receiver.into(),
            source_point: (100 + shot).into(),
            source: [1000.0 + 12.5 * f64::from(shot), -30.25, 7.5],
            receiver: [900.0 + 25.125 * f64::from(receiver), 400.0, 12.0],
            delay: -0.1,
            ..TraceHeader::default()
        };
        let sample = |k: u16| {
            let k = f32::from(k);
            f32::from(shot) - f32::from(receiver) / 8.0 + k * k / 1024.0
        };
        (trace, (0..SAMPLES).map(sample).collect())
    })
}

/// The same traces as SU in both byte orders, RSF and npy.
fn write_gathers(folder: &std::path::Path) -> Result<()> {
    let files = [
        ("survey.su", Format::Su, ByteOrder::Little),
        ("survey-big.su", Format::Su, ByteOrder::Big),
        ("survey.rsf", Format::Rsf, ByteOrder::Little),
        ("survey-xdr.rsf", Format::Rsf, ByteOrder::Big),
        ("survey.npy", Format::Npy, ByteOrder::Little),
    ];
    for (name, format, order) in files {
        let traces = u64::from(SHOTS) * u64::from(RECEIVERS);
        let mut layout = TraceLayout::new(format, SAMPLES.into(), Some(0.002), traces);
        (layout.order, layout.start) = (order, -0.1);
        layout.traces_per_shot = RECEIVERS.into();
        let mut writer = TraceWriter::create(folder.join(name), &layout)?;
        for (trace, samples) in survey() {
            writer.write(HeaderOf::Decoded(&trace), &samples)?;
        }
        writer.finish()?;
    }
    Ok(())
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

/// The same volume as every format, element type, byte order and axis order that is written.
fn write_layouts(folder: &std::path::Path) -> Result<()> {
    let values = Array3::from_shape_fn((5, 3, 7), |(i, j, k)| (100 * i + 10 * j + k) as f64);
    let both = [ByteOrder::Little, ByteOrder::Big];
    for element in Element::ALL {
        for order in both {
            for fortran in [false, true] {
                let name = format!("v-{}-{order:?}-{fortran}.npy", element.name());
                layout(folder, &name, Format::Npy, element, order, fortran, &values)?;
            }
            if element != Element::F16 {
                let name = format!("v-{}-{order:?}.rsf", element.name());
                layout(folder, &name, Format::Rsf, element, order, false, &values)?;
            }
        }
        if element != Element::F16 {
            let name = format!("v-{}.vti", element.name());
            layout(folder, &name, Format::Vti, element, ByteOrder::Little, false, &values)?;
        }
    }
    Ok(())
}

fn layout(
    folder: &std::path::Path,
    name: &str,
    format: Format,
    element: Element,
    order: ByteOrder,
    fortran: bool,
    values: &Array3<f64>,
) -> Result<()> {
    let layout = VolumeLayout {
        format,
        shape: [5, 3, 7],
        element,
        order,
        fortran,
        spacing: Some([25.0, 12.5, 10.0]),
        origin: [1000.0, -37.5, 5.0],
        name: "wave_speed".to_owned(),
    };
    let region = |a: [usize; 3], n: [usize; 3]| {
        Ok(values.slice(s![a[0]..a[0] + n[0], a[1]..a[1] + n[1], a[2]..a[2] + n[2]]).to_owned())
    };
    write(folder.join(name.to_lowercase()), &layout, region, |_| true)
}
