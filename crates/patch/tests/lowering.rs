//! What lowering makes of a scheme: stages, memory, frozen parameters, refusals, and its texts.

mod support;

use std::sync::Arc;

use support::{Random, apply, assert_same, cell, chunk, kernel, physics};
use temblor_patch::graph::{Leaf, Node};
use temblor_patch::lower::{expanded, scratch};
use temblor_patch::{Physics, Plan, Request, Scheme, Term, describe, lower, text};

#[test]
fn fused_kernel_is_one_stage_without_temporaries() {
    for (name, scheme) in [("euler", "rusanov"), ("toy", "fd4"), ("euler", "dg")] {
        let scheme = Scheme::shipped(scheme).unwrap();
        let kernel = kernel(&scheme, &physics(name), 3, 4, Plan::Fused);
        assert_eq!((kernel.stages.len(), kernel.blocks.len()), (1, 2), "{}", kernel.name);
        assert_eq!(scratch(&kernel).len, 0);
    }
}

#[test]
fn unfused_kernel_calls_every_term_on_its_own() {
    let scheme = Scheme::shipped("rusanov").unwrap();
    let kernel = kernel(&scheme, &physics("toy"), 2, 3, Plan::Unfused);
    let count = |term: Term| {
        let calls = kernel.stages.iter().filter_map(|stage| stage.call.as_ref());
        calls.filter(|call| call.term == term).count()
    };
    // A flux, a fluctuation and two eigenvalues (old and new state) per direction.
    let counts = [Term::Flux, Term::Ncp, Term::Source, Term::Eigenvalue, Term::Post].map(count);
    assert_eq!(counts, [2, 2, 1, 4, 1]);
    assert!(kernel.post);
}

#[test]
fn absent_terms_leave_nothing_behind() {
    let scheme = Scheme::shipped("rusanov").unwrap();
    let kernel = kernel(&scheme, &physics("euler"), 3, 3, Plan::Unfused);
    let names: Vec<&str> = kernel.blocks.iter().map(|block| block.name.as_str()).collect();
    assert!(names.iter().all(|name| !name.starts_with("D_") && !name.contains("source")));
    assert!(!kernel.post);
}

#[test]
fn one_fused_right_hand_side_takes_the_place_of_the_terms() {
    let text = "enum unknowns { A }; enum auxiliary { C = 1 };
        void rhs(const double *Q, const double dQ[3][2], double *R) {
            R[0] = Q[1] * (dQ[0][0] + 2.0 * dQ[1][0] + 4.0 * dQ[2][0]); }";
    let physics = Arc::new(Physics::from_c("own.c", text).unwrap());
    let scheme = Scheme::shipped("fd4").unwrap();
    for d in [2, 3] {
        let fused = kernel(&scheme, &physics, d, 3, Plan::Fused);
        let unfused = kernel(&scheme, &physics, d, 3, Plan::Unfused);
        let input = [chunk(&fused, &mut Random(2))];
        let results = [&fused, &unfused].map(|kernel| apply(kernel, &[cell()], &input).0);
        assert_same(&results[0][0], &results[1][0], "rhs");
        let calls = unfused.stages.iter().filter_map(|stage| stage.call.as_ref());
        assert_eq!(calls.map(|call| call.term).collect::<Vec<_>>(), [Term::Rhs]);
    }
}

#[test]
fn temporaries_share_memory_and_never_overlap_while_alive() {
    let scheme = Scheme::shipped("rusanov").unwrap();
    let kernel = kernel(&scheme, &physics("euler"), 3, 6, Plan::Unfused);
    let scratch = scratch(&kernel);
    assert!(scratch.len < scratch.unshared * 6 / 10, "{} of {}", scratch.len, scratch.unshared);
    // Stage by stage, what is written stays away from what is read later.
    let size =
        |block: usize| kernel.blocks[block].voxels() * usize::from(kernel.blocks[block].width);
    let reads = |place: usize| -> Vec<usize> {
        let needed = kernel.graph.reachable(&kernel.stages[place].outputs());
        let load = |node: Node| match node {
            Node::Leaf(Leaf::Load { block, .. }) => Some(usize::from(block.0)),
            _ => None,
        };
        let used = kernel.graph.values().filter(|(value, _)| needed[value.index()]);
        used.filter_map(|(_, node)| load(node)).filter(|&block| block > 1).collect()
    };
    let mut owner = vec![usize::MAX; scratch.len];
    for place in 0..kernel.stages.len() {
        for block in reads(place) {
            let offset = scratch.offsets[block].unwrap();
            assert!(owner[offset..offset + size(block)].iter().all(|&own| own == block));
        }
        for write in kernel.stages[place].writes.iter().filter(|write| write.block.0 > 1) {
            let block = usize::from(write.block.0);
            let offset = scratch.offsets[block].unwrap();
            owner[offset..offset + size(block)].fill(block);
        }
        for block in reads(place) {
            let offset = scratch.offsets[block].unwrap();
            assert!(owner[offset..offset + size(block)].iter().all(|&own| own == block));
        }
    }
}

