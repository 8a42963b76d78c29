//! Plans: which blocks of a scheme are stored, and which choices are worth a measurement.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::scheme::{Action, Expression, Scheme};

/// Which blocks of a scheme are stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum Plan {
    /// Every block, a stage for each statement: what a program without fusion does.
    Unfused,
    /// None: one stage computes everything from the input.
    #[default]
    Fused,
    /// Those of these names.
    Staged(Vec<String>),
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unfused => f.write_str("unfused"),
            Self::Fused => f.write_str("fused"),
            Self::Staged(names) => write!(f, "staged:{}", names.join("+")),
        }
    }
}

impl FromStr for Plan {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.split_once(':') {
            None if text == "unfused" => Ok(Self::Unfused),
            None if text == "fused" => Ok(Self::Fused),
            Some(("staged", names)) if !names.is_empty() => {
                Ok(Self::Staged(names.split('+').map(String::from).collect()))
            }
            _ => Err(Error::Mismatch(format!(
                "there is no plan {text}: write fused, unfused, or staged:F+G with the names of blocks"
            ))),
        }
    }
}

impl Plan {
    /// Plans worth a measurement, fused first. Work is repeated where a block is read at several
    /// voxels: so all such blocks are stored, or those read last (faces), or those read first
    /// (voxels).
    #[must_use]
    pub fn candidates(scheme: &Scheme) -> Vec<Self> {
        let mut repeated = vec![false; scheme.blocks.len()];
        let mut needs = vec![Vec::new(); scheme.blocks.len()];
        for statement in &scheme.statements {
            let target = match statement.action {
                Action::Assign { block, .. } => Some(block),
                Action::Maximum(_) => None,
            };
            statement.action.value().walk(&mut |value| {
                let read = match value {
                    Expression::Block(block, shift) => {
                        repeated[*block] |= *shift != 0;
                        *block
                    }
                    Expression::Apply(_, block) => {
                        repeated[*block] = true;
                        *block
                    }
                    Expression::Each(block)
                    | Expression::Sum(block)
                    | Expression::Largest(block) => *block,
                    _ => return,
                };
                if let Some(target) = target {
                    needs[target].push(read);
                }
            });
        }
        let temporaries = || (2..scheme.blocks.len()).filter(|&block| repeated[block]);
        let rests_on = |block: usize| reaches(&needs, block);
        let first: Vec<usize> = temporaries()
            .filter(|&block| !rests_on(block).iter().any(|&b| b > 1 && repeated[b]))
            .collect();
        let last: Vec<usize> = temporaries()
            .filter(|&block| !temporaries().any(|other| rests_on(other).contains(&block)))
            .collect();
        let mut plans = vec![Self::Fused];
        for blocks in [last, first, temporaries().collect()] {
            let names = blocks.iter().map(|&block| scheme.blocks[block].name.clone()).collect();
            let plan = Self::Staged(names);
            if !blocks.is_empty() && !plans.contains(&plan) {
                plans.push(plan);
            }
        }
        plans.push(Self::Unfused);
        plans
    }
}

/// Blocks that a block rests on, itself left out.
fn reaches(needs: &[Vec<usize>], block: usize) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    let mut open = needs[block].clone();
    while let Some(next) = open.pop() {
        if !found.contains(&next) {
            found.push(next);
            open.extend(&needs[next]);
        }
    }
    found
}
