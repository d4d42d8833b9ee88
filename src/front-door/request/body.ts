// A front-door body. Up to 1 MiB it is parsed and passes through the tenant; a larger one, and one with numbers that a
// parser would change or write much longer, stays the bytes that arrived, of which the edge reads an outline, and only
// the members that it changes are written again.

import { losesDigits } from "../../../contract/text/exact-json.ts";
import { isObject } from "../../../contract/text/json-object.ts";
import { isWithinBytes, MAX_BODY_BYTES } from "../../../contract/words/field.ts";
import { modelsBeside } from "../../../domain/front-door/models-beside.ts";
import type { Json } from "../../../domain/words/json.ts";
import { invalid } from "../../../domain/words/refusal.ts";
import type { AppContext } from "../../http/auth.ts";
import {
  decoded,
  joined,
  LONG_CHARS,
  parseJsonBody,
  readChunks,
  refuseOtherMedia,
  STEP_CHARS,
} from "../../http/body.ts";
import { Refused } from "../../http/refused.ts";
import { JsonOutline, type Member, type Span } from "./json-outline.ts";
import type { Body } from "./prompt.ts";

export const MAX_DOOR_BODY_BYTES: number = 32 * 1024 * 1024;
/** Long enough for 32 MiB over a slow connection. */
const BODY_DEADLINE_MS = 120_000;

/** The members that the edge may write itself. */
const CHANGED_MEMBERS = [
  "model",
  "store",
  "stream_options",
  "previous_response_id",
  "background",
  "background_options",
] as const;
/** Those that are read whole: they are written again, or a stored response repeats them. */
const WHOLE_MEMBERS = [
  "metadata",
  "stream_options",
  "max_output_tokens",
  "temperature",
  "top_p",
  "reasoning",
  "text",
  "tool_choice",
  "tools",
] as const;
/** Members that must mean here what they mean at the runtime: none may stand twice. */
const HEEDED_MEMBERS = [
  ...CHANGED_MEMBERS,
  ...WHOLE_MEMBERS,
  "input",
  "stream",
  "conversation",
  "models",
  "edge",
] as const;
/** A member with more bytes stays cut: nobody reads such long metadata, and no response repeats it. */
const MAX_WHOLE_BYTES = 64 * 1024;
/** Of longer tools only the beginning tells one conversation from another. */
const MAX_TOOLS_BYTES = 256 * 1024;

export type Changes = Readonly<Partial<Record<(typeof CHANGED_MEMBERS)[number], Json>>>;

export interface LargeBody {
  readonly chunks: readonly Uint8Array[];
  readonly members: ReadonlyMap<string, Member>;
}

export interface DoorBody {
  /** In a large body long texts are cut, and so are numbers after the first few thousand. */
  readonly body: Body;
  /** Null if the body fits into a row of the tenant's database. */
  readonly large: LargeBody | null;
}

export const readDoorBody = async (
  c: AppContext,
  tenant: string,
  mayBeLarge: () => Promise<void>,
): Promise<DoorBody> => {
  refuseOtherMedia(c);
  const chunks: Uint8Array[] = [];
  let size = 0;
  const outlining = new Outlining(c, tenant);
  const take = (chunk: Uint8Array): Promise<void> | undefined => {
    chunks.push(chunk);
    size += chunk.byteLength;
    return size > MAX_BODY_BYTES ? outlining.readAll(chunks) : undefined;
  };
  await readChunks(c, { limitBytes: MAX_DOOR_BODY_BYTES, deadlineMs: BODY_DEADLINE_MS, mayBeLarge }, take);
  if (size === 0) throw new Refused(invalid("", "a JSON body is required"));
  // Bodies of many requests may have arrived at once.
  if (size >= LONG_CHARS) await c.env.HOME?.longStep(tenant);
  const read = size > MAX_BODY_BYTES ? outlining.end(chunks) : await readSmall(c, tenant, chunks);
  // How its conversation begins may be most of it, and is written once more.
  if (size >= STEP_CHARS) await c.env.HOME?.longStep(tenant);
  return read;
};

const readSmall = async (c: AppContext, tenant: string, chunks: readonly Uint8Array[]): Promise<DoorBody> => {
  const text = decoded(joined(chunks));
  const body = objectOf(parseJsonBody(text));
  return mustStayBytes(text, body) ? outlined(c, tenant, chunks) : { body, large: null };
};

/** Whether parsing makes a small body too long or changes its numbers; with other models to try, numbers may change. */
const mustStayBytes = (text: string, body: Body): boolean =>
  isTooLongWritten(text, body) || (!hasOthers(body) && losesDigits(text));

const hasOthers = ({ model, models }: Body): boolean => Array.isArray(models) && models.some((name) => name !== model);

/** The worst case is `1e20` with its comma: 5 characters become 22. */
const GROWS_AT_MOST = 5;

/** Written again, it is larger than the tenant takes. */
const isTooLongWritten = (text: string, body: Body): boolean =>
  text.length > MAX_BODY_BYTES / GROWS_AT_MOST && !isWithinBytes(JSON.stringify(body), MAX_BODY_BYTES);

