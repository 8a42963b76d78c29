//! SEG-Y written here is read back as it went in, and is refused where revision 1 cannot hold it.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rstest::rstest;
use std::path::Path;
use temblor_io::Error;
use temblor_io::segy::{
    SampleFormat, SegyHeader, SegyOptions, SegyReader, SegyWriter, TraceHeader, coordinate_scalar,
};

fn traces(count: usize, samples: usize) -> Vec<(TraceHeader, Vec<f32>)> {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    (0..count)
        .map(|n| {
            let number = i32::try_from(n).unwrap();
            let header = TraceHeader {
                field_record: 1 + number / 3,
                trace_in_record: 1 + number % 3,
                trace_in_line: 1 + number,
                source_point: 100 + number / 3,
                source: [5000.125, -3.5, 12.5],
                receiver: [4000.0 + 12.345 * f64::from(number), 250.0, 7.001],
                offset: Some(f64::from(12 * number - 1000)),
                ..TraceHeader::default()
            };
            (header, (0..samples).map(|_| f32::from_bits(random.random())).collect())
        })
        .collect()
}

fn write(path: &Path, header: &SegyHeader, traces: &[(TraceHeader, Vec<f32>)]) {
    let mut writer = SegyWriter::create(path, header).unwrap();
    for (header, samples) in traces {
        writer.write_trace(header, samples).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn round_trip_keeps_every_bit_and_field() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sgy");
    let mut header = SegyHeader::new(0.002, 33);
    header.text = vec!["temblor".into()];
    header.traces_per_record = 3;
    let traces = traces(7, 33);
    write(&path, &header, &traces);
    let reader = SegyReader::open(&path, &SegyOptions::default()).unwrap();
    assert_eq!((reader.samples(), reader.traces()), (33, 7));
    assert_eq!(reader.sample_interval().to_bits(), 0.002_f64.to_bits());
    assert_eq!((reader.format(), reader.revision()), (SampleFormat::Ieee, (1, 0)));
    assert_eq!(reader.text()[0], "C 1 temblor");
    assert_eq!(reader.binary_u16(3213), 3);
    for (n, (header, samples)) in (0..).zip(&traces) {
        assert_eq!(reader.header(n).unwrap().decode(), *header, "trace {n}");
        let read = reader.samples_of(n).unwrap();
        let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&read), bits(samples), "trace {n}");
    }
    assert_eq!(reader.find(|_, raw| raw.i32(9) == 2).unwrap(), [3, 4, 5]);
    assert!(matches!(reader.header(7), Err(Error::Trace { trace: 8, .. })));
}

#[test]
fn header_words_stand_where_revision_1_puts_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sgy");
    write(&path, &SegyHeader::new(0.004, 5), &traces(2, 5));
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes.len(), 3600 + 2 * (240 + 4 * 5));
    let i16_at = |base: usize, byte: usize| {
        i16::from_be_bytes(bytes[base + byte - 1..base + byte + 1].try_into().unwrap())
    };
    let i32_at = |base: usize, byte: usize| {
        i32::from_be_bytes(bytes[base + byte - 1..base + byte + 3].try_into().unwrap())
    };
    // File: interval, samples, format, metres, revision, fixed length.
    let file = [3217, 3221, 3225, 3255, 3501, 3503].map(|byte| i16_at(0, byte));
    assert_eq!(file, [4000, 5, 5, 1, 256, 1]);
    let second = 3600 + 260;
    // Sequence twice, field record, trace in it, offset; elevation, source depth.
    let words = [1, 5, 9, 13, 37, 41, 49].map(|byte| i32_at(second, byte));
    assert_eq!(words, [2, 2, 1, 2, -988, -7001, 12500]);
    // Millimetres: source x, y, receiver x, y.
    assert_eq!([69, 71].map(|byte| i16_at(second, byte)), [-1000, -1000]);
    let places = [73, 77, 81, 85].map(|byte| i32_at(second, byte));
    assert_eq!(places, [5_000_125, -3500, 4_012_345, 250_000]);
    assert_eq!([29, 89, 115, 117].map(|byte| i16_at(second, byte)), [1, 1, 5, 4000]);
}

#[test]
fn resumed_file_equals_one_written_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, part) = (folder.path().join("a.sgy"), folder.path().join("b.part"));
    let header = SegyHeader::new(0.001, 9);
    let traces = traces(6, 9);
    write(&whole, &header, &traces);
    write(&part, &header, &traces[..5]);
    // Killed in the middle of the fifth trace; four are known to be whole.
    let torn = std::fs::read(&part).unwrap();
    std::fs::write(&part, &torn[..torn.len() - 50]).unwrap();
    let mut writer = SegyWriter::resume(&part, &header, 4).unwrap();
    assert_eq!(writer.traces(), 4);
    for (header, samples) in &traces[4..] {
        writer.write_trace(header, samples).unwrap();
    }
    writer.finish().unwrap();
    assert_eq!(std::fs::read(&part).unwrap(), std::fs::read(&whole).unwrap());
}

