package dev.mooring.client;

import java.util.List;

/**
 * Pods that are alike.
 *
 * @param template one of them; it is sent and decoded once for all
 * @param uids theirs, all distinct; none, in all groups of a batch, is one pod of each template
 * @param names theirs, one for each UID; none is the template's for all
 */
public record Pods(Pod template, List<String> uids, List<String> names) {
  public Pods {
    uids = List.copyOf(uids);
    names = List.copyOf(names);
  }

  /** One pod. */
  public static Pods of(Pod pod) {
    return new Pods(pod, List.of(), List.of());
  }

  /** Pods of one name, such as those that get theirs later. */
  public static Pods of(Pod template, List<String> uids) {
    return new Pods(template, uids, List.of());
  }
}
