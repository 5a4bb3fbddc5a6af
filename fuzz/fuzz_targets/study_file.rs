//! Any text as a study file, TOML and JSON: refused or understood, never a panic. What is understood can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sigmabar_study::StudySpec;
use std::path::Path;

fuzz_target!(|text: &str| {
    let nowhere = Path::new("/nonexistent");
    if let Ok(spec) = StudySpec::from_toml(text, nowhere) {
        let again = StudySpec::from_toml(&spec.to_toml(), nowhere).expect("what was written can be read");
        assert_eq!(again.to_toml(), spec.to_toml());
    }
    drop(StudySpec::from_json(text, nowhere));
});
