// A request that follows a stored response gets the input of the whole chain: each turn's own items and its answer's,
// then its own. The texts are put together as they are stored, so that a long conversation is not parsed in one piece.

import { MAX_BODY_BYTES, utf8Bytes } from "../../../contract/words/field.ts";
import { FILE_LIFE_MS } from "../../../domain/file/file.ts";
import {
  carriedItemsOf,
  fitsChain,
  inputItemsOf,
  jobIdOfResponse,
  MAX_CHAIN_BYTES,
  MAX_REFERENCES,
  noSuchTurn,
  REFERENCE,
  referredIdOf,
} from "../../../domain/front-door/stored-response.ts";
import type { Json } from "../../../domain/words/json.ts";
import { invalid, type Refusal } from "../../../domain/words/refusal.ts";
import {
  type ChainPart,
  type FoundItems,
  type NewResponse,
  SHORT_CHAIN_BYTES,
  type TurnTexts,
} from "../../../durable-objects/operations/front-door/responses.ts";
import { readBytes } from "../../files/objects.ts";
import { receive } from "../../files/receive.ts";
import { asHeavy } from "../../http/admission.ts";
import type { AppContext } from "../../http/auth.ts";
import { decoded, joined, LONG_CHARS } from "../../http/body.ts";
import type { TokenFacts } from "../../http/key-format.ts";
import { Refused, unwrap } from "../../http/refused.ts";
import { ask } from "../../tenant/ask.ts";
import { callTenant } from "../../tenant/tenant.ts";
import { between, type DoorBody, type LargeBody, outlined } from "./body.ts";
import type { Body } from "./prompt.ts";

/** Lists of items, as JSON. */
type ItemTexts = readonly string[];

const utf8 = new TextEncoder();
const EVERYTHING = Number.MAX_SAFE_INTEGER;
const insideOf = (list: string): string => list.trim().slice(1, -1).trim();

/** One list of all items, in pieces. */
const joinedLists = (lists: ItemTexts): Uint8Array[] => {
  const insides = lists.map(insideOf).filter((inside) => inside !== "");
  return [
    ...insides.map((inside, at) => utf8.encode((at === 0 ? "[" : ",") + inside)),
    utf8.encode(insides.length === 0 ? "[]" : "]"),
  ];
};

/** A turn whose file was deleted is no longer stored. */
const readText = async (c: AppContext, token: TokenFacts, turn: TurnTexts, id: string): Promise<string> => {
  const file = await callTenant(c.env, token, "readFile", { id });
  if (!file.ok && file.error.code === "not_found") throw new Refused(noSuchTurn(turn.id));
  const { bytes } = unwrap(file);
  unwrap(fitsChain(bytes));
  return new Response(await readBytes({ env: c.env, name: token, id }, 0, bytes)).text();
};

const inputOf = async (c: AppContext, token: TokenFacts, turn: TurnTexts): Promise<string> =>
  turn.input ?? (turn.inputFile === null ? "[]" : readText(c, token, turn, turn.inputFile));

const answerOf = async (c: AppContext, token: TokenFacts, turn: TurnTexts): Promise<string> => {
  const text = turn.answer ?? (turn.answerFile === null ? "null" : await readText(c, token, turn, turn.answerFile));
  return JSON.stringify(carriedItemsOf(JSON.parse(text) as Json));
};

/** The items of all turns from the part's first one back to the chain's beginning, oldest first. */
const chainTexts = async (
  c: AppContext,
  token: TokenFacts,
  newest: ChainPart,
  isWithLastAnswer: boolean,
): Promise<ItemTexts> => {
  const lists: string[] = [];
  let isAnswerWanted = isWithLastAnswer;
  for (let part = newest; ; ) {
    for (const turn of part.texts) {
      if (isAnswerWanted) lists.unshift(await answerOf(c, token, turn));
      isAnswerWanted = true;
      lists.unshift(await inputOf(c, token, turn));
    }
    if (part.next === null) return lists;
    part = await ask(c, token, "readChain", { id: part.next, isBeginning: false });
  }
};

/** What a stored response was made from, in the order of the conversation. */
export const readInputItems = async (c: AppContext, token: TokenFacts, id: string): Promise<readonly Json[]> => {
  const newest = await ask(c, token, "readItems", { id });
  const lists = await chainTexts(c, token, newest, false);
  return lists.flatMap((list) => JSON.parse(list) as Json[]);
};

/** A request's body with its chain, and the turn that it will be; null if its answer is not to be stored. */
interface ChainedBody {
  readonly read: DoorBody;
  readonly response: NewResponse | null;
  /** Why it has no chain: only a repetition is answered. */
  readonly refused?: Refusal;
}

