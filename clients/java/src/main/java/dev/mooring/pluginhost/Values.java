package dev.mooring.pluginhost;

import dev.mooring.plugin_host.v1.Column;
import dev.mooring.plugin_host.v1.PodValue;
import java.util.List;
import java.util.Map;

/** The values of a pod, or of nodes with one combination of values, by the names under which they were declared. */
public final class Values {
  private interface Source {
    /** A String, a Long, or null. */
    Object value(int column);
  }

  private final List<String> names;
  private final Source source;

  private Values(List<String> names, Source source) {
    this.names = names;
    this.source = source;
  }

  /** Returns values for tests: each is a String, an Integer, a Long, or null. */
  public static Values of(Map<String, ?> values) {
    var names = List.copyOf(values.keySet());
    return new Values(
        names,
        column -> {
          Object value = values.get(names.get(column));
          return value instanceof Integer number ? Long.valueOf(number) : value;
        });
  }

  static Values ofPod(List<String> names, List<PodValue> values) {
    return new Values(
        names,
        column -> {
          var value = values.get(column);
          return switch (value.getValueCase()) {
            case TEXT -> value.getText();
            case NUMBER -> value.getNumber();
            case VALUE_NOT_SET -> null;
          };
        });
  }

  static Values ofNode(List<String> names, List<Column> columns, int at) {
    return new Values(
        names,
        index -> {
          var column = columns.get(index);
          if (column.getTextsCount() > 0) {
            var number = column.getTexts(at);
            return number == 0 ? null : column.getDictionary(number - 1);
          }
          var absent = column.getAbsent();
          return !absent.isEmpty() && absent.byteAt(at) == 1 ? null : (Object) column.getNumbers(at);
        });
  }

  /**
   * Returns a text; "" without one.
   *
   * @throws IllegalArgumentException the name was not declared
   */
  public String text(String name) {
    return value(name) instanceof String text ? text : "";
  }

  /**
   * Returns a number; 0 without one.
   *
   * @throws IllegalArgumentException the name was not declared
   */
  public long number(String name) {
    return value(name) instanceof Long number ? number : 0;
  }

  /**
   * Returns whether there is a value.
   *
   * @throws IllegalArgumentException the name was not declared
   */
  public boolean has(String name) {
    return value(name) != null;
  }

  private Object value(String name) {
    var column = names.indexOf(name);
    if (column < 0) {
      throw new IllegalArgumentException(name + " is not declared");
    }
    return source.value(column);
  }
}
