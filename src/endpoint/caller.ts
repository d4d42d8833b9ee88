// Who asks: the key's tag is checked here, the key itself and its permissions in the tenant's object.

import { slowDown } from "../http/admission.ts";
import { type AppContext, authenticateCaller, authenticateOperator, knownCaller } from "../http/auth.ts";
import type { TokenFacts } from "../http/key-format.ts";
import { unwrap } from "../http/refused.ts";
import { authorizeFor } from "../tenant/tenant.ts";
import type { Needs } from "./description.ts";

/** Checks only the key's tag, before the request is read; the handler's call checks the key in the tenant's object. */
export const authenticate = async (c: AppContext, needs: Needs): Promise<TokenFacts | undefined> => {
  if (needs === "none") return undefined;
  try {
    if (needs === "root") return void (await authenticateOperator(c, (token) => authorize(c, "consult", token)));
    const token = { ...(knownCaller(c) ?? (await authenticateCaller(c))), requestId: c.get("requestId") };
    c.set("caller", token);
    return token;
  } catch (error) {
    await slowDown(c);
    throw error;
  }
};

export const authorize = async (c: AppContext, needs: Needs, token: TokenFacts | undefined): Promise<void> => {
  if (needs === "none" || needs === "root" || token === undefined) return;
  unwrap(await authorizeFor(c.env, token, needs));
};

/** A caller without permission learns only that, not what is wrong with the request. */
export const refuseStrangerFirst = async (
  c: AppContext,
  needs: Needs,
  token: TokenFacts | undefined,
  error: unknown,
): Promise<never> => {
  await authorize(c, needs, token);
  throw error;
};