export const withChain = (c: AppContext, token: TokenFacts, read: DoorBody): Promise<ChainedBody> =>
  resolved(c, token, read).catch((error: unknown): ChainedBody => {
    if (!(error instanceof Refused) || c.req.header("idempotency-key") === undefined) throw error;
    // What a repeated request follows may be gone since its first answer.
    const { background, store } = read.body;
    // The request makes no turn, so the other fields are not read.
    const response = store === false ? null : ({ isBackground: background === true } as NewResponse);
    return { read, response, refused: error.refusal };
  });

const resolved = async (c: AppContext, token: TokenFacts, sent: DoorBody): Promise<ChainedBody> => {
  const read = await withItems(c, token, sent);
  const isBackground = flagOf(read.body, "background") === true;
  const isStored = flagOf(read.body, "store") !== false;
  if (isBackground && !isStored) throw new Refused(invalid("background", "needs a stored answer: leave store out"));
  const previousId = previousOf(read.body);
  const chained = previousId === null ? unchained(read) : await following(c, token, read, previousId);
  if (!isStored) return { read: chained.read, response: null };
  const facts = { isBackground, previousId, turns: chained.turns + 1, earlierBytes: chained.bytes };
  if (chained.read.large === null)
    return { read: chained.read, response: { ...facts, carried: chained.carried, held: null } };
  const held = await keptInput(c, token, read);
  if (held === null && isBackground)
    throw new Refused(invalid("background", `needs an input of at most ${MAX_CHAIN_BYTES} bytes`));
  return { read: chained.read, response: held === null ? null : { ...facts, carried: 0, held } };
};

/** Items to which the request only refers are put in their places: its runtime has not stored them. */
const withItems = async (c: AppContext, token: TokenFacts, read: DoorBody): Promise<DoorBody> => {
  const own = ownItems(read);
  if (!own.includes(`"${REFERENCE}"`)) return read;
  if (own.length >= LONG_CHARS) await c.env.HOME?.longStep(token.tenant);
  unwrap(fitsChain(utf8Bytes(own)));
  const items = JSON.parse(own) as Json[];
  const ids = items.map(referredIdOf).filter((id) => id !== null);
  if (ids.length === 0) return read;
  if (ids.length > MAX_REFERENCES)
    throw new Refused(invalid("input", `may refer to at most ${MAX_REFERENCES} items: send the items themselves`));
  const find = (mostBytes: number): Promise<FoundItems> => ask(c, token, "findItems", { ids, mostBytes });
  const put = ({ answers, places }: FoundItems): Promise<DoorBody> => {
    const outputs = new Map(Object.entries(answers).map(([id, text]) => [id, itemsById(text)]));
    const stored = new Map(ids.map((id, index) => [id, outputs.get(places[index] ?? "")?.get(id) ?? null]));
    const whole = items.flatMap((item) => {
      const id = referredIdOf(item);
      return id === null ? [item] : carriedItemsOf({ output: [stored.get(id) ?? null] });
    });
    return chainedBody(c, token.tenant, read, [utf8.encode(JSON.stringify(whole))]);
  };
  const found = await find(SHORT_CHAIN_BYTES);
  if (found.bytes <= SHORT_CHAIN_BYTES) return put(found);
  unwrap(fitsChain(found.bytes));
  return asHeavy(c, token, found.bytes, async () => put(await find(EVERYTHING)));
};

const itemsById = (answer: string): ReadonlyMap<unknown, Json> => {
  const { output = [] } = (JSON.parse(answer) ?? {}) as { output?: readonly Json[] };
  return new Map(output.map((item) => [(item as { id?: Json } | null)?.id, item]));
};

interface Chained {
  readonly read: DoorBody;
  /** Turns and bytes before the request's own. */
  readonly turns: number;
  readonly bytes: number;
  /** Items of earlier turns, if the body is parsed. */
  readonly carried: number;
}

const unchained = (read: DoorBody): Chained => ({ read, turns: 0, bytes: 0, carried: 0 });

const following = async (c: AppContext, token: TokenFacts, read: DoorBody, previousId: string): Promise<Chained> => {
  const newest = await ask(c, token, "readChain", { id: previousId, isBeginning: true });
  const own = ownItems(read);
  unwrap(fitsChain(newest.bytes + utf8Bytes(own)));
  const put = async (): Promise<DoorBody> => {
    const lists = await chainTexts(c, token, newest, true);
    return chainedBody(c, token.tenant, read, joinedLists([...lists, own]));
  };
  const isShort = newest.bytes <= SHORT_CHAIN_BYTES;
  const chained = isShort ? await put() : await asHeavy(c, token, newest.bytes, put);
  const carried =
    chained.large === null ? inputItemsOf(chained.body.input).length - inputItemsOf(read.body.input).length : 0;
  return { read: chained, turns: newest.turns, bytes: newest.bytes, carried };
};

