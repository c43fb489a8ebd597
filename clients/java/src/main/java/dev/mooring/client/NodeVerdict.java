package dev.mooring.client;

import dev.mooring.v1.NodeVerdicts;
import dev.mooring.v1.Verdict;
import dev.mooring.v1.VerdictCode;
import java.util.ArrayList;
import java.util.List;

/**
 * Whether a pod may run on a node, and if not, why.
 *
 * @param node the node's name
 * @param verdict success, or what rejects the pod
 */
public record NodeVerdict(String node, Verdict verdict) {
  /** Whether the pod may run there. */
  public boolean feasible() {
    return verdict.getCode() == VerdictCode.VERDICT_CODE_SUCCESS;
  }

  /** One verdict per node; an empty column is success for each. */
  static List<NodeVerdict> of(List<String> names, NodeVerdicts column) {
    var count = column.getNodeVerdictsCount();
    if (count != 0 && count != names.size()) {
      throw MooringException.broken(count + " verdicts for " + names.size() + " nodes");
    }
    var verdicts = new ArrayList<NodeVerdict>(names.size());
    for (var i = 0; i < names.size(); i++) {
      var index = count == 0 ? 0 : column.getNodeVerdicts(i);
      if (index < 0 || index >= column.getDistinctCount()) {
        throw MooringException.broken("node " + i + " has verdict " + index + " of " + column.getDistinctCount());
      }
      verdicts.add(new NodeVerdict(names.get(i), column.getDistinct(index)));
    }
    return verdicts;
  }
}
