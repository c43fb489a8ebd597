use std::collections::HashMap;
use std::error::Error as StdError;
use std::fmt;

use prost::Message;
use tonic::{Code, Status, TimeoutExpired};

use crate::repeats::Rule;
use crate::v1::{CallError, ErrorReason, FieldViolation};

/// A call that could not be answered. Decide by `reason`, then by `code`, and never by the text.
#[derive(Debug)]
#[non_exhaustive]
pub struct Error {
    /// gRPC's code.
    pub code: Code,
    /// Why; `None` if the server did not say, `Unspecified` for a reason that this version of the client does not know.
    pub reason: Option<ErrorReason>,
    /// The reason's number in the contract, 0 if the server did not say.
    pub reason_number: i32,
    /// A sentence for people.
    pub message: String,
    /// What the reason is about; the contract names the keys for each.
    pub metadata: HashMap<String, String>,
    /// The fields of the request that are wrong.
    pub field_violations: Vec<FieldViolation>,
    /// Whether the same call may succeed later and can do no harm. The client has repeated it until its time was over.
    pub repeatable: bool,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// The answer, or why there is none.
pub type Result<T> = std::result::Result<T, Box<Error>>;

impl Error {
    /// An error of the client's own.
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Box<Self> {
        Self::read(Status::new(code, message), false)
    }

    /// An answer that contradicts the contract.
    pub(crate) fn malformed() -> Box<Self> {
        Self::new(
            Code::Internal,
            "the server's answer contradicts the contract",
        )
    }

    /// Reads what the gRPC library says of a failed call.
    pub(crate) fn read(status: Status, idempotent: bool) -> Box<Self> {
        let code = code_of(&status);
        let detail = detail_of(&status);
        let reason = detail.as_ref().map(CallError::reason);
        let reason_number = detail.as_ref().map_or(0, |detail| detail.reason);
        let CallError {
            metadata,
            field_violations,
            ..
        } = detail.unwrap_or_default();
        let rule = match reason {
            None if code == Code::Internal && is_reset(&status) => Rule::Idempotent,
            _ => Rule::of(reason, code),
        };
        let repeatable = match rule {
            Rule::Always | Rule::Leader | Rule::Refresh => true,
            Rule::Idempotent => idempotent,
            Rule::List | Rule::Never => false,
        };
        Box::new(Self {
            code,
            reason,
            reason_number,
            message: status.message().to_owned(),
            metadata,
            field_violations,
            repeatable,
            source: Some(status.into()),
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            Some(reason) => write!(
                f,
                "{:?} ({}): {}",
                self.code,
                reason.as_str_name(),
                self.message
            ),
            None => write!(f, "{:?}: {}", self.code, self.message),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// The code that gRPC means: tonic calls a lost connection Unknown or Cancelled, and a deadline Cancelled.
fn code_of(status: &Status) -> Code {
    let mut source = StdError::source(status);
    let said = source.is_none() || (status.code() == Code::Cancelled && is_reset(status));
    if said || !matches!(status.code(), Code::Unknown | Code::Cancelled) {
        return status.code(); // As the server says, or a proxy by a frame.
    }
    while let Some(error) = source {
        if error.is::<TimeoutExpired>() {
            return Code::DeadlineExceeded;
        }
        source = error.source();
    }
    Code::Unavailable
}

/// Whether a stream was reset, in tonic's words or in those of a proxy.
fn is_reset(status: &Status) -> bool {
    ["RST_STREAM", "h2 protocol error"]
        .iter()
        .any(|words| status.message().contains(words))
}

/// google.rpc.Status, which is in the trailers.
#[derive(Clone, PartialEq, Message)]
struct Details {
    #[prost(message, repeated, tag = "3")]
    details: Vec<prost_types::Any>,
}

fn detail_of(status: &Status) -> Option<CallError> {
    let found = Details::decode(status.details()).ok()?.details;
    let ours = found
        .iter()
        .find(|detail| detail.type_url.ends_with("/mooring.v1.CallError"))?;
    CallError::decode(ours.value.as_slice()).ok()
}
