//! The plugin $name. Built for WebAssembly it is a guest.

pub mod plugin;

mooring_client::guest!("0.1.0", [plugin::plugin()]);
