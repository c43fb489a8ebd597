import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";

import type { ListPodsRequestJson, PodSummaryJson } from "../contract/mooring/v1/cluster_service_pb";
import type { DecisionJson } from "../contract/mooring/v1/decision_service_pb";
import type { PodReferenceJson } from "../contract/mooring/v1/objects_pb";
import "../elements/grid";
import type { GridColumn } from "../elements/grid";
import { age, amount, counted, quantity } from "../matrix/amounts";
import { Loader } from "../page/loader";
import { PagedPods } from "../page/paged";
import { link } from "../page/route";
import { outcome, podName } from "../page/words";
import { shared } from "../styles";
import { recentDecisions } from "./decisions";

const EVERY = 10_000;

/** Pods, those without a node first, read as they come into sight. */
@customElement("mooring-pod-list")
export class PodList extends LitElement {
  @property({ attribute: false }) request: ListPodsRequestJson = {};
  @property() label = "Pods";
  @property() empty = "No pod matches.";

  @state() private decisions = new Map<string, DecisionJson>();
  private range: readonly [number, number] = [0, 1];
  private readonly pods = new Loader<PagedPods>(this, (signal) => this.read(signal), {
    key: () => JSON.stringify(this.request),
    every: EVERY,
  });
  private readonly columns = this.columnsOf();

  static override styles = [
    shared,
    css`
      mooring-grid {
        --grid-height: var(--list-height, calc(100vh - 15rem));
      }
    `,
  ];

  protected override render(): TemplateResult {
    return html`<div class="stack tight">
      ${this.pods.show(
        (pods) =>
          html`<p class="quiet">${counted(pods.rows.length, "pod")}${pods.unplaced ? html`, ${amount(pods.unplaced)} without a node` : nothing}</p>
            <mooring-grid
              label=${this.label}
              .columns=${this.columns}
              .rows=${pods.rows}
              .keyOf=${(row: PodSummaryJson) => podName(row.pod)}
              empty=${this.empty}
              @mooring-range=${(event: CustomEvent<[number, number]>) => void this.inSight(pods, event.detail)}
              @mooring-open=${(event: CustomEvent<PodSummaryJson>) => (location.hash = podLink(event.detail.pod))}
            ></mooring-grid>`,
      )}
    </div>`;
  }

  /** A new list, with the part that is in sight. */
  private async read(signal: AbortSignal): Promise<PagedPods> {
    const pods = new PagedPods(this.request, signal);
    const [decisions] = await Promise.all([recentDecisions(signal), pods.read(...this.range)]);
    this.decisions = new Map(decisions.map((decision) => [podName(decision.pod), decision]));
    return pods;
  }

  private async inSight(pods: PagedPods, range: [number, number]): Promise<void> {
    this.range = range;
    // Without an answer the next refresh asks again.
    if (await pods.read(...range).catch(() => false)) this.requestUpdate();
  }

  private columnsOf(): GridColumn<PodSummaryJson>[] {
    const decided = ({ pod }: PodSummaryJson) => this.decisions.get(podName(pod));
    return [
      {
        id: "pod",
        title: "Pod",
        width: "min(11rem, 42vw)",
        cell: ({ pod }) => html`<a tabindex="-1" href=${podLink(pod)} title=${podName(pod)}>${podName(pod)}</a>`,
      },
      { id: "node", title: "Node", width: "8rem", cell: place },
      {
        id: "outcome",
        title: "Last decision",
        width: "minmax(14rem, 1fr)",
        cell: (row) => {
          const decision = decided(row);
          if (!decision) return html`<span class="quiet">none remembered</span>`;
          const { mark, text, tone } = outcome(decision);
          return html`<span class=${tone} title=${text}>${mark} ${text}</span> <span class="quiet">${age(decision.time)} ago</span>`;
        },
      },
      { id: "cpu", title: "CPU", width: "4.5rem", numeric: true, cell: (row) => request(row, "cpu") },
      { id: "memory", title: "Memory", width: "5.5rem", numeric: true, cell: (row) => request(row, "memory") },
      { id: "age", title: "Age", width: "5rem", numeric: true, cell: ({ creationTime }) => age(creationTime) },
      { id: "priority", title: "Priority", width: "5rem", numeric: true, cell: ({ priority = 0 }) => amount(priority) },
      { id: "owner", title: "Owner", width: "9rem", cell: ({ pod, controllerKind, controllerName }) => owner(pod, controllerKind, controllerName) },
    ];
  }
}

function place({ node, assumed }: PodSummaryJson): TemplateResult {
  if (!node) return html`<span class="warn">… pending</span>`;
  const mark = assumed ? html`<span class="quiet" title="Placed by a decision that its source has not confirmed yet">… </span>` : nothing;
  return html`${mark}<a tabindex="-1" href=${link(["nodes", node])} title=${node}>${node}</a>`;
}

function request({ requests = {} }: PodSummaryJson, resource: string): string {
  return requests[resource] ? quantity(resource, Number(requests[resource])) : "";
}

/** Returns the link to the view of a pod. */
export function podLink(pod: PodReferenceJson | undefined): string {
  return link(["pods", pod?.namespace ?? "", pod?.name ?? ""]);
}

/** Returns an owner, such as "ReplicaSet web", with the link to its view; nothing if there is none. */
export function owner(pod: PodReferenceJson | undefined, kind: string | undefined, name: string | undefined): TemplateResult | typeof nothing {
  if (!kind) return nothing;
  return html`<a tabindex="-1" href=${ownerLink(pod?.namespace, kind, name)} title="${kind} ${name ?? ""}">${kind} ${name}</a>`;
}

export function ownerLink(namespace: string | undefined, kind: string, name: string | undefined): string {
  return link(["owners", namespace ?? "", kind, name ?? ""]);
}
