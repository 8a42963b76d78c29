use std::path::Path;

use super::*;
use clap::Parser;
use ndarray::{Array3, s};
use rstest::rstest;
use temblor_io::npy;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    args: ModelArgs,
}

fn command(words: &[&str]) -> Result<()> {
    let words = ["model"].into_iter().chain(words.iter().copied());
    run(&Cli::try_parse_from(words)?.args, true)
}

fn read(path: &Path) -> Array3<f32> {
    VolumeArgs::default().open(path, None).unwrap().read().unwrap()
}

/// Whole numbers, different at each node.
fn model(folder: &Path, shape: [usize; 3]) -> PathBuf {
    let path = folder.join("in.npy");
    let count: i16 = shape.iter().product::<usize>().try_into().unwrap();
    npy::write(&path, &shape, &(1..=count).map(f32::from).collect::<Vec<_>>()).unwrap();
    path
}

#[rstest]
fn conversion_there_and_back_keeps_every_value(
    #[values("a.npy", "a.bin")] middle: &str,
    #[values("f4", "f8", "i2", "i4")] element: &str,
    #[values(false, true)] swap: bool,
) {
    let folder = tempfile::tempdir().unwrap();
    let input = model(folder.path(), [5, 4, 7]);
    let (middle, output) = (folder.path().join(middle), folder.path().join("out.npy"));
    let [i, m, o] = [&input, &middle, &output].map(|p| p.to_str().unwrap());
    let raw = middle.extension().is_some_and(|e| e == "bin");
    let mut there = vec!["convert", i, m, "--element", element];
    let mut back = vec!["convert", m, o, "--element", "f4"];
    if raw && swap {
        there.push("--big-endian");
        back.extend(["--byte-order", "big"]);
    }
    if raw {
        back.extend(["--shape", "5,4,7", "--raw-element", element]);
    }
    command(&there).unwrap();
    command(&back).unwrap();
    assert_eq!(std::fs::read(&output).unwrap(), std::fs::read(&input).unwrap());
}

#[rstest]
#[case("zyx", [2, 1, 0])]
#[case("yxz", [1, 0, 2])]
#[case("zxy", [1, 2, 0])]
fn transposed_axes_are_where_they_belong(#[case] axes: &str, #[case] places: [usize; 3]) {
    // The file's axes are named slowest first; x of the result is where x stands in that name.
    let folder = tempfile::tempdir().unwrap();
    let input = model(folder.path(), [5, 4, 7]);
    let output = folder.path().join("out.npy");
    let [i, o] = [&input, &output].map(|p| p.to_str().unwrap());
    command(&["convert", i, o, "--transpose", axes]).unwrap();
    assert_eq!(read(&output), read(&input).permuted_axes(places));
}

#[test]
fn transposing_a_section_puts_depth_last() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("zx.npy"), folder.path().join("xz.npy"));
    npy::write(&input, &[2, 3], &[1_f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let [i, o] = [&input, &output].map(|p| p.to_str().unwrap());
    command(&["convert", i, o, "--transpose"]).unwrap();
    assert_eq!(read(&output).into_raw_vec_and_offset().0, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    assert_eq!(npy::read_header(&output).unwrap().shape, [3, 2]);
}

#[test]
fn number_that_does_not_fit_stops_the_conversion_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("a.npy"), folder.path().join("b.npy"));
    npy::write(&input, &[2, 2], &[1500_f32, 2000.0, 40_000.0, 1.0]).unwrap();
    let [i, o] = [&input, &output].map(|p| p.to_str().unwrap());
    let error = command(&["convert", i, o, "--element", "i2"]).unwrap_err().to_string();
    assert!(error.contains("i2 cannot hold it"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn layers_begin_where_they_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vp.npy");
    let out = path.to_str().unwrap();
    let flags = ["--speeds", "1500,2000,3000", "--depths", "40,90", "--shape", "4,12"];
    command(&[&["make", "layers", "--spacing", "10", "-o", out], &flags[..]].concat()).unwrap();
    let wanted = [[1500.0; 4].as_slice(), &[2000.0; 5], &[3000.0; 3]].concat();
    let model = read(&path);
    assert_eq!(model.dim(), (4, 1, 12));
    for i in 0..4 {
        assert_eq!(model.slice(s![i, 0, ..]).to_vec(), wanted);
    }
}

#[rstest]
#[case("faults")]
#[case("salt")]
fn model_does_not_depend_on_how_finely_it_is_sampled(#[case] kind: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (coarse, fine) = (folder.path().join("a.npy"), folder.path().join("b.npy"));
    let make = |path: &Path, shape, spacing| {
        let out = path.to_str().unwrap();
        command(&["make", kind, "--shape", shape, "--spacing", spacing, "-o", out]).unwrap();
        read(path)
    };
    let coarse = make(&coarse, "41,3,21", "100");
    let fine = make(&fine, "81,5,41", "50");
    assert_eq!(coarse, fine.slice(s![..;2, ..;2, ..;2]));
}

#[rstest]
#[case(&["make", "constant", "--speed", "-5"], "positive number")]
#[case(&["make", "layers", "--speeds", "1,2,3", "--depths", "5"], "1 interfaces")]
#[case(&["make", "layers", "--speeds", "1,2,3", "--depths", "9,5"], "grow downwards")]
#[case(&["make", "gradient", "--gradient=-500"], "lower --gradient")]
#[case(&["make", "salt", "--water", "1e6"], "three tenths")]
#[case(&["make", "faults", "--smooth", "1e9"], "--smooth")]
fn impossible_models_are_refused(#[case] words: &[&str], #[case] says: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vp.npy");
    let grid = ["--shape", "10,10", "--spacing", "10", "-o", path.to_str().unwrap()];
    let error = command(&[words, &grid[..]].concat()).unwrap_err().to_string();
    assert!(error.contains(says), "{error}");
    assert!(!path.exists());
}
