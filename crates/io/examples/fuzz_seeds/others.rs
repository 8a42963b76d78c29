//! Small files of all formats but SEG-Y, a folder for each fuzz target.

use std::path::Path;

use ndarray::Array3;
use temblor_io::segy::TraceHeader;
use temblor_io::trace_writer::HeaderOf;
use temblor_io::volume::{VolumeLayout, write as write_volume};
use temblor_io::{ByteOrder, Element, Format, Result, TraceLayout, TraceWriter};

const POINTS: [(&str, &str); 4] = [
    ("plain.csv", "1,2,3\n4,5,6\n"),
    ("named.csv", "# survey\nstation;Depth [m];X;Y\na;3;1;2\nb;6;4;5 # last\n"),
    ("pairs.csv", "10 20\n1e3 -4.5\n"),
    ("feet.csv", "x_ft,y_ft,z_ft\n1,2,3\n"),
];

/// Writes all seeds below `folder`.
pub(crate) fn write(folder: &Path) -> std::result::Result<(), Box<dyn std::error::Error>> {
    for name in ["su", "rsf", "npy", "vti", "csv", "sps", "any"] {
        std::fs::create_dir_all(folder.join(name))?;
    }
    for order in [ByteOrder::Little, ByteOrder::Big] {
        for (format, name) in [(Format::Su, "su"), (Format::Rsf, "rsf"), (Format::Npy, "npy")] {
            gather(&folder.join(name).join(format!("gather-{order:?}")), format, order)?;
        }
        for element in Element::ALL {
            let file = format!("{}-{order:?}", element.name());
            volume(&folder.join("npy").join(&file), Format::Npy, element, order)?;
            if element != Element::F16 {
                volume(&folder.join("rsf").join(&file), Format::Rsf, element, order)?;
            }
        }
    }
    for element in [Element::F32, Element::F64, Element::I16, Element::I32] {
        let file = folder.join("vti").join(element.name());
        volume(&file, Format::Vti, element, ByteOrder::Little)?;
    }
    let text = "4.2 sfspike\n\tn1=2 n2=3 d1=0.01 unit1=km label1=\"Depth z\"\n\
                data_format=\"ascii_float\" esize=0 in=stdin\n\x0c\x0c\x041 2 3 4.5 -6e3 nan";
    std::fs::write(folder.join("rsf/ascii"), text)?;
    for (name, text) in POINTS {
        std::fs::write(folder.join("csv").join(name), text)?;
    }
    for (name, text) in [("sps.21", sps(true)), ("sps.0", sps(false))] {
        std::fs::write(folder.join("sps").join(name), text)?;
    }
    for name in ["su/gather-Big", "rsf/ascii", "rsf/f4-Little", "npy/i2-Big", "vti/f4", "sps/sps.0"]
    {
        std::fs::copy(folder.join(name), folder.join("any").join(name.replace('/', "-")))?;
    }
    Ok(())
}

fn gather(path: &Path, format: Format, order: ByteOrder) -> Result<()> {
    let mut layout = TraceLayout::new(format, 5, Some(0.004), 3);
    layout.order = order;
    let mut writer = TraceWriter::create(path, &layout)?;
    for n in 0..3_u8 {
        let receiver = [10.0 * f64::from(n), 0.0, 5.0];
        let header = TraceHeader { field_record: 1, receiver, ..TraceHeader::default() };
        writer.write(HeaderOf::Decoded(&header), &[f32::from(n), 1.5, -2.0, 0.0, 1e-3])?;
    }
    writer.finish()
}

fn volume(path: &Path, format: Format, element: Element, order: ByteOrder) -> Result<()> {
    let layout = VolumeLayout {
        format,
        shape: [3, 2, 4],
        element,
        order,
        fortran: element == Element::F64,
        spacing: Some([25.0, 12.5, 10.0]),
        origin: [0.0, 5.0, -10.0],
        name: "vp".to_owned(),
    };
    let region =
        |_, shape| Ok(Array3::from_shape_fn(shape, |(i, j, k)| (100 * i + 10 * j + k) as f64));
    write_volume(path, &layout, region, |_| true)
}

/// Two receivers, a source, and their relation, in the columns of revision 2.1 or 0.
fn sps(second: bool) -> String {
    let revision = if second { "SPS 2.1" } else { "SPS001" };
    let mut text = format!("H00 SPS format version num.     {revision}\n");
    text +=
        "H20 Description of grid units    American Feet\nH201Factor to metre             0.3048\n";
    for (kind, n) in [("S", 1), ("R", 1), ("R", 2)] {
        let name = if second {
            format!("{:10.2}{:10.2}  1      {:4.1}            ", 1.0, f64::from(n), 5.0)
        } else {
            format!("{:16}{:8}1  {:4}{:4.1}{:10}", 1, n, 0, 5.0, "")
        };
        text += &format!("{kind}{name}{:9.1}{:10.1}{:6.1}\n", 1e5, 2e6, 120.5);
    }
    text += &if second {
        format!(
            "X      {:8}11{:10.2}{:10.2}1{:5}{:5}1{:10.2}{:10.2}{:10.2}1\n",
            7, 1.0, 1.0, 1, 2, 1.0, 1.0, 2.0
        )
    } else {
        format!("X      {:4}11{:16}{:8}1{:4}{:4}1{:16}{:8}{:8}1\n", 7, 1, 1, 1, 2, 1, 1, 2)
    };
    text
}
