import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";

import type { DecisionJson, ReasonGroupJson } from "../contract/mooring/v1/decision_service_pb";
import type { FindingJson } from "../contract/mooring/v1/findings_pb";
import type { PodReferenceJson } from "../contract/mooring/v1/objects_pb";
import type { ExplainResponseJson } from "../contract/mooring/v1/scheduling_service_pb";
import "../elements/copy";
import { findingList, findingStyles } from "../elements/findings";
import { amount, parseQuantity, quantity } from "../matrix/amounts";
import { LINKS } from "../page/advice";
import { copiesOf } from "../page/copies";
import { call } from "../page/gateway";
import { Loader } from "../page/loader";
import { encoded, getManifest, type Manifest } from "../page/manifests";
import { link } from "../page/route";
import { podName, quoted } from "../page/words";
import { shared } from "../styles";
import { decisionGrid } from "./decisions";
import { podLink } from "./pod_list";

/** How many groups of pending pods the node is asked about. */
const ASKED = 12;

interface Usage {
  resource: string;
  used: number;
  all: number;
}

interface Facts {
  node: Manifest;
  usages: Usage[];
}

interface Verdict {
  pod: PodReferenceJson;
  count: number;
  /** What is in the way; none where the node would take the pod. */
  findings: FindingJson[];
}

/** One node: what is left of it, why nothing lands on it, and what did. */
@customElement("mooring-node")
export class NodeView extends LitElement {
  @property() name = "";

  private readonly facts = new Loader<Facts>(this, (signal) => factsOf(this.name, signal), { key: () => this.name });
  private readonly verdicts = new Loader<Verdict[]>(this, (signal) => verdictsOf(this.name, signal), { key: () => this.name });
  private readonly selections = new Loader<DecisionJson[]>(this, (signal) => this.listSelections(signal), {
    key: () => this.name,
    every: 10_000,
  });

  static override styles = [
    shared,
    findingStyles,
    css`
      .usage {
        display: grid;
        grid-template-columns: minmax(4rem, max-content) minmax(5rem, 1fr) max-content;
        gap: var(--s1) var(--s3);
        align-items: center;
      }
      .track {
        height: 10px;
        border-radius: 2px;
        background: linear-gradient(to right, var(--accent) var(--share), var(--sunken) var(--share));
      }
      .labels {
        list-style: none;
        display: flex;
        flex-wrap: wrap;
        gap: var(--s1);
      }
      .labels li {
        background: var(--sunken);
        border-radius: var(--radius);
        padding: 0 var(--s2);
        overflow-wrap: anywhere;
      }
      mooring-pod-list {
        --list-height: 40vh;
      }
      .verdicts {
        list-style: none;
      }
      .verdicts > li {
        border-top: 1px solid var(--line);
        padding: var(--s2) 0;
      }
      .verdicts p {
        overflow-wrap: anywhere;
      }
    `,
  ];

  protected override render(): TemplateResult {
    return html`<div class="stack">
      <div class="row between">
        <h1>${this.name}</h1>
        <div class="row">
          <a href=${link(["what-if"], { node: this.name })}>What if it goes?</a>
          <mooring-copy
            .copies=${[
              ...copiesOf(`mooring decisions --node ${quoted(this.name)}`, "DecisionService/ListDecisions", { filter: { node: this.name } }),
              { name: "kubectl", text: `kubectl describe node ${quoted(this.name)}` },
            ]}
          ></mooring-copy>
        </div>
      </div>
      <div class="columns">
        <section class="card stack tight" aria-labelledby="room">
          <h2 id="room">What its pods request</h2>
          ${this.facts.show((facts) => room(facts))}
        </section>
        <section class="card stack tight" aria-labelledby="why">
          <h2 id="why">${this.selections.value?.length ? "What of the pods that wait?" : "Why does nothing land here?"}</h2>
          ${this.verdicts.show((verdicts) => reasons(verdicts))}
        </section>
      </div>
      <section class="stack tight" aria-labelledby="pods">
        <h2 id="pods">Its pods</h2>
        <mooring-pod-list .request=${{ node: this.name }} label="Pods on this node" empty="No pod is on it."></mooring-pod-list>
      </section>
      <section class="stack tight" aria-labelledby="selections">
        <h2 id="selections">Decisions that selected it</h2>
        ${this.selections.show((decisions) => decisionGrid("Decisions that selected this node, the newest first", decisions))}
      </section>
    </div>`;
  }

