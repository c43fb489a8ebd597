/** The columns of a decision as the matrix that the page works with. */

import type { DecisionJson } from "../contract/mooring/v1/decision_service_pb";
import type { FindingJson } from "../contract/mooring/v1/findings_pb";
import type { PodReferenceJson, ProvenanceJson } from "../contract/mooring/v1/objects_pb";
import type { VerdictJson } from "../contract/mooring/v1/verdicts_pb";
import { decodeColumns, type Numbers } from "./columns";
import { commonSuffix } from "./names";
import type { Made, Matrix, PreemptionFinding } from "./matrix";

/** The header of the gateway's columns, as server/mooring/web/columns.py has it. */
interface Header {
  made: Made;
  decision?: DecisionJson;
  differences?: string[];
  pod: PodReferenceJson;
  assigned: string;
  provenance: ProvenanceJson;
  verdict: VerdictJson;
  seed: string;
  nodes: string[];
  distinct: VerdictJson[];
  plugins: { name: string; weight: number }[];
  selected?: number;
  resources: { name: string; requested: number }[];
  warnings: string[];
  findings?: FindingJson[];
  podFindings?: FindingJson[];
  preemptionFindings?: PreemptionFinding[];
  evaluated: number;
  feasible: number;
}

const NONE: Numbers = new Uint32Array();

/** Returns the matrix. Throws an Error that says what is wrong with the bytes. */
export function decodeMatrix(buffer: ArrayBuffer): Matrix {
  const { header, arrays } = decodeColumns<Header>(buffer);
  const values = (name: string) => arrays.get(name) ?? NONE;
  const nothing = new Uint8Array(header.nodes.length);
  const free = (name: string) => (values(name).length ? values(name) : nothing);
  return {
    made: header.made,
    decision: header.decision,
    differences: header.differences ?? [],
    pod: header.pod,
    assigned: header.assigned,
    provenance: header.provenance,
    verdict: header.verdict,
    seed: BigInt(header.seed),
    nodes: header.nodes,
    suffix: commonSuffix(header.nodes),
    distinct: header.distinct,
    verdicts: values("verdicts"),
    scored: values("scored"),
    plugins: header.plugins.map(({ name, weight }, index) => ({
      name,
      weight,
      raw: values(`raw.${index}`),
      normalized: values(`normalized.${index}`),
    })),
    selected: header.selected,
    ties: values("ties"),
    rejections: { nodes: values("rejections.nodes"), verdicts: values("rejections.verdicts") },
    findings: { distinct: header.findings ?? [], nodes: values("findings.nodes"), indices: values("findings.indices") },
    podFindings: header.podFindings ?? [],
    preemptionFindings: header.preemptionFindings ?? [],
    resources: header.resources.map(({ name, requested }, index) => ({ name, requested, free: free(`free.${index}`) })),
    warnings: header.warnings,
    evaluated: header.evaluated,
    feasible: header.feasible,
  };
}
