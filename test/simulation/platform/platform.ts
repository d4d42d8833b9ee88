// The platform under the object: the real class `Tenant` in plain Node, with its clock, randomness, timers, sockets and
// log controlled by the simulation. Globals are set once; `current` says which world they belong to now.

import "./stand-in.ts";
import type { Refusal, RefusalCode } from "../../../domain/words/refusal.ts";
import type { Result } from "../../../domain/words/result.ts";
import type { OperationName } from "../../../durable-objects/api.ts";
import type { Tenant } from "../../../durable-objects/tenant.ts";
import type { Turn } from "../../../durable-objects/turn/turn.ts";
import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";
import { SimulatedSocket } from "./sockets.ts";

export interface Surrounding {
  readonly clock: Clock;
  readonly random: Random;
  /** What the object logged as an error. */
  readonly logged: (values: readonly unknown[]) => void;
  readonly fetch: (url: string, init: { headers: Record<string, string> }) => Promise<unknown>;
  /** A turn of an operation began. */
  readonly turnBegan: (turn: Turn) => void;
}

let current: Surrounding | null = null;

export const enter = (surrounding: Surrounding): void => {
  current = surrounding;
};

const here = (): Surrounding => {
  if (current === null) throw new Error("no simulation is under way");
  return current;
};

/** Those that wait until no promise can continue. */
const resting: (() => void)[] = [];

/** Continues one, and the next only when all that follows from it is done. */
const wakeOne = (): void => {
  resting.shift()?.();
  if (resting.length > 0) queueMicrotask(() => process.nextTick(wakeOne));
};

/** Lets every pending promise continue: Node's next tick comes when none can, and is cheaper than an immediate. */
export const breathe = (): Promise<void> =>
  new Promise((resolve) => {
    if (resting.push(resolve) === 1) process.nextTick(wakeOne);
  });

const realSetImmediate = setImmediate;

/** The same, and Node reports promises that failed and that nobody heard. */
export const breatheOut = (): Promise<void> => new Promise((resolve) => realSetImmediate(resolve));

class SimulatedResponse {
  readonly status: number;
  readonly webSocket: unknown;

  constructor(_body: unknown, init: { status: number; webSocket?: unknown }) {
    this.status = init.status;
    this.webSocket = init.webSocket;
  }

  static json(_body: unknown, init: { status: number }): SimulatedResponse {
    return new SimulatedResponse(null, init);
  }
}

const standIns = {
  setTimeout: (run: () => void, delayMs?: number) => here().clock.setTimeout(run, delayMs),
  clearTimeout: (id: number | undefined) => here().clock.clearTimeout(id),
  fetch: (url: string, init: { headers: Record<string, string> }) => here().fetch(url, init),
  Response: SimulatedResponse,
  WebSocketPair: class {
    constructor() {
      const socket = new SimulatedSocket();
      Object.assign(this, { 0: socket, 1: socket });
    }
  },
  WebSocketRequestResponsePair: class {},
};

export type TenantClass = new (state: unknown, env: unknown) => Tenant;

let loaded: TenantClass | null = null;

/** The real class, loaded once with `cloudflare:workers` replaced. */
export const loadTenant = async (): Promise<TenantClass> => {
  if (loaded !== null) return loaded;
  const [{ Tenant: real }, { OPERATIONS, refusalsOf }] = await Promise.all([
    import("../../../durable-objects/tenant.ts"),
    import("../../../durable-objects/api.ts"),
  ]);
  observe(OPERATIONS as unknown as Record<OperationName, Observed>, refusalsOf);
  Object.assign(globalThis, standIns);
  Date.now = () => here().clock.nowAt;
  Math.random = () => here().random.next();
  Object.defineProperty(crypto, "getRandomValues", {
    configurable: true,
    value: (bytes: Uint8Array) => {
      for (let at = 0; at < bytes.length; at += 1) bytes[at] = Math.floor(here().random.next() * 256);
      return bytes;
    },
  });
  // Signatures are made elsewhere on the machine, in a random time.
  const subtle = { importKey: async () => null, sign: async () => new ArrayBuffer(4) };
  Object.defineProperty(crypto, "subtle", { configurable: true, value: subtle });
  AbortSignal.timeout = () => new AbortController().signal;
  console.error = (...values: unknown[]) => here().logged(values);
  loaded = real as unknown as TenantClass;
  return loaded;
};

type Run = (turn: Turn, request: unknown) => Result<unknown, Refusal>;

interface Observed {
  run: Run;
  /** What `run` was, so that it is observed once even where this module is loaded again. */
  unobserved?: Run;
}

/** What any operation may refuse, besides the refusals of its row. */
const COMMON_REFUSALS: readonly RefusalCode[] = ["invalid_request", "authentication_failed", "forbidden"];

/** Tells the world of each turn, and checks each operation's refusals against its row. */
const observe = (
  operations: Record<OperationName, Observed>,
  refusalsOf: (name: OperationName) => readonly RefusalCode[],
): void => {
  for (const [name, operation] of Object.entries(operations) as [OperationName, Observed][]) {
    operation.unobserved ??= operation.run;
    const real = operation.unobserved;
    operation.run = (turn, request) => {
      here().turnBegan(turn);
      const result = real(turn, request);
      if (!result.ok && ![...COMMON_REFUSALS, ...refusalsOf(name)].includes(result.error.code))
        throw new Error(`${name} refused with ${result.error.code}, which its row of OPERATIONS does not list`);
      return result;
    };
  }
};
