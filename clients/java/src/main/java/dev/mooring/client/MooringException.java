package dev.mooring.client;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.mooring.v1.CallError;
import dev.mooring.v1.ErrorReason;
import dev.mooring.v1.FieldViolation;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

/** A call that could not be answered. That no node is feasible is an answer, and never an exception. */
public final class MooringException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final Status.Code code;
  private final CallError error;
  private final boolean repeatable;

  private MooringException(String message, Throwable cause, Status.Code code, CallError error, boolean repeatable) {
    super(message, cause);
    this.code = code;
    this.error = error;
    this.repeatable = repeatable;
  }

  static MooringException of(StatusRuntimeException failed) {
    var error = CallError.getDefaultInstance();
    try {
      for (var detail : StatusProto.fromThrowable(failed).getDetailsList()) {
        if (detail.is(CallError.class)) {
          error = detail.unpack(CallError.class);
        }
      }
    } catch (InvalidProtocolBufferException | IllegalArgumentException broken) {
      failed.addSuppressed(broken);
    }
    var status = failed.getStatus();
    var code = broke(status) ? Status.Code.UNAVAILABLE : status.getCode();
    return new MooringException(messageOf(status), failed, code, error, false);
  }

  /** Whether the connection broke during the call: netty's transport calls that UNKNOWN, with the channel's exception. */
  private static boolean broke(Status status) {
    return status.getCode() == Status.Code.UNKNOWN && causes(status).anyMatch(IOException.class::isInstance);
  }

  /** What the server says, or what the library does, with the deepest cause, such as that of a handshake. */
  private static String messageOf(Status status) {
    var told = status.getDescription() == null ? status.getCode().name() : status.getDescription();
    return causes(status)
        .reduce((outer, inner) -> inner)
        .map(cause -> told.lines().findFirst().orElse("") + ": " + cause)
        .orElse(told);
  }

  private static Stream<Throwable> causes(Status status) {
    return Stream.iterate(status.getCause(), Objects::nonNull, Throwable::getCause);
  }

  /** An answer that is not what the contract says. */
  static MooringException broken(String message) {
    return new MooringException(message, null, Status.Code.INTERNAL, CallError.getDefaultInstance(), false);
  }

  /** The failure of a call whose answer has indices that can't be translated. */
  static MooringException otherEpoch() {
    var stale = CallError.newBuilder().setReason(ErrorReason.ERROR_REASON_NODE_EPOCH_STALE).build();
    var message = "the nodes of the answer are not those that the server lists";
    return new MooringException(message, null, Status.Code.FAILED_PRECONDITION, stale, false);
  }

  static MooringException cancelled(InterruptedException cause) {
    return new MooringException(
        "the thread was interrupted", cause, Status.Code.CANCELLED, CallError.getDefaultInstance(), false);
  }

  /** The same, for a call that was repeated until its time was over. */
  MooringException repeated() {
    return new MooringException(getMessage(), getCause(), code, error, true);
  }

  /** Whether the time was over before the server could answer. */
  boolean endedByTime() {
    return code == Status.Code.DEADLINE_EXCEEDED && reason() == ErrorReason.ERROR_REASON_UNSPECIFIED;
  }

  /** gRPC's code. */
  public Status.Code code() {
    return code;
  }

  /**
   * The server's reason. {@code ERROR_REASON_UNSPECIFIED} if the call failed before it could tell one, {@code UNRECOGNIZED} for
   * one of a later server, of which {@link #reasonNumber} has the number.
   */
  public ErrorReason reason() {
    return error.getReason();
  }

  /** The number of the server's reason. */
  public int reasonNumber() {
    return error.getReasonValue();
  }

  /** What is known or current, by the keys that {@link ErrorReason} names. */
  public Map<String, String> metadata() {
    return error.getMetadataMap();
  }

  /** The fields of the request that are wrong. */
  public List<FieldViolation> violations() {
    return error.getFieldViolationsList();
  }

  /** Whether the same call may succeed in a moment and can do no harm: only the time ended the repeats. */
  public boolean repeatable() {
    return repeatable;
  }
}
