// Serves the rules of tests/plugin_hosts/rules.py, as a host in TypeScript: rules.js unix:PATH
import { Normalizer, type Plugin, type Rejection, type Rule, serve, type Values } from "../src/plugin_host.js";

const ZONE = "topology.kubernetes.io/zone";
const GPU = "metadata.labels[gpu]";
const OF_ZONE = `metadata.labels[${ZONE}]`;
const APP = "metadata.labels[app]";
const IN_ZONE = `counted[app by ${ZONE}]`;
const USES = "metadata.labels[version]";
const WEIGHT = "metadata.labels[weight]";
const ON_HOST = "counted[version by kubernetes.io/hostname]";
const LOAD = "measured[load]";
const OFFERED = "allocatable[memory]";
const REQUESTED = "requested[memory]";

const maintained = (no: Rejection) => (_: Values, node: Values) => node.text(GPU) ? no : undefined;

const whole = (text: string) => /^-?[0-9]+$/.test(text) ? Number(text) : 0;
const left = (node: Values) => (node.has(WEIGHT) ? whole(node.text(WEIGHT)) : 2) - node.number(ON_HOST);

function underlay(pod: Values, node: Values): Rejection | undefined {
  if (!pod.has(USES) || pod.text("spec.hostNetwork") === "true") return undefined;
  if (node.has(GPU)) return { reason: "node(s) were masters", unresolvable: true };
  return left(node) > 0 ? undefined : { reason: "no free underlay IP" };
}

function requests(pod: Values, node: Values): Rejection | undefined {
  const priority = pod.number("spec.priority");
  if (node.text("spec.taints") !== "[]" && !priority) return { reason: "tainted" };
  return node.text("metadata.name").endsWith("3") && priority > 5 ? { reason: "odd", unresolvable: true } : undefined;
}

const plugin = (name: string, declared: Omit<Plugin, "name" | "rule">, rule: Rule): Plugin => ({ name, ...declared, rule: () => rule });

await serve(
  process.argv[2]!,
  "1",
  plugin("FilterLabel", { nodeColumns: [GPU] }, { filter: maintained({ reason: "node(s) in maintenance" }) }),
  plugin("ScoreFree", { nodeColumns: [OFFERED, REQUESTED] }, {
    score(_, node) {
      const offered = Math.max(node.number(OFFERED), 1);
      return Number(100n * BigInt(Math.max(offered - node.number(REQUESTED), 0)) / BigInt(offered));
    },
  }),
  plugin("Rack", { podFields: [APP], nodeColumns: [GPU, OF_ZONE] }, {
    filter: maintained({ reason: "node(s) in maintenance", unresolvable: true }),
    score: (pod, node) => pod.text(APP) && node.text(OF_ZONE) === pod.text(APP) ? 100 : 0,
  }),
  plugin("CountPerRack", { nodeColumns: [IN_ZONE] }, {
    filter: (_, node) => node.number(IN_ZONE) >= 4 ? { reason: "rack(s) had enough pods of the app" } : undefined,
  }),
  plugin("UnderlayLike", { podFields: [USES, "spec.hostNetwork"], nodeColumns: [GPU, WEIGHT, ON_HOST], normalizer: Normalizer.BY_MAX }, {
    filter: underlay,
    score: (_, node) => Math.max(left(node), 0),
  }),
  plugin("Traffic", { nodeColumns: [LOAD], normalizer: Normalizer.BY_MAX_REVERSED }, { score: (_, node) => node.number(LOAD) }),
  plugin("Requests", { podFields: ["spec.priority", "requests[cpu]"], nodeColumns: ["spec.taints", "metadata.name"] }, { filter: requests }),
);
