//! What is written comes back bit by bit, in every format, element type and byte order.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use ndarray::{Array3, s};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rstest::rstest;
use std::path::Path;
use temblor_io::segy::TraceHeader;
use temblor_io::trace_writer::HeaderOf;
use temblor_io::volume::{VolumeLayout, write};
use temblor_io::{
    ByteOrder, Element, Error, Format, TraceLayout, TraceOptions, TraceWriter, Traces, Volume,
    VolumeOptions,
};

fn layout(format: Format, shape: [usize; 3]) -> VolumeLayout {
    VolumeLayout {
        format,
        shape,
        element: Element::F32,
        order: ByteOrder::Little,
        fortran: false,
        spacing: Some([12.5, 20.0, 5.0]),
        origin: [100.0, -40.0, 2.5],
        name: "wave_speed".into(),
    }
}

/// Options for what a raw file does not say.
fn options(layout: &VolumeLayout) -> VolumeOptions {
    let raw = layout.format == Format::Raw;
    VolumeOptions {
        shape: Some(layout.shape),
        element: if raw { layout.element } else { Element::F32 },
        order: raw.then_some(layout.order),
        fortran: raw && layout.fortran,
        ..VolumeOptions::default()
    }
}

fn save<R: temblor_io::Real>(path: &Path, layout: &VolumeLayout, values: &Array3<R>) {
    let region = |a: [usize; 3], n: [usize; 3]| {
        Ok(values.slice(s![a[0]..a[0] + n[0], a[1]..a[1] + n[1], a[2]..a[2] + n[2]]).to_owned())
    };
    write(path, layout, region, |_| true).unwrap();
}

fn name(format: Format) -> String {
    format!("v.{}", format.name().to_lowercase().replace("raw", "bin").replace("seg-y", "sgy"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, rng_seed: RngSeed::Fixed(4), ..Default::default() })]

    #[test]
    fn volumes_of_any_bits_survive_in_every_format(
        shape in prop::array::uniform3(1_usize..6),
        seed in prop::collection::vec(any::<u32>(), 125),
        big in any::<bool>(),
        fortran in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut words = seed.iter().cycle();
        let values = Array3::from_shape_simple_fn(shape, || f32::from_bits(*words.next().unwrap()));
        for format in [Format::Npy, Format::Raw, Format::Rsf, Format::Vti, Format::Su, Format::Segy] {
            let order = if big && !matches!(format, Format::Vti | Format::Segy) { ByteOrder::Big } else { ByteOrder::Little };
            // A single line of SEG-Y traces runs along x, wherever it was.
            if format == Format::Segy && shape[0] == 1 && shape[1] > 1 {
                continue;
            }
            let layout = VolumeLayout { order, fortran, ..layout(format, shape) };
            let path = folder.path().join(name(format));
            save(&path, &layout, &values);
            // The byte order of an SU file can be a matter of taste for tiny traces.
            let mut options = options(&layout);
            if format == Format::Su { options.order = Some(order); }
            // Headers of a single column do not tell a spacing.
            if format == Format::Segy { options.spacing = layout.spacing; }
            let volume = Volume::open(&path, &options).unwrap();
            let read = volume.read().unwrap();
            prop_assert_eq!(read.mapv(f32::to_bits), values.mapv(f32::to_bits), "{:?}", format);
            if matches!(format, Format::Rsf | Format::Vti) {
                prop_assert_eq!(volume.origin(), Some(if shape[1] == 1 && format == Format::Rsf {
                    [100.0, 0.0, 2.5]
                } else { [100.0, -40.0, 2.5] }));
            }
        }
    }
}

