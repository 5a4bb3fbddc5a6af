//! The memory that is left: work that cannot fit is refused before it begins, with what would.

use crate::failure::Failure;
use crate::quantity::{Bytes, grouped};
use std::fs;

/// Left for everything else.
const SPARE: u64 = 64 << 20;

/// What this process may still take, where the system says so.
pub(crate) fn available() -> Option<Bytes> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| free_of(&text))?;
    let number = |name| fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok()?.trim().parse::<u64>().ok();
    let group = number("max").map(|most| most.saturating_sub(number("current").unwrap_or(0)));
    let process = || unmapped_of(&fs::read_to_string("/proc/self/limits").ok()?, &fs::read_to_string("/proc/self/status").ok()?);
    let most = [Some(machine), group, process()].into_iter().flatten().min()?;
    Some(Bytes(most.saturating_sub(SPARE)))
}

/// What `ulimit -v` leaves of the addresses of a process, where it says how many there may be.
fn unmapped_of(limits: &str, status: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let most = line.split_whitespace().next()?.parse::<u64>().ok()?;
    Some(most.saturating_sub(kilobytes(status, "VmSize:")?))
}

fn free_of(text: &str) -> Option<u64> {
    kilobytes(text, "MemAvailable:")
}

/// What stands behind a name, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Refuses a number of things that would not fit, and names the largest that does.
pub(crate) fn check(option: &str, wanted: usize, needed: impl Fn(usize) -> u128) -> Result<(), Failure> {
    let Some(free) = available() else { return Ok(()) };
    check_within(free, option, wanted, needed)
}

fn check_within(free: Bytes, option: &str, wanted: usize, needed: impl Fn(usize) -> u128) -> Result<(), Failure> {
    let fits = |count: usize| needed(count) <= u128::from(free.0);
    if fits(wanted) {
        return Ok(());
    }
    let (mut most, mut too_many) = (0, wanted);
    while too_many - most > 1 {
        let middle = most + (too_many - most) / 2;
        if fits(middle) { most = middle } else { too_many = middle }
    }
    let bytes = Bytes(u64::try_from(needed(wanted)).unwrap_or(u64::MAX));
    let what = format!("{option} {wanted} would take {bytes} of memory, and {free} are left");
    Err(Failure::refused(what, format!("at most {} fit", grouped(most))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_what_does() {
        let square = |n: usize| 8 * (n as u128).pow(2);
        assert!(check_within(Bytes(800), "--points", 10, square).is_ok());
        let refused = check_within(Bytes(8_000_000), "--points", 1 << 40, square).unwrap_err().to_string();
        assert!(refused.starts_with("--points 1099511627776 would take") && refused.ends_with("at most 1 000 fit"), "{refused}");
        assert_eq!(free_of("MemTotal: 9 kB\nMemAvailable:   12 kB\n"), Some(12 * 1024));
    }

    #[test]
    fn what_a_process_may_map_is_less_by_what_it_has_mapped() {
        let limits = |most: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units     \nMax cpu time              unlimited            unlimited            seconds   \nMax address space         {most}           unlimited            bytes     \n"
            )
        };
        let status = "Name:\tsigmabar\nVmPeak:\t    9000 kB\nVmSize:\t    4000 kB\nVmRSS:\t     100 kB\n";
        assert_eq!(unmapped_of(&limits("1024000000"), status), Some(1_024_000_000 - 4_096_000));
        assert_eq!(unmapped_of(&limits("1000"), status), Some(0));
        assert_eq!(unmapped_of(&limits("unlimited"), status), None);
        assert_eq!(unmapped_of("", status), None);
    }
}
