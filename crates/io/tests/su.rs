//! SU: round trips, both byte orders, and files that are wrong.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rstest::rstest;
use std::path::{Path, PathBuf};
use temblor_io::segy::{RawTraceHeader, TraceHeader};
use temblor_io::su::{SuHeader, SuOptions, SuReader, SuWriter};
use temblor_io::{ByteOrder, Error, Volume, VolumeOptions};

fn geometry(n: i32) -> TraceHeader {
    TraceHeader {
        field_record: 7,
        trace_in_record: n + 1,
        source: [1000.5, -20.0, 6.0],
        receiver: [900.0 + 12.5 * f64::from(n), 40.0, 0.0],
        delay: -0.1,
        ..TraceHeader::default()
    }
}

fn write(path: &Path, order: ByteOrder, traces: &[Vec<f32>]) {
    let header = SuHeader { order, ..SuHeader::new(0.002, traces[0].len()) };
    let mut writer = SuWriter::create(path, &header).unwrap();
    for (samples, n) in traces.iter().zip(0..) {
        writer.write_trace(&geometry(n), samples).unwrap();
    }
    writer.finish().unwrap();
}

fn su_path(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("a.su")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, rng_seed: RngSeed::Fixed(4), ..Default::default() })]

    #[test]
    fn any_bits_and_header_words_survive_in_either_byte_order(
        words in prop::collection::vec(prop::collection::vec(any::<u32>(), 9), 1..6),
        head in prop::collection::vec(any::<u8>(), 240),
        big in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = su_path(&folder);
        let order = if big { ByteOrder::Big } else { ByteOrder::Little };
        let mut writer = SuWriter::create(&path, &SuHeader { order, ..SuHeader::new(0.004, 9) }).unwrap();
        let header = RawTraceHeader::from_bytes(&head, order).unwrap();
        for trace in &words {
            let samples: Vec<f32> = trace.iter().map(|&w| f32::from_bits(w)).collect();
            writer.write_raw(&header, &samples).unwrap();
        }
        writer.finish().unwrap();
        let reader = SuReader::open(&path, &SuOptions { order: Some(order) }).unwrap();
        prop_assert_eq!(reader.traces(), words.len() as u64);
        for (trace, wanted) in (0..).zip(&words) {
            let (raw, samples) = reader.read(trace).unwrap();
            let bits: Vec<u32> = samples.iter().map(|v| v.to_bits()).collect();
            prop_assert_eq!(&bits, wanted);
            // ns and dt are the writer's; every other byte is as it was given.
            prop_assert_eq!(&raw.bytes[..114], &head[..114]);
            prop_assert_eq!(&raw.bytes[118..], &head[118..]);
            prop_assert_eq!((raw.samples(), raw.interval_us()), (9, 4000));
        }
    }
}

#[rstest]
fn byte_order_is_found_and_geometry_read(
    #[values(ByteOrder::Little, ByteOrder::Big)] order: ByteOrder,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = su_path(&folder);
    write(&path, order, &[vec![0.5; 30], vec![-1.5; 30]]);
    let reader = SuReader::open(&path, &SuOptions::default()).unwrap();
    assert_eq!((reader.order(), reader.samples(), reader.traces()), (order, 30, 2));
    assert_eq!(reader.sample_interval(), Some(0.002));
    let read = reader.header(1).unwrap().decode();
    let wanted = geometry(1);
    assert_eq!((read.source, read.receiver, read.delay), (wanted.source, wanted.receiver, -0.1));
    // d1 in SU's own tail is the interval in seconds.
    let d1 = f32::from_bits(reader.header(0).unwrap().i32(181).cast_unsigned());
    assert_eq!(d1.to_bits(), 0.002_f32.to_bits());
}

#[test]
fn more_than_32767_samples_are_read_as_unsigned() {
    let folder = tempfile::tempdir().unwrap();
    write(&su_path(&folder), ByteOrder::Little, &[vec![1.0; 40_000]]);
    let reader = SuReader::open(su_path(&folder), &SuOptions::default()).unwrap();
    assert_eq!(reader.samples(), 40_000);
}

