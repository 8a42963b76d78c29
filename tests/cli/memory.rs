//! What a run takes is what `check` says.

use crate::support::Folder;

/// Three grids with halo and pitch, layers, and little else; few steps are enough, since nothing is
/// allocated on the way.
#[cfg(target_os = "linux")]
#[test]
fn peak_memory_at_400_cubed_is_within_3_percent_of_the_prediction() {
    let folder = Folder::with(
        r#"
        [grid]
        shape = [360, 360, 360]
        spacing = [10.0, 10.0, 10.0]
        [model]
        vp = { constant = 2000.0 }
        [time]
        duration = 0.004
        dt = 0.002
        [source]
        wavelet = { kind = "ricker", peak_hz = 15.0, t0 = 0.0 }
        positions = [[1800.0, 1800.0, 1800.0]]
        [receivers]
        interval = 0.002
        positions = [[1800.0, 1800.0, 1850.0]]
        [output]
        traces = "shot.npy"
        report = "shot.json"
        "#,
    );
    folder.temblor(&["run", "run.toml", "--backend", "cpu"]).says(0, &[]);
    let report: serde_json::Value = serde_json::from_slice(&folder.read("shot.json")).unwrap();
    let bytes = |key: &str| report["memory"][key].as_f64().unwrap();
    let taken = bytes("peak_rss_bytes") - bytes("base_rss_bytes");
    let ratio = taken / bytes("predicted_bytes");
    assert!((ratio - 1.0).abs() < 0.03, "{taken} bytes taken, {ratio} of the prediction");
    // 400^3 nodes with layers: p, p_prev and c^2 dt^2 alone are 768 MB.
    assert!(bytes("predicted_bytes") > 3.0 * 4.0 * 400.0_f64.powi(3));
}
