//! Seismic files from the command line: describe, convert, headers, and runs that use them.

use rstest::rstest;

use crate::support::{Folder, SMALL, command, npy_f4, read_npy_f4, replaced};

/// A model of 61 x 41 nodes with a wave speed that differs at every node.
fn model() -> Vec<f32> {
    (0..61_u16).flat_map(|i| (0..41_u16).map(move |k| f32::from(1800 + 7 * i + 11 * k))).collect()
}

fn with_model() -> Folder {
    let folder = Folder::small("constant = 2000.0", "file = \"vp.npy\"");
    folder.write("vp.npy", &npy_f4(&[61, 41], &model()));
    folder
}

#[test]
fn conversions_in_a_circle_keep_every_byte_of_a_model() {
    let folder = with_model();
    let files = ["vp.npy", "vp.rsf", "vp.vti", "vp.su", "vp.sgy", "vp.bin", "back.npy"];
    for pair in files.windows(2) {
        let mut args = vec!["io", "convert", pair[0], pair[1], "--as", "volume", "--spacing", "10"];
        if pair[0] == "vp.bin" {
            args.extend(["--shape", "61,41"]);
        }
        folder.temblor(&args).says(0, &[]);
    }
    let (shape, values) = read_npy_f4(&folder.read("back.npy"));
    assert_eq!(shape, "61, 41");
    assert!(values.iter().zip(model()).all(|(a, b)| a.to_bits() == b.to_bits()));
}

#[rstest]
#[case("vp.rsf")]
#[case("vp.su")]
#[case("vp.vti")]
#[case("vp.sgy")]
fn a_model_gives_the_same_traces_whatever_its_format(#[case] name: &str) {
    let folder = with_model();
    folder.temblor(&["run", "run.toml", "--backend", "cpu-ref"]).says(0, &[]);
    let wanted = folder.read("shot.npy");
    folder.temblor(&["model", "convert", "vp.npy", name, "--spacing", "10"]).says(0, &[]);
    let text = replaced(SMALL, "constant = 2000.0", &format!("file = \"{name}\""));
    folder.write("run.toml", text.as_bytes());
    folder.temblor(&["check", "run.toml"]).says(0, &[]);
    folder.temblor(&["run", "run.toml", "--backend", "cpu-ref"]).says(0, &[]);
    assert!(folder.read("shot.npy") == wanted);
}

#[test]
fn a_spacing_that_is_not_the_grids_is_shown_with_both_values() {
    let folder = with_model();
    folder.temblor(&["model", "convert", "vp.npy", "vp.rsf", "--spacing", "12.5"]).says(0, &[]);
    let text = replaced(SMALL, "constant = 2000.0", "file = \"vp.rsf\"");
    folder.write("run.toml", text.as_bytes());
    let done = folder.temblor(&["check", "run.toml"]).says(0, &[]);
    assert!(done.stdout.contains("along x is 12.5 m, [grid] says 10 m"), "{}", done.stdout);
    let done = folder.temblor(&["io", "describe", "vp.rsf", "--spacing", "10"]).says(0, &[]);
    assert!(done.stdout.contains("spacing is 12.5, 1, 12.5 m, 10, 10, 10 m"), "{}", done.stdout);
}

#[rstest]
#[case("shot.su")]
#[case("shot.rsf")]
#[case("shot.sgy")]
fn a_run_writes_the_same_samples_in_every_format(#[case] name: &str) {
    let folder = Folder::small("shot.npy", name);
    folder.temblor(&["run", "run.toml", "--backend", "cpu-ref"]).says(0, &[]);
    folder.temblor(&["io", "convert", name, "converted.npy"]).says(0, &[]);
    let direct = Folder::with(SMALL);
    direct.temblor(&["run", "run.toml", "--backend", "cpu-ref"]).says(0, &[]);
    assert!(folder.read("converted.npy") == direct.read("shot.npy"));
    folder.temblor(&["show", name, "-o", "shot.png"]).says(0, &[]);
    assert!(folder.read("shot.png").starts_with(b"\x89PNG"));
}

