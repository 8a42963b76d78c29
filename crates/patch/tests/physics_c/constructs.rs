//! Each construct of the subset: trace, run and compiler agree to the bit on random data.

use temblor_patch::{Physics, Term};

use super::compiler;
use super::run::{agree, assert_same, graph, jobs, parameters, random};

/// What stands before each source: four unknowns, a real and an integer parameter.
const HEAD: &str = "
#include <math.h>
enum unknowns { A, B, C, D };
typedef struct { double c; int order; } parameters;
static const parameters defaults = {0.75, 3};
";

/// A source term after some functions; trace, run and compiler agree on it.
fn check(name: &str, functions: &str, body: &str) {
    let text = format!(
        "{HEAD}{functions}\nvoid source(const double *Q, const double *x, double t, \
         const parameters *P, double *S) {{\n{body}\n}}\n"
    );
    let physics = Physics::from_c(&format!("{name}.c"), &text).unwrap();
    let cases = random(Term::Source, &[(-2.0, 2.0); 4], 11, 300);
    agree(&physics, &jobs(Term::Source, &cases, &parameters(&physics, &[])));
}

#[test]
fn arithmetic_and_conversions() {
    check(
        "arithmetic",
        "#define THIRD (1.0 / 3.0)\n#define COUNT 4\nenum { FIRST = 3, SECOND, THIRTY = FIRST * 10 };",
        "int i = 7, j = -7;
         const int halves = i / 2, rest = j % 4, bits = (i << 3 | 1) & ~2 ^ (j >> 1);
         S[0] = (double)(1 / 2) + Q[0] * 3 - halves * Q[1] / (1 + 1) + rest;
         S[1] = THIRD * Q[1] + COUNT + bits - -Q[2];
         double w = (int)2.9 + (double)i / 2;
         w += Q[0]; w -= 2; w *= Q[3]; w /= P->c; i += 2; i *= 3; i %= 5; i <<= 2; i |= 1;
         S[2] = w + i + FIRST + SECOND * THIRTY + 0x1f + 0x1.8p-2 + 1e-3 + .5 + 2.;
         S[3] = -(Q[0] - t) + +Q[1]; S[3]++; --S[3]; S[3] -= x[2];",
    );
}

#[test]
fn loops_of_constant_bounds() {
    check(
        "loops",
        "",
        "double a[3][4], sum = 0.0; int k = 0;
         for (int i = 0; i < 3; i++) for (int j = 0; j < 4; ++j) a[i][j] = Q[(i + j) % 4] * i;
         for (int i = 2, j = 0; i >= 0; i--, j += 1) { if (j == 1) continue; sum += a[i][j]; }
         while (k < P->order) { sum += k * Q[k]; k++; if (k == 2) break; }
         do { sum -= 0.5; k--; } while (k > 0);
         for (;;) { k++; break; }
         S[0] = S[1] = sum; S[2] = a[2][3]; S[3] = k;",
    );
}

#[test]
fn newton_with_a_break_on_data() {
    check(
        "newton",
        "static double root(double a) {
           double z = 1.0;
           for (int turn = 0; turn < 25; turn++) {
             const double change = (z * z * z - a) / (3.0 * z * z + 0.1);
             z -= change;
             if (fabs(change) < 1e-3) break;
           }
           return z;
         }",
        "for (int i = 0; i < 4; i++) S[i] = root(Q[i]);",
    );
}

#[test]
fn conditions_of_loops_on_data_under_a_constant_bound() {
    check(
        "bounded",
        "",
        "for (int i = 0; i < 4; i++) {
           double z = fabs(Q[i]) + 0.5; int k = 0;
           while (k < 12 && z < 3.0) { z *= 1.3; k++; }
           double turns = 0.0;
           do { z -= 0.3; turns += 1.0; if (z < 0.1) continue; z *= 0.9; } while (turns < 5.0 && z > 0.3);
           S[i] = z;
         }",
    );
}

