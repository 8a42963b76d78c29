//! Every dialect is recognised and read with the same headers and samples; what contradicts is said,
//! and what fits nothing is refused with what was tried.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../examples/fuzz_seeds/segy.rs"]
#[expect(clippy::cast_precision_loss, reason = "whole numbers below 120")]
mod seeds;

use rstest::rstest;
use std::path::Path;
use temblor_io::Error;
use temblor_io::segy::{
    SampleFormat, SegyHeader, SegyOptions, SegyReader, SegyWriter, TraceHeader, Warning, WordOrder,
};

fn open(path: &Path) -> SegyReader {
    SegyReader::open(path, &SegyOptions::default()).unwrap()
}

#[test]
fn every_dialect_is_read_with_the_same_headers_and_samples() {
    let folder = tempfile::tempdir().unwrap();
    let seeds = seeds::write(folder.path()).unwrap();
    assert_eq!(seeds.len(), 50);
    for seed in seeds {
        let name = seed.path.display();
        let reader = open(&seed.path);
        assert_eq!((reader.order(), reader.format()), (seed.order, seed.format), "{name}");
        assert_eq!(reader.revision().0, seed.revision, "{name}");
        let extensions = (reader.extended_text_headers(), reader.trace_extensions());
        assert_eq!(extensions, seed.extensions, "{name}");
        assert_eq!(reader.traces(), u64::from(seeds::TRACES.unsigned_abs()), "{name}");
        assert_eq!(reader.is_variable(), seed.variable, "{name}");
        assert!(reader.text()[0].starts_with("C 1"), "{name}: {:?}", reader.text()[0]);
        for unmapped in [false, true] {
            let options = SegyOptions { unmapped, ..SegyOptions::default() };
            let reader = SegyReader::open(&seed.path, &options).unwrap();
            let (mut traces, mut n) = (reader.sequence(), 0);
            while let Some(trace) = traces.next_trace().unwrap() {
                let mut samples = Vec::new();
                trace.samples_into(&mut samples);
                assert_eq!(samples, seeds::samples(n, seed.variable), "{name}, trace {n}");
                let wanted = TraceHeader {
                    trace_in_line: n + 1,
                    offset: Some((12.5 * f64::from(n)).round()),
                    ..seeds::header(n)
                };
                let exact = TraceHeader { offset: Some(12.5 * f64::from(n)), ..wanted };
                let wanted = if seed.extensions.1 > 0 { exact } else { wanted };
                assert_eq!(trace.geometry().unwrap(), wanted, "{name}, trace {n}");
                n += 1;
            }
            assert_eq!(n, seeds::TRACES, "{name}");
        }
    }
}

#[test]
fn reading_backwards_gives_what_reading_in_sequence_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sgy");
    let mut header = SegyHeader::new(0.001, 50);
    header.variable = true;
    // More than two marks of the index of unequal traces.
    let mut writer = SegyWriter::create(&path, &header).unwrap();
    let samples = |n: u16| vec![f32::from(n); 1 + usize::from(n) % 50];
    for n in 0..700 {
        writer.write_trace(&TraceHeader::default(), &samples(n)).unwrap();
    }
    writer.finish().unwrap();
    let reader = open(&path);
    assert!(reader.is_variable());
    for n in (0..700).rev() {
        assert_eq!(reader.samples_of(n.into()).unwrap(), samples(n), "{n}");
    }
    let mut rest = reader.sequence_from(698);
    assert_eq!(rest.next_trace().unwrap().unwrap().number(), 698);
    assert_eq!(rest.next_trace().unwrap().unwrap().number(), 699);
    assert!(rest.next_trace().unwrap().is_none());
}

