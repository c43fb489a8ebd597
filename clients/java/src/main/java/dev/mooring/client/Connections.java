package dev.mooring.client;

import dev.mooring.v1.ErrorReason;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** The connections to the target and to the leader, and the rule by which calls are repeated. Safe for concurrent use. */
final class Connections implements AutoCloseable {
  private static final long FIRST_PAUSE = TimeUnit.MILLISECONDS.toNanos(50);
  private static final long LONGEST_PAUSE = TimeUnit.SECONDS.toNanos(1);

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
    for (var pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      var leading = leader;
      var channel = leading != null && Rule.commits(request) ? leading : own;
      try {
        var options = CallOptions.DEFAULT.withDeadlineAfter(until - System.nanoTime(), TimeUnit.NANOSECONDS);
        return ClientCalls.blockingUnaryCall(channel, method, options, request);
      } catch (StatusRuntimeException status) {
        var failed = MooringException.of(status);
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
        if (!pause(pause, until)) {
          throw failed.repeated();
        }
        channel.resetConnectBackoff(); // The library's own is up to two minutes.
      }
    }
  }

  /** Pauses for half of the time or more. Returns false at once if that would end after the deadline. */
  static boolean pause(long longest, long until) {
    var pause = longest / 2 + ThreadLocalRandom.current().nextLong(longest / 2 + 1);
    if (until - System.nanoTime() <= pause) {
      return false;
    }
    try {
      TimeUnit.NANOSECONDS.sleep(pause);
      return true;
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw MooringException.cancelled(interrupted);
    }
  }

  private void follow(String address) {
    leader = address.isEmpty() ? null : leaders.computeIfAbsent(address, connect);
  }

  /** Waits a moment for calls that are under way, then ends them. */
  @Override
  public void close() {
    own.shutdownNow();
    leaders.values().forEach(ManagedChannel::shutdownNow);
  }
}
