//! Volumes come back from npy and raw files as they went in, whatever the layout on disk.

use ndarray::{Array3, s};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rstest::rstest;
use std::path::Path;
use temblor_io::{ByteOrder, Element, Error, Volume, VolumeFormat, VolumeOptions, npy, raw, vti};

const SHAPE: [usize; 3] = [5, 7, 11];

/// Whole numbers, exact in every element type.
fn whole_numbers(shape: [usize; 3], seed: u64) -> Array3<f32> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    Array3::from_shape_simple_fn(shape, || f32::from(random.random_range(1_i16..2000)))
}

fn encode(element: Element, value: f32, order: ByteOrder, out: &mut Vec<u8>) {
    let mut bytes = match element {
        Element::F16 => half::f16::from_f32(value).to_le_bytes().to_vec(),
        Element::F32 => value.to_le_bytes().to_vec(),
        Element::F64 => f64::from(value).to_le_bytes().to_vec(),
        #[expect(clippy::cast_possible_truncation, reason = "whole numbers below 2000")]
        Element::I16 => (value as i16).to_le_bytes().to_vec(),
        #[expect(clippy::cast_possible_truncation, reason = "whole numbers below 2000")]
        Element::I32 => (value as i32).to_le_bytes().to_vec(),
    };
    if order == ByteOrder::Big {
        bytes.reverse();
    }
    out.extend(bytes);
}

/// A file as `numpy.save` writes it, spelled out here so that reader and writer are not their own
/// witnesses.
fn npy_file(values: &Array3<f32>, element: Element, order: ByteOrder, fortran: bool) -> Vec<u8> {
    let (nx, ny, nz) = values.dim();
    let mark = if order == ByteOrder::Big { '>' } else { '<' };
    let flag = if fortran { "True" } else { "False" };
    let name = element.name();
    let text = format!(
        "{{'descr': '{mark}{name}', 'fortran_order': {flag}, 'shape': ({nx}, {ny}, {nz}), }}"
    );
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{text:<117}\n").bytes());
    if fortran {
        values.t().iter().for_each(|&v| encode(element, v, order, &mut bytes));
    } else {
        values.iter().for_each(|&v| encode(element, v, order, &mut bytes));
    }
    bytes
}

#[rstest]
fn every_npy_layout_gives_the_same_volume(
    #[values(Element::F16, Element::F32, Element::F64, Element::I16, Element::I32)]
    element: Element,
    #[values(ByteOrder::Little, ByteOrder::Big)] order: ByteOrder,
    #[values(false, true)] fortran: bool,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.npy");
    let values = whole_numbers(SHAPE, 1);
    std::fs::write(&path, npy_file(&values, element, order, fortran)).unwrap();
    let volume = Volume::open(&path, &VolumeOptions::default()).unwrap();
    assert_eq!(volume.shape(), SHAPE);
    assert_eq!((volume.element(), volume.order(), volume.fortran()), (element, order, fortran));
    assert_eq!(volume.read().unwrap(), values);
    assert_eq!(volume.read_planes(2, 3).unwrap(), values.slice(s![2..5, .., ..]));
    let region = volume.read_region([1, 2, 3], [3, 4, 5]).unwrap();
    assert_eq!(region, values.slice(s![1..4, 2..6, 3..8]));
}

#[test]
fn region_wider_than_the_read_buffer_is_whole() {
    // 3 x 1 x 1.2 million f64 are 28.8 MB; the buffer is 4 MiB.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.npy");
    let nz = 1_200_000;
    let values = Array3::from_shape_fn((3, 1, nz), |(i, _, k)| (i * 10 + k % 1009) as f64);
    let mut writer = npy::writer::<f64>(&path, &[3, 1, nz]).unwrap();
    writer.write_planes(&values.view()).unwrap();
    writer.finish().unwrap();
    let volume = Volume::open(&path, &VolumeOptions::default()).unwrap();
    let region = volume.read_region([1, 0, 7], [2, 1, nz - 9]).unwrap();
    #[expect(clippy::cast_possible_truncation, reason = "small whole numbers")]
    let wanted = values.slice(s![1..3, .., 7..nz - 2]).mapv(|v| v as f32);
    assert_eq!(region, wanted);
}

