//! What `temblor patch` refuses before it computes anything, and what it says.

use rstest::rstest;

use crate::support::{Folder, replaced};

/// A run of a tenth of a second.
pub(crate) const SOD: &str = r#"
[physics]
shipped = "euler"
setup = "sod.c"
[parameters]
gamma = 1.4
[scheme]
shipped = "rusanov"
[domain]
patches = [5, 1]
cells = 8
size = [1.0, 0.2]
x = "outflow"
y = "periodic"
[time]
end = 0.05
courant = 0.4
[[output]]
file = "density.npy"
unknowns = ["density"]
"#;

pub(crate) const SOD_C: &str = r"static void gas(double density, double pressure, double *Q) {
  Q[DENSITY] = density;
  Q[MOMENTUM_X] = 0.0;
  Q[MOMENTUM_Y] = 0.0;
  Q[MOMENTUM_Z] = 0.0;
  Q[ENERGY] = pressure / 0.4;
}

void initial(const double *x, double *Q) {
  if (x[0] < 0.5) gas(1.0, 1.0, Q);
  else gas(0.125, 0.1, Q);
}
";

/// A physics without an initial state.
const BARE_C: &str = "enum unknowns { DENSITY };
typedef struct { double gamma; } parameters;
static const parameters defaults = {1.4};
void flux(const double *Q, const parameters *P, double *F) { F[0] = P->gamma * Q[0]; }
double eigenvalue(const parameters *P) { return P->gamma; }
";

fn folder(text: &str) -> Folder {
    let folder = Folder::with(text);
    folder.write("sod.c", SOD_C.as_bytes());
    folder.write("bare.c", BARE_C.as_bytes());
    folder
}

#[rstest]
#[case("courant", "coruant", &["unknown field `coruant`", "did you mean `courant`?"])]
#[case("[parameters]", "[paramters]", &["did you mean `parameters`?"])]
#[case("gamma = 1.4", "gama = 1.4", &["[parameters] gama", "did you mean `gamma`?"])]
#[case("gamma = 1.4", "gamma = nan", &["`gamma`", "give a finite number"])]
#[case("\"euler\"", "\"eular\"", &["[physics] shipped", "did you mean `euler`?"])]
#[case("\"rusanov\"", "\"rusanof\"", &["[scheme] shipped", "did you mean `rusanov`?"])]
#[case("\"density\"", "\"densty\"", &["no unknown `densty`", "did you mean `density`?"])]
#[case("shipped = \"euler\"\nsetup = \"sod.c\"", "file = \"bare.c\"",
    &["bare.c has no `initial`", "[physics] setup"])]
#[case("setup = \"sod.c\"", "setup = \"no.c\"", &["[physics] setup", "cannot read", "relative"])]
#[case("shipped = \"euler\"", "shipped = \"euler\"\nfile = \"a.c\"", &["give one of them"])]
#[case("shipped = \"euler\"", "", &["neither shipped nor file", "temblor patch list"])]
#[case("[5, 1]", "[5]", &["patches has 1 entries", "two or three"])]
#[case("[5, 1]", "[5, 0]", &["patches along y is 0"])]
#[case("[1.0, 0.2]", "[1.0]", &["size has 1 entries and patches has 2"])]
#[case("[1.0, 0.2]", "[1.0, -0.2]", &["along y is -0.2 m"])]
#[case("\"periodic\"", "[\"periodic\", \"outflow\"]", &["make both faces periodic, or none"])]
#[case("\"periodic\"", "\"periodic\"\nz = \"fixed\"", &["z is given", "two axes"])]
#[case("\"periodic\"", "\"peridic\"", &["periodic", "outflow", "fixed"])]
#[case("courant = 0.4", "", &["neither courant nor dt"])]
#[case("courant = 0.4", "courant = 0.4\ndt = 0.1", &["both courant and dt"])]
#[case("courant = 0.4", "courant = 1.2", &["courant is 1.2", "stable up to 0.500", "one axis alone"])]
#[case("courant = 0.4", "courant = -1", &["courant is -1", "positive"])]
#[case("end = 0.05", "end = 0", &["end is 0 s", "positive"])]
#[case("shipped = \"rusanov\"", "shipped = \"rusanov\"\nrunge_kutta = 2",
    &["runge_kutta is 2", "Euler step by itself"])]
#[case("shipped = \"rusanov\"", "shipped = \"fd4\"\nrunge_kutta = 5", &["give 1, 2, 3 or 4"])]
#[case("density.npy", "density.csv", &[".vti, .npy or .png"])]
#[case("density.npy", "density.npy\"\nalong = \"x", &["line plots"])]
#[case("density.npy", "density.png\"\nalong = \"z", &["along is z, the domain has 2 axes"])]
#[case("unknowns = [\"density\"]", "interval = -1.0", &["interval is -1 s"])]
#[case("density.npy\"\nunknowns = [\"density\"]", "a.vti\"", &["one unknown and 5", "{unknown}"])]
#[case("unknowns = [\"density\"]", "unknowns = []", &["name at least one"])]
#[case("unknowns = [\"density\"]", "interval = 1e-9", &["interval is 0.000000001 s", "more than 100000 files"])]
#[case("unknowns = [\"density\"]", "[[output]]\nfile = \"density.npy\"",
    &["1 and 2 both write density.npy", "rename one"])]
