//! What counts as a citation of the algorithm notes, and which anchors it needs.

/// A citation: the line it stands on and the anchors it needs, as in `docs/notes`: `n8-5-1` for 8.5.1, `e11` for E11, `p4` for P4.
#[derive(Debug, PartialEq, Eq)]
pub struct Citation {
    pub line: usize,
    pub anchors: Vec<String>,
}

/// The citations of a text: "algorithm notes 0.2, 0.5 and 9.5", "notes 9.3–9.6", "corrections E1–E16", "invariant 10". A citation may run over
/// the end of a line of comment.
pub fn citations(text: &str) -> Vec<Citation> {
    let words: Vec<(usize, &str)> = text.lines().enumerate().flat_map(|(i, line)| words(line).map(move |word| (i + 1, word))).collect();
    let mut found = Vec::new();
    for i in 1..words.len() {
        let keyword = words[i - 1].1.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let before = if i > 1 { words[i - 2].1.to_lowercase() } else { String::new() };
        let is_named = before.ends_with("algorithm") || before.ends_with("theory");
        let list = &words[i..];
        let anchors: Vec<String> = match keyword.as_str() {
            "notes" => reference_list(list).into_iter().map(|r| r.anchor()).collect(),
            "correction" | "corrections" => {
                reference_list(list).into_iter().filter(|r| r.letter == Some('e')).map(|r| r.anchor()).collect()
            }
            "invariant" | "invariants" => reference_list(list).into_iter().map(|r| format!("n11-{}", r.numbers[0])).collect(),
            _ => continue,
        };
        // "kept 3 notes 2 days ago" is no citation; a number with a point, a letter or the full name makes one.
        let is_plain = keyword == "notes" && !is_named && anchors.first().is_none_or(|a| a.starts_with('n') && !a.contains('-'));
        if !anchors.is_empty() && !is_plain {
            found.push(Citation { line: words[i - 1].0, anchors });
        }
    }
    found
}

/// Corrections named without the word, as in "rests on E1, E2 and E4".
pub fn bare_corrections(text: &str) -> Vec<Citation> {
    let numbered = text.lines().enumerate().flat_map(|(i, line)| words(line).map(move |word| (i + 1, word)));
    let found = numbered.filter_map(|(line, word)| Some((line, Reference::read(opened(word))?.0)));
    found
        .filter(|(_, r)| r.letter == Some('e') && r.numbers.len() == 1)
        .map(|(line, r)| Citation { line, anchors: vec![r.anchor()] })
        .collect()
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    let bare = line.trim_start().trim_start_matches("///").trim_start_matches("//!").trim_start_matches("//");
    bare.trim_start_matches(['#', '>']).split_whitespace()
}

fn opened(word: &str) -> &str {
    word.trim_start_matches(['(', '[', '`', '"', '*', '§'])
}

/// `8.5.1`, `E11` or `P4`.
#[derive(Clone, Debug)]
struct Reference {
    letter: Option<char>,
    numbers: Vec<usize>,
}

impl Reference {
    /// Reads a reference from the beginning of `text`; gives what follows it.
    fn read(text: &str) -> Option<(Self, &str)> {
        let letter = text.chars().next().filter(|c| matches!(c, 'E' | 'P')).map(|c| c.to_ascii_lowercase());
        let mut rest = &text[usize::from(letter.is_some())..];
        let mut numbers = Vec::new();
        loop {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            numbers.push(rest[..end].parse().ok()?);
            rest = &rest[end..];
            let goes_on = rest.strip_prefix('.').filter(|tail| tail.starts_with(|c: char| c.is_ascii_digit()));
            match goes_on {
                Some(tail) => rest = tail,
                None => break,
            }
        }
        let is_whole = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '%');
        is_whole.then_some((Self { letter, numbers }, rest))
    }

    /// All from `self` to `last`, where only the last number differs: 9.3–9.6.
    fn through(&self, last: &Self) -> Vec<Self> {
        let (Some(first_number), Some(last_number)) = (self.numbers.last(), last.numbers.last()) else { return vec![last.clone()] };
        let between = (first_number + 1..=*last_number).map(|number| {
            let mut one = self.clone();
            *one.numbers.last_mut().expect("has a last number") = number;
            one
        });
        between.chain([last.clone()]).collect()
    }

    fn anchor(&self) -> String {
        let numbers: Vec<String> = self.numbers.iter().map(usize::to_string).collect();
        format!("{}{}", self.letter.unwrap_or('n'), numbers.join("-"))
    }
}

/// The references at the beginning of these words: joined by commas, "and", "or", dashes (all between) and slashes.
fn reference_list(words: &[(usize, &str)]) -> Vec<Reference> {
    let mut found: Vec<Reference> = Vec::new();
    for (_, word) in words {
        if !found.is_empty() && matches!(*word, "and" | "or" | "&") {
            continue;
        }
        let Some((first, mut rest)) = Reference::read(opened(word)) else { break };
        found.push(first);
        while let Some(joint) = rest.chars().next().filter(|c| matches!(c, '–' | '-' | '/')) {
            let Some((next, after)) = Reference::read(&rest[joint.len_utf8()..]) else { break };
            let first = found.last().expect("one was read").clone();
            found.extend(if joint == '/' { vec![next] } else { first.through(&next) });
            rest = after;
        }
        if !matches!(rest, "" | ",") {
            break;
        }
    }
    found
}
