import { setTimeout as sleep } from "node:timers/promises";

import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  mergeFromBinary,
  type Message,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { type ServiceError, status } from "@grpc/grpc-js";

import { type Explanation, explanationIn, type Filtered, filteredIn, type Scored, scoredIn } from "./answers.js";
import { Connection, type ConnectionOptions, type Limits } from "./connection.js";
import { MooringError, present, read } from "./errors.js";
import {
  ClusterService,
  type ListNodesRequestSchema,
  type ListNodesResponse,
  type WatchNodesResponse,
} from "./gen/mooring/v1/cluster_service_pb.js";
import { type DecisionFilterSchema, DecisionService, type WatchDecisionsResponse } from "./gen/mooring/v1/decision_service_pb.js";
import { NodeForm, type NodeList, type NodeSelectionSchema } from "./gen/mooring/v1/nodes_pb.js";
import {
  CommitMode,
  type CommitOutcome,
  ExplainResponseSchema,
  FilterResponseSchema,
  type Reservation,
  SchedulingService,
  ScoreResponseSchema,
  type UnreservedPod,
} from "./gen/mooring/v1/scheduling_service_pb.js";
import type { Verdict } from "./gen/mooring/v1/verdicts_pb.js";
import { namesIn, NodeTable, type NodeUpdate } from "./nodes.js";
import { batchOf, type Placement, placementsIn, type Pod, type Pods, type Reference, sourceOf } from "./pods.js";
import { commits, isIdempotent, pauseMs } from "./repeats.js";
import { Session, type SessionOptions } from "./session.js";

/** How a client connects and how patient it is. */
export interface ClientOptions extends ConnectionOptions {
  /** How long an operation may take if it does not say so itself, in milliseconds; default 10,000. */
  readonly timeoutMs?: number;
}

/** What every operation takes. */
export interface CallOptions {
  /** How long it may take, repeats and pauses included, in milliseconds; default that of the client. */
  readonly timeoutMs?: number;
  /** Ends it: the promise is rejected with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** What every question about pods takes. */
export interface Question extends CallOptions {
  /** The nodes to ask about; default all. */
  readonly among?: readonly string[];
  /** The profile; default as the server says. */
  readonly profile?: string;
  /** The id of the session in which it is answered; default the cluster as it is. */
  readonly session?: string;
}

/** What questions about nodes take. */
export interface NodeQuestion extends Question {
  /** Has the answer sent in messages of some megabytes, so that all of it may be larger than a message may be. */
  readonly inParts?: boolean;
}

/** What decisions take. */
export interface Seeded {
  /** Decides between nodes of equal totals; default 0n. */
  readonly seed?: bigint;
}

export interface ScheduleOptions extends Question, Seeded {
  /** What to do with the selected nodes; default a dry run. */
  readonly mode?: CommitMode;
}

/** A place that is kept for a pod. */
export interface Reserved {
  readonly verdict: Verdict;
  readonly outcome: CommitOutcome;
}

export interface DecisionOptions extends CallOptions {
  /** Begins with the decisions after this one; default those that are made from now on. */
  readonly afterSeq?: bigint;
  /** Which decisions; default all. */
  readonly filter?: MessageInitShape<typeof DecisionFilterSchema>;
}

type Selection = MessageInitShape<typeof NodeSelectionSchema>;

const TIMEOUT_MS = 10_000;

/** Asks one server. Every operation is repeated while that is safe and there is time; it fails with a `MooringError`. */
export class Client {
  readonly #address: string;
  readonly #options: ClientOptions;
  readonly #connections = new Map<string, Connection>();
  readonly #table = new NodeTable();
  /** Where calls that commit go, once a server has told it. */
  #leader: string | undefined;

  /** `address` is HOST:PORT or unix:/PATH. It connects with the first call. */
  constructor(address: string, options: ClientOptions = {}) {
    this.#address = address;
    this.#options = options;
  }

