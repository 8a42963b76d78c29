//! What is outside the subset is refused with its line and what to write instead.

use temblor_patch::{Error, Physics};

/// Refuses a text whose line `line` is wrong; the message holds `part`.
#[track_caller]
fn refuse(text: &str, line: u32, part: &str) {
    match Physics::from_c("wrong.c", text) {
        Err(Error::Physics { file, line: got, what }) => {
            assert!(what.contains(part), "`{what}` does not say `{part}`");
            assert_eq!((file.as_str(), got), ("wrong.c", line), "{what}");
        }
        other => panic!("`{part}` expected, got {other:?}"),
    }
}

/// Refuses a statement of a source of two unknowns; the statement is line 4.
#[track_caller]
fn refuse_statement(statement: &str, part: &str) {
    let text = format!(
        "enum unknowns {{ U, V }};\ntypedef struct {{ double c; int k; }} parameters;\n\
         void source(const double *Q, const parameters *P, double *S) {{\n{statement}\n\
         S[0] = S[1] = 0.0;\n}}\n"
    );
    refuse(&text, 4, part);
}

/// Refuses a declaration outside functions; it is line 3.
#[track_caller]
fn refuse_external(declaration: &str, part: &str) {
    let text = format!(
        "enum unknowns {{ U, V }};\n\n{declaration}\n\
         void source(const double *Q, double *S) {{ S[0] = S[1] = 0.0; }}\n"
    );
    refuse(&text, 3, part);
}

/// Refuses a term of two unknowns and one fixed; it is line 3.
#[track_caller]
fn refuse_term(term: &str, part: &str) {
    let text = format!("enum unknowns {{ U, V }};\nenum auxiliary {{ W = 2 }};\n{term}\n");
    refuse(&text, 3, part);
}

#[test]
fn data_that_decide_what_only_a_build_can_know() {
    refuse_statement("int i = Q[0];", "keep it a double");
    refuse_statement("const int i = Q[0] > 0.0; S[i] = 1.0;", "index that depends on data");
    refuse_statement("int i = 0; if (Q[0] > 0.0) i = 1; S[i] = 1.0;", "make it a double");
    refuse_statement(
        "for (int i = 0; i < Q[0]; i++) S[0] = i;",
        "bound of the loop depends on data",
    );
    refuse_statement(
        "double z = 1.0; while (z > Q[0]) z *= 0.5;",
        "bound of the loop depends on data",
    );
    refuse_statement("const int i = (Q[0] > 0.0) / 2;", "integer that depends on data");
    refuse_statement("const int i = (Q[0] > 0.0) << 2;", "integer that depends on data");
    refuse_statement("while (1) S[0] = 1.0;", "too long to unroll");
}

#[test]
fn values_that_are_not_there() {
    refuse_statement("double z; S[0] = z;", "before it has a value");
    refuse_statement("double z; if (Q[0] > 0.0) z = 1.0; S[0] = z;", "on some paths only");
    refuse_statement("S[1] = S[0];", "before it has a value");
    refuse_statement("double z[2]; S[0] = z[2];", "outside 0..2");
    refuse_statement("S[0] = Q[2];", "outside 0..2");
    refuse_statement("S[0] = Q[-1];", "outside 0..2");
    refuse_statement("const double z[2][2] = {{1.0}}; S[0] = z[0][3];", "outside 0..2");
    refuse_statement("const int i = 1 / (P->k - P->k);", "divided by zero");
    refuse_statement("const int i = 1 << 40;", "shift by 40");
    refuse_statement("const int i = 65536 * 65536;", "does not fit an int");
    refuse_statement("const int i = 3000000000;", "does not fit an int");
    refuse_statement("const double z = 1.0; z = 2.0;", "z is const");
    refuse_statement("const double z;", "const without a value");
    refuse_statement("Q[0] = 2.0;", "Q is const");
    refuse_statement("P->c = 2.0;", "cannot be written");
    refuse_statement("S[0] = P->d;", "no member d: it has c, k");
    refuse_statement("S[0] = y;", "y is not declared");
    refuse_statement("double z = 1.0, z = 2.0;", "declared twice");
}

