//! Prefers the nodes with the largest free part of their memory.

use mooring_client::plugin_host::{Plugin, Rule, Values};

const OFFERED: &str = "allocatable[memory]";
const REQUESTED: &str = "requested[memory]";

/// Returns the plugin.
pub fn plugin() -> Plugin {
    Plugin::new("$name", |_arguments| Ok(Rule::new().score(score)))
        .node_columns([OFFERED, REQUESTED])
}

/// An empty node has 100 points, a full one none.
fn score(_pod: &Values, node: &Values) -> i64 {
    let offered = node.number(OFFERED);
    let free = (offered - node.number(REQUESTED)).max(0);
    (100 * free).checked_div(offered).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mooring_client::plugin_host::TestValues;

    #[test]
    fn the_emptier_node_has_more_points() {
        for (used, expected) in [(0, 100), (2, 75), (9, 0)] {
            let node = TestValues::new().number(OFFERED, 8).number(REQUESTED, used);
            assert_eq!(score(&node.values(), &node.values()), expected);
        }
    }
}
