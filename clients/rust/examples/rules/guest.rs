//! The rules as a guest.
#![cfg_attr(not(target_family = "wasm"), allow(dead_code))]

mod plugins;

mooring_client::guest!("1", plugins::plugins());
