package dev.mooring.client;

import com.google.protobuf.DescriptorProtos.MethodOptions.IdempotencyLevel;
import dev.mooring.v1.BindRequest;
import dev.mooring.v1.CommitMode;
import dev.mooring.v1.ListReservationsRequest;
import dev.mooring.v1.ReserveRequest;
import dev.mooring.v1.ScheduleGroupsRequest;
import dev.mooring.v1.ScheduleRequest;
import dev.mooring.v1.UnreserveManyRequest;
import dev.mooring.v1.UnreserveRequest;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.protobuf.ProtoMethodDescriptorSupplier;

/** When a call that failed is made again. */
enum Rule {
  NEVER,
  /** The server did nothing. */
  ALWAYS,
  /** If the call may be made twice. */
  IDEMPOTENT,
  /** At the address of the leader. */
  AT_LEADER;

  /** By reason first. Without one the call may have been answered, and only a lost connection or stream passes. */
  static Rule of(MooringException failed) {
    return switch (failed.reason()) {
      case ERROR_REASON_UNSPECIFIED -> failed.code() == Status.Code.UNAVAILABLE || isReset(failed) ? IDEMPOTENT : NEVER;
      case ERROR_REASON_NOT_SYNCED,
          ERROR_REASON_OVERLOADED,
          ERROR_REASON_STATE_STALE,
          ERROR_REASON_WORKERS_ABANDONED,
          ERROR_REASON_AUDIT_UNWRITABLE -> ALWAYS;
      case ERROR_REASON_API_SERVER_UNAVAILABLE,
          ERROR_REASON_DRAINING,
          ERROR_REASON_OBJECT_CHANGED,
          ERROR_REASON_PLUGIN_UNAVAILABLE ->
          IDEMPOTENT;
      case ERROR_REASON_NOT_LEADER -> AT_LEADER;
      default -> NEVER;
    };
  }

  /** Whether a proxy, or a server that ends, has reset the stream: RST_STREAM with CANCEL or INTERNAL_ERROR. */
  private static boolean isReset(MooringException failed) {
    return failed.code() == Status.Code.CANCELLED
        || failed.code() == Status.Code.INTERNAL && failed.getMessage().contains("RST_STREAM");
  }

  /** Whether calls of a method may be made twice, as the contract says. */
  static boolean isIdempotent(MethodDescriptor<?, ?> method) {
    return method.getSchemaDescriptor() instanceof ProtoMethodDescriptorSupplier described
        && described.getMethodDescriptor().getOptions().getIdempotencyLevel() != IdempotencyLevel.IDEMPOTENCY_UNKNOWN;
  }

  /** Whether the leader alone makes such a call, or knows the answer. */
  static boolean commits(Object request) {
    if (request instanceof ScheduleRequest schedule) {
      return schedule.getSession().isEmpty() && commits(schedule.getCommitMode());
    }
    if (request instanceof ScheduleGroupsRequest schedule) {
      return schedule.getSession().isEmpty() && commits(schedule.getCommitMode());
    }
    return request instanceof BindRequest
        || request instanceof ListReservationsRequest
        || request instanceof ReserveRequest
        || request instanceof UnreserveRequest
        || request instanceof UnreserveManyRequest;
  }

  private static boolean commits(CommitMode mode) {
    return mode == CommitMode.COMMIT_MODE_RESERVE || mode == CommitMode.COMMIT_MODE_BIND;
  }
}