#[test]
fn types_and_pointers() {
    refuse_statement("float z = 1.0;", "write double");
    refuse_statement("long double z = 1.0;", "write int or double");
    refuse_statement("unsigned i = 1;", "write int");
    refuse_statement("S[0] = 1.0f;", "drop its suffix");
    refuse_statement("S[0] = (float)Q[0];", "write double");
    refuse_statement("S[0] = 1.0L;", "drop its suffix");
    refuse_statement("S[0] = 1u;", "drop its suffix");
    refuse_statement("S[0] = 010;", "write it in decimal");
    refuse_statement("double *z = S;", "pointers are parameters");
    refuse_statement("double z[P->k];", "not a constant integer");
    refuse_statement("int n = 2; double z[n];", "not a constant integer");
    refuse_statement("double z[] = {1.0};", "without a size");
    refuse_statement("double z[0];", "no size of an array");
    refuse_statement("double z[2][2][2][2];", "at most three dimensions");
    refuse_statement("double z[2] = {1.0, 2.0, 3.0};", "more than 2 values");
    refuse_statement("double z[2][2]; S[0] = z[1];", "2 dimensions and 1 indices");
    refuse_statement("S[0] = Q[0] % 2;", "`%` takes integers");
    refuse_statement("S[0] = Q[0] & 1;", "takes integers");
    refuse_statement("S[Q[0]] = 1.0;", "index is a double");
    refuse_statement("static double z = 1.0;", "drop static");
    refuse_statement("S[0] = \"z\";", "strings");
}

#[test]
fn texts_that_would_exhaust_the_stack_or_the_time() {
    let deep = |open: &str, close: &str| {
        format!("S[0] = {}1.0{};", open.repeat(9_000), close.repeat(9_000))
    };
    refuse_statement(&deep("(", ")"), "more than 200 levels");
    refuse_statement(&deep("- ", ""), "more than 200 levels");
    refuse_statement(&deep("Q[0] ? 1.0 : ", ""), "more than 200 levels");
    refuse_statement(&"{".repeat(9_000), "more than 200 levels");
    refuse_statement(&"if (Q[0]) ".repeat(9_000), "more than 200 levels");
    refuse_statement(&format!("S[0] = 1.0{};", " + Q[0]".repeat(10_001)), "too long");
    refuse_statement(&format!("S[0] = 1.0{};", " && Q[0]".repeat(101)), "too long");
    let mut text = String::from("enum unknowns { U };\nstatic double f0(double z) { return z; }\n");
    for level in 1..40 {
        let before = level - 1;
        let sum = format!("f{before}(z) + f{before}(-z)");
        text += &format!("static double f{level}(double z) {{ return {sum}; }}\n");
    }
    text += "void source(const double *Q, double *S) { S[0] = f39(Q[0]); }\n";
    let error = Physics::from_c("calls.c", &text).unwrap_err().to_string();
    assert!(error.contains("too many calls"), "{error}");
}

#[test]
fn a_long_sum_is_no_deep_expression() {
    let sum = " + Q[0]".repeat(10_000);
    let text = format!(
        "enum unknowns {{ U }};\nvoid source(const double *Q, double *S) {{ S[0] = 0.0{sum}; }}"
    );
    let physics = Physics::from_c("sum.c", &text).unwrap();
    let mut given = vec![0.0; 9];
    given[0] = 0.5;
    let got = physics.evaluate(temblor_patch::Term::Source, 0, &given, &[]).unwrap();
    assert_eq!(got[0].to_bits(), 5_000.0f64.to_bits());
}

#[test]
fn statements_of_other_kinds() {
    refuse_statement("goto end;", "write a loop or an if");
    refuse_statement("switch (P->k) { case 0: break; }", "write if and else if");
    refuse_statement("break;", "outside a loop");
    refuse_statement("return 1.0;", "write `return;`");
    refuse_statement("S[0] = S[1]++;", "`;` is missing");
    refuse_statement("S[0] = ++S[1];", "a statement of its own");
    refuse_statement("S[0] = (S[1] = 2.0);", "an assignment inside an expression");
    refuse_statement("S[0];", "the value is not used");
    refuse_statement("S[0] = Q[0]", "`;` is missing");
    refuse_statement("S[0] = Q[0] +;", "where a value is expected");
    refuse_statement("S[0] = malloc(8);", "an array of constant size");
    refuse_statement("printf(1.0);", "printf is not in the subset");
    refuse_statement("S[0] = erf(Q[0]);", "not defined above");
    refuse_statement("S[0] = pow(Q[0]);", "pow takes 2 arguments");
    refuse_statement("source(Q, P, S);", "calls itself");
    refuse_statement("S[0] = @;", "not C");
}

