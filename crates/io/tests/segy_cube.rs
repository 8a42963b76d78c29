//! SEG-Y as a velocity model: regular grids in any order are read right, others are refused with the
//! traces that are at fault.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]
#![expect(clippy::float_cmp, reason = "whole numbers are exact")]

use ndarray::Array3;
use rstest::rstest;
use std::path::Path;
use temblor_io::Error;
use temblor_io::segy::cube::{CubeOptions, CubeWriter, SegyCube};
use temblor_io::segy::{
    SampleFormat, SegyHeader, SegyOptions, SegyReader, SegyWriter, TraceHeader,
};

/// A trace at node (i, j) of inline i, crossline j, with the node in its samples.
fn trace(i: i32, j: i32, cdp: [f64; 2]) -> (TraceHeader, [f32; 2]) {
    let header = TraceHeader { inline: i, crossline: j, cdp, ..TraceHeader::default() };
    (header, [i as f32, j as f32])
}

fn write(path: &Path, traces: &[(TraceHeader, [f32; 2])]) {
    // 10 m as thousandths: an interval of 10,000 us.
    let mut writer = SegyWriter::create(path, &SegyHeader::new(0.01, 2)).unwrap();
    traces.iter().for_each(|(header, samples)| writer.write_trace(header, samples).unwrap());
    writer.finish().unwrap();
}

fn open(path: &Path) -> Result<SegyCube, Error> {
    SegyCube::open(path, &SegyOptions::default(), &CubeOptions::default())
}

fn values() -> Array3<f32> {
    Array3::from_shape_fn((4, 3, 5), |(i, j, k)| (1000 + 100 * i + 10 * j + k) as f32)
}

#[rstest]
#[case([25.0, 12.5, 10.0], [1000.0, -37.5, 0.0], 1)]
// Ultrasound: a quarter of a millimetre needs doubles, hence revision 2.
#[case([0.000_25, 0.000_25, 0.000_125], [0.0, 0.0, 0.0], 2)]
#[case([20.0, 20.0, 12.345], [0.0, 0.0, 30.0], 1)]
fn written_cube_is_read_back(
    #[case] spacing: [f64; 3],
    #[case] origin: [f64; 3],
    #[case] revision: u8,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.sgy");
    let mut writer = CubeWriter::create(&path, [4, 3, 5], spacing, origin, &[]).unwrap();
    writer.write_planes(&values().slice(ndarray::s![..1, .., ..])).unwrap();
    assert!(!path.exists());
    writer.write_planes(&values().slice(ndarray::s![1.., .., ..])).unwrap();
    writer.finish().unwrap();
    let cube = open(&path).unwrap();
    assert_eq!(cube.reader().revision().0, revision);
    assert_eq!(cube.shape(), [4, 3, 5]);
    for (found, wanted) in [(cube.spacing(), spacing), (cube.origin(), origin)] {
        for axis in 0..3 {
            assert!((found[axis] - wanted[axis]).abs() <= 1e-12 * wanted[axis].abs(), "{found:?}");
        }
    }
    assert_eq!(cube.read().unwrap(), values());
    assert_eq!(cube.file_order(), "xline (x), iline (y), sample (z)");
    assert_eq!(cube.axes()[0].field, "xline");
}

