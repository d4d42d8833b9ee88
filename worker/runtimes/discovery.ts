// Finds the local model runtime on this machine. Its answers show what kind it is; its port does not, because any
// program may listen on 8000 or 8080.

import { isObject, type JsonObject, parseJson } from "../../contract/text/json-object.ts";
import { entryOf, LOCAL_RUNTIMES, SOUGHT_RUNTIMES } from "../../contract/words/values.ts";
import { MAX_TOLD_BYTES, textWithin } from "../calls/text-within.ts";
import { runtimeOrigin } from "./open-runtime.ts";
import { runtimeFetch } from "./runtime-fetch.ts";

const PROBE_TIMEOUT_MS = 1_500;

/** The kind of runtime by the owner in the rows of `/v1/models`. */
const KIND_OF_OWNER: Readonly<Record<string, string>> = {
  library: "ollama",
  organization_owner: "lmstudio",
  llamacpp: "llamacpp",
  vllm: "vllm",
  sglang: "sglang",
};

type FoundRuntime = { name: string; url: string };

export const discoverRuntime = async (
  origins: readonly { name: string; origin: string }[] = SOUGHT_RUNTIMES.flatMap((name) => {
    const origin = LOCAL_RUNTIMES[name].address;
    return origin === null ? [] : [{ name, origin }];
  }),
): Promise<FoundRuntime | null> => {
  const found = await Promise.all(
    origins.map(async ({ name, origin }) => {
      const kind = await identifyRuntime(origin, name);
      return kind === null ? null : { name: kind, url: origin };
    }),
  );
  return found.find((runtime) => runtime !== null) ?? null;
};

/** The kind of runtime at `url`; `otherwise` if it has the API but does not say what it is; null if it has not. */
export const identifyRuntime = async (url: string, otherwise = "openai-compatible"): Promise<string | null> => {
  const origin = runtimeOrigin(url);
  const [version, models, native] = await Promise.all([
    probe(`${origin}/api/version`),
    probe(`${origin}/v1/models`),
    probe(`${origin}/api/v0/models`),
  ]);
  if (typeof version?.version === "string") return "ollama";
  if (rowsOf(native?.data).some((row) => "state" in row)) return "lmstudio";
  if (models === null || !(models.object === "list" || Array.isArray(models.data))) return null;
  if (Array.isArray(models.models) && Array.isArray(models.data)) return "llamacpp";
  const owners = rowsOf(models.data).map((row) => String(row.owned_by ?? "").toLowerCase());
  return owners.map((owner) => entryOf(KIND_OF_OWNER, owner)).find((kind) => kind !== undefined) ?? otherwise;
};

const probe = async (url: string): Promise<JsonObject | null> => {
  try {
    const response = await runtimeFetch(url, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    const body = response.ok ? parseJson(await textWithin(response, MAX_TOLD_BYTES)) : null;
    return isObject(body) ? body : null;
  } catch {
    return null;
  }
};

const rowsOf = (data: unknown): JsonObject[] => (Array.isArray(data) ? data.filter(isObject) : []);
