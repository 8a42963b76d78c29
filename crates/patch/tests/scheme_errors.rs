//! What breaks a rule of the language is refused when the scheme is built, with line and statement.

use temblor_patch::kernel::Output;
use temblor_patch::matrix::Generator;
use temblor_patch::ranges::Margin;
use temblor_patch::scheme::{Builder, dx, evolved, flux, sum};
use temblor_patch::{Error, text};

const HEAD: &str = "scheme s\nhalo 1\ninput Q\noutput rate R\n";

/// The error of a scheme whose statements start in line 5.
fn refusal(body: &str) -> (u32, String, String) {
    match text::parse("s.scheme", &format!("{HEAD}{body}")) {
        Err(Error::Scheme { scheme, line, statement, what }) => {
            assert_eq!(scheme, "s.scheme");
            (line, statement, what)
        }
        other => panic!("{body} gives {other:?}"),
    }
}

fn refused(body: &str, line: u32, statement: &str, what: &str) {
    let (at, text, why) = refusal(body);
    assert!(why.contains(what), "{body}: {why}");
    assert_eq!(at, line, "{body}: {why}");
    assert!(text.contains(statement), "{body}: {text}");
}

#[test]
fn shift_beyond_the_halo_is_refused() {
    let body = "for each direction n\n    C = evolved(Q[+2] - Q)\nR = sum(C)\n";
    refused(body, 6, "C = evolved(Q[+2] - Q)", "Q is read on 2..p+2, beyond the halo of 1");
}

#[test]
fn shifts_that_add_up_beyond_the_halo_are_refused_where_the_input_is_read() {
    let body = "for each direction n\n    F = flux(Q[-1], n)\n    C = F[-1] - F\nR = sum(C)\n";
    refused(body, 6, "F = flux(Q[-1], n)", "beyond the halo of 1");
}

#[test]
fn shift_out_of_a_stated_range_is_refused() {
    let body =
        "for each direction n\n    F over 0..p+1 = flux(Q, n)\n    C = F[-1] - F\nR = sum(C)\n";
    refused(body, 7, "C = F[-1] - F", "F is read on -1..p-1, but holds values on 0..p+1 only");
}

#[test]
fn shift_out_of_the_output_is_refused() {
    let body =
        "R = source(Q)\nfor each direction n\n    reduce max eigenvalue(complete(R[+1]), n)\n";
    refused(body, 7, "reduce max", "R is read on 1..p+1, but holds values on 0..p only");
}

#[test]
fn corner_of_the_halo_is_refused() {
    let body = "for each direction n\n    D = evolved(Q[+1] - Q[-1])\nS = sum(D)\nfor each direction n\n    E = S[+1] - S\nR = sum(E)\n";
    let text = format!("{}{body}", HEAD.replace("halo 1", "halo 2"));
    let error = text::parse("s.scheme", &text).unwrap_err().to_string();
    assert!(error.starts_with("s.scheme:6: Q is read in a corner of the halo"), "{error}");
    assert!(error.contains("in `D = evolved(Q[+1] - Q[-1])`"), "{error}");
}

#[test]
fn cross_of_a_block_without_direction_reads_no_corner() {
    let body = "E = evolved(Q)\nfor each direction n\n    C = E[+1] - E[-1]\nR = sum(C)\n";
    text::parse("s.scheme", &format!("{HEAD}{body}")).unwrap();
    let body =
        "E over -1..p+1 = evolved(Q)\nfor each direction n\n    C = E[+1] - E[-1]\nR = sum(C)\n";
    text::parse("s.scheme", &format!("{HEAD}{body}")).unwrap();
}

#[test]
fn block_used_before_its_assignment_is_refused() {
    let body = "R = E\nE = evolved(Q)\n";
    refused(body, 5, "R = E", "E is used before it is assigned");
}

#[test]
fn block_assigned_twice_is_refused() {
    refused("E = evolved(Q)\nE = source(Q)\nR = E\n", 6, "E = source(Q)", "assigned a second time");
    refused("R = source(Q)\nR = evolved(Q)\n", 6, "R = evolved(Q)", "assigned a second time");
    refused("Q = source(Q)\n", 5, "Q = source(Q)", "Q is the input");
}

