//! Any text as a linear constraint.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    drop(sigmabar_study::parse_expression(text));
});
