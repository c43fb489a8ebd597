package dev.mooring.pluginhost;

import dev.mooring.plugin_host.v1.ActRequest;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * A function for each point of a plugin. They are called from several threads. Filter and score are pure functions of their
 * arguments: mooring asks once about each combination of values.
 */
public final class Rule {
  /** Filters a node. */
  @FunctionalInterface
  public interface Filter {
    /** Returns why the node can't take the pod; null if it can. */
    Rejection filter(Values pod, Values node);
  }

  /** Scores a node. */
  @FunctionalInterface
  public interface Score {
    /** Returns the score of the node. */
    long score(Values pod, Values node);
  }

  Filter filter;
  Score score;
  Function<String, Map<String, Long>> measure = name -> Map.of();
  private final Map<String, Function<ActRequest, Permission>> acts = new LinkedHashMap<>();

  /** Serves Filter. */
  public Rule filter(Filter filter) {
    this.filter = filter;
    return this;
  }

  /** Serves Score. */
  public Rule score(Score score) {
    this.score = score;
    return this;
  }

  /** Serves Reserve: {@code reserve} keeps what the pod needs. {@code unreserve} gives it back, also if it was never kept. */
  public Rule reserve(Function<ActRequest, Rejection> reserve, Consumer<ActRequest> unreserve) {
    acts.put("reserve", pod -> Permission.deniedBy(reserve.apply(pod)));
    return silent("unreserve", unreserve);
  }

  /** Serves Permit. */
  public Rule permit(Function<ActRequest, Permission> permit) {
    acts.put("permit", permit);
    return this;
  }

  /** Serves PreBind: {@code preBind} does what has to be done before the binding. */
  public Rule preBind(Function<ActRequest, Rejection> preBind) {
    acts.put("preBind", pod -> Permission.deniedBy(preBind.apply(pod)));
    return this;
  }

  /** Serves PostBind: {@code postBind} is called after the binding. */
  public Rule postBind(Consumer<ActRequest> postBind) {
    return silent("postBind", postBind);
  }

  /** Measures: {@code measure} gets a name, and returns the values by node. */
  public Rule measure(Function<String, Map<String, Long>> measure) {
    this.measure = measure;
    return this;
  }

  private Rule silent(String point, Consumer<ActRequest> act) {
    acts.put(
        point,
        pod -> {
          act.accept(pod);
          return Permission.GRANTED;
        });
    return this;
  }

  List<String> points() {
    return List.of("filter", "score", "reserve", "permit", "preBind", "postBind").stream()
        .filter(
            point ->
                switch (point) {
                  case "filter" -> filter != null;
                  case "score" -> score != null;
                  default -> acts.containsKey(point);
                })
        .toList();
  }

  Permission act(ActRequest request) {
    return acts.getOrDefault(request.getPoint(), pod -> Permission.GRANTED).apply(request);
  }
}
