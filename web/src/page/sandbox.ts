/** Changes that are tried on a session of SimulationService: a private version of the cluster, in which nothing real changes. */

import type { SessionChangeJson } from "../contract/mooring/v1/simulation_service_pb";
import { call } from "./gateway";
import { encoded, getManifest, type Manifest } from "./manifests";

/** The longest that a session lives without a call. */
const LEASE = "600s";
const HOSTNAME = "kubernetes.io/hostname";

interface Step {
  words: string;
  /** The mark to go back to. */
  mark: number;
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

  async addLike(name: string, count: number): Promise<void> {
    const node = await getManifest("Node", "", name);
    const copies = Array.from({ length: count }, (_, index) => put(copyOf(node, `${name}-copy-${this.steps.length + 1}-${index + 1}`)));
    await this.change(`add ${count} like ${name}`, copies);
  }

  /** Takes the last change back. */
  async undo(): Promise<void> {
    const last = this.steps.at(-1);
    if (!last) return;
    await call("SimulationService/RevertSession", { session: this.session, mark: last.mark });
    this.steps = this.steps.slice(0, -1);
  }

  /** Ends the session; the next change opens another one. */
  close(): void {
    const { session } = this;
    [this.session, this.steps] = ["", []];
    // One that is gone already, because its lease ended, is as good as closed.
    if (session) void call("SimulationService/CloseSession", { session }).catch(() => undefined);
  }

  private async change(words: string, changes: SessionChangeJson[]): Promise<void> {
    if (!this.session) {
      const { session } = await call("SimulationService/OpenSession", { lease: LEASE });
      this.session = session?.id ?? "";
    }
    const { session } = this;
    const { mark = 0 } = await call("SimulationService/MarkSession", { session });
    await call("SimulationService/ChangeSession", { session, changes });
    this.steps = [...this.steps, { words, mark }];
  }
}

function put(manifest: Manifest): SessionChangeJson {
  return { put: { objects: [encoded(manifest)] } };
}

function copyOf(node: Manifest, name: string): Manifest {
  const labels = { ...node.metadata?.labels, [HOSTNAME]: name };
  return { ...node, metadata: { ...node.metadata, name, uid: name, labels } };
}
