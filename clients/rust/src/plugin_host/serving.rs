//! Serves a host over gRPC.

use std::fs::{Permissions, remove_file, set_permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;

use futures_util::stream::unfold;
use tokio::net::{TcpListener, UnixListener};
use tonic::transport::Server;
use tonic::{Request, Response, Status};

use super::v1::plugin_host_service_server::{PluginHostService, PluginHostServiceServer};
use super::v1::{
    ActRequest, ActResponse, ConfigureRequest, ConfigureResponse, DescribeRequest,
    DescribeResponse, EvaluateRequest, EvaluateResponse, MeasureRequest, MeasureResponse,
};
use super::{ANOTHER_START, AnotherStart, Host, Plugin};

/// Serves plugins on `unix:PATH`, or on a loopback address, until it is dropped. A socket that is there is replaced; only its
/// user may write to the new one.
///
/// # Errors
///
/// It can't listen there, or a plugin rejects that it has no arguments.
pub async fn serve(
    address: &str,
    version: &str,
    plugins: impl IntoIterator<Item = Plugin>,
) -> io::Result<()> {
    let service = PluginHostServiceServer::new(
        Host::new(format!("{:032x}", fastrand::u128(..)), version, plugins)
            .map_err(io::Error::other)?,
    );
    let server = Server::builder();
    let Some(path) = address.strip_prefix("unix:") else {
        let listener = TcpListener::bind(address).await?;
        let incoming = unfold(listener, |listener| async {
            Some((listener.accept().await.map(|each| each.0), listener))
        });
        return server
            .serve_with_incoming(service, incoming)
            .await
            .map_err(io::Error::other);
    };
    let path = path.strip_prefix("//").unwrap_or(path);
    match remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    set_permissions(path, Permissions::from_mode(0o600))?;
    let incoming = unfold(listener, |listener| async {
        Some((listener.accept().await.map(|each| each.0), listener))
    });
    server
        .serve_with_incoming(service, incoming)
        .await
        .map_err(io::Error::other)
}

impl From<AnotherStart> for Status {
    fn from(_: AnotherStart) -> Self {
        Status::failed_precondition(ANOTHER_START)
    }
}

#[tonic::async_trait]
impl PluginHostService for Host {
    async fn describe(
        &self,
        _: Request<DescribeRequest>,
    ) -> Result<Response<DescribeResponse>, Status> {
        Ok(Response::new(self.described.clone()))
    }

    async fn configure(
        &self,
        request: Request<ConfigureRequest>,
    ) -> Result<Response<ConfigureResponse>, Status> {
        Ok(Response::new(Host::configure(self, request.get_ref())?))
    }

    async fn evaluate(
        &self,
        request: Request<EvaluateRequest>,
    ) -> Result<Response<EvaluateResponse>, Status> {
        Ok(Response::new(Host::evaluate(self, request.get_ref())?))
    }

    async fn measure(
        &self,
        request: Request<MeasureRequest>,
    ) -> Result<Response<MeasureResponse>, Status> {
        let request = request.into_inner();
        let found = self.instance(&request.host_id, request.instance)?;
        blocking(move || found.measure(&request)).await
    }

    async fn act(&self, request: Request<ActRequest>) -> Result<Response<ActResponse>, Status> {
        let request = request.into_inner();
        let found = self.instance(&request.host_id, request.instance)?;
        blocking(move || found.act(&request)).await
    }
}

/// Runs what may take long where it holds up no other call.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Response<T>, Status> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map(Response::new)
        .map_err(|error| Status::unknown(error.to_string()))
}
