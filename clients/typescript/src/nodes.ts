import type { MessageInitShape } from "@bufbuild/protobuf";

import { at, present } from "./errors.js";
import type { ListNodesResponse, WatchNodesResponse } from "./gen/mooring/v1/cluster_service_pb.js";
import type { NodeIndices, NodeIndicesSchema, NodeList } from "./gen/mooring/v1/nodes_pb.js";

/** The index in an answer for a pod without a node. */
const NO_NODE = 0xffffffff;

/** What changed about the nodes of a cluster. */
export interface NodeUpdate {
  readonly epoch: bigint;
  /** Whether `added` are all nodes: those from before are void. */
  readonly complete: boolean;
  /** The names of new nodes. */
  readonly added: readonly string[];
  /** The names of nodes that are gone. One may be in `added`, too. */
  readonly removed: readonly string[];
}

/** The nodes of one server: names and indices of one epoch. */
export class NodeTable {
  #epoch: bigint | undefined;
  readonly #names = new Map<number, string>();
  readonly #indices = new Map<string, number>();

  /** The epoch to which the indices belong; undefined before the nodes were listed. */
  get epoch(): bigint | undefined {
    return this.#epoch;
  }

  /** Takes all nodes, or what changed since `epoch`: the parts of one answer. Says what it made of them. */
  apply(parts: readonly (ListNodesResponse | WatchNodesResponse)[]): NodeUpdate {
    const complete = parts[0]?.complete ?? false;
    if (complete) {
      this.#names.clear();
      this.#indices.clear();
    }
    const removed: string[] = [];
    for (const index of parts.flatMap(({ removedIndices }) => removedIndices)) {
      const name = this.#names.get(index);
      if (name === undefined) continue;
      removed.push(name);
      this.#indices.delete(name);
      this.#names.delete(index);
    }
    const added = parts.flatMap(({ nodes }) => namesIn(nodes));
    for (const [position, index] of parts.flatMap(({ indices }) => indices).entries()) {
      const name = at(added, position);
      this.#names.set(index, name);
      this.#indices.set(name, index);
    }
    const { nodeEpoch } = present(parts.at(-1)?.provenance);
    this.#epoch = nodeEpoch;
    return { epoch: nodeEpoch, complete, added, removed };
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
