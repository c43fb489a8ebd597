import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";

import type { PendingPodJson } from "../contract/mooring/v1/cluster_service_pb";
import type { DecisionJson } from "../contract/mooring/v1/decision_service_pb";
import type { PodReferenceJson } from "../contract/mooring/v1/objects_pb";
import "../elements/copy";
import "../elements/grid";
import type { GridColumn } from "../elements/grid";
import { age, amount } from "../matrix/amounts";
import { copiesOf } from "../page/copies";
import { call } from "../page/gateway";
import { Loader } from "../page/loader";
import { link, refine } from "../page/route";
import { outcome, podName } from "../page/words";
import { shared } from "../styles";

const LOOKED_AT = 1_000;

interface Row {
  pod: PodReferenceJson;
  pending: PendingPodJson | undefined;
  decision: DecisionJson | undefined;
}

/** Pods without a node, and those that were decided about last. */
@customElement("mooring-pods")
export class Pods extends LitElement {
  @property({ attribute: false }) query = new URLSearchParams();
  private readonly pods = new Loader<Row[]>(this, listPods, { every: 5_000 });

  static override styles = [
    shared,
    css`
      mooring-grid {
        --grid-height: calc(100vh - 13rem);
      }
      input {
        width: 20rem;
      }
    `,
  ];

  protected override render(): TemplateResult {
    const wanted = (this.query.get("name") ?? "").toLowerCase();
    const only = this.query.get("show") ?? "";
    return html`<div class="stack">
      <div class="row between">
        <h1>Pods</h1>
        <div class="row">
          <span class="segments" role="group" aria-label="Which pods">
            ${[
              ["", "All"],
              ["pending", "Pending"],
            ].map(
              ([show, title]) =>
                html`<button aria-pressed=${only === show} @click=${() => refine({ show })}>${title}</button>`,
            )}
          </span>
          <input
            type="search"
            aria-label="Filter by namespace or name"
            placeholder="Filter by namespace or name"
            .value=${wanted}
            @input=${(event: InputEvent) => refine({ name: (event.target as HTMLInputElement).value })}
          />
          <mooring-copy
            .copies=${copiesOf("mooring why-pending", "ClusterService/ListPendingPods", {}, this.pods.value ?? [])}
          ></mooring-copy>
        </div>
      </div>
      ${this.pods.show((rows) => {
        const found = rows.filter(({ pod, pending }) => (only ? pending : true) && podName(pod).toLowerCase().includes(wanted));
        return html`<mooring-grid
          label="Pods"
          .columns=${COLUMNS}
          .rows=${found}
          .keyOf=${(row: Row) => podName(row.pod)}
          empty=${rows.length ? "No pod matches." : "No pod is pending, and none was decided about."}
          @mooring-open=${(event: CustomEvent<Row>) => (location.hash = podLink(event.detail.pod))}
        ></mooring-grid>`;
      })}
    </div>`;
  }
}

/** Returns the link to the view of a pod. */
export function podLink(pod: PodReferenceJson | undefined): string {
  return link(["pods", pod?.namespace ?? "", pod?.name ?? ""]);
}

const COLUMNS: GridColumn<Row>[] = [
  {
    id: "pod",
    title: "Pod",
    width: "min(18rem, 45vw)",
    cell: ({ pod }) => html`<a tabindex="-1" href=${podLink(pod)} title=${podName(pod)}>${podName(pod)}</a>`,
  },
  {
    id: "state",
    title: "State",
    width: "7rem",
    cell: ({ pending }) => (pending ? html`<span class="warn">… pending</span>` : html`<span class="good">✓ placed</span>`),
  },
  {
    id: "outcome",
    title: "Last decision",
    width: "minmax(16rem, 1fr)",
    cell: ({ decision }) => {
      if (!decision) return html`<span class="quiet">none remembered</span>`;
      const { mark, text, tone } = outcome(decision);
      return html`<span class=${tone} title=${text}>${mark} ${text}</span>`;
    },
  },
  { id: "decided", title: "Decided", width: "6rem", numeric: true, cell: ({ decision }) => age(decision?.time) },
  {
    id: "attempt",
    title: "Attempts",
    width: "6rem",
    numeric: true,
    cell: ({ decision }) => (decision?.attempt ? amount(decision.attempt) : nothing),
  },
  {
    id: "owner",
    title: "Owner",
    width: "14rem",
    cell: ({ pending, decision }) => {
      const { controllerKind, controllerName } = pending ?? decision ?? {};
      return controllerKind ? `${controllerKind} ${controllerName}` : "";
    },
  },
];

/** Pending pods first, in the order in which they came; then those with a node, the newest decision first. */
async function listPods(signal: AbortSignal): Promise<Row[]> {
  const [{ pods = [] }, decisions] = await Promise.all([
    call("ClusterService/ListPendingPods", {}, signal),
    recent(signal),
  ]);
  const newest = new Map<string, DecisionJson>();
  for (const decision of decisions.reverse()) {
    const name = podName(decision.pod);
    if (!newest.has(name)) newest.set(name, decision);
  }
  const pending = pods.map((one): Row => ({ pod: one.pod!, pending: one, decision: newest.get(podName(one.pod)) }));
  const waiting = new Set(pending.map(({ pod }) => podName(pod)));
  const placed = [...newest].filter(([name, { result }]) => !waiting.has(name) && result === "DECISION_RESULT_SCHEDULED");
  return [...pending, ...placed.map(([, decision]): Row => ({ pod: decision.pod!, pending: undefined, decision }))];
}

/** A process without a journal has pods all the same. */
async function recent(signal: AbortSignal): Promise<DecisionJson[]> {
  try {
    return (await call("DecisionService/ListDecisions", { limit: LOOKED_AT }, signal)).decisions ?? [];
  } catch {
    signal.throwIfAborted();
    return [];
  }
}