#[test]
fn continue_and_return_under_conditions_on_data() {
    check(
        "escapes",
        "static double walk(const double *q, double limit, double *seen) {
           double sum = 0.0;
           *seen = 0.0;
           for (int i = 0; i < 4; i++) {
             if (q[i] < 0.0) continue;
             *seen += 1.0;
             if (q[i] > 1.5) { sum *= 2.0; if (sum > limit) return -sum; }
             else if (q[i] > 1.0) { sum += q[i]; continue; }
             sum += 0.25 * q[i];
           }
           if (sum == 0.0) return 42.0;
           return sum;
         }
         static void spread(double v, double *to) {
           to[0] = v;
           if (v > 3.0) return;
           to[0] = to[0] * v;
           if (v > 1.0) { to[0] += 1.0; return; }
           to[0] -= 1.0;
         }",
        "double seen; S[0] = walk(Q, 1.0, &seen); S[1] = seen; spread(Q[2], &S[2]); spread(Q[3], S + 3);",
    );
}

#[test]
fn tables_and_initialisers() {
    check(
        "tables",
        "enum pair { XX, XY, YY };
         static const int sym[2][2] = {{XX, XY}, {XY, YY}};
         static const double weight[3] = {[2] = 0.25, [0] = 1.5}, scale = 2.0 * M_PI;
         static const double flat[2][3] = {1, 2, 3, 4.5};
         const double half = sqrt(0.25);",
        "double local[2][2][2] = {{{Q[0], 1}, {2, Q[1]}}, {{Q[2]}}};
         const int order[4] = {3, 2, [3] = 1};
         for (int i = 0; i < 2; i++) for (int j = 0; j < 2; j++) {
           S[sym[i][j]] = weight[sym[i][j]] * local[i][j][1] + scale * local[j][i][0];
         }
         S[3] = half * Q[order[0]] + Q[order[2]] + flat[1][order[3]] + flat[1][0];",
    );
}

#[test]
fn arrays_rows_and_addresses_given_to_functions() {
    check(
        "rows",
        "static double dot(int n, const double *a, const double b[3]) {
           double sum = 0.0;
           for (int i = 0; i < n; i++) sum += a[i] * b[i];
           return sum;
         }
         static inline void product(const double a[2][2], const double b[2][2], double c[restrict 2][2]) {
           for (int i = 0; i < 2; i++)
             for (int j = 0; j < 2; j++) {
               c[i][j] = 0.0;
               for (int k = 0; k < 2; k++) c[i][j] += a[i][k] * b[k][j];
             }
         }
         static void twice(double *restrict v) { *v = 2.0 * *v; (*v) += 1.0; }",
        "double m[3][2][2];
         for (int k = 0; k < 2; k++) for (int i = 0; i < 2; i++) for (int j = 0; j < 2; j++)
           m[k][i][j] = Q[i + j + k] + k;
         product(m[0], m[1], m[2]);
         twice(&m[2][1][0]); twice(m[0][0] + 1);
         double one = Q[3]; twice(&one);
         S[0] = dot(3, Q, &Q[1]); S[1] = dot(2, m[2][1], m[0][0]); S[2] = one + dot(2, Q + 2, x);
         S[3] = m[2][0][1] + m[0][0][1];",
    );
}

#[test]
fn truth_values_and_short_circuits() {
    check(
        "truth",
        "static int positive(double v, double *count) { *count += 1.0; return v > 0.0; }",
        "double calls = 0.0;
         const int both = positive(Q[0], &calls) && positive(Q[1], &calls);
         const int either = positive(Q[2], &calls) || !positive(Q[3], &calls);
         S[0] = both ? Q[0] : -1; S[1] = calls;
         S[2] = (Q[0] > 0) - (Q[0] < 0) + 2 * either - (both != either);
         int known = 1 && P->order == 3 || 0;
         S[3] = known && !(Q[1] >= Q[2]) ? (Q[3] ? fmin(Q[3], t) : 1) : Q[0] <= 0.5;",
    );
}

#[test]
fn branches_write_what_they_write() {
    check(
        "branches",
        "",
        "double a = 1.0, b[2] = {2.0, 3.0}; int k = 0;
         if (Q[0] > 0.0) { a = Q[1]; b[0] = a; if (Q[2] < a) { b[1] = a + b[0]; a = 0.5; } }
         else if (Q[1] > Q[2]) { double a = 7.0; b[1] *= a; }
         else b[0] -= 1.0;
         if (P->order > 2) k = 2; else k = 3;
         S[0] = a; S[1] = b[0]; S[2] = b[1]; S[3] = Q[k];
         if (Q[3] != Q[0]) S[3] = S[3] * 2.0; else { }",
    );
}

