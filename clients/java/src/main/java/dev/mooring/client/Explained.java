package dev.mooring.client;

import dev.mooring.v1.ExplainResponse;
import dev.mooring.v1.Verdict;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * The answer to {@link MooringClient#explain}.
 *
 * @param verdict on the pod
 * @param node the selected one; "" if there is none
 * @param nodes in the order of the names that were asked about, or of the indices
 * @param answer all the rest: the verdicts of PreFilter, resources, victims and more; positions in it are those in nodes
 */
public record Explained(Verdict verdict, String node, List<Node> nodes, ExplainResponse answer) {
  /**
   * All that was found out about a node.
   *
   * @param node the node's name
   * @param verdict success, or what rejects the pod
   * @param total the sum of the weighted scores; absent if the node was not scored
   * @param scores those of each plugin, by its name
   */
  public record Node(String node, Verdict verdict, OptionalLong total, Map<String, Score> scores) {}

  /**
   * A plugin's score for a node.
   *
   * @param raw as the plugin gave it
   * @param normalized as 0 to 100
   * @param weighted times the plugin's weight
   */
  public record Score(long raw, long normalized, long weighted) {}

  static Explained of(List<String> names, ExplainResponse answer) {
    var nodes = new ArrayList<Node>(names.size());
    for (var each : NodeVerdict.of(names, answer.getVerdicts())) {
      nodes.add(new Node(each.node(), each.verdict(), OptionalLong.empty(), Map.of()));
    }
    for (var i = 0; i < answer.getScoredPositionsCount(); i++) {
      var position = position(answer.getScoredPositions(i), nodes.size());
      var scores = new LinkedHashMap<String, Score>();
      for (var plugin : answer.getPluginsList()) {
        scores.put(plugin.getPlugin(), new Score(at(plugin.getRawList(), i), at(plugin.getNormalizedList(), i), at(plugin.getWeightedList(), i)));
      }
      var node = nodes.get(position);
      nodes.set(position, new Node(node.node(), node.verdict(), OptionalLong.of(at(answer.getTotalsList(), i)), scores));
    }
    var selected =
        answer.hasSelectedPosition() ? names.get(position(answer.getSelectedPosition(), names.size())) : "";
    return new Explained(answer.getVerdict(), selected, nodes, answer);
  }

  /** An entry of a column, 0 in one that the server left out. */
  private static long at(List<Long> column, int i) {
    return i < column.size() ? column.get(i) : 0;
  }

  private static int position(int position, int count) {
    if (position < 0 || position >= count) {
      throw MooringException.broken("position " + Integer.toUnsignedString(position) + " of " + count + " nodes");
    }
    return position;
  }
}
