package dev.mooring.client;

import java.util.List;
import java.util.Optional;

/**
 * A question about one pod and some nodes. It changes nothing.
 *
 * @param pod the pod
 * @param among the names of the nodes; absent = all
 * @param session the id of the session that is asked; "" = the live cluster
 * @param profile "" = the one that the pod's schedulerName names, or the only one
 * @param inParts whether the answer comes in messages of some megabytes, so that all of it may be larger than a message may be
 */
public record Question(Pod pod, Optional<List<String>> among, String session, String profile, boolean inParts) {
  /** A question about all nodes of the live cluster. */
  public static Question about(Pod pod) {
    return new Question(pod, Optional.empty(), "", "", false);
  }

  /** The same about nodes of these names. */
  public Question among(List<String> names) {
    return new Question(pod, Optional.of(List.copyOf(names)), session, profile, inParts);
  }

  /** The same in a session. */
  public Question in(OpenSession session) {
    return new Question(pod, among, session.id(), profile, inParts);
  }

  /** The same with a profile. */
  public Question withProfile(String profile) {
    return new Question(pod, among, session, profile, inParts);
  }

  /** The same with an answer in parts: for many nodes, or a client that takes small messages only. */
  public Question answeredInParts() {
    return new Question(pod, among, session, profile, true);
  }
}