  /** Decides about all pods in order; each sees the earlier ones on their nodes. */
  async schedule(pods: Pods | readonly Pods[], options: ScheduleOptions = {}): Promise<Placement[]> {
    const { among, profile = "", session = "", mode = CommitMode.DRY_RUN, seed = 0n } = options;
    const { uids, ...batch } = batchOf("template" in pods ? [pods] : pods);
    // Names, as an index means nothing once its node is gone, and nothing to another replica.
    const nodes = among ? named(among) : { answerForm: NodeForm.NAMES };
    const request = { ...batch, nodes, profile, session, seed, commitMode: mode };
    return placementsIn(await this.call(SchedulingService.method.schedule, request, options), uids);
  }

  /** Says of each node whether the pod may run there. */
  async filter(pod: Pod, options: NodeQuestion = {}): Promise<Filtered> {
    const { profile = "", session = "" } = options;
    const [answer, names] = await this.#named(options, (nodes, limits) => {
      const request = { pod: sourceOf(pod), nodes, profile, session };
      return options.inParts
        ? this.#merged(SchedulingService.method.filterStream, { request }, FilterResponseSchema, ({ part }) => part, limits)
        : this.#call(SchedulingService.method.filter, request, limits);
    });
    return filteredIn(answer, names);
  }

  /** Says how good each node is for the pod, taking all as feasible. */
  async score(pod: Pod, options: NodeQuestion = {}): Promise<Scored> {
    const { profile = "", session = "" } = options;
    const [answer, names] = await this.#named(options, (nodes, limits) => {
      const request = { pod: sourceOf(pod), nodes, profile, session, includeTotals: true, omitPlugins: true };
      return options.inParts
        ? this.#merged(SchedulingService.method.scoreStream, { request }, ScoreResponseSchema, ({ part }) => part, limits)
        : this.#call(SchedulingService.method.score, request, limits);
    });
    return scoredIn(answer, names);
  }

  /** Says where the pod would go, and why, node by node and plugin by plugin. */
  async explain(pod: Pod, options: NodeQuestion & Seeded = {}): Promise<Explanation> {
    const { profile = "", session = "", seed = 0n } = options;
    const [answer, names] = await this.#named(options, (nodes, limits) => {
      const request = { pod: sourceOf(pod), nodes, profile, session, seed };
      return options.inParts
        ? this.#merged(SchedulingService.method.explainStream, { request }, ExplainResponseSchema, ({ part }) => part, limits)
        : this.#call(SchedulingService.method.explain, request, limits);
    });
    return explanationIn(answer, names);
  }

  /** Keeps a place for the pod. Without SUCCESS in the verdict nothing is reserved. */
  async reserve(pod: Pod, node: string, options: CallOptions & { readonly profile?: string } = {}): Promise<Reserved> {
    const { profile = "" } = options;
    const answer = await this.call(SchedulingService.method.reserve, { pod: sourceOf(pod), node, profile }, options);
    return { verdict: present(answer.verdict), outcome: answer.outcome };
  }

  /** Gives up the places of pods, by UID; one answer for each. Doing it twice is safe. */
  async unreserve(uids: readonly string[], options: CallOptions = {}): Promise<UnreservedPod[]> {
    const { pods } = await this.call(SchedulingService.method.unreserveMany, { uids: [...uids] }, options);
    return pods;
  }

  /** Lists the places that the server keeps. */
  async listReservations(options: CallOptions = {}): Promise<Reservation[]> {
    const limits = this.#limits(options);
    const pages = await allPages((pageToken) => this.#call(SchedulingService.method.listReservations, { pageToken }, limits));
    return pages.flatMap(({ reservations }) => reservations);
  }

  /** Binds the pod to the node. Doing it twice is safe. */
  async bind(pod: Reference, node: string, options: CallOptions & { readonly profile?: string } = {}): Promise<CommitOutcome> {
    const { profile = "" } = options;
    return (await this.call(SchedulingService.method.bind, { pod, node, profile }, options)).outcome;
  }

  /** Lists the nodes by index, those with such labels if there is a selector as kubectl takes it. */
  async listNodes(options: CallOptions & { readonly labelSelector?: string } = {}): Promise<NodeUpdate> {
    const request = { form: NodeForm.NAMES, labelSelector: options.labelSelector ?? "" };
    return new NodeTable().apply(await this.#listed(request, this.#limits(options)));
  }

  /** Gives all nodes, then what changes, until it is left or `timeoutMs` is over; without one it has no end. */
  async *watchNodes(options: CallOptions = {}): AsyncGenerator<NodeUpdate, void, undefined> {
    const table = new NodeTable();
    let parts: WatchNodesResponse[] = [];
    const begin = () => {
      parts = [];
      return { form: NodeForm.NAMES, ...(table.epoch !== undefined && { sinceEpoch: table.epoch }) };
    };
    for await (const part of this.#watch(ClusterService.method.watchNodes, begin, options)) {
      parts.push(part);
      if (part.more) continue;
      const update = table.apply(parts);
      parts = [];
      if (update.complete || update.added.length + update.removed.length > 0) yield update;
    }
  }

  /**
   * Gives decisions as they are made, or those after `afterSeq` and then new ones. A reader that is too slow misses some:
   * `missedCount` says how many.
   */
  async *watchDecisions(options: DecisionOptions = {}): AsyncGenerator<WatchDecisionsResponse, void, undefined> {
    let { afterSeq, filter } = options;
    let journalId = "";
    const begin = () => ({ journalId, ...(filter && { filter }), ...(afterSeq !== undefined && { afterSeq }) });
    for await (const answer of this.#watch(DecisionService.method.watchDecisions, begin, options)) {
      ({ journalId, nextAfterSeq: afterSeq } = answer);
      if (answer.decisions.length > 0 || answer.missedCount > 0n) yield answer;
    }
  }

  /** Opens a private version of the cluster, in which everything can be tried. */
  async openSession(options: SessionOptions = {}): Promise<Session> {
    return Session.open(this, options);
  }

  /** Makes any call of the contract, such as `call(PluginService.method.getCapabilities, {})`. */
  async call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    options: CallOptions = {},
  ): Promise<MessageShape<O>> {
    return this.#call(method, request, this.#limits(options));
  }

  /** Ends the connections. Calls that are under way fail. */
  close(): void {
    for (const connection of this.#connections.values()) connection.close();
    this.#connections.clear();
  }

  /** Asks a question whose answer has node indices; the answer, and the names of its nodes. */
  async #named<A extends { readonly nodes?: NodeList }>(
    { among, session, ...options }: Question,
    ask: (nodes: Selection, limits: Limits) => Promise<A>,
  ): Promise<[A, readonly string[]]> {
    const limits = this.#limits(options);
    for (;;) {
      const answer = await this.#selecting(among, session, limits, (nodes) => ask(nodes, limits));
      const list = answer.nodes?.nodes;
      if (list?.case !== "indices") return [answer, list ? namesIn(answer.nodes) : among!];
      let names = this.#table.names(list.value);
      if (!names) {
        await this.#refresh(limits);
        names = this.#table.names(list.value);
      }
      if (names) return [answer, names];
    }
  }

  /** Asks about nodes by index, which is cheaper than by name. */
  async #selecting<A>(
    among: readonly string[] | undefined,
    session: string | undefined,
    limits: Limits,
    ask: (nodes: Selection) => Promise<A>,
  ): Promise<A> {
    if (!among) return ask({ answerForm: session ? NodeForm.NAMES : NodeForm.INDICES });
    if (session) return ask(named(among));
    for (;;) {
      if (!this.#table.indices(among)) await this.#refresh(limits);
      const indices = this.#table.indices(among);
      if (!indices) return ask(named(among));
      try {
        return await ask({ selection: { case: "indices", value: indices }, answerForm: NodeForm.INDICES });
      } catch (error) {
        if (!(error instanceof MooringError && error.reason === "NODE_EPOCH_STALE")) throw error;
        await this.#refresh(limits);
      }
    }
  }

  async #refresh(limits: Limits): Promise<void> {
    const since = this.#table.epoch;
    const request = { form: NodeForm.NAMES, ...(since !== undefined && { sinceEpoch: since }) };
    const pages = await this.#listed(request, limits);
    // Another call may have refreshed it meanwhile: what changed since then is not known.
    if (this.#table.epoch === since) this.#table.apply(pages);
  }

  #listed(request: MessageInitShape<typeof ListNodesRequestSchema>, limits: Limits): Promise<ListNodesResponse[]> {
    return allPages((pageToken) => this.#call(ClusterService.method.listNodes, { ...request, pageToken }, limits));
  }

  /** Follows a stream, with a new call when it ends; `begin` makes its request. */
  async *#watch<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    begin: () => MessageInitShape<I>,
    { timeoutMs = Infinity, signal }: CallOptions,
  ): AsyncGenerator<MessageShape<O>, void, undefined> {
    const limits = this.#limits({ timeoutMs, ...(signal && { signal }) });
    for (let repeat = 0; ; repeat++) {
      const request = create(method.input, begin());
      try {
        for await (const answer of this.#connection(this.#address).stream(method, request, limits)) {
          repeat = 0;
          yield answer;
        }
      } catch (cause) {
        if (signal?.aborted) throw cause;
        const error = read(cause as ServiceError, true);
        if (!error.repeatable || Date.now() + pauseMs(repeat) >= limits.deadline) throw error;
      }
      await rest(pauseMs(repeat), signal);
    }
  }

  async #call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    init: MessageInitShape<I>,
    limits: Limits,
  ): Promise<MessageShape<O>> {
    const request = create(method.input, init);
    return this.#repeated(method, request, limits, (connection) => connection.unary(method, request, limits));
  }

  /** Makes a call whose answer comes in parts. */
  async #merged<I extends DescMessage, O extends DescMessage, A extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    init: MessageInitShape<I>,
    schema: A,
    partOf: (answer: MessageShape<O>) => MessageShape<A> | undefined,
    limits: Limits,
  ): Promise<MessageShape<A>> {
    const request = create(method.input, init);
    return this.#repeated(method, request, limits, async (connection) => {
      const whole = create(schema);
      for await (const answer of connection.stream(method, request, limits)) {
        mergeFromBinary(schema, whole, toBinary(schema, present(partOf(answer))));
      }
      return whole;
    });
  }

  async #repeated<A>(
    method: DescMethod,
    request: Message,
    limits: Limits,
    attempt: (connection: Connection) => Promise<A>,
  ): Promise<A> {
    const idempotent = isIdempotent(method);
    const committing = commits(method, request);
    let earlier: MooringError | undefined;
    for (let repeat = 0; ; repeat++) {
      const address = (committing && this.#leader) || this.#address;
      try {
        return await attempt(this.#connection(address));
      } catch (cause) {
        if (limits.signal?.aborted) throw cause;
        const error = read(cause as ServiceError, idempotent);
        // An earlier failure says more than that the time is over.
        if (earlier && idempotent && error.code === status.DEADLINE_EXCEEDED && error.reason === "") throw earlier;
        earlier = error;
        const pause = pauseMs(repeat);
        if (!error.repeatable || error.reason === "NODE_EPOCH_STALE" || Date.now() + pause >= limits.deadline) throw error;
        if (error.reason === "NOT_LEADER") this.#leader = error.metadata.leader_address;
        else if (error.reason === "") this.#leader = undefined;
        await rest(pause, limits.signal);
      }
    }
  }

  #connection(address: string): Connection {
    let connection = this.#connections.get(address);
    if (!connection) {
      connection = new Connection(address, this.#options);
      this.#connections.set(address, connection);
    }
    return connection;
  }

  #limits({ timeoutMs = this.#options.timeoutMs ?? TIMEOUT_MS, signal }: CallOptions): Limits {
    return { deadline: Date.now() + timeoutMs, signal };
  }
}

function named(names: readonly string[]): Selection {
  return { selection: { case: "names", value: { names: [...names] } }, answerForm: NodeForm.NAMES };
}

function rest(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return sleep(ms, undefined, { signal }).catch(() => signal?.throwIfAborted());
}

/** All pages of a list, from the beginning again if the server has forgotten them meanwhile. */
async function allPages<A extends { readonly nextPageToken: string }>(ask: (pageToken: string) => Promise<A>): Promise<A[]> {
  let pages: A[] = [];
  for (let token = ""; ; ) {
    try {
      const page = await ask(token);
      pages.push(page);
      token = page.nextPageToken;
      if (token === "") return pages;
    } catch (error) {
      if (!(error instanceof MooringError && error.reason === "PAGE_TOKEN_STALE" && token !== "")) throw error;
      [pages, token] = [[], ""];
    }
  }
}
