//! What questions are sent, and how their columns are read.

mod fake;

use fake::{Step, ask, fail, reply};
use mooring_client::v1::node_list::Nodes;
use mooring_client::v1::node_selection::Selection;
use mooring_client::v1::{
    CommitMode, CommitOutcome, ErrorReason, ExplainRequest, ExplainResponse, FilterRequest,
    FilterResponse, ListNodesRequest, ListNodesResponse, NodeIndices, NodeList, NodeNames,
    NodeVerdicts, PluginScores, Provenance, ScheduleRequest, ScheduleResponse, ScoreRequest,
    ScoreResponse, Verdict, VerdictCode,
};
use mooring_client::{Code, PluginScore, Pod, Pods, Question};

fn web() -> Pod {
    Pod::Json(r#"{"metadata": {"name": "web"}}"#.into())
}

fn verdict(code: VerdictCode) -> Verdict {
    Verdict {
        code: code.into(),
        ..Default::default()
    }
}

fn indices(node_epoch: u64, indices: &[u32]) -> Option<NodeList> {
    Some(NodeList {
        nodes: Some(Nodes::Indices(NodeIndices {
            node_epoch,
            indices: indices.into(),
        })),
    })
}

fn names(names: &[&str]) -> Option<NodeList> {
    let names = names.iter().map(ToString::to_string).collect();
    Some(NodeList {
        nodes: Some(Nodes::Names(NodeNames { names })),
    })
}

fn among(names: &[&str]) -> Question {
    Question {
        among: Some(names.iter().map(ToString::to_string).collect()),
        ..Default::default()
    }
}

fn verdicts(distinct: &[VerdictCode], node_verdicts: &[u32]) -> Option<NodeVerdicts> {
    let distinct = distinct.iter().map(|&code| verdict(code)).collect();
    Some(NodeVerdicts {
        distinct,
        node_verdicts: node_verdicts.into(),
    })
}

/// A list of all nodes, by ascending index, asked for since an epoch.
fn listed(since: Option<u64>, node_epoch: u64, nodes: &'static [&'static str]) -> Step {
    reply(move |request: ListNodesRequest| {
        assert_eq!(request.since_epoch, since);
        ListNodesResponse {
            provenance: Some(Provenance {
                node_epoch,
                ..Default::default()
            }),
            complete: true,
            indices: (0..nodes.len() as u32).collect(),
            nodes: names(nodes),
            ..Default::default()
        }
    })
}

fn filtered(epoch: u64, nodes: &'static [u32], node_verdicts: &'static [u32]) -> Step {
    reply(move |_: FilterRequest| FilterResponse {
        verdict: Some(verdict(VerdictCode::Success)),
        verdicts: verdicts(
            &[VerdictCode::Success, VerdictCode::Unschedulable],
            node_verdicts,
        ),
        nodes: indices(epoch, nodes),
        ..Default::default()
    })
}

