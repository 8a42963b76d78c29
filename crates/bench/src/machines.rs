//! Devices of a file of results, each with a label that tells it from the others.

use crate::results::{BoundaryName, Device, Measured, Results, Row, Start, Stream, median};
use temblor_backend::StreamPattern;

/// A device: all rows with its name, whatever the backend, of one run or of several by the same
/// program on the same host with the same driver and kernels.
#[derive(Debug, Clone)]
pub struct Machine<'a> {
    /// Places of its runs.
    pub runs: Vec<usize>,
    /// Name as in rows.
    pub name: &'a str,
    /// Short name, with the first run's number where machines share it.
    pub label: String,
    /// Its entries, one per backend that ran on it.
    pub devices: Vec<&'a Device>,
    /// Its rows.
    pub rows: Vec<&'a Row>,
}

/// All devices in the order of the file; those of rows that no run lists come last.
#[must_use]
pub fn machines(results: &Results) -> Vec<Machine<'_>> {
    let listed = results.runs.iter().enumerate().flat_map(|(run, r)| {
        r.devices.iter().map(move |device| (run, device.info.name.as_str(), Some(device)))
    });
    let used = results
        .rows
        .iter()
        .filter(|row| row.outcome.measured().is_some())
        .map(|row| (row.run, row.case.device.as_str(), None));
    let mut machines: Vec<Machine<'_>> = Vec::new();
    for (run, name, device) in listed.chain(used) {
        let known = machines
            .iter_mut()
            .find(|m| m.name == name && (m.runs.contains(&run) || same(results, m, run, device)));
        match known {
            Some(machine) => {
                machine.devices.extend(device);
                if !machine.runs.contains(&run) {
                    machine.runs.push(run);
                }
            }
            None => machines.push(Machine {
                runs: vec![run],
                name,
                label: String::new(),
                devices: device.into_iter().collect(),
                rows: Vec::new(),
            }),
        }
    }
    for machine in &mut machines {
        let own = |row: &&Row| machine.runs.contains(&row.run) && row.case.device == machine.name;
        machine.rows = results.rows.iter().filter(own).collect();
    }
    let names: Vec<_> = machines.iter().map(|m| m.name).collect();
    for machine in &mut machines {
        let same = names.iter().filter(|name| **name == machine.name).count();
        machine.label = short(machine.name);
        if same > 1 {
            machine.label += &format!(" (run {})", machine.runs[0] + 1);
        }
    }
    machines
}

/// Whether a run's device is a machine that is known from another run.
fn same(results: &Results, machine: &Machine<'_>, run: usize, device: Option<&Device>) -> bool {
    let (Some(ours), Some(theirs)) = (results.runs.get(run), results.runs.get(machine.runs[0]))
    else {
        return false;
    };
    let alike = |device: &Device| {
        let known = machine.devices.iter().find(|d| d.info.backend == device.info.backend);
        known.is_some_and(|d| d.info == device.info && d.kernels == device.kernels)
    };
    ours.program == theirs.program && ours.host == theirs.host && device.is_some_and(alike)
}

