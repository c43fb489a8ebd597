package dev.mooring.pluginhost;

import java.time.Duration;

/**
 * The answer at Permit.
 *
 * @param denied why the pod is rejected; null if it is not
 * @param time how long it may wait; null if it goes on
 */
public record Permission(Rejection denied, Duration time) {
  /** The pod goes on. */
  public static final Permission GRANTED = new Permission(null, null);

  /** Returns that the pod waits for so long at most. */
  public static Permission waiting(Duration time) {
    return new Permission(null, time);
  }

  /** Returns that the pod is rejected; null lets it go on. */
  public static Permission deniedBy(Rejection rejection) {
    return rejection == null ? GRANTED : new Permission(rejection, null);
  }
}