#[test]
fn stages_of_equal_ranges_merge() {
    let scheme = Scheme::shipped("rusanov").unwrap();
    let names = ["F", "L", "D"].map(String::from).to_vec();
    let kernel = kernel(&scheme, &physics("toy"), 3, 3, Plan::Staged(names));
    // F and L per direction in one stage each, D on fewer faces in one each, then the state.
    assert_eq!(kernel.stages.len(), 7, "{}", describe::lowered(&kernel));
}

#[test]
fn frozen_parameters_are_numbers_in_the_kernel() {
    let scheme = Scheme::shipped("fd4").unwrap();
    let toy = physics("toy");
    let free = kernel(&scheme, &toy, 2, 3, Plan::Fused);
    let frozen = vec![("k".to_owned(), 0.3), ("sigma".to_owned(), 8.0)];
    let request = Request::new(2, 3).with_frozen(frozen);
    let fixed = lower(&scheme, &toy, &request).unwrap();
    let parameters = |node: &Node| matches!(node, Node::Leaf(Leaf::Parameter(_)));
    assert!(free.graph.nodes().iter().any(parameters));
    assert!(!fixed.graph.nodes().iter().any(parameters));
    assert_eq!(fixed.frozen, [(0, 0.3), (2, 8.0)]);
    let input = [chunk(&free, &mut Random(2))];
    let results = [&free, &fixed].map(|kernel| apply(kernel, &[cell()], &input).0);
    assert_same(&results[0][0], &results[1][0], "frozen");
}

#[test]
fn integers_choose_the_text_that_is_traced() {
    let scheme = Scheme::shipped("rusanov").unwrap();
    let request = Request::new(2, 3).with_integers(vec![("twice".into(), 0)]);
    let toy = physics("toy");
    let once = lower(&scheme, &toy, &request).unwrap();
    let plain = lower(&scheme, &toy, &request.with_plan(Plan::Unfused)).unwrap();
    let input = [chunk(&once, &mut Random(2))];
    let results = [&once, &plain].map(|kernel| apply(kernel, &[cell()], &input).0);
    assert_same(&results[0][0], &results[1][0], "twice = 0");
    let twice = kernel(&scheme, &toy, 2, 3, Plan::Fused);
    assert_ne!(apply(&twice, &[cell()], &input).0, results[0]);
}

const BARE: &str = "enum unknowns { A }; void source(const double *Q, double *S) { S[0] = Q[0]; }";

