"""NodeResourcesBalancedAllocation: prefers nodes whose resources fill up evenly."""
