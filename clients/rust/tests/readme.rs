//! The example of the README is the one that is run.

#[test]
fn the_readme_has_the_example() {
    let example = include_str!("../examples/schedule.rs");
    assert!(include_str!("../README.md").contains(&format!("```rust,no_run\n{example}```\n")));
}
