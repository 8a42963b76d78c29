//! What comes first: device, rate, how far that is from the machine's limit.

use std::fmt::Write as _;

use crate::figures::{percent, rate, shape, significant};
use crate::machines::{Machine, version};
use crate::results::{BoundaryName, Measured, Outcome, Results, Row, spread};
use crate::tables::html::escape;

pub(super) fn headline(results: &Results, machines: &[Machine<'_>]) -> String {
    let mut text = String::from("<header>\n<p class=\"brand\">temblor bench</p>\n");
    let names: Vec<_> = machines.iter().map(|machine| machine.label.as_str()).collect();
    let names = match names.len() {
        0 => "No device".into(),
        1 | 2 => names.join(", "),
        n => format!("{n} devices"),
    };
    let _ = writeln!(text, "<h1>{}</h1>", escape(&names));
    text += &said(results);
    text += "</header>\n";
    if results.runs.iter().any(|run| !run.complete) {
        text += "<p class=\"warning\">A run was stopped before all rows were measured; what it finished is \
                 shown.</p>\n";
    }
    for machine in machines {
        text += &cards(machine, machines.len() > 1);
    }
    text
}

/// Date, version, counts.
fn said(results: &Results) -> String {
    let mut dates: Vec<_> = results.runs.iter().map(|run| escape(&run.date)).collect();
    dates.sort();
    let dates = match dates.as_slice() {
        [] => "no run".to_owned(),
        [one] => one.clone(),
        [first, .., last] => format!("{first} to {last}"),
    };
    let mut versions: Vec<String> = Vec::new();
    for run in &results.runs {
        let of = |name: &str| run.program.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        let version = [of("version"), of("commit")].into_iter().flatten().collect::<Vec<_>>();
        let version = escape(&version.join(" "));
        if !version.is_empty() && !versions.contains(&version) {
            versions.push(version);
        }
    }
    let mut counts = [0_usize; 3];
    for row in &results.rows {
        counts[match row.outcome {
            Outcome::Measured(_) => 0,
            Outcome::Skipped { .. } => 1,
            Outcome::Failed { .. } => 2,
        }] += 1;
    }
    let [measured, skipped, failed] = counts;
    let mut rows = format!("{measured} rows measured");
    if skipped > 0 {
        let _ = write!(rows, ", {skipped} skipped");
    }
    if failed > 0 {
        let _ = write!(rows, ", <strong class=\"failed\">{failed} failed</strong>");
    }
    format!(
        "<p class=\"said\">{dates} · temblor {} · {rows}</p>\n",
        if versions.is_empty() { "of unknown version".into() } else { versions.join(", ") },
    )
}

fn cards(machine: &Machine<'_>, named: bool) -> String {
    let mut text = String::from("<div class=\"cards\">\n");
    if named {
        let label = escape(&machine.label);
        text = format!("<h2 class=\"device\">{label}</h2>\n{text}");
    }
    let mut none = true;
    for (row, measured) in BoundaryName::ALL.into_iter().filter_map(|kind| machine.at_scale(kind)) {
        none = false;
        text += &card(row, measured);
    }
    if none {
        text += "<p class=\"card blank\">No row has a rate.</p>\n";
    }
    text += &limits(machine);
    text + "</div>\n"
}

fn card(row: &Row, measured: &Measured) -> String {
    let points = row.case.points();
    let layers = match row.case.cells {
        0 => String::new(),
        cells => format!(" {cells}"),
    };
    let what = format!(
        "{}, {}, boundary {}{layers}, start {}, ±\u{a0}{}\u{a0}%",
        version(row),
        shape(row.case.shape),
        row.case.boundary.name(),
        row.case.start,
        percent(spread(&measured.seconds)),
    );
    let mut text = format!(
        "<div class=\"card\"><p class=\"big\">{} <small>Gpts/s</small></p>\n<p>{}</p>\n",
        rate(measured.gpts(points)),
        escape(&what)
    );
    if let Some(part) = measured.of_roof(&row.case) {
        text += &bar(part, "of the measured roof");
    }
    if let Some(part) = measured.of_layered_roof().filter(|_| row.case.cells > 0) {
        text += &bar(part, "of the layered roof");
    }
    text + "</div>\n"
}

/// A percentage with a bar; what exceeds the roof fills it.
fn bar(part: f64, of: &str) -> String {
    let wide = 100.0 * part.clamp(0.0, 1.0);
    format!(
        "<p class=\"part\"><span class=\"bar\"><span style=\"width:{wide:.1}%\"></span></span> \
         <b>{} %</b> {of}</p>\n",
        percent(part)
    )
}

/// Roofs, measured beside nominal.
fn limits(machine: &Machine<'_>) -> String {
    let line = |name: &str, measured: Option<f64>, nominal: Option<f64>, unit: &str| {
        let show = |value: Option<f64>| {
            let scaled = |v: f64| if v < 1e12 { (v / 1e9, 'G') } else { (v / 1e12, 'T') };
            value.map(scaled).map_or_else(String::new, |(v, prefix)| {
                format!("{}\u{a0}{prefix}{unit}", significant(v, 3))
            })
        };
        format!(
            "<tr><th scope=\"row\">{name}</th><td>{}</td><td>{}</td></tr>\n",
            show(measured),
            show(nominal)
        )
    };
    let known =
        [machine.roof(), machine.flops(), machine.nominal_bandwidth(), machine.nominal_flops()];
    if known.iter().all(Option::is_none) {
        let why = machine.devices.iter().find_map(|device| device.why_no_roof.as_deref());
        let why = escape(why.unwrap_or("none was asked for"));
        return format!("<div class=\"card\"><p>No roof was measured: {why}.</p></div>\n");
    }
    let given = machine.devices.iter().any(|device| device.given_bandwidth.is_some());
    let roof = if given { "roof (given)" } else { "memory" };
    format!(
        "<div class=\"card limits\"><table><thead><tr><th></th><th>measured</th><th>nominal</th></tr></thead>\
         <tbody>{}{}</tbody></table></div>\n",
        line(roof, machine.roof(), machine.nominal_bandwidth(), "B/s"),
        line("FP32", machine.flops(), machine.nominal_flops(), "FLOP/s"),
    )
}
