//! When a call is repeated, with a server that fails.

mod fake;

use fake::{FakeServer, Step, ask, fail, lose, reply};
use mooring_client::v1::{self, GetCapabilitiesResponse};
use mooring_client::v1::{
    BindRequest, BindResponse, CommitMode, CommitOutcome, ErrorReason, GetCapabilitiesRequest,
    NodeList, NodeNames, OpenSessionRequest, OpenSessionResponse, PodReference, ScheduleRequest,
    ScheduleResponse, Verdict, node_list,
};
use mooring_client::{Client, Code, Pod, Pods, Question};

fn opened() -> Step {
    let session = v1::Session {
        id: "s1".into(),
        ..Default::default()
    };
    reply(move |_: OpenSessionRequest| OpenSessionResponse {
        session: Some(session.clone()),
        ..Default::default()
    })
}

fn placed() -> Step {
    reply(|_: ScheduleRequest| ScheduleResponse {
        nodes: Some(NodeList {
            nodes: Some(node_list::Nodes::Names(NodeNames {
                names: vec!["n1".into()],
            })),
        }),
        verdicts: vec![Verdict {
            code: 1,
            ..Default::default()
        }],
        pod_verdicts: vec![0],
        totals: vec![7],
        ..Default::default()
    })
}

#[tokio::test]
async fn what_the_server_did_not_begin_is_repeated_even_if_it_is_not_idempotent() {
    let rejected =
        || fail::<OpenSessionRequest>(Code::ResourceExhausted, ErrorReason::Overloaded, &[]);
    let session = ask([rejected(), rejected(), opened()], async |client| {
        client.open_session("").await
    })
    .await;
    assert_eq!(session.expect("a session").id(), "s1");
}

#[tokio::test]
async fn a_lost_answer_of_what_is_not_idempotent_is_an_error() {
    let lost = lose::<OpenSessionRequest>(Code::Unavailable);
    let error = ask([lost], async |client| client.open_session("").await)
        .await
        .expect_err("it was lost");
    assert_eq!(
        (error.code, error.reason, error.repeatable),
        (Code::Unavailable, None, false)
    );
}

#[tokio::test]
async fn a_lost_answer_of_what_is_idempotent_is_asked_for_again() {
    let pods = [Pods::new(Pod::Json("{}".into()), ["u1"])];
    let steps = [lose::<ScheduleRequest>(Code::Unavailable), placed()];
    let placements = ask(steps, async |client| {
        client
            .schedule(&pods, CommitMode::Reserve, &Question::default())
            .await
    });
    assert_eq!(
        placements.await.expect("an answer")[0].node.as_deref(),
        Some("n1")
    );
}

#[tokio::test]
async fn a_commit_follows_the_leader_and_stays_there_other_calls_do_not() {
    let bound = || {
        reply(|_: BindRequest| BindResponse {
            outcome: CommitOutcome::Bound.into(),
            ..Default::default()
        })
    };
    let leader = FakeServer::start([bound(), bound()]).await;
    let told = fail::<BindRequest>(
        Code::Unavailable,
        ErrorReason::NotLeader,
        &[("leader_address", &leader.address)],
    );
    let answered = reply(|_: GetCapabilitiesRequest| GetCapabilitiesResponse::default());
    ask([told, answered], async |client: Client| {
        let pod = PodReference {
            namespace: "default".into(),
            name: "web".into(),
            uid: "u1".into(),
        };
        assert_eq!(
            client.bind(pod.clone(), "n1", "").await.expect("bound"),
            CommitOutcome::Bound
        );
        client
            .call(GetCapabilitiesRequest {})
            .await
            .expect("an answer");
        assert_eq!(
            client.bind(pod, "n1", "").await.expect("bound"),
            CommitOutcome::Bound
        );
    })
    .await;
    leader.check();
}

#[tokio::test]
async fn an_error_has_what_the_server_says() {
    let metadata = [("profile", "x"), ("known", "a,b")];
    let failed =
        fail::<GetCapabilitiesRequest>(Code::NotFound, ErrorReason::ProfileNotFound, &metadata);
    let error = ask([failed], async |client| {
        client.call(GetCapabilitiesRequest {}).await
    })
    .await
    .expect_err("it failed");
    assert_eq!(
        (error.code, error.reason),
        (Code::NotFound, Some(ErrorReason::ProfileNotFound))
    );
    assert_eq!(error.metadata["known"], "a,b");
}
