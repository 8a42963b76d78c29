//! The benchmark of patch kernels, on the smallest of its rows.

use serde_json::Value;

use crate::support::Folder;

fn measure(folder: &Folder, more: &[&str], code: i32) -> (Value, String) {
    let mut args = vec!["bench", "--preset", "dslhype", "--rows", "Euler FV", "--size", "3"];
    args.extend(["--backend", "cpu", "--seconds", "0.005", "--repeats", "3", "--json", "out.json"]);
    args.extend(more);
    let done = folder.temblor(&args).says(code, &[]);
    (serde_json::from_slice(&folder.read("out.json")).unwrap(), done.stdout)
}

#[test]
fn patch_kernels_get_compute_and_total_times_by_schedule_and_k() {
    let folder = Folder::with("");
    let more = ["--patches", "1,64", "--plots", "plots", "--tables"];
    let (file, stdout) = measure(&folder, &more, 0);
    let rows = file["rows"].as_array().unwrap();
    let name = |row: &Value| {
        let (variant, operator) = (&row["case"]["variant"], &row["case"]["operator"]);
        format!("{} {}", variant.as_str().unwrap(), operator.as_str().unwrap())
    };
    let names: Vec<_> = rows.iter().map(name).collect();
    let schedules = ["fused", "plain", "plain-flat"];
    let wanted: Vec<_> = schedules
        .iter()
        .flat_map(|s| [1, 64].map(|k| format!("{s} euler-fv-rusanov-k{k}")))
        .collect();
    assert_eq!(names, wanted);
    for row in rows {
        let outcome = &row["outcome"];
        assert_eq!(outcome["kind"], "measured", "{row}");
        for times in [&outcome["seconds"], &outcome["patch"]["total"]] {
            let times = times.as_array().unwrap();
            assert!(times.len() == 3 && times.iter().all(|t| t.as_f64().unwrap() > 0.0), "{row}");
        }
        // Within a rounding or so of the interpreter, although a * b + c may be one.
        assert!(outcome["accuracy"][0]["linf"].as_f64().unwrap() <= 1e-12, "{row}");
        // 8 (5 (1 + 2 * 3 / 3) + 5) bytes and 27 cells in a patch.
        assert_eq!(outcome["bytes_per_point"], 160.0);
        assert!(outcome["roof_bandwidth"].as_f64().unwrap() > 1e8);
    }
    assert!(stdout.contains("DSLHyPE, figures 3 and 4"), "{stdout}");
    for name in ["patches-euler-fv-p3-per-cell.svg", "patches-euler-fv-p3-summed.svg"] {
        let plot = folder.read(&format!("plots/{name}"));
        assert!(String::from_utf8_lossy(&plot).contains("plain-flat"), "{name}");
    }
}

#[test]
fn schedules_with_openmp_are_rows_by_name_alone() {
    let folder = Folder::with("");
    let (file, _) = measure(&folder, &["--patches", "2", "--variant", "openmp,plain-openmp"], 0);
    let rows = file["rows"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|row| row["case"]["variant"].as_str().unwrap()).collect();
    assert_eq!(names, ["openmp", "plain-openmp"]);
    for row in rows {
        assert_eq!(row["outcome"]["kind"], "measured", "{row}");
    }
}

#[test]
fn patches_that_do_not_fit_are_skipped_with_the_bytes() {
    let folder = Folder::with("");
    let more = ["--patches", "4000000000", "--variant", "plain"];
    let (file, _) = measure(&folder, &more, 0);
    let outcome = &file["rows"][0]["outcome"];
    assert_eq!(outcome["kind"], "skipped");
    // 2 states of 125 voxels with their halo and 5 unknowns of 8 bytes.
    let why = outcome["why"].as_str().unwrap();
    assert!(why.contains("4000000000 patches need") && why.contains("are free"), "{why}");
}

#[test]
fn rows_of_a_preset_are_chosen_by_name() {
    let folder = Folder::with("");
    let dry = ["bench", "--preset", "dslhype", "--rows", "CCZ4 FD4", "--size", "3", "--dry-run"];
    let dry = [&dry[..], &["--patches", "2", "--backend", "cpu"]].concat();
    let done = folder.temblor(&dry).says(0, &[]);
    assert!(done.stdout.contains("3 rows; nothing was run"), "{}", done.stdout);
    let wrong = ["bench", "--preset", "dslhype", "--rows", "Euler"];
    folder.temblor(&wrong).says(2, &["--rows Euler", "Euler FV", "CCZ4 FD4"]);
}

#[test]
fn a_run_that_was_cut_goes_on_from_its_file() {
    let folder = Folder::with("");
    let plain = ["--variant", "plain", "--roof", "100"];
    let run = |more: &[&str], code| measure(&folder, &[&plain, more].concat(), code).0;
    // Time for no row, then for one of two, then for the rest.
    let none = run(&["--patches", "1", "--within", "1e-9"], 130);
    assert_eq!(none["rows"].as_array().unwrap().len(), 0);
    assert_eq!(none["runs"][0]["complete"], false);
    let first = run(&["--patches", "1", "--resume", "out.json"], 0);
    let all = run(&["--patches", "1,8", "--resume", "out.json"], 0);
    let rows = all["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| &row["run"]).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(rows[0], first["rows"][0], "measured once");
    assert!(rows.iter().all(|row| row["outcome"]["kind"] == "measured"), "{all}");
    assert_eq!(all["runs"].as_array().unwrap().len(), 3);
    let lost = ["bench", "--preset", "dslhype", "--backend", "cpu", "--resume", "nowhere.json"];
    folder.temblor(&lost).says(2, &["nowhere.json"]);
}
