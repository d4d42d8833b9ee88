// An endpoint that is one operation of the tenant's object: its permission and refusals are the operation's, and its
// answer is what the object wrote.

import type { OPERATIONS, OperationName, RequestOf } from "../../durable-objects/api.ts";
import type { AppContext } from "../http/auth.ts";
import type { TokenFacts } from "../http/key-format.ts";
import { askAndAnswer } from "../tenant/ask.ts";
import { asks } from "../tenant/asks.ts";
import type { Description } from "./description.ts";
import { type Endpoint, endpoint, type Input } from "./router.ts";

type Told = Omit<Description, "needs">;
type OfOperation<Name extends OperationName, D extends Told> = D & {
  readonly needs: (typeof OPERATIONS)[Name]["needs"];
};

/** The description's `refuses` adds to what the operation refuses; its first answer is that of success. */
export const operation = <Name extends OperationName, const D extends Told>(
  name: Name,
  description: D,
  requestOf: (input: Input<OfOperation<Name, D>>, c: AppContext) => RequestOf<Name> | Promise<RequestOf<Name>>,
): Endpoint => {
  const { refuses, ...facts } = asks(name, ...(description.refuses ?? []));
  const status = Number(Object.keys(description.answers)[0]);
  return endpoint({ ...facts, ...description, refuses }, async (c, input) =>
    askAndAnswer(c, input.token as TokenFacts, name, await requestOf(input, c), status),
  );
};
