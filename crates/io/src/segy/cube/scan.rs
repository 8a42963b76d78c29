//! The first look at all headers: ranges and steps of the numbers that may place a trace.

use super::super::coordinates::apply_scalar;
use super::super::reader::Headers;
use super::super::{Field, FieldType, RawTraceHeader, SegyReader};
use crate::Result;

/// Fields that may place a trace.
const NAMES: [&str; 9] = ["iline", "xline", "cdp", "cdpx", "cdpy", "gx", "gy", "sx", "sy"];

/// Two of the fields, by their place in the list.
pub(super) type Pair = [usize; 2];

const NUMBERS: Pair = [0, 1];
const CDP: usize = 2;
const COORDINATES: [Pair; 3] = [[3, 4], [5, 6], [7, 8]];

/// Range and step of one field.
#[derive(Debug, Clone, Copy)]
struct Range {
    least: i64,
    most: i64,
    /// Greatest common divisor of the differences to the first trace's; 0 if none differs.
    step: i64,
    first: i64,
    previous: i64,
    /// First difference between neighbours that is not zero.
    jump: i64,
}

/// What all headers say.
#[derive(Debug)]
pub(super) struct Scan {
    ranges: [Range; 9],
    fields: [Option<Field>; 9],
    scalar: Option<Field>,
    /// Whether coordinates are angles, in any trace.
    pub(super) angles: bool,
    /// Time of the first sample of the first trace, s.
    pub(super) delay: f64,
}

/// What numbers the traces of a lattice.
#[derive(Debug, Clone, Copy)]
pub(super) enum Keys {
    /// Two fields.
    Fields(Pair),
    /// One field along a line.
    Field(usize),
    /// The order in the file.
    Order,
}

