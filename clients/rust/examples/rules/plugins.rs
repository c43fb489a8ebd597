//! The rules of tests/plugin_hosts/rules.py, in Rust.

use mooring_client::plugin_host::{Normalizer, Plugin, Rejection, Rule, Values};

const ZONE: &str = "metadata.labels[topology.kubernetes.io/zone]";
const GPU: &str = "metadata.labels[gpu]";
const APP: &str = "metadata.labels[app]";
const IN_ZONE: &str = "counted[app by topology.kubernetes.io/zone]";
const USES: &str = "metadata.labels[version]";
const WEIGHT: &str = "metadata.labels[weight]";
const ON_HOST: &str = "counted[version by kubernetes.io/hostname]";
const LOAD: &str = "measured[load]";
const OFFERED: &str = "allocatable[memory]";
const REQUESTED: &str = "requested[memory]";
const HOST_NETWORK: &str = "spec.hostNetwork";
const PRIORITY: &str = "spec.priority";

fn maintained(no: Rejection) -> impl Fn(&Values, &Values) -> Option<Rejection> {
    move |_, node| (!node.text(GPU).is_empty()).then(|| no.clone())
}

fn left(node: &Values) -> i64 {
    let own = if node.has(WEIGHT) {
        node.text(WEIGHT).parse().unwrap_or(0)
    } else {
        2
    };
    own - node.number(ON_HOST)
}

fn underlay(pod: &Values, node: &Values) -> Option<Rejection> {
    if !pod.has(USES) || pod.text(HOST_NETWORK) == "true" {
        None
    } else if node.has(GPU) {
        Some(Rejection::unresolvable("node(s) were masters"))
    } else {
        (left(node) <= 0).then(|| Rejection::new("no free underlay IP"))
    }
}

fn requests(pod: &Values, node: &Values) -> Option<Rejection> {
    let priority = pod.number(PRIORITY);
    if node.text("spec.taints") != "[]" && priority == 0 {
        return Some(Rejection::new("tainted"));
    }
    (node.text("metadata.name").ends_with('3') && priority > 5)
        .then(|| Rejection::unresolvable("odd"))
}

/// Returns all of them.
pub fn plugins() -> [Plugin; 7] {
    [
        Plugin::new("FilterLabel", |_| {
            Ok(Rule::new().filter(maintained(Rejection::new("node(s) in maintenance"))))
        })
        .node_columns([GPU]),
        Plugin::new("ScoreFree", |_| {
            Ok(Rule::new().score(|_, node| {
                let offered = node.number(OFFERED).max(1);
                100 * (offered - node.number(REQUESTED)).max(0) / offered
            }))
        })
        .node_columns([OFFERED, REQUESTED]),
        Plugin::new("Rack", |_| {
            let maintained = maintained(Rejection::unresolvable("node(s) in maintenance"));
            Ok(Rule::new().filter(maintained).score(|pod, node| {
                let wanted = pod.text(APP);
                if !wanted.is_empty() && node.text(ZONE) == wanted {
                    100
                } else {
                    0
                }
            }))
        })
        .pod_fields([APP])
        .node_columns([GPU, ZONE]),
        Plugin::new("CountPerRack", |_| {
            Ok(Rule::new().filter(|_, node| {
                (node.number(IN_ZONE) >= 4)
                    .then(|| Rejection::new("rack(s) had enough pods of the app"))
            }))
        })
        .node_columns([IN_ZONE]),
        Plugin::new("UnderlayLike", |_| {
            Ok(Rule::new()
                .filter(underlay)
                .score(|_, node| left(node).max(0)))
        })
        .pod_fields([USES, HOST_NETWORK])
        .node_columns([GPU, WEIGHT, ON_HOST])
        .normalizer(Normalizer::ByMax),
        Plugin::new("Traffic", |_| {
            Ok(Rule::new().score(|_, node| node.number(LOAD)))
        })
        .node_columns([LOAD])
        .normalizer(Normalizer::ByMaxReversed),
        Plugin::new("Requests", |_| Ok(Rule::new().filter(requests)))
            .pod_fields([PRIORITY, "requests[cpu]"])
            .node_columns(["spec.taints", "metadata.name"]),
    ]
}