/// A file of revision 1, 4 traces of 6 IEEE samples, with bytes changed.
fn changed(folder: &Path, change: impl Fn(&mut Vec<u8>)) -> std::path::PathBuf {
    let path = folder.join("changed.sgy");
    let mut writer = SegyWriter::create(&path, &SegyHeader::new(0.004, 6)).unwrap();
    for n in 0..4 {
        writer.write_trace(&seeds::header(n), &seeds::samples(n, false)).unwrap();
    }
    writer.finish().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    change(&mut bytes);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Bytes of a trace and where trace `n`, from 0, begins.
const TRACE: usize = 240 + 24;
const fn start(n: usize) -> usize {
    3600 + n * TRACE
}

#[test]
fn contradicting_counts_are_decided_by_the_size_and_said_with_both() {
    let folder = tempfile::tempdir().unwrap();
    // The file header is wrong: 7 makes no whole number of traces.
    let path = changed(folder.path(), |b| b[3220..3222].copy_from_slice(&[0, 7]));
    let reader = open(&path);
    assert_eq!((reader.samples(), reader.traces()), (6, 4));
    let said = reader.warnings()[0].to_string();
    assert!(said.contains("trace 1 says 6 samples, the file header 7: 6 is used"), "{said}");
    // So it is in revision 0, which promises no equal lengths.
    let path = changed(folder.path(), |b| {
        b[3220..3222].copy_from_slice(&[0, 7]);
        b[3500..3504].fill(0);
    });
    let reader = open(&path);
    assert_eq!((reader.samples(), reader.traces(), reader.is_variable()), (6, 4, false));
    assert!(matches!(reader.warnings(), [Warning::Samples { in_file: 7, used: 6, .. }]));
    // A trace header is wrong.
    let path = changed(folder.path(), |b| b[start(2) + 114..][..2].copy_from_slice(&[0, 9]));
    let reader = open(&path);
    assert_eq!((reader.samples(), reader.traces()), (6, 4));
    let [Warning::Samples { in_file: 6, in_trace: 9, trace: 3, used: 6, .. }] = reader.warnings()
    else {
        panic!("{:?}", reader.warnings());
    };
}

#[test]
fn contradicting_intervals_are_said_and_overridden() {
    let folder = tempfile::tempdir().unwrap();
    let path = changed(folder.path(), |b| b[start(0) + 116..][..2].copy_from_slice(&[0, 9]));
    let reader = open(&path);
    assert_eq!(reader.warnings(), [Warning::Interval { in_file: 4000.0, in_trace: 9.0 }]);
    assert_eq!(reader.sample_interval().to_bits(), 0.004_f64.to_bits());
    let options = SegyOptions { interval: Some(0.125), ..SegyOptions::default() };
    let reader = SegyReader::open(&path, &options).unwrap();
    assert_eq!(reader.sample_interval().to_bits(), 0.125_f64.to_bits());
    assert!(reader.warnings().is_empty());
    // None at all.
    let path = changed(folder.path(), |b| {
        b[3216..3218].fill(0);
        b[start(0) + 116..][..2].fill(0);
    });
    let reader = open(&path);
    assert_eq!(reader.warnings(), [Warning::NoInterval]);
    assert_eq!(reader.sample_interval().to_bits(), 0.0_f64.to_bits());
}

#[test]
fn a_file_cut_short_is_refused_with_the_trace_and_read_if_that_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let path = changed(folder.path(), |b| b.truncate(start(3) + 100));
    let error = SegyReader::open(&path, &SegyOptions::default()).unwrap_err();
    let Error::Format { offset, what, .. } = &error else { panic!("{error}") };
    assert_eq!(*offset, start(3) as u64);
    assert!(what.contains("3 traces of 6 samples") && what.contains("100 of 264 bytes"), "{what}");
    let options = SegyOptions { allow_truncated: true, ..SegyOptions::default() };
    let reader = SegyReader::open(&path, &options).unwrap();
    assert_eq!(reader.traces(), 3);
    let offset = start(3) as u64;
    assert_eq!(
        reader.warnings(),
        [Warning::Truncated { trace: 4, offset, left: 100, wanted: 264 }]
    );
}

