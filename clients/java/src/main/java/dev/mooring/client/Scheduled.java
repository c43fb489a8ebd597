package dev.mooring.client;

import dev.mooring.v1.CommitOutcome;
import dev.mooring.v1.Provenance;
import dev.mooring.v1.ScheduleResponse;
import java.util.ArrayList;
import java.util.List;

/**
 * The answer to a batch.
 *
 * @param placements one per pod, in the order of the batch
 * @param provenance the state and the configuration that were used
 * @param warnings usually empty
 */
public record Scheduled(List<Placement> placements, Provenance provenance, List<String> warnings) {
  static Scheduled of(List<String> uids, ScheduleResponse answer) {
    var names = answer.getNodes().getNames();
    if (names.getNamesCount() != uids.size() || answer.getPodVerdictsCount() != uids.size()) {
      throw MooringException.broken(
          names.getNamesCount() + " nodes and " + answer.getPodVerdictsCount() + " verdicts for " + uids.size() + " pods");
    }
    var placements = new ArrayList<Placement>(uids.size());
    for (var i = 0; i < uids.size(); i++) {
      var index = answer.getPodVerdicts(i);
      if (index < 0 || index >= answer.getVerdictsCount()) {
        throw MooringException.broken("pod " + i + " has verdict " + index + " of " + answer.getVerdictsCount());
      }
      placements.add(
          new Placement(
              uids.get(i),
              names.getNames(i),
              i < answer.getTotalsCount() ? answer.getTotals(i) : 0,
              answer.getVerdicts(index),
              i < answer.getTieCountsCount() ? answer.getTieCounts(i) : 0,
              i < answer.getEvaluatedCountsCount() ? answer.getEvaluatedCounts(i) : 0,
              i < answer.getFeasibleCountsCount() ? answer.getFeasibleCounts(i) : 0,
              i < answer.getOutcomesCount()
                  ? answer.getOutcomes(i)
                  : CommitOutcome.COMMIT_OUTCOME_UNSPECIFIED));
    }
    return new Scheduled(placements, answer.getProvenance(), answer.getWarningsList());
  }
}
