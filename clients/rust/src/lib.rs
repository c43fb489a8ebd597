#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

#[cfg(not(target_family = "wasm"))]
mod answers;
#[cfg(not(target_family = "wasm"))]
mod call;
#[cfg(not(target_family = "wasm"))]
mod client;
#[cfg(not(target_family = "wasm"))]
mod connection;
#[cfg(not(target_family = "wasm"))]
mod error;
#[cfg(not(target_family = "wasm"))]
mod nodes;
#[cfg(feature = "plugin-host")]
pub mod plugin_host;
#[cfg(not(target_family = "wasm"))]
mod pods;
#[cfg(not(target_family = "wasm"))]
mod repeats;
#[cfg(not(target_family = "wasm"))]
mod session;
#[cfg(not(target_family = "wasm"))]
mod watch;

/// The messages of the contract, as prost has them.
#[allow(missing_docs, clippy::all, rustdoc::all)]
pub mod v1 {
    include!(concat!(env!("OUT_DIR"), "/mooring.v1.rs"));
}

#[cfg(not(target_family = "wasm"))]
pub use answers::{ExplainedNode, Explanation, Filtered, PluginScore, Scored};
#[cfg(not(target_family = "wasm"))]
pub use call::Call;
#[cfg(not(target_family = "wasm"))]
pub use client::{Client, Question, Reserved};
#[cfg(not(target_family = "wasm"))]
pub use connection::Options;
#[cfg(not(target_family = "wasm"))]
pub use error::{Error, Result};
#[cfg(not(target_family = "wasm"))]
pub use nodes::NodeUpdate;
#[cfg(not(target_family = "wasm"))]
pub use pods::{Placement, Pod, Pods};
#[cfg(not(target_family = "wasm"))]
pub use session::Session;
#[cfg(not(target_family = "wasm"))]
pub use tonic::Code;
#[cfg(not(target_family = "wasm"))]
pub use tonic::transport::{Certificate, ClientTlsConfig, Identity};
pub use v1::{CommitMode, CommitOutcome, ErrorReason, Verdict, VerdictCode};
