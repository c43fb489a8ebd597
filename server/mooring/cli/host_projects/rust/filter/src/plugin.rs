//! Keeps a pod to the nodes of the tier that it asks for.

use mooring_client::plugin_host::{Plugin, Rejection, Rule, Values};

const WANTED: &str = "metadata.annotations[example.com/tier]";
const TIER: &str = "metadata.labels[example.com/tier]";

/// Returns the plugin.
pub fn plugin() -> Plugin {
    Plugin::new("$name", |_arguments| Ok(Rule::new().filter(filter)))
        .pod_fields([WANTED])
        .node_columns([TIER])
}

fn filter(pod: &Values, node: &Values) -> Option<Rejection> {
    let elsewhere = pod.has(WANTED) && pod.text(WANTED) != node.text(TIER);
    elsewhere.then(|| Rejection::unresolvable("node(s) didn't have the tier that the pod asks for"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mooring_client::plugin_host::TestValues;

    #[test]
    fn a_pod_goes_to_the_tier_that_it_asks_for() {
        let pod = TestValues::new().text(WANTED, "gold");
        for (tier, rejected) in [("gold", false), ("iron", true)] {
            let node = TestValues::new().text(TIER, tier);
            assert_eq!(filter(&pod.values(), &node.values()).is_some(), rejected);
        }
    }
}
