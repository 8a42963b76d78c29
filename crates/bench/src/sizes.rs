//! Sizes as on the command line: `256`, `50:850:50` (first, last, step) and `800x400x200`.

use crate::error::{Error, Result};

const REMEDY: &str = "give nodes as 256, 800x400x200 or first:last:step, several with commas";

/// Most sizes of a range: beyond it a step was forgotten.
const MOST: usize = 10_000;

/// Shapes (x, y, z) of a list with commas; layers are included in the nodes.
///
/// # Errors
/// [`Error::Invalid`] with the part that is wrong.
pub fn parse(list: &str) -> Result<Vec<[usize; 3]>> {
    let mut shapes = Vec::new();
    for part in list.split(',') {
        shapes.extend(parse_one(part.trim())?);
    }
    Ok(shapes)
}

fn parse_one(text: &str) -> Result<Vec<[usize; 3]>> {
    let bad = || Error::invalid("size", text, REMEDY);
    let number = |text: &str| text.trim().parse::<usize>().ok().filter(|&n| n > 0);
    let numbers = |separator: char| -> Result<Vec<usize>> {
        text.split(separator).map(|n| number(n).ok_or_else(bad)).collect()
    };
    if text.contains(':') {
        let [first, last, step] = numbers(':')?[..] else { return Err(bad()) };
        if first > last || (last - first) / step >= MOST {
            return Err(bad());
        }
        return Ok((first..=last).step_by(step).map(|n| [n; 3]).collect());
    }
    match numbers('x')?[..] {
        [n] => Ok(vec![[n; 3]]),
        [nx, ny, nz] => Ok(vec![[nx, ny, nz]]),
        _ => Err(bad()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_both_of_its_ends() {
        let shapes = parse("50:850:50").unwrap();
        assert_eq!((shapes.len(), shapes[0], shapes[16]), (17, [50; 3], [850; 3]));
        assert_eq!(parse("50:120:50").unwrap(), [[50; 3], [100; 3]]);
    }

    #[test]
    fn cubes_boxes_and_ranges_may_be_listed_together() {
        let shapes = parse("256, 801x1x201,10:20:10").unwrap();
        assert_eq!(shapes, [[256; 3], [801, 1, 201], [10; 3], [20; 3]]);
    }

    #[test]
    fn what_is_no_size_is_refused_with_the_part_that_is_wrong() {
        for bad in ["", "0", "5x6", "50:850", "850:50:50", "1:9:0", "12.5", "1:99999999:1", "-4"] {
            let message = parse(&format!("64,{bad}")).unwrap_err().to_string();
            assert!(message.contains(&format!("`{bad}`")), "{message}");
        }
    }
}
