package dev.mooring.client;

import io.grpc.CallOptions;
import io.grpc.Context;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * What a server sends as it happens. {@link #hasNext} waits; it goes on after failures that pass, and throws a
 * {@link MooringException} for others. For one thread; {@link #close} may be called by any, and ends the wait.
 */
public final class Watch<T> implements Iterator<T>, AutoCloseable {
  private final Context.CancellableContext context = Context.current().withCancellation();
  private final Supplier<Optional<T>> source;
  private T next;

  <Q, A> Watch(
      Connections connections, MethodDescriptor<Q, A> method, Supplier<Q> request, Function<A, Optional<T>> read) {
    source =
        new Supplier<>() {
          private final Pauses pauses = new Pauses(System.nanoTime() + TimeUnit.DAYS.toNanos(36_500));
          private Iterator<A> stream;

          /** One answer, or nothing: the watch goes on. */
          @Override
          public Optional<T> get() {
            try {
              if (stream == null) {
                connections.own().resetConnectBackoff();
                stream =
                    ClientCalls.blockingServerStreamingCall(
                        connections.own(), method, CallOptions.DEFAULT, request.get());
              }
              if (stream.hasNext()) {
                pauses.reset();
                return read.apply(stream.next());
              }
            } catch (StatusRuntimeException status) {
              var failed = MooringException.of(status);
              if (context.isCancelled() || Rule.of(failed) == Rule.NEVER) {
                throw failed;
              }
            }
            stream = null; // Streams end after some minutes.
            pauses.next();
            return Optional.empty();
          }
        };
  }

  @Override
  public boolean hasNext() {
    var outer = context.attach();
    try {
      while (next == null) {
        next = source.get().orElse(null);
      }
      return true;
    } finally {
      context.detach(outer);
    }
  }

  @Override
  public T next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    var taken = next;
    next = null;
    return taken;
  }

  /** Ends the stream. A thread that waits gets a MooringException with CANCELLED. */
  @Override
  public void close() {
    context.cancel(null);
  }
}
