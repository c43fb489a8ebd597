//! Answers the calls of a host inside mooring, for the functions that `guest!` exports.

use std::cell::RefCell;

use prost::Message;

use super::{ANOTHER_START, AnotherStart, Host, Plugin};

/// Makes a library a guest with these plugins: `guest!("1.0", [rack()])`. Build it with
/// `cargo build --lib --release --target wasm32-unknown-unknown`, as a `cdylib`. On other targets it does nothing.
///
/// A guest serves `filter` and `score`. It has no files, no network and no clock, and a rule that panics fails the call.
#[macro_export]
macro_rules! guest {
    ($version:expr, $plugins:expr) => {
        #[cfg(target_family = "wasm")]
        mod guest {
            use super::*;
            use $crate::plugin_host::guest::{Guest, place};

            thread_local! {
                static GUEST: Guest = Guest::new($version, $plugins);
            }

            #[unsafe(no_mangle)]
            extern "C" fn mooring_alloc(len: usize) -> *mut u8 {
                place(len)
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn mooring_call(method: u32, at: *mut u8, len: usize) -> u64 {
                GUEST.with(|guest| unsafe { guest.call(method, at, len) })
            }
        }
    };
}

const FAILED_PRECONDITION: u8 = 9;
const UNIMPLEMENTED: u8 = 12;

/// Returns a place for a request.
pub fn place(len: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; len].into_boxed_slice()).cast()
}

/// A host with the answer to its last call.
pub struct Guest {
    host: Host,
    answer: RefCell<Vec<u8>>,
}

impl Guest {
    /// Returns a guest. Panics if a plugin rejects that it has no arguments.
    pub fn new(version: &str, plugins: impl IntoIterator<Item = Plugin>) -> Self {
        let host = Host::new("guest".into(), version, plugins);
        Self {
            host: host.expect("plugins are made without arguments"),
            answer: RefCell::default(),
        }
    }

    /// Answers a call, and returns where the answer is.
    ///
    /// # Safety
    ///
    /// `place` made `at` for `len` bytes, and no call has had it before.
    pub unsafe fn call(&self, method: u32, at: *mut u8, len: usize) -> u64 {
        let request = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, len)) };
        let mut answer = self.answer.borrow_mut();
        *answer = self.answered(method, &request);
        (answer.as_ptr() as u64) << 32 | answer.len() as u64
    }

    fn answered(&self, method: u32, request: &[u8]) -> Vec<u8> {
        let host = &self.host;
        match method {
            1 => framed(Ok(host.described.clone())),
            2 => framed(host.configure(&read(request))),
            3 => framed(host.evaluate(&read(request))),
            _ => vec![UNIMPLEMENTED],
        }
    }
}

fn read<T: Message + Default>(request: &[u8]) -> T {
    T::decode(request).expect("a message of the contract")
}

fn framed(answer: Result<impl Message, AnotherStart>) -> Vec<u8> {
    let mut made = vec![0];
    match answer {
        Ok(message) => message.encode(&mut made).expect("vectors grow"),
        Err(AnotherStart) => {
            made[0] = FAILED_PRECONDITION;
            made.extend(ANOTHER_START.as_bytes());
        }
    }
    made
}
