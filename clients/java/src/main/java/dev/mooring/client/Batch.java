package dev.mooring.client;

import dev.mooring.v1.CommitMode;
import dev.mooring.v1.PodColumns;
import dev.mooring.v1.PodTemplate;
import dev.mooring.v1.ScheduleRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Pods to be placed in one call, in order: each sees the earlier ones on their nodes.
 *
 * @param pods the pods
 * @param mode what to do with the selected nodes
 * @param among the names of the nodes to choose from; absent = all
 * @param session the id of a session in which the pods are placed; "" = the live cluster
 * @param profile "" = the one that the pods' schedulerName names, or the only one
 * @param seed decides between nodes of equal totals
 */
public record Batch(
    List<Pods> pods, CommitMode mode, Optional<List<String>> among, String session, String profile, long seed) {
  public Batch {
    pods = List.copyOf(pods);
  }

  /** A dry run of pods, among all nodes of the live cluster. */
  public static Batch of(Pods... pods) {
    return new Batch(List.of(pods), CommitMode.COMMIT_MODE_DRY_RUN, Optional.empty(), "", "", 0);
  }

  /** The same with another mode. */
  public Batch withMode(CommitMode mode) {
    return new Batch(pods, mode, among, session, profile, seed);
  }

  /** The same among nodes of these names. */
  public Batch among(List<String> names) {
    return new Batch(pods, mode, Optional.of(List.copyOf(names)), session, profile, seed);
  }

  /** The same in a session. */
  public Batch in(OpenSession session) {
    return new Batch(pods, mode, among, session.id(), profile, seed);
  }

  /** The same with a profile. */
  public Batch withProfile(String profile) {
    return new Batch(pods, mode, among, session, profile, seed);
  }

  /** The same with another seed. */
  public Batch withSeed(long seed) {
    return new Batch(pods, mode, among, session, profile, seed);
  }

  /** Puts templates and columns into a request. */
  ScheduleRequest.Builder request() {
    var request =
        ScheduleRequest.newBuilder().setCommitMode(mode).setSession(session).setProfile(profile).setSeed(seed);
    var columns = PodColumns.newBuilder();
    var several = pods.stream().anyMatch(each -> !each.uids().isEmpty());
    var named = pods.stream().anyMatch(each -> !each.names().isEmpty());
    for (var each : pods) {
      var count = each.uids().size();
      if (several && count == 0) {
        throw new IllegalArgumentException("a group has no UIDs, but others have");
      }
      if (named && each.names().size() != count) {
        throw new IllegalArgumentException("a group has " + each.names().size() + " names for " + count + " UIDs");
      }
      for (var i = 0; i < count; i++) {
        columns.addTemplateIndices(request.getTemplatesCount());
      }
      columns.addAllUids(each.uids()).addAllNames(each.names());
      request.addTemplates(PodTemplate.newBuilder().setPod(each.template().source()));
    }
    return several ? request.setPods(columns) : request;
  }

  /** The UIDs in order, "" for a pod that has its template's. */
  List<String> uids() {
    var uids = new ArrayList<String>();
    for (var each : pods) {
      uids.addAll(each.uids().isEmpty() ? List.of("") : each.uids());
    }
    return uids;
  }
}