#[test]
fn a_swapped_tape_is_converted_with_its_text_put_right() {
    let folder = tempfile::tempdir().unwrap();
    let path = changed(folder.path(), |b| {
        b.as_chunks_mut::<2>().0.iter_mut().for_each(|pair| pair.reverse());
    });
    let swapped = open(&path);
    assert_eq!(swapped.order(), WordOrder::Pairwise);
    let mut header = SegyHeader::like(&swapped).unwrap();
    header.order = WordOrder::Big;
    let right = folder.path().join("right.sgy");
    let mut writer = SegyWriter::create(&right, &header).unwrap();
    for n in 0..4 {
        let samples = swapped.samples_of(n).unwrap();
        writer.write_raw(&swapped.header(n).unwrap(), &[], &samples).unwrap();
    }
    writer.finish().unwrap();
    // As it was before its bytes were exchanged.
    assert_eq!(
        std::fs::read(right).unwrap(),
        std::fs::read(changed(folder.path(), |_| ())).unwrap()
    );
}

#[test]
fn a_stated_number_of_traces_that_is_not_there_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = changed(folder.path(), |b| {
        b[3500..3502].copy_from_slice(&[2, 0]);
        b[3512..3520].copy_from_slice(&9_u64.to_be_bytes());
    });
    assert_eq!(open(&path).warnings(), [Warning::Traces { stated: 9, found: 4 }]);
}

#[test]
fn an_absurd_first_byte_of_traces_is_left_aside() {
    let folder = tempfile::tempdir().unwrap();
    for stated in [u64::MAX, u64::MAX - 3000, 1 << 40, 4656] {
        let path = changed(folder.path(), |b| {
            b[3500..3502].copy_from_slice(&[2, 0]);
            b[3520..3528].copy_from_slice(&stated.to_be_bytes());
            b[3528..3532].copy_from_slice(&(-1_i32).to_be_bytes());
        });
        let reader = open(&path);
        assert_eq!(reader.traces(), 4);
        assert_eq!(reader.warnings(), [Warning::FirstTrace { stated, computed: 3600, used: 3600 }]);
    }
}

#[rstest]
#[case::left_out(0)]
#[case::line_feeds(3240)]
#[case::carriage_returns(3280)]
fn a_text_header_of_another_length_is_refused_by_name_and_read_if_given(#[case] length: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = changed(folder.path(), |b| {
        b.splice(..3200, vec![0x40; length]);
    });
    let error = SegyReader::open(&path, &SegyOptions::default()).unwrap_err().to_string();
    assert!(error.contains(&format!("give {length} as the length of the text")), "{error}");
    let text_bytes = Some(length as u64);
    let options = SegyOptions { text_bytes, ..SegyOptions::default() };
    let reader = SegyReader::open(&path, &options).unwrap();
    assert_eq!((reader.samples(), reader.traces()), (6, 4));
    assert_eq!(reader.samples_of(3).unwrap(), seeds::samples(3, false));
}

#[test]
fn what_is_no_segy_is_refused_with_what_was_tried() {
    let folder = tempfile::tempdir().unwrap();
    let path = changed(folder.path(), |b| b[3224..3226].copy_from_slice(&[0x12, 0x34]));
    let error = SegyReader::open(&path, &SegyOptions::default()).unwrap_err().to_string();
    assert!(error.contains("4660 big endian and 13330 little endian"), "{error}");
    // A format by hand opens it.
    let format = Some(SampleFormat::Ieee);
    let reader =
        SegyReader::open(&path, &SegyOptions { format, ..SegyOptions::default() }).unwrap();
    assert_eq!(reader.warnings(), [Warning::Format { stated: 0x1234, used: 5 }]);
    // Fixed point with gain.
    let path = changed(folder.path(), |b| b[3225] = 4);
    let error = SegyReader::open(&path, &SegyOptions::default()).unwrap_err().to_string();
    assert!(error.contains("fixed point with gain") && error.contains("obsolete"), "{error}");
    // An order by hand that is wrong is refused, not believed.
    let order = Some(WordOrder::Little);
    let path = changed(folder.path(), |_| ());
    let error = SegyReader::open(&path, &SegyOptions { order, ..SegyOptions::default() });
    assert!(
        error.unwrap_err().to_string().contains("little endian: the sample format code is 1280")
    );
}

