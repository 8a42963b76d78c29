//! SPS, Shell's support format for land surveys: points and relations in fixed columns.
//!
//! Source (`S`) and receiver (`R`) records give line, point, index, map position, surface elevation
//! and depth below it; relation (`X`) records say which receivers were live for which source. Headers
//! `H00` (revision), `H20` (unit) and `H201` (factor to metres) are obeyed. Revision 2.1 (SEG 2006) and
//! the first one (SEG 1995) differ in columns; without `H00` the columns themselves decide.
//! Precedence for the unit: `H201` over `H20`, with a warning where they disagree. Column numbers in
//! comments are the standard's, counted from 1.
//!
//! ```
//! use temblor_io::sps;
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("survey.rps");
//! # let text = format!("R{:10.2}{:10.2}  1{:22}{:9.1}{:10.1}{:6.1}\n", 1.0, 101.0, "", 500.5, 20.0, 118.0);
//! # std::fs::write(&path, text).unwrap();
//! let survey = sps::read(&path)?;
//! // z is the depth below a datum at 150 m above sea level.
//! assert_eq!(survey.receivers[0].position(150.0), [500.5, 20.0, 32.0]);
//! # Ok::<(), temblor_io::Error>(())
//! ```

use std::collections::HashMap;
use std::path::Path;

use crate::{Error, Result};

/// A point's name: line, point number in hundredths, index.
pub type PointName = (String, i64, u32);

/// A source or receiver point; lengths in m.
#[derive(Debug, Clone, PartialEq)]
pub struct SpsPoint {
    /// Line, point number, index.
    pub name: PointName,
    /// Map position (easting, northing), m.
    pub map: [f64; 2],
    /// Elevation of the surface above sea level, m.
    pub elevation: f64,
    /// Depth below the surface, m.
    pub depth: f64,
}

impl SpsPoint {
    /// (x, y, z), m: z is the depth below a datum at `datum` m above sea level.
    #[must_use]
    pub fn position(&self, datum: f64) -> [f64; 3] {
        [self.map[0], self.map[1], datum - self.elevation + self.depth]
    }
}

/// A relation record: receivers of one line that were live for a source.
#[derive(Debug, Clone, PartialEq)]
pub struct SpsRelation {
    /// Line of the file, from 1.
    pub at: usize,
    /// Field record number.
    pub field_record: i64,
    /// The source point.
    pub source: PointName,
    /// First and last channel and the step between them.
    pub channels: (i64, i64, i64),
    /// Line of the receivers.
    pub receiver_line: String,
    /// First and last receiver point, hundredths.
    pub receivers: (i64, i64),
    /// Index of the receivers.
    pub index: u32,
}

/// What an SPS file holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SpsFile {
    /// Source points in the file's order.
    pub sources: Vec<SpsPoint>,
    /// Receiver points in the file's order.
    pub receivers: Vec<SpsPoint>,
    /// Relations in the file's order.
    pub relations: Vec<SpsRelation>,
    /// Whether columns are those of revision 2.1.
    pub revision_2: bool,
    /// Factor from the file's unit to metres.
    pub factor: f64,
    /// What is doubtful.
    pub warnings: Vec<String>,
}

/// Columns (first, last) of the fields that are read.
struct Columns {
    line: (usize, usize),
    point: (usize, usize),
    index: (usize, usize),
    depth: (usize, usize),
    record: (usize, usize),
    source_line: (usize, usize),
    source_point: (usize, usize),
    from_channel: (usize, usize),
    to_channel: (usize, usize),
    step: (usize, usize),
    receiver_line: (usize, usize),
    from_receiver: (usize, usize),
    to_receiver: (usize, usize),
}

const REVISION_0: Columns = Columns {
    line: (2, 17),
    point: (18, 25),
    index: (26, 26),
    depth: (33, 36),
    record: (8, 11),
    source_line: (14, 29),
    source_point: (30, 37),
    from_channel: (39, 42),
    to_channel: (43, 46),
    step: (47, 47),
    receiver_line: (48, 63),
    from_receiver: (64, 71),
    to_receiver: (72, 79),
};

