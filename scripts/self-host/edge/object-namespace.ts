// A binding to Durable Objects for the app in Node: the objects live in workerd, behind the private connection. `call`
// goes in groups; anything that may wait (a long poll) goes alone, so that nothing waits behind it.

import { CallGroup } from "./call-group.ts";
import type { PrivateLine } from "./private-line.ts";

type Method = (...args: readonly unknown[]) => Promise<unknown>;

export const objectNamespace = (
  binding: string,
  lineTo: (name: string) => PrivateLine,
): Pick<DurableObjectNamespace, "getByName" | "jurisdiction"> => {
  const groups = new Map<string, CallGroup>();
  const pathOf = (name: string, method: string): string => `/${binding}/${encodeURIComponent(name)}/${method}`;

  const groupOf = (name: string): CallGroup => {
    const open = groups.get(name);
    if (open !== undefined) return open;
    const send = (calls: string): Promise<unknown> => lineTo(name).call(pathOf(name, "callMany"), calls);
    const group = new CallGroup(send, () => groups.delete(name));
    groups.set(name, group);
    return group;
  };

  const stubOf = (name: string): Record<string, Method | undefined> =>
    new Proxy<Record<string, Method | undefined>>(
      {
        call: (credential, operation, request) =>
          groupOf(name).add({ credential, name: operation, request } as Parameters<CallGroup["add"]>[0]),
        fetch: (url, init) => lineTo(name).fetch(pathOf(name, "fetch"), url as string, init as { method?: string }),
        // Awaiting a stub must not call a method of that name.
        // biome-ignore lint/suspicious/noThenProperty: says that there is none
        then: undefined,
      },
      {
        get: (own, method: string) =>
          method in own
            ? own[method]
            : (...args: readonly unknown[]) => lineTo(name).call(pathOf(name, method), JSON.stringify(args)),
      },
    );

  const namespace = {
    getByName: stubOf,
    /** On one machine there are no jurisdictions. */
    jurisdiction: () => namespace,
  };
  return namespace as unknown as ReturnType<typeof objectNamespace>;
};