#[test]
fn ieee_samples_that_are_called_ibm_are_doubted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sgy");
    let samples: Vec<f32> = (1..2000_u16).map(|k| (f32::from(k) * 0.37).sin()).collect();
    for (format, doubted) in [(SampleFormat::Ibm, false), (SampleFormat::Ieee, true)] {
        let mut header = SegyHeader::new(0.004, samples.len());
        header.format = format;
        let mut writer = SegyWriter::create(&path, &header).unwrap();
        writer.write_trace(&TraceHeader::default(), &samples).unwrap();
        writer.finish().unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[3225] = 1;
        std::fs::write(&path, bytes).unwrap();
        let doubts = matches!(open(&path).warnings(), [Warning::LooksIeee { .. }]);
        assert_eq!(doubts, doubted, "{format:?}");
    }
}

#[test]
fn feet_become_metres_and_angles_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = changed(folder.path(), |b| b[3254..3256].copy_from_slice(&[0, 2]));
    let receiver = open(&path).trace_header(2).unwrap().receiver;
    assert_eq!(receiver[0].to_bits(), (35.0 * 0.3048_f64).to_bits());
    let path = changed(folder.path(), |b| b[start(2) + 88..][..2].copy_from_slice(&[0, 2]));
    let error = open(&path).trace_header(2).unwrap_err().to_string();
    assert!(error.contains("trace 3") && error.contains("angles"), "{error}");
}

#[rstest]
#[case(0, 5.0)]
#[case(1, 5.0)]
#[case(10, 50.0)]
#[case(-100, 0.05)]
fn scalars_multiply_divide_or_leave(#[case] scalar: i16, #[case] metres: f64) {
    let folder = tempfile::tempdir().unwrap();
    let path = changed(folder.path(), |b| {
        let trace = &mut b[start(0)..];
        trace[70..72].copy_from_slice(&scalar.to_be_bytes());
        trace[68..70].copy_from_slice(&scalar.to_be_bytes());
        trace[72..76].copy_from_slice(&5_i32.to_be_bytes());
        trace[40..44].copy_from_slice(&(-5_i32).to_be_bytes());
    });
    let header = open(&path).trace_header(0).unwrap();
    assert_eq!((header.source[0], header.receiver[2]), (metres, metres));
}

#[test]
#[cfg(unix)]
fn a_file_of_100_gb_opens_and_reads_without_its_size_in_memory() {
    // Sparse: it takes a page of disk. 20,000 samples, 1.25 million traces.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("big.sgy");
    let header = SegyHeader::new(0.001, 20_000);
    let mut writer = SegyWriter::create(&path, &header).unwrap();
    writer.write_trace(&TraceHeader::default(), &vec![1.0; 20_000]).unwrap();
    writer.finish().unwrap();
    let trace = 240 + 4 * 20_000;
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(3600 + trace * 1_250_000).unwrap();
    let reader = open(&path);
    assert_eq!(reader.size(), file.metadata().unwrap().len());
    let last = reader.traces() - 1;
    assert_eq!(reader.samples_of(last).unwrap()[0].to_bits(), 0);
    let mut traces = reader.sequence_from(last);
    assert_eq!(traces.next_trace().unwrap().unwrap().samples(), 20_000);
    assert_eq!(reader.sequence().next_trace().unwrap().unwrap().number(), 0);
    // Most memory that the process ever had, in kB (Linux).
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let most: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(most < 400_000, "{most} kB");
    }
}
