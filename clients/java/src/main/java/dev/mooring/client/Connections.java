package dev.mooring.client;

import com.google.protobuf.Message;
import dev.mooring.v1.ErrorReason;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Function;

/** The connections to the target and to the leader, and the rule by which calls are repeated. Safe for concurrent use. */
final class Connections implements AutoCloseable {
  private final Function<String, ManagedChannel> connect;
  private final ManagedChannel own;
  // Connections to leaders stay open: other threads may be calling there.
  private final Map<String, ManagedChannel> leaders = new ConcurrentHashMap<>();
  private volatile ManagedChannel leader;

  Connections(String target, Function<String, ManagedChannel> connect) {
    this.connect = connect;
    this.own = connect.apply(target);
  }

  ManagedChannel own() {
    return own;
  }

  /** Calls until there is an answer, or a failure for good, or the time would be over with the next pause. */
  <Q, A> A call(MethodDescriptor<Q, A> method, Q request, long until) {
    return repeated(
        method, request, until, (channel, options) -> ClientCalls.blockingUnaryCall(channel, method, options, request));
  }

  /** The same for an answer in parts, which are merged. */
  <Q, P, A extends Message> A call(MethodDescriptor<Q, P> method, Q request, Function<P, A> part, A empty, long until) {
    return repeated(
        method,
        request,
        until,
        (channel, options) -> {
          var whole = empty.toBuilder();
          ClientCalls.blockingServerStreamingCall(channel, method, options, request)
              .forEachRemaining(each -> whole.mergeFrom(part.apply(each)));
          @SuppressWarnings("unchecked") // The builder is that of an A.
          var merged = (A) whole.build();
          return merged;
        });
  }

  private <Q, A> A repeated(
      MethodDescriptor<Q, ?> method, Q request, long until, BiFunction<Channel, CallOptions, A> attempt) {
    var pauses = new Pauses(until);
    MooringException earlier = null;
    while (true) {
      var leading = leader;
      var channel = leading != null && Rule.commits(request) ? leading : own;
      try {
        var options = CallOptions.DEFAULT.withDeadlineAfter(until - System.nanoTime(), TimeUnit.NANOSECONDS);
        return attempt.apply(channel, options);
      } catch (StatusRuntimeException status) {
        var failed = MooringException.of(status);
        if (earlier != null && failed.endedByTime() && Rule.isIdempotent(method)) {
          throw earlier.repeated(); // It says more than that the time is over.
        }
        if (failed.code() == Status.Code.CANCELLED && Context.current().isCancelled()) {
          throw failed; // The caller has cancelled it.
        }
        earlier = failed;
        switch (Rule.of(failed)) {
          case NEVER -> throw failed;
          case IDEMPOTENT -> {
            if (!Rule.isIdempotent(method)) {
              throw failed;
            }
          }
          case AT_LEADER -> follow(failed.metadata().getOrDefault("leader_address", ""));
          default -> {}
        }
        if (failed.reason() == ErrorReason.ERROR_REASON_UNSPECIFIED && channel == leading) {
          leader = null; // Another replica may lead by now, and the target may know.
        }
        if (!pauses.next()) {
          throw failed.repeated();
        }
        channel.resetConnectBackoff(); // The library's own is up to two minutes.
      }
    }
  }

  private void follow(String address) {
    leader = address.isEmpty() ? null : leaders.computeIfAbsent(address, connect);
  }

  /** Ends the connections. Calls that are under way fail. */
  @Override
  public void close() {
    own.shutdownNow();
    leaders.values().forEach(ManagedChannel::shutdownNow);
  }
}
