// What an endpoint takes from the operation it calls: name, permission, refusals.

import type { WriteKind } from "../../domain/killswitch.ts";
import type { RefusalCode } from "../../domain/words/refusal.ts";
import { OPERATIONS, type OperationName, refusalsOf } from "../../durable-objects/api.ts";
import type { Lane } from "../home.ts";

interface OperationFacts<Name extends OperationName> {
  readonly needs: (typeof OPERATIONS)[Name]["needs"];
  readonly operationId: string | undefined;
  readonly refuses: readonly RefusalCode[];
  readonly lane?: Lane;
  readonly grows?: WriteKind;
}

/** `more` lists refusals of the endpoint beyond those of its operation. */
export const asks = <Name extends OperationName>(
  name: Name,
  ...more: readonly RefusalCode[]
): OperationFacts<Name> => ({
  needs: OPERATIONS[name].needs,
  // Many endpoints ask for a permission, so that operation gives none of them its name.
  operationId: name.startsWith("authorize") ? undefined : name,
  refuses: [...refusalsOf(name), ...more],
  ...(OPERATIONS[name].needsRoom && OPERATIONS[name].needs === "operate" ? { grows: OPERATIONS[name].kind } : {}),
  ...("isVital" in OPERATIONS[name] ? { lane: "vital" as const } : {}),
});
