package dev.mooring.client;

import dev.mooring.v1.ListNodesResponse;
import dev.mooring.v1.NodeIndices;
import dev.mooring.v1.NodeForm;
import dev.mooring.v1.NodeSelection;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The nodes of one epoch. It never changes; a refresh makes another one. */
record NodeTable(long epoch, Map<Integer, String> names, Map<String, Integer> indices) {
  /** The index in an answer that stands for no node. */
  private static final int NO_NODE = -1;

  /** A table of an epoch that no server has. */
  static final NodeTable NONE = new NodeTable(0, Map.of(), Map.of());

  /** The table after an answer of ListNodes: everything, or what changed since this one. */
  NodeTable apply(ListNodesResponse answer) {
    var added = answer.getNodes().getNames();
    if (added.getNamesCount() != answer.getIndicesCount()) {
      throw MooringException.broken(
          "ListNodes has " + added.getNamesCount() + " names for " + answer.getIndicesCount() + " indices");
    }
    var next = new HashMap<Integer, String>();
    if (!answer.getComplete()) {
      next.putAll(names);
      answer.getRemovedIndicesList().forEach(next::remove);
    }
    for (var i = 0; i < answer.getIndicesCount(); i++) {
      next.put(answer.getIndices(i), added.getNames(i));
    }
    var back = new HashMap<String, Integer>();
    next.forEach((index, name) -> back.put(name, index));
    return new NodeTable(answer.getProvenance().getNodeEpoch(), next, back);
  }

  /** The nodes by index; nothing if the table lacks one of them. */
  Optional<NodeSelection> selection(List<String> wanted) {
    var selected = NodeIndices.newBuilder().setNodeEpoch(epoch);
    for (var name : wanted) {
      var index = indices.get(name);
      if (index == null) {
        return Optional.empty();
      }
      selected.addIndices(index);
    }
    return Optional.of(
        NodeSelection.newBuilder().setIndices(selected).setAnswerForm(NodeForm.NODE_FORM_INDICES).build());
  }

  /** The names; nothing if the indices belong to another epoch. */
  Optional<List<String>> translate(NodeIndices selected) {
    if (selected.getNodeEpoch() != epoch) {
      return Optional.empty();
    }
    var found = new ArrayList<String>(selected.getIndicesCount());
    for (var i = 0; i < selected.getIndicesCount(); i++) {
      var index = selected.getIndices(i);
      var name = index == NO_NODE ? "" : names.get(index);
      if (name == null) {
        return Optional.empty();
      }
      found.add(name);
    }
    return Optional.of(found);
  }
}
