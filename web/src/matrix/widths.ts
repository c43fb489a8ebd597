/** Widths of a table's columns. */

/** No column becomes wider than this for the sake of its content. */
const MOST_PIXELS = 480;
/** What a column that takes the remaining room is left at least, if its content has so much. */
const MOST_FLEXIBLE_PIXELS = 900;

/**
 * Returns the widths in pixels of columns that become wider or narrower than they are declared, undefined for the others. Those whose
 * content is cut get what others don't need: the flexible ones, which take the remaining room, and then all that are wider than
 * their content.
 */
export function fitted(
  available: number,
  declared: readonly number[],
  wanted: readonly number[],
  flexible: readonly boolean[],
): (number | undefined)[] {
  const need = (index: number) => Math.min(flexible[index] ? MOST_FLEXIBLE_PIXELS : MOST_PIXELS, wanted[index] ?? 0);
  const widths: (number | undefined)[] = declared.map(() => undefined);
  const fixed = declared.flatMap((_, index) => (flexible[index] ? [] : [index]));
  let room = available;
  declared.forEach((width, index) => (room -= flexible[index] ? need(index) : width));
  const short = fixed.filter((index) => need(index) > declared[index]!);
  const missing = short.reduce((sum, index) => sum + need(index) - declared[index]!, 0);
  for (const index of fixed) {
    // What is missing comes from columns that are wider than their content.
    const spare = need(index) ? declared[index]! - need(index) : 0;
    const taken = Math.min(spare, missing - room);
    if (taken <= 0) continue;
    widths[index] = declared[index]! - taken;
    room += taken;
  }
  for (const index of short) {
    const more = Math.min(need(index) - declared[index]!, room);
    if (more <= 0) continue;
    widths[index] = declared[index]! + more;
    room -= more;
  }
  return widths;
}
