use super::*;
use clap::Parser;
use rstest::rstest;
use temblor_io::npy;
use temblor_io::segy::{SegyHeader, SegyWriter, TraceHeader};

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    args: ShowArgs,
}

fn arguments(file: &Path, flags: &[&str]) -> ShowArgs {
    let words = ["show", file.to_str().unwrap()].into_iter().chain(flags.iter().copied());
    Cli::try_parse_from(words).unwrap().args
}

/// Two shots, 1 and 7, of ten traces 25 m apart.
fn survey(folder: &Path) -> PathBuf {
    let path = folder.join("survey.sgy");
    let mut writer = SegyWriter::create(&path, &SegyHeader::new(0.004, 50)).unwrap();
    for shot in [1, 7] {
        for n in 0..10 {
            let header = TraceHeader {
                field_record: shot,
                receiver: [25.0 * f64::from(n), 0.0, 10.0],
                ..TraceHeader::default()
            };
            let samples: Vec<f32> = (0_u8..50).map(|k| f32::from(k).sin()).collect();
            writer.write_trace(&header, &samples).unwrap();
        }
    }
    writer.finish().unwrap();
    path
}

fn array(folder: &Path, name: &str, shape: &[usize], value: impl Fn(usize) -> f32) -> PathBuf {
    let path = folder.join(name);
    let values: Vec<f32> = (0..shape.iter().product()).map(value).collect();
    npy::write(&path, shape, &values).unwrap();
    path
}

#[test]
fn picture_is_a_png_beside_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = survey(folder.path());
    run(&arguments(&file, &["--size", "400x300"])).unwrap();
    let decoder = png::Decoder::new(std::io::BufReader::new(
        std::fs::File::open(folder.path().join("survey.png")).unwrap(),
    ));
    let reader = decoder.read_info().unwrap();
    assert_eq!((reader.info().width, reader.info().height), (400, 300));
}

#[rstest]
#[case(&["--shot", "7"])]
#[case(&["--shot", "7", "--trace-range", "2:4", "--style", "wiggle"])]
#[case(&["--style", "both", "--clip", "90", "--title", "T"])]
fn shots_and_traces_can_be_chosen(#[case] flags: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let file = survey(folder.path());
    draw(&arguments(&file, flags), Path::new("a.png")).unwrap();
}

#[rstest]
#[case(&["--shot", "3"], "field records are 1, 7")]
#[case(&["--trace-range", "5:11"], "there are 10 traces")]
#[case(&["--size", "100x100"], "larger --size")]
#[case(&["--kind", "model"], "a model has one column per place")]
fn what_a_gather_has_not_is_named(#[case] flags: &[&str], #[case] says: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = survey(folder.path());
    let error = draw(&arguments(&file, flags), Path::new("a.png")).unwrap_err().to_string();
    assert!(error.contains(says), "{error}");
}

#[rstest]
#[case(&[8, 9], 1.0, &[], Kind::Model)]
#[case(&[8, 9], -1.0, &[], Kind::Seismogram)]
#[case(&[8, 9], -1.0, &["--spacing", "5"], Kind::Snapshot)]
#[case(&[8, 9], 1.0, &["--dt-ms", "2"], Kind::Seismogram)]
#[case(&[8, 1, 9], -1.0, &[], Kind::Snapshot)]
#[case(&[8, 4, 9], 1.0, &[], Kind::Model)]
fn kind_is_guessed_from_signs_and_axes(
    #[case] shape: &[usize],
    #[case] value: f32,
    #[case] flags: &[&str],
    #[case] kind: Kind,
) {
    let folder = tempfile::tempdir().unwrap();
    let file = array(folder.path(), "a.npy", shape, |n| if n % 2 == 0 { value } else { 1.0 });
    let args = arguments(&file, flags);
    let volume = args.volume.open(&args.file, args.spacing).unwrap();
    assert_eq!(guess_kind(&args, &volume).unwrap(), kind);
}

#[test]
fn model_is_drawn_true_to_scale() {
    let folder = tempfile::tempdir().unwrap();
    let file = array(folder.path(), "vp.npy", &[40, 20], |n| 1500.0 + n as f32);
    let tall = draw(&arguments(&file, &["--spacing", "10,10"]), Path::new("a.png")).unwrap();
    let flat = draw(&arguments(&file, &["--spacing", "10,5"]), Path::new("a.png")).unwrap();
    // Half the depth is half the plot; what stands around it is the same.
    let plot = 2 * (tall.height - flat.height);
    let around = tall.height - plot;
    assert_eq!(tall.width, flat.width);
    assert!(around.abs_diff(112) <= 2, "{around} pixels around a plot of {plot}");
}

#[rstest]
#[case("x=2", 20, 30)]
#[case("y=0", 10, 30)]
#[case("z=29", 10, 20)]
fn every_slice_can_be_drawn(#[case] slice: &str, #[case] across: u32, #[case] down: u32) {
    let folder = tempfile::tempdir().unwrap();
    let file = array(folder.path(), "vp.npy", &[10, 20, 30], |n| 1500.0 + n as f32);
    let args = arguments(&file, &["--spacing", "10", "--slice", slice]);
    let image = draw(&args, Path::new("a.png")).unwrap();
    // 1200 across less 212 beside the plot.
    let plot = (988.0 * f64::from(down) / f64::from(across)).min(1600.0);
    assert!((f64::from(image.height) - 112.0 - plot).abs() <= 2.0, "{} {plot}", image.height);
}

#[test]
fn slice_outside_is_refused_with_the_range() {
    let folder = tempfile::tempdir().unwrap();
    let file = array(folder.path(), "vp.npy", &[4, 5, 6], |_| 1.0);
    let args = arguments(&file, &["--slice", "z=6"]);
    let error = draw(&args, Path::new("a.png")).unwrap_err().to_string();
    assert!(error.contains("nodes 0 to 5 along z"), "{error}");
}

#[test]
fn raw_file_without_shape_is_told_the_flag() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("vp.bin");
    std::fs::write(&file, [0; 400]).unwrap();
    let error = draw(&arguments(&file, &[]), Path::new("a.png")).unwrap_err().to_string();
    assert!(error.contains("--shape"), "{error}");
}

#[test]
fn input_is_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let file = array(folder.path(), "vp.npy", &[4, 5], |_| 1.0);
    let output = file.to_str().unwrap().to_owned();
    let error = run(&arguments(&file, &["-o", &output])).unwrap_err().to_string();
    assert!(error.contains("would replace"), "{error}");
}

#[rstest]
#[case(&["--clip", "0"])]
#[case(&["--slice", "w=3"])]
#[case(&["--trace-range", "4:2"])]
#[case(&["--trace-range", "0:2"])]
#[case(&["--size", "10x10"])]
fn flags_out_of_range_are_refused(#[case] flags: &[&str]) {
    let words = ["show", "a.npy"].into_iter().chain(flags.iter().copied());
    assert!(Cli::try_parse_from(words).is_err());
}
