//! The first sheet of an Excel workbook (.xlsx): its first row names the columns.

use super::delimited::check_names;
use super::place::round;
use super::{Cell, DataError, Rows};
use calamine::{Data, ExcelDateTime, Range, Reader, Style, StyleRange, Xlsx, XlsxError};
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

/// 1970-01-01 in the days that Excel counts from 1900, and from 1904 where a workbook says so.
const DAYS_TO_1970: f64 = 25_569.0;
const DAYS_1900_TO_1904: f64 = 1462.0;

struct Sheet {
    file: PathBuf,
    cells: Range<Data>,
    /// How they are shown, where some are shown in per cent.
    styles: StyleRange,
    /// For each column of the sheet, whether it has a name.
    named: Vec<bool>,
    text: Vec<bool>,
    counts_from_1904: bool,
    next: usize,
}

/// The header's names and the rows below it. A sheet of at most a million rows is read as a whole.
pub(super) fn open(file: &Path, input: impl Read + Seek) -> Result<(Vec<String>, Box<dyn Rows>), DataError> {
    let wrong = |reason: String| DataError::Format { file: file.to_owned(), kind: "Excel", reason };
    let mut book = Xlsx::new(input).map_err(|error| wrong(error.to_string()))?;
    let counts_from_1904 = book.has_1904_epoch();
    let cells = book.worksheet_range_at(0).ok_or_else(|| wrong("it has no sheet".to_owned()))?.map_err(|error| wrong(error.to_string()))?;
    let header: Vec<String> =
        cells.rows().next().map(|row| row.iter().map(|cell| cell.to_string().trim().to_owned()).collect()).unwrap_or_default();
    check_names(file, &header.iter().map(String::as_str).collect::<Vec<_>>(), false)?;
    let named: Vec<bool> = header.iter().map(|name| !name.is_empty()).collect();
    let names: Vec<String> = header.into_iter().filter(|name| !name.is_empty()).collect();
    let text = vec![false; names.len()];
    let styles = styles(&mut book).map_err(|error| wrong(error.to_string()))?;
    Ok((names, Box::new(Sheet { file: file.to_owned(), cells, styles, named, text, counts_from_1904, next: 1 })))
}

/// The styles of the first sheet; none where no style of the workbook is one of percentages, which spares a second look at every cell.
fn styles(book: &mut Xlsx<impl Read + Seek>) -> Result<StyleRange, XlsxError> {
    let Some(name) = book.sheet_names().first().cloned() else { return Ok(StyleRange::empty()) };
    let has_percentages = book.worksheet_cells_reader(&name)?.styles().iter().any(is_percentage);
    if has_percentages { book.worksheet_style(&name) } else { Ok(StyleRange::empty()) }
}

/// Whether numbers are shown a hundredfold with a sign behind them: one that is quoted or escaped is a letter like others.
fn is_percentage(style: &Style) -> bool {
    let Some(format) = &style.number_format else { return false };
    let (mut is_quoted, mut is_escaped) = (false, false);
    format.format_code.chars().any(|c| {
        let is_letter = std::mem::take(&mut is_escaped) || (is_quoted && c != '"');
        is_quoted ^= c == '"' && !is_letter;
        is_escaped = matches!(c, '\\' | '_' | '*') && !is_letter;
        c == '%' && !is_letter
    })
}

impl Rows for Sheet {
    fn next_row(&mut self, cells: &mut Vec<Cell>) -> Result<Option<u64>, DataError> {
        if self.next >= self.cells.height() {
            return Ok(None);
        }
        let row = &self.cells[self.next];
        // As Excel numbers its rows, which may begin above the table.
        let (top, left) = self.cells.start().unwrap_or_default();
        let at = top + self.next as u32;
        let line = u64::from(at) + 1;
        self.next += 1;
        if row.iter().all(|cell| *cell == Data::Empty) {
            let has_more = self.cells.rows().skip(self.next).any(|row| row.iter().any(|cell| *cell != Data::Empty));
            return if has_more { Err(DataError::EmptyRow { file: self.file.clone(), line }) } else { Ok(None) };
        }
        cells.clear();
        for (column, (found, is_named)) in row.iter().zip(&self.named).enumerate() {
            if *is_named {
                let is_percentage = || self.styles.get((at, left + column as u32)).is_some_and(is_percentage);
                let cell = self.cell(found, self.text[cells.len()], is_percentage);
                cells.push(cell);
            } else if *found != Data::Empty {
                return Err(DataError::Nameless { file: self.file.clone(), line, column: column + 1, found: found.to_string() });
            }
        }
        Ok(Some(line))
    }

    fn keep_text(&mut self, column: usize) {
        self.text[column] = true;
    }
}