/** Makes the outline of a body while it arrives, in steps between which others have their turn. */
class Outlining {
  readonly #c: AppContext;
  readonly #tenant: string;
  readonly #outline = new JsonOutline(HEEDED_MEMBERS);
  #readChunks = 0;
  #readBytes = 0;

  constructor(c: AppContext, tenant: string) {
    this.#c = c;
    this.#tenant = tenant;
  }

  /** Reads those that it has not read. */
  async readAll(chunks: readonly Uint8Array[]): Promise<void> {
    for (const chunk of chunks.slice(this.#readChunks)) {
      this.#readChunks += 1;
      for (let at = 0; at < chunk.byteLength; at += STEP_CHARS) await this.#read(chunk.subarray(at, at + STEP_CHARS));
    }
  }

  end(chunks: readonly Uint8Array[]): DoorBody {
    const large = { chunks, members: this.#outline.members };
    const body = { ...objectOf(this.#outline.finish()), ...wholeMembers(large) };
    return { body: { ...body, ...briefTools(large, body) }, large };
  }

  async #read(piece: Uint8Array): Promise<void> {
    this.#outline.push(piece);
    this.#readBytes += piece.byteLength;
    if (this.#readBytes < STEP_CHARS) return;
    this.#readBytes = 0;
    await this.#c.env.HOME?.longStep(this.#tenant);
  }
}

/** A large body that was put together here. */
export const outlined = async (c: AppContext, tenant: string, chunks: readonly Uint8Array[]): Promise<DoorBody> => {
  const outlining = new Outlining(c, tenant);
  await outlining.readAll(chunks);
  return outlining.end(chunks);
};

/** Of a long body the outline may have cut their texts and numbers. */
const wholeMembers = ({ chunks, members }: LargeBody): Body => {
  const whole: Record<string, Json> = {};
  for (const name of WHOLE_MEMBERS) {
    const { from, to } = members.get(name) ?? { from: 0, to: 0 };
    if (from === to || to - from > MAX_WHOLE_BYTES) continue;
    whole[name] = JSON.parse(decoded(joined(between(chunks, from, to)))) as Json;
  }
  return whole;
};

const briefTools = ({ chunks, members }: LargeBody, { tools = null }: Body): Body => {
  const { from, to } = members.get("tools") ?? { from: 0, to: 0 };
  if (to - from <= MAX_TOOLS_BYTES) return {};
  const beginning = new TextDecoder().decode(joined(between(chunks, from, from + MAX_TOOLS_BYTES)));
  return { tools: [{ beginning }, ...modelsBeside({ tools }).map((model) => ({ model }))] };
};

const objectOf = (value: unknown): Body => {
  if (!isObject(value)) throw new Refused(invalid("", "the body must be a JSON object"));
  return value as Body;
};

interface Edit extends Span {
  readonly text: string;
}

/** The bytes with some members changed, and without what is for the coordinator; a member that is missing is added. */
export const withChanges = ({ chunks, members }: LargeBody, changes: Changes): Uint8Array[] => {
  const start = afterBrace(chunks);
  const edits = Object.entries(changes).map(([name, value]): Edit => {
    const span = members.get(name);
    if (span !== undefined) return { ...span, text: JSON.stringify(value) };
    return { from: start, to: start, text: `${JSON.stringify(name)}:${JSON.stringify(value)},` };
  });
  const ours = ["edge", "models"].flatMap((name) => members.get(name)?.whole ?? []);
  // If both are the last members, both spans contain the comma between them, and the one before them must go, too.
  const isJoined = ours.some(({ from }) => ours.some((other) => other.from < from && from < other.to));
  for (const { from, to } of ours) edits.push({ from: isJoined ? from - 1 : from, to, text: "" });
  const encoder = new TextEncoder();
  const pieces: Uint8Array[] = [];
  let at = 0;
  for (const { from, to, text } of edits.sort((one, other) => one.from - other.from)) {
    pieces.push(...between(chunks, at, from), encoder.encode(text));
    at = to;
  }
  pieces.push(...between(chunks, at, Number.POSITIVE_INFINITY));
  return pieces;
};

/** The body is an object with at least a model, so a member may follow its first brace. */
const afterBrace = (chunks: readonly Uint8Array[]): number => {
  let before = 0;
  for (const chunk of chunks) {
    const at = chunk.indexOf("{".charCodeAt(0));
    if (at >= 0) return before + at + 1;
    before += chunk.byteLength;
  }
  return before;
};

export const between = (chunks: readonly Uint8Array[], from: number, to: number): Uint8Array[] => {
  const pieces: Uint8Array[] = [];
  let before = 0;
  for (const chunk of chunks) {
    const piece = chunk.subarray(Math.max(0, from - before), Math.max(0, Math.min(chunk.byteLength, to - before)));
    if (piece.byteLength > 0) pieces.push(piece);
    before += chunk.byteLength;
  }
  return pieces;
};
