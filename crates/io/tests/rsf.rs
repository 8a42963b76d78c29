//! RSF: headers as Madagascar writes them, round trips, and files that are wrong.

use rstest::rstest;
use std::path::Path;
use temblor_io::{ByteOrder, Element, Error, TraceOptions, Traces, Volume, VolumeOptions};

fn open(path: &Path) -> temblor_io::Result<Volume> {
    Volume::open(path, &VolumeOptions::default())
}

/// Numbers 0, 1, 2, ... as singles.
fn counting(n: u16, order: ByteOrder) -> Vec<u8> {
    let bytes = |v: f32| if order == ByteOrder::Big { v.to_be_bytes() } else { v.to_le_bytes() };
    (0..n).flat_map(|v| bytes(f32::from(v))).collect()
}

/// A header in the shape that sfmath leaves it, with an earlier program's words before it.
const TWO_D: &str = "4.2\tsfspike\tdata:\tme@host\tMon\n\n\tdata_format=\"native_float\"\n\tesize=4\n\
    \tin=\"old@\"\n\tn1=9\n\to1=0\n\n4.2\tsfmath\n\tn1=3\n\td1=0.01\n\tunit1=\"km\"\n\tn2=4 o2=1 d2=0.5\n\
    \tunit2=km\n\tlabel1=\"Depth (km)\"\n\tin=\"vp.rsf@\"\n";

#[test]
fn later_keys_override_and_data_stand_in_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vp.rsf");
    std::fs::write(&path, TWO_D).unwrap();
    std::fs::write(folder.path().join("vp.rsf@"), counting(12, ByteOrder::Little)).unwrap();
    let volume = open(&path).unwrap();
    assert_eq!(volume.shape(), [4, 1, 3]);
    assert_eq!(volume.spacing(), Some([500.0, 1.0, 10.0]));
    assert_eq!(volume.origin(), Some([1000.0, 0.0, 0.0]));
    assert!(volume.warnings().is_empty(), "{:?}", volume.warnings());
    let values = volume.read().unwrap();
    assert_eq!(values[[2, 0, 1]].to_bits(), 7.0_f32.to_bits());
}

#[test]
fn three_axes_are_depth_inline_crossline_unless_labels_say_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.rsf");
    let head = "n1=2 n2=3 n3=5 d1=1 d2=2 d3=3 data_format=xdr_float in=data\n";
    std::fs::write(folder.path().join("data"), counting(30, ByteOrder::Big)).unwrap();
    std::fs::write(&path, head).unwrap();
    let volume = open(&path).unwrap();
    assert_eq!((volume.shape(), volume.spacing()), ([3, 5, 2], Some([2.0, 3.0, 1.0])));
    // Number z + 2 (x + 3 y).
    let values = volume.read().unwrap();
    assert_eq!(values[[2, 4, 1]].to_bits(), 29.0_f32.to_bits());
    assert_eq!(values[[1, 2, 0]].to_bits(), 14.0_f32.to_bits());
    let region = volume.read_region([1, 2, 0], [2, 2, 2]).unwrap();
    assert_eq!(region[[1, 1, 1]].to_bits(), 23.0_f32.to_bits());
    std::fs::write(&path, head.to_owned() + "label1=x label2=y label3=z").unwrap();
    let volume = open(&path).unwrap();
    assert_eq!((volume.shape(), volume.fortran()), ([2, 3, 5], true));
}

