//! Limits the pods of one app in each rack.

use mooring_client::plugin_host::{Plugin, Rejection, Rule, Values};

const APP: &str = "metadata.labels[app]";
const IN_RACK: &str = "counted[app by example.com/rack]";
const MOST: i64 = 2;

/// Returns the plugin.
pub fn plugin() -> Plugin {
    Plugin::new("$name", |_arguments| Ok(Rule::new().filter(filter)))
        .pod_fields([APP])
        .node_columns([IN_RACK])
}

/// Pods without the label are not limited.
fn filter(pod: &Values, node: &Values) -> Option<Rejection> {
    let enough = pod.has(APP) && node.number(IN_RACK) >= MOST;
    enough.then(|| Rejection::new("node(s) were in a rack with enough pods of the app"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mooring_client::plugin_host::TestValues;

    #[test]
    fn a_rack_with_enough_pods_is_rejected() {
        let pod = TestValues::new().text(APP, "web");
        for (there, rejected) in [(MOST - 1, false), (MOST, true)] {
            let node = TestValues::new().number(IN_RACK, there);
            assert_eq!(filter(&pod.values(), &node.values()).is_some(), rejected);
        }
    }
}
