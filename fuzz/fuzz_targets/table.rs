//! Any bytes as a CSV table of numbers and as a filled-in plate.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sigmabar_cli::data::{Categories, Frame, Options, Reader, Selection, Wanted};
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    let open = || Reader::csv("fuzz.csv".into(), Box::new(Cursor::new(bytes.to_vec())));
    if let Ok(reader) = open() {
        let selection = Selection { wanted: Wanted::AllBut(Vec::new()), categories: Categories::Collected(Vec::new()), memory: None, options: Options::None, drop_missing: false };
        if let Ok(frame) = Frame::read(reader, &selection) {
            assert_eq!(frame.values.len(), frame.len() * frame.columns.len());
            assert!(frame.values.iter().all(|value| value.is_finite()));
        }
    }
    if let Ok(reader) = open() {
        drop(sigmabar_cli::plate::read(reader, None, &[], 1));
    }
});
