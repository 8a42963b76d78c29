//! The commands of the guide's pages run as they stand, and say what the pages say.

use crate::support::{Folder, SMALL};

/// A fenced block: the words behind the fence, and the lines.
struct Block<'a> {
    info: &'a str,
    lines: Vec<&'a str>,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<Block<'_>> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(info), None) => open = Some(Block { info, lines: Vec::new() }),
            (Some(_), Some(block)) => blocks.push(block),
            (None, Some(mut block)) => {
                block.lines.push(line);
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    blocks
}

#[test]
fn bring_your_own_model_runs_as_it_stands() {
    let folder = Folder::with(SMALL);
    let page = include_str!("../../docs/bring-your-own-model.md");
    let mut commands = 0;
    for block in blocks(page) {
        if let Some((_, name)) = block.info.split_once(' ') {
            folder.write(name, block.lines.join("\n").as_bytes());
        }
        if block.info != "console" {
            continue;
        }
        let mut said = String::new();
        for line in block.lines {
            if let Some(words) = line.strip_prefix("$ temblor ") {
                let args: Vec<&str> = words.split_whitespace().collect();
                said = folder.temblor(&args).says(0, &[]).stdout;
                commands += 1;
            } else {
                assert!(said.lines().any(|other| other == line), "no `{line}` in\n{said}");
            }
        }
    }
    assert!(commands >= 15, "{commands} commands were found");
}
