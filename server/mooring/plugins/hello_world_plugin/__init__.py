"""HelloWorldPlugin: NetworkTraffic under the name of the published example."""
