/** In what two configurations differ: JSON documents of profiles, field by field. */

export interface ConfigurationDifference {
  /** Such as "plugins.score.enabled[NodeResourcesFit].weight". */
  path: string;
  /** As JSON; undefined where it is absent. */
  before: string | undefined;
  after: string | undefined;
}

type Value = unknown;

/** Returns the differences in the order of the documents. Entries of lists are told apart by their names where they have some. */
export function configurationDifferences(before: Value, after: Value, path = ""): ConfigurationDifference[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const [one, other] = [entries(before), entries(after)];
  if (!one || !other) return [{ path, before: text(before), after: text(after) }];
  const keys = [...new Set([...one.keys(), ...other.keys()])];
  const found = keys.flatMap((key) => configurationDifferences(one.get(key), other.get(key), key.startsWith("[") || !path ? path + key : `${path}.${key}`));
  // The same entries in another order.
  return found.length ? found : [{ path: `${path} (order)`, before: [...one.keys()].join(" "), after: [...other.keys()].join(" ") }];
}

/** Returns what a document or a list consists of, by key; undefined for anything else. */
function entries(value: Value): Map<string, Value> | undefined {
  if (Array.isArray(value)) {
    return new Map(value.map((entry: Value, at): [string, Value] => [`[${nameOf(entry) ?? at}]`, entry]));
  }
  return value !== null && typeof value === "object" ? new Map(Object.entries(value)) : undefined;
}

function nameOf(entry: Value): string | undefined {
  if (entry === null || typeof entry !== "object") return undefined;
  const { name, schedulerName } = entry as { name?: string; schedulerName?: string };
  return name ?? schedulerName;
}

function text(value: Value): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
}
