// Keys and session tokens: sbx_<kind>_<tenant>_<id>_<secret+tag>_<checksum>. The tag is an HMAC with the signing
// secret, so a forged or mistyped token is refused at the edge without waking an object. The object stores only the
// digest of the whole token.

import { base64 } from "../../contract/text/base64.ts";
import type { Role } from "../../domain/access/key.ts";
import { hexOf } from "../../domain/words/hex.ts";
import type { Home } from "../home.ts";

const PREFIX = "sbx";
const KINDS = {
  admin: "a",
  standard: "s",
  viewer: "v",
  worker: "w",
  client: "c",
  session: "d",
} as const satisfies Record<Role | "session", string>;

const MAX_TOKEN_CHARS = 512;
const ID_CHARS = 12;
const SECRET_BYTES = 32;
const SECRET_CHARS = 43;
const TAG_BYTES = 8;
const TAG_CHARS = 11;
const CHECKSUM_CHARS = 6;
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SHAPE = new RegExp(
  `^${PREFIX}_([${Object.values(KINDS).join("")}])(-eu|-fedramp)?_([a-z0-9][a-z0-9-]{0,62})_([0-9A-Za-z]{${ID_CHARS}})_([0-9A-Za-z]{${SECRET_CHARS + TAG_CHARS}})_([0-9A-Za-z]{${CHECKSUM_CHARS}})$`,
);

export interface TokenFacts {
  readonly kind: "key" | "session";
  readonly tenant: string;
  /** Pins the tenant's object to a region; part of the key because it is part of the object's id. */
  readonly jurisdiction: "eu" | "fedramp" | null;
  readonly id: string;
  /** SHA-256 of the whole token, hex. */
  readonly hash: string;
  /** The id of the request that carried it. */
  readonly requestId?: string;
  /**
   * Requests of the key in progress, including this one; the object checks the first call of a request against the
   * limits.
   */
  underWay?: number | undefined;
  /** The number of the database with its tenant's history, as the object said with its last answer. */
  database?: number;
}

const encoder = new TextEncoder();

/** The bytes as a number in base 62, padded to `chars`. */
const base62 = (bytes: Uint8Array, chars: number): string => {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  let text = "";
  for (; value > 0n; value /= 62n) text = ALPHABET.charAt(Number(value % 62n)) + text;
  return text.padStart(chars, "0");
};

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let crc = index;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/** CRC-32 (ISO 3309): scanners can distinguish a real key from a typo offline. */
const checksum = (text: string): string => {
  let crc = 0xffffffff;
  for (const byte of encoder.encode(text)) crc = (crc >>> 8) ^ (CRC_TABLE[(crc ^ byte) & 0xff] ?? 0);
  const value = (crc ^ 0xffffffff) >>> 0;
  return base62(new Uint8Array([value >>> 24, value >>> 16, value >>> 8, value]), CHECKSUM_CHARS);
};

const macKeys = new Map<string, Promise<CryptoKey>>();

const macKey = (secret: string): Promise<CryptoKey> => {
  const known = macKeys.get(secret);
  if (known !== undefined) return known;
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  macKeys.set(secret, imported);
  return imported;
};

/** HMAC-SHA-256 with the deployment's secret. */
const hmac = async (secret: string, text: string): Promise<ArrayBuffer> =>
  crypto.subtle.sign("HMAC", await macKey(secret), encoder.encode(text));

const tagOf = async (secret: string, text: string): Promise<string> =>
  base62(new Uint8Array(await hmac(secret, text)).subarray(0, TAG_BYTES), TAG_CHARS);

/** SHA-256, hex. */
export const digestOf = async (content: string | BufferSource): Promise<string> => {
  const bytes = typeof content === "string" ? encoder.encode(content) : content;
  return hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
};

/** The same, at once where the home can. */
export const digestBy = (home: Pick<Home, "digest"> | undefined, text: string): string | Promise<string> =>
  home?.digest(text) ?? digestOf(text);

const randomChars = (chars: number): string => {
  let text = "";
  while (text.length < chars) {
    for (const byte of crypto.getRandomValues(new Uint8Array(chars))) {
      // 248 is the largest multiple of 62 in a byte; higher values would make the first letters more likely.
      if (byte < 248 && text.length < chars) text += ALPHABET.charAt(byte % 62);
    }
  }
  return text;
};

/** 24 characters that nobody can guess. */
export const randomId = (): string => randomChars(2 * ID_CHARS);

/** A webhook's id and secret: 32 random bytes in base64, as Standard Webhooks requires. */
export const randomSecret = (): { id: string; secret: string } => {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return { id: randomChars(ID_CHARS), secret: base64(bytes) };
};

interface Minted {
  readonly id: string;
  readonly token: string;
  readonly hash: string;
}

/** A new token; pass `id` to rotate a key, which keeps its id. */
export const mint = async (
  secret: string,
  kind: Role | "session",
  tenant: string,
  jurisdiction: string | null,
  id: string = randomChars(ID_CHARS),
): Promise<Minted> => {
  const region = jurisdiction === null ? "" : `-${jurisdiction}`;
  const secretPart = base62(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)), SECRET_CHARS);
  const body = `${PREFIX}_${KINDS[kind]}${region}_${tenant}_${id}_${secretPart}`;
  const tagged = `${body}${await tagOf(secret, body)}`;
  const token = `${tagged}_${checksum(tagged)}`;
  return { id, token, hash: await digestOf(token) };
};

/** The facts in a token with a valid tag, else null. Only the object knows whether it is active. */
export const read = async (secret: string, token: string): Promise<TokenFacts | null> => {
  const match = token.length > MAX_TOKEN_CHARS ? null : SHAPE.exec(token);
  if (match === null) return null;
  const [, kind, region, tenant, id, , sum] = match;
  const tagged = token.slice(0, -(CHECKSUM_CHARS + 1));
  if (tenant === undefined || id === undefined || checksum(tagged) !== sum) return null;
  const body = tagged.slice(0, -TAG_CHARS);
  if ((await tagOf(secret, body)) !== tagged.slice(-TAG_CHARS)) return null;
  return {
    kind: kind === KINDS.session ? "session" : "key",
    tenant,
    jurisdiction: region === "-eu" ? "eu" : region === "-fedramp" ? "fedramp" : null,
    id,
    hash: await digestOf(token),
  };
};
