// What an endpoint asks of the tenant's object: a refusal is thrown.

import type { AnswerOf, OperationName, RequestOf } from "../../durable-objects/api.ts";
import { answer } from "../http/answer.ts";
import type { AppContext } from "../http/auth.ts";
import type { TokenFacts } from "../http/key-format.ts";
import { unwrap } from "../http/refused.ts";
import { callTenant, callTenantForText, drainTenant } from "./tenant.ts";

export const ask = async <Name extends OperationName>(
  { env }: AppContext,
  token: TokenFacts,
  name: Name,
  request: RequestOf<Name>,
): Promise<AnswerOf<Name>> => unwrap(await callTenant(env, token, name, request));

/** Answers with what the object wrote, unread; with 204 only that it is done. */
export const askAndAnswer = async <Name extends OperationName>(
  c: AppContext,
  token: TokenFacts,
  name: Name,
  request: RequestOf<Name>,
  status = 200,
): Promise<Response> => {
  const written = unwrap(await callTenantForText(c.env, token, name, request));
  return status === 204 ? c.body(null, status) : answer(c, written, status);
};

/** Before history is read: the object checks the caller's key, and then history gets every earlier change. */
export const askAndDrain = async <Name extends OperationName>(
  c: AppContext,
  token: TokenFacts,
  name: Name,
  request: RequestOf<Name>,
): Promise<AnswerOf<Name>> => {
  const asked = await ask(c, token, name, request);
  await drainTenant(c.env, token);
  return asked;
};
