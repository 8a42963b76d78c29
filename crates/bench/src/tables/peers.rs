//! Other programs on the same problem in the same minutes.

use super::{Column, Table};
use crate::figures::{percent, rate, shape, significant};
use crate::machines::{short, version};
use crate::results::{Results, median, spread};

/// The table of peers, each beside the fastest row of the same device, shape and boundary.
#[must_use]
pub fn peers(results: &Results) -> Table {
    let columns = vec![
        Column::words("Peer"),
        Column::words("Device"),
        Column::number("N"),
        Column::words("Boundary"),
        Column::number("Gpts/s").about("Median over calls."),
        Column::number("± %").about("Half the distance between the quartiles over the median."),
        Column::words("temblor").about("The fastest row of the same device, shape and boundary."),
        Column::number("Gpts/s"),
        Column::number("Ratio").about("temblor's rate over the peer's."),
        Column::words("Command"),
    ];
    let mut rows = Vec::new();
    for (run, peer) in
        results.runs.iter().enumerate().flat_map(|(n, r)| r.peers.iter().map(move |p| (n, p)))
    {
        let same = results.rows.iter().filter(|row| {
            row.run == run
                && row.case.device == peer.device
                && row.case.shape == peer.shape
                && row.case.boundary == peer.boundary
        });
        let rates = same.filter_map(|row| {
            let gpts = row.outcome.measured()?.gpts(row.case.points());
            gpts.is_finite().then(|| (version(row), gpts))
        });
        let best = rates.max_by(|a, b| a.1.total_cmp(&b.1));
        let theirs = median(&peer.gpts);
        let (ours, gpts) = best.unwrap_or((String::new(), f64::NAN));
        rows.push(vec![
            peer.name.clone(),
            short(&peer.device),
            shape(peer.shape),
            peer.boundary.name().into(),
            rate(theirs),
            percent(spread(&peer.gpts)),
            ours,
            rate(gpts),
            significant(gpts / theirs, 3),
            peer.command.clone(),
        ]);
    }
    Table { title: "Peers".into(), columns, rows, notes: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_peer_stands_beside_the_fastest_row_of_its_problem() {
        let mut results = sample::gpu(1);
        results.runs[0].peers[0].gpts = vec![60.0];
        let table = peers(&results);
        assert_eq!(table.rows[0][6], "cuda/wide");
        let ratio: f64 = table.rows[0][8].parse().unwrap();
        assert!((ratio - 262.0 / 60.0).abs() < 0.05, "{ratio}");
        results.runs[0].peers[0].shape = [801; 3];
        assert_eq!(peers(&results).rows[0][6..9], ["", "", ""]);
    }
}