impl Sheet {
    fn cell(&self, found: &Data, as_text: bool, is_percentage: impl Fn() -> bool) -> Cell {
        match found {
            Data::Empty => Cell::Missing,
            // As they are shown, and as CSV would have them: nobody knows which of the two numbers is meant.
            Data::Int(number) if is_percentage() => Cell::Text(percent(*number as f64)),
            Data::Float(number) if is_percentage() => Cell::Text(percent(*number)),
            Data::Int(_) | Data::Float(_) | Data::Bool(_) if as_text => Cell::Text(found.to_string()),
            Data::Int(number) => Cell::Number(*number as f64),
            Data::Float(number) => Cell::Number(*number),
            Data::Bool(truth) => Cell::Text(truth.to_string().to_uppercase()),
            Data::DateTime(moment) if moment.is_duration() => Cell::Text(hours(*moment)),
            Data::DateTime(moment) => {
                // A time of day has no date to count from.
                let is_shifted = self.counts_from_1904 && moment.as_f64() >= 1.0;
                Cell::Moment(moment.as_f64() - DAYS_TO_1970 + if is_shifted { DAYS_1900_TO_1904 } else { 0.0 })
            }
            // Numbers typed as text stay text, for whoever wants a number there to refuse; dates are read as in CSV.
            Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) if text.trim().is_empty() => Cell::Missing,
            other => Cell::Text(other.to_string()),
        }
    }
}

fn percent(number: f64) -> String {
    format!("{}%", round(100.0 * number))
}

