//! Any bytes as a model file, and as the inside of one whose checksum is right.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sigmabar_cli::model::Model;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("fuzz.sbm");
    drop(Model::from_bytes(bytes, path));
    drop(Model::from_bytes(&sigmabar_cli::model::sealed(bytes), path));
});
