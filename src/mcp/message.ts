// Reads a message of the Model Context Protocol: which specification it speaks, and what is wrong with it. Since
// 2026-07-28 a request says so in its `_meta`, and its headers repeat it; earlier clients begin with `initialize`.

import * as z from "zod";
import { fromBase64 } from "../../contract/text/base64.ts";
import { type JsonObject, objectOf } from "../../contract/text/json-object.ts";

export const NEWEST = "2026-07-28";
/** Newest first. Not 2025-03-26: it alone requires a server to take batches. */
export const EARLIER = ["2025-11-25", "2025-06-18", "2024-11-05"] as const;

export const META = {
  version: "io.modelcontextprotocol/protocolVersion",
  client: "io.modelcontextprotocol/clientInfo",
  capabilities: "io.modelcontextprotocol/clientCapabilities",
  server: "io.modelcontextprotocol/serverInfo",
  subscription: "io.modelcontextprotocol/subscriptionId",
} as const;

/** JSON-RPC's codes, and those of the specification. */
export const CODES = {
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const;

type MessageId = string | number;

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: JsonObject;
}

export interface Request {
  readonly kind: "request";
  readonly id: MessageId;
  readonly method: string;
  readonly params: JsonObject;
  readonly isNewest: boolean;
}

/** Nothing but a request gets more than a status. */
export type Reading =
  | Request
  | { readonly kind: "notice" }
  | { readonly kind: "refused"; readonly id: MessageId | null; readonly error: RpcError };

type HeaderOf = (name: string) => string | undefined;

const envelope = z.looseObject({
  [META.version]: z.string(),
  [META.capabilities]: z.looseObject({}),
  [META.client]: z.looseObject({ name: z.string(), version: z.string() }).optional(),
});

/** Of requests, notifications and responses. */
const MEMBERS: ReadonlySet<string> = new Set(["jsonrpc", "id", "method", "params", "result", "error"]);
const MAX_NAME_CHARS = 64;

export const readMessage = (body: unknown, headerOf: HeaderOf): Reading => {
  const message = objectOf(body);
  const { id, method } = message;
  const isRequest = typeof method === "string" && isId(id);
  const refused = (error: RpcError): Reading => ({ kind: "refused", id: isRequest ? id : null, error });
  if (message.jsonrpc !== "2.0") return refused(invalid("the body is not one message of JSON-RPC 2.0"));
  const stray = Object.keys(message).find((name) => !MEMBERS.has(name));
  if (stray !== undefined) return refused(invalid(`a message has no member "${stray.slice(0, MAX_NAME_CHARS)}"`));
  if (method === undefined && ("result" in message || "error" in message)) return { kind: "notice" };
  if (typeof method !== "string" || (id !== undefined && !isId(id)))
    return refused(invalid("a message has a method, and an id that is a string or a number"));
  const params = objectOf(message.params);
  const meta = objectOf(params._meta);
  const isNewest = META.version in meta || headerOf("mcp-protocol-version") === NEWEST;
  const error = isNewest ? newestError(method, params, id !== undefined, headerOf) : earlierError(method, headerOf);
  if (error !== null) return refused(error);
  return isRequest ? { kind: "request", id, method, params, isNewest } : { kind: "notice" };
};

const isId = (id: unknown): id is MessageId => typeof id === "string" || Number.isFinite(id);

const invalid = (message: string): RpcError => ({ code: CODES.invalidRequest, message });

const earlierError = (method: string, headerOf: HeaderOf): RpcError | null => {
  const version = headerOf("mcp-protocol-version");
  if (version === undefined || method === "initialize" || EARLIER.some((one) => one === version)) return null;
  return unsupported(version, [NEWEST, ...EARLIER]);
};

const unsupported = (requested: string, supported: readonly string[]): RpcError => ({
  code: CODES.unsupportedVersion,
  message: `Unsupported protocol version: ${requested}`,
  data: { supported, requested },
});

/** The headers let a proxy decide by them, so they must be there and say what the body says. */
const newestError = (method: string, params: JsonObject, isRequest: boolean, headerOf: HeaderOf): RpcError | null => {
  const meta = objectOf(params._meta);
  if (method === "initialize" && !(META.version in meta))
    return mismatch("mcp-protocol-version", headerOf, "the body begins a session of an earlier version");
  if (isRequest || META.version in meta) {
    const problem = envelope.safeParse(meta).error?.issues[0];
    if (problem !== undefined) return malformed(String(problem.path[0]), meta, problem.message);
  }
  const version = (meta[META.version] as string | undefined) ?? NEWEST;
  const isStray = (name: string, told: string): boolean => (headerOf(name) ?? (isRequest ? null : told)) !== told;
  if (isStray("mcp-protocol-version", version))
    return mismatch("mcp-protocol-version", headerOf, `the body names protocol version ${version}`);
  if (version !== NEWEST) return unsupported(version, [NEWEST]);
  if (isStray("mcp-method", method)) return mismatch("mcp-method", headerOf, `the body names method ${method}`);
  const { name } = params;
  if (method !== "tools/call" || typeof name !== "string" || decoded(headerOf("mcp-name")) === name) return null;
  return mismatch("mcp-name", headerOf, `the body names ${name}`);
};

const malformed = (key: string, meta: JsonObject, said: string): RpcError => {
  const problem = key in meta ? said : "missing";
  const message = `Invalid _meta for protocol version ${NEWEST}: ${key}: ${problem}`;
  return { code: CODES.invalidParams, message, data: { envelope: { key, problem } } };
};

const mismatch = (name: string, headerOf: HeaderOf, body: string): RpcError => {
  const header = headerOf(name) ?? "(missing)";
  const message = `The header ${name} (${header}) and the body disagree: ${body}`;
  return { code: CODES.headerMismatch, message, data: { mismatch: { header, body } } };
};

/** A header that is not plain ASCII comes as `=?base64?…?=`. */
const decoded = (header: string | undefined): string | undefined => {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(header ?? "")?.[1];
  if (encoded === undefined) return header;
  try {
    return new TextDecoder().decode(fromBase64(encoded));
  } catch {
    return undefined;
  }
};