/// A device's name without marks that say nothing.
#[must_use]
pub fn short(name: &str) -> String {
    let bare = name.replace("(R)", "").replace("(TM)", "").replace("(tm)", "");
    bare.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl<'a> Machine<'a> {
    /// Rows with figures.
    pub fn measured(&self) -> impl Iterator<Item = (&'a Row, &'a Measured)> + '_ {
        self.rows.iter().filter_map(|row| Some((*row, row.outcome.measured()?)))
    }

    /// The fastest row of a boundary at its largest grid, of those from random data if there are any:
    /// small grids that fit a cache, and zeros that compress, would flatter.
    #[must_use]
    pub fn at_scale(&self, boundary: BoundaryName) -> Option<(&'a Row, &'a Measured)> {
        let rate = |(row, measured): &(&Row, &Measured)| measured.gpts(row.case.points());
        let order =
            |(row, _): &(&Row, &Measured)| (row.case.start == Start::Random, row.case.points());
        self.measured()
            .filter(|(row, _)| row.case.boundary == boundary)
            .filter(|found| rate(found).is_finite())
            .max_by(|a, b| order(a).cmp(&order(b)).then(rate(a).total_cmp(&rate(b))))
    }

    /// Measured traffic of a pattern at a fill, that over the largest arrays.
    #[must_use]
    pub fn stream(&self, pattern: StreamPattern, fill: f64) -> Option<&'a Stream> {
        self.devices
            .iter()
            .flat_map(|device| &device.streams)
            .filter(|s| s.pattern == pattern && s.fill.to_bits() == fill.to_bits())
            .filter(|s| median(&s.samples).is_finite())
            .max_by_key(|s| s.elements)
    }

    /// Roof of memory traffic, B/s: what the user gave, else the solver's pattern on random data,
    /// else the least of the roofs that stand beside its rows.
    #[must_use]
    pub fn roof(&self) -> Option<f64> {
        let given = self.devices.iter().find_map(|device| device.given_bandwidth);
        let streamed = || Some(median(&self.stream(StreamPattern::Step, 1.0)?.samples));
        let beside = || {
            let roofs = self.measured().filter_map(|(_, m)| m.roof_bandwidth);
            roofs.min_by(f64::total_cmp)
        };
        given.or_else(streamed).or_else(beside)
    }

    /// Measured single-precision operations per second.
    #[must_use]
    pub fn flops(&self) -> Option<f64> {
        self.devices.iter().map(|d| median(&d.flops)).find(|flops| flops.is_finite())
    }

    /// Nominal bandwidth, B/s.
    #[must_use]
    pub fn nominal_bandwidth(&self) -> Option<f64> {
        self.devices.iter().find_map(|device| device.nominal.bandwidth)
    }

    /// Nominal single-precision operations per second.
    #[must_use]
    pub fn nominal_flops(&self) -> Option<f64> {
        self.devices.iter().find_map(|device| device.nominal.flops)
    }
}

/// Backend and variant of a row, as in all tables.
#[must_use]
pub fn version(row: &Row) -> String {
    format!("{}/{}", row.case.backend, row.case.variant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_device_that_two_backends_share_is_one_machine() {
        let results = sample::cpu();
        let machines = machines(&results);
        assert_eq!(machines.len(), 1);
        assert_eq!(machines[0].devices.len(), 2);
        assert_eq!(machines[0].label, "Sample Xeon Q");
    }

    #[test]
    fn a_small_grid_in_a_cache_is_not_the_headline() {
        let mut results = sample::gpu(1);
        let small = results.rows.iter_mut().find(|row| row.case.shape == [100; 3]).unwrap();
        if let crate::results::Outcome::Measured(measured) = &mut small.outcome {
            measured.seconds = vec![1e-6];
        }
        let machines = machines(&results);
        let (row, _) = machines[0].at_scale(BoundaryName::Zero).unwrap();
        assert_eq!(row.case.shape, [800; 3]);
    }

    #[test]
    fn runs_of_one_program_on_one_machine_are_shown_together() {
        let mut parts = [sample::gpu(1), sample::gpu(2)];
        let rows = parts[0].rows.len() + parts[1].rows.len();
        let together = crate::merge::merge(parts.to_vec());
        let found = machines(&together);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].label.as_str(), found[0].rows.len()), ("Sample GPU A", rows));
        let labels = |parts: &[Results; 2]| -> Vec<String> {
            let merged = crate::merge::merge(parts.to_vec());
            machines(&merged).into_iter().map(|m| m.label).collect()
        };
        let apart = ["Sample GPU A (run 1)", "Sample GPU A (run 2)"];
        let program = parts[1].runs[0].program.clone();
        parts[1].runs[0].program[1].1 = "another commit".into();
        assert_eq!(labels(&parts), apart);
        parts[1].runs[0].program = program;
        parts[1].runs[0].devices[0].info.driver = "a newer one".into();
        assert_eq!(labels(&parts), apart);
    }
}
