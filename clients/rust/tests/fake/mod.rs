//! A server that answers as the test says.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::future::ready;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderMap, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mooring_client::v1::{CallError, ErrorReason};
use mooring_client::{Call, Client, Code, Options};
use prost::Message;
use tokio::net::TcpListener;

/// A call that the server must receive, with its answer.
pub struct Step {
    path: &'static str,
    answer: Box<dyn Fn(Bytes) -> Answer + Send>,
}

/// Messages, then success, or a failure and its detail.
type Answer = (Vec<Vec<u8>>, Option<(Code, Option<CallError>)>);

/// A step that answers.
pub fn reply<R: Call + Default>(answer: impl Fn(R) -> R::Response + Send + 'static) -> Step {
    stream(R::PATH, move |request| vec![answer(request)], None)
}

/// A step that answers many times; then the stream ends, or fails with that code.
pub fn stream<R: Message + Default, A: Message>(
    path: &'static str,
    answers: impl Fn(R) -> Vec<A> + Send + 'static,
    code: Option<Code>,
) -> Step {
    let answer = move |request| {
        let request = R::decode(request).expect("a request of the contract");
        let messages = answers(request)
            .iter()
            .map(Message::encode_to_vec)
            .collect();
        (messages, code.map(|code| (code, None)))
    };
    Step {
        path,
        answer: Box::new(answer),
    }
}

/// A step that fails without a reason.
pub fn lose<R: Call>(code: Code) -> Step {
    Step {
        path: R::PATH,
        answer: Box::new(move |_| (Vec::new(), Some((code, None)))),
    }
}

/// A step that fails for a reason.
pub fn fail<R: Call>(code: Code, reason: ErrorReason, metadata: &[(&str, &str)]) -> Step {
    let metadata: HashMap<_, _> = metadata
        .iter()
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect();
    let detail = CallError {
        reason: reason.into(),
        metadata,
        ..Default::default()
    };
    Step {
        path: R::PATH,
        answer: Box::new(move |_| (Vec::new(), Some((code, Some(detail.clone()))))),
    }
}

/// Asks a server that takes these steps; fails if one was not taken.
pub async fn ask<T>(
    steps: impl IntoIterator<Item = Step>,
    question: impl AsyncFnOnce(Client) -> T,
) -> T {
    let server = FakeServer::start(steps).await;
    let answer =
        question(Client::new(&server.address, Options::default()).expect("an address")).await;
    server.check();
    answer
}

/// A server that takes the steps in order; another call fails.
pub struct FakeServer {
    pub address: String,
    steps: Arc<Mutex<VecDeque<Step>>>,
}

impl FakeServer {
    pub async fn start(steps: impl IntoIterator<Item = Step>) -> Self {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
            .await
            .expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let steps = Arc::new(Mutex::new(steps.into_iter().collect::<VecDeque<_>>()));
        let taken = steps.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let steps = taken.clone();
                let service = service_fn(move |request| take(steps.clone(), request));
                let http = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                tokio::spawn(http.serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { address, steps }
    }

    /// Fails the test if a step was not taken.
    pub fn check(&self) {
        assert_eq!(
            self.steps.lock().expect("no panic").len(),
            0,
            "calls that were not made"
        );
    }
}

async fn take(
    steps: Arc<Mutex<VecDeque<Step>>>,
    request: Request<Incoming>,
) -> Result<Response<UnsyncBoxBody<Bytes, Infallible>>, hyper::Error> {
    let path = request.uri().path().to_owned();
    let message = request.into_body().collect().await?.to_bytes();
    let step = steps
        .lock()
        .expect("no panic")
        .pop_front()
        .filter(|step| step.path == path);
    let (messages, failure) = match step {
        Some(step) => (step.answer)(message.slice(5..)),
        None => (Vec::new(), Some((Code::Internal, None))),
    };
    let (code, detail) = failure.unwrap_or((Code::Ok, None));
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from(code as i32));
    if let Some(detail) = detail {
        trailers.insert("grpc-status-details-bin", status_of(&detail));
    }
    let body = Bytes::from(
        messages
            .iter()
            .flat_map(|message| framed(message))
            .collect::<Vec<_>>(),
    );
    let body = Full::new(body)
        .with_trailers(ready(Some(Ok(trailers))))
        .boxed_unsync();
    let response = Response::builder()
        .header("content-type", "application/grpc")
        .body(body);
    Ok(response.expect("headers of ours"))
}

fn framed(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u32).to_be_bytes();
    [&[0], &length[..], message].concat()
}

/// google.rpc.Status.
#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(message, repeated, tag = "3")]
    details: Vec<prost_types::Any>,
}

fn status_of(detail: &CallError) -> HeaderValue {
    let type_url = "type.googleapis.com/mooring.v1.CallError".to_owned();
    let status = Status {
        details: vec![prost_types::Any {
            type_url,
            value: detail.encode_to_vec(),
        }],
    };
    let mut metadata = tonic::metadata::MetadataMap::new();
    metadata.insert_bin(
        "status-bin",
        tonic::metadata::MetadataValue::from_bytes(&status.encode_to_vec()),
    );
    metadata.into_headers()["status-bin"].clone()
}
