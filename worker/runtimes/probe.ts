// Asks a runtime whether it answers, which models it lists, and which APIs it has. An empty request shows whether an
// API exists: 404 and 405 mean no, a complaint about the request means yes.

import { APICallError } from "ai";
import { isNeverReached, reasonOf } from "../../contract/text/error-causes.ts";
import { lineOf } from "../../contract/text/start-of.ts";
import { APIS, type Api } from "../../contract/words/values.ts";
import { KEY_HEADERS } from "../apis/provider-dialects.ts";
import type { ModelList, RuntimeState } from "../calls/runtime.ts";
import { MAX_TOLD_BYTES, textWithin } from "../calls/text-within.ts";
import type { ApiPlaces } from "./api-places.ts";
import { StillLoading, saysLoading } from "./loading.ts";
import { runtimeFetch } from "./runtime-fetch.ts";

const PROBE_TIMEOUT_MS = 5_000;
const MAX_PROBE_CHARS = 4096;
const MAX_REASON_CHARS = 200;
const NO_RUNTIME = "is no model runtime: it lists no models and has no API";

type ProbeOptions = {
  address: string;
  /** The other places of an API. */
  places?: ApiPlaces;
  models: ModelList;
  key: () => Promise<string | null>;
  /** The APIs to probe; a hosted provider's entry states the others. */
  asks: readonly Api[];
  has: readonly Api[];
};

export const probeRuntime = async (options: ProbeOptions, before: RuntimeState | null): Promise<RuntimeState> => {
  try {
    const models = await options.models(AbortSignal.timeout(PROBE_TIMEOUT_MS));
    // An unchanged list means the same runtime, so its APIs are probed only in a full look.
    const isKnown = before !== null && before.unavailable === null && String(before.models) === String(models);
    const apis = isKnown ? before.apis : [...options.has, ...(await presentApis(options))];
    // Another program at the same port, which would fail every job.
    const unavailable = models === null && apis.length === 0 ? `the runtime at ${options.address} ${NO_RUNTIME}` : null;
    return { unavailable, apis, models };
  } catch (error) {
    return {
      unavailable: whyUnavailable(options.address, error),
      apis: before?.apis ?? [],
      models: before?.models ?? null,
    };
  }
};

const presentApis = async ({ address, asks, key, places }: ProbeOptions): Promise<Api[]> => {
  const secret = await key();
  const headers = {
    "content-type": "application/json",
    ...(secret === null ? {} : KEY_HEADERS.openai(secret)),
  };
  const found = await Promise.all(
    asks.map(async (api) => {
      for (const url of places?.of(api) ?? [`${address}/${api}`]) {
        if (!(await isThere(url, headers))) continue;
        places?.note(api, url);
        return [api];
      }
      return [];
    }),
  );
  const present = new Set(found.flat());
  return APIS.filter((api) => present.has(api));
};

const isThere = async (url: string, headers: Record<string, string>): Promise<boolean> => {
  const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
  const response = await runtimeFetch(url, { method: "POST", headers, body: "{}", signal }).catch(() => null);
  if (response === null) return false;
  const said = (await textWithin(response, MAX_TOLD_BYTES).catch(() => "")).slice(0, MAX_PROBE_CHARS);
  if (saysLoading(response.status, said)) throw new StillLoading();
  // Ollama answers 404 for the model that an empty request does not name; LM Studio answers 200 for unknown paths.
  if (response.status === 404) return /model/i.test(said) && !/not found: \/|404 page/i.test(said);
  if (response.ok) return !/unexpected endpoint/i.test(said);
  return response.status !== 405 && response.status !== 501;
};

const whyUnavailable = (address: string, error: unknown): string => {
  const status = APICallError.isInstance(error) ? error.statusCode : undefined;
  const where = `the runtime at ${address}`;
  if (error instanceof StillLoading) return `${where} is loading its model`;
  if (status === 401 || status === 403) return `${where} refuses the key`;
  if (status !== undefined) return `${where} answers with HTTP ${status}`;
  const reason = lineOf(reasonOf(error), MAX_REASON_CHARS);
  if (APICallError.isInstance(error) && error.cause === undefined) return `${where} is no model runtime: ${reason}`;
  return isNeverReached(error) ? `${where} cannot be reached: ${reason}` : `${where} does not answer: ${reason}`;
};
