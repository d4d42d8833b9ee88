// The values of the operator's environment that the edge, the objects and the local worker read later, where nobody sees
// what is wrong with them: each ends the start here.

import { days } from "../../contract/config/config.ts";
import { tenantName } from "../../contract/tenant.ts";
import { headerPairs } from "../../contract/text/header-pairs.ts";
import { publicOriginOf } from "../../contract/text/public-origin.ts";
import { isMaxGb } from "../../domain/tenant/max-gb.ts";
import { logProblem } from "../../log/log.ts";
import { requireRootKey, requireSigningSecret } from "../data/kept-secret.ts";
import { ExitError } from "../exit-error.ts";

export const requireValues = (env: NodeJS.ProcessEnv): void => {
  const wrongLog = logProblem(env);
  if (wrongLog !== null) throw new ExitError(wrongLog, 2);
  for (const name of ["SERVICE_TENANT_MAX_GB", "SERVICE_HISTORY_MAX_GB"] as const) requireMaxGb(name, env[name]);
  for (const name of KEPT_DAYS) requireDays(name, env[name]);
  for (const name of SWITCHES) requireSwitch(name, env[name]);
  requirePublicUrl(env);
  requireAddress("SERVICE_OTLP_URL", env.SERVICE_OTLP_URL, "http://127.0.0.1:4318/v1/traces");
  requireHeaders(env.SERVICE_OTLP_HEADERS);
  requireAddress("SERVICE_RUNTIME_URL", env.SERVICE_RUNTIME_URL, "http://127.0.0.1:11434");
  requireAddress("VAULT_ADDR", env.VAULT_ADDR, "https://vault.example.com:8200");
  requireTenants(env.SERVICE_EDGE_TENANTS);
  requireRootKey(env.SERVICE_ROOT_KEY);
  for (const name of ["SERVICE_SIGNING_SECRET", "SERVICE_SIGNING_SECRET_ALSO"] as const)
    requireSigningSecret(name, env[name]);
};

const SWITCHES = [
  "SERVICE_ARCHIVE",
  "SERVICE_CATALOG_LOCAL",
  "SERVICE_CATALOG_SYNC",
  "SERVICE_COMPACT",
  "SERVICE_LOG_REQUESTS",
  "SERVICE_SIGN_IN_PRIVATE",
  "SERVICE_WEBHOOKS_PRIVATE",
] as const;

/** Another word, such as `false`, would leave the switch as it is, and the operator would not know. */
const requireSwitch = (name: string, text: string | undefined): void => {
  if (!text || text === "0" || text === "1") return;
  throw new ExitError(`${name} is "${text}": use 1 or 0.`, 2);
};

/** The objects read it, but here the operator sees the message. */
const requireMaxGb = (name: string, text: string | undefined): void => {
  if (!text || isMaxGb(text)) return;
  throw new ExitError(`${name} is "${text}": use a number of GB, e.g. 20 or 0.5.`, 2);
};

/** A link below a path would lead elsewhere. */
const requirePublicUrl = ({ SERVICE_PUBLIC_URL: text }: NodeJS.ProcessEnv): void => {
  if (!text || (publicOriginOf({ SERVICE_PUBLIC_URL: text }) !== null && new URL(text).pathname === "/")) return;
  throw new ExitError(
    `SERVICE_PUBLIC_URL is "${text}": use an address without a path, e.g. https://jobs.example.com.`,
    2,
  );
};

/** The objects would lose every span, the local worker would end again and again, and no key would be found. */
const requireAddress = (name: string, text: string | undefined, example: string): void => {
  if (!text?.trim() || /^https?:$/.test(URL.parse(text)?.protocol ?? "")) return;
  throw new ExitError(`${name} is "${text}": use an address, e.g. ${example}.`, 2);
};

/** They may be secrets, so the message does not repeat them. */
const requireHeaders = (text: string | undefined): void => {
  if (!text || areHeaders(text)) return;
  throw new ExitError(
    "SERVICE_OTLP_HEADERS is no list of headers: use name=value,name=value with percent-encoded values.",
    2,
  );
};

const areHeaders = (text: string): boolean => {
  if (text.split(",").some((part) => part.trim() !== "" && !part.includes("="))) return false;
  try {
    return new Headers(headerPairs(text)) !== null;
  } catch {
    return false;
  }
};

/** A name that no tenant has would lend the operator's keys to nobody. */
const requireTenants = (text: string | undefined): void => {
  for (const name of (text ?? "").split(",").map((one) => one.trim())) {
    if (name === "" || name === "*" || tenantName.safeParse(name).success) continue;
    throw new ExitError(`SERVICE_EDGE_TENANTS has "${name}": use tenants' names, divided by commas, or *.`, 2);
  }
};

const KEPT_DAYS = ["SERVICE_HISTORY_KEEP_DAYS", "SERVICE_HISTORY_KEEP_TEXTS_DAYS"] as const;

/** Without a number history would be kept for ever. */
const requireDays = (name: string, text: string | undefined): void => {
  if (!text || days.safeParse(Number(text)).success) return;
  throw new ExitError(`${name} is "${text}": use a whole number of days, e.g. 90.`, 2);
};
