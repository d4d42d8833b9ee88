// Before history is read: the tenant's object checks the caller's key, and then history gets every earlier change.

import type { AnswerOf, OperationName, RequestOf } from "../../durable-objects/api.ts";
import type { AppContext } from "../http/auth.ts";
import type { TokenFacts } from "../http/key-format.ts";
import { unwrap } from "../http/refused.ts";
import { callTenant, drainTenant } from "./tenant.ts";

export const askAndDrain = async <Name extends OperationName>(
  { env }: AppContext,
  token: TokenFacts,
  name: Name,
  request: RequestOf<Name>,
): Promise<AnswerOf<Name>> => {
  const answer = unwrap(await callTenant(env, token, name, request));
  await drainTenant(env, token);
  return answer;
};
