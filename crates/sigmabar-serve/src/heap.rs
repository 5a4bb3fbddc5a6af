//! What is free goes back to the system. The C library keeps free memory, apart for each thread that ever computed: without this, a server that has shown ten studies stays as
//! large as it was at its largest moment.

/// Threads that compute share so many heaps: each keeps holes of its own.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const HEAPS: std::ffi::c_int = 2;
/// What is larger, a matrix most likely, lies in no heap and is given back as soon as it is free; the library's own limit grows to 32 MB by itself.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: std::ffi::c_int = 1 << 20;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod system {
    use std::ffi::c_int;

    pub const ARENA_MAX: c_int = -8;
    pub const MMAP_THRESHOLD: c_int = -3;
    pub const TRIM_THRESHOLD: c_int = -1;

    unsafe extern "C" {
        pub safe fn mallopt(parameter: c_int, value: c_int) -> c_int;
        pub safe fn malloc_trim(pad: usize) -> c_int;
    }
}

/// Before the first thread is started.
pub(crate) fn share() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        system::mallopt(system::ARENA_MAX, HEAPS);
        system::mallopt(system::MMAP_THRESHOLD, LARGE);
        // Else the end of the heap goes back and forth with every request; `give_back` sees to it.
        system::mallopt(system::TRIM_THRESHOLD, 16 * LARGE);
    }
}

/// Gives back what is free, which takes some milliseconds.
pub(crate) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    system::malloc_trim(0);
}