/// One axis as numbers: field, first, step, count.
pub(super) type Numbers = (&'static str, i64, i64, usize);

impl Scan {
    pub(super) fn new(reader: &SegyReader) -> Result<Self> {
        let fields = NAMES.map(|name| reader.fields().field(name));
        let scalar = reader.fields().field("scalco");
        let mut ranges: Option<[Range; 9]> = None;
        let units = reader.fields().field("counit");
        let (mut delay, mut angles) = (0.0, false);
        reader.scan(|_, raw| {
            let values = numbers(&fields, raw);
            let unit = units.and_then(|field| raw.get(&field).to_i64());
            angles |= unit.is_some_and(|unit| (2..=4).contains(&unit));
            match &mut ranges {
                None => {
                    delay = raw.decode().delay;
                    ranges = Some(values.map(Range::new));
                }
                Some(ranges) => ranges.iter_mut().zip(values).for_each(|(r, v)| r.add(v)),
            }
            Ok(())
        })?;
        let ranges = ranges.unwrap_or([Range::new(0); 9]);
        Ok(Self { ranges, fields, scalar, angles, delay })
    }

    /// Chooses what places the traces; inline and crossline numbers are among it if `numbers`.
    pub(super) fn keys(&self, reader: &SegyReader, numbers: bool, notes: &mut Vec<String>) -> Keys {
        let varies = |n: usize| self.ranges[n].step != 0;
        if numbers && NUMBERS.into_iter().any(varies) {
            return Keys::Fields(NUMBERS);
        }
        if varies(CDP) {
            return Keys::Field(CDP);
        }
        if reader.traces() == 1 {
            return Keys::Order;
        }
        if let Some(pair) = COORDINATES.into_iter().find(|pair| pair.iter().any(|&n| varies(n))) {
            notes.push(format!("traces are placed by {} and {}", NAMES[pair[0]], NAMES[pair[1]]));
            return Keys::Fields(pair);
        }
        notes.push("no header places the traces: they are taken as a line in file order".into());
        Keys::Order
    }

    /// Whether inline and crossline numbers place the traces where the standard has none, and
    /// something else could.
    pub(super) fn numbers_are_doubtful(&self, reader: &SegyReader, keys: Keys) -> bool {
        let moved = NUMBERS.into_iter().any(|n| reader.fields().moves(NAMES[n]));
        let other = (CDP..NAMES.len()).any(|n| self.ranges[n].step != 0);
        let numbers = matches!(keys, Keys::Fields(pair) if pair == NUMBERS);
        numbers && other && !moved && reader.revision().0 == 0
    }

    /// Names of the fields that place the traces.
    pub(super) fn names(&self, keys: Keys) -> String {
        match keys {
            Keys::Fields([a, b]) => format!("{} and {}", NAMES[a], NAMES[b]),
            Keys::Field(n) => NAMES[n].into(),
            Keys::Order => "their order".into(),
        }
    }

    /// The coordinates that give the spacing: the first pair that varies, but no angles.
    pub(super) fn coordinates(&self, keys: &Keys) -> Option<Pair> {
        if self.angles {
            return None;
        }
        let varies = |pair: &Pair| pair.iter().any(|&n| self.ranges[n].step != 0);
        match keys {
            Keys::Fields(pair) if *pair != NUMBERS => Some(*pair),
            _ => COORDINATES.into_iter().find(varies),
        }
    }

    /// The axes of the lattice that the numbers span.
    pub(super) fn axes(&self, keys: Keys, traces: u64) -> [Numbers; 2] {
        let count = usize::try_from(traces).unwrap_or(usize::MAX);
        match keys {
            Keys::Order => [("trace", 1, 1, count), ("line", 0, 1, 1)],
            Keys::Field(n) => [self.ranges[n].axis(NAMES[n]), ("line", 0, 1, 1)],
            Keys::Fields([a, b]) => [self.ranges[a].axis(NAMES[a]), self.ranges[b].axis(NAMES[b])],
        }
    }

    /// First difference between neighbours along each axis, 0 if there is none.
    pub(super) fn jumps(&self, keys: Keys) -> [i64; 2] {
        match keys {
            Keys::Order => [1, 0],
            Keys::Field(n) => [self.ranges[n].jump, 0],
            Keys::Fields([a, b]) => [self.ranges[a].jump, self.ranges[b].jump],
        }
    }

    /// The numbers that place a trace.
    pub(super) fn place(&self, keys: Keys, trace: u64, raw: &RawTraceHeader) -> [i64; 2] {
        let values = || numbers(&self.fields, raw);
        match keys {
            Keys::Order => [i64::try_from(trace).unwrap_or(i64::MAX - 1) + 1, 0],
            Keys::Field(n) => [values()[n], 0],
            Keys::Fields([a, b]) => [values()[a], values()[b]],
        }
    }

    /// A trace's coordinates with their scalar applied, m.
    pub(super) fn position(
        &self,
        reader: &SegyReader,
        pair: Pair,
        headers: &Headers<'_>,
    ) -> [f64; 2] {
        let raw = headers.raw;
        let scalar = self.scalar(raw);
        let feet = if reader.binary_u16(3255) == 2 { 0.3048 } else { 1.0 };
        pair.map(|n| {
            let extended = Field::extended(NAMES[n]).zip(headers.extension);
            let extended = extended.map_or(0.0, |(f, bytes)| f.read(raw.order, bytes).to_f64());
            if extended != 0.0 {
                return extended * feet;
            }
            let stored = self.fields[n].map_or(0.0, |field| raw.get(&field).to_f64());
            apply_scalar(stored, scalar) * feet
        })
    }

    /// Half a unit of the coordinates, m: what rounding may have moved them by. Doubles of an
    /// extension, and coordinates kept as floats, are not rounded to units.
    pub(super) fn rounding(&self, pair: Pair, headers: &Headers<'_>) -> f64 {
        let double = |n: usize| {
            let value = Field::extended(NAMES[n]).zip(headers.extension);
            value.is_some_and(|(field, bytes)| !field.read(headers.raw.order, bytes).is_zero())
        };
        let float = |n: usize| {
            let kind = self.fields[n].map(|field| field.kind);
            matches!(kind, Some(FieldType::F32 | FieldType::F64 | FieldType::Ibm))
        };
        if pair.iter().any(|&n| double(n) || float(n)) {
            return 0.0;
        }
        0.5 * apply_scalar(1.0, self.scalar(headers.raw))
    }

    fn scalar(&self, raw: &RawTraceHeader) -> i16 {
        let scalar = self.scalar.and_then(|field| raw.get(&field).to_i64()).unwrap_or(0);
        i16::try_from(scalar).unwrap_or(0)
    }
}

fn numbers(fields: &[Option<Field>; 9], raw: &RawTraceHeader) -> [i64; 9] {
    fields.map(|field| {
        let value = field.map(|field| raw.get(&field));
        // A coordinate kept as a float by a remapped field is placed to the nearest whole number.
        #[expect(clippy::cast_possible_truncation, reason = "saturates")]
        value.map_or(0, |v| v.to_i64().unwrap_or(v.to_f64().round() as i64))
    })
}

impl Range {
    fn new(value: i64) -> Self {
        Self { least: value, most: value, step: 0, first: value, previous: value, jump: 0 }
    }

    fn add(&mut self, value: i64) {
        self.least = self.least.min(value);
        self.most = self.most.max(value);
        self.step = gcd(self.step, value.saturating_sub(self.first).saturating_abs());
        if self.jump == 0 {
            self.jump = value.saturating_sub(self.previous).saturating_abs();
        }
        self.previous = value;
    }

    fn axis(&self, name: &'static str) -> Numbers {
        let step = self.step.max(1);
        let count = self.most.saturating_sub(self.least) / step;
        let count = usize::try_from(count).unwrap_or(usize::MAX).saturating_add(1);
        (name, self.least, step, count)
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