#[test]
fn functions_of_mathematics() {
    check(
        "mathematics",
        "",
        "const double q = fabs(Q[0]) + 0.1;
         S[0] = sqrt(q) * exp(Q[1]) - log(q) + floor(Q[2]);
         S[1] = sin(Q[0]) + cos(Q[1]) * tan(Q[2]) + atan(Q[3]) - atan2(Q[0], Q[1]);
         S[2] = sinh(Q[0]) - cosh(Q[1]) / tanh(Q[2]) + pow(q, Q[3]) + pow(Q[0], 2) + pow(q, 3.0);
         S[3] = fmin(Q[0], Q[1]) * fmax(Q[2], Q[3]) + pow(q, -1.0) + M_PI;",
    );
}

#[test]
fn cube_roots_are_those_of_the_compiler_to_two_units_in_the_last_place() {
    // Rust brings a cube root of its own, the others come from the mathematics library of C.
    let text = format!(
        "{HEAD}void source(const double *Q, double *S) {{
           for (int i = 0; i < 4; i++) S[i] = cbrt(Q[i]);
         }}"
    );
    let physics = Physics::from_c("roots.c", &text).unwrap();
    let cases = random(Term::Source, &[(-2.0, 2.0); 4], 13, 300);
    let defaults = parameters(&physics, &[]);
    let compiled = compiler::run(&physics, &jobs(Term::Source, &cases, &defaults));
    let traced = physics.trace(Term::Source, 0, &[]).unwrap();
    for (case, compiled) in cases.iter().zip(&compiled[0]) {
        let run = physics.evaluate(Term::Source, 0, case, &defaults).unwrap();
        assert_same("cbrt", &graph(&traced, case, &defaults), &run);
        for (run, compiled) in run.iter().zip(compiled) {
            assert!((run - compiled).abs() <= 2.0 * f64::EPSILON * run.abs(), "{run} {compiled}");
        }
    }
}

#[test]
fn a_right_hand_side_takes_slopes_by_rows() {
    let text = "
        enum unknowns { U, V };
        enum auxiliary { W = 2 };
        static double along(const double *d, int u) { return d[u]; }
        void rhs(const double *Q, const double dQ[3][3], double *R) {
          R[U] = R[V] = 0.0;
          for (int k = 0; k < 3; k++) { R[U] -= Q[W] * dQ[k][V]; R[V] -= (k + 1) * along(dQ[k], U); }
        }
        void ncp(const double *Q, const double *dQ, int n, double *B) {
          B[0] = Q[W] * dQ[1 - n / 2]; B[1] = dQ[W] + n;
        }";
    let physics = Physics::from_c("slopes.c", text).unwrap();
    assert_eq!((physics.evolved(), physics.width()), (2, 3));
    let mut all = Vec::new();
    for term in [Term::Rhs, Term::Ncp] {
        all.extend(jobs(term, &random(term, &[(-2.0, 2.0); 3], 3, 50), &[]));
    }
    agree(&physics, &all);
}

#[test]
fn integers_chosen_for_a_build_change_the_trace_and_real_parameters_do_not() {
    let text = format!(
        "{HEAD}void source(const double *Q, const parameters *P, double *S) {{
           for (int i = 0; i < 4; i++) S[i] = i < P->order ? P->c : Q[i];
         }}"
    );
    let physics = Physics::from_c("choice.c", &text).unwrap();
    let case = random(Term::Source, &[(-2.0, 2.0); 4], 5, 1);
    let choose = |order: u8| {
        let parameters = parameters(&physics, &[("order", f64::from(order)), ("c", -3.0)]);
        jobs(Term::Source, &case, &parameters)
    };
    agree(&physics, &(0..5).flat_map(choose).collect::<Vec<_>>());
    let error = physics.trace(Term::Source, 0, &[("odrer".into(), 1)]).unwrap_err().to_string();
    assert!(error.contains("odrer") && error.contains("[order]"), "{error}");
}
