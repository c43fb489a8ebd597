package dev.mooring.client;

import com.google.protobuf.ByteString;
import dev.mooring.v1.KubernetesObject;
import dev.mooring.v1.PodReference;
import dev.mooring.v1.PodSource;

/** The pod that a call is about: a whole one, or one that the server knows. */
public final class Pod {
  private final PodSource source;

  private Pod(PodSource source) {
    this.source = source;
  }

  /** A pod as JSON, as the API server writes it. */
  public static Pod json(String manifest) {
    return json(ByteString.copyFromUtf8(manifest));
  }

  /** A pod as JSON in UTF-8. */
  public static Pod json(ByteString manifest) {
    return object(KubernetesObject.newBuilder().setJson(manifest).build());
  }

  /** A pod as protobuf, with the API server's envelope or without it. */
  public static Pod protobuf(ByteString encoded) {
    return object(KubernetesObject.newBuilder().setProtobuf(encoded).build());
  }

  /** A pod that the server knows. The UID may be empty for a question; a commit needs it. */
  public static Pod known(String namespace, String name, String uid) {
    return new Pod(PodSource.newBuilder().setReference(reference(namespace, name, uid)).build());
  }

  /** A reference to a pod, as calls that commit take it. */
  public static PodReference reference(String namespace, String name, String uid) {
    return PodReference.newBuilder().setNamespace(namespace).setName(name).setUid(uid).build();
  }

  private static Pod object(KubernetesObject object) {
    return new Pod(PodSource.newBuilder().setObject(object).build());
  }

  PodSource source() {
    return source;
  }
}
