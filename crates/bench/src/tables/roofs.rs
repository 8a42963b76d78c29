//! What the machines allow, as measured in the same processes.

use super::{Column, Table};
use crate::figures::{fraction, percent, significant};
use crate::machines::machines;
use crate::results::{Results, median, spread};

/// The table of roofs: every pattern on random data, every size of arrays.
#[must_use]
pub fn roofs(results: &Results) -> Table {
    let columns = vec![
        Column::words("Device"),
        Column::words("Backend"),
        Column::words("Pattern").about(
            "STREAM's copy, scale, add and triad; step reads three arrays and writes one in place, as a \
             leapfrog step does.",
        ),
        Column::words("Random part").about(
            "Part of the arrays that holds random values; the rest holds constants, which a machine \
             may compress.",
        ),
        Column::number("Array, GiB").about("Size of each of three arrays."),
        Column::number("GB/s").about("Bytes read and written per second, the median sample."),
        Column::number("± %").about("Half the distance between the quartiles over the median."),
        Column::number("% of nominal").about("Against what the vendor or the driver says."),
    ];
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    for machine in machines(results) {
        for device in &machine.devices {
            for stream in &device.streams {
                let bandwidth = median(&stream.samples);
                let nominal = device.nominal.bandwidth.map(|nominal| bandwidth / nominal);
                rows.push(vec![
                    machine.label.clone(),
                    device.info.backend.clone(),
                    stream.pattern.name().into(),
                    fraction(stream.fill),
                    significant(stream.elements as f64 * 4.0 / f64::from(1 << 30), 3),
                    significant(bandwidth / 1e9, 4),
                    percent(spread(&stream.samples)),
                    nominal.map_or_else(String::new, percent),
                ]);
            }
            let backend = &device.info.backend;
            if let Some(given) = device.given_bandwidth {
                let given = significant(given / 1e9, 4);
                notes.push(format!(
                    "{}, {backend}: roof given by the user: {given} GB/s.",
                    machine.label
                ));
            }
            if let Some(why) = &device.why_no_roof {
                notes.push(format!("{}, {backend}: no roof measured: {why}", machine.label));
            }
        }
    }
    Table { title: "Roofs".into(), columns, rows, notes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_roof_that_is_missing_or_given_is_said() {
        let mut results = sample::gpu(1);
        results.runs[0].devices[0].given_bandwidth = Some(4.8e12);
        results.runs[0].devices[0].why_no_roof = Some("no memory is left".into());
        let table = roofs(&results);
        assert_eq!(table.rows.len(), 5 * 8);
        assert!(table.notes[0].ends_with("given by the user: 4800 GB/s."), "{:?}", table.notes);
        assert!(table.notes[1].ends_with("no memory is left"), "{:?}", table.notes);
    }
}
