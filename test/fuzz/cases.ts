// Requests to one operation, made from its description: the caller, path, query, headers and body, and the expected
// outcome if the request alone decides it.

import fc from "fast-check";
import type { OpenApi, Operation, Schema } from "./document.ts";
import { hostile, nearlyValid, type Resolve, toWire, UNKNOWN_NAMES, valid } from "./values.ts";
import type { WireRequest } from "./wire.ts";
import { bytes, ROLES, type Role, type World } from "./world.ts";

/** What is wrong with a case, if it is exactly one thing. */
export type Flaw = "none" | "any" | "unknown field" | "repeated parameter" | "unknown parameter" | "not JSON" | "media";

export interface Case {
  readonly role: Role;
  readonly flaw: Flaw;
  /** The unknown field's name. */
  readonly named: string | null;
  /** Escaped path segments; `#3` stands for the third known id. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: readonly (readonly [string, string])[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
}

const PATHS = [
  ...["%00", "%ff", "%", "%zz", "a%2Fb", "__proto__", "constructor", "x".repeat(300), "%F0%9F%A6%8A", "-1", "*"],
  ...["a%20b", "%22%3E%3Cb%3E", "null", "0", "y".repeat(5000), "%ED%A0%80", "..%2f..%2fhealth", "%0d%0aX-A:1"],
];
const QUERIES = [
  "",
  "%00",
  "%ff",
  "%",
  "-1",
  "1e2",
  "0x10",
  "9007199254740993",
  "NaN",
  "a".repeat(3000),
  "[]",
  "%F0%9F",
];
const HEADERS: readonly Readonly<Record<string, string>>[] = [
  {},
  {},
  { accept: "application/yaml" },
  { accept: "image/png" },
  { "x-request-id": "asked-for" },
  { "x-request-id": "two words\u00e9" },
  { "idempotency-key": "a-key" },
  { "idempotency-key": "" },
  { "idempotency-key": "k".repeat(300) },
  { "idempotency-key": "caf\u00e9 au lait" },
  { "if-match": '"nothing"' },
  { "if-none-match": "*" },
  { range: "bytes=0-1" },
  { origin: "https://evil.example", cookie: "signalbox=1; signalbox=2" },
  { "x-http-method-override": "DELETE" },
  { "x-forwarded-host": "evil.example", "x-signalbox-credential": '{"kind":"key"}' },
];
const UPGRADE = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
};
const NOT_JSON: readonly (string | Uint8Array)[] = [
  ...'{|}|{a:1}|{\'a\':1}|[1,]|nul|"|\u0000|{"a":1}x|NaN|// c\n{}'.split("|"),
  ...[[0xff], [0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d], [0xfe, 0xff, 0, 0x7b, 0, 0x7d], [0xc0, 0x80]].map(
    (list) => Uint8Array.from(list),
  ),
  "[".repeat(50_000),
];
const MEDIA = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "json", "*/*"];

export const resolver =
  (document: OpenApi): Resolve =>
  (schema: Schema) =>
    schema.$ref === undefined ? schema : (document.components.schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {});

/** The platform refuses longer addresses with 414 before the service sees them. */
const MAX_QUERY_CHARS = 3000;

const asText = (value: unknown): string => {
  const text = typeof value === "string" ? value.toWellFormed() : toWire(value);
  return encodeURIComponent(text.slice(0, MAX_QUERY_CHARS).toWellFormed());
};

const REAL = fc.nat({ max: 23 }).map((nth) => `#${nth}`);

const goodPath = ({ parameters }: Operation): fc.Arbitrary<Record<string, string>> =>
  fc.record(Object.fromEntries(parameters.filter((one) => one.in === "path").map(({ name }) => [name, REAL])));

const badPath = ({ parameters }: Operation): fc.Arbitrary<Record<string, string>> => {
  const segment = fc.oneof({ weight: 3, arbitrary: REAL }, { weight: 2, arbitrary: fc.constantFrom(...PATHS) });
  return fc.record(
    Object.fromEntries(parameters.filter((one) => one.in === "path").map(({ name }) => [name, segment])),
  );
};

const queryOf = (operation: Operation, resolve: Resolve, isGood: boolean): fc.Arbitrary<[string, string][]> => {
  const fields: [string, fc.Arbitrary<string>][] = operation.parameters
    .filter((one) => one.in === "query")
    .map(({ name, schema }) => {
      const good = valid(schema, resolve, 0, name).map(asText);
      const bad = fc.oneof(fc.constantFrom(...QUERIES), hostile.map(asText));
      const isTame = name === "wait";
      return [name, isGood || isTame ? good : fc.oneof(good, bad)];
    });
  const parameters = fc.record(Object.fromEntries(fields), { requiredKeys: [] });
  return parameters.map((query) => Object.entries(query).map(([name, value]) => [name, value ?? ""]));
};

const json = { "content-type": "application/json" };
const withJson = (value: unknown): { body: string; headers: Record<string, string> } => ({
  body: toWire(value),
  headers: json,
});

const base = (operation: Operation, resolve: Resolve) => {
  const good = operation.body === null ? fc.constant(null) : valid(operation.body.schema, resolve).map(withJson);
  return fc.record({ path: goodPath(operation), query: queryOf(operation, resolve, true), good });
};

const socketHeaders = ({ isSocket }: Operation): fc.Arbitrary<Record<string, string>> =>
  isSocket ? fc.constantFrom<Record<string, string>>({}, UPGRADE) : fc.constant({});

export const validCase = (operation: Operation, resolve: Resolve, roles: readonly Role[] = ROLES): fc.Arbitrary<Case> =>
  fc
    .tuple(base(operation, resolve), fc.constantFrom(...roles), socketHeaders(operation))
    .map(([made, role, extra]) => ({
      role,
      flaw: "none",
      named: null,
      path: made.path,
      query: made.query,
      headers: { ...extra, ...made.good?.headers },
      body: made.good?.body ?? null,
    }));

/** Any value in any place. */
const wildCase = (operation: Operation, resolve: Resolve): fc.Arbitrary<Case> => {
  const schema = operation.body?.schema ?? {};
  const body = fc.oneof(
    { weight: 4, arbitrary: nearlyValid(schema, resolve).map(toWire) },
    { weight: 1, arbitrary: hostile.map(toWire) },
    { weight: 1, arbitrary: fc.constantFrom<string | Uint8Array>(...NOT_JSON) },
  );
  const isBodiless = operation.body === null && (operation.method === "GET" || operation.method === "DELETE");
  return fc
    .record({
      role: fc.constantFrom<Role>("admin", "admin", "admin", ...ROLES),
      path: badPath(operation),
      query: queryOf(operation, resolve, false),
      headers: fc.constantFrom(...HEADERS),
      media: fc.constantFrom("application/json", "application/json", "application/json", ...MEDIA, "application/yaml"),
      body: isBodiless ? fc.constant(null) : body,
    })
    .map(({ media, headers, body: sent, ...rest }) => ({
      ...rest,
      flaw: "any",
      named: null,
      headers: { ...headers, ...(sent === null ? {} : { "content-type": media }) },
      body: sent,
    }));
};

/** A body that may be any JSON is stored as it comes. */
const hasFields = ({ body }: Operation, resolve: Resolve): boolean =>
  body !== null && Object.keys(resolve(body.schema)).some((key) => key !== "description");

const flawsOf = (operation: Operation, resolve: Resolve): Flaw[] => [
  ...(hasFields(operation, resolve) ? (["unknown field", "not JSON", "media"] as const) : []),
  ...(operation.parameters.some((one) => one.in === "query")
    ? (["repeated parameter", "unknown parameter"] as const)
    : []),
];

/** A valid request with one known flaw. */
const flawedCase = (operation: Operation, resolve: Resolve, flaw: Flaw): fc.Arbitrary<Case> => {
  const pick = fc.record({
    name: fc.constantFrom(...UNKNOWN_NAMES),
    text: fc.constantFrom(...NOT_JSON),
    media: fc.constantFrom(...MEDIA),
  });
  const name = operation.parameters.find((one) => one.in === "query")?.name ?? "";
  return fc.tuple(validCase(operation, resolve, ["admin"]), pick).map(([made, chosen]): Case => {
    const role: Role = operation.access === "root" ? "root" : "admin";
    const flawed = { ...made, role, flaw };
    if (flaw === "not JSON") return { ...flawed, body: chosen.text };
    if (flaw === "media") return { ...flawed, headers: { "content-type": chosen.media }, body: made.body ?? "{}" };
    if (flaw === "repeated parameter") return { ...flawed, query: [[name, "1"], ...made.query, [name, "1"]] };
    if (flaw === "unknown parameter") return { ...flawed, query: [...made.query, ["surprise", "1"]] };
    const entry = `${JSON.stringify(chosen.name)}:1`;
    const text = String(made.body ?? "{}").trim();
    return { ...flawed, named: chosen.name, body: text === "{}" ? `{${entry}}` : `{${entry},${text.slice(1)}` };
  });
};

export const anyCase = (operation: Operation, resolve: Resolve): fc.Arbitrary<Case> =>
  fc.oneof(
    { weight: 5, arbitrary: validCase(operation, resolve) },
    { weight: 8, arbitrary: wildCase(operation, resolve) },
    ...flawsOf(operation, resolve).map((flaw) => ({ weight: 2, arbitrary: flawedCase(operation, resolve, flaw) })),
  );

/** The request on the wire: known ids in place, the caller's key in its header. */
export const toRequest = (world: World, operation: Operation, made: Case): WireRequest => {
  // A sync of an existing subscription would call the provider.
  const ids = operation.path.endsWith("/sync") ? [] : world.idsOf(operation.path);
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const segment = made.path[name] ?? "";
    if (!segment.startsWith("#")) return segment;
    return ids.length === 0 ? "unknown" : encodeURIComponent(ids[Number(segment.slice(1)) % ids.length] ?? "");
  });
  const query = made.query.map(([name, value]) => `${name}=${value}`).join("&");
  const bearer = world.bearer(made.role);
  return {
    method: operation.method,
    target: query === "" ? path : `${path}?${query}`,
    headers: { ...made.headers, ...(bearer === null ? {} : { authorization: bearer }) },
    body: typeof made.body === "string" ? bytes(made.body) : made.body,
  };
};
