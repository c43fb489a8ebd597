/** Changes that are tried on a session of SimulationService: a private version of the cluster, in which nothing real changes. */

import type { PodReferenceJson } from "../contract/mooring/v1/objects_pb";
import type { SessionChangeJson } from "../contract/mooring/v1/simulation_service_pb";
import { call } from "./gateway";
import { encoded, getManifest, type Manifest } from "./manifests";

/** The longest that a session lives without a call. */
const LEASE = "600s";
const HOSTNAME = "kubernetes.io/hostname";

interface Step {
  words: string;
  /** The session before it, and its mark to go back to; a session that was opened from another one has none. */
  session: string;
  mark?: number;
  /** The pods without a node that it added. */
  pods?: PodReferenceJson[];
}

/** One session, opened with the first change. */
export class Sandbox {
  /** Empty until something is changed: questions are about the live state then. */
  session = "";
  steps: Step[] = [];

  async cordon(name: string): Promise<void> {
    const node = await getManifest("Node", "", name);
    await this.change(`cordon ${name}`, [put({ ...node, spec: { ...node.spec, unschedulable: true } })]);
  }

  /** Removes a node; its pods are gone with it. */
  async remove(name: string): Promise<void> {
    await this.change(`remove ${name}`, [{ remove: { kind: "Node", name } }]);
  }

  /** Adds the objects of manifests, or replaces those of the same names. */
  async add(manifests: readonly Manifest[]): Promise<void> {
    const names = manifests.map(({ kind, metadata }) => `${kind ?? ""} ${metadata?.name ?? ""}`);
    const more = names.length > 3 ? ` and ${names.length - 3} more` : "";
    const pods = manifests.filter(({ kind, spec }) => kind === "Pod" && !spec?.nodeName);
    const references = pods.map(({ metadata }) => ({ namespace: metadata?.namespace ?? "default", name: metadata?.name ?? "" }));
    await this.change(`add ${names.slice(0, 3).join(", ")}${more}`, manifests.map(put), references);
  }

  /** Returns the pods without a node that were added. */
  addedPods(): PodReferenceJson[] {
    return this.steps.flatMap(({ pods = [] }) => pods);
  }

  /** Lets another configuration decide, given as YAML or JSON; returns what the process warns of. */
  async configure(configuration: string): Promise<readonly string[]> {
    const { session: before } = this;
    const { session, warnings = [] } = await call("SimulationService/OpenSession", { fromSession: before, lease: LEASE, configuration });
    this.session = session?.id ?? "";
    this.steps = [...this.steps, { words: "decide by another configuration", session: before }];
    return warnings;
  }

  async addLike(name: string, count: number): Promise<void> {
    const node = await getManifest("Node", "", name);
    const copies = Array.from({ length: count }, (_, index) => put(copyOf(node, `${name}-copy-${this.steps.length + 1}-${index + 1}`)));
    await this.change(`add ${count} like ${name}`, copies);
  }

  /** Takes the last change back. */
  async undo(): Promise<void> {
    const last = this.steps.at(-1);
    if (!last) return;
    if (last.mark) await call("SimulationService/RevertSession", { session: this.session, mark: last.mark });
    else end(this.session);
    this.session = last.session;
    this.steps = this.steps.slice(0, -1);
  }

  /** Ends the session; the next change opens another one. */
  close(): void {
    const sessions = new Set([this.session, ...this.steps.map(({ session }) => session)]);
    [this.session, this.steps] = ["", []];
    for (const session of sessions) end(session);
  }

  private async change(words: string, changes: SessionChangeJson[], pods: PodReferenceJson[] = []): Promise<void> {
    if (!this.session) {
      const { session } = await call("SimulationService/OpenSession", { lease: LEASE });
      this.session = session?.id ?? "";
    }
    const { session } = this;
    const { mark = 0 } = await call("SimulationService/MarkSession", { session });
    await call("SimulationService/ChangeSession", { session, changes });
    this.steps = [...this.steps, { words, session, mark, pods }];
  }
}

/** One that is gone already, because its lease ended, is as good as closed. */
function end(session: string): void {
  if (session) void call("SimulationService/CloseSession", { session }).catch(() => undefined);
}

function put(manifest: Manifest): SessionChangeJson {
  return { put: { objects: [encoded(manifest)] } };
}

function copyOf(node: Manifest, name: string): Manifest {
  const labels = { ...node.metadata?.labels, [HOSTNAME]: name };
  return { ...node, metadata: { ...node.metadata, name, uid: name, labels } };
}
