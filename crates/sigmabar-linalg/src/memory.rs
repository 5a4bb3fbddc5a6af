//! Memory of many megabytes.

/// So many zeros that are not written before they are needed; in large pages where the system has them. Long columns that are looked at in no order then cost
/// neither a fault for each nor a search for its page.
#[must_use]
pub fn zeros(len: usize) -> Vec<f64> {
    let zeros = vec![0.0_f64; len];
    advise(&zeros);
    zeros
}

#[cfg(target_os = "linux")]
fn advise(numbers: &[f64]) {
    use std::ffi::{c_int, c_void};
    const LARGE_PAGE: usize = 2 << 20;
    /// The same on every processor.
    const HUGE_PAGES: c_int = 14;
    unsafe extern "C" {
        fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    }
    let range = numbers.as_ptr_range();
    let (start, end) = (range.start.addr().next_multiple_of(LARGE_PAGE), range.end.addr() / LARGE_PAGE * LARGE_PAGE);
    if start < end {
        let first = range.start.with_addr(start).cast_mut().cast();
        // SAFETY: whole pages within the numbers, and the advice changes none of them. Where it is not taken nothing changes.
        unsafe { madvise(first, end - start, HUGE_PAGES) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise(_: &[f64]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_of_any_number_are_zeros() {
        for len in [0, 1, 1 << 18, 1 << 21] {
            let mut numbers = zeros(len);
            assert!(numbers.len() == len && numbers.iter().all(|number| *number == 0.0));
            numbers.fill(1.0);
            assert_eq!(numbers.iter().sum::<f64>(), len as f64);
        }
    }
}
