/** Node names without what they all end in. */

/** Returns the longest ending that all names share, from a dot on: ".eu-west-1.compute.internal"; "" if they share none. */
export function commonSuffix(names: readonly string[]): string {
  let suffix = names.length > 1 ? names[0]! : "";
  for (const name of names) {
    while (!name.endsWith(suffix) || name === suffix) {
      const dot = suffix.indexOf(".", 1);
      if (dot < 0) return "";
      suffix = suffix.slice(dot);
    }
  }
  return suffix;
}
