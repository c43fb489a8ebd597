use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

use crate::call::Streaming;
use crate::{Call, Error, Result};

/// How a client connects and how patient it is.
#[derive(Debug, Clone)]
pub struct Options {
    /// Turns TLS on. Default: no TLS.
    pub tls: Option<ClientTlsConfig>,
    /// How long an operation may take, repeats and pauses included; default 10 s. See [`Client::with_timeout`](crate::Client::with_timeout).
    pub timeout: Duration,
    /// The largest answer to accept, in bytes; default 64 MiB.
    pub max_message_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tls: None,
            timeout: Duration::from_secs(10),
            max_message_bytes: 64 << 20,
        }
    }
}

/// A connection to one server, which makes each call once.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    grpc: Grpc<Channel>,
}

impl Connection {
    /// `address` is HOST:PORT or unix:/PATH. It connects with the first call.
    pub(crate) fn new(address: &str, options: &Options) -> Result<Self> {
        let channel = endpoint(address, options)
            .map_err(|error| {
                Error::new(tonic::Code::InvalidArgument, format!("{address}: {error}"))
            })?
            .connect_lazy();
        let grpc = Grpc::new(channel)
            .max_decoding_message_size(options.max_message_bytes)
            .max_encoding_message_size(usize::MAX);
        Ok(Self { grpc })
    }

    pub(crate) async fn unary<R: Call>(&self, request: R, until: Instant) -> Answer<R::Response> {
        let mut grpc = self.grpc.clone();
        let request = timed(request, Some(until));
        let path = PathAndQuery::from_static(R::PATH);
        let answer = async {
            grpc.ready()
                .await
                .map_err(|error| Status::from_error(error.into()))?;
            grpc.unary(request, path, ProstCodec::default()).await
        };
        Ok(within(Some(until), answer).await?.into_inner())
    }

    pub(crate) async fn stream<R: Streaming>(
        &self,
        request: R,
        until: Option<Instant>,
    ) -> Answer<tonic::Streaming<R::Response>> {
        let mut grpc = self.grpc.clone();
        let request = timed(request, until);
        let path = PathAndQuery::from_static(R::PATH);
        grpc.ready()
            .await
            .map_err(|error| Status::from_error(error.into()))?;
        Ok(grpc
            .server_streaming(request, path, ProstCodec::default())
            .await?
            .into_inner())
    }
}

/// What the gRPC library says of a call.
type Answer<T> = std::result::Result<T, Status>;

/// Ends an answer with the time.
pub(crate) async fn within<T>(
    until: Option<Instant>,
    answer: impl Future<Output = Answer<T>>,
) -> Answer<T> {
    match until {
        None => answer.await,
        Some(until) => timeout_at(until, answer)
            .await
            .unwrap_or_else(|_| Err(Status::deadline_exceeded("the time of the call is over"))),
    }
}

/// A request that tells the server how much time is left.
fn timed<R>(request: R, until: Option<Instant>) -> Request<R> {
    let mut request = Request::new(request);
    if let Some(until) = until {
        request.set_timeout(until.saturating_duration_since(Instant::now()));
    }
    request
}

fn endpoint(
    address: &str,
    options: &Options,
) -> std::result::Result<Endpoint, tonic::transport::Error> {
    let uri = match (&options.tls, address.starts_with("unix:")) {
        (_, true) => address.to_owned(),
        (None, false) => format!("http://{address}"),
        (Some(_), false) => format!("https://{address}"),
    };
    let endpoint = Endpoint::from_shared(uri)?
        .http2_keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(10));
    match &options.tls {
        Some(tls) => endpoint.tls_config(tls.clone()),
        None => Ok(endpoint),
    }
}
