package dev.mooring.client;

import com.google.protobuf.ByteString;
import dev.mooring.v1.ChangeSessionRequest;
import dev.mooring.v1.CloseSessionRequest;
import dev.mooring.v1.CommitSessionRequest;
import dev.mooring.v1.KubernetesObject;
import dev.mooring.v1.MarkSessionRequest;
import dev.mooring.v1.PutObjects;
import dev.mooring.v1.RemoveObject;
import dev.mooring.v1.RevertSessionRequest;
import dev.mooring.v1.Session;
import dev.mooring.v1.SessionChange;
import dev.mooring.v1.SimulationServiceGrpc;

/**
 * A private version of the cluster, in which everything can be tried and taken back. {@link Batch} and {@link Question} take it;
 * with COMMIT_MODE_RESERVE a batch places pods in it. What would fit, which nodes could go, and what would help, are calls of
 * {@code SimulationService}, which take its {@link #id}: see {@link MooringClient#call}.
 */
public final class OpenSession implements AutoCloseable {
  private final MooringClient client;
  private final String id;

  OpenSession(MooringClient client, String id) {
    this.client = client;
    this.id = id;
  }

  /** Its id. */
  public String id() {
    return id;
  }

  /** A change that adds objects as JSON, of any kinds, or replaces those of the same name; pods by UID. */
  public static SessionChange put(String... manifests) {
    var put = PutObjects.newBuilder();
    for (var manifest : manifests) {
      put.addObjects(KubernetesObject.newBuilder().setJson(ByteString.copyFromUtf8(manifest)));
    }
    return SessionChange.newBuilder().setPut(put).build();
  }

  /** A change that removes an object that is there. Nodes have the namespace "". */
  public static SessionChange remove(String kind, String namespace, String name) {
    var object = RemoveObject.newBuilder().setKind(kind).setNamespace(namespace).setName(name);
    return SessionChange.newBuilder().setRemove(object).build();
  }

  /** Makes all changes in order, or none. */
  public Session change(SessionChange... changes) {
    var request = ChangeSessionRequest.newBuilder().setSession(id);
    for (var each : changes) {
      request.addChanges(each);
    }
    return client.call(SimulationServiceGrpc.getChangeSessionMethod(), request.build()).getSession();
  }

  /** Remembers what the session is now. Marks nest. */
  public int mark() {
    var request = MarkSessionRequest.newBuilder().setSession(id).build();
    return client.call(SimulationServiceGrpc.getMarkSessionMethod(), request).getMark();
  }

  /** Undoes what was done since a mark; mark 0 is the session's beginning. */
  public Session revert(int mark) {
    var request = RevertSessionRequest.newBuilder().setSession(id).setMark(mark).build();
    return client.call(SimulationServiceGrpc.getRevertSessionMethod(), request).getSession();
  }

  /** Forgets a mark and those after it: what was done since stays. */
  public Session commit(int mark) {
    var request = CommitSessionRequest.newBuilder().setSession(id).setMark(mark).build();
    return client.call(SimulationServiceGrpc.getCommitSessionMethod(), request).getSession();
  }

  /** Ends the session. Sessions that were opened from it go on. */
  @Override
  public void close() {
    client.call(SimulationServiceGrpc.getCloseSessionMethod(), CloseSessionRequest.newBuilder().setSession(id).build());
  }
}
