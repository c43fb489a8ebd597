use std::iter;

use crate::nodes::names_in;
use crate::v1::kubernetes_object::Encoding;
use crate::v1::pod_source::Source;
use crate::v1::{
    CommitOutcome, KubernetesObject, PodColumns, PodReference, PodSource, PodTemplate,
    ScheduleResponse, Verdict,
};
use crate::{Code, Error, Result};

/// A pod that is sent along, or one that the server knows.
#[derive(Debug, Clone)]
pub enum Pod {
    /// The pod as JSON, as the API server writes it.
    Json(String),
    /// The pod as protobuf: bare, or in the API server's envelope.
    Protobuf(Vec<u8>),
    /// A pod that the server knows. Calls that change something need its UID.
    Known(PodReference),
}

impl From<Pod> for PodSource {
    fn from(pod: Pod) -> Self {
        let object = |encoding| {
            Source::Object(KubernetesObject {
                encoding: Some(encoding),
            })
        };
        let source = match pod {
            Pod::Json(json) => object(Encoding::Json(json.into())),
            Pod::Protobuf(bytes) => object(Encoding::Protobuf(bytes)),
            Pod::Known(reference) => Source::Reference(reference),
        };
        Self {
            source: Some(source),
        }
    }
}

/// Pods that are alike.
#[derive(Debug, Clone)]
pub struct Pods {
    /// One of them, sent and decoded once for all.
    pub template: Pod,
    /// Their UIDs, all distinct; empty = one pod, the template. All groups of a batch have UIDs, or none.
    pub uids: Vec<String>,
    /// Their names, one for each UID; empty = that of the template. All groups of a batch have names, or none.
    pub names: Vec<String>,
}

impl Pods {
    /// Pods with the template's name.
    pub fn new(template: Pod, uids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            template,
            uids: uids.into_iter().map(Into::into).collect(),
            names: Vec::new(),
        }
    }
}

/// The answer about one pod.
#[derive(Debug, Clone, PartialEq)]
pub struct Placement {
    /// Its UID.
    pub uid: String,
    /// The selected node. Without success it was selected, too, and the commit failed.
    pub node: Option<String>,
    /// Success for a pod that has its node, pending for one that got no turn in time and may be sent again.
    pub verdict: Verdict,
    /// The node's total score; 0 for the only feasible one, which is not scored.
    pub total: i64,
    /// How many nodes had that total.
    pub tie_count: u32,
    /// How many nodes were evaluated.
    pub evaluated_count: u32,
    /// How many of them were feasible.
    pub feasible_count: u32,
    /// How the commit ended; unspecified in a dry run.
    pub outcome: CommitOutcome,
}

/// The templates and columns of a batch.
pub(crate) fn batch_of(groups: &[Pods]) -> Result<(Vec<PodTemplate>, PodColumns)> {
    let with_uids = groups.iter().any(|group| !group.uids.is_empty());
    let with_names = groups.iter().any(|group| !group.names.is_empty());
    let mut columns = PodColumns::default();
    let mut templates = Vec::with_capacity(groups.len());
    for (number, group) in (0..).zip(groups) {
        let count = if with_uids { group.uids.len() } else { 1 };
        if count == 0 || group.names.len() != if with_names { count } else { 0 } {
            let message = format!(
                "group {number} has {} UIDs and {} names",
                group.uids.len(),
                group.names.len()
            );
            return Err(Error::new(Code::InvalidArgument, message));
        }
        templates.push(PodTemplate {
            pod: Some(group.template.clone().into()),
        });
        columns
            .template_indices
            .extend(iter::repeat_n(number, count));
        columns.uids.extend_from_slice(&group.uids);
        columns.names.extend_from_slice(&group.names);
    }
    Ok((templates, columns))
}

/// One result a pod, in the order of the batch.
pub(crate) fn placements_in(answer: ScheduleResponse, pods: PodColumns) -> Result<Vec<Placement>> {
    let mut nodes = names_in(answer.nodes).into_iter();
    let mut uids = pods.uids.into_iter();
    let at = |column: &[u32], i: usize| column.get(i).copied().unwrap_or_default();
    let placement = |i| {
        Some(Placement {
            uid: uids.next().unwrap_or_default(),
            node: nodes.next().filter(|node| !node.is_empty()),
            verdict: answer
                .verdicts
                .get(*answer.pod_verdicts.get(i)? as usize)?
                .clone(),
            total: *answer.totals.get(i)?,
            tie_count: at(&answer.tie_counts, i),
            evaluated_count: at(&answer.evaluated_counts, i),
            feasible_count: at(&answer.feasible_counts, i),
            outcome: answer
                .outcomes
                .get(i)
                .and_then(|&each| each.try_into().ok())
                .unwrap_or_default(),
        })
    };
    (0..pods.template_indices.len())
        .map(placement)
        .collect::<Option<_>>()
        .ok_or_else(Error::malformed)
}
