use std::collections::HashMap;

use crate::v1::{ExplainResponse, FilterResponse, NodeVerdicts, ScoreResponse, Verdict};
use crate::{Error, Result};

/// The verdict on each node.
#[derive(Debug, Clone)]
pub struct Filtered {
    /// Success if a node is feasible.
    pub verdict: Verdict,
    /// Nodes with their verdicts, in the order in which they were asked about.
    pub nodes: Vec<(String, Verdict)>,
    /// The whole answer: warnings, the state that it is about, and more.
    pub response: FilterResponse,
}

/// The total score of each node that the server knows.
#[derive(Debug, Clone)]
pub struct Scored {
    /// 100 times this is the highest total possible.
    pub weight_sum: i64,
    /// Nodes with their totals.
    pub nodes: Vec<(String, i64)>,
    /// The whole answer.
    pub response: ScoreResponse,
}

/// What one plugin gave a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginScore {
    /// The plugin.
    pub plugin: String,
    /// What it returned.
    pub raw: i64,
    /// The same as 0 to 100.
    pub normalized: i64,
    /// That times the plugin's weight.
    pub weighted: i64,
}

/// A node in an explanation.
#[derive(Debug, Clone)]
pub struct ExplainedNode {
    /// Its name.
    pub name: String,
    /// The verdict on it.
    pub verdict: Verdict,
    /// Its total score; none if it was not scored.
    pub total: Option<i64>,
    /// Its scores, in the order of the profile's plugins.
    pub scores: Vec<PluginScore>,
}

/// The whole cycle for one pod.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The verdict on the pod.
    pub verdict: Verdict,
    /// The node that would be selected.
    pub node: Option<String>,
    /// All nodes that were asked about.
    pub nodes: Vec<ExplainedNode>,
    /// The whole answer.
    pub response: ExplainResponse,
}

impl Filtered {
    pub(crate) fn read(response: FilterResponse, names: Vec<String>) -> Result<Self> {
        let verdicts = Verdicts(response.verdicts.as_ref());
        let nodes = names
            .into_iter()
            .enumerate()
            .map(|(i, name)| Ok((name, verdicts.at(i)?.clone())));
        let nodes = nodes.collect::<Result<_>>()?;
        Ok(Self {
            verdict: response.verdict.clone().unwrap_or_default(),
            nodes,
            response,
        })
    }
}

impl Scored {
    pub(crate) fn read(response: ScoreResponse, names: Vec<String>) -> Result<Self> {
        let verdicts = Verdicts(response.verdicts.as_ref());
        let mut nodes = Vec::with_capacity(names.len());
        for (i, name) in names.into_iter().enumerate() {
            if verdicts.index(i) == 0 {
                nodes.push((name, at(&response.totals, i)?));
            }
        }
        Ok(Self {
            weight_sum: response.weight_sum,
            nodes,
            response,
        })
    }
}

impl Explanation {
    pub(crate) fn read(response: ExplainResponse, names: Vec<String>) -> Result<Self> {
        let verdicts = Verdicts(response.verdicts.as_ref());
        let columns: HashMap<usize, usize> = response
            .scored_positions
            .iter()
            .enumerate()
            .map(|(column, &position)| (position as usize, column))
            .collect();
        let node = match response.selected_position {
            Some(position) => Some(
                names
                    .get(position as usize)
                    .ok_or_else(Error::malformed)?
                    .clone(),
            ),
            None => None,
        };
        let nodes = names.into_iter().enumerate().map(|(position, name)| {
            let column = columns.get(&position).copied();
            Ok(ExplainedNode {
                name,
                verdict: verdicts.at(position)?.clone(),
                total: column
                    .map(|column| at(&response.totals, column))
                    .transpose()?,
                scores: column
                    .map(|column| scores(&response, column))
                    .transpose()?
                    .unwrap_or_default(),
            })
        });
        let nodes = nodes.collect::<Result<_>>()?;
        Ok(Self {
            verdict: response.verdict.clone().unwrap_or_default(),
            node,
            nodes,
            response,
        })
    }
}

fn scores(response: &ExplainResponse, column: usize) -> Result<Vec<PluginScore>> {
    let score = |plugin: &crate::v1::PluginScores| {
        Ok(PluginScore {
            plugin: plugin.plugin.clone(),
            raw: at(&plugin.raw, column)?,
            normalized: at(&plugin.normalized, column)?,
            weighted: at(&plugin.weighted, column)?,
        })
    };
    response.plugins.iter().map(score).collect()
}

fn at(column: &[i64], i: usize) -> Result<i64> {
    column.get(i).copied().ok_or_else(Error::malformed)
}

/// A column of verdicts. Without one all nodes have the first verdict, which is success.
struct Verdicts<'a>(Option<&'a NodeVerdicts>);

impl<'a> Verdicts<'a> {
    fn index(&self, i: usize) -> u32 {
        self.0
            .and_then(|verdicts| verdicts.node_verdicts.get(i))
            .copied()
            .unwrap_or_default()
    }

    fn at(&self, i: usize) -> Result<&'a Verdict> {
        self.0
            .and_then(|verdicts| verdicts.distinct.get(self.index(i) as usize))
            .ok_or_else(Error::malformed)
    }
}
