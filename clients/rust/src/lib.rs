#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod answers;
mod call;
mod client;
mod connection;
mod error;
mod nodes;
#[cfg(feature = "plugin-host")]
pub mod plugin_host;
mod pods;
mod repeats;
mod session;
mod watch;

/// The messages of the contract, as prost has them.
#[allow(missing_docs, clippy::all, rustdoc::all)]
pub mod v1 {
    include!(concat!(env!("OUT_DIR"), "/mooring.v1.rs"));
}

pub use answers::{ExplainedNode, Explanation, Filtered, PluginScore, Scored};
pub use call::Call;
pub use client::{Client, Question, Reserved};
pub use connection::Options;
pub use error::{Error, Result};
pub use nodes::NodeUpdate;
pub use pods::{Placement, Pod, Pods};
pub use session::Session;
pub use tonic::Code;
pub use tonic::transport::{Certificate, ClientTlsConfig, Identity};
pub use v1::{CommitMode, CommitOutcome, ErrorReason, Verdict, VerdictCode};
