//! Text and builder give the same scheme, and printing reads back.

use temblor_patch::kernel::Output;
use temblor_patch::matrix::Generator;
use temblor_patch::physics::Term;
use temblor_patch::scheme::{
    Builder, apply, complete, dt, dx, eigenvalue, evolved, face, flux, has, max, ncp, post, rhs,
    source, sum,
};
use temblor_patch::shipped::SCHEMES;
use temblor_patch::{Scheme, text};

#[test]
fn rusanov_built_in_rust_is_the_shipped_text() {
    let mut k = Builder::new("rusanov", 1, Output::Step);
    let q = k.input("Q");
    let c = k.each_direction(|k| {
        let f = k.assign("F", flux(q));
        let l = k.assign("L", eigenvalue(q));
        let damping = 0.5 * max(l, l.at(1)) * evolved(q.at(1) - q);
        let g = k.assign("G", 0.5 * (f + f.at(1)) - damping);
        let d = k.assign_at_faces("D", ncp(0.5 * (q + q.at(1)), q.at(1) - q));
        k.assign("C", dt() / dx() * (g.at(-1) - g - 0.5 * (d.at(-1) + d)))
    });
    let new = k.output("New", post(complete(evolved(q) + dt() * source(q) + sum(c))));
    k.each_direction(|k| k.reduce_max(eigenvalue(new)));
    assert_eq!(k.build().unwrap(), Scheme::shipped("rusanov").unwrap());
}

#[test]
fn fd4_built_in_rust_is_the_shipped_text() {
    let mut k = Builder::new("fd4", 3, Output::Rate);
    let q = k.input("Q");
    let sigma = k.parameter("sigma", 8.0);
    let (d, a, b, o) = k.each_direction(|k| {
        let d = 8.0 * (q.at(1) - q.at(-1)) - (q.at(2) - q.at(-2));
        let d = k.assign("D", 1.0 / (12.0 * dx()) * d);
        let f = k.assign("F", flux(q));
        let a = 8.0 * (f.at(1) - f.at(-1)) - (f.at(2) - f.at(-2));
        let a = k.assign("A", 1.0 / (12.0 * dx()) * a);
        let b = k.assign("B", ncp(q, d));
        let sixth = q.at(3) + q.at(-3) - 6.0 * (q.at(2) + q.at(-2)) + 15.0 * (q.at(1) + q.at(-1))
            - 20.0 * q;
        (d, a, b, k.assign("K", sigma / (64.0 * dx()) * evolved(sixth)))
    });
    let terms = has(Term::Rhs, rhs(q, d), source(q) - sum(a) - sum(b));
    k.output("R", terms + sum(o));
    assert_eq!(k.build().unwrap(), Scheme::shipped("fd4").unwrap());
}

#[test]
fn dg_and_godunov_built_in_rust_are_the_shipped_texts() {
    let mut k = Builder::new("dg", 1, Output::Rate);
    let q = k.input("Q");
    let stiffness = k.matrix("stiffness", Generator::GaussLobattoStiffness);
    let lifting = k.matrix("lifting", Generator::GaussLobattoLifting);
    let c = k.each_direction(|k| {
        let f = k.assign("F", flux(q));
        let l = k.assign("L", eigenvalue(q));
        let damping = 0.5 * max(l, l.at(1)) * evolved(q.at(1) - q);
        let g = k.assign_at_faces("G", 0.5 * (f + f.at(1)) - damping);
        k.assign("C", 1.0 / dx() * (apply(stiffness, f) - apply(lifting, g)))
    });
    k.output("R", source(q) + sum(c));
    assert_eq!(k.build().unwrap(), Scheme::shipped("dg").unwrap());

    let mut k = Builder::new("godunov", 1, Output::Step);
    let q = k.input("Q");
    let c = k.each_direction(|k| {
        let g = k.assign("G", face(q, q.at(1)));
        let d = k.assign_at_faces("D", ncp(0.5 * (q + q.at(1)), q.at(1) - q));
        k.assign("C", dt() / dx() * (g.at(-1) - g - 0.5 * (d.at(-1) + d)))
    });
    let new = k.output("New", post(complete(evolved(q) + dt() * source(q) + sum(c))));
    k.each_direction(|k| k.reduce_max(eigenvalue(new)));
    assert_eq!(k.build().unwrap(), Scheme::shipped("godunov").unwrap());
}

#[test]
fn shipped_schemes_read_back_as_printed() {
    for (name, _) in SCHEMES {
        let scheme = Scheme::shipped(name).unwrap();
        let printed = scheme.to_string();
        assert_eq!(text::parse(name, &printed).unwrap(), scheme, "{printed}");
        let statements = printed.lines().skip_while(|line| !line.is_empty()).skip(1);
        assert!(statements.count() <= 12, "{name} is short");
    }
}

#[test]
fn every_construct_reads_back_as_printed() {
    let source = "
scheme all
halo 2
input Q
output step New
parameter a = -0.5
parameter tiny = 1e-20
matrix M = [[0.5, -1, 0], [2e-9, 1, 3]] from -1
for each direction k:
    F over -1..p+1 = -flux(Q, k) - (dt - (2 - 1e3)) * evolved(-Q[-1])
    G at faces over -2..p = face(Q, Q[+1], k) / (dx(k) / 2) / 3
    H = apply(M, Q, k)
    V = max(eigenvalue(Q, k), abs(min(tiny, pow(a, 2))))
E = rhs(Q, H) if has rhs else source(Q) if has source else evolved(Q) * sqrt(maximum(V))
New = post(complete(E * (1 +   # goes on
    exp(a)) + sum(F) - (sum(G) + log(2))))
reduce max maximum(V)
";
    let scheme = text::parse("all", source).unwrap();
    let printed = scheme.to_string();
    assert_eq!(text::parse("all", &printed).unwrap(), scheme, "{printed}");
    let lines: Vec<u32> = scheme.statements.iter().map(|statement| statement.line).collect();
    assert_eq!(lines, [10, 11, 12, 13, 14, 15, 17]);
}

#[test]
fn schemes_of_the_docs_are_schemes() {
    let page = include_str!("../../../docs/patch-schemes.md");
    let blocks: Vec<&str> = page.split("```scheme\n").skip(1).collect();
    assert_eq!(blocks.len(), 1);
    let block = blocks[0].split("```").next().unwrap();
    assert_eq!(text::parse("docs", block).unwrap(), Scheme::shipped("rusanov").unwrap());
}