#[test]
fn headers_are_printed_as_csv_in_metres() {
    let folder = Folder::small("shot.npy", "shot.su");
    folder.temblor(&["run", "run.toml", "--backend", "cpu-ref"]).says(0, &[]);
    let args =
        ["io", "headers", "shot.su", "--fields", "fldr,tracf,gx,sdepth,dt", "--metres", "--csv"];
    let done = folder.temblor(&args).says(0, &[]);
    let lines: Vec<_> = done.stdout.lines().collect();
    // Receivers at 100, 200, .. 500 m; the source 200 m deep; 4 ms.
    let wanted = ["trace,fldr,tracf,gx,sdepth,dt", "1,1,1,100,200,4000", "2,1,2,200,200,4000"];
    assert_eq!(lines[..3], wanted);
    assert_eq!(lines.len(), 6);
    folder
        .temblor(&["io", "headers", "shot.su", "--fields", "fldr,offset2"])
        .says(2, &["no field `offset2`", "--list"]);
}

#[test]
fn description_says_what_is_wrong_with_the_numbers_and_where() {
    let folder = Folder::with(SMALL);
    let mut values = model();
    (values[41], values[45], values[50]) = (f32::NAN, f32::INFINITY, 1e-40);
    values[60] = 0.0;
    folder.write("vp.npy", &npy_f4(&[61, 41], &values));
    let done = folder.temblor(&["io", "describe", "vp.npy", "--spacing", "25"]).says(0, &[]);
    for line in [
        "shape      (61, 1, 41)",
        "x        0 to 1500, every 25",
        "NaN        1, the first at node (1, 0, 0)",
        "infinite   1, the first at node (1, 0, 4)",
        "denormal   1, the first at node (1, 0, 9)",
        "zero       1, the first at node (1, 0, 19)",
        "1 values are zero or negative",
    ] {
        assert!(done.stdout.contains(line), "no `{line}` in {}", done.stdout);
    }
}

#[test]
fn the_content_is_believed_where_the_name_says_another_format() {
    let folder = Folder::small("shot.npy", "shot.su");
    folder.temblor(&["run", "run.toml", "--backend", "cpu-ref"]).says(0, &[]);
    folder.write("shot.sgy", &folder.read("shot.su"));
    let done = folder.temblor(&["io", "describe", "shot.sgy"]).says(0, &[]);
    assert!(done.stdout.contains("its name says SEG-Y, its content is SU"), "{}", done.stdout);
    assert!(done.stdout.contains("format     SU, f4, little endian"), "{}", done.stdout);
}

#[test]
fn a_file_that_is_cut_short_is_refused_and_nothing_is_written() {
    let folder = Folder::small("shot.npy", "shot.su");
    folder.temblor(&["run", "run.toml", "--backend", "cpu-ref"]).says(0, &[]);
    let bytes = folder.read("shot.su");
    folder.write("shot.su", &bytes[..bytes.len() - 10]);
    // 76 samples make traces of 544 bytes.
    folder
        .temblor(&["io", "convert", "shot.su", "out.sgy"])
        .says(2, &["at byte 2176", "4 whole traces", "cut short"]);
    assert!(!folder.path("out.sgy").exists());
    assert!(folder.names().iter().all(|name| !name.contains(".tmp")), "{:?}", folder.names());
}

