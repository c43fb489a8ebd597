//! The values that a rule gets, and what a host does with answers: without mooring.

use mooring_client::plugin_host::TestValues;

#[test]
fn values_are_texts_numbers_or_absent() {
    let made = TestValues::new()
        .text("metadata.name", "n1")
        .number("requested[cpu]", 5)
        .absent("metadata.labels[rack]");
    let node = made.values();
    assert_eq!(node.text("metadata.name"), "n1");
    assert_eq!(node.number("requested[cpu]"), 5);
    assert!(!node.has("metadata.labels[rack]"));
    assert_eq!(node.text("metadata.labels[rack]"), "");
}

#[test]
#[should_panic(expected = "is not declared")]
fn a_value_that_was_not_declared_is_a_fault() {
    TestValues::new().values().text("metadata.name");
}
