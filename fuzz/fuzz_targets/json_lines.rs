//! Any bytes as a line of an external objective.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sigmabar_study::{TrialResult, parse_reply};

fuzz_target!(|line: &[u8]| {
    if let Ok(reply) = parse_reply(line)
        && let TrialResult::Value { value, .. } = reply.result
    {
        assert!(!value.is_nan());
    }
});
