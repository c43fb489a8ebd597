import type { MessageInitShape } from "@bufbuild/protobuf";

import type { ListNodesResponse } from "./gen/mooring/v1/cluster_service_pb.js";
import type { NodeIndices, NodeIndicesSchema, NodeList } from "./gen/mooring/v1/nodes_pb.js";

/** The index in an answer for a pod without a node. */
const NO_NODE = 0xffffffff;

/** The nodes of one server: names and indices of one epoch. */
export class NodeTable {
  #epoch: bigint | undefined;
  readonly #names = new Map<number, string>();
  readonly #indices = new Map<string, number>();

  /** The epoch to which the indices belong; undefined before the nodes were listed. */
  get epoch(): bigint | undefined {
    return this.#epoch;
  }

  /** Takes a list of all nodes, or of what changed since `epoch`. */
  apply(answer: ListNodesResponse): void {
    if (answer.complete) {
      this.#names.clear();
      this.#indices.clear();
    }
    for (const index of answer.removedIndices) {
      this.#indices.delete(this.#names.get(index) ?? "");
      this.#names.delete(index);
    }
    const names = namesIn(answer.nodes);
    for (const [position, index] of answer.indices.entries()) {
      const name = names[position] ?? "";
      this.#names.set(index, name);
      this.#indices.set(name, index);
    }
    this.#epoch = answer.provenance?.nodeEpoch;
  }

  /** Names for indices; undefined if they are of another epoch. */
  names({ nodeEpoch, indices }: NodeIndices): string[] | undefined {
    if (nodeEpoch !== this.#epoch) return undefined;
    const names: string[] = [];
    for (const index of indices) {
      const name = index === NO_NODE ? "" : this.#names.get(index);
      if (name === undefined) return undefined;
      names.push(name);
    }
    return names;
  }

  /** Indices for names; undefined if one of them is no node of this epoch. */
  indices(names: readonly string[]): MessageInitShape<typeof NodeIndicesSchema> | undefined {
    if (this.#epoch === undefined) return undefined;
    const indices: number[] = [];
    for (const name of names) {
      const index = this.#indices.get(name);
      if (index === undefined) return undefined;
      indices.push(index);
    }
    return { nodeEpoch: this.#epoch, indices };
  }
}

/** The names in an answer that has names. */
export function namesIn(list: NodeList | undefined): readonly string[] {
  return list?.nodes.case === "names" ? list.nodes.value.names : [];
}
