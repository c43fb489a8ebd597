package dev.mooring.client;

import dev.mooring.v1.Provenance;
import dev.mooring.v1.ScoreResponse;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The answer to {@link MooringClient#score}.
 *
 * @param totals the sum of weighted scores, by the name of each node that the server knows, in the order of the question
 * @param weightSum times 100 it is the highest total possible
 * @param provenance the state and the configuration that were used
 * @param warnings usually empty
 */
public record Scored(Map<String, Long> totals, long weightSum, Provenance provenance, List<String> warnings) {
  static Scored of(List<String> names, ScoreResponse answer) {
    if (answer.getTotalsCount() != names.size()) {
      throw MooringException.broken(answer.getTotalsCount() + " totals for " + names.size() + " nodes");
    }
    var verdicts = NodeVerdict.of(names, answer.getVerdicts());
    var totals = new LinkedHashMap<String, Long>();
    for (var i = 0; i < names.size(); i++) {
      if (verdicts.get(i).feasible()) {
        totals.put(names.get(i), answer.getTotals(i));
      }
    }
    return new Scored(totals, answer.getWeightSum(), answer.getProvenance(), answer.getWarningsList());
  }
}
