package dev.mooring.client;

import java.util.List;

/**
 * Nodes as of one epoch.
 *
 * @param epoch the epoch
 * @param names the names in the order of the indices
 */
public record Listed(long epoch, List<String> names) {}