#[test]
fn ibm_samples_beyond_their_range_are_counted() {
    let folder = Folder::with(SMALL);
    folder.write("a.npy", &npy_f4(&[2, 3], &[1.0, f32::INFINITY, 0.5, -2.0, f32::NAN, 0.0]));
    let convert = ["io", "convert", "a.npy", "a.sgy", "--dt-ms", "4", "--sample-format", "ibm"];
    folder.temblor(&convert).says(0, &["1 samples were beyond", "1 samples were not a number"]);
    // The largest IBM float, 16^63, is beyond singles.
    let said = ["b.npy: sample 2 is 72370", "trace 1", "write f8"];
    folder.temblor(&["io", "convert", "a.sgy", "b.npy"]).says(2, &said);
    let said = ["b.su, trace 1: sample 2 is 72370"];
    folder.temblor(&["io", "convert", "a.sgy", "b.su"]).says(2, &said);
    folder.temblor(&["io", "convert", "a.sgy", "b.npy", "--element", "f8"]).says(0, &[]);
}

/// Columns of SPS revision 2.1.
fn sps(kind: &str, line: u32, point: u32, east: f64, elevation: f64, depth: f64) -> String {
    format!(
        "{kind}{line:10.2}{point:10.2}  1      {depth:4.1}            {east:9.1}{:10.1}{elevation:6.1}\n",
        0.0
    )
}

#[test]
fn shots_and_receivers_come_from_sps_files_with_their_relation() {
    let folder = Folder::with(&replaced(
        &replaced(
            SMALL,
            "[source]\nwavelet = { kind = \"ricker\", peak_hz = 15.0 }\npositions = [[300.0, 0.0, 200.0]]",
            "[shots]\nwavelet = { kind = \"ricker\", peak_hz = 15.0 }\nsps = { file = \"a.sps\", datum = 150.0 }",
        ),
        "line = { from = [100.0, 0.0, 100.0], to = [500.0, 0.0, 100.0], count = 5 }",
        "sps = { file = \"a.rps\", datum = 150.0 }\nrelation = \"a.xps\"",
    ).replace("shot.npy", "shot.su"));
    let head = "H00 SPS format version num.     SPS 2.1\n";
    let shots: String =
        [1_u32, 2].map(|n| sps("S", 1, n, 100.0 * f64::from(n), 100.0, 5.0)).concat();
    let spread: String =
        (1..=5_u32).map(|n| sps("R", 7, n, 90.0 * f64::from(n), 110.0, 0.0)).collect();
    folder.write("a.sps", format!("{head}{shots}").as_bytes());
    folder.write("a.rps", format!("{head}{spread}").as_bytes());
    let relation = |record: u32, source: f64, from: f64, to: f64| {
        format!(
            "X      {record:8}11{:10.2}{source:10.2}1{:5}{:5}1{:10.2}{from:10.2}{to:10.2}1\n",
            1.0, 1, 3, 7.0
        )
    };
    let relations = relation(11, 1.0, 1.0, 3.0) + &relation(12, 2.0, 3.0, 5.0);
    folder.write("a.xps", format!("{head}{relations}").as_bytes());
    folder.temblor(&["run", "run.toml", "--backend", "cpu-ref"]).says(0, &[]);
    let fields = "fldr,ep,sx,gx,selev,sdepth,gelev";
    let headers = ["io", "headers", "shot.su", "--fields", fields, "--metres", "--csv"];
    let done = folder.temblor(&headers).says(0, &[]);
    let lines: Vec<_> = done.stdout.lines().skip(1).collect();
    // Numbers, elevations and depths are the survey's own, not those of the grid.
    let wanted = [
        "1,11,1,100,90,100,5,110",
        "2,11,1,100,180,100,5,110",
        "3,11,1,100,270,100,5,110",
        "4,12,2,200,270,100,5,110",
        "5,12,2,200,360,100,5,110",
        "6,12,2,200,450,100,5,110",
    ];
    assert_eq!(lines, wanted);
    let repeated = relation(11, 1.0, 1.0, 3.0) + &relation(11, 2.0, 3.0, 5.0);
    folder.write("a.xps", format!("{head}{repeated}").as_bytes());
    let done = folder.temblor(&["check", "run.toml"]).says(0, &[]);
    assert!(done.stdout.contains("shots are numbered from 1"), "{}", done.stdout);
}

