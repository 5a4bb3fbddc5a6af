//! Any bytes as a model file, and as the inside of one whose checksum is right.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sigmabar::sealed::{Kind, seal};
use sigmabar_cli::model::Model;

fuzz_target!(|bytes: &[u8]| {
    drop(Model::from_bytes(bytes));
    drop(Model::from_bytes(&seal(Kind::Model, "", bytes)));
});