#[test]
fn a_model_that_was_not_finished_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.sgy");
    let create = || CubeWriter::create(&path, [4, 3, 5], [1.0; 3], [0.0; 3], &[]).unwrap();
    drop(create());
    let mut writer = create();
    writer.write_planes(&values().slice(ndarray::s![..3, .., ..])).unwrap();
    let error = writer.finish().unwrap_err().to_string();
    assert!(error.contains("missing"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// All nodes of a 3 x 2 grid, inlines 10, 14, 18 along y, crosslines 5, 6 along x, 20 m by 12.5 m.
fn grid() -> Vec<(TraceHeader, [f32; 2])> {
    let mut traces = Vec::new();
    for i in [10, 14, 18] {
        for j in [5, 6] {
            let y = 500.0 + 20.0 * f64::from((i - 10) / 4);
            traces.push(trace(i, j, [100.0 + 12.5 * f64::from(j - 5), y]));
        }
    }
    traces
}

#[rstest]
#[case::as_is(&[0, 1, 2, 3, 4, 5], "iline (y), xline (x), sample (z)")]
#[case::crossline_slow(&[0, 2, 4, 1, 3, 5], "xline (x), iline (y), sample (z)")]
#[case::backwards(&[5, 4, 3, 2, 1, 0], "iline (y), xline (x), sample (z)")]
#[case::shuffled(&[3, 0, 5, 1, 4, 2], "traces in no order, sample (z)")]
fn any_order_of_traces_gives_the_same_cube(#[case] order: &[usize], #[case] says: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.sgy");
    let all = grid();
    write(&path, &order.iter().map(|&n| all[n]).collect::<Vec<_>>());
    let cube = open(&path).unwrap();
    assert_eq!((cube.shape(), cube.spacing()), ([2, 3, 2], [12.5, 20.0, 10.0]));
    assert_eq!(cube.origin(), [100.0, 500.0, 0.0]);
    assert_eq!(cube.file_order(), says);
    let read = cube.read().unwrap();
    for ((ix, iy, k), value) in read.indexed_iter() {
        let wanted = if k == 0 { 10 + 4 * iy } else { 5 + ix };
        assert_eq!(*value, wanted as f32, "({ix}, {iy}, {k})");
    }
}

#[test]
fn axes_point_where_coordinates_grow_and_may_be_turned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.sgy");
    // Inlines run along (3, 4) / 5, 50 m apart, crosslines along (-4, 3) / 5, 10 m apart.
    let mut traces = Vec::new();
    for i in 0..4 {
        for j in 0..3 {
            let (u, v) = (50.0 * f64::from(i), 10.0 * f64::from(j));
            traces.push(trace(i, j, [0.6 * u - 0.8 * v, 0.8 * u + 0.6 * v]));
        }
    }
    write(&path, &traces);
    let cube = open(&path).unwrap();
    // Crosslines are more along x, towards smaller x: they are turned round.
    assert_eq!((cube.shape(), cube.axes()[0].field), ([3, 4, 2], "xline"));
    assert!((cube.spacing()[0] - 10.0).abs() < 1e-9 && (cube.spacing()[1] - 50.0).abs() < 1e-9);
    assert_eq!(cube.trace_of(0, 0), 2);
    assert_eq!(cube.origin()[..2], [-16.0, 12.0]);
}

#[test]
fn a_line_has_one_node_along_y_and_cdp_numbers_suffice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.sgy");
    let line: Vec<_> = (0..5)
        .map(|n| {
            let header = TraceHeader {
                ensemble: 100 + 2 * n,
                cdp: [30.0 * f64::from(n), 40.0 * f64::from(n)],
                ..TraceHeader::default()
            };
            (header, [n as f32, 0.0])
        })
        .collect();
    write(&path, &line);
    let cube = open(&path).unwrap();
    assert_eq!((cube.shape(), cube.spacing()), ([5, 1, 2], [50.0, 50.0, 10.0]));
    let text = cube.to_string();
    assert!(text.contains("x is cdp 100 to 108"), "{text}");
}

#[test]
fn spacing_is_asked_for_where_headers_do_not_say_it_and_overrides_where_they_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.sgy");
    let bare: Vec<_> = grid()
        .into_iter()
        .map(|(header, samples)| (TraceHeader { cdp: [0.0; 2], ..header }, samples))
        .collect();
    write(&path, &bare);
    let error = open(&path).unwrap_err().to_string();
    assert!(error.contains("spacing along x") && error.contains("give the spacing"), "{error}");
    let given = CubeOptions { spacing: [Some(5.0), Some(6.0), Some(7.0)] };
    let cube = SegyCube::open(&path, &SegyOptions::default(), &given).unwrap();
    assert_eq!((cube.spacing(), cube.notes().len()), ([5.0, 6.0, 7.0], 0));
    write(&path, &grid());
    let cube = SegyCube::open(&path, &SegyOptions::default(), &given).unwrap();
    assert_eq!(cube.spacing(), [5.0, 6.0, 7.0]);
    assert!(cube.notes()[0].contains("coordinates say 12.5 m"), "{:?}", cube.notes());
}

type Traces = Vec<(TraceHeader, [f32; 2])>;

#[rstest]
#[case::twice(|t: &mut Traces| t[3] = t[2], "trace 4: iline 14, xline 5 is that of trace 3 already")]
#[case::missing(|t: &mut Traces| { t.remove(3); }, "no trace at iline 14, xline 6")]
#[case::off_step(|t: &mut Traces| t[5].0.inline = 19, "trace 6: iline 19, xline 6 is not on the grid")]
#[case::off_place(|t: &mut Traces| t[3].0.cdp[0] += 3.0, "trace 4: it lies at (115.5, 520) m")]
#[case::skew(|t: &mut Traces| t.iter_mut().for_each(|(h, _)| h.cdp[0] += h.cdp[1]), "angle")]
fn irregular_geometry_is_refused_with_the_traces_that_show_it(
    #[case] damage: fn(&mut Traces),
    #[case] says: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.sgy");
    let mut traces = grid();
    damage(&mut traces);
    write(&path, &traces);
    let error = open(&path).unwrap_err().to_string();
    assert!(error.contains(says), "{error}");
}

