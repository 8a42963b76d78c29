//! What is plotted is in the file; what is drawn is well-formed and stays on the picture.

use super::*;
use crate::results::{Outcome, median};
use crate::{merge, sample};

const THEMES: [Theme; 2] = [Theme::Light, Theme::Dark];

/// All numbers that a plot may show, computed from the file alone.
fn derivable(results: &Results) -> Vec<f64> {
    let mut all = Vec::new();
    for row in &results.rows {
        let Outcome::Measured(m) = &row.outcome else { continue };
        let points = row.case.points();
        all.push((points as f64).cbrt());
        all.push(points as f64 * f64::from(m.steps) / median(&m.seconds) / 1e9);
        all.push(m.flops_per_point / m.bytes_per_point);
        all.push(all[all.len() - 2] * m.flops_per_point);
        all.extend(m.roof_bandwidth.map(|b| b / 16e9));
        for kernel in &m.kernels {
            all.push(kernel.flops_per_step / kernel.bytes_per_step);
            all.push(kernel.flops_per_step / median(&kernel.seconds) / 1e9);
        }
        for k in &m.histogram {
            all.push(k.step as f64);
            all.extend([k.normal, k.denormal, k.zero, k.nan].map(|part| 100.0 * part));
        }
    }
    for device in results.runs.iter().flat_map(|run| &run.devices) {
        let bandwidths = device.streams.iter().map(|s| median(&s.samples));
        let bandwidths: Vec<f64> = bandwidths.chain(device.nominal.bandwidth).collect();
        let flops: Vec<f64> =
            device.nominal.flops.into_iter().chain([median(&device.flops)]).collect();
        all.extend(device.streams.iter().map(|s| s.fill));
        for bandwidth in &bandwidths {
            all.push(bandwidth / 1e9);
            all.extend(flops.iter().map(|flops| flops / bandwidth));
            // A roof's line begins and ends at powers of ten.
            all.extend((-3..6).map(|power| bandwidth * 10_f64.powi(power) / 1e9));
        }
        all.extend(flops.iter().map(|flops| flops / 1e9));
    }
    all.extend((-3..6).map(|power| 10_f64.powi(power)));
    // Places of groups of bars.
    all.extend((0..results.runs.len()).map(|at| at as f64));
    all.retain(|value| value.is_finite());
    all
}

#[test]
fn every_plotted_number_is_in_the_file() {
    let results = merge::merge(vec![sample::gpu(1), sample::cpu()]);
    let text = serde_json::to_string(&results).unwrap();
    let read = merge::read("x", &text).unwrap();
    let known = derivable(&read);
    let mut plotted = 0;
    for plot in all(&results) {
        for series in &plot.series {
            for value in series.points.iter().flat_map(|p| [p.0, p.1]) {
                let near = |k: &f64| (value - k).abs() <= 1e-9 * k.abs();
                assert!(known.iter().any(near), "{}: {}: {value}", plot.name, series.name);
                plotted += 1;
            }
        }
    }
    assert!(plotted > 200, "{plotted}");
}

#[test]
fn every_kind_of_plot_is_there_when_its_data_is() {
    let names: Vec<_> = all(&sample::gpu(1)).into_iter().map(|plot| plot.title).collect();
    let wanted = [
        "Throughput by size",
        "Roofline",
        "Throughput by device",
        "Bandwidth by fill",
        "Kinds of values by step",
    ];
    assert_eq!(names, wanted);
}

#[test]
fn nothing_measured_is_said_and_does_not_panic() {
    let plots = all(&sample::empty());
    assert_eq!(plots.len(), 1);
    for theme in THEMES {
        assert!(plots[0].svg(theme).unwrap().contains("nothing to plot"));
        assert!(!plots[0].png(theme).unwrap().is_empty());
    }
}

#[test]
fn hostile_names_make_well_formed_svg() {
    let mut results = sample::gpu(1);
    let hostile = "<script>alert(\"1\")</script> & 'x'";
    results.runs[0].devices[0].info.name = hostile.into();
    for row in &mut results.rows {
        row.case.device = hostile.into();
    }
    for plot in all(&results) {
        let svg = plot.svg(Theme::Light).unwrap();
        let document = roxmltree::Document::parse(&svg).unwrap();
        assert!(document.descendants().all(|node| !node.has_tag_name("script")));
        let safe = |c: char| c.is_ascii_alphanumeric() || c == '-';
        assert!(plot.name.chars().all(safe), "{}", plot.name);
    }
}

fn many() -> Plot {
    let series = (0..10_u32).map(|n| Series {
        name: format!("backend/variant-{n}, minimod, start random"),
        points: (1..9).map(|x| (f64::from(100 * x), f64::from(20 * n + x))).collect(),
        look: Look::Line,
    });
    Plot { series: series.collect(), ..all(&sample::gpu(1)).swap_remove(0) }
}

#[test]
fn texts_of_ten_series_do_not_overlap_and_stay_on_the_picture() {
    let svg = many().svg(Theme::Light).unwrap();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let root = document.root_element();
    let size: Vec<f64> =
        root.attribute("viewBox").unwrap().split(' ').map(|n| n.parse().unwrap()).collect();
    let mut boxes: Vec<(f64, f64, f64, f64, String)> = Vec::new();
    for node in document.descendants().filter(|node| node.has_tag_name("text")) {
        let number = |name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
        let text = node.text().unwrap().trim().to_owned();
        // Digits and letters of DejaVu are 0.6 of the size wide on average, and 0.8 high.
        let (high, wide) =
            (number("font-size"), 0.6 * number("font-size") * text.chars().count() as f64);
        let left = match node.attribute("text-anchor").unwrap() {
            "start" => number("x"),
            "end" => number("x") - wide,
            _ => number("x") - wide / 2.0,
        };
        let middle = number("y");
        boxes.push((left, middle - 0.4 * high, left + wide, middle + 0.4 * high, text));
    }
    assert!(boxes.len() > 20);
    for (at, a) in boxes.iter().enumerate() {
        assert!(a.0 >= 0.0 && a.1 >= 0.0 && a.2 <= size[2] && a.3 <= size[3], "{a:?}");
        for b in &boxes[..at] {
            let apart = a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1;
            assert!(apart, "{a:?} {b:?}");
        }
    }
}

#[test]
fn pictures_are_png_of_twice_the_units() {
    let plot = many();
    let bytes = plot.png(Theme::Dark).unwrap();
    let reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let svg = plot.svg(Theme::Dark).unwrap();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let units = document.root_element().attribute("width").unwrap().parse::<u32>().unwrap();
    assert_eq!(reader.info().width, 2 * units);
}
