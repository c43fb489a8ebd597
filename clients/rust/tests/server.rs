//! The client with a real server on the sample cluster: `mooring serve`, which MOORING names.

use std::collections::HashMap;
use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use mooring_client::v1::RemoveObject;
use mooring_client::v1::session_change::Change;
use mooring_client::{
    Client, Code, CommitMode, ErrorReason, Options, Pod, Pods, Question, VerdictCode,
};

struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(listen: &str) -> Self {
        let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.venv/bin/mooring");
        let program = env::var("MOORING").unwrap_or(default.into());
        let mut process = Command::new(program)
            .args(["serve", "--source", "sample", "--listen", listen])
            .args([
                "--health-listen",
                "127.0.0.1:0",
                "--metrics-listen",
                "127.0.0.1:0",
            ])
            .stdout(Stdio::piped())
            .spawn()
            .expect("MOORING names the program");
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut server = Self {
            process,
            address: String::new(),
        };
        for line in output.lines() {
            let line = line.expect("text");
            if let Some(ready) = line.strip_prefix("mooring ready: grpc=") {
                server.address = ready.split(' ').next().expect("an address").to_owned();
                return server;
            }
        }
        panic!("mooring serve did not become ready");
    }

    fn client(&self) -> Client {
        Client::new(&self.address, Options::default()).expect("an address")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().expect("a process");
        self.process.wait().expect("a process");
    }
}

fn web() -> Pod {
    let containers = r#"[{"name": "web", "resources": {"requests": {"cpu": "100m"}}}]"#;
    Pod::Json(format!(
        r#"{{"metadata": {{"name": "web", "uid": "web"}}, "spec": {{"containers": {containers}}}}}"#
    ))
}

fn all() -> Question {
    Question::default()
}

#[test]
fn the_example_runs() {
    let server = Server::start("127.0.0.1:0");
    let test = env::current_exe().expect("a path");
    let example = test
        .ancestors()
        .nth(2)
        .expect("a folder")
        .join("examples/schedule");
    let output = Command::new(example)
        .arg(&server.address)
        .output()
        .expect("cargo builds it");
    let output = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<_> = output.lines().collect();
    assert!(
        lines[0].starts_with("web-1 worker-") && lines[1].starts_with("web-2 worker-"),
        "{output}"
    );
}

#[tokio::test]
async fn filter_score_explain_and_schedule_agree() {
    let server = Server::start("127.0.0.1:0");
    let client = server.client();
    let verdicts = client.filter(web(), &all()).await.expect("verdicts").nodes;
    let feasible = verdicts
        .iter()
        .filter(|(_, each)| each.code() == VerdictCode::Success);
    let among = Some(feasible.map(|(node, _)| node.clone()).collect());
    let totals = client
        .score(web(), &Question { among, ..all() })
        .await
        .expect("totals")
        .nodes;
    let explanation = client.explain(web(), &all()).await.expect("an explanation");
    let pods = [Pods::new(web(), ["web"])];
    let placements = client
        .schedule(&pods, CommitMode::DryRun, &all())
        .await
        .expect("a node");

    assert_eq!(explanation.node, placements[0].node);
    let totals: HashMap<_, _> = totals.into_iter().collect();
    for (node, (name, verdict)) in explanation.nodes.iter().zip(&verdicts) {
        assert_eq!((&node.name, &node.verdict), (name, verdict));
        assert_eq!(node.total, totals.get(name).copied(), "{name}");
    }
}

#[tokio::test]
async fn a_session_is_private_and_goes_back_to_a_mark() {
    let server = Server::start("127.0.0.1:0");
    let session = server.client().open_session("").await.expect("a session");
    let nodes = async || session.filter(web(), &all()).await.expect("verdicts").nodes;
    let before = nodes().await;
    let mark = session.mark().await.expect("a mark");
    let node = RemoveObject {
        kind: "Node".into(),
        name: before[0].0.clone(),
        ..Default::default()
    };
    session
        .change([Change::Remove(node)])
        .await
        .expect("changed");
    let pods = [Pods::new(web(), ["a", "b"])];
    session
        .schedule(&pods, CommitMode::Reserve, &all())
        .await
        .expect("placed");
    assert_eq!(nodes().await.len(), before.len() - 1);
    session.revert(mark).await.expect("gone back");
    assert_eq!(nodes().await, before);
    session.close().await.expect("closed");
}

#[tokio::test]
async fn an_error_has_its_reason_and_what_it_is_about() {
    let server = Server::start("127.0.0.1:0");
    let client = server.client();
    let question = Question {
        profile: "x".into(),
        ..all()
    };
    let error = client
        .filter(web(), &question)
        .await
        .expect_err("no such profile");
    assert_eq!(
        (error.code, error.reason),
        (Code::NotFound, Some(ErrorReason::ProfileNotFound))
    );
    assert_eq!(error.metadata["known"], "default-scheduler");
    let error = client
        .filter(Pod::Json("{".into()), &all())
        .await
        .expect_err("malformed");
    assert_eq!(error.reason, Some(ErrorReason::RequestInvalid));
    assert!(!error.field_violations.is_empty());
}

#[tokio::test]
async fn a_server_on_a_unix_socket_that_starts_again_is_found_with_its_new_indices() {
    let socket = env::temp_dir().join(format!("mooring-client-{}", std::process::id()));
    let listen = format!("unix:{}", socket.display());
    let first = Server::start(&listen);
    let client = first
        .client()
        .with_timeout(std::time::Duration::from_secs(120));
    let nodes = client.filter(web(), &all()).await.expect("verdicts").nodes;
    drop(first);
    let among = Some(nodes.iter().map(|(node, _)| node.clone()).collect());
    let again = tokio::spawn(async move {
        client
            .filter(web(), &Question { among, ..all() })
            .await
            .expect("verdicts")
            .nodes
    });
    let _second = tokio::task::spawn_blocking(move || Server::start(&listen))
        .await
        .expect("a server");
    assert_eq!(again.await.expect("an answer"), nodes);
}