#[test]
fn spacing_is_the_roundest_number_that_rounded_coordinates_leave_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.sgy");
    // A grid of 12.5 m turned by 10 degrees, coordinates in whole metres: ends are off by up to
    // half a metre each, over 40 intervals.
    let (sin, cos) = 10_f64.to_radians().sin_cos();
    let mut traces = Vec::new();
    for i in 0..41 {
        for j in 0..41 {
            let (u, v) = (12.5 * f64::from(j), 12.5 * f64::from(i));
            let cdp = [(cos * u - sin * v).round(), (sin * u + cos * v).round()];
            traces.push(trace(i, j, cdp));
        }
    }
    let mut header = SegyHeader::new(0.01, 2);
    header.coordinate_scalar = Some(1);
    let mut writer = SegyWriter::create(&path, &header).unwrap();
    traces.iter().for_each(|(header, samples)| writer.write_trace(header, samples).unwrap());
    writer.finish().unwrap();
    let cube = open(&path).unwrap();
    assert_eq!((cube.shape(), cube.spacing()), ([41, 41, 2], [12.5, 12.5, 10.0]));
    assert!(cube.notes()[0].contains("12.5 m within their rounding"), "{:?}", cube.notes());
}

#[test]
fn a_small_interval_is_not_guessed_at() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.sgy");
    let mut writer = SegyWriter::create(&path, &SegyHeader::new(10e-6, 2)).unwrap();
    for (header, samples) in grid() {
        writer.write_trace(&header, &samples).unwrap();
    }
    writer.finish().unwrap();
    let error = open(&path).unwrap_err().to_string();
    assert!(error.contains("number is 10;"), "{error}");
}

#[test]
fn bytes_that_revision_0_does_not_have_give_way_to_those_that_make_a_grid() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.sgy");
    let mut traces = grid();
    for ((header, _), (number, junk)) in traces.iter_mut().zip((1..).zip([7, 0, 3, 9, 1, 4])) {
        (header.ensemble, header.inline, header.crossline) = (number, junk, 0);
        header.cdp = [10.0 * f64::from(number), 0.0];
    }
    for (revision, says) in [(0, ""), (1, "trace 3: iline 3, xline 0 is not on the grid")] {
        let mut header = SegyHeader::new(0.01, 2);
        (header.revision, header.format) = (Some(revision), SampleFormat::Ibm);
        let mut writer = SegyWriter::create(&path, &header).unwrap();
        traces.iter().for_each(|(header, samples)| writer.write_trace(header, samples).unwrap());
        writer.finish().unwrap();
        match open(&path) {
            Ok(cube) => {
                assert_eq!((revision, cube.shape(), cube.spacing()[0]), (0, [6, 1, 2], 10.0));
                assert!(cube.notes()[0].contains("placed by cdp"), "{:?}", cube.notes());
            }
            Err(error) => assert!(revision == 1 && error.to_string().contains(says), "{error}"),
        }
    }
}

#[test]
fn angles_are_not_taken_for_metres() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.sgy");
    write(&path, &grid());
    let mut bytes = std::fs::read(&path).unwrap();
    // Coordinate units of every trace: seconds of arc.
    (0..6).for_each(|n| bytes[3600 + n * 248 + 89] = 2);
    std::fs::write(&path, bytes).unwrap();
    let error = open(&path).unwrap_err().to_string();
    assert!(error.contains("coordinates are angles: give the spacing"), "{error}");
}

#[test]
fn moved_fields_place_the_traces() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.sgy");
    write(&path, &grid());
    // The crossline is the number of the shot record to some programs.
    let plain = SegyReader::open(&path, &SegyOptions::default()).unwrap();
    let mut header = SegyHeader::like(&plain).unwrap();
    header.text.clear();
    let moved = folder.path().join("n.sgy");
    let mut writer = SegyWriter::create(&moved, &header).unwrap();
    for n in 0..plain.traces() {
        let mut raw = plain.header(n).unwrap();
        let (inline, crossline) = (raw.i32(189), raw.i32(193));
        raw.set_i32(9, inline);
        raw.set_i32(13, crossline);
        raw.set_i32(189, 0);
        raw.set_i32(193, 0);
        writer.write_raw(&raw, &[], &plain.samples_of(n).unwrap()).unwrap();
    }
    writer.finish().unwrap();
    let options =
        SegyOptions { fields: "iline=9,xline=13".parse().unwrap(), ..SegyOptions::default() };
    let cube = SegyCube::open(&moved, &options, &CubeOptions::default()).unwrap();
    assert_eq!((cube.shape(), cube.axes()[1].first), ([2, 3, 2], 10));
}
