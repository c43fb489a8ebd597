"""Between the messages of the contract and the objects of the framework, in both directions."""