const REVISION_2: Columns = Columns {
    line: (2, 11),
    point: (12, 21),
    index: (24, 24),
    depth: (31, 34),
    record: (8, 15),
    source_line: (18, 27),
    source_point: (28, 37),
    from_channel: (39, 43),
    to_channel: (44, 48),
    step: (49, 49),
    receiver_line: (50, 59),
    from_receiver: (60, 69),
    to_receiver: (70, 79),
};

/// Whether text starts as SPS files do: a header record, or a point or relation record with numbers
/// in its columns.
#[must_use]
pub fn is_sps(text: &str) -> bool {
    text.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| {
        let bytes = line.as_bytes();
        match bytes[0] {
            b'H' => bytes.len() > 4 && bytes[1..3].iter().all(u8::is_ascii_digit),
            b'S' | b'R' => number(line, (47, 55)).is_some() && number(line, (56, 65)).is_some(),
            b'X' => bytes.len() >= 78 && !line.contains([',', ';']),
            _ => false,
        }
    })
}

/// Reads an SPS file.
///
/// # Errors
/// [`Error::Io`], [`Error::Line`] with the first record that cannot be read, [`Error::Invalid`] if
/// there is none.
pub fn read(path: impl AsRef<Path>) -> Result<SpsFile> {
    let path = path.as_ref();
    let text = std::fs::read(path).map_err(|e| Error::io(path, "read", None, e))?;
    parse(&String::from_utf8_lossy(&text), path)
}

/// Reads SPS text; `path` is named in errors.
///
/// # Errors
/// As [`read`].
pub fn parse(text: &str, path: &Path) -> Result<SpsFile> {
    let mut file = SpsFile { factor: 1.0, ..SpsFile::default() };
    file.headers(text, path)?;
    let columns = if file.revision_2 { &REVISION_2 } else { &REVISION_0 };
    for (index, line) in text.lines().enumerate() {
        let record = Record { line, at: index + 1, path };
        match line.as_bytes().first() {
            Some(b'S') => file.sources.push(record.point(columns, file.factor)?),
            Some(b'R') => file.receivers.push(record.point(columns, file.factor)?),
            Some(b'X') => file.relations.push(record.relation(columns)?),
            Some(b'H' | b'C') | None => {}
            Some(_) if line.trim().is_empty() || line.starts_with("EOF") => {}
            Some(_) => {
                return Err(record.bad("no S, R, X, H or C record".into(), "remove the line"));
            }
        }
    }
    if file.sources.is_empty() && file.receivers.is_empty() && file.relations.is_empty() {
        let remedy = "give a file with S, R or X records";
        return Err(Error::invalid(path, "the number of records", 0, remedy));
    }
    for (kind, points) in [("source", &file.sources), ("receiver", &file.receivers)] {
        let names: std::collections::HashSet<_> = points.iter().map(|p| &p.name).collect();
        let twice = points.len() - names.len();
        if twice > 0 {
            file.warnings.push(format!("{twice} {kind} points have the name of an earlier one"));
        }
    }
    Ok(file)
}