#[test]
fn declarations_of_other_kinds() {
    refuse_external("double z = 1.0;", "not const");
    refuse_external("static int z;", "not const");
    refuse_external("static const double z;", "has no value");
    refuse_external("static const double z = 1.0, z = 2.0;", "defined twice");
    refuse_external("static const double *z = 0;", "pointers are parameters");
    refuse_external("struct point { double x; };", "the only structure");
    refuse_external("typedef double real;", "the only typedef");
    refuse_external("typedef struct { double x; } point;", "call point `parameters`");
    refuse_external("typedef struct { double x[3]; } parameters;", "a member per number");
    refuse_external("typedef struct { float x; } parameters;", "write double");
    refuse_external("#define SQUARE(a) ((a) * (a))", "static inline function");
    refuse_external("#define PHYS static inline", "not a number");
    refuse_external("#ifdef __CUDACC__", "one text for every target");
    refuse_external("#pragma omp simd", "one text for every target");
    refuse_external("enum { FIRST, FIRST };", "defined twice");
    refuse_external("static double f(double (*g)(double)) { return 1.0; }", "takes a function");
    refuse_external("static double f(double **g) { return 1.0; }", "pointer to pointers");
    refuse_external("static double f(double (*g)[5]) { return 1.0; }", "pointer to rows");
    refuse_external("static double sqrt(double z) { return z; }", "rename yours");
    refuse_external("static double f(void *g) { return 1.0; }", "void pointer");
    refuse_external("static double f(double z) { return f(z); }", "calls itself");
    refuse_external("static double f(double z) { return z; } /* open", "without its end");
    refuse_external(
        "static double f(double z) { return z; } static int f(int z) { return z; }",
        "defined twice",
    );
}

#[test]
fn calls_that_do_not_fit() {
    let head = "static double f(const double *a, double *b) { b[0] = a[0]; return 1.0; }\
                static double g(const double a[2][2]) { return a[0][0]; } static void h(int i) { }";
    let call = |statement: &str| {
        format!(
            "enum unknowns {{ U }};\n{head}\nvoid source(const double *Q, double *S) {{\n{statement}\n}}\n"
        )
    };
    refuse(&call("S[0] = f(S, Q);"), 4, "Q is const");
    refuse(&call("S[0] = f(Q);"), 4, "f takes 2 arguments, not 1");
    refuse(&call("S[0] = f(Q, S, 1.0);"), 4, "f takes 2 arguments");
    refuse(&call("S[0] = f(1.0, S);"), 4, "pass an array");
    refuse(&call("S[0] = f(Q[0], S);"), 4, "pass an array");
    refuse(&call("S[0] = g(Q);"), 4, "differ in dimensions");
    refuse(&call("S[0] = f(Q + 2, S);"), 4, "outside the array");
    refuse(&call("S[0] = h(1);"), 4, "h is void");
    refuse(&call("int i[2] = {1, 2}; S[0] = f(i, S);"), 4, "holds int");
}

#[test]
fn unknowns_and_terms_against_the_conventions() {
    refuse("void source(const double *Q, double *S) { S[0] = 1.0; }", 1, "enum unknowns");
    refuse("enum unknowns { U = 1 };\n", 1, "has to be 0");
    refuse("enum unknowns { U };\nenum auxiliary { W = 2 };\n", 2, "has to be 1");
    refuse("enum unknowns { U };\n", 1, "defines no term");
    refuse_term("void flux(const double *Q, int n, double *F) { F[0] = Q[0]; }", "result 1");
    refuse_term("void flux(const double *q, int n, double *F) { }", "no argument q");
    refuse_term("void flux(const double *Q, int n) { }", "has no result");
    refuse_term("void flux(double *Q, int n, double *F) { }", "two results");
    refuse_term("void flux(const double Q[2], int n, double *F) { }", "`const double Q[3]`");
    refuse_term("void flux(const double *Q, double n, double *F) { }", "`int n`");
    refuse_term("void flux(const double *Q, int n, double F[3]) { }", "`double F[2]`");
    refuse_term("double flux(const double *Q, int n, double *F) { return 1.0; }", "has to be void");
    refuse_term(
        "void eigenvalue(const double *Q, int n, double *L) { L[0] = 1.0; }",
        "has to be double",
    );
    refuse_term(
        "double eigenvalues(const double *Q, int n) { return 1.0; }",
        "call it `eigenvalue`",
    );
    refuse_term("void source(const double *Q, int n, double *S) { }", "no argument n");
    refuse_term(
        "void rhs(const double *Q, const double *dQ, double *R) { }",
        "`const double dQ[3][3]`",
    );
    refuse_term("void initial(const double *Q, double *R) { }", "no argument Q");
    refuse_term("double eigenvalue(const double *Q) { if (Q[0] > 0.0) return 1.0; }", "every path");
    refuse_term(
        "void post(const double *Q, double *R) { if (Q[0] > 0.0) R[0] = 1.0; R[1] = 1.0; }",
        "result 0",
    );
}