#[test]
fn resume_refuses_another_runs_file_and_missing_traces() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.part");
    write(&path, &SegyHeader::new(0.001, 9), &traces(2, 9));
    let error = SegyWriter::resume(&path, &SegyHeader::new(0.002, 9), 1).unwrap_err();
    assert!(error.to_string().contains("another run"), "{error}");
    let error = SegyWriter::resume(&path, &SegyHeader::new(0.001, 9), 3).unwrap_err();
    assert!(error.to_string().contains("whole traces is 2"), "{error}");
}

#[rstest]
#[case(0.0, 10, 1, "interval")]
#[case(-0.004, 10, 1, "interval")]
#[case(f64::NAN, 10, 1, "interval")]
#[case(0.004, 1 << 31, 1, "2147483647")]
#[case(0.004, 0, 1, "at least one sample")]
#[case(0.004, 10, 1 << 31, "2147483647")]
fn what_no_revision_can_hold_is_refused_before_a_file_is_made(
    #[case] interval: f64,
    #[case] samples: usize,
    #[case] traces_per_record: usize,
    #[case] says: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sgy");
    let mut header = SegyHeader::new(interval, samples);
    header.traces_per_record = traces_per_record;
    let error = SegyWriter::create(&path, &header).unwrap_err().to_string();
    assert!(error.contains(says), "{error}");
    assert!(!path.exists());
}

#[test]
fn sixty_thousand_samples_survive() {
    // Beyond 32,767 the count is negative to readers that take it as signed.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sgy");
    write(&path, &SegyHeader::new(0.001, 60_000), &traces(2, 60_000));
    let reader = SegyReader::open(&path, &SegyOptions::default()).unwrap();
    assert_eq!((reader.samples(), reader.traces()), (60_000, 2));
}

#[rstest]
#[case(&[0.0, 20_000.0], Some(-1000))]
// 0.25 mm is not whole in tenths of millimetres either.
#[case(&[0.00025, 0.012], Some(-1000))]
#[case(&[0.0001, 0.0125], Some(-10000))]
#[case(&[512_345.678, 6_812_345.67], Some(-100))]
#[case(&[1e8], Some(-10))]
#[case(&[2e9], Some(1))]
#[case(&[3e9], None)]
fn scalar_is_the_finest_that_is_needed_and_fits(
    #[case] coordinates: &[f64],
    #[case] scalar: Option<i16>,
) {
    assert_eq!(coordinate_scalar(coordinates), scalar);
}

#[rstest]
#[case(0.0, 0.0)]
#[case(-0.1, -0.1)]
#[case(0.0125, 0.0125)]
fn delay_survives(#[case] delay: f64, #[case] read: f64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sgy");
    let trace = TraceHeader { delay, ..TraceHeader::default() };
    write(&path, &SegyHeader::new(0.004, 2), &[(trace, vec![0.0, 1.0])]);
    let reader = SegyReader::open(&path, &SegyOptions::default()).unwrap();
    assert_eq!(reader.header(0).unwrap().decode().delay.to_bits(), read.to_bits());
}

#[test]
fn offset_carries_the_side_of_the_source() {
    let at = |receiver| TraceHeader { receiver, ..TraceHeader::default() }.offset_or_distance();
    let offsets = [[30.0, 40.0, 9.0], [-30.0, 40.0, 0.0], [0.0, -7.0, 0.0]].map(at);
    assert_eq!(offsets.map(f64::to_bits), [50.0, -50.0, -7.0].map(f64::to_bits));
}

#[test]
fn little_endian_and_ibm_files_are_recognised() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sgy");
    let mut bytes = vec![0x40_u8; 3200];
    let mut binary = vec![0_u8; 400];
    binary[16..18].copy_from_slice(&2000_u16.to_le_bytes());
    binary[20..22].copy_from_slice(&2_u16.to_le_bytes());
    binary[24..26].copy_from_slice(&1_u16.to_le_bytes());
    bytes.extend(binary);
    let mut trace = vec![0_u8; 240];
    trace[8..12].copy_from_slice(&42_i32.to_le_bytes());
    bytes.extend(trace);
    bytes.extend(0x4110_0000_u32.to_le_bytes());
    bytes.extend(0xc276_a000_u32.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    let reader = SegyReader::open(&path, &SegyOptions::default()).unwrap();
    assert_eq!(reader.format(), SampleFormat::Ibm);
    assert_eq!(reader.samples_of(0).unwrap(), [1.0, -118.625]);
    assert_eq!(reader.header(0).unwrap().decode().field_record, 42);
}

#[test]
fn truncated_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sgy");
    write(&path, &SegyHeader::new(0.004, 10), &traces(3, 10));
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 7]).unwrap();
    let error = SegyReader::open(&path, &SegyOptions::default()).unwrap_err().to_string();
    assert!(error.contains("833 bytes") && error.contains("cut short"), "{error}");
}