impl SpsFile {
    fn headers(&mut self, text: &str, path: &Path) -> Result<()> {
        let (mut revision, mut unit, mut factor) = (None, None, None);
        for (index, line) in text.lines().enumerate().filter(|(_, line)| line.starts_with('H')) {
            let value = line.get(32..).unwrap_or("").trim();
            let record = Record { line, at: index + 1, path };
            match line.get(1..4).unwrap_or("") {
                "00 " | "000" => revision = Some(value.to_ascii_uppercase()),
                "20 " | "200" => unit = Some(value.trim_end_matches(';').to_ascii_lowercase()),
                "201" => {
                    let number = value.trim_end_matches(';').trim().parse::<f64>().ok();
                    let number = number.filter(|f| f.is_finite() && *f > 0.0).ok_or_else(|| {
                        record.bad(format!("factor to metre `{value}`"), "give a positive number")
                    })?;
                    factor = Some(number);
                }
                _ => {}
            }
        }
        self.revision_2 = match revision {
            Some(revision) if revision.contains("SPS") => {
                revision.contains("2.1") || revision.contains("SPS21") || revision.contains("2.0")
            }
            _ => by_columns(text),
        };
        let by_name = match unit.as_deref() {
            Some(unit) if unit.contains("feet") || unit.contains("foot") => Some(0.3048),
            Some(unit) if unit.starts_with("met") || unit == "m" => Some(1.0),
            _ => None,
        };
        self.factor = factor.or(by_name).unwrap_or(1.0);
        if let (Some(factor), Some(by_name), Some(unit)) = (factor, by_name, unit)
            && (factor - by_name).abs() > 1e-4 * by_name
        {
            self.warnings.push(format!(
                "H20 says `{unit}` ({by_name} m), H201 says a factor of {factor}: took H201"
            ));
        }
        Ok(())
    }

    /// For each source that relations name, in their order: field record, position of the source in
    /// `sources` and of its receivers in `receivers`.
    ///
    /// # Errors
    /// [`Error::Line`] of the relation that names a point that is not there or whose channels and
    /// receivers do not match; `path` is the relation file's.
    pub fn relate(
        &self,
        sources: &[SpsPoint],
        receivers: &[SpsPoint],
        path: &Path,
    ) -> Result<Vec<(i64, usize, Vec<usize>)>> {
        let names = |points: &[SpsPoint]| -> HashMap<PointName, usize> {
            points.iter().enumerate().map(|(n, point)| (point.name.clone(), n)).collect()
        };
        let (sources, receivers) = (names(sources), names(receivers));
        let mut shots: Vec<(i64, usize, Vec<usize>)> = Vec::new();
        for relation in &self.relations {
            let bad = |what: String, remedy: &str| Error::Line {
                path: path.to_owned(),
                line: relation.at,
                what,
                remedy: remedy.to_owned(),
            };
            let source = *sources.get(&relation.source).ok_or_else(|| {
                bad(format!("no source {}", shown(&relation.source)), "add its S record")
            })?;
            let (first, last, step) = relation.channels;
            let (from, to) = relation.receivers;
            let steps = last.checked_sub(first).filter(|&n| step > 0 && n >= 0 && n % step == 0);
            let steps = steps.map(|n| n / step).filter(|&n| n < 10_000_000);
            let span = to.checked_sub(from).filter(|&span| {
                steps.is_some_and(|n| {
                    if n == 0 { span == 0 } else { span >= 100 * n && span % (100 * n) == 0 }
                })
            });
            let (Some(steps), Some(span)) = (steps, span) else {
                let what = format!(
                    "channels {first} to {last} by {step} do not match receivers {} to {}",
                    from as f64 / 100.0,
                    to as f64 / 100.0
                );
                return Err(bad(what, "correct the record"));
            };
            if shots.last().is_none_or(|shot| shot.0 != relation.field_record || shot.1 != source) {
                shots.push((relation.field_record, source, Vec::new()));
            }
            let Some((.., live)) = shots.last_mut() else { continue };
            for n in 0..=steps {
                let point = from + if steps > 0 { span / steps * n } else { 0 };
                let name = (relation.receiver_line.clone(), point, relation.index);
                live.push(*receivers.get(&name).ok_or_else(|| {
                    bad(format!("no receiver {}", shown(&name)), "add its R record")
                })?);
            }
        }
        Ok(shots)
    }
}

fn shown((line, point, index): &PointName) -> String {
    format!("line {line} point {} index {index}", *point as f64 / 100.0)
}

/// Whether the first record has the columns of revision 2.1: nothing in 22 and 23 of a point, the
/// second digit group of a relation's channels further right.
fn by_columns(text: &str) -> bool {
    let mut points = text.lines().filter(|line| line.starts_with(['S', 'R']));
    if let Some(line) = points.next() {
        return number(line, (12, 21)).is_some()
            && line.get(21..23).is_some_and(|gap| gap.trim().is_empty());
    }
    let relation = text.lines().find(|line| line.starts_with('X'));
    relation
        .is_some_and(|line| number(line, (28, 37)).is_some() && number(line, (70, 79)).is_some())
}

