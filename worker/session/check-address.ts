// Says what is wrong with the coordinator's address: nothing answers there, or something else does.

import { reasonOf } from "../../contract/text/error-causes.ts";
import { isObject, parseJson } from "../../contract/text/json-object.ts";

const CHECK_TIMEOUT_MS = 10_000;

type AddressCheck =
  | { kind: "coordinator" }
  /** May succeed later. */
  | { kind: "unreachable"; reason: string }
  /** Trying again cannot help. */
  | { kind: "wrong"; reason: string };

export const checkAddress = async (apiUrl: string, send: typeof fetch = fetch): Promise<AddressCheck> => {
  let response: Response;
  let body: unknown;
  try {
    const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
    response = await send(`${apiUrl}/health`, { redirect: "manual", signal });
    body = parseJson(await response.text());
  } catch (error) {
    return { kind: "unreachable", reason: `nothing answers at ${apiUrl} (SERVICE_API_URL): ${reasonOf(error)}` };
  }
  const { status } = response;
  if (isObject(body) && typeof body.status === "string") return { kind: "coordinator" };
  // A gateway whose coordinator is down, or too many requests.
  if (status === 429 || status === 408 || status >= 500) {
    return { kind: "unreachable", reason: `GET ${apiUrl}/health answered HTTP ${status}` };
  }
  const what = `what answers at SERVICE_API_URL ${apiUrl} is not a Signalbox coordinator: GET /health answered HTTP ${status}`;
  return { kind: "wrong", reason: `${what}. Set it to the address that the coordinator prints when it starts` };
};
