//! SEG-Y written here is read back as it went in, and is refused where revision 1 cannot hold it.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rstest::rstest;
use std::path::Path;
use temblor_io::Error;
use temblor_io::segy::{
    SampleFormat, SegyHeader, SegyOptions, SegyReader, SegyWriter, TraceHeader, WordOrder,
    coordinate_scalar,
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

/// A header of 10 samples every 4 ms, changed.
fn changed(change: impl Fn(&mut SegyHeader)) -> SegyHeader {
    let mut header = SegyHeader::new(0.004, 10);
    change(&mut header);
    header
}

#[rstest]
#[case::plain(changed(|_| ()), [1, 0])]
#[case::count(changed(|h| h.samples = 32_767), [1, 0])]
#[case::signed_count(changed(|h| h.samples = 32_768), [2, 1])]
#[case::unsigned_count(changed(|h| h.samples = 70_000), [2, 1])]
#[case::record(changed(|h| h.traces_per_record = 40_000), [2, 1])]
#[case::fine(changed(|h| h.sample_interval = 0.000_333_4), [2, 1])]
#[case::ultrasound(changed(|h| h.sample_interval = 2.5e-9), [2, 1])]
#[case::coarse(changed(|h| h.sample_interval = 0.1), [2, 1])]
#[case::doubles(changed(|h| h.trace_extensions = 1), [2, 1])]
#[case::format(changed(|h| h.format = SampleFormat::F64), [2, 1])]
#[case::order(changed(|h| h.order = WordOrder::Little), [2, 1])]
#[case::asked(changed(|h| h.revision = Some(2)), [2, 1])]
#[case::old(changed(|h| (h.revision, h.format) = (Some(0), SampleFormat::Ibm)), [0, 0])]
fn revision_is_the_first_that_holds_everything(
    #[case] header: SegyHeader,
    #[case] revision: [u8; 2],
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sgy");
    write(&path, &header, &traces(2, header.samples));
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes[3500..3502], revision);
    let reader = SegyReader::open(&path, &SegyOptions::default()).unwrap();
    assert_eq!((reader.samples(), reader.traces()), (header.samples, 2));
    assert_eq!(reader.sample_interval().to_bits(), header.sample_interval.to_bits());
    assert_eq!(reader.warnings(), []);
}

#[rstest]
#[case(1, 40_000, SampleFormat::Ieee, "more than 32,767 samples per trace needs revision 2")]
#[case(0, 10, SampleFormat::Ieee, "the sample format needs revision 1")]
#[case(3, 10, SampleFormat::Ieee, "there are 0, 1 and 2")]
fn a_revision_that_holds_less_than_is_needed_is_refused(
    #[case] revision: u8,
    #[case] samples: usize,
    #[case] format: SampleFormat,
    #[case] says: &str,
) {
    let mut header = SegyHeader::new(0.004, samples);
    (header.revision, header.format) = (Some(revision), format);
    let error = header.check(Path::new("a.sgy")).unwrap_err().to_string();
    assert!(error.contains(says), "{error}");
}

#[test]
fn words_of_revision_2_stand_where_the_standard_puts_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sgy");
    let mut header = SegyHeader::new(0.000_000_25, 70_000);
    (header.traces_per_record, header.trace_extensions) = (40_000, 1);
    header.extended_text = vec![vec!["((SEG: Any ver 1.0))".into()]];
    write(&path, &header, &traces(1, 70_000));
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes.len(), 3600 + 3200 + 480 + 4 * 70_000);
    let int = |byte: usize, length: usize| {
        bytes[byte - 1..][..length].iter().fold(0_u64, |n, &b| n << 8 | u64::from(b))
    };
    // 16-bit counts that do not fit are zero, extended ones hold them.
    let counts = [(3213, 2), (3217, 2), (3221, 2), (3261, 4), (3269, 4)];
    assert_eq!(counts.map(|(byte, length)| int(byte, length)), [40_000, 0, 0, 40_000, 70_000]);
    assert_eq!(f64::from_bits(int(3273, 8)).to_bits(), 0.25_f64.to_bits());
    assert_eq!(int(3297, 4), 16_909_060);
    // Revision 2.1, equal traces, one text, one extension, no survey type; the first trace.
    let file = [(3501, 2), (3503, 2), (3505, 2), (3507, 2), (3509, 2), (3513, 8), (3521, 8)];
    assert_eq!(file.map(|(byte, length)| int(byte, length)), [0x0201, 1, 1, 1, 0, 0, 6800]);
    // Extension 1: coordinates and offset as doubles, count, interval, its own number, its name.
    let extension = 6800 + 240;
    let double = |byte: usize| f64::from_bits(int(extension + byte, 8));
    let wanted = [5000.125, -3.5, 4000.0, 250.0, -1000.0, 0.25];
    for (byte, wanted) in [97, 105, 113, 121, 129, 145].into_iter().zip(wanted) {
        assert_eq!(double(byte).to_bits(), f64::to_bits(wanted), "byte {byte}");
    }
    assert_eq!([double(33), double(57)].map(f64::to_bits), [-7.001, 12.5].map(f64::to_bits));
    assert_eq!((int(extension + 137, 4), int(extension + 157, 2)), (70_000, 1));
    // SEG00001 in EBCDIC, as the text header is.
    let name = [0xe2, 0xc5, 0xc7, 0xf0, 0xf0, 0xf0, 0xf0, 0xf1];
    assert_eq!(bytes[extension + 232..extension + 240], name);
}

#[test]
fn the_same_traces_make_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["a.sgy", "b.sgy"].map(|name| folder.path().join(name));
    let mut header = SegyHeader::new(0.000_000_25, 33);
    (header.trace_extensions, header.text) = (1, vec!["text".into()]);
    for path in [&first, &second] {
        write(path, &header, &traces(9, 33));
    }
    assert_eq!(std::fs::read(first).unwrap(), std::fs::read(second).unwrap());
}

#[test]
fn integers_are_rounded_to_even_and_saturated_and_both_are_counted() {
    let samples = [0.5, 1.5, 2.5, -0.5, 127.5, 128.0, -129.0, f32::NAN, f32::INFINITY, -7.0];
    let mut bytes = [0xff; 10];
    let losses = SampleFormat::I8.encode(WordOrder::Big, &samples, &mut bytes);
    assert_eq!(bytes.map(u8::cast_signed), [0, 2, 2, 0, 127, 127, -128, 0, 127, -7]);
    assert_eq!((losses.rounded, losses.saturated, losses.not_a_number), (5, 4, 1));
    let mut bytes = [0xff; 6];
    let losses = SampleFormat::U24.encode(WordOrder::Little, &[-1.0, 16_777_216.0], &mut bytes);
    assert_eq!((bytes, losses.saturated), ([0, 0, 0, 255, 255, 255], 2));
}
