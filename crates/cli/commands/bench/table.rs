//! The table on the screen: a line per row, as it comes.

use std::fmt::Write as _;

use temblor_bench::matrix::{Planned, Subject, misfit};
use temblor_bench::measure::shape_name;
use temblor_bench::results::{
    Case, Device, Kinds, Measured, Outcome, Peer, Row, arithmetic_name, median, spread,
};
use temblor_physics::StepWork;

/// Least and most width of the first column.
const CASE: (usize, usize) = (40, 90);

/// Width of the first column: that of the longest name.
pub(super) fn width(planned: &[Planned]) -> usize {
    let longest = planned.iter().map(|row| name(&row.case).len()).max().unwrap_or(0);
    longest.clamp(CASE.0, CASE.1)
}

/// A device's roofs, a line per part of random filling.
pub(super) fn roofs(device: &Device) -> String {
    let info = &device.info;
    let mut text = format!("{}: {}, {}, {}\n", info.backend, info.name, info.arch, info.driver);
    let mut fills: Vec<f64> = device.streams.iter().map(|stream| stream.fill).collect();
    fills.dedup();
    for fill in fills {
        let of_fill = device.streams.iter().filter(|s| s.fill.to_bits() == fill.to_bits());
        let rates = of_fill.map(|stream| {
            format!("{} {:.1}", stream.pattern.name(), median(&stream.samples) / 1e9)
        });
        let rates = rates.collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "    GB/s with {fill:.4} random: {rates}");
    }
    let flops = (!device.flops.is_empty()).then(|| median(&device.flops));
    for (name, bandwidth, flops) in [
        ("measured", None, flops),
        ("nominal", device.nominal.bandwidth, device.nominal.flops),
        ("given", device.given_bandwidth, None),
    ] {
        let bandwidth = bandwidth.map(|rate| format!("{:.1} GB/s", rate / 1e9));
        let flops = flops.map(|rate| format!("{:.1} GFLOP/s", rate / 1e9));
        let both: Vec<_> = [bandwidth, flops].into_iter().flatten().collect();
        if !both.is_empty() {
            let _ = writeln!(text, "    {name}: {}", both.join(", "));
        }
    }
    if let Some(why) = &device.why_no_roof {
        let _ = writeln!(text, "    not all roofs: {why}");
    }
    text
}

/// The first line.
pub(super) fn header(width: usize) -> String {
    format!(
        "{:width$} {:>9} {:>7} {:>6} {:>8} {:>6} {:>7} {:>7} {:>8}\n",
        "case", "Gpts/s", "spread", "B/pt", "GB/s", "roof", "layered", "flop/pt", "L2@100"
    )
}

/// A case in one line.
pub(super) fn name(case: &Case) -> String {
    let mut text = String::new();
    if !case.path.is_empty() {
        let _ = write!(text, "{}: ", case.path);
    }
    let _ = write!(
        text,
        "{}/{} {} {} {} {} {}",
        case.backend,
        case.variant,
        shape_name(case.shape),
        case.operator,
        arithmetic_name(case.arithmetic),
        case.boundary.name(),
        case.start
    );
    if let Some(steps) = case.steps {
        let _ = write!(text, " {steps} steps");
    }
    text
}

/// A row's line, with its reason where it has no rate.
pub(super) fn line(row: &Row, width: usize) -> String {
    let name = name(&row.case);
    let measured = match &row.outcome {
        Outcome::Measured(measured) => measured,
        Outcome::Skipped { why } => return format!("{name:width$}   skipped: {why}\n"),
        Outcome::Failed { why } => return format!("{name:width$}   FAILED: {why}\n"),
    };
    let points = row.case.points();
    let percent = |part: Option<f64>| {
        part.map_or_else(|| "-".to_owned(), |part| format!("{:.0} %", 100.0 * part))
    };
    let layers = measured.of_layered_roof().filter(|_| row.case.cells > 0);
    let error = measured.accuracy.last().map_or(f64::NAN, |accuracy| accuracy.l2);
    // CCZ4 on a processor: a thousandth of the rates of waves.
    let decimals = if measured.patch.is_some() { 6 } else { 3 };
    let mut text = format!(
        "{name:width$} {:9.decimals$} {:>7} {:6.1} {:8.1} {:>6} {:>7} {:7.0} {error:8.1e}",
        measured.gpts(points),
        format!("{:.1} %", 100.0 * spread(&measured.seconds)),
        measured.bytes_per_point,
        measured.bandwidth(points) / 1e9,
        percent(measured.of_roof(&row.case)),
        percent(layers),
        measured.flops_per_point,
    );
    if let Some(asked) = row.case.steps.filter(|&asked| asked != measured.steps) {
        let _ = write!(text, "  ran {} of {asked} steps", measured.steps);
    }
    text + "\n" + &beside(measured, points)
}

