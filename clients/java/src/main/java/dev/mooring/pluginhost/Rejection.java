package dev.mooring.pluginhost;

import dev.mooring.v1.Verdict;
import dev.mooring.v1.VerdictCode;

/**
 * A "no".
 *
 * @param reason the reason, such as "node(s) had no free slot"
 * @param unresolvable whether removing pods from the node does not help
 */
public record Rejection(String reason, boolean unresolvable) {
  /** A rejection that removing pods may undo. */
  public Rejection(String reason) {
    this(reason, false);
  }

  Verdict verdict() {
    var code =
        unresolvable
            ? VerdictCode.VERDICT_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE
            : VerdictCode.VERDICT_CODE_UNSCHEDULABLE;
    return Verdict.newBuilder().setCode(code).addReasons(reason).build();
  }
}
