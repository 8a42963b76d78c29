//! What holds for any input: round trips, and no panic whatever a file contains.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use ndarray::{Array3, s};
use proptest::prelude::*;
use std::path::Path;
use temblor_io::segy::{SegyHeader, SegyOptions, SegyReader, SegyWriter, TraceHeader};
use temblor_io::{Volume, VolumeOptions, csv_points, npy};

/// A SEG-Y file of three traces.
fn segy_file(path: &Path, headers: &[TraceHeader]) {
    let mut writer = SegyWriter::create(path, &SegyHeader::new(0.004, 20)).unwrap();
    for header in headers {
        writer.write_trace(header, &[1.5; 20]).unwrap();
    }
    writer.finish().unwrap();
}

fn read_all(path: &Path) {
    let Ok(reader) = SegyReader::open(path, &SegyOptions::default()) else { return };
    assert!(reader.samples() > 0 && reader.traces() > 0);
    for trace in 0..reader.traces() {
        assert_eq!(reader.samples_of(trace).unwrap().len(), reader.samples());
    }
    reader.find(|_, raw| raw.decode().field_record == 1).unwrap();
}

fn position() -> impl Strategy<Value = [f64; 3]> {
    let (x, y, z) = (-2e6..2e6, -2e6..2e6, -1e4..1e4);
    (x, y, z).prop_map(|(x, y, z)| [x, y, z])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn coordinates_survive_within_half_a_millimetre(
        source in position(),
        receiver in position(),
        numbers in prop::array::uniform3(any::<i32>()),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sgy");
        let [field_record, trace_in_record, source_point] = numbers;
        let header =
            TraceHeader { field_record, trace_in_record, source_point, source, receiver, ..Default::default() };
        segy_file(&path, &[header]);
        let read = SegyReader::open(&path, &SegyOptions::default()).unwrap().header(0).unwrap().decode();
        for (a, b) in [(source, read.source), (receiver, read.receiver)] {
            for axis in 0..3 {
                prop_assert!((a[axis] - b[axis]).abs() <= 0.5e-3 * (1.0 + 1e-9), "{a:?} {b:?}");
            }
        }
        prop_assert_eq!([read.field_record, read.trace_in_record, read.source_point], numbers);
    }

    #[test]
    fn damaged_segy_files_never_panic(
        changes in prop::collection::vec((0_usize..4560, any::<u8>()), 0..20),
        headers in prop::collection::vec((3200_usize..3840, any::<u8>()), 0..20),
        cut in 0_usize..4560,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sgy");
        segy_file(&path, &[TraceHeader::default(); 3]);
        let mut bytes = std::fs::read(&path).unwrap();
        prop_assert_eq!(bytes.len(), 4560);
        for (at, byte) in changes.into_iter().chain(headers) {
            bytes[at] = byte;
        }
        std::fs::write(&path, &bytes).unwrap();
        read_all(&path);
        std::fs::write(&path, &bytes[..cut]).unwrap();
        read_all(&path);
    }

    #[test]
    fn any_text_as_npy_header_is_read_or_refused(text in "\\PC{0,200}") {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
        bytes.extend(text.bytes());
        std::fs::write(&path, bytes).unwrap();
        if let Ok(volume) = Volume::open(&path, &VolumeOptions::default()) {
            volume.read().unwrap();
        }
    }

    #[test]
    fn any_npy_dictionary_is_read_or_refused(
        kind in "[<>|=]?[fiuS][0-9]{1,2}",
        shape in prop::collection::vec(any::<u64>(), 0..5),
        fortran in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let axes = shape.iter().map(|n| format!("{n}, ")).collect::<String>();
        let flag = if fortran { "True" } else { "False" };
        let text = format!("{{'descr': '{kind}', 'fortran_order': {flag}, 'shape': ({axes}), }}");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
        bytes.extend(text.bytes());
        std::fs::write(&path, bytes).unwrap();
        prop_assert!(Volume::open(&path, &VolumeOptions::default()).is_err());
    }

    #[test]
    fn any_raw_size_and_shape_are_read_or_refused(
        shape in prop::array::uniform3(prop_oneof![0_usize..9, any::<usize>()]),
        size in 0_usize..2000,
        header_bytes in prop_oneof![Just(0), 0_u64..3000, any::<u64>()],
        fortran in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        std::fs::write(&path, vec![0; size]).unwrap();
        let options =
            VolumeOptions { shape: Some(shape), header_bytes, fortran, ..Default::default() };
        if let Ok(volume) = Volume::open(&path, &options) {
            prop_assert_eq!(volume.read().unwrap().len() * 4, size - usize::try_from(header_bytes).unwrap());
        }
    }

    #[test]
    fn every_region_is_that_of_the_whole(
        shape in prop::array::uniform3(1_usize..12),
        corner in prop::array::uniform3(0.0..1.0_f64),
        extent in prop::array::uniform3(0.0..1.0_f64),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let count: u16 = shape.iter().product::<usize>().try_into().unwrap();
        npy::write(&path, &shape, &(0..count).map(f32::from).collect::<Vec<_>>()).unwrap();
        let volume = Volume::open(&path, &VolumeOptions::default()).unwrap();
        let whole: Array3<f32> = volume.read().unwrap();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 12")]
        let part = |fraction: f64, most: usize| (fraction * (most + 1) as f64) as usize;
        let start: [usize; 3] = std::array::from_fn(|a| part(corner[a], shape[a]));
        let size: [usize; 3] = std::array::from_fn(|a| part(extent[a], shape[a] - start[a]));
        let [i, j, k] = std::array::from_fn(|a| start[a]..start[a] + size[a]);
        prop_assert_eq!(volume.read_region(start, size).unwrap(), whole.slice(s![i, j, k]));
    }

    #[test]
    fn any_text_as_point_list_is_read_or_refused(text in "[ -~\n\t]{0,300}") {
        if let Ok(points) = csv_points::parse(&text, Path::new("p.csv")) {
            prop_assert!(points.as_flattened().iter().all(|v| v.is_finite()));
        }
    }
}