#[test]
fn npy_round_trip_keeps_every_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.npy");
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let mut values = Array3::from_shape_simple_fn(SHAPE, || f32::from_bits(random.random()));
    values[[0, 0, 0]] = -0.0;
    values[[0, 0, 1]] = f32::from_bits(1);
    let mut writer = npy::writer::<f32>(&path, &SHAPE).unwrap();
    writer.write_planes(&values.slice(s![..2, .., ..])).unwrap();
    writer.write_planes(&values.slice(s![2.., .., ..])).unwrap();
    writer.finish().unwrap();
    let read = Volume::open(&path, &VolumeOptions::default()).unwrap().read().unwrap();
    assert_eq!(read.mapv(f32::to_bits), values.mapv(f32::to_bits));
}

#[test]
fn npy_header_is_numpys() {
    // Bytes of numpy.save(f, numpy.zeros((801, 187), '<i2')), numpy 1.24, cited from a stored file.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.npy");
    npy::write(&path, &[801, 187], &vec![0_i16; 801 * 187]).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let text = "{'descr': '<i2', 'fortran_order': False, 'shape': (801, 187), }";
    assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00v\x00");
    assert_eq!(bytes[10..128], *format!("{text:<117}\n").as_bytes());
    assert_eq!(bytes.len(), 128 + 801 * 187 * 2);
}

#[rstest]
#[case(&[801, 187], [801, 1, 187])]
#[case(&[3, 5, 7], [3, 5, 7])]
#[case(&[9], [1, 1, 9])]
fn missing_axes_have_length_one(#[case] stored: &[usize], #[case] shape: [usize; 3]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.npy");
    npy::write(&path, stored, &vec![1_f32; stored.iter().product()]).unwrap();
    let volume = Volume::open(&path, &VolumeOptions::default()).unwrap();
    assert_eq!(volume.shape(), shape);
    assert_eq!(volume.stored_shape(), stored);
}

fn raw_options(shape: [usize; 3], order: ByteOrder, fortran: bool) -> VolumeOptions {
    VolumeOptions { shape: Some(shape), order: Some(order), fortran, ..VolumeOptions::default() }
}

#[rstest]
fn raw_round_trip_keeps_every_value(
    #[values(ByteOrder::Little, ByteOrder::Big)] order: ByteOrder,
    #[values(false, true)] fortran: bool,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.bin");
    let values = whole_numbers(SHAPE, 3);
    let mut writer = raw::writer::<f32>(&path, values.len() as u64, order).unwrap();
    let stored = if fortran { values.t() } else { values.view() };
    writer.write_planes(&stored).unwrap();
    writer.finish().unwrap();
    let volume = Volume::open(&path, &raw_options(SHAPE, order, fortran)).unwrap();
    assert_eq!(volume.format(), VolumeFormat::Raw);
    assert_eq!(volume.read().unwrap(), values);
}

#[rstest]
#[case([5, 7, 12], "(5, 7, 11) would fit")]
#[case([5, 8, 11], "(5, 7, 11) would fit")]
#[case([6, 7, 11], "(5, 7, 11) would fit")]
fn raw_size_that_disagrees_is_refused_with_a_shape_that_fits(
    #[case] shape: [usize; 3],
    #[case] hint: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.bin");
    std::fs::write(&path, vec![0; 5 * 7 * 11 * 4]).unwrap();
    let error = Volume::open(&path, &raw_options(shape, ByteOrder::Little, false)).unwrap_err();
    assert!(matches!(error, Error::Size { found: 1540, .. }), "{error}");
    assert!(error.to_string().contains(hint), "{error}");
    assert!(error.to_string().contains("1540"), "{error}");
}

#[test]
fn swapped_axes_are_named_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.npy");
    npy::write(&path, &[187, 801], &vec![1_f32; 187 * 801]).unwrap();
    let options = VolumeOptions { shape: Some([801, 1, 187]), ..VolumeOptions::default() };
    let error = Volume::open(&path, &options).unwrap_err();
    assert!(error.to_string().contains("--transpose"), "{error}");
}

