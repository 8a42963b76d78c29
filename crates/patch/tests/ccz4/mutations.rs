//! Every constant and every parameter of the text matters: changed one at a time, the comparisons with
//! the recorded states and with the transcription fail.

use temblor_patch::Physics;

use crate::agreement::{TEXT, compare, compare_rate};
use crate::golden::recorded;
use crate::seeded::cases;

/// A change of the text: the bytes from `start` to `end` become `becomes`.
struct Mutation {
    start: usize,
    end: usize,
    becomes: String,
}

impl Mutation {
    fn text(&self) -> String {
        format!("{}{}{}", &TEXT[..self.start], self.becomes, &TEXT[self.end..])
    }

    /// Line number, the line, and the change, for messages.
    fn show(&self) -> String {
        let number = TEXT[..self.start].matches('\n').count();
        let line = TEXT.lines().nth(number).unwrap().trim();
        let was = &TEXT[self.start..self.end];
        format!("line {}: {was} -> {} in `{line}`", number + 1, self.becomes)
    }
}

/// Changes that cannot be noticed: the flag `whole` is true or false, and 2 is as true as 1.
const EQUIVALENT: [(&str, &str); 2] =
    [("core(Q, dQ, P, 1, R);", "2"), ("core(Q, none, P, 1, S);", "2")];

/// Where a number or a name ends.
fn end_of_word(from: usize) -> usize {
    let bytes = TEXT.as_bytes();
    let number = bytes[from].is_ascii_digit();
    let inside = |at: usize| {
        bytes[at].is_ascii_alphanumeric()
            || bytes[at] == b'_'
            || number && (bytes[at] == b'.' || bytes[at] == b'-' && bytes[at - 1] == b'e')
    };
    (from..).find(|&at| !inside(at)).unwrap()
}

/// Whether the number at a place is the size of an array.
fn is_size(start: usize, end: usize) -> bool {
    let line = TEXT[..start].rfind('\n').unwrap() + 1;
    let declares = ["double ", "static ", "void "];
    TEXT[..start].ends_with('[')
        && (TEXT[end..].starts_with("] = {")
            || TEXT[end..].starts_with(']')
                && declares.iter().any(|word| TEXT[line..].trim_start().starts_with(word)))
}

/// Changes of one number or parameter: reals are scaled and shifted, integers go down by one and, but
/// for indices, up by one. Bounds of loops and sizes of arrays are left alone: they are no constants of the equations.
fn mutations() -> Vec<Mutation> {
    let bytes = TEXT.as_bytes();
    let mut all = Vec::new();
    // Tables and functions; the defaults have a test of their own.
    let mut at = TEXT.find("static const int SYM").unwrap();
    while at < bytes.len() {
        let rest = &TEXT[at..];
        let mut change =
            |end: usize, becomes: String| all.push(Mutation { start: at, end, becomes });
        let end = if rest.starts_with("//") {
            at + rest.find('\n').unwrap()
        } else if rest.starts_with("for (") {
            at + rest.find(')').unwrap()
        } else if rest.starts_with("P->") {
            let end = end_of_word(at + 3);
            let name = &TEXT[at..end];
            let becomes = match &name[3..] {
                "lapse" | "advection" | "s" | "bs" | "sharp" => format!("(1 - {name})"),
                "problem" => format!("({name} - 1)"),
                _ => format!("(1.0625 * {name} + 0.03125)"),
            };
            change(end, becomes);
            end
        } else if bytes[at].is_ascii_digit() {
            let end = end_of_word(at);
            let number = &TEXT[at..end];
            if is_size(at, end) {
            } else if let Ok(integer) = number.parse::<i64>() {
                change(end, format!("{}", integer - 1));
                if !TEXT[end..].starts_with(']') {
                    change(end, format!("{}", integer + 1));
                }
            } else {
                change(end, format!("{:?}", 1.0625 * number.parse::<f64>().unwrap() + 0.03125));
            }
            end
        } else {
            end_of_word(at).max(at + 1)
        };
        at = end;
    }
    all
}

#[test]
fn a_change_of_any_constant_is_noticed() {
    let (recorded, seeded) = (recorded(), cases());
    let agrees = |text: &str| -> Result<(), String> {
        let physics = Physics::from_c("ccz4.c", text).map_err(|error| error.to_string())?;
        seeded.iter().try_for_each(|case| compare(&physics, case))?;
        recorded.iter().try_for_each(|(case, want)| compare_rate(&physics, case, want))
    };
    agrees(TEXT).unwrap();
    let all = mutations();
    let known = |mutation: &Mutation| {
        EQUIVALENT.iter().any(|(line, becomes)| {
            mutation.becomes == *becomes && mutation.show().ends_with(&format!("`{line}`"))
        })
    };
    let survivors = |part: &[Mutation]| -> Vec<String> {
        let survive = |mutation: &&Mutation| !known(mutation) && agrees(&mutation.text()).is_ok();
        part.iter().filter(survive).map(Mutation::show).collect()
    };
    let (left, right) = all.split_at(all.len() / 2);
    let unnoticed = std::thread::scope(|scope| {
        let other = scope.spawn(|| survivors(left));
        let mut found = survivors(right);
        found.extend(other.join().unwrap());
        found
    });
    assert!(all.len() > 300, "{} changes", all.len());
    assert!(
        unnoticed.is_empty(),
        "{} of {}:\n{}",
        unnoticed.len(),
        all.len(),
        unnoticed.join("\n")
    );
}

/// Research codes start from these (Dumbser et al. 2018; `ExaGRyPE`'s default class of solvers).
#[test]
fn defaults_are_those_of_the_gauge_wave() {
    let physics = Physics::from_c("ccz4.c", TEXT).unwrap();
    let of = |name: &str| physics.parameters.iter().find(|p| p.name == name).unwrap().default;
    let want = [
        ("lapse", 0.0),
        ("advection", 1.0),
        ("s", 0.0),
        ("bs", 0.0),
        ("sharp", 0.0),
        ("problem", 1.0),
        ("k1", 0.1),
        ("k2", 0.0),
        ("k3", 0.5),
        ("e", 1.0),
        ("c", 1.0),
        ("ds", 1.0),
        ("f", 0.75),
        ("xi", 1.0),
        ("eta", 1.0),
        ("mu", 0.2),
        ("itau", 1.0),
        ("alpha_floor", 1e-4),
        ("phi_floor", 1e-2),
        ("state_floor", 1e-16),
        ("glm_c", 1.2),
        ("glm_d", 2.0),
        ("amplitude", 0.1),
        ("wavelength", 1.0),
        ("mass", 1.0),
    ];
    assert_eq!(physics.parameters.len(), want.len());
    for (name, want) in want {
        assert!(of(name).to_bits() == f64::to_bits(want), "{name} is {}", of(name));
    }
}
