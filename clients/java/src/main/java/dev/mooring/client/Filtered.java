package dev.mooring.client;

import dev.mooring.v1.Provenance;
import dev.mooring.v1.Verdict;
import java.util.List;

/**
 * The answer to {@link MooringClient#filter}.
 *
 * @param verdict on the pod: success if at least one node is feasible
 * @param nodes in the order of the names that were asked about, or of the indices
 * @param provenance the state and the configuration that were used
 * @param warnings usually empty
 */
public record Filtered(Verdict verdict, List<NodeVerdict> nodes, Provenance provenance, List<String> warnings) {}
