/** Where the page is: a path and a query, both in the URL's hash, so that one document serves under any prefix. */

export interface Route {
  /** The parts of the path, decoded: "#/pods/prod/web-1" has pods, prod, web-1. */
  path: string[];
  query: URLSearchParams;
}

/** Returns the route that a hash such as "#/decisions?plugin=NodeAffinity" stands for. */
export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { path: path.split("/").filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

/** Returns the hash of a route; parameters that are empty are left out. The process that is looked at stays the same. */
export function link(path: readonly (string | number)[], query: Record<string, string | undefined> = {}): string {
  const process = parseRoute(location.hash).query.get("process") ?? undefined;
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries({ process, ...query })) if (value) parameters.set(name, value);
  const text = parameters.toString();
  return `#/${path.map((part) => encodeURIComponent(part)).join("/")}${text && `?${text}`}`;
}

/** Changes parameters of the current route in place, without a step in the browser's history. */
export function refine(query: Record<string, string | undefined>): void {
  const { path, query: present } = parseRoute(location.hash);
  const next = link(path, { ...Object.fromEntries(present), ...query });
  history.replaceState(null, "", next);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