#[test]
fn requests_that_do_not_fit_are_refused() {
    let toy = physics("toy");
    let rusanov = Scheme::shipped("rusanov").unwrap();
    let refuse = |scheme: &Scheme, physics: &Arc<Physics>, request: Request, what: &str| {
        let error = lower(scheme, physics, &request).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    };
    let request = || Request::new(3, 4);
    refuse(&rusanov, &toy, Request::new(1, 4), "2 or 3 dimensions, not 1");
    refuse(&rusanov, &toy, Request::new(2, 0), "1 to 1024 voxels");
    let staged = Plan::Staged(vec!["H".into()]);
    refuse(
        &rusanov,
        &toy,
        request().with_plan(staged),
        "no block H to store; it has F, L, G, D, C",
    );
    refuse(&rusanov, &toy, request().with_frozen(vec![("h".into(), 1.0)]), "no real parameter h");
    refuse(&rusanov, &toy, request().with_frozen(vec![("twice".into(), 1.0)]), "to freeze");
    refuse(&rusanov, &toy, request().with_integers(vec![("k".into(), 1)]), "no int parameter k");
    let bare = Arc::new(Physics::from_c("bare.c", BARE).unwrap());
    refuse(&rusanov, &bare, request(), "calls eigenvalue, which physics bare (bare.c)");
    let godunov = Scheme::shipped("godunov").unwrap();
    refuse(&godunov, &bare, request(), "calls face");
    let own = rusanov.to_string().replace("\n\n", "\nparameter k = 1\n\n");
    let own = text::parse("own", &own).unwrap();
    refuse(&own, &toy, request(), "both have a parameter k");
    let matrix = "scheme m\nhalo 1\ninput Q\noutput rate R\nmatrix D = [[1, 2], [3, 4]]
for each direction n\n    A = apply(D, Q, n)\nR = source(Q) + evolved(sum(A))\n";
    let matrix = text::parse("m", matrix).unwrap();
    refuse(&matrix, &bare, request(), "matrix D has 2 rows, the patch 4 voxels");
    let short = "scheme e\nhalo 1\ninput Q\noutput rate R
for each direction n\n    A over 2..p-2 = evolved(Q)\nR = source(Q)
";
    let short = text::parse("e", short).unwrap();
    assert!(lower(&short, &bare, &request().with_plan(Plan::Unfused)).is_ok(), "nothing needs A");
    let dg = Scheme::shipped("dg").unwrap();
    refuse(&dg, &toy, request(), "physics toy (toy.c) defines ncp, which scheme dg never calls");
    let ends =
        [support::TOY.find("void ncp"), support::TOY.find("void source")].map(Option::unwrap);
    let text = format!("{}{}", &support::TOY[..ends[0]], &support::TOY[ends[1]..]);
    let toy = Arc::new(Physics::from_c("toy.c", &text).unwrap());
    refuse(&dg, &toy, request(), "flux of physics toy depends on x and goes into a matrix");
    assert!(lower(&dg, &toy, &request().with_plan(Plan::Unfused)).is_ok());
}

#[test]
fn texts_of_a_kernel_show_ranges_memory_and_operations() {
    let scheme = Scheme::shipped("rusanov").unwrap();
    let euler = physics("euler");
    let request = Request::new(2, 3).with_plan(Plan::Unfused);
    let statements = expanded(&scheme, &euler, &request).unwrap();
    assert!(statements.contains("F_y = flux(Q, y)    # on 0..p, -1..p+1\n"), "{statements}");
    assert!(statements.contains("New = evolved(Q) + (C_x + C_y)    # on 0..p, 0..p\n"));
    let kernel = lower(&scheme, &euler, &request).unwrap();
    let stages = describe::lowered(&kernel);
    assert!(stages.contains("block F_x of 5 on -1..4, 0..3: 600 B at 0"), "{stages}");
    assert!(stages.contains("calls flux alone"));
    let graph = describe::graph(&kernel);
    assert!(graph.contains("= QIn.0[x+1]") && graph.contains("QOut.4 = v"), "{graph}");
}

#[test]
fn plans_read_back_and_candidates_are_those_that_save_work() {
    let texts = |name: &str| -> Vec<String> {
        Plan::candidates(&Scheme::shipped(name).unwrap()).iter().map(Plan::to_string).collect()
    };
    assert_eq!(
        texts("rusanov"),
        ["fused", "staged:G+D", "staged:F+L+D", "staged:F+L+G+D", "unfused"]
    );
    assert_eq!(texts("fd4"), ["fused", "staged:F", "unfused"]);
    assert_eq!(texts("godunov"), ["fused", "staged:G+D", "unfused"]);
    for text in texts("dg") {
        assert_eq!(text.parse::<Plan>().unwrap().to_string(), text);
    }
    assert!(
        "staged:".parse::<Plan>().unwrap_err().to_string().contains("there is no plan staged:")
    );
}

#[test]
fn longest_chains_and_sums_lower() {
    let mut statements = String::from("A0 = source(Q)\n");
    for k in 1..498 {
        statements += &format!("A{k} = A{} + 1\n", k - 1);
    }
    let sum = " + 1".repeat(490);
    let text = format!("scheme s\nhalo 1\ninput Q\noutput rate R\n{statements}R = A497{sum}\n");
    let scheme = text::parse("s", &text).unwrap();
    let physics = Arc::new(Physics::from_c("bare.c", BARE).unwrap());
    for plan in [Plan::Fused, Plan::Unfused] {
        let kernel = kernel(&scheme, &physics, 2, 1, plan);
        let (outputs, _) = apply(&kernel, &[cell()], &[vec![2.0; 9]]);
        assert_same(&outputs[0], &[2.0 + 497.0 + 490.0], "a long way");
    }
}
