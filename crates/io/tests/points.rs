//! Point lists.

use rstest::rstest;
use std::path::Path;
use temblor_io::csv_points::parse;

#[rstest]
#[case("1,2,3\n4,5,6\n")]
#[case("x,y,z\n1,2,3\n4,5,6")]
#[case("# survey\n\nstation;Depth [m];X;Y\na;3;1;2\nb;6;4;5 # last\n")]
#[case("1 2 3\r\n4\t5\t6\r\n")]
#[case("\u{feff}x_m,y_m,z_m\n1,2,3\n4,5,6\n")]
fn dialects_give_the_same_points(#[case] text: &str) {
    let points = parse(text, Path::new("p.csv")).unwrap();
    assert_eq!(points, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
}

#[test]
fn two_columns_are_x_and_depth() {
    assert_eq!(parse("10,20\n", Path::new("p.csv")).unwrap(), [[10.0, 0.0, 20.0]]);
}

#[test]
fn units_in_names_are_applied() {
    let points = parse("x_ft,y [km],depth (m)\n1000,2,3\n", Path::new("p.csv")).unwrap();
    // One international foot is 0.3048 m.
    assert!((points[0][0] - 304.8).abs() < 1e-9);
    assert_eq!(points[0][1..], [2000.0, 3.0]);
}

#[rstest]
#[case("x_yd,z\n1,2\n", "line 1", "in `yd`")]
#[case("1,2,3\n4,five,6\n", "line 2", "`five`")]
#[case("1,2,3\n\n# c\n4,5\n", "line 4", "2 columns instead of 3")]
#[case("1,2,nan\n", "line 1", "`nan`")]
#[case("a,b,c\n1,2,3\n", "line 1", "no columns x and z")]
#[case("1,2,3,4\n", "line 1", "4 columns")]
#[case("# nothing\n", "number of points", "is 0")]
fn mistakes_are_named_with_their_line(#[case] text: &str, #[case] place: &str, #[case] what: &str) {
    let error = parse(text, Path::new("p.csv")).unwrap_err().to_string();
    assert!(error.contains(place) && error.contains(what), "{error}");
}