fn number(line: &str, (first, last): (usize, usize)) -> Option<f64> {
    let text = line.get(first - 1..last.min(line.len()))?.trim();
    text.parse::<f64>().ok().filter(|v| v.is_finite())
}

struct Record<'a> {
    line: &'a str,
    at: usize,
    path: &'a Path,
}

impl Record<'_> {
    fn bad(&self, what: String, remedy: &str) -> Error {
        let (path, remedy) = (self.path.to_owned(), remedy.to_owned());
        Error::Line { path, line: self.at, what, remedy }
    }

    fn text(&self, (first, last): (usize, usize)) -> &str {
        self.line.get(first - 1..last.min(self.line.len())).unwrap_or("").trim()
    }

    fn need(&self, what: &str, columns: (usize, usize)) -> Result<f64> {
        number(self.line, columns).ok_or_else(|| {
            let (first, last) = columns;
            let text = self.text(columns);
            let what = format!("{what} in columns {first} to {last} is `{text}`");
            self.bad(what, "put a number there; columns are fixed, do not use tabs")
        })
    }

    /// A number, or 0 where the columns are blank.
    fn or_zero(&self, what: &str, columns: (usize, usize)) -> Result<f64> {
        if self.text(columns).is_empty() { Ok(0.0) } else { self.need(what, columns) }
    }

    fn whole(&self, what: &str, columns: (usize, usize)) -> Result<i64> {
        let value = self.need(what, columns)?;
        #[expect(clippy::cast_possible_truncation, reason = "ten columns hold less than 2^53")]
        Ok(value.round() as i64)
    }

    fn hundredths(&self, what: &str, columns: (usize, usize)) -> Result<i64> {
        let value = self.need(what, columns)?;
        #[expect(clippy::cast_possible_truncation, reason = "ten columns hold less than 2^53")]
        Ok((value * 100.0).round() as i64)
    }

    /// A line's name; numbers are the same however they are written.
    fn line_name(&self, columns: (usize, usize)) -> String {
        let text = self.text(columns);
        text.parse::<f64>().map_or_else(|_| text.to_owned(), |number| number.to_string())
    }

    fn index(&self, columns: (usize, usize)) -> u32 {
        self.text(columns).parse().unwrap_or(1)
    }

    fn point(&self, columns: &Columns, factor: f64) -> Result<SpsPoint> {
        let point = self.hundredths("the point number", columns.point)?;
        let name = (self.line_name(columns.line), point, self.index(columns.index));
        let east = self.need("the easting", (47, 55))?;
        let north = self.need("the northing", (56, 65))?;
        let elevation = self.or_zero("the elevation", (66, 71))?;
        let depth = self.or_zero("the depth", columns.depth)?;
        Ok(SpsPoint {
            name,
            map: [east * factor, north * factor],
            elevation: elevation * factor,
            depth: depth * factor,
        })
    }

    fn relation(&self, columns: &Columns) -> Result<SpsRelation> {
        let point = self.hundredths("the source point", columns.source_point)?;
        let step = if self.text(columns.step).is_empty() {
            1
        } else {
            self.whole("the channel increment", columns.step)?
        };
        Ok(SpsRelation {
            at: self.at,
            field_record: self.whole("the field record", columns.record)?,
            source: (self.line_name(columns.source_line), point, self.index((38, 38))),
            channels: (
                self.whole("the first channel", columns.from_channel)?,
                self.whole("the last channel", columns.to_channel)?,
                step,
            ),
            receiver_line: self.line_name(columns.receiver_line),
            receivers: (
                self.hundredths("the first receiver", columns.from_receiver)?,
                self.hundredths("the last receiver", columns.to_receiver)?,
            ),
            index: self.index((80, 80)),
        })
    }
}
