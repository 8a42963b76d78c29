//! Random programs: whatever conditions on data guard, the trace computes what the run computes.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use temblor_patch::{Error, Physics, Term};

use super::run::{Ready, assert_same, random};

/// A writer of programs on the doubles a, b, c, d and the array v[3].
struct Writer {
    random: ChaCha8Rng,
    text: String,
    /// Loops around the statement being written.
    loops: u32,
}

impl Writer {
    fn pick<'a>(&mut self, among: &[&'a str]) -> &'a str {
        among[self.random.random_range(0..among.len())]
    }

    fn place(&mut self) -> String {
        let mut places = vec!["a", "b", "c", "d", "v[0]", "v[1]", "v[2]"];
        if self.loops > 0 {
            places.push("v[k0 % 3]");
        }
        self.pick(&places).to_owned()
    }

    fn value(&mut self, depth: u32) -> String {
        match self.random.random_range(0..if depth == 0 { 3 } else { 8 }) {
            0 => self.place(),
            1 => format!("Q[{}]", self.random.random_range(0..4)),
            2 => self.pick(&["0.5", "-1.25", "2", "3.0"]).to_owned(),
            3 => format!("fmin({}, {})", self.value(depth - 1), self.value(depth - 1)),
            4 => {
                let (c, a, b) =
                    (self.condition(depth - 1), self.value(depth - 1), self.value(depth - 1));
                format!("({c} ? {a} : {b})")
            }
            5 => format!("step({}, {}, v)", self.value(depth - 1), self.value(depth - 1)),
            _ => {
                let op = self.pick(&["+", "-", "*"]);
                format!("({} {op} {})", self.value(depth - 1), self.value(depth - 1))
            }
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        match self.random.random_range(0..if depth == 0 { 2 } else { 5 }) {
            0 | 1 => {
                let op = self.pick(&["<", "<=", ">", ">=", "!="]);
                format!("{} {op} {}", self.value(depth), self.value(depth))
            }
            2 => format!("!({})", self.condition(depth - 1)),
            _ => {
                let op = self.pick(&["&&", "||"]);
                format!("(({}) {op} ({}))", self.condition(depth - 1), self.condition(depth - 1))
            }
        }
    }

    fn statements(&mut self, depth: u32, function: bool) {
        for _ in 0..self.random.random_range(1..4) {
            self.statement(depth, function);
        }
    }

    fn statement(&mut self, depth: u32, function: bool) {
        let kind = self.random.random_range(0..if depth == 0 { 4 } else { 10 });
        match kind {
            3 if self.loops > 0 => {
                let word = self.pick(&["break", "continue"]);
                let condition = self.condition(1);
                self.text += &format!("if ({condition}) {word};\n");
            }
            3 if function => {
                let (condition, value) = (self.condition(1), self.value(1));
                self.text += &format!("if ({condition}) return {value};\n");
            }
            0..=3 => {
                let (place, op) = (self.place(), self.pick(&["=", "+=", "-=", "*="]));
                let value = self.value(2);
                self.text += &format!("{place} {op} 0.5 * {value};\n");
            }
            4..=6 => {
                let condition = self.condition(2);
                self.text += &format!("if ({condition}) {{\n");
                self.statements(depth - 1, function);
                if self.random.random_bool(0.5) {
                    self.text += "} else {\n";
                    self.statements(depth - 1, function);
                }
                self.leave(function);
                self.text += "}\n";
            }
            7 | 8 => {
                let k = self.loops;
                let turns = self.random.random_range(1..5);
                let also = if self.random.random_bool(0.3) {
                    format!(" && {}", self.condition(1))
                } else {
                    String::new()
                };
                self.text += &format!("for (int k{k} = 0; k{k} < {turns}{also}; k{k}++) {{\n");
                self.loops += 1;
                self.statements(depth - 1, function);
                self.leave(function);
                self.loops -= 1;
                self.text += "}\n";
            }
            _ => {
                self.text += "{ double a = 0.25; a += b; c -= a;\n";
                self.statements(depth - 1, function);
                self.text += "}\n";
            }
        }
    }

    /// Perhaps leaves the block on all its paths.
    fn leave(&mut self, function: bool) {
        if self.random.random_bool(0.25) {
            if function && self.random.random_bool(0.5) {
                let value = self.value(1);
                self.text += &format!("return {value};\n");
            } else if self.loops > 0 {
                let word = self.pick(&["break", "continue"]);
                self.text += &format!("{word};\n");
            }
        }
    }
}

/// A program from a seed: a function with returns, and a source that calls another one.
fn program(seed: u64) -> String {
    let random = ChaCha8Rng::seed_from_u64(seed);
    let mut writer = Writer { random, text: String::new(), loops: 0 };
    writer.text += "#include <math.h>\nenum unknowns { A, B, C, D };\n";
    writer.text += "static double step(double x, double y, double *v) {\n";
    writer.text +=
        "if (x > y) { v[1] += 0.125; return x; }\nv[2] -= y * 0.25;\nreturn 0.5 * y;\n}\n";
    writer.text += "static double walk(const double *Q, double *v) {\ndouble a = 1.0, b = Q[0], c = 0.5, d = Q[3];\n";
    writer.statements(4, true);
    writer.text += "return a + b * c - d;\n}\nvoid source(const double *Q, double *S) {\n";
    writer.text += "double a = Q[1], b = 0.0, c = -1.0, d = Q[2], v[3] = {1.0, Q[0], 2.0};\n";
    writer.statements(3, false);
    writer.text +=
        "S[A] = walk(Q, v);\nS[B] = a + b;\nS[C] = c - d;\nS[D] = v[0] + v[1] * v[2];\n}\n";
    writer.text
}

#[test]
fn random_programs_are_the_same_traced_and_run() {
    let mut compared = 0;
    for seed in 0..400 {
        let text = program(seed);
        let physics = match Physics::from_c("random.c", &text) {
            Ok(physics) => physics,
            // Nested loops of conditions on data may need more nodes than a trace makes.
            Err(Error::Physics { what, .. }) if what.contains("too long to unroll") => continue,
            Err(error) => panic!("{error}\n{text}"),
        };
        let traced = Ready::new(physics.trace(Term::Source, 0, &[]).unwrap());
        for case in random(Term::Source, &[(-2.0, 2.0); 4], seed, 20) {
            let run = physics.evaluate(Term::Source, 0, &case, &[]).unwrap();
            assert_same(&format!("program {seed}\n{text}"), &traced.run(&case, &[]), &run);
            compared += 1;
        }
    }
    assert!(compared > 7_000, "{compared} comparisons");
}
