use std::collections::HashMap;

use crate::v1::node_list::Nodes;
use crate::v1::{ListNodesResponse, NodeIndices, NodeList};

/// The index in an answer for a pod without a node.
const NO_NODE: u32 = u32::MAX;

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

    /// Takes a list of all nodes, or of what changed since `epoch`.
    pub(crate) fn apply(&mut self, answer: ListNodesResponse) {
        if answer.complete {
            self.names.clear();
            self.indices.clear();
        }
        for index in answer.removed_indices {
            if let Some(name) = self.names.remove(&index) {
                self.indices.remove(&name);
            }
        }
        for (index, name) in answer.indices.into_iter().zip(names_in(answer.nodes)) {
            self.indices.insert(name.clone(), index);
            self.names.insert(index, name);
        }
        self.epoch = answer.provenance.map(|provenance| provenance.node_epoch);
    }

    /// Names for indices; none if they are of another epoch.
    pub(crate) fn names(&self, list: &NodeIndices) -> Option<Vec<String>> {
        if self.epoch != Some(list.node_epoch) {
            return None;
        }
        let name = |index: &u32| {
            if *index == NO_NODE {
                Some(String::new())
            } else {
                self.names.get(index).cloned()
            }
        };
        list.indices.iter().map(name).collect()
    }

    /// Indices for names; none if one of them is no node of this epoch.
    pub(crate) fn indices(&self, names: &[String]) -> Option<NodeIndices> {
        let node_epoch = self.epoch?;
        let indices = names
            .iter()
            .map(|name| self.indices.get(name).copied())
            .collect::<Option<_>>()?;
        Some(NodeIndices {
            node_epoch,
            indices,
        })
    }
}

/// The names in an answer that has names.
pub(crate) fn names_in(list: Option<NodeList>) -> Vec<String> {
    match list.and_then(|list| list.nodes) {
        Some(Nodes::Names(names)) => names.names,
        _ => Vec::new(),
    }
}
