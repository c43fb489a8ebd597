package dev.mooring.client;

import dev.mooring.v1.CommitOutcome;
import dev.mooring.v1.Verdict;
import dev.mooring.v1.VerdictCode;

/**
 * The answer for one pod of a batch.
 *
 * @param uid the pod's
 * @param node the selected one; "" if there is none. Without success it was selected, too, and the commit failed
 * @param total the node's score; 0 if only one node was feasible
 * @param verdict success for a pod that has its node, pending for one that the call had no time for
 * @param tieCount how many nodes had the same total
 * @param evaluated how many nodes were looked at
 * @param feasible how many of them were feasible
 * @param outcome that of the commit
 */
public record Placement(
    String uid, String node, long total, Verdict verdict, int tieCount, int evaluated, int feasible, CommitOutcome outcome) {
  /** Whether the pod has its node. */
  public boolean ok() {
    return verdict.getCode() == VerdictCode.VERDICT_CODE_SUCCESS;
  }
}
