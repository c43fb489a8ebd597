import type { MessageInitShape } from "@bufbuild/protobuf";

import type { Explanation, Filtered, Scored } from "./answers.js";
import type { CallOptions, Client, NodeQuestion, ScheduleOptions, Seeded } from "./client.js";
import { present } from "./errors.js";
import {
  type Session as SessionState,
  type SessionChangeSchema,
  SimulationService,
} from "./gen/mooring/v1/simulation_service_pb.js";
import { type Manifest, objectOf, type Placement, type Pod, type Pods } from "./pods.js";

export interface SessionOptions extends CallOptions {
  /** The id of a session to begin with; default the cluster as it is now. */
  readonly from?: string;
}

export interface Changes {
  /** Objects of any kind to add; they replace those of their names. */
  readonly put?: readonly Manifest[];
  /** Objects to remove, all of which are there. */
  readonly remove?: readonly { readonly kind: string; readonly namespace?: string; readonly name: string }[];
}

/**
 * A private version of the cluster: nothing that is done in it shows outside, and nothing that happens later shows in it.
 * It ends when it is closed, or a minute after its last call. For one caller at a time.
 */
export class Session {
  /** One that was opened before. */
  constructor(
    private readonly client: Client,
    /** Any question of the contract can be asked about it: `client.call(method, { session: session.id, ... })`. */
    readonly id: string,
  ) {}

  static async open(client: Client, { from = "", ...options }: SessionOptions): Promise<Session> {
    const answer = await client.call(SimulationService.method.openSession, { fromSession: from }, options);
    return new Session(client, present(answer.session).id);
  }

  /** Opens another one, which begins with what this one is now. */
  fork(options: CallOptions = {}): Promise<Session> {
    return Session.open(this.client, { ...options, from: this.id });
  }

  /** Adds and removes objects: all of them, or none. */
  async change({ put = [], remove = [] }: Changes, options: CallOptions = {}): Promise<SessionState> {
    const changes: MessageInitShape<typeof SessionChangeSchema>[] = [
      ...put.map((manifest) => ({ change: { case: "put" as const, value: { objects: [objectOf(manifest)] } } })),
      ...remove.map((name) => ({ change: { case: "remove" as const, value: name } })),
    ];
    const answer = await this.client.call(SimulationService.method.changeSession, { session: this.id, changes }, options);
    return present(answer.session);
  }

  /** As `Client.schedule`; with mode RESERVE the pods are on their nodes from then on. */
  schedule(pods: Pods | readonly Pods[], options: Omit<ScheduleOptions, "session"> = {}): Promise<Placement[]> {
    return this.client.schedule(pods, { ...options, session: this.id });
  }

  filter(pod: Pod, options: Omit<NodeQuestion, "session"> = {}): Promise<Filtered> {
    return this.client.filter(pod, { ...options, session: this.id });
  }

  score(pod: Pod, options: Omit<NodeQuestion, "session"> = {}): Promise<Scored> {
    return this.client.score(pod, { ...options, session: this.id });
  }

  explain(pod: Pod, options: Omit<NodeQuestion, "session"> & Seeded = {}): Promise<Explanation> {
    return this.client.explain(pod, { ...options, session: this.id });
  }

  /** Remembers what it is now, to go back there. Marks nest. */
  async mark(options: CallOptions = {}): Promise<number> {
    return (await this.client.call(SimulationService.method.markSession, { session: this.id }, options)).mark;
  }

  /** Goes back to a mark, which is gone then; 0 = to what it was opened with. */
  async revert(mark = 0, options: CallOptions = {}): Promise<SessionState> {
    const answer = await this.client.call(SimulationService.method.revertSession, { session: this.id, mark }, options);
    return present(answer.session);
  }

  /** Forgets a mark: what was done since stays. */
  async commit(mark: number, options: CallOptions = {}): Promise<SessionState> {
    const answer = await this.client.call(SimulationService.method.commitSession, { session: this.id, mark }, options);
    return present(answer.session);
  }

  async close(options: CallOptions = {}): Promise<void> {
    await this.client.call(SimulationService.method.closeSession, { session: this.id }, options);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
