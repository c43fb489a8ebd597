package dev.mooring.client;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** The pauses between repeats, each up to twice as long as the one before. */
final class Pauses {
  private static final long FIRST = TimeUnit.MILLISECONDS.toNanos(50);
  private static final long LONGEST = TimeUnit.SECONDS.toNanos(1);

  private final long until;
  private long longest = FIRST;

  /** Pauses until a time of {@link System#nanoTime}. */
  Pauses(long until) {
    this.until = until;
  }

  /** Begins with a short one again. */
  void reset() {
    longest = FIRST;
  }

  /** Pauses. Returns false at once if that would end after the deadline. */
  boolean next() {
    var pause = longest / 2 + ThreadLocalRandom.current().nextLong(longest / 2 + 1);
    longest = Math.min(2 * longest, LONGEST);
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
}
