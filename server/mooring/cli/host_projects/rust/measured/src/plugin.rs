//! Prefers the nodes with the lowest load, which it reads in the background.

use std::collections::HashMap;

use mooring_client::plugin_host::{MeasurementDescription, Normalizer, Plugin, Rule, Values};

const LOAD: &str = "$name";
const MEASURED: &str = "measured[$name]";
const FILE: &str = "load.txt";

/// Returns the plugin.
pub fn plugin() -> Plugin {
    Plugin::new("$name", |_arguments| Ok(Rule::new().score(score).measure(measure)))
        .node_columns([MEASURED])
        .normalizer(Normalizer::ByMaxReversed)
        .measurement(MeasurementDescription {
            name: LOAD.into(),
            unmeasured_as_highest: true,
            ..Default::default()
        })
}

fn score(_pod: &Values, node: &Values) -> i64 {
    node.number(MEASURED)
}

fn measure(_name: &str) -> HashMap<String, i64> {
    parsed(&std::fs::read_to_string(FILE).unwrap_or_default())
}

/// Returns the loads by node; each line has a node and its load.
fn parsed(text: &str) -> HashMap<String, i64> {
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.filter_map(|(node, load)| Some((node.into(), load.trim().parse().ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_the_load_of_a_node() {
        let expected = HashMap::from([("n1".into(), 4000), ("n2".into(), 1000)]);
        assert_eq!(parsed("n1 4000\nn2 1000\n"), expected);
    }
}