#[case("density.npy\"", "d.png\"\nalong = \"x\"\nthrough = [0.5, 0.3]",
    &["through is 0.3 m along y", "from 0 to 0.2 m"])]
#[case("cells = 8", "cells = -8", &["expected a whole number from 0 to 65535"])]
#[case("[5, 1]", "[5.5, 1]", &["expected a whole number, 0 or more"])]
#[case("gamma = 1.4", "gamma = \"1.4\"", &["expected a number"])]
fn a_wrong_run_file_is_refused_with_the_remedy(
    #[case] from: &str,
    #[case] to: &str,
    #[case] pieces: &[&str],
) {
    let folder = folder(&replaced(SOD, from, to));
    for command in ["check", "run"] {
        folder.temblor(&["patch", command, "run.toml"]).says(2, pieces);
    }
    assert_eq!(folder.names(), ["bare.c", "run.toml", "sod.c"], "nothing is written");
}

#[test]
fn a_fault_in_the_c_text_names_the_users_own_file_and_line() {
    let folder = folder(SOD);
    folder.write("sod.c", b"void initial(const double *x, double *Q) {\n  Q[0] = malloc(3);\n}\n");
    folder.temblor(&["patch", "check", "run.toml"]).says(2, &["sod.c:2:", "malloc"]);
    let own = replaced(SOD, "shipped = \"euler\"\nsetup = \"sod.c\"", "file = \"mine.c\"");
    let folder = Folder::with(&own);
    folder.write("mine.c", b"enum unknowns { A };\n\nvoid flux(double *Q) { goto out; }\n");
    folder.temblor(&["patch", "check", "run.toml"]).says(2, &["mine.c:3:"]);
}

#[test]
fn a_fault_in_a_scheme_names_file_line_and_statement() {
    let folder = folder(&replaced(SOD, "shipped = \"rusanov\"", "file = \"mine.scheme\""));
    folder.write(
        "mine.scheme",
        b"scheme mine\nhalo 1\ninput Q\noutput rate R\nfor each direction n\n    F = flux(Q[+2], n)\nR = sum(F)\n",
    );
    folder.temblor(&["patch", "check", "run.toml"]).says(2, &["mine.scheme:6:", "flux(Q[+2], n)"]);
}

#[test]
fn a_step_beyond_what_the_dissipation_allows_is_refused() {
    // 2.785 / (8 m/s (1 / 0.025 m + 1 / 0.025 m)) = 4.35 ms.
    let text = replaced(SOD, "shipped = \"rusanov\"", "shipped = \"fd4\"");
    let text = replaced(&text, "courant = 0.4", "dt = 0.005");
    folder(&text)
        .temblor(&["patch", "check", "run.toml"])
        .says(2, &["dt is 0.005 s", "stable up to 4.352021e-3 s", "sigma"]);
}

#[test]
fn an_initial_state_that_is_not_finite_is_named_before_the_run() {
    let folder = folder(SOD);
    folder.write(
        "sod.c",
        SOD_C.replace("gas(0.125, 0.1, Q)", "gas(0.125, log(-x[0]), Q)").as_bytes(),
    );
    // The first voxel right of the middle: 20 of 40 along x, the fifth of patch 2.
    folder.temblor(&["patch", "check", "run.toml"]).says(
        5,
        &["`energy` is NaN after step 0", "patch 2, voxel [4, 0, 0]", "(0.512500, 0.012500"],
    );
}

#[test]
fn a_start_without_a_speed_is_named_with_its_place() {
    let folder = folder(SOD);
    folder.write("sod.c", SOD_C.replace("gas(0.125, 0.1, Q)", "gas(0.125, -0.1, Q)").as_bytes());
    folder
        .temblor(&["patch", "check", "run.toml"])
        .says(5, &["`eigenvalue` is NaN", "patch 2, voxel [4, 0, 0]", "(0.512500, 0.012500"]);
}

#[test]
fn a_fixed_step_that_the_speeds_do_not_allow_is_warned_of() {
    // dx = 0.025 m, sound of 1.183 m/s: 0.0106 s along both axes, 0.0211 s along one.
    let check = |dt: &str| {
        let text = replaced(SOD, "courant = 0.4", dt);
        folder(&text).temblor(&["patch", "check", "run.toml"]).says(0, &[]).stdout
    };
    let said = check("dt = 0.02");
    assert!(said.contains("stable up to 1.056e-2 s"), "{said}");
    assert!(said.contains("up to 2.113e-2 s along one alone"), "{said}");
    assert!(!check("dt = 0.01").contains("stable up to"));
}

