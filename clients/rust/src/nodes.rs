use std::collections::HashMap;

use crate::v1::node_list::Nodes;
use crate::v1::{ListNodesResponse, NodeIndices, NodeList, NodeNames, WatchNodesResponse};
use crate::{Error, Result};

/// The index in an answer for a pod without a node.
const NO_NODE: u32 = u32::MAX;

/// What changed about the nodes of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeUpdate {
    /// The epoch from then on.
    pub epoch: u64,
    /// Whether `added` are all nodes: those from before are void.
    pub complete: bool,
    /// The names of new nodes.
    pub added: Vec<String>,
    /// The names of nodes that are gone. One may be in `added`, too.
    pub removed: Vec<String>,
}

/// The nodes of one server: names and indices of one epoch.
#[derive(Debug, Default)]
pub(crate) struct NodeTable {
    epoch: Option<u64>,
    names: HashMap<u32, String>,
    indices: HashMap<String, u32>,
}

impl NodeTable {
    /// The epoch to which the indices belong; none before the nodes were listed.
    pub(crate) fn epoch(&self) -> Option<u64> {
        self.epoch
    }

    /// Takes all nodes, or what changed since `epoch`. Says what it made of them.
    pub(crate) fn apply(&mut self, nodes: ListNodesResponse) -> Result<NodeUpdate> {
        let epoch = nodes.provenance.ok_or_else(Error::malformed)?.node_epoch;
        let added = names_in(nodes.nodes);
        if added.len() != nodes.indices.len() {
            return Err(Error::malformed());
        }
        if nodes.complete {
            self.names.clear();
            self.indices.clear();
        }
        let mut removed = Vec::new();
        for index in nodes.removed_indices {
            if let Some(name) = self.names.remove(&index) {
                self.indices.remove(&name);
                removed.push(name);
            }
        }
        for (index, name) in nodes.indices.into_iter().zip(&added) {
            self.indices.insert(name.clone(), index);
            self.names.insert(index, name.clone());
        }
        self.epoch = Some(epoch);
        Ok(NodeUpdate {
            epoch,
            complete: nodes.complete,
            added,
            removed,
        })
    }

    /// Names for indices; none if they are of another epoch.
    pub(crate) fn names(&self, list: &NodeIndices) -> Option<Vec<String>> {
        if self.epoch != Some(list.node_epoch) {
            return None;
        }
        let name = |index: &u32| match *index {
            NO_NODE => Some(String::new()),
            _ => self.names.get(index).cloned(),
        };
        list.indices.iter().map(name).collect()
    }

    /// Indices for names; none if one of them is no node of this epoch.
    pub(crate) fn indices(&self, names: &[String]) -> Option<NodeIndices> {
        let node_epoch = self.epoch?;
        let index = |name| self.indices.get(name).copied();
        let indices = names.iter().map(index).collect::<Option<_>>()?;
        Some(NodeIndices {
            node_epoch,
            indices,
        })
    }
}

/// A list of nodes with a later part of it.
pub(crate) fn join(mut nodes: ListNodesResponse, part: ListNodesResponse) -> ListNodesResponse {
    let mut names = names_in(nodes.nodes);
    names.extend(names_in(part.nodes));
    nodes.nodes = Some(NodeList {
        nodes: Some(Nodes::Names(NodeNames { names })),
    });
    nodes.indices.extend(part.indices);
    nodes.removed_indices.extend(part.removed_indices);
    nodes.provenance = part.provenance;
    nodes
}

impl From<WatchNodesResponse> for ListNodesResponse {
    fn from(part: WatchNodesResponse) -> Self {
        Self {
            provenance: part.provenance,
            complete: part.complete,
            indices: part.indices,
            nodes: part.nodes,
            removed_indices: part.removed_indices,
            ..Default::default()
        }
    }
}

/// The names in an answer that has names.
pub(crate) fn names_in(list: Option<NodeList>) -> Vec<String> {
    match list.and_then(|list| list.nodes) {
        Some(Nodes::Names(names)) => names.names,
        _ => Vec::new(),
    }
}
