//! Rejects nodes in maintenance, and prefers the rack that the pod asks for.

use mooring_client::plugin_host::{Plugin, Rejection, Rule, Values};

const WANTED: &str = "metadata.annotations[example.com/rack]";
const RACK: &str = "metadata.labels[example.com/rack]";
const MAINTENANCE: &str = "metadata.labels[example.com/maintenance]";

/// Returns the plugin.
pub fn plugin() -> Plugin {
    Plugin::new("$name", |_arguments| Ok(Rule::new().filter(filter).score(score)))
        .pod_fields([WANTED])
        .node_columns([RACK, MAINTENANCE])
}

fn filter(_pod: &Values, node: &Values) -> Option<Rejection> {
    node.has(MAINTENANCE)
        .then(|| Rejection::unresolvable("node(s) were in maintenance"))
}

fn score(pod: &Values, node: &Values) -> i64 {
    let preferred = pod.has(WANTED) && pod.text(WANTED) == node.text(RACK);
    if preferred { 100 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mooring_client::plugin_host::TestValues;

    #[test]
    fn the_rack_that_the_pod_asks_for_is_preferred() {
        let pod = TestValues::new().text(WANTED, "r1");
        for (rack, expected) in [("r1", 100), ("r2", 0)] {
            let node = TestValues::new().text(RACK, rack).absent(MAINTENANCE);
            assert_eq!(score(&pod.values(), &node.values()), expected);
        }
    }

    #[test]
    fn a_node_in_maintenance_is_rejected() {
        let node = TestValues::new().text(MAINTENANCE, "");
        assert!(filter(&node.values(), &node.values()).is_some_and(|no| no.unresolvable));
    }
}
