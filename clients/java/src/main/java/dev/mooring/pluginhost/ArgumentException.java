package dev.mooring.pluginhost;

/** An argument is wrong. */
public final class ArgumentException extends IllegalArgumentException {
  private static final long serialVersionUID = 1;
  private final String field;

  /**
   * Returns the error about an argument.
   *
   * @param field its path
   * @param message what is wrong with it, and what would be right
   */
  public ArgumentException(String field, String message) {
    super(message);
    this.field = field;
  }

  /** The argument's path. */
  public String field() {
    return field;
  }
}