#[rstest]
#[case(b"PK\x03\x04 not an npy file at all".to_vec(), "not an npy")]
#[case(b"\x93NUMPY\x01\x00\xff\xff{'descr'".to_vec(), "cut short")]
#[case(b"\x93NUMPY\x07\x00\x10\x00{'descr': '<f4'}".to_vec(), "version 7")]
#[case(b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f4'}".to_vec(), "cannot be understood")]
fn broken_npy_headers_are_refused(#[case] bytes: Vec<u8>, #[case] says: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.npy");
    std::fs::write(&path, bytes).unwrap();
    let error = Volume::open(&path, &VolumeOptions::default()).unwrap_err().to_string();
    assert!(error.contains(says), "{error}");
}

#[rstest]
fn statistics_find_the_first_bad_nodes(#[values(false, true)] fortran: bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.npy");
    let mut values = whole_numbers(SHAPE, 4);
    values[[1, 2, 3]] = f32::NAN;
    values[[4, 0, 0]] = f32::INFINITY;
    values[[2, 6, 10]] = 0.0;
    values[[3, 0, 1]] = -5.0;
    values[[0, 1, 0]] = 4000.0;
    std::fs::write(&path, npy_file(&values, Element::F32, ByteOrder::Little, fortran)).unwrap();
    let found = Volume::open(&path, &VolumeOptions::default()).unwrap().statistics().unwrap();
    assert_eq!(found.first_not_finite(), Some([1, 2, 3]));
    assert_eq!(found.first_not_positive(), Some([2, 6, 10]));
    assert_eq!(
        (found.min.to_bits(), found.max.to_bits()),
        ((-5_f32).to_bits(), 4000_f32.to_bits())
    );
}

#[test]
fn unfinished_files_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.npy");
    std::fs::write(&path, b"before").unwrap();
    let mut writer = npy::writer::<f32>(&path, &[10]).unwrap();
    writer.write(&[1.0; 5]).unwrap();
    let error = writer.finish().unwrap_err().to_string();
    assert!(error.contains("is 5; the shape holds 10"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"before");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn vti_holds_the_values_with_x_fastest() {
    let folder = tempfile::tempdir().unwrap();
    let values = whole_numbers(SHAPE, 5);
    let header = vti::VtiHeader {
        shape: SHAPE,
        spacing: [10.0, 20.0, 5.0],
        origin: [0.0, -40.0, 2.5],
        name: "vp".into(),
    };
    let (whole, pieces) = (folder.path().join("a.vti"), folder.path().join("b.vti"));
    vti::write(&whole, &header, &values.view()).unwrap();
    vti::write_pieces(&pieces, &header, 4, |start, count| {
        Ok(values.slice(s![.., .., start..start + count]).to_owned())
    })
    .unwrap();
    let bytes = std::fs::read(&whole).unwrap();
    assert_eq!(bytes, std::fs::read(&pieces).unwrap());
    let at = bytes.windows(2).position(|w| w == b" _").unwrap() + 2;
    let length = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    assert_eq!(length, 5 * 7 * 11 * 4);
    let mut wanted = Vec::new();
    for k in 0..11 {
        for j in 0..7 {
            for i in 0..5 {
                wanted.extend(values[[i, j, k]].to_le_bytes());
            }
        }
    }
    assert_eq!(bytes[at + 8..at + 8 + wanted.len()], wanted);
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_is_named_with_the_bytes_needed() {
    // /dev/full answers every write with "no space left on device".
    let mut writer = temblor_io::segy::SegyWriter::create(
        Path::new("/dev/full"),
        &temblor_io::segy::SegyHeader::new(0.004, 10),
    )
    .unwrap();
    let error = writer.sync().unwrap_err();
    assert!(matches!(error, Error::DiskFull { needed: Some(3880), .. }), "{error}");
    assert!(error.to_string().contains("3880 bytes"), "{error}");
}