/// A time of any length as it is shown.
fn hours(moment: ExcelDateTime) -> String {
    let seconds = (moment.as_f64() * 86_400.0).round() as i64;
    let (sign, seconds) = (if seconds < 0 { "-" } else { "" }, seconds.unsigned_abs());
    format!("{sign}{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Cursor, Write};
    use zip::write::SimpleFileOptions;

    /// A workbook of one sheet with these rows, as Excel writes them.
    fn workbook(rows: &str, from_1904: bool) -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
        let relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
        let packages = "http://schemas.openxmlformats.org/package/2006/relationships";
        let epoch = if from_1904 { r#"<workbookPr date1904="1"/>"# } else { "" };
        for (name, content) in [
            (
                "_rels/.rels",
                format!(
                    r#"<Relationships xmlns="{packages}"><Relationship Id="rId1" Type="{relations}/officeDocument" Target="xl/workbook.xml"/></Relationships>"#
                ),
            ),
            (
                "xl/workbook.xml",
                format!(
                    r#"<workbook xmlns="{main}" xmlns:r="{relations}">{epoch}<sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>"#
                ),
            ),
            (
                "xl/_rels/workbook.xml.rels",
                format!(
                    r#"<Relationships xmlns="{packages}"><Relationship Id="rId1" Type="{relations}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="{relations}/styles" Target="styles.xml"/></Relationships>"#
                ),
            ),
            (
                "xl/styles.xml",
                format!(
                    r#"<styleSheet xmlns="{main}"><numFmts count="3"><numFmt numFmtId="164" formatCode="0.0%"/><numFmt numFmtId="165" formatCode="0.0&quot; %&quot;"/><numFmt numFmtId="166" formatCode="[h]:mm:ss"/></numFmts><cellXfs count="6"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="20"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/></cellXfs></styleSheet>"#
                ),
            ),
            ("xl/worksheets/sheet1.xml", format!(r#"<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>"#)),
        ] {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(content.as_bytes()).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    const HEADER: &str = r#"<row r="2"><c r="B2" t="inlineStr"><is><t>day</t></is></c><c r="C2" t="inlineStr"><is><t> wet </t></is></c><c r="D2" t="inlineStr"><is><t>y</t></is></c></row>"#;

    fn read(rows: &str, from_1904: bool) -> Result<Vec<(u64, Vec<Cell>)>, DataError> {
        let (names, mut rows) = open(Path::new("t.xlsx"), Cursor::new(workbook(&format!("{HEADER}{rows}"), from_1904)))?;
        assert_eq!(names, ["day", "wet", "y"]);
        let (mut all, mut cells) = (Vec::new(), Vec::new());
        while let Some(line) = rows.next_row(&mut cells)? {
            all.push((line, cells.clone()));
        }
        Ok(all)
    }

    #[test]
    fn sheets_are_read_as_they_are_numbered() {
        let rows = r#"<row r="3"><c r="B3" s="1"><v>45292.5</v></c><c r="C3" t="b"><v>1</v></c><c r="D3"><v>1.25</v></c></row><row r="4"><c r="B4" t="str"><v>2024-01-02</v></c><c r="D4" t="e"><v>#DIV/0!</v></c></row>"#;
        let found = read(rows, false).unwrap();
        assert_eq!(found[0], (3, vec![Cell::Moment(19_723.5), Cell::Text("TRUE".into()), Cell::Number(1.25)]));
        assert_eq!(found[1], (4, vec![Cell::Text("2024-01-02".into()), Cell::Missing, Cell::Text("#DIV/0!".into())]));
        assert_eq!(read(rows, true).unwrap()[0].1[0], Cell::Moment(19_723.5 + 1462.0));
    }

    /// Nobody knows of these which number is meant, and CSV has them as text too.
    #[test]
    fn what_is_shown_otherwise_than_it_is_stored_is_no_number() {
        let row = |style: u32, value: &str| {
            let rows = format!(r#"<row r="3"><c r="B3"><v>1</v></c><c r="C3"><v>2</v></c><c r="D3" s="{style}"><v>{value}</v></c></row>"#);
            [false, true].map(|from_1904| read(&rows, from_1904).unwrap().remove(0).1.pop().unwrap())
        };
        let text = |text: &str| [Cell::Text(text.to_owned()), Cell::Text(text.to_owned())];
        assert_eq!((row(3, "0.07"), row(3, "1")), (text("7%"), text("100%")));
        assert_eq!(row(4, "57.5"), [Cell::Number(57.5), Cell::Number(57.5)], "a sign in quotes changes nothing");
        assert_eq!(row(5, "1.25"), text("30:00:00"));
        // 06:00, in a workbook of either epoch.
        assert_eq!(row(2, "0.25"), [Cell::Moment(0.25 - DAYS_TO_1970), Cell::Moment(0.25 - DAYS_TO_1970)]);
    }

    #[test]
    fn cells_that_only_look_like_numbers_say_what_they_are() {
        let said = |cells: &str| {
            let head = r#"<row r="1"><c r="A1" t="str"><v>trial</v></c><c r="B1" t="str"><v>result</v></c><c r="C1" t="str"><v>note</v></c></row>"#;
            let table = format!(
                r#"{head}<row r="2"><c r="A2"><v>0</v></c><c r="B2"><v>67.9</v></c><c r="C2" s="1"><v>45292</v></c></row><row r="3">{cells}</row>"#
            );
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join("t.xlsx");
            std::fs::write(&file, workbook(&table, false)).unwrap();
            let read = crate::plate::read(crate::data::Reader::open(&file).unwrap(), None, &[], 1);
            read.map(|reading| format!("{:?}", reading.notes))
                .map_err(|error| error.to_string().split_once("t.xlsx, ").unwrap().1.to_owned())
        };
        let one = |cell: &str| said(&format!(r#"<c r="A3"><v>1</v></c><c r="B3"{cell}</c>"#)).unwrap_err();
        for (cell, words) in [
            (r#" t="b"><v>1</v>"#, "row 3, column \"result\": \"TRUE\" is not a number; put a number there"),
            (r#" t="str"><v>67.89</v>"#, "row 3, column \"result\": \"67.89\" does not belong there; the cell holds text"),
            (r#" s="1"><v>46145</v>"#, "row 3, column \"result\": the date 2026-05-03 is not a number; spreadsheets turn"),
            (r#" s="2"><v>0.0486111111111111</v>"#, "row 3, column \"result\": the time 01:10:00 is not a number; spreadsheets turn"),
            (
                r#" s="3"><v>0.5769</v>"#,
                "\"57.69%\" is a number with something behind it; it may mean 57.69 or 0.5769: write a plain number",
            ),
            (r#" s="5"><v>1.25</v>"#, "\"30:00:00\" is not a number; put a number there"),
        ] {
            assert!(one(cell).contains(words), "{cell}: {}", one(cell));
        }
        let trial = said(r#"<c r="A3" t="str"><v>1</v></c><c r="B3"><v>2</v></c>"#).unwrap_err();
        assert!(trial.starts_with("row 3, column \"trial\": \"1\" does not belong there; the cell holds text"), "{trial}");
        assert_eq!(said(r#"<c r="A3"><v>1</v></c><c r="B3"><v>2</v></c>"#).unwrap(), r#"[(0, "2024-01-01")]"#, "a date is a remark");
    }

    #[test]
    fn wrong_sheets_are_refused_with_their_place() {
        let y = |row: u32| format!(r#"<row r="{row}"><c r="D{row}"><v>1</v></c></row>"#);
        assert_eq!(
            read(&format!("{}{}", y(3), y(5)), false).unwrap_err().to_string(),
            "t.xlsx, line 4: an empty row between others; fill it in or take it out"
        );
        let beside = r#"<row r="3"><c r="D3"><v>1</v></c><c r="E3"><v>2</v></c></row>"#;
        assert!(read(beside, false).unwrap_err().to_string().contains("line 3, column 4 (counted from 1): \"2\" stands below no name"));
        let said = open(Path::new("t.xlsx"), Cursor::new(b"PK\x03\x04 nothing".to_vec())).err().unwrap().to_string();
        assert!(said.starts_with("t.xlsx: not a readable Excel file: "), "{said}");
    }
}
