//! The first sheet of an Excel workbook (.xlsx): its first row names the columns.

use super::delimited::check_names;
use super::{Cell, DataError, Rows};
use calamine::{Data, Range, Reader, Xlsx};
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

/// 1970-01-01 in the days that Excel counts from 1900, and from 1904 where a workbook says so.
const DAYS_TO_1970: f64 = 25_569.0;
const DAYS_1900_TO_1904: f64 = 1462.0;

struct Sheet {
    file: PathBuf,
    cells: Range<Data>,
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
    Ok((names, Box::new(Sheet { file: file.to_owned(), cells, named, text, counts_from_1904, next: 1 })))
}

impl Rows for Sheet {
    fn next_row(&mut self, cells: &mut Vec<Cell>) -> Result<Option<u64>, DataError> {
        if self.next >= self.cells.height() {
            return Ok(None);
        }
        let row = &self.cells[self.next];
        // As Excel numbers its rows, which may begin above the table.
        let line = u64::from(self.cells.start().unwrap_or_default().0) + self.next as u64 + 1;
        self.next += 1;
        if row.iter().all(|cell| *cell == Data::Empty) {
            let has_more = self.cells.rows().skip(self.next).any(|row| row.iter().any(|cell| *cell != Data::Empty));
            return if has_more { Err(DataError::EmptyRow { file: self.file.clone(), line }) } else { Ok(None) };
        }
        cells.clear();
        for (column, (found, is_named)) in row.iter().zip(&self.named).enumerate() {
            if *is_named {
                let cell = self.cell(found, self.text[cells.len()]);
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
    fn cell(&self, found: &Data, as_text: bool) -> Cell {
        match found {
            Data::Empty => Cell::Missing,
            Data::Int(_) | Data::Float(_) | Data::Bool(_) if as_text => Cell::Text(found.to_string()),
            Data::Int(number) => Cell::Number(*number as f64),
            Data::Float(number) => Cell::Number(*number),
            Data::Bool(truth) => Cell::Number(f64::from(u8::from(*truth))),
            Data::DateTime(moment) if moment.is_duration() => Cell::Number(moment.as_f64()),
            Data::DateTime(moment) => {
                Cell::Moment(moment.as_f64() - DAYS_TO_1970 + if self.counts_from_1904 { DAYS_1900_TO_1904 } else { 0.0 })
            }
            // Numbers typed as text stay text, for whoever wants a number there to refuse; dates are read as in CSV.
            Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) if text.trim().is_empty() => Cell::Missing,
            other => Cell::Text(other.to_string()),
        }
    }
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
                format!(r#"<styleSheet xmlns="{main}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>"#),
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
        assert_eq!(found[0], (3, vec![Cell::Moment(19_723.5), Cell::Number(1.0), Cell::Number(1.25)]));
        assert_eq!(found[1], (4, vec![Cell::Text("2024-01-02".into()), Cell::Missing, Cell::Text("#DIV/0!".into())]));
        assert_eq!(read(rows, true).unwrap()[0].1[0], Cell::Moment(19_723.5 + 1462.0));
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
