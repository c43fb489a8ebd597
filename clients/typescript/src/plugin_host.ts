import { randomUUID } from "node:crypto";
import { chmodSync, rmSync } from "node:fs";

import { create, type DescMethodUnary, fromBinary, type MessageInitShape, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { type handleUnaryCall, Server, ServerCredentials, status } from "@grpc/grpc-js";

import {
  type ActRequest,
  ActResponseSchema,
  type Column,
  type ConfigureRequest,
  type DescribeResponseSchema,
  type EvaluateRequest,
  type EvaluateResponseSchema,
  type MeasurementDescriptionSchema,
  type MeasureRequest,
  Normalizer,
  PluginHostService,
} from "./gen/mooring/plugin_host/v1/plugin_host_service_pb.js";
import { VerdictCode } from "./gen/mooring/v1/verdicts_pb.js";

export { type ActRequest, Normalizer };

/** A text, a number, or none. Objects and lists are JSON documents, true and false are texts. */
export type Value = string | number | undefined;

/** Values by the name under which they were declared. Each method throws if the name was not declared. */
export class Values {
  readonly #value: (name: string) => Value;

  private constructor(value: (name: string) => Value) {
    this.#value = value;
  }

  /** Values for tests: `Values.of({ "metadata.name": "n1", "requested[cpu]": undefined })`. */
  static of(values: Readonly<Record<string, Value>>): Values {
    return Values.declared(new Map(Object.keys(values).map((name) => [name, name])), (name) => values[name]);
  }

  /** Values of declared names; `read` gets what `names` has under a name. */
  static declared<At>(names: ReadonlyMap<string, At>, read: (at: At) => Value): Values {
    return new Values((name) => {
      const at = names.get(name);
      if (at === undefined) throw new Error(`${JSON.stringify(name)} is not declared`);
      return read(at);
    });
  }

  /** The text; "" without one. */
  text(name: string): string {
    const value = this.#value(name);
    return typeof value === "string" ? value : "";
  }

  /** The number, exact up to 2^53; 0 without one. */
  number(name: string): number {
    const value = this.#value(name);
    return typeof value === "number" ? value : 0;
  }

  has(name: string): boolean {
    return this.#value(name) !== undefined;
  }
}

/** A "no". Removing pods from the node may help, unless it is unresolvable. */
export interface Rejection {
  readonly reason: string;
  readonly unresolvable?: boolean;
}

type Answer<T> = T | undefined | Promise<T | undefined>;

/**
 * A function for each point of a plugin. `filter` and `score` are pure functions of their arguments: mooring asks once about each
 * combination of values.
 */
export interface Rule {
  /** Returns why the node can't take the pod. */
  filter?(pod: Values, node: Values): Rejection | undefined;
  /** Returns the score of the node, a whole number. */
  score?(pod: Values, node: Values): number;
  /** Keeps what the pod needs. */
  reserve?(pod: ActRequest): Answer<Rejection>;
  /** Gives it back, also if it was never kept. */
  unreserve?(pod: ActRequest): unknown;
  /** Rejects the pod, or lets it wait for some time. */
  permit?(pod: ActRequest): Answer<Rejection | { readonly waitMs: number }>;
  /** Does what has to be done before the binding. */
  preBind?(pod: ActRequest): Answer<Rejection>;
  /** Takes in that the pod is bound. */
  postBind?(pod: ActRequest): unknown;
  /** Returns the measured values by node. */
  measure?(name: string): Readonly<Record<string, number>> | Promise<Readonly<Record<string, number>>>;
}

/** Declares what a plugin reads, and makes a rule for each profile that names it. */
export interface Plugin {
  /** The name in configurations, in PascalCase. */
  readonly name: string;
  /** The values that it reads of the pod, such as `metadata.labels[app]` or `requests[cpu]`. */
  readonly podFields?: readonly string[];
  /** The values that it reads of a node, such as `metadata.labels[rack]` or `requested[cpu]`. */
  readonly nodeColumns?: readonly string[];
  /** Brings raw scores to 0 to 100; without one they are 0 to 100. */
  readonly normalizer?: Normalizer;
  /** The values of nodes that `measure` measures. */
  readonly measurements?: readonly MessageInitShape<typeof MeasurementDescriptionSchema>[];
  /** Makes a rule of the arguments, null without any; called once with null to find its points. Throws `ArgumentError`. */
  rule(args: unknown): Rule;
}

/** An argument is wrong. `message` says what would be right. */
export class ArgumentError extends Error {
  constructor(readonly field: string, message: string) {
    super(message);
  }
}

const POINTS = ["filter", "score", "reserve", "permit", "preBind", "postBind"] as const;
const OUT_OF_RANGE = 255;

interface Instance {
  readonly plugin: Plugin;
  readonly rule: Rule;
}

class AnotherStartError extends Error {
  readonly code = status.FAILED_PRECONDITION;
  readonly details = "another start of the host is meant";
}

class Host {
  readonly #id = randomUUID();
  readonly #plugins: ReadonlyMap<string, Plugin>;
  readonly #instances: Instance[] = [];

  constructor(readonly version: string, plugins: readonly Plugin[]) {
    this.#plugins = new Map(plugins.map((plugin) => [plugin.name, plugin]));
  }

  describe(): MessageInitShape<typeof DescribeResponseSchema> {
    const plugins = [...this.#plugins.values()].map((plugin) => {
      const rule = plugin.rule(null);
      return {
        name: plugin.name,
        points: POINTS.filter((point) => rule[point] !== undefined),
        podFields: [...plugin.podFields ?? []],
        nodeColumns: [...plugin.nodeColumns ?? []],
        normalizer: plugin.normalizer ?? Normalizer.UNSPECIFIED,
        measurements: [...plugin.measurements ?? []],
      };
    });
    return { hostId: this.#id, hostVersion: this.version, plugins };
  }

  configure(request: ConfigureRequest) {
    const plugin = this.#plugins.get(request.plugin);
    if (request.hostId !== this.#id || plugin === undefined) throw new AnotherStartError();
    try {
      return { instance: this.#instances.push({ plugin, rule: plugin.rule(JSON.parse(request.argsJson)) }) };
    } catch (error) {
      if (!(error instanceof ArgumentError)) throw error;
      return { faults: [{ field: error.field, message: error.message }] };
    }
  }

  evaluate(request: EvaluateRequest): MessageInitShape<typeof EvaluateResponseSchema> {
    const { plugin, rule } = this.#instance(request);
    const pod = Values.declared(indices(plugin.podFields), (at) => {
      const { value } = request.pod[at]!.value;
      return typeof value === "bigint" ? Number(value) : value;
    });
    let at = 0;
    const node = Values.declared(indices(plugin.nodeColumns), (column) => valueOf(request.columns[column]!, at));
    const numbers = new Map<string, number>();
    const rejections: ReturnType<typeof verdict>[] = [];
    const verdicts = new Uint8Array(request.combinations);
    const scores: number[] = Array(request.combinations).fill(0);
    for (; at < request.combinations; at++) {
      const no = rule.filter?.(pod, node);
      if (no) {
        const key = `${no.unresolvable ?? false} ${no.reason}`;
        if (!numbers.has(key)) numbers.set(key, rejections.push(verdict(no)));
        verdicts[at] = numbers.get(key)!;
      } else if (rule.score) {
        scores[at] = rule.score(pod, node);
      }
    }
    const answer = { hostId: this.#id, question: request.question, rejections, verdicts };
    if (!rule.score) return answer;
    if (plugin.normalizer) return { ...answer, rawScores: scores.map(BigInt) };
    // 255 is rejected, as any other score that is out of range should be.
    return { ...answer, scores: Uint8Array.from(scores, (score) => score >= 0 && score < OUT_OF_RANGE ? score : OUT_OF_RANGE) };
  }

  async measure(request: MeasureRequest) {
    const values = await this.#instance(request).rule.measure?.(request.name) ?? {};
    return { values: Object.fromEntries(Object.entries(values).map(([name, value]) => [name, BigInt(value)])) };
  }

  async act(request: ActRequest): Promise<MessageInitShape<typeof ActResponseSchema>> {
    const { rule } = this.#instance(request);
    const said = await rule[request.point as "permit"]?.(request);
    if (!said) return { verdict: { code: VerdictCode.SUCCESS } };
    return "reason" in said ? { verdict: verdict(said) } : { verdict: { code: VerdictCode.WAIT }, wait: durationFromMs(said.waitMs) };
  }

  #instance({ hostId, instance }: { hostId: string; instance: number }): Instance {
    const found = this.#instances[instance - 1];
    if (hostId !== this.#id || found === undefined) throw new AnotherStartError();
    return found;
  }
}

/**
 * Serves plugins on `unix:PATH`, or on a loopback address, and returns the server that does. A socket that is there is replaced; only
 * its user may write to the new one.
 */
export async function serve(address: string, version: string, ...plugins: Plugin[]): Promise<Server> {
  const host = new Host(version, plugins);
  host.describe();
  const { method } = PluginHostService;
  const server = new Server();
  add(server, method.describe, () => host.describe());
  add(server, method.configure, (request) => host.configure(request));
  add(server, method.evaluate, (request) => host.evaluate(request));
  add(server, method.measure, (request) => host.measure(request));
  add(server, method.act, (request) => host.act(request));
  const path = address.startsWith("unix:") ? address.replace(/^unix:(\/\/)?/, "") : "";
  if (path) rmSync(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error) => error ? reject(error) : resolve());
  });
  if (path) chmodSync(path, 0o600);
  return server;
}

function add<M extends DescMethodUnary>(
  server: Server,
  method: M,
  answer: (request: MessageShape<M["input"]>) => MessageInitShape<M["output"]> | Promise<MessageInitShape<M["output"]>>,
): void {
  const handle: handleUnaryCall<MessageShape<M["input"]>, MessageShape<M["output"]>> = (call, callback) => {
    Promise.resolve(call.request).then(answer).then(
      (made) => callback(null, create(method.output, made as MessageInitShape<M["output"]>) as MessageShape<M["output"]>),
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error))),
    );
  };
  const path = `/${method.parent.typeName}/${method.name}`;
  server.addService({
    [method.localName]: {
      path,
      requestStream: false,
      responseStream: false,
      requestSerialize: (message: MessageShape<M["input"]>) => Buffer.from(toBinary(method.input, message)),
      requestDeserialize: (bytes: Buffer) => fromBinary(method.input, bytes),
      responseSerialize: (message: MessageShape<M["output"]>) => Buffer.from(toBinary(method.output, message)),
      responseDeserialize: (bytes: Buffer) => fromBinary(method.output, bytes),
    },
  }, { [method.localName]: handle });
}

function indices(names: readonly string[] = []): ReadonlyMap<string, number> {
  return new Map(names.map((name, at) => [name, at]));
}

function valueOf(column: Column, at: number): Value {
  if (column.texts.length) return column.dictionary[column.texts[at]! - 1];
  return column.absent[at] ? undefined : Number(column.numbers[at]);
}

function verdict({ reason, unresolvable }: Rejection) {
  return { code: unresolvable ? VerdictCode.UNSCHEDULABLE_AND_UNRESOLVABLE : VerdictCode.UNSCHEDULABLE, reasons: [reason] };
}
