package dev.mooring.client;

import java.util.List;

/**
 * What changed since the update before, or every node.
 *
 * @param epoch the epoch
 * @param complete whether added is every node: in the first update, and after changes that were missed
 * @param added names
 * @param removed names
 */
public record NodesUpdate(long epoch, boolean complete, List<String> added, List<String> removed) {}