#[rstest]
fn doubles_and_integers_keep_all_their_digits(
    #[values(Format::Npy, Format::Raw, Format::Rsf, Format::Vti)] format: Format,
    #[values(Element::F64, Element::I32, Element::I16)] element: Element,
) {
    let folder = tempfile::tempdir().unwrap();
    let shape = [3, 2, 4];
    // 2^31 - 1 and 2^53 + 1/3 do not fit singles.
    let values = Array3::from_shape_fn(shape, |(i, j, k)| match element {
        Element::F64 => 1.0 / 3.0 + (i * 100 + j * 10 + k) as f64,
        Element::I32 => 2_147_483_647.0 - (i * 100 + j * 10 + k) as f64,
        _ => (i * 100 + j * 10 + k) as f64 - 32_768.0,
    });
    let layout = VolumeLayout { element, ..layout(format, shape) };
    let path = folder.path().join(name(format));
    save(&path, &layout, &values);
    let volume = Volume::open(&path, &options(&layout)).unwrap();
    assert_eq!(volume.element(), element);
    let read = volume.read_region_as::<f64>([0; 3], shape).unwrap();
    assert_eq!(read.mapv(f64::to_bits), values.mapv(f64::to_bits));
}

#[rstest]
#[case(Element::I16, 40_000.0, "i2 cannot hold it")]
#[case(Element::I32, f32::NAN, "i4 cannot hold it")]
#[case(Element::F16, 1e6, "f2 cannot hold it")]
fn numbers_that_do_not_fit_are_refused_and_leave_nothing(
    #[case] element: Element,
    #[case] value: f32,
    #[case] says: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let layout = VolumeLayout { element, ..layout(Format::Npy, [2, 1, 2]) };
    let path = folder.path().join("v.npy");
    let error = write(&path, &layout, |_, n| Ok(Array3::from_elem(n, value)), |_| true);
    let error = error.unwrap_err().to_string();
    assert!(error.contains(says) && error.contains("number 1"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[rstest]
fn stopped_writing_leaves_what_was_there(
    #[values(Format::Npy, Format::Rsf, Format::Vti, Format::Su, Format::Segy)] format: Format,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name(format));
    std::fs::write(&path, "before").unwrap();
    let region = |_, n| Ok(Array3::from_elem(n, 1.0_f32));
    let error = write(&path, &layout(format, [4, 1, 5]), region, |done| done < 10).unwrap_err();
    assert!(matches!(error, Error::Stopped { .. }), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"before");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[rstest]
fn gathers_come_back_bit_by_bit_and_resume_to_the_same_bytes(
    #[values(Format::Segy, Format::Su, Format::Rsf, Format::Npy)] format: Format,
    #[values(ByteOrder::Little, ByteOrder::Big)] order: ByteOrder,
) {
    let folder = tempfile::tempdir().unwrap();
    let (whole, resumed) = (folder.path().join("a.part"), folder.path().join("b.part"));
    let mut layout = TraceLayout::new(format, 6, Some(0.004), 5);
    (layout.order, layout.traces_per_shot) = (order, 5);
    let sample = |trace: u32, k: u32| f32::from_bits(0x7f80_0001 ^ (trace * 7919 + k * 104_729));
    let trace = |n: u32| (0..6).map(|k| sample(n, k)).collect::<Vec<_>>();
    let write = |writer: &mut TraceWriter, n: u32| {
        let header = TraceHeader { field_record: 3, ..TraceHeader::default() };
        writer.write(HeaderOf::Decoded(&header), &trace(n)).unwrap();
    };
    let mut writer = TraceWriter::create(&whole, &layout).unwrap();
    (0..5).for_each(|n| write(&mut writer, n));
    writer.finish().unwrap();
    let mut writer = TraceWriter::create(&resumed, &layout).unwrap();
    (0..4).for_each(|n| write(&mut writer, n));
    writer.finish().unwrap();
    let mut writer = TraceWriter::resume(&resumed, &layout, 2).unwrap();
    assert_eq!(writer.traces(), 2);
    (2..5).for_each(|n| write(&mut writer, n));
    writer.finish().unwrap();
    assert!(std::fs::read(&whole).unwrap() == std::fs::read(&resumed).unwrap());
    let options = TraceOptions { format: Some(format), ..TraceOptions::default() };
    let read = Traces::open(&whole, &options).unwrap();
    assert_eq!((read.traces(), read.samples()), (5, 6));
    for n in 0..5 {
        let bits: Vec<_> = read.samples_of(n.into()).unwrap().iter().map(|v| v.to_bits()).collect();
        assert_eq!(bits, trace(n).iter().map(|v| v.to_bits()).collect::<Vec<_>>());
    }
}