/** Null if it is not given. The runtime does not see what was sent, so a wrong type is refused here. */
const flagOf = (body: Body, name: "background" | "store"): boolean | null => {
  const given = body[name] ?? null;
  if (given !== null && typeof given !== "boolean") throw new Refused(invalid(name, "must be true or false"));
  return given;
};

const previousOf = (body: Body): string | null => {
  const given = body.previous_response_id;
  if (given === undefined || given === null) return null;
  if (typeof given !== "string") throw new Refused(invalid("previous_response_id", "must be the id of a response"));
  return jobIdOfResponse(given);
};

/** The request's own input as a list, as JSON. */
const ownItems = ({ body, large }: DoorBody): string => {
  if (large === null) return JSON.stringify(inputItemsOf(body.input));
  const span = large.members.get("input");
  const text = span === undefined ? "[]" : decoded(joined(between(large.chunks, span.from, span.to))).trim();
  return text.startsWith("[") ? text : `[{"type":"message","role":"user","content":${text}}]`;
};

/** The same request with another input; a large one stays bytes. */
const chainedBody = async (
  c: AppContext,
  tenant: string,
  { body, large }: DoorBody,
  input: readonly Uint8Array[],
): Promise<DoorBody> => {
  if (large !== null) return outlined(c, tenant, spliced(large, input));
  const { input: _own, ...rest } = body;
  const whole = [utf8.encode(`${JSON.stringify(rest).slice(0, -1)},"input":`), ...input, utf8.encode("}")];
  if (whole.reduce((sum, { byteLength }) => sum + byteLength, 0) > MAX_BODY_BYTES) return outlined(c, tenant, whole);
  return { body: { ...rest, input: JSON.parse(decoded(joined(input))) as Json }, large: null };
};

const spliced = ({ chunks, members }: LargeBody, input: readonly Uint8Array[]): Uint8Array[] => {
  const span = members.get("input");
  if (span === undefined) return [...chunks];
  return [...between(chunks, 0, span.from), ...input, ...between(chunks, span.to, Number.POSITIVE_INFINITY)];
};

/** Of a request without its input, which answers repeat. Of a longer one they repeat only the model. */
const MAX_HEAD_CHARS = 64 * 1024;

const headOf = ({ input: _own, ...rest }: Body): string => {
  const head = JSON.stringify(rest);
  return head.length <= MAX_HEAD_CHARS ? head : JSON.stringify({ model: rest.model ?? null });
};

/** Where the own items of a turn are kept whose body does not pass through the tenant; null: they are too large. */
const keptInput = async (c: AppContext, token: TokenFacts, read: DoorBody): Promise<NewResponse["held"]> => {
  const head = headOf(read.body);
  const own = ownItems(read);
  const ownBytes = utf8Bytes(own);
  if (ownBytes > MAX_CHAIN_BYTES) return null;
  if (ownBytes <= MAX_BODY_BYTES) return { head, input: own, inputFile: null, inputBytes: ownBytes };
  const bytes = utf8.encode(own);
  const facts = { name: "input.json", contentType: "application/json", purpose: null, lifeMs: null };
  const arriving = {
    declaredBytes: bytes.byteLength,
    isHere: true,
    send: async (store: (body: ReadableStream<Uint8Array> | null) => Promise<void>) => {
      await store(new Blob([bytes]).stream());
      return facts;
    },
  };
  const file = await receive(c, token, arriving, {
    tooLarge: {
      code: "file_too_large",
      limitBytes: MAX_CHAIN_BYTES,
      detail: `an input that is stored has at most ${MAX_CHAIN_BYTES} bytes`,
    },
    lifeMs: () => FILE_LIFE_MS.longest,
    announce: (announced) => callTenant(c.env, token, "announceFile", announced),
    finish: ({ id, bytes, sha256, name, contentType }) =>
      callTenant(c.env, token, "finishInput", { id, bytes, sha256, name, contentType }),
    forget: (id) => callTenant(c.env, token, "forgetFile", { id }),
  });
  return { head, input: null, inputFile: file.id, inputBytes: ownBytes };
};

/** The request was refused: nothing of it stays. */
export const dropInput = async (c: AppContext, token: TokenFacts, response: NewResponse | undefined): Promise<void> => {
  const id = response?.held?.inputFile ?? null;
  if (id !== null) await callTenant(c.env, token, "deleteFile", { id });
};
