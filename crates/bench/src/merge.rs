//! Reading files of results, and several of them as one.

use crate::results::{Results, SCHEMA};
use serde::Deserialize;

/// A text that is no file of results that this program reads.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Not JSON, or not of this kind.
    #[error("{name} is no file of results as `temblor bench --json` writes it: {source}")]
    Format {
        /// The file.
        name: String,
        /// What the reader met.
        source: serde_json::Error,
    },
    /// Of another version of the format.
    #[error(
        "{name} has version {got} of the format of results, this program reads version {SCHEMA}: \
         {}",
        if *got > SCHEMA { "use the program that wrote it, or a newer one" } else { "measure again" }
    )]
    Schema {
        /// The file.
        name: String,
        /// Its version.
        got: u32,
    },
    /// A row that belongs to no run.
    #[error(
        "{name} is damaged: row {row} is of run {run}, and there are {runs} runs: measure again"
    )]
    Damaged {
        /// The file.
        name: String,
        /// Row, from 1.
        row: usize,
        /// Its run, from 1.
        run: usize,
        /// How many there are.
        runs: usize,
    },
    /// Two files with the same run.
    #[error("{first} and {second} hold the same run, of {date}: leave one of them out")]
    Twice {
        /// A file.
        first: String,
        /// Another.
        second: String,
        /// When that run began.
        date: String,
    },
}

/// Reads a file's text; `name` is for messages.
///
/// # Errors
/// [`ReadError::Format`], [`ReadError::Schema`], [`ReadError::Damaged`].
pub fn read(name: &str, text: &str) -> Result<Results, ReadError> {
    #[derive(Deserialize)]
    struct Version {
        schema: u32,
    }
    let format = |source| ReadError::Format { name: name.to_owned(), source };
    // The version first: a newer format must not be reported as a missing field.
    let version: Version = serde_json::from_str(text).map_err(format)?;
    if version.schema != SCHEMA {
        return Err(ReadError::Schema { name: name.to_owned(), got: version.schema });
    }
    let results: Results = serde_json::from_str(text).map_err(format)?;
    let runs = results.runs.len();
    match results.rows.iter().position(|row| row.run >= runs) {
        Some(at) => Err(ReadError::Damaged {
            name: name.to_owned(),
            row: at + 1,
            run: results.rows[at].run + 1,
            runs,
        }),
        None => Ok(results),
    }
}

/// One file of results from several texts, each with its name.
///
/// # Errors
/// As for [`read`]; [`ReadError::Twice`] where two hold the same run.
pub fn read_all(files: &[(String, String)]) -> Result<Results, ReadError> {
    let all: Vec<_> =
        files.iter().map(|(name, text)| read(name, text)).collect::<Result<_, _>>()?;
    for (later, results) in all.iter().enumerate() {
        for (earlier, others) in all[..later].iter().enumerate() {
            if let Some(run) = results.runs.iter().find(|run| others.runs.contains(run)) {
                return Err(ReadError::Twice {
                    first: files[earlier].0.clone(),
                    second: files[later].0.clone(),
                    date: run.date.clone(),
                });
            }
        }
    }
    Ok(merge(all))
}

/// Several results as one: runs are renumbered, rows keep their order.
#[must_use]
pub fn merge(all: Vec<Results>) -> Results {
    let mut merged = Results { schema: SCHEMA, runs: Vec::new(), rows: Vec::new() };
    for results in all {
        let before = merged.runs.len();
        merged.runs.extend(results.runs);
        merged.rows.extend(results.rows.into_iter().map(|mut row| {
            row.run += before;
            row
        }));
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn text(results: &Results) -> String {
        serde_json::to_string(results).unwrap()
    }

    #[test]
    fn runs_are_renumbered_and_rows_of_one_case_stay_apart() {
        let [a, b] = [sample::gpu(1), sample::gpu(2)];
        let merged = merge(vec![a.clone(), b.clone()]);
        assert_eq!(merged.runs.len(), 2);
        assert_eq!(merged.rows.len(), a.rows.len() + b.rows.len());
        assert!(merged.rows[..a.rows.len()].iter().all(|row| row.run == 0));
        assert!(merged.rows[a.rows.len()..].iter().all(|row| row.run == 1));
        assert_eq!(merged.rows[0].case.key(), merged.rows[a.rows.len()].case.key());
    }

    #[test]
    fn merging_merged_results_is_associative() {
        let [a, b, c] = [sample::gpu(1), sample::gpu(2), sample::cpu()];
        let left = merge(vec![merge(vec![a.clone(), b.clone()]), c.clone()]);
        assert_eq!(left, merge(vec![a, merge(vec![b, c])]));
    }

    #[test]
    fn another_version_of_the_format_is_refused_with_both_versions_and_a_remedy() {
        let newer = read("new.json", r#"{"schema": 99, "other": []}"#).unwrap_err().to_string();
        assert!(newer.contains("new.json has version 99"), "{newer}");
        assert!(newer.contains("reads version 1: use the program that wrote it"), "{newer}");
        let older = read("old.json", r#"{"schema": 0}"#).unwrap_err().to_string();
        assert!(older.contains("measure again"), "{older}");
    }

    #[test]
    fn a_row_of_a_run_that_is_not_there_is_refused() {
        let mut results = sample::gpu(1);
        results.rows[2].run = 4;
        let error = read("x.json", &text(&results)).unwrap_err().to_string();
        assert!(error.contains("row 3 is of run 5, and there are 1 runs"), "{error}");
    }

    #[test]
    fn the_same_run_twice_is_refused() {
        let one = text(&sample::gpu(1));
        let files = [("a.json".to_owned(), one.clone()), ("b.json".to_owned(), one)];
        let error = read_all(&files).unwrap_err().to_string();
        assert!(error.starts_with("a.json and b.json hold the same run, of 2026"), "{error}");
    }

    #[test]
    fn numbers_come_back_from_a_file_bit_for_bit() {
        for results in [sample::gpu(1), sample::cpu(), sample::empty()] {
            assert!(read("x", &text(&results)).unwrap() == results);
        }
    }

    #[test]
    fn a_file_of_another_kind_is_refused_by_name() {
        let error = read("x.json", "{}").unwrap_err().to_string();
        assert!(error.starts_with("x.json is no file of results"), "{error}");
    }
}