#[test]
fn slips_that_c_would_let_pass() {
    refuse_statement("S[0] = 1 / 2 * Q[0];", "1 / 2 of integers is 0 in C: write 1.0 / 2.0");
    refuse_statement("S[0] = Q[0] + 5 / 3;", "5 / 3 of integers is 1 in C");
    refuse_statement("const double half = -1 / 2;", "of integers is 0 in C");
    refuse_statement("S[0] = pow(Q[0], 1 / 3);", "1 / 3 of integers is 0 in C");
    refuse_statement("const int half = 0.5;", "0.5 becomes the int 0: write double, or (int)");
    refuse_statement("int w[2] = {1.0, 1.5};", "1.5 becomes the int 1");
    refuse_statement("S[0] = 1e400;", "beyond a double");
    refuse_statement("S[0] = P.c;", "write P->name");
}

#[test]
fn what_is_meant_is_said_where_c_reads_otherwise() {
    refuse_statement("S[0] = Q[0] ^ 2;", "write pow(x, 2)");
    refuse_statement("S[0] = Q[0]**2;", "pow(x, 2) for a power");
    refuse_statement("S[0] = *(Q + 1);", "write Q[1] for *(Q + 1)");
    refuse_statement("Q[0] * 2.0;", "the value is not used");
    refuse_statement("S[0] = max(Q[0], Q[1]);", "write fmax");
    refuse_statement("S[0] = asin(Q[0]);", "write atan2(x, sqrt(1.0 - x * x))");
    refuse_statement("S[0] = isnan(Q[0]) ? 0.0 : 1.0;", "write x != x");
    refuse_statement("S[0] = 2.0 \u{b7} Q[0];", "write it in ASCII");
    refuse_statement(
        "int i = 0; while (i < Q[0]) { S[0] = Q[i]; i++; }",
        "bound the turns of the loop by a constant: its condition depends on data",
    );
}

#[test]
fn terms_under_the_names_of_other_programs() {
    refuse_term(
        "void sourceTerm(const double *Q, double *S) { S[0] = 0.0; }\nvoid flux(const double *Q, double *F) { F[0] = F[1] = 0.0; }",
        "call it `source`",
    );
    refuse_term(
        "double maxEigenvalue(const double *Q) { return 1.0; }\nvoid flux(const double *Q, double *F) { F[0] = F[1] = 0.0; }",
        "call it `eigenvalue`",
    );
    refuse_term("void flux(double *Q, double *F) { F[0] = F[1] = 0.0; }", "write `const double *`");
}

#[test]
fn a_brace_that_is_missing_is_looked_for_above_the_next_function() {
    let text = "enum unknowns { U };\nvoid source(const double *Q, double *S) {\n  S[0] = 0.0;\n\n\
                double eigenvalue(const double *Q) { return 1.0; }\n";
    refuse(text, 5, "eigenvalue inside a function: a `}` is missing above");
}

#[test]
fn integers_that_are_meant_and_a_byte_order_mark_pass() {
    let text = "\u{feff}enum unknowns { U, V };\n\
                void source(const double *Q, double *S) {\n  \
                const int half = 5 / 2;\n  double w[5 / 2];\n  w[0] = (double)(1 / 2);\n  \
                w[1] = 4 / 2 * M_LN2;\n  S[0] = Q[half - 1] * w[0];\n  S[1] = w[1] * (int)1.5;\n}\n";
    Physics::from_c("right.c", text).unwrap();
}