#[test]
fn output_that_is_never_assigned_is_refused() {
    refused("E = evolved(Q)\n", 1, "output R", "the output is never assigned");
}

#[test]
fn widths_that_do_not_go_together_are_refused() {
    refused("R = source(Q) + Q\n", 5, "R = source(Q) + Q", "write evolved(...)");
    refused("R = Q\n", 5, "R = Q", "write evolved(...)");
    refused("R = 1\n", 5, "R = 1", "the output takes the N evolved unknowns");
    refused("R = source(evolved(Q))\n", 5, "source(evolved(Q))", "write complete(...)");
    refused("R = evolved(dt)\n", 5, "evolved(dt)", "takes unknowns");
    refused("R = evolved(complete(Q))\n", 5, "complete(Q)", "leave out complete(...)");
    refused("R = source(Q)\nreduce max Q\n", 6, "reduce max Q", "one value per voxel");
}

#[test]
fn directions_are_refused_where_they_do_not_belong() {
    refused("R = evolved(Q[+1])\n", 5, "Q[+1]", "no direction to shift along");
    refused("R = flux(Q, n)\n", 5, "flux(Q, n)", "inside `for each direction`");
    refused("R = source(Q) / dx(n)\n", 5, "dx(n)", "inside `for each direction`");
    let body = "for each direction n\n    F = flux(Q, n)\nR = F\n";
    refused(body, 7, "R = F", "write sum(F)");
    refused("E = source(Q)\nR = sum(E)\n", 6, "sum(E)", "E has one instance only");
    refused("for each direction n\n    R = flux(Q, n)\n", 6, "R = flux", "sum(C)");
    refused("E at faces = evolved(Q)\nR = E\n", 5, "E at faces", "faces have a direction");
    refused("for each direction n\n    F = flux(Q, m)\nR = sum(F)\n", 6, "flux(Q, m)", "no m");
    refused(
        "for each direction n\n    F = flux(Q)\nR = sum(F)\n",
        6,
        "flux(Q)",
        "direction is missing",
    );
}

#[test]
fn rows_of_a_matrix_bound_its_results() {
    let body = "matrix D = gauss_lobatto_derivative\nfor each direction n\n    A = apply(D, Q, n)\n    C = evolved(A[+1])\nR = sum(C)\n";
    refused(body, 7, "A = apply(D, Q, n)", "rows for the voxels 0..p only");
    let body = "matrix L = gauss_lobatto_lifting\nfor each direction n\n    F over 0..p = flux(Q, n)\n    C = apply(L, F, n)\nR = sum(C)\n";
    refused(body, 8, "C = apply(L, F, n)", "F is read on -1..p, but holds values on 0..p only");
}

