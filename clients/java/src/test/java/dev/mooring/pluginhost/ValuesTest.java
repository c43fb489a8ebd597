package dev.mooring.pluginhost;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The values that a rule gets. */
class ValuesTest {
  @Test
  void valuesAreTextsNumbersOrAbsent() {
    Map<String, Object> written = new HashMap<>(Map.of("metadata.name", "n1", "requested[cpu]", 5));
    written.put("metadata.labels[rack]", null);
    var node = Values.of(written);
    assertEquals("n1", node.text("metadata.name"));
    assertEquals(5, node.number("requested[cpu]"));
    assertFalse(node.has("metadata.labels[rack]"));
    assertEquals("", node.text("metadata.labels[rack]"));
  }

  @Test
  void aValueThatWasNotDeclaredIsAFault() {
    var none = Values.of(Map.of());
    assertThrows(IllegalArgumentException.class, () -> none.text("metadata.name"));
  }
}