#[test]
fn truncated_files_say_where_the_cut_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = su_path(&folder);
    write(&path, ByteOrder::Little, &vec![vec![1.0; 30]; 3]);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..900]).unwrap();
    let error = SuReader::open(&path, &SuOptions::default()).unwrap_err().to_string();
    // A trace is 240 + 4 * 30 = 360 bytes.
    assert!(error.contains("at byte 720") && error.contains("2 whole traces"), "{error}");
    assert!(error.contains("180 bytes of the next"), "{error}");
}

#[test]
fn traces_of_different_lengths_are_refused_by_trace_and_byte() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a.su"), folder.path().join("b.su"));
    write(&a, ByteOrder::Big, &vec![vec![1.0; 30]; 2]);
    write(&b, ByteOrder::Big, &[vec![1.0; 31]]);
    let mut bytes = std::fs::read(&a).unwrap();
    bytes.extend(std::fs::read(&b).unwrap());
    std::fs::write(&a, bytes).unwrap();
    let error = SuReader::open(&a, &SuOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Trace { trace: 3, .. }), "{error}");
    let error = error.to_string();
    assert!(error.contains("31 samples at byte 834") && error.contains("30"), "{error}");
}

#[test]
fn a_trace_that_says_another_length_is_found_when_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = su_path(&folder);
    write(&path, ByteOrder::Little, &vec![vec![1.0; 2]; 2000]);
    let mut bytes = std::fs::read(&path).unwrap();
    // Between the traces that are looked at when the file is opened.
    bytes[1002 * 248 + 114] = 5;
    std::fs::write(&path, &bytes).unwrap();
    let reader = SuReader::open(&path, &SuOptions::default()).unwrap();
    let error = reader.read(1002).unwrap_err().to_string();
    assert!(error.contains("trace 1003") && error.contains("5 samples"), "{error}");
    // One that is looked at is named at once.
    bytes[1001 * 248 + 114] = 6;
    std::fs::write(&path, bytes).unwrap();
    let error = SuReader::open(&path, &SuOptions::default()).unwrap_err().to_string();
    assert!(error.contains("trace 1002") && error.contains("6 samples"), "{error}");
}

#[test]
fn dt_and_d1_that_disagree_are_both_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = su_path(&folder);
    let header = SuHeader { along_samples: Some((10.0, 0.0)), ..SuHeader::new(0.004, 5) };
    let mut writer = SuWriter::create(&path, &header).unwrap();
    writer.write_trace(&TraceHeader::default(), &[0.0; 5]).unwrap();
    writer.finish().unwrap();
    let reader = SuReader::open(&path, &SuOptions::default()).unwrap();
    assert_eq!(reader.sample_interval(), Some(0.004));
    let warning = reader.warnings().join(" ");
    assert!(warning.contains("0.004") && warning.contains("d1 is 10"), "{warning}");
}

#[test]
fn a_section_is_a_volume_with_its_spacing() {
    let folder = tempfile::tempdir().unwrap();
    let path = su_path(&folder);
    let header = SuHeader {
        along_samples: Some((5.0, 100.0)),
        along_traces: Some((12.5, -25.0)),
        sample_interval: None,
        ..SuHeader::new(0.001, 4)
    };
    let mut writer = SuWriter::create(&path, &header).unwrap();
    for n in 0..6_u8 {
        let samples: Vec<f32> = (0..4_u8).map(|k| f32::from(10 * n + k)).collect();
        writer.write_trace(&TraceHeader::default(), &samples).unwrap();
    }
    writer.finish().unwrap();
    let volume = Volume::open(&path, &VolumeOptions::default()).unwrap();
    assert_eq!(volume.shape(), [6, 1, 4]);
    assert_eq!(volume.spacing(), Some([12.5, 1.0, 5.0]));
    assert_eq!(volume.origin(), Some([-25.0, 0.0, 100.0]));
    let region = volume.read_region([2, 0, 1], [3, 1, 2]).unwrap();
    assert_eq!(region.iter().copied().collect::<Vec<_>>(), [21.0, 22.0, 31.0, 32.0, 41.0, 42.0]);
    let options = VolumeOptions { shape: Some([3, 2, 4]), ..VolumeOptions::default() };
    assert_eq!(Volume::open(&path, &options).unwrap().shape(), [3, 2, 4]);
}
