import { css, html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";

import type { PodReferenceJson, PodSourceJson } from "../contract/mooring/v1/objects_pb";
import type {
  EstimateCapacityResponseJson,
  NodeRemovalJson,
  PlanNodeGroupsResponseJson,
  PlanRemovalResponseJson,
} from "../contract/mooring/v1/simulation_service_pb";
import type { VerdictJson } from "../contract/mooring/v1/verdicts_pb";
import type { Advice } from "../elements/decision";
import "../elements/decision";
import { amount, counted } from "../matrix/amounts";
import { adviceFor, LINKS } from "../page/advice";
import { call, explainColumns } from "../page/gateway";
import { failed, Loader } from "../page/loader";
import { encoded, getManifest, type GroupName, groupOf, readObjects, readPod, toYaml } from "../page/manifests";
import { link } from "../page/route";
import { Sandbox } from "../page/sandbox";
import { podName } from "../page/words";
import { shared } from "../styles";
import "./changes";
import { podLink } from "./pod_list";

type Answer =
  | { kind: "explanation"; columns: ArrayBuffer; advice: Advice | undefined }
  | { kind: "capacity"; found: EstimateCapacityResponseJson }
  | { kind: "removal"; found: PlanRemovalResponseJson }
  | { kind: "drains"; found: NodeRemovalJson[] }
  | { kind: "groups"; found: PlanNodeGroupsResponseJson; like: string }
  | { kind: "pending"; rows: PendingRow[] }
  | { kind: "changes"; pod: PodSourceJson; group: GroupName | undefined };

/** A pod without a node, and what became of it. */
interface PendingRow {
  pod: PodReferenceJson;
  node: string;
  verdict: VerdictJson | undefined;
}

const SUGGESTED = 200;
/** How many nodes are asked about in a call, and how many are shown. */
const REMOVED_TOGETHER = 100;
const BEST = 20;
/** How many pending pods are placed at once. */
const MOST_PENDING = 500;
const CONFIGURATION = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    score:
      disabled: [{name: NodeResourcesBalancedAllocation}]
`;
const OBJECTS = `apiVersion: v1
kind: Node
metadata:
  name: new-1
status:
  allocatable: {cpu: "8", memory: 32Gi, pods: "110"}
`;
const SAMPLE = `apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: default
spec:
  containers:
  - name: web
    resources:
      requests: {cpu: 500m, memory: 512Mi}
`;

/** Questions about a cluster that is not: with a node cordoned, gone, or added. Nothing real changes. */
@customElement("mooring-what-if")
export class WhatIf extends LitElement {
  @property({ attribute: false }) query = new URLSearchParams();

  @state() private node = "";
  @state() private text = SAMPLE;
  @state() private busy = "";
  @state() private answer: Answer | undefined;
  @state() private error: Error | undefined;
  @state() private count = 1;
  @state() private configuration = CONFIGURATION;
  @state() private objects = OBJECTS;
  @state() private warnings: readonly string[] = [];

  private turn = Promise.resolve();
  private readonly sandbox = new Sandbox();
  private readonly nodes = new Loader<string[]>(this, listNodes);
  private readonly pods = new Loader<string[]>(this, listPods);

  static override styles = [
    shared,
    css`
      details > .stack {
        padding-top: var(--s2);
      }
      textarea {
        width: 100%;
        min-height: 10rem;
        font-family: var(--mono);
        font-size: 0.8125rem;
        line-height: 1.5;
        padding: var(--s3);
        resize: vertical;
      }
      .name {
        flex: 1 1 12rem;
      }
      .count {
        width: 4.5rem;
      }
      .steps {
        padding-inline-start: var(--s5);
      }
      .landings {
        list-style: none;
      }
      .landings li {
        border-top: 1px solid var(--line);
        padding: var(--s1) 0;
        overflow-wrap: anywhere;
      }
      label {
        display: contents;
      }
    `,
  ];

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.sandbox.close();
  }

  protected override willUpdate(changed: PropertyValues): void {
    if (!changed.has("query")) return;
    const [pod, node] = [this.query.get("pod"), this.query.get("node")];
    if (node) this.node = node;
    if (pod) void this.attempt("Reading the pod", async () => void (await this.takePod(pod)));
    else if (node) void this.askRemoval();
  }

  protected override render(): TemplateResult {
    return html`<div class="stack">
      <div>
        <h1>What if</h1>
        <p class="quiet">Asked of a copy of the cluster: nothing real changes.</p>
      </div>
      <div class="columns">
        <section class="card stack tight" aria-labelledby="cluster">
          <h2 id="cluster">… the cluster were different</h2>
          ${this.changing()}
        </section>
        <section class="card stack tight" aria-labelledby="pod">
          <h2 id="pod">… there were such a pod</h2>
          ${this.asking()}
        </section>
      </div>
      <div role="status" class="quiet">${this.busy && `${this.busy} …`}</div>
      ${this.error ? failed(this.error, () => (this.error = undefined), "Dismiss") : nothing} ${this.answer ? this.shown(this.answer) : nothing}
    </div>`;
  }

  private changing(): TemplateResult {
    const { sandbox, node } = this;
    const names = (this.nodes.value ?? []).filter((name) => name.includes(node)).slice(0, SUGGESTED);
    const act = (words: string, change: () => Promise<void>) => () => void this.attempt(words, change);
    return html`<div class="row">
        <input
          class="name"
          list="nodes"
          aria-label="Node"
          placeholder="Node"
          autocomplete="off"
          spellcheck="false"
          .value=${node}
          @input=${(event: InputEvent) => (this.node = (event.target as HTMLInputElement).value.trim())}
        />
        <datalist id="nodes">${names.map((name) => html`<option value=${name}></option>`)}</datalist>
      </div>
      <div class="row">
        <button ?disabled=${!node} @click=${() => void this.askRemoval()}>Where would its pods go?</button>
        <button ?disabled=${!node} @click=${act("Cordoning", () => sandbox.cordon(node))}>Cordon</button>
        <button ?disabled=${!node} @click=${act("Removing", () => sandbox.remove(node))}>Remove</button>
        <span class="row">
          <button ?disabled=${!node} @click=${act("Adding", () => sandbox.addLike(node, this.count))}>Add</button>
          <input
            class="count"
            type="number"
            min="1"
            max="1000"
            aria-label="How many nodes to add"
            .valueAsNumber=${this.count}
            @input=${(event: InputEvent) => (this.count = (event.target as HTMLInputElement).valueAsNumber || 1)}
          />
          <span>like it</span>
        </span>
      </div>
      <div class="row">
        <button ?disabled=${!node} @click=${() => void this.askGroups()}>How many for the pending pods?</button>
        <button @click=${() => void this.askDrains()}>Which node is best to drain?</button>
      </div>
      ${this.editor("Objects to add", "Manifests to add, YAML or JSON", this.objects, "Add them", (text) => (this.objects = text), this.addObjects)}
      ${this.editor(
        "Another configuration",
        "A KubeSchedulerConfiguration, YAML or JSON",
        this.configuration,
        "Decide by it",
        (text) => (this.configuration = text),
        this.configure,
      )}
      ${this.warnings.map((warning) => html`<p class="warn">⚠ ${warning}</p>`)}
      <div class="row"><button @click=${() => void this.askPending()}>Where do the pending pods go then?</button></div>
      ${sandbox.steps.length ? this.steps() : html`<p class="quiet">As it is now: nothing is changed.</p>`}`;
  }

  private editor(
    title: string,
    label: string,
    text: string,
    action: string,
    edit: (text: string) => void,
    act: () => Promise<void>,
  ): TemplateResult {
    return html`<details>
      <summary>${title}</summary>
      <div class="stack tight">
        <textarea
          aria-label=${label}
          spellcheck="false"
          autocomplete="off"
          .value=${text}
          @input=${(event: InputEvent) => edit((event.target as HTMLTextAreaElement).value)}
        ></textarea>
        <div class="row"><button @click=${() => void this.attempt("Changing the copy", act)}>${action}</button></div>
      </div>
    </details>`;
  }

  private readonly addObjects = async (): Promise<void> => this.sandbox.add(await readObjects(this.objects));

  private readonly configure = async (): Promise<void> => {
    this.warnings = await this.sandbox.configure(this.configuration);
  };

  private steps(): TemplateResult {
    return html`<ol class="steps">
        ${this.sandbox.steps.map(({ words }) => html`<li>${words}</li>`)}
      </ol>
      <div class="row">
        <button @click=${() => void this.attempt("Taking back", () => this.sandbox.undo())}>Take the last back</button>
        <button @click=${this.startOver}>Start over</button>
      </div>`;
  }

  private asking(): TemplateResult {
    return html`<label
        ><span class="hidden">A pending pod</span
        ><select @change=${(event: Event) => void this.attempt("Reading the pod", () => this.takePod((event.target as HTMLSelectElement).value))}>
          <option value="">Take a pending pod, or paste a manifest below</option>
          ${(this.pods.value ?? []).map((name) => html`<option value=${name}>${name}</option>`)}
        </select></label
      >
      <textarea
        aria-label="Manifest of a pod or workload, YAML or JSON"
        spellcheck="false"
        autocomplete="off"
        .value=${this.text}
        @input=${(event: InputEvent) => (this.text = (event.target as HTMLTextAreaElement).value)}
      ></textarea>
      <div class="row">
        <button class="primary" @click=${() => void this.askPlace()}>Where would it go?</button>
        <button @click=${() => void this.askCapacity()}>How many would fit?</button>
        <button @click=${() => void this.askChanges()}>What would make it fit?</button>
      </div>`;
  }

  private shown(answer: Answer): TemplateResult {
    if (answer.kind === "explanation") return html`<mooring-decision .columns=${answer.columns} .advice=${answer.advice} .links=${LINKS}></mooring-decision>`;
    if (answer.kind === "changes")
      return html`<mooring-changes .pod=${answer.pod} .group=${answer.group} .session=${this.sandbox.session} asked></mooring-changes>`;
    if (answer.kind === "capacity") return capacity(answer.found);
    if (answer.kind === "drains") return drains(answer.found);
    if (answer.kind === "groups") return nodeGroups(answer.found, answer.like);
    if (answer.kind === "pending") return placed(answer.rows);
    return html`<div class="stack">${(answer.found.nodes ?? []).map(removal)} ${pending(answer.found)}</div>`;
  }

  private async takePod(name: string): Promise<void> {
    const [namespace = "", pod = ""] = name.split("/");
    if (pod) this.text = await toYaml(await getManifest("Pod", namespace, pod));
  }

  private readonly startOver = (): void => {
    this.sandbox.close();
    [this.answer, this.warnings] = [undefined, []];
    this.requestUpdate();
  };

  private askPlace(): Promise<void> {
    return this.attempt("Placing", async () => {
      const { session } = this.sandbox;
      const pod = await this.pod();
      const [columns, advice] = await Promise.all([explainColumns({ pod, allRejections: true, session }), adviceFor(pod, session)]);
      this.answer = { kind: "explanation", columns, advice };
    });
  }

  private askCapacity(): Promise<void> {
    return this.attempt("Counting", async () => {
      const shapes = [await this.pod()];
      this.answer = { kind: "capacity", found: await call("SimulationService/EstimateCapacity", { session: this.sandbox.session, shapes, includeNodes: true }) };
    });
  }

  private askChanges(): Promise<void> {
    return this.attempt("Reading the pod", async () => {
      const pod = await readPod(this.text);
      this.answer = { kind: "changes", pod: { object: encoded(pod) }, group: groupOf(pod) };
    });
  }

  private askRemoval(): Promise<void> {
    return this.attempt("Placing its pods", async () => {
      const found = await call("SimulationService/PlanRemoval", { session: this.sandbox.session, nodes: [this.node] });
      this.answer = { kind: "removal", found };
    });
  }

  private askDrains(): Promise<void> {
    return this.attempt("Trying each node", async () => {
      const [names, found] = [this.nodes.value ?? [], [] as NodeRemovalJson[]];
      const { session } = this.sandbox;
      for (let at = 0; at < names.length; at += REMOVED_TOGETHER) {
        const nodes = names.slice(at, at + REMOVED_TOGETHER);
        found.push(...((await call("SimulationService/PlanRemoval", { session, nodes })).nodes ?? []));
      }
      this.answer = { kind: "drains", found: found.sort(byDisruption) };
    });
  }

  private askGroups(): Promise<void> {
    return this.attempt("Trying more nodes", async () => {
      const node = encoded(await getManifest("Node", "", this.node));
      const request = { session: this.sandbox.session, groups: [{ name: `${this.node}-more`, node }] };
      this.answer = { kind: "groups", found: await call("SimulationService/PlanNodeGroups", request), like: this.node };
    });
  }

  private askPending(): Promise<void> {
    return this.attempt("Placing the pending pods", async () => {
      const { pods = [] } = await call("ClusterService/ListPendingPods", { pageSize: MOST_PENDING });
      const waiting = [...pods.map(({ pod }) => pod!), ...this.sandbox.addedPods()];
      const templates = waiting.map((reference) => ({ pod: { reference } }));
      if (!templates.length) return void (this.answer = { kind: "pending", rows: [] });
      const { nodes, verdicts = [], podVerdicts = [] } = await call("SchedulingService/Schedule", { session: this.sandbox.session, templates });
      const names = nodes?.names?.names ?? [];
      const rows = waiting.map((pod, at) => ({ pod, node: names[at] ?? "", verdict: verdicts[podVerdicts[at] ?? 0] }));
      this.answer = { kind: "pending", rows };
    });
  }

  private async pod(): Promise<PodSourceJson> {
    return { object: encoded(await readPod(this.text)) };
  }

  /** Does one thing after the other, and says why it could not be done. */
  private attempt(words: string, act: () => Promise<void>): Promise<void> {
    return (this.turn = this.turn.then(async () => {
      [this.busy, this.error] = [words, undefined];
      try {
        await act();
      } catch (error) {
        this.error = error as Error;
      }
      this.busy = "";
    }));
  }
}

function nodeGroups({ options = [] }: PlanNodeGroupsResponseJson, like: string): TemplateResult {
  const [best] = options;
  const { nodeCount = 0, leftOver = [], daemonPodCount = 0 } = best ?? {};
  const daemons = daemonPodCount ? html` Each new node gets ${counted(daemonPodCount, "pod")} of DaemonSets first.` : nothing;
  return html`<section class="card stack tight" aria-labelledby="groups">
    <h2 id="groups">${nodeCount ? `${counted(nodeCount, "more node")} like ${like}` : `More nodes like ${like} don't help`}</h2>
    <p>
      ${leftOver.length
        ? html`${counted(leftOver.length, "pending pod")} would get no node even with more of them.`
        : nodeCount
          ? "All pending pods get a node then."
          : "Each pending pod has a node already."}${daemons}
    </p>
    <ul class="landings">
      ${leftOver
        .slice(0, SUGGESTED)
        .map(({ pod, verdict }) => html`<li><a href=${podLink(pod)}>${podName(pod)}</a> <span class="bad">✕ ${verdictText(verdict)}</span></li>`)}
    </ul>
  </section>`;
}

function placed(rows: readonly PendingRow[]): TemplateResult {
  const count = rows.filter(({ node }) => node).length;
  return html`<section class="card stack tight" aria-labelledby="placed">
    <h2 id="placed">${rows.length ? `${amount(count)} of ${counted(rows.length, "pending pod")} get a node` : "No pod waits for a node"}</h2>
    <ul class="landings">
      ${rows.map(
        ({ pod, node, verdict }) =>
          html`<li>
            <a href=${podLink(pod)}>${podName(pod)}</a>
            ${node ? html`→ <a href=${link(["nodes", node])}>${node}</a>` : html`<span class="bad">✕ ${verdictText(verdict)}</span>`}
          </li>`,
      )}
    </ul>
  </section>`;
}

function verdictText(verdict: VerdictJson | undefined): string {
  return verdict?.message || (verdict?.reasons ?? []).join(", ");
}

function capacity(found: EstimateCapacityResponseJson): TemplateResult {
  const [shape] = found.shapes ?? [];
  if (!shape) return html``;
  const { count = 0, limited = false, end, nodes = [] } = shape;
  const best = [...nodes].sort((a, b) => (b.count ?? 0) - (a.count ?? 0)).slice(0, 20);
  return html`<section class="card stack tight" aria-labelledby="room">
    <h2 id="room">${limited ? "At least " : ""}${counted(count, "more pod")} would fit</h2>
    ${end?.message ? html`<p>Then: ${end.message}</p>` : nothing}
    ${best.length ? html`<p class="quiet">Most on ${best.map((one) => `${one.node} (${amount(one.count ?? 0)})`).join(", ")}</p>` : nothing} ${pending(found)}
  </section>`;
}

/** Says what became of the pods that have no node: they come first. */
function pending({ placedCount = 0, unplaced = [], preempted = [] }: EstimateCapacityResponseJson | PlanRemovalResponseJson): TemplateResult {
  if (!placedCount && !unplaced.length) return html``;
  const gone = preempted.length ? ` They preempt ${preempted.slice(0, 3).map(podName).join(", ")}${preempted.length > 3 ? ", …" : ""}.` : "";
  return html`<p class="quiet">Pending pods come first: ${placedCount} placed, ${unplaced.length} still pending.${gone}</p>`;
}

function removal({ node, removable, landings = [], endingPodCount = 0, alone = [], exhaustedBudgets = [], localData = [] }: NodeRemovalJson): TemplateResult {
  const waiting = landings.filter(({ waits }) => waits).length;
  return html`<section class="card stack tight" aria-label="If ${node!} goes">
    <h2>If ${node} goes</h2>
    <p>
      ${removable
        ? html`<span class="good">✓ It can go:</span> ${landings.length ? "each of its pods finds another node." : "no pod has to move."}`
        : waiting
          ? html`<span class="bad">✕ ${counted(waiting, "pod")} would wait</span> until the Node object is deleted.`
          : html`<span class="bad">✕ It can't go:</span> not every pod finds another node.`}
      ${endingPodCount ? html`<span class="quiet">${counted(endingPodCount, "pod")} of DaemonSets would end with it.</span>` : nothing}
    </p>
    ${exhaustedBudgets.map((budget) => html`<p class="bad">PodDisruptionBudget ${budget} allows no disruption now.</p>`)}
    ${alone.length ? html`<p class="quiet">Single replicas: ${alone.map(podName).join(", ")}</p>` : nothing}
    ${localData.length
      ? html`<p class="bad">
          Data in emptyDir volumes is lost: ${localData.map(podName).join(", ")}. <code>kubectl drain</code> needs <code>--delete-emptydir-data</code>.
        </p>`
      : nothing}
    <ul class="landings">
      ${landings.map(
        ({ pod, node: target, verdict, waits }) =>
          html`<li>
            <a href=${podLink(pod)}>${podName(pod)}</a>
            ${target
              ? html`→ <a href=${link(["nodes", target])}>${target}</a>${waits ? ", once the Node object is deleted" : nothing}`
              : html`<span class="bad">✕ ${verdictText(verdict)}</span>`}
          </li>`,
      )}
    </ul>
  </section>`;
}

/** Orders nodes: those that can go come first, among these the least disruptive drains. */
function byDisruption(one: NodeRemovalJson, other: NodeRemovalJson): number {
  const keys = ({ removable = false, landings = [], alone = [], localData = [] }: NodeRemovalJson) => [
    removable ? 0 : 1,
    landings.length,
    alone.length,
    localData.length,
  ];
  const [first, second] = [keys(one), keys(other)];
  const at = first.findIndex((key, index) => key !== second[index]);
  return at < 0 ? (one.node ?? "").localeCompare(other.node ?? "") : first[at]! - second[at]!;
}

function drains(found: readonly NodeRemovalJson[]): TemplateResult {
  const going = found.filter(({ removable }) => removable).length;
  return html`<section class="card stack tight" aria-labelledby="drains">
    <h2 id="drains">${amount(going)} of ${counted(found.length, "node")} could be drained, each alone</h2>
    <ol class="landings">
      ${found.slice(0, BEST).map(
        ({ node = "", removable, landings = [], alone = [], exhaustedBudgets = [], localData = [] }) =>
          html`<li>
            <a href=${link(["what-if"], { node })}>${node}</a> ${removable ? html`<span class="good">✓ can go</span>` : html`<span class="bad">✕ stays</span>`}
            <span class="quiet"
              >${[
                removable ? `${counted(landings.length, "pod")} would move` : verdictText(landings.find(({ node: target }) => !target)?.verdict),
                alone.length ? counted(alone.length, "single replica") : "",
                localData.length ? `${counted(localData.length, "pod")} would lose emptyDir data` : "",
                exhaustedBudgets.length ? `${exhaustedBudgets.join(", ")} allows no disruption` : "",
              ]
                .filter(Boolean)
                .join(" · ")}</span
            >
          </li>`,
      )}
    </ol>
  </section>`;
}

async function listNodes(signal: AbortSignal): Promise<string[]> {
  return (await call("ClusterService/ListNodes", {}, signal)).nodes?.names?.names ?? [];
}

async function listPods(signal: AbortSignal): Promise<string[]> {
  return ((await call("ClusterService/ListPendingPods", {}, signal)).pods ?? []).map(({ pod }) => podName(pod)).slice(0, SUGGESTED);
}
