//! Tables and records that fit the width of a terminal.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};
use unicode_width::UnicodeWidthStr;

/// What is left out last: without them the other cells say nothing.
const NEEDED: [&str; 4] = ["trial", "state", "value", "result"];
/// What is left out first: nobody misses them beside the others.
const SPARED: [&str; 3] = ["told_at", "seed", "worker"];
/// The longest word that is kept whole.
const LONGEST_WORD: usize = 24;
/// Beside what is in a cell: its frame and the spaces in it.
const FRAME: usize = 3;

/// Columns of the terminal that standard output is (standard error, if asked for); none where it is no terminal.
pub(super) fn terminal_width(of_errors: bool) -> Option<usize> {
    let mut table = Table::new();
    if of_errors {
        table.use_stderr();
    }
    table.width().map(usize::from).filter(|width| *width > 0)
}

/// A table that is no wider than the terminal, and the columns that had to be left out for that.
pub(super) fn drawn(columns: &[String], rows: &[Vec<String>], terminal: Option<usize>) -> (Table, Vec<String>) {
    let kept = terminal.map_or_else(|| (0..columns.len()).collect(), |width| fitting(columns, rows, width));
    let pick = |cells: &[String]| kept.iter().map(|&i| cells[i].clone()).collect::<Vec<_>>();
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(pick(columns));
    for row in rows {
        table.add_row(pick(row));
    }
    if let Some(width) = terminal {
        let widths = shared_out(&kept.iter().map(|&i| needs(&columns[i], rows, i)).collect::<Vec<_>>(), width);
        for (i, width) in widths.into_iter().enumerate() {
            let width = Width::Fixed(u16::try_from(width + FRAME - 1).unwrap_or(u16::MAX));
            if let Some(column) = table.column_mut(i) {
                column.set_constraint(ColumnConstraint::Absolute(width));
            }
        }
    }
    let left_out = (0..columns.len()).filter(|i| !kept.contains(i)).map(|i| columns[i].clone()).collect();
    (table, left_out)
}

/// The least and the best width of a column: its longest word, and its longest cell.
fn needs(name: &str, rows: &[Vec<String>], column: usize) -> (usize, usize) {
    let cells = || rows.iter().map(|row| row[column].as_str()).chain([name]);
    let longest = |text: &str| text.split_whitespace().map(UnicodeWidthStr::width).max().unwrap_or(0);
    let most = cells().map(UnicodeWidthStr::width).max().unwrap_or(0);
    (cells().map(longest).max().unwrap_or(0).min(LONGEST_WORD), most)
}

/// The columns that fit side by side: empty ones are left out first, then those that are not missed, then those on the right.
fn fitting(columns: &[String], rows: &[Vec<String>], width: usize) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..columns.len()).collect();
    let least = |kept: &[usize]| 1 + kept.iter().map(|&i| needs(&columns[i], rows, i).0 + FRAME).sum::<usize>();
    let is_empty = |i: usize| rows.iter().all(|row| matches!(row[i].as_str(), "" | "–"));
    let is_needed = |i: usize| i == 0 || NEEDED.contains(&columns[i].as_str());
    while least(&kept) > width && kept.len() > 1 {
        let of = |wanted: &dyn Fn(usize) -> bool| kept.iter().rposition(|&i| wanted(i));
        let is_spared = |i: usize| !is_needed(i) && SPARED.contains(&columns[i].as_str());
        let next = of(&|i| !is_needed(i) && is_empty(i)).or_else(|| of(&is_spared)).or_else(|| of(&|i| !is_needed(i)));
        let next = next.unwrap_or(kept.len() - 1);
        kept.remove(next);
    }
    kept
}

/// The width of each column: what is short gets its room first, and what is long breaks between words.
fn shared_out(needs: &[(usize, usize)], width: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = needs.iter().map(|(least, _)| *least).collect();
    let mut spare = width.saturating_sub(1 + widths.iter().map(|width| width + FRAME).sum::<usize>());
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|&i| needs[i].1 - needs[i].0);
    for i in order {
        let more = (needs[i].1 - needs[i].0).min(spare);
        (widths[i], spare) = (widths[i] + more, spare - more);
    }
    widths
}

/// A text in lines of at most so many columns of a terminal, broken between words where that is possible; some letters are two columns wide.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for mut word in text.split(' ') {
        let free = width.saturating_sub(line.width() + usize::from(!line.is_empty()));
        if word.width() > free && !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        while word.width() > width.max(1) && word.chars().nth(1).is_some() {
            let places = word.char_indices().map(|(at, letter)| at + letter.len_utf8());
            // One letter at least, however narrow the terminal.
            let end = places.clone().take_while(|&end| word[..end].width() <= width).last().or_else(|| places.clone().next()).unwrap_or(0);
            let (head, rest) = word.split_at(end);
            lines.push(head.to_owned());
            word = rest;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(columns: &[&str], row: &[&str]) -> (Vec<String>, Vec<Vec<String>>) {
        let own = |cells: &[&str]| cells.iter().map(|&cell| cell.to_owned()).collect::<Vec<_>>();
        (own(columns), vec![own(row)])
    }

    #[test]
    fn tables_are_as_wide_as_the_terminal_at_most() {
        let (columns, rows) = sheet(
            &["trial", "temperature", "std", "value", "reason", "told_at"],
            &["14", "50", "–", "0.25", "the instrument was off all day", "2026-11-16T19:12:40Z"],
        );
        for width in 9..140 {
            let (table, left_out) = drawn(&columns, &rows, Some(width));
            let widest = table.lines().map(|line| line.width()).max().unwrap_or(0);
            assert!(widest <= width, "{width}: {table}");
            assert_eq!(width >= 31, !left_out.contains(&"temperature".to_owned()), "{width}: {table}");
            assert!(width < 17 || !left_out.contains(&"value".to_owned()), "{width}: {table}");
            assert!(left_out.is_empty() || left_out.contains(&"std".to_owned()), "what is empty goes first: {left_out:?}");
        }
        // Who looks at failures wants their reason, not who told of them when.
        let (_, left_out) = drawn(&columns, &rows, Some(50));
        assert_eq!(left_out, ["std", "told_at"]);
        let (whole, _) = drawn(&columns, &rows, None);
        assert_eq!(drawn(&columns, &rows, Some(200)).0.to_string(), whole.to_string(), "there is room for all of it");
    }

    #[test]
    fn texts_break_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("a longerthanthat b", 5), ["a", "longe", "rthan", "that", "b"]);
        assert_eq!(wrapped("溶媒 = 水水水水 b", 7), ["溶媒 =", "水水水", "水 b"]);
        assert_eq!(wrapped("水水", 1), ["水", "水"]);
        assert_eq!((wrapped("", 5), wrapped("exact", 5)), (vec![String::new()], vec!["exact".to_owned()]));
    }
}