#[rstest]
#[case::native("native_float", ByteOrder::Little)]
#[case::xdr("xdr_float", ByteOrder::Big)]
fn data_in_the_same_file_follow_the_marker(#[case] format: &str, #[case] order: ByteOrder) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.rsf");
    let mut bytes = format!("n1=3\nn2=2\ndata_format={format}\nin=\"stdin\"\n").into_bytes();
    bytes.extend([12, 12, 4]);
    bytes.extend(counting(6, order));
    std::fs::write(&path, &bytes).unwrap();
    let volume = open(&path).unwrap();
    assert_eq!((volume.shape(), volume.order()), ([2, 1, 3], order));
    assert_eq!(volume.read().unwrap().as_slice().unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn ascii_numbers_are_read_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.rsf");
    // More than the stride of the index, over more than one block of text.
    let numbers: String = (0..30_000).map(|n| format!("{n}.5 \n")).collect();
    std::fs::write(folder.path().join("d.txt"), numbers).unwrap();
    std::fs::write(&path, "n1=100 n2=300 data_format=ascii_float esize=0 in=d.txt").unwrap();
    let volume = open(&path).unwrap();
    let part = volume.read_region([250, 0, 7], [2, 1, 2]).unwrap();
    assert_eq!(part.as_slice().unwrap(), [25_007.5, 25_008.5, 25_107.5, 25_108.5]);
    std::fs::write(folder.path().join("d.txt"), "1 2 three 4").unwrap();
    std::fs::write(&path, "n1=4 data_format=ascii_float in=d.txt").unwrap();
    let error = open(&path).unwrap().read().unwrap_err().to_string();
    assert!(error.contains("at byte 4") && error.contains("`three`"), "{error}");
}

#[test]
fn an_absolute_path_that_is_gone_is_looked_for_beside_the_header() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.rsf");
    std::fs::write(folder.path().join("v.rsf@"), counting(4, ByteOrder::Little)).unwrap();
    std::fs::write(&path, "n1=4 data_format=native_float in=/scratch/gone/v.rsf@").unwrap();
    let volume = open(&path).unwrap();
    assert!(volume.warnings()[0].contains("/scratch/gone/v.rsf@"), "{:?}", volume.warnings());
}

#[rstest]
#[case::pipe("n1=4 in=stdin data_format=native_float", "pipe")]
#[case::missing("n1=4 in=nowhere data_format=native_float", "nowhere")]
#[case::itself("n1=4 in=v.rsf data_format=native_float", "the header itself")]
#[case::complex("n1=4 in=data data_format=native_complex", "complex")]
#[case::kind("n1=4 in=data data_format=float", "not a data format")]
#[case::axis("n1=0 in=data data_format=native_float", "n1 is 0")]
#[case::text("n1=4 d1=abc in=data data_format=native_float", "d1 is abc")]
#[case::backwards("n1=4 d1=-5 in=data data_format=native_float", "reverse the axis")]
#[case::huge("n1=9999999999999 n2=9999999999999 in=data data_format=native_float", "Size")]
#[case::short("n1=5 in=data data_format=native_float", "makes 20 bytes, the file has 16")]
#[case::four("n1=1 n2=1 n3=2 n4=2 in=data data_format=native_float", "one to three axes")]
fn wrong_headers_are_refused_with_a_reason(#[case] text: &str, #[case] says: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.rsf");
    std::fs::write(folder.path().join("data"), counting(4, ByteOrder::Little)).unwrap();
    std::fs::write(&path, text).unwrap();
    let error = open(&path).unwrap_err();
    let huge = says == "Size" && matches!(error, Error::Size { .. });
    assert!(huge || error.to_string().contains(says), "{error}");
}

#[rstest]
#[case::esize("n1=4 esize=8 in=data data_format=native_float", ["esize is 8", "took 4"])]
#[case::longer("n1=3 in=data data_format=native_float", ["makes 12 bytes", "has 16"])]
fn contradictions_are_warned_of_with_both_values(#[case] text: &str, #[case] says: [&str; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.rsf");
    std::fs::write(folder.path().join("data"), counting(4, ByteOrder::Little)).unwrap();
    std::fs::write(&path, text).unwrap();
    let warnings = open(&path).unwrap().warnings().join(" ");
    assert!(says.iter().all(|piece| warnings.contains(piece)), "{warnings}");
}

#[test]
fn a_gather_has_time_on_its_first_axis() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.rsf");
    std::fs::write(folder.path().join("data"), counting(24, ByteOrder::Little)).unwrap();
    let head = "n1=4 n2=3 n3=2 d1=4 o1=-100 unit1=ms data_format=native_float in=data";
    std::fs::write(&path, head).unwrap();
    let traces = Traces::open(&path, &TraceOptions::default()).unwrap();
    assert_eq!((traces.traces(), traces.samples()), (6, 4));
    assert_eq!((traces.sample_interval(), traces.start()), (Some(0.004), -0.1));
    assert_eq!(traces.samples_of(5).unwrap(), [20.0, 21.0, 22.0, 23.0]);
    assert_eq!(traces.element(), Some(Element::F32));
    assert!(traces.samples_of(6).is_err());
}
