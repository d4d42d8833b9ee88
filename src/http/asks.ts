// What an endpoint takes over from the operation that it calls: its name, who may call it, what it refuses.

import type { RefusalCode } from "../../domain/refusal.ts";
import { OPERATIONS, type OperationName, refusalsOf } from "../../durable-objects/api.ts";
import type { Lane } from "./lanes.ts";

interface Asked<Name extends OperationName> {
  readonly needs: (typeof OPERATIONS)[Name]["needs"];
  readonly operationId: string | undefined;
  readonly refuses: readonly RefusalCode[];
  readonly lane?: Lane;
}

/** `more` names what the endpoint refuses beside its operation. */
export const asks = <Name extends OperationName>(name: Name, ...more: readonly RefusalCode[]): Asked<Name> => ({
  needs: OPERATIONS[name].needs,
  // Whether a key may do something is asked by many endpoints, and names none of them.
  operationId: name.startsWith("authorize") ? undefined : name,
  refuses: [...refusalsOf(name), ...more],
  ...("isVital" in OPERATIONS[name] ? { lane: "vital" as const } : {}),
});