/// Lines on kernels, counters and kinds of values, where they were asked for.
fn beside(measured: &Measured, points: u64) -> String {
    let mut text = String::new();
    for kernel in &measured.kernels {
        let seconds = median(&kernel.seconds);
        let _ = writeln!(
            text,
            "    {:10} {:9.4} ms, {:.1} %; {:.1} GB/s, {:.1} GFLOP/s, {} flop/B",
            kernel.name,
            1e3 * seconds,
            100.0 * spread(&kernel.seconds),
            kernel.bytes_per_step / seconds / 1e9,
            kernel.flops_per_step / seconds / 1e9,
            // Sources move next to nothing.
            if kernel.bytes_per_step > 0.0 {
                format!("{:.3}", kernel.flops_per_step / kernel.bytes_per_step)
            } else {
                "-".into()
            },
        );
    }
    for counters in &measured.counters {
        if counters.tool.starts_with("n/a") {
            let _ = writeln!(text, "    counters {}", counters.tool);
            continue;
        }
        let mega =
            |bytes: Option<f64>| bytes.map_or("n/a".into(), |b| format!("{:.3} MB", b / 1e6));
        let part = |hit: Option<f64>| hit.map_or("n/a".into(), |h| format!("{:.1} %", 100.0 * h));
        let _ = writeln!(
            text,
            "    {} DRAM read {}, written {}; L2 read {}, hit {}; L2 to SM {}, {} B per node; L1 read {}, \
             hit {} ({})",
            counters.kernel,
            mega(counters.dram_read),
            mega(counters.dram_written),
            mega(counters.l2_read),
            part(counters.l2_hit),
            mega(counters.l2_to_sm),
            counters.l2_to_sm.map_or("n/a".into(), |b| format!("{:.1}", b / points as f64)),
            mega(counters.l1_read),
            part(counters.l1_hit),
            counters.tool
        );
    }
    for kinds in &measured.histogram {
        let Kinds { step, normal, denormal, zero, nan } = kinds;
        let [normal, denormal, zero, nan] = [normal, denormal, zero, nan].map(|part| 100.0 * part);
        let _ = writeln!(
            text,
            "    step {step:6}: normal {normal:.2} %, denormal {denormal:.2} %, zero {zero:.2} %, not \
             finite {nan:.2} %"
        );
    }
    text
}

/// Rates of rows over those of peers on the same problem; nothing without peers.
pub(super) fn peers(peers: &[Peer], rows: &[Row]) -> String {
    let mut text = String::new();
    for peer in peers {
        let gpts = median(&peer.gpts);
        let shape = shape_name(peer.shape);
        let boundary = peer.boundary.name();
        let _ = writeln!(
            text,
            "peer {} on {} at {shape} {boundary}: {gpts:.3} Gpts/s, {:.1} %",
            peer.name,
            peer.device,
            100.0 * spread(&peer.gpts)
        );
        for row in rows {
            let Outcome::Measured(measured) = &row.outcome else { continue };
            if row.case.shape == peer.shape && row.case.boundary == peer.boundary {
                let ratio = measured.gpts(row.case.points()) / gpts;
                let _ = writeln!(text, "    {ratio:6.2} x by {}", name(&row.case));
            }
        }
    }
    text
}

/// The matrix with the memory that each row takes.
pub(super) fn dry(planned: &[Planned], subjects: &[Subject]) -> String {
    let width = width(planned);
    let mut text = format!(
        "{:width$} {:>10} {:>6} {:>7} {:>12}\n",
        "case", "memory", "B/pt", "flop/pt", "B/step"
    );
    for row in planned {
        let name = name(&row.case);
        let subject = &subjects[row.subject];
        if let Some(patch) = &row.patch {
            let (bytes, flops) = (patch.kernel.least_bytes(), patch.kernel.flops());
            let memory = patch.bytes() as f64 / 1e9;
            let least = bytes * row.case.points() as f64 * f64::from(patch.patches);
            let _ = writeln!(
                text,
                "{name:width$} {memory:7.3} GB {bytes:6.1} {flops:7.0} {least:12.4e}"
            );
            continue;
        }
        let posed = match &row.posed {
            Ok(posed) => posed,
            Err(why) => {
                let _ = writeln!(text, "{name:width$}   skipped: {why}");
                continue;
            }
        };
        let variants = subject.backend.variants(&posed.problem).unwrap_or_default();
        let variant = variants.iter().find(|variant| variant.name == row.case.variant);
        let [bytes, flops] =
            variant.map_or([f64::NAN; 2], |v| [v.bytes_per_point, v.flops_per_point]);
        let least = StepWork::of(&posed.problem).bytes() as f64;
        let memory = posed.footprint as f64 / 1e9;
        let _ = write!(text, "{name:width$} {memory:7.3} GB {bytes:6.1} {flops:7.0} {least:12.4e}");
        if let Some(why) = misfit(posed, subject) {
            let _ = write!(text, "   skipped: {why}");
        }
        text += "\n";
    }
    let rows = if planned.len() == 1 { "row" } else { "rows" };
    let _ = writeln!(text, "{} {rows}; nothing was run", planned.len());
    text
}
