//! The picture of regret against the budget, from the table of `cargo run --release --example regret -- growth 10 table.csv`:
//! `cargo run --release -p sigmabar-cli --example growth -- table.csv page.html`.

use sigmabar_cli::report;
use std::error::Error;
use std::fs::{self, File};
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let (Some(table), Some(page)) = (std::env::args().nth(1), std::env::args().nth(2)) else {
        return Err("name the table and the page: table.csv page.html".into());
    };
    let report = report::growth(&report::read_growth(File::open(&table)?)?)?;
    fs::write(&page, report.html())?;
    for (name, bytes) in report.pngs()? {
        fs::write(Path::new(&page).with_file_name(name), bytes)?;
    }
    println!("{page}");
    Ok(())
}