  private async listSelections(signal: AbortSignal): Promise<DecisionJson[]> {
    const filter = { node: this.name };
    return ((await call("DecisionService/ListDecisions", { filter, limit: 200 }, signal)).decisions ?? []).reverse();
  }
}

function room({ node, usages }: Facts): TemplateResult {
  const taints = (node.spec?.taints ?? []) as { key: string; value?: string; effect: string }[];
  return html`${node.spec?.unschedulable ? html`<p class="warn">⚠ Cordoned: it takes no new pods.</p>` : nothing}
    ${taints.map(
      ({ key, value, effect }) => html`<p class="warn">⚠ Taint <span class="mono">${key}${value ? `=${value}` : ""}:${effect}</span></p>`,
    )}
    <div class="usage">
      ${usages.map(
        ({ resource, used, all }) =>
          html`<span>${resource}</span>
            <span class="track" aria-hidden="true" .style=${`--share: ${all ? (100 * used) / all : 0}%`}></span>
            <span>${quantity(resource, used)} of ${quantity(resource, all)}</span>`,
      )}
    </div>
    <ul class="labels mono" aria-label="Labels">
      ${Object.entries(node.metadata?.labels ?? {}).map(([name, value]) => html`<li>${name}=${value}</li>`)}
    </ul>`;
}

function reasons(verdicts: Verdict[]): TemplateResult {
  if (!verdicts.length) return html`<p class="empty">✓ No pod waits for a node.</p>`;
  return html`<ul class="verdicts">
    ${verdicts.map(
      ({ pod, count, findings }) =>
        html`<li class="stack tight">
          <p>
            <a href=${podLink(pod)}>${podName(pod)}</a>${count > 1 ? html` <span class="quiet">and ${amount(count - 1)} more</span>` : nothing}
            ${findings.length ? nothing : html`<span class="good">✓ would be taken</span>`}
          </p>
          ${findings.length ? findingList(findings, LINKS) : nothing}
        </li>`,
    )}
  </ul>`;
}

/** A pod that requests next to nothing of everything says how much of everything is left. */
async function factsOf(name: string, signal: AbortSignal): Promise<Facts> {
  const node = await getManifest("Node", "", name, signal);
  const allocatable = (node.status?.allocatable ?? {}) as Record<string, string>;
  const requests = Object.fromEntries(Object.keys(allocatable).filter((one) => one !== "pods").map((one) => [one, one === "cpu" ? "1m" : "1"]));
  const containers = [{ name: "probe", resources: { requests, limits: requests } }];
  const probe = { apiVersion: "v1", kind: "Pod", metadata: { name: "probe", namespace: "default" }, spec: { containers } };
  const { resources = [] } = await explainOn(name, { object: encoded(probe) }, signal);
  const usages = resources.map(({ name: resource = "", free = [] }) => {
    const all = parseQuantity(resource, allocatable[resource] ?? "0");
    return { resource, all, used: all - Number(free[0] ?? 0) };
  });
  return { node, usages };
}

/** Asks the node about one pod of each group that waits. */
async function verdictsOf(name: string, signal: AbortSignal): Promise<Verdict[]> {
  const { groups = [] } = await call("DecisionService/SummarizeReasons", { limit: ASKED, askNow: true }, signal);
  const asked = groups.flatMap((group): [ReasonGroupJson, PodReferenceJson][] => (group.examples?.[0] ? [[group, group.examples[0]]] : []));
  return Promise.all(
    asked.map(async ([{ podCount = 1 }, pod]) => {
      const answer = await explainOn(name, { reference: pod }, signal);
      return { pod, count: podCount, findings: inTheWay(answer) };
    }),
  );
}

/** What the plugins found about the one node and the pod; a plugin that found nothing says its reasons instead. */
function inTheWay({ verdicts, rejections, findings }: ExplainResponseJson): FindingJson[] {
  const found = [...(findings?.ofPod ?? []), ...(findings?.distinct ?? [])];
  const indices = [...new Set(rejections?.verdicts ?? verdicts?.nodeVerdicts ?? [])].filter(Boolean);
  const said = indices.map((index) => verdicts!.distinct![index]!).filter(({ plugin }) => !found.some((one) => one.plugin === plugin));
  return [...found, ...said.flatMap(({ plugin = "", reasons: texts = [] }) => texts.map((message) => ({ plugin, message })))];
}

function explainOn(name: string, pod: object, signal: AbortSignal): Promise<ExplainResponseJson> {
  return call("SchedulingService/Explain", { pod, nodes: { names: { names: [name] } }, allRejections: true }, signal);
}
