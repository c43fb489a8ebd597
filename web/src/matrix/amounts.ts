/** Numbers and quantities as people read them. */

const COUNT = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi"] as const;

/** Returns the number with its thousands apart. */
export function amount(value: number): string {
  return COUNT.format(value);
}

/** Returns "1 node", "2 nodes". */
export function counted(value: number, noun: string): string {
  return `${amount(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** Returns how much of a resource that is; the contract has CPU in thousandths, memory and storage in bytes. */
export function quantity(resource: string, value: number): string {
  if (resource === "cpu") return amount(value / 1000);
  return isBytes(resource) ? bytes(value) : amount(value);
}

const FACTORS: Record<string, number> = {
  ...{ n: 1e-9, u: 1e-6, m: 1e-3, "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 },
};

/** Returns a manifest's quantity, such as "7910m" or "32Gi", as the contract counts it: CPU in thousandths, the rest in units. */
export function parseQuantity(resource: string, text: string): number {
  const [, digits = "", unit = ""] = /^([-+.\deE]*\d)([a-zA-Z]*)$/.exec(text) ?? [];
  return Number(digits) * (FACTORS[unit] ?? Number.NaN) * (resource === "cpu" ? 1000 : 1);
}

function isBytes(resource: string): boolean {
  return /^(memory|ephemeral-storage|hugepages-)/.test(resource);
}

function bytes(value: number): string {
  const step = Math.min(BINARY.length - 1, Math.max(0, Math.floor(Math.log2(Math.abs(value) || 1) / 10)));
  return `${amount(value / 1024 ** step)}${BINARY[step]}`;
}

/** Returns "850 µs", "1.2 ms", "3 s" of a protobuf duration such as "0.00085s". */
export function duration(text: string | undefined): string {
  return text === undefined ? "" : seconds(parseFloat(text));
}

/** Returns so many seconds in the unit that suits them. */
export function seconds(value: number): string {
  if (value < 1e-3) return `${amount(Math.round(value * 1e6))} µs`;
  if (value < 1) return `${amount(value * 1e3)} ms`;
  if (value < 120) return `${amount(Math.round(value * 10) / 10)} s`;
  if (value < 7200) return `${amount(Math.floor(value / 60))} min`;
  if (value < 172_800) return `${amount(Math.floor(value / 3600))} h`;
  return `${amount(Math.floor(value / 86_400))} d`;
}

/** Returns how long ago that was, such as "3 min", or "" without a time. */
export function age(time: string | undefined, now: number = Date.now()): string {
  if (!time) return "";
  const passed = (now - Date.parse(time)) / 1000;
  return passed < 1 ? "now" : seconds(Math.floor(passed));
}