#[test]
fn patches_narrower_than_the_halo_are_refused() {
    let text = replaced(SOD, "shipped = \"rusanov\"", "shipped = \"fd4\"");
    let text = replaced(&text, "cells = 8", "cells = 2");
    folder(&text)
        .temblor(&["patch", "check", "run.toml"])
        .says(2, &["cells is 2", "fd4 reads 3 voxels"]);
}

#[test]
fn the_list_shows_what_ships_with_unknowns_terms_and_parameters() {
    let done = Folder::with("").temblor(&["patch", "list"]).says(0, &[]);
    for piece in ["physics euler", "momentum_x", "eigenvalue", "gamma = 1.4", "scheme fd4", "sigma"]
    {
        assert!(done.stdout.contains(piece), "{piece}: {}", done.stdout);
    }
}

#[test]
fn a_kernel_can_be_seen_at_every_stage_of_its_making() {
    let folder = folder(SOD);
    let emit = |stage: &str| {
        folder.temblor(&["patch", "emit", "run.toml", "--stage", stage]).says(0, &[]).stdout
    };
    assert!(emit("scheme").contains("G = 0.5 * (F + F[+1])"), "{}", emit("scheme"));
    assert!(emit("expanded").contains("# on "), "{}", emit("expanded"));
    let lowered = emit("lowered");
    assert!(lowered.contains("kernel euler_rusanov_d2_p8"), "{lowered}");
    assert!(emit("graph").contains("gamma"), "{}", emit("graph"));
    assert!(emit("c").contains("euler_rusanov_d2_p8_run("));
    for (stage, piece) in [("cuda", "__global__"), ("hip", "global"), ("opencl", "__kernel")] {
        let text = emit(stage);
        assert!(text.contains(piece) && text.contains("euler_rusanov_d2_p8"), "{stage}: {text}");
    }
    let plain = ["patch", "emit", "run.toml", "--stage", "c", "--schedule", "plain"];
    assert!(folder.temblor(&plain).says(0, &[]).stdout.contains("flux("));
    let wrong = ["patch", "emit", "run.toml", "--stage", "c", "--schedule", "tile"];
    folder.temblor(&wrong).says(2, &["fused, plain, plain-flat and plain-openmp"]);
}

/// CCZ4 at rest on a box of 8 voxels per axis.
const CCZ4: &str = r#"
[physics]
shipped = "ccz4"
setup = "shift.c"
[parameters]
s = 0
bs = 0
sigma = 0.1
[scheme]
shipped = "fd4"
[domain]
patches = [2, 2, 2]
cells = 4
size = [1.0, 1.0, 1.0]
x = "periodic"
y = "periodic"
z = "periodic"
[time]
end = 0.1
courant = 1.0
"#;

#[test]
fn pairs_of_ccz4s_shift_that_are_inconsistent_are_refused() {
    let shifted = |text: &str, shift: &str| {
        let folder = Folder::with(text);
        let initial = format!(
            "void initial(const double *x, const parameters *P, double *R) {{\n  \
             shipped_exact(x, 0.0, P, R);\n  R[BETA_X] = {shift};\n}}\n"
        );
        folder.write("shift.c", initial.as_bytes());
        folder
    };
    let mixed = replaced(CCZ4, "s = 0\nbs = 0", "s = 1\nbs = 0");
    shifted(&mixed, "0.0")
        .temblor(&["patch", "check", "run.toml"])
        .says(2, &["s = 1, bs = 0", "1 and 1, or for 0 and 0 without a shift"]);
    shifted(CCZ4, "0.25").temblor(&["patch", "check", "run.toml"]).says(
        2,
        &["s = 0, bs = 0", "`beta_x` of the initial state reaches 0.25", "has to be zero"],
    );
}

#[test]
fn a_box_that_does_not_fit_is_refused_with_both_numbers() {
    let text = replaced(SOD, "[5, 1]", "[200000, 100000]");
    for command in ["check", "run"] {
        folder(&text).temblor(&["patch", command, "run.toml"]).says(4, &["bytes", "of patches"]);
    }
}

#[test]
fn a_long_step_is_warned_of_and_one_that_is_never_stable_refused() {
    let fd4 = replaced(SOD, "shipped = \"rusanov\"", "shipped = \"fd4\"");
    // Four stages: 2.828 / 1.372 * 7 / 2 = 7.21 along both axes, twice that along one.
    let check = |courant: &str, code: i32| {
        let text = replaced(&fd4, "courant = 0.4", courant);
        let text = replaced(&text, "gamma = 1.4", "sigma = 0.1");
        folder(&text).temblor(&["patch", "check", "run.toml"]).says(code, &[])
    };
    assert!(check("courant = 9.0", 0).stdout.contains("warning: courant is 9"));
    assert!(!check("courant = 2.0", 0).stdout.contains("warning"));
    assert!(check("courant = 15.0", 2).stderr.contains("one axis alone"));
}
