// A binding to Durable Objects for the app in Node: the objects live in workerd, behind the private connection. `call`
// goes in groups, on the object's line; anything that may wait (a long poll) goes alone by HTTP, so that nothing waits
// behind it.

import type { GroupedCall } from "../../../durable-objects/grouped-calls.ts";
import { CallGroup } from "./call-group.ts";
import type { PrivateLine, Streamed, StreamedRequest } from "./private-line.ts";

type Namespace = Pick<DurableObjectNamespace, "getByName" | "jurisdiction">;

export const objectNamespace = (binding: string, lineTo: (name: string) => PrivateLine): Namespace => {
  const groups = new Map<string, CallGroup>();
  const pathOf = (name: string, method: string): string => `/${binding}/${encodeURIComponent(name)}/${method}`;

  const groupOf = (name: string): CallGroup => {
    const open = groups.get(name);
    if (open !== undefined) return open;
    const path = pathOf(name, "fetch");
    const group = new CallGroup(
      (calls) => lineTo(name).sendGroup(path, calls),
      () => groups.delete(name),
    );
    groups.set(name, group);
    return group;
  };

  class Stub {
    readonly #name: string;

    constructor(name: string) {
      this.#name = name;
    }

    call(credential: GroupedCall["credential"], name: GroupedCall["name"], request: unknown): Promise<unknown> {
      return groupOf(this.#name).add({ credential, name, request });
    }

    fetch(url: string, init?: StreamedRequest): Promise<Streamed> {
      return lineTo(this.#name).fetch(pathOf(this.#name, "fetch"), url, init);
    }

    callAlone(method: string, args: readonly unknown[]): Promise<unknown> {
      return lineTo(this.#name).call(pathOf(this.#name, method), JSON.stringify(args));
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
