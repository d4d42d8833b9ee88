// A binding to Durable Objects for the app in Node: the objects live in workerd, behind the private door. Calls of
// operations go in groups; anything that may wait (a long poll) goes alone, so that nothing waits behind it.

import { type GroupedCall, LATER } from "../../durable-objects/calls/grouped-calls.ts";
import { CallGroup } from "./call-group.ts";
import type { ObjectProcess, Streamed, StreamedRequest } from "./object-process.ts";

/** Where a process has the object. */
export const objectPath = (binding: string, name: string): string => `/${binding}/${encodeURIComponent(name)}`;

type Namespace = Pick<DurableObjectNamespace, "getByName" | "jurisdiction">;

/** `isBesideOthers`: whether other tenants than the object's are active. */
export const objectNamespace = (
  binding: string,
  processOf: (name: string) => ObjectProcess,
  isBesideOthers: (name: string) => boolean = () => false,
): Namespace => {
  const groups = new Map<string, CallGroup>();
  const pathOf = (name: string): string => objectPath(binding, name);

  const groupOf = (name: string): CallGroup => {
    const open = groups.get(name);
    if (open !== undefined) return open;
    const group = new CallGroup(
      (calls) => processOf(name).sendGroup(pathOf(name), calls),
      () => groups.delete(name),
      () => isBesideOthers(name),
    );
    groups.set(name, group);
    return group;
  };

  class Stub {
    readonly #name: string;

    constructor(name: string) {
      this.#name = name;
    }

    async callInGroup(call: GroupedCall): Promise<string> {
      const text = JSON.stringify(call);
      const line = await groupOf(this.#name).add(call, text);
      return line === LATER ? processOf(this.#name).sendAlone(pathOf(this.#name), text) : line;
    }

    fetch(url: string, init?: StreamedRequest): Promise<Streamed> {
      return processOf(this.#name).fetch(pathOf(this.#name), url, init);
    }

    callAlone(method: string, args: readonly unknown[]): Promise<unknown> {
      return processOf(this.#name).call(pathOf(this.#name), method, args);
    }
  }
  Object.setPrototypeOf(Stub.prototype, otherMethods);

  const namespace = {
    getByName: (name: string) => new Stub(name),
    /** On one machine there are no jurisdictions. */
    jurisdiction: () => namespace,
  };
  return namespace as unknown as Namespace;
};

interface Caller {
  readonly callAlone: (method: string, args: readonly unknown[]) => Promise<unknown>;
}

/** A name that a stub lacks is the object's method. `then` is none: awaiting a stub must not call it. */
const otherMethods = new Proxy(
  {},
  {
    get: (_, method, stub: Caller) =>
      typeof method === "symbol" || method === "then"
        ? undefined
        : (...args: readonly unknown[]) => stub.callAlone(method, args),
  },
);
