//! Operators by name, by table and by error.

use rstest::rstest;

use crate::support::{Folder, SMALL, replaced};

/// The small run with an `[operator]` table.
fn with(table: &str) -> Folder {
    Folder::small("[boundary]", &format!("[operator]\n{table}\n[boundary]"))
}

/// A line of `check`, without its first word.
#[track_caller]
fn line<'a>(text: &'a str, first: &str) -> &'a str {
    let found = text.lines().find_map(|line| line.trim_start().strip_prefix(first));
    found.unwrap_or_else(|| panic!("no line `{first}` in {text}")).trim()
}

#[rstest]
#[case::both("order = 8\nname = \"direct-8\"", &["both order and name"])]
#[case::unknown("name = \"remez-r3\"", &["remez-r3", "minimax-r2 to minimax-r8"])]
#[case::radius("name = \"minimax-r9\"", &["radius is 9", "the nearest is 8"])]
#[case::band("name = \"minimax-r3:ppw=1.9\"", &["points per wavelength of the fit is 1.9", "the nearest is 2.1"])]
#[case::courant("name = \"minimax-r3:courant=0.9\"", &["Courant number of the fit is 0.9", "the nearest is 0."])]
fn operators_that_do_not_exist_are_refused_with_the_nearest(
    #[case] table: &str,
    #[case] pieces: &[&str],
) {
    let folder = with(table);
    folder.temblor(&["check", "run.toml"]).says(2, pieces);
    folder.temblor(&["run", "run.toml"]).says(2, pieces);
    assert_eq!(folder.names(), ["run.toml"]);
}

#[test]
fn time_is_not_corrected_twice() {
    let text =
        replaced(SMALL, "cfl_fraction = 0.9", "cfl_fraction = 0.9\ndispersion_correction = true");
    let table = "[operator]\nname = \"minimax-r3:courant=run\"\n[boundary]";
    let folder = Folder::with(&replaced(&text, "[boundary]", table));
    folder.temblor(&["check", "run.toml"]).says(2, &["once more", "leave out courant"]);
}

#[test]
fn a_name_leaves_the_band_to_the_run_and_the_run_keeps_it() {
    let folder = with("name = \"minimax-r3:courant=run\"");
    let said = folder.temblor(&["check", "run.toml"]).says(0, &[]).stdout;
    // 2000 m/s over 10 m and 2.764 times 15 Hz: 4.82 points.
    assert!(line(&said, "operator").starts_with("minimax-r3:ppw=4.82:courant=0.5"), "{said}");
    assert!(said.contains("0.9000 of the largest stable"), "{said}");
    folder.temblor(&["run", "run.toml"]).says(0, &[]);
}

#[test]
fn a_bound_on_the_dispersion_chooses_operator_and_step_together() {
    let folder = Folder::with(SMALL);
    let args = ["check", "run.toml", "--max-dispersion", "0.5%"];
    let said = folder.temblor(&args).says(0, &[]).stdout;
    let why = line(&said, "why");
    assert!(why.contains("costs least") && why.contains("flops grow with the radius"), "{said}");
    let band = line(&said, "in the band");
    let with_time = band.split(", ").nth(1).and_then(|t| t.split(' ').next()).unwrap();
    assert!(with_time.parse::<f64>().unwrap() <= 0.5, "{band}");
    folder.temblor(&["run", "run.toml", "--max-dispersion", "0.5%"]).says(0, &["costs least"]);
}

#[test]
fn bounds_that_cannot_be_met_are_refused_with_one_that_can() {
    let folder = Folder::with(SMALL);
    let refused = |bound: &str, pieces: &[&str]| {
        folder.temblor(&["check", "run.toml", "--max-dispersion", bound]).says(2, pieces);
    };
    refused("0.00001%", &["the nearest is 0.0001 %"]);
    refused("80%", &["the nearest is 50 %"]);
    refused("0.1", &["a percentage, such as 0.1%"]);
    // At 2.2 points per wavelength nothing is as right as that.
    let coarse = Folder::small("peak_hz = 15.0", "peak_hz = 32.0");
    let args = ["check", "run.toml", "--max-dispersion", "0.001%"];
    coarse.temblor(&args).says(2, &["cells per wavelength", "the nearest is", "finer grid"]);
}

#[test]
fn the_table_has_the_audit_s_figures_and_the_plot_is_drawn() {
    let folder = Folder::with(SMALL);
    let args = ["operator", "compact-r1", "compact-r2", "minimax-r3", "--json", "--plot", "e.svg"];
    let said = folder.temblor(&args).says(0, &[]).stdout;
    let rows: serde_json::Value = serde_json::from_str(&said).unwrap();
    let limit = |n: usize| rows[n]["courant_limit"].as_f64().unwrap();
    assert!((limit(0) - 0.57735).abs() < 1e-5 && (limit(1) - 0.5).abs() < 1e-9, "{said}");
    // Points for 0.1 % of an independent program: 40.5 and 9.6.
    let points = |n: usize| rows[n]["points_for"][1].as_f64().unwrap();
    assert!((points(0) - 40.5).abs() < 0.1 && (points(1) - 9.6).abs() < 0.1, "{said}");
    assert_eq!(rows[2]["name"], "minimax-r3:ppw=8");
    assert!(String::from_utf8(folder.read("e.svg")).unwrap().contains("points per wavelength"));
    folder.temblor(&["operator", "--plot", "e.png"]).says(0, &[]);
    assert!(folder.read("e.png").starts_with(b"\x89PNG"));
    folder.temblor(&["operator", "--plot", "e.pdf"]).says(2, &["e.pdf", ".svg"]);
    folder.temblor(&["operator", "minimax-r3:courant=run"]).says(2, &["no run here"]);
}

#[test]
fn the_step_of_fourth_order_in_time_is_shown_beside_leapfrog() {
    let folder = Folder::with(SMALL);
    let rows = |more: &[&str]| -> serde_json::Value {
        let args = [&["operator", "direct-8", "--courant", "0.4", "--json"], more].concat();
        serde_json::from_str(&folder.temblor(&args).says(0, &[]).stdout).unwrap()
    };
    let (leapfrog, fourth) = (rows(&[]), rows(&["--lax-wendroff", "--plot", "e.svg"]));
    // The figures of docs/decisions/0013-operators.md at 5 points, and a limit sqrt(3) as large.
    let error = |rows: &serde_json::Value| rows[0]["errors"][1].as_f64().unwrap();
    assert!((error(&leapfrog) - 1.08e-2).abs() < 5e-5 && (error(&fourth) - 7.8e-4).abs() < 5e-6);
    let limit = |rows: &serde_json::Value| rows[0]["courant_limit"].as_f64().unwrap();
    assert!((limit(&fourth) / limit(&leapfrog) - 3.0_f64.sqrt()).abs() < 1e-12);
    assert!(String::from_utf8(folder.read("e.svg")).unwrap().contains("Lax and Wendroff"));
    folder.temblor(&["operator", "direct-8", "--lax-wendroff"]).says(2, &["--courant"]);
}