#[test]
fn syntax_is_refused_with_what_is_missing() {
    for (body, line, what) in [
        ("R = source(Q\n", 5, "bracket is not closed"),
        ("R = source(Q))\n", 5, "bracket closes"),
        ("R = source(Q) +\n", 5, "a value is missing at the end"),
        ("R = 2 evolved(Q)\n", 5, "an operator is missing before evolved"),
        ("R = evolve(Q)\n", 5, "there is no function evolve"),
        ("R = source(Z)\n", 5, "there is no Z; blocks are Q, R"),
        ("R = source(Q) ? 1\n", 5, "the character ? has no meaning"),
        ("R = max(Q)\n", 5, "max has another number of arguments"),
        ("R = evolved(Q[1.5])\n", 5, "an integer is missing"),
        ("R = evolved(Q[200])\n", 5, "beyond every halo"),
        ("R at nodes = source(Q)\n", 5, "only `at faces` exists"),
        ("R beyond 3 = source(Q)\n", 5, "`at faces`, `over -1..p+1` or `=`"),
        ("R over 1..3 = source(Q)\n", 5, "a range ends at p"),
        ("  R = source(Q)\n", 5, "start this line at the margin"),
        ("R = source(Q) if has flow else evolved(Q)\n", 5, "flow is no term"),
        ("R = source(Q) if rhs else evolved(Q)\n", 5, "a choice is"),
        ("reduce min Q\n", 5, "only `reduce max` exists"),
        ("halo 2\nR = source(Q)\n", 5, "the halo is said a second time"),
        ("matrix M = [[1, 2], [3]]\nR = source(Q)\n", 5, "rows of numbers of one length"),
        ("matrix M = legendre\nR = source(Q)\n", 5, "there is no matrix legendre"),
        ("parameter a = b\nR = source(Q)\n", 5, "a parameter is a number"),
        ("sum = source(Q)\nR = source(Q)\n", 5, "sum means something in schemes"),
        ("parameter a = 1\na = source(Q)\nR = a * source(Q)\n", 6, "a is the name of two things"),
        ("R = initial(Q)\n", 5, "for drivers"),
        ("R = rhs(Q, Q)\n", 5, "Q has one instance only"),
        ("R = source(Q)\nreduce max dt\nreduce max dt\n", 7, "one `reduce max`, and line 6 has it"),
    ] {
        let (at, _, why) = refusal(body);
        assert!(why.contains(what), "{body}: {why}");
        assert_eq!(at, line, "{body}: {why}");
    }
    let error = text::parse("x", "scheme s\nhalo 0\n").unwrap_err();
    assert!(error.to_string().contains("x:2: the halo is 1 to 16"), "{error}");
    let (_, _, why) = refusal(&format!("R = source(Q){}", " + 1".repeat(1000)));
    assert!(why.contains("too long"), "{why}");
    let (_, _, why) = refusal(&format!("R = {}source(Q){}", "(".repeat(200), ")".repeat(200)));
    assert!(why.contains("nests too deep"), "{why}");
    let many: String = (0..501).map(|k| format!("A{k} = source(Q)\n")).collect();
    let (line, _, why) = refusal(&many);
    assert!(why.contains("at most 500 statements") && line == 505, "{why}");
    let error = text::parse("x", "").unwrap_err();
    assert!(error.to_string().contains("the header lacks `scheme NAME`"), "{error}");
}

#[test]
fn errors_of_a_builder_count_statements() {
    let mut k = Builder::new("own", 1, Output::Rate);
    let q = k.input("Q");
    let c = k.each_direction(|k| {
        let f = k.assign_over("F", Margin { low: 0, high: 0 }, flux(q));
        k.assign("C", 1.0 / dx() * (f.at(-1) - f))
    });
    k.output("R", sum(c));
    let error = k.build().unwrap_err().to_string();
    assert!(error.starts_with("own:2: F is read on -1..p-1"), "{error}");
    assert!(error.ends_with("in `C = 1 / dx(n) * (F[-1] - F)`"), "{error}");

    let mut k = Builder::new("no name", 1, Output::Rate);
    let q = k.input("Q");
    let _ = k.matrix("M", Generator::GaussLobattoDerivative);
    k.output("R", evolved(q));
    assert!(k.build().unwrap_err().to_string().contains("`no name` is no name"));
}

#[test]
fn habits_of_other_languages_are_answered_with_this_ones() {
    let step = |body: &str| format!("for each direction n\n    C = {body}\nR = sum(C)\n");
    refused(&step("fluks(Q, n)"), 6, "fluks", "there is no function fluks; there are flux");
    refused(&step("flux(Q, n) / dx"), 6, "dx", "the width of a voxel is dx(n)");
    refused(&step("2^2 * flux(Q, n)"), 6, "2^2", "write pow(x, 2)");
    refused(&step("2**2 * flux(Q, n)"), 6, "2**2", "a power is pow(x, 2)");
    refused(&step("flux(Q, n);"), 6, ";", "a statement ends with its line");
    refused("// a comment\nR = source(Q)\n", 5, "// a comment", "a comment starts with #");
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_scheme() {
    text::parse("s.scheme", &format!("\u{feff}{HEAD}R = source(Q)\n")).unwrap();
}
