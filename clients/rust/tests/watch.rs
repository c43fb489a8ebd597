//! Streams that go on after their end, and lists with pages.

mod fake;

use fake::{Step, ask, fail, reply, stream};
use futures_util::{Stream, StreamExt};
use mooring_client::v1::node_list::Nodes;
use mooring_client::v1::{
    Decision, ListNodesRequest, ListNodesResponse, ListReservationsRequest,
    ListReservationsResponse, NodeList, NodeNames, PodReference, Provenance, Reservation,
    UnreserveManyRequest, UnreserveManyResponse, UnreservedPod, WatchDecisionsRequest,
    WatchDecisionsResponse, WatchNodesRequest, WatchNodesResponse,
};
use mooring_client::{Code, ErrorReason, NodeUpdate, Result};

const NODES: &str = "/mooring.v1.ClusterService/WatchNodes";
const DECISIONS: &str = "/mooring.v1.DecisionService/WatchDecisions";

fn names(names: &[&str]) -> Option<NodeList> {
    let names = names.iter().map(ToString::to_string).collect();
    Some(NodeList {
        nodes: Some(Nodes::Names(NodeNames { names })),
    })
}

/// A part of an answer: a node of one letter has the index of that letter.
fn nodes(node_epoch: u64, added: &[&str]) -> WatchNodesResponse {
    WatchNodesResponse {
        provenance: Some(Provenance {
            node_epoch,
            ..Default::default()
        }),
        indices: added
            .iter()
            .map(|name| u32::from(name.as_bytes()[0]))
            .collect(),
        nodes: names(added),
        ..Default::default()
    }
}

async fn first<T>(count: usize, updates: impl Stream<Item = Result<T>>) -> Vec<T> {
    let taken = updates.take(count).map(|update| update.expect("an update"));
    taken.collect().await
}

#[tokio::test]
async fn a_watch_of_nodes_goes_on_from_its_last_epoch_and_joins_parts() {
    let begun = |request: WatchNodesRequest| {
        assert_eq!(request.since_epoch, None);
        vec![
            WatchNodesResponse {
                complete: true,
                more: true,
                ..nodes(1, &["a"])
            },
            nodes(1, &["b"]),
            WatchNodesResponse {
                more: true,
                ..nodes(2, &["c"])
            },
        ]
    };
    let again = |request: WatchNodesRequest| {
        assert_eq!(request.since_epoch, Some(1));
        let removed_indices = vec![u32::from(b'a'), 5];
        vec![
            nodes(1, &[]),
            WatchNodesResponse {
                removed_indices,
                ..nodes(2, &["c"])
            },
        ]
    };
    let steps = [
        stream(NODES, begun, Some(Code::Unavailable)),
        stream(NODES, again, None),
    ];
    let updates = ask(steps, async |client| {
        first(2, client.watch_nodes(None)).await
    })
    .await;
    let update = |epoch, complete, added: &[&str], removed: &[&str]| NodeUpdate {
        epoch,
        complete,
        added: added.iter().map(ToString::to_string).collect(),
        removed: removed.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(
        updates,
        [
            update(1, true, &["a", "b"], &[]),
            update(2, false, &["c"], &["a"])
        ]
    );
}

#[tokio::test]
async fn a_watch_of_decisions_goes_on_after_the_last_one_that_it_read() {
    let answer = |seq, missed_count| WatchDecisionsResponse {
        decisions: vec![Decision {
            seq,
            ..Default::default()
        }],
        next_after_seq: seq,
        missed_count,
        journal_id: "j".into(),
    };
    let begun = move |request: WatchDecisionsRequest| {
        assert_eq!(
            (request.after_seq, request.journal_id.as_str()),
            (Some(7), "")
        );
        vec![
            WatchDecisionsResponse {
                decisions: Vec::new(),
                ..answer(7, 0)
            },
            answer(8, 0),
        ]
    };
    let again = move |request: WatchDecisionsRequest| {
        assert_eq!(
            (request.after_seq, request.journal_id.as_str()),
            (Some(8), "j")
        );
        vec![answer(11, 2)]
    };
    let steps = [
        stream(DECISIONS, begun, None),
        stream(DECISIONS, again, None),
    ];
    let updates = ask(steps, async |client| {
        first(2, client.watch_decisions(None, Some(7), None)).await
    })
    .await;
    assert_eq!(updates, [answer(8, 0), answer(11, 2)]);
}

#[tokio::test]
async fn a_watch_that_may_not_be_repeated_fails() {
    let rejected = stream(
        NODES,
        |_: WatchNodesRequest| Vec::<WatchNodesResponse>::new(),
        Some(Code::PermissionDenied),
    );
    let update = ask([rejected], async |client| {
        Box::pin(client.watch_nodes(None)).next().await
    })
    .await;
    assert_eq!(
        update.expect("an item").expect_err("a failure").code,
        Code::PermissionDenied
    );
}

#[tokio::test]
async fn pages_are_followed_to_the_end_from_the_beginning_again_if_the_server_forgot_them() {
    let page = |token: &'static str, name: &'static str, next: &str| -> Step {
        let next_page_token = next.to_owned();
        reply(move |request: ListNodesRequest| {
            assert_eq!(request.page_token, token);
            let nodes = nodes(1, &[name]);
            ListNodesResponse {
                provenance: nodes.provenance,
                complete: true,
                indices: nodes.indices,
                nodes: nodes.nodes,
                next_page_token: next_page_token.clone(),
                ..Default::default()
            }
        })
    };
    let forgotten =
        fail::<ListNodesRequest>(Code::FailedPrecondition, ErrorReason::PageTokenStale, &[]);
    let steps = [
        page("", "x", "t"),
        forgotten,
        page("", "a", "u"),
        page("u", "b", "v"),
        page("v", "c", ""),
    ];
    let nodes = ask(steps, async |client| client.list_nodes("").await)
        .await
        .expect("a list");
    assert_eq!(
        (nodes.epoch, nodes.added),
        (1, vec!["a".into(), "b".into(), "c".into()])
    );
}

#[tokio::test]
async fn places_are_listed_and_given_up() {
    let place = Reservation {
        pod: Some(PodReference {
            uid: "u1".into(),
            ..Default::default()
        }),
        node: "n1".into(),
        ..Default::default()
    };
    let listed = place.clone();
    let listed = reply(move |_: ListReservationsRequest| ListReservationsResponse {
        reservations: vec![listed.clone()],
        ..Default::default()
    });
    let ended = reply(|request: UnreserveManyRequest| {
        let pods = request.uids.into_iter().map(|uid| UnreservedPod {
            released: uid == "u1",
            uid,
            ..Default::default()
        });
        UnreserveManyResponse {
            pods: pods.collect(),
            ..Default::default()
        }
    });
    let (places, ended) = ask([listed, ended], async |client| {
        (
            client.list_reservations().await,
            client.unreserve(["u1", "u2"]).await,
        )
    })
    .await;
    assert_eq!(places.expect("a list"), [place]);
    let released: Vec<_> = ended
        .expect("an answer")
        .iter()
        .map(|pod| pod.released)
        .collect();
    assert_eq!(released, [true, false]);
}