#[tokio::test]
async fn a_batch_is_templates_and_columns_and_its_answer_one_result_a_pod() {
    let answer = reply(|request: ScheduleRequest| {
        let pods = request.pods.expect("columns");
        assert_eq!(
            (request.templates.len(), pods.template_indices),
            (2, vec![0, 0, 1])
        );
        assert_eq!(pods.uids, ["u1", "u2", "u3"]);
        assert_eq!(pods.names, ["web-1", "web-2", "db-1"]);
        ScheduleResponse {
            nodes: names(&["n1", "", "n1"]),
            verdicts: vec![
                verdict(VerdictCode::Success),
                verdict(VerdictCode::Unschedulable),
            ],
            pod_verdicts: vec![0, 1, 0],
            totals: vec![300, 0, 200],
            outcomes: vec![
                CommitOutcome::Local.into(),
                0,
                CommitOutcome::AlreadyBound.into(),
            ],
            ..Default::default()
        }
    });
    let group = |uids: &[&str], names: &[&str]| {
        let names = names.iter().map(ToString::to_string).collect();
        Pods {
            names,
            ..Pods::new(web(), uids.iter().copied())
        }
    };
    let groups = [
        group(&["u1", "u2"], &["web-1", "web-2"]),
        group(&["u3"], &["db-1"]),
    ];
    let placements = ask([answer], async |client| {
        client
            .schedule(&groups, CommitMode::Bind, &Question::default())
            .await
            .expect("an answer")
    });
    let placements = placements.await;
    let rows: Vec<_> = placements
        .iter()
        .map(|each| {
            (
                each.uid.as_str(),
                each.node.as_deref(),
                each.total,
                each.verdict.code(),
                each.outcome,
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            (
                "u1",
                Some("n1"),
                300,
                VerdictCode::Success,
                CommitOutcome::Local
            ),
            (
                "u2",
                None,
                0,
                VerdictCode::Unschedulable,
                CommitOutcome::Unspecified
            ),
            (
                "u3",
                Some("n1"),
                200,
                VerdictCode::Success,
                CommitOutcome::AlreadyBound
            ),
        ]
    );
}

#[tokio::test]
async fn names_that_are_not_as_many_as_uids_are_an_error() {
    let uneven = Pods {
        names: vec!["a".into(), "b".into()],
        ..Pods::new(web(), ["u1"])
    };
    let error = ask([], async |client| {
        client
            .schedule(&[uneven], CommitMode::DryRun, &Question::default())
            .await
    });
    assert_eq!(error.await.expect_err("uneven").code, Code::InvalidArgument);
}

#[tokio::test]
async fn without_a_column_of_verdicts_every_node_is_feasible() {
    let steps = [filtered(8, &[2, 0], &[]), listed(None, 8, &["a", "b", "c"])];
    let answer = ask(steps, async |client| {
        client.filter(web(), &Question::default()).await
    })
    .await
    .expect("an answer");
    let success = verdict(VerdictCode::Success);
    assert_eq!(
        answer.nodes,
        [("c".to_owned(), success.clone()), ("a".to_owned(), success)]
    );
}

#[tokio::test]
async fn the_question_is_repeated_while_its_epoch_is_another_one_than_that_of_the_list() {
    let steps = [
        filtered(8, &[0], &[1]),
        listed(None, 9, &["b"]),
        filtered(10, &[0], &[1]),
        listed(Some(9), 10, &["c"]),
    ];
    let answer = ask(steps, async |client| {
        client.filter(web(), &Question::default()).await
    })
    .await
    .expect("an answer");
    assert_eq!(
        answer.nodes,
        [("c".to_owned(), verdict(VerdictCode::Unschedulable))]
    );
}

#[tokio::test]
async fn an_index_that_the_list_lacks_is_never_another_node() {
    let steps = [
        filtered(8, &[5], &[]),
        listed(None, 8, &["a"]),
        filtered(8, &[0], &[]),
    ];
    let answer = ask(steps, async |client| {
        client.filter(web(), &Question::default()).await
    })
    .await
    .expect("an answer");
    assert_eq!(
        answer.nodes,
        [("a".to_owned(), verdict(VerdictCode::Success))]
    );
}

#[tokio::test]
async fn nodes_are_named_by_index_again_when_the_epoch_is_stale() {
    let stale = fail::<ScoreRequest>(Code::FailedPrecondition, ErrorReason::NodeEpochStale, &[]);
    let answer = reply(|request: ScoreRequest| {
        let expected = Selection::Indices(NodeIndices {
            node_epoch: 9,
            indices: vec![1, 0],
        });
        assert_eq!(
            request.nodes.and_then(|nodes| nodes.selection),
            Some(expected)
        );
        ScoreResponse {
            verdicts: verdicts(&[VerdictCode::Success], &[]),
            totals: vec![20, 10],
            ..Default::default()
        }
    });
    let steps = [
        listed(None, 8, &["a", "b"]),
        stale,
        listed(Some(8), 9, &["b", "a"]),
        answer,
    ];
    let answer = ask(steps, async |client| {
        client.score(web(), &among(&["a", "b"])).await
    })
    .await
    .expect("an answer");
    assert_eq!(answer.nodes, [("a".to_owned(), 20), ("b".to_owned(), 10)]);
}

#[tokio::test]
async fn nodes_that_the_server_lacks_are_named_by_name_and_have_no_score() {
    let answer = reply(|request: ScoreRequest| {
        let selection = request.nodes.and_then(|nodes| nodes.selection);
        assert!(
            matches!(selection, Some(Selection::Names(_))),
            "{selection:?}"
        );
        let distinct = [
            VerdictCode::Success,
            VerdictCode::UnschedulableAndUnresolvable,
        ];
        ScoreResponse {
            verdicts: verdicts(&distinct, &[0, 1]),
            totals: vec![20, 0],
            ..Default::default()
        }
    });
    let steps = [listed(None, 8, &["a"]), answer];
    let answer = ask(steps, async |client| {
        client.score(web(), &among(&["a", "x"])).await
    })
    .await
    .expect("an answer");
    assert_eq!(answer.nodes, [("a".to_owned(), 20)]);
}

#[tokio::test]
async fn an_explanation_has_the_scores_of_each_node() {
    let answer = reply(|_: ExplainRequest| ExplainResponse {
        verdict: Some(verdict(VerdictCode::Success)),
        nodes: indices(8, &[0, 1, 2]),
        verdicts: verdicts(
            &[VerdictCode::Success, VerdictCode::Unschedulable],
            &[0, 1, 0],
        ),
        scored_positions: vec![0, 2],
        totals: vec![110, 120],
        selected_position: Some(2),
        plugins: vec![PluginScores {
            plugin: "Fit".into(),
            weight: 1,
            raw: vec![5, 6],
            normalized: vec![10, 20],
            weighted: vec![30, 40],
        }],
        ..Default::default()
    });
    let steps = [answer, listed(None, 8, &["a", "b", "c"])];
    let answer = ask(steps, async |client| {
        client.explain(web(), &Question::default()).await
    })
    .await
    .expect("an answer");
    assert_eq!(answer.node.as_deref(), Some("c"));
    assert_eq!(
        (answer.nodes[1].total, answer.nodes[1].verdict.code()),
        (None, VerdictCode::Unschedulable)
    );
    let score = PluginScore {
        plugin: "Fit".into(),
        raw: 6,
        normalized: 20,
        weighted: 40,
    };
    assert_eq!(
        (answer.nodes[2].total, &answer.nodes[2].scores[..]),
        (Some(120), &[score][..])
    );
}

#[tokio::test]
async fn an_answer_that_contradicts_the_contract_is_an_error() {
    let answer = reply(|_: ScheduleRequest| ScheduleResponse {
        pod_verdicts: vec![7],
        totals: vec![0],
        ..Default::default()
    });
    let pods = [Pods::new(web(), ["u1"])];
    let error = ask([answer], async |client| {
        client
            .schedule(&pods, CommitMode::DryRun, &Question::default())
            .await
    });
    assert_eq!(error.await.expect_err("malformed").code, Code::Internal);
}