#[test]
fn sps_points_become_csv_with_depths_below_a_datum() {
    let folder = Folder::with(SMALL);
    let head = "H00 SPS format version num.     SPS 2.1\n";
    let spread: String = (1..=2_u32).map(|n| sps("R", 7, n, 90.5, 110.0, 2.0)).collect();
    folder.write("a.rps", format!("{head}{spread}").as_bytes());
    folder.temblor(&["io", "convert", "a.rps", "a.csv", "--datum", "150"]).says(0, &[]);
    let wanted = "line,point,index,x,y,z\n7,1,1,90.5,0,42\n7,2,1,90.5,0,42\n";
    assert_eq!(String::from_utf8_lossy(&folder.read("a.csv")), wanted);
    let done = folder.temblor(&["io", "describe", "a.csv"]).says(0, &[]);
    assert!(done.stdout.contains("z, down  42 to 42 m"), "{}", done.stdout);
    let said = ["ends in .csv"];
    folder.temblor(&["io", "convert", "a.rps", "a.sgy"]).says(2, &said);
}

#[test]
fn a_model_among_traces_is_pointed_out_and_a_gather_is_not() {
    let folder = with_model();
    folder.temblor(&["model", "convert", "vp.npy", "vp.sgy", "--spacing", "10"]).says(0, &[]);
    let done = folder.temblor(&["io", "describe", "vp.sgy"]).says(0, &[]);
    assert!(done.stdout.contains("as volume  (61, 1, 41), every 10, 10 m"), "{}", done.stdout);
    let gather = Folder::small("shot.npy", "shot.sgy");
    gather.temblor(&["run", "run.toml", "--backend", "cpu-ref"]).says(0, &[]);
    let done = gather.temblor(&["io", "describe", "shot.sgy"]).says(0, &[]);
    assert!(!done.stdout.contains("as volume"), "{}", done.stdout);
}

#[cfg(unix)]
#[test]
fn an_interrupted_conversion_leaves_nothing_half_written() {
    let folder = Folder::with(SMALL);
    // Sparse: 3 GB of zeros cost no disk to read.
    let file = std::fs::File::create(folder.path("big.bin")).unwrap();
    file.set_len(3_000_000_000).unwrap();
    let args = ["io", "convert", "big.bin", "big.npy", "--shape", "750000,1000"];
    let mut child = command(folder.dir.path(), &args).spawn().unwrap();
    let started = || folder.names().iter().any(|name| name.contains(".tmp"));
    crate::support::wait_for(&mut child, started);
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(folder.names(), ["big.bin", "run.toml"]);
}

#[test]
fn an_ultrasound_spread_keeps_its_places_in_segy() {
    let places = "positions = [[0.0123457, 0.0, 0.0100003], [0.0234561, 0.0, 0.0100003]]";
    let text = SMALL
        .replace("spacing = [10.0, 10.0, 10.0]", "spacing = [0.001, 0.001, 0.001]")
        .replace("peak_hz = 15.0", "peak_hz = 1.5e5")
        .replace("[[300.0, 0.0, 200.0]]", "[[0.03, 0.0, 0.02]]")
        .replace("duration = 0.3", "duration = 3e-5")
        .replace("interval = 0.004", "interval = 4e-7")
        .replace(
            "line = { from = [100.0, 0.0, 100.0], to = [500.0, 0.0, 100.0], count = 5 }",
            places,
        )
        .replace("shot.npy", "shot.sgy");
    let folder = Folder::with(&text);
    folder.temblor(&["run", "run.toml", "--backend", "cpu-ref"]).says(0, &[]);
    let done = folder.temblor(&["io", "describe", "shot.sgy"]).says(0, &[]);
    for piece in ["revision 2.1", "every 0.0004 ms", "receiver x 0.0123457 to 0.0234561"] {
        assert!(done.stdout.contains(piece), "no `{piece}` in {}", done.stdout);
    }
}
