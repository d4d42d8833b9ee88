// Tokens that an identity provider signed: signature, issuer, audience and times. Only asymmetric algorithms: `none`, and
// a secret that somebody derives from the public key, sign nothing.

import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWTPayload,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from "jose";
import { IdentityError } from "./identity-error.ts";
import type { IdentityFetch } from "./identity-fetch.ts";
import { askUnlessFailing, Remembered } from "./remembered.ts";

/** How far a clock may be off. */
export const CLOCK_TOLERANCE_SECONDS = 300;
/**
 * An unknown key id, and a signature that does not fit (a new key without an id, or under its old one), have the keys
 * fetched again, but not more often than this.
 */
const REFETCH_AFTER_MS = 30_000;
/** OpenID Connect Core 1.0, section 2. It is kept with each person. */
const MAX_SUBJECT_CHARS = 255;
const KEYS_KEPT_MS = 600_000;
/** Strangers bring tokens, and each key takes a while. */
const MAX_TRIED_KEYS = 10;
export const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

type KeySet = ReturnType<typeof createRemoteJWKSet>;
const keySets = new Remembered<KeySet>();

/** One for all requests of an isolate; its fetches belong to the request that needs them. */
const keySetAt = (url: string, fetch: IdentityFetch): KeySet => {
  const known = keySets.get(url);
  if (known !== undefined) return known;
  const keySet = createRemoteJWKSet(new URL(url), {
    [customFetch]: (address, init) =>
      askUnlessFailing(address, async () => {
        const response = await fetch(address, { ...init, body: null });
        const isOk = response.status === 200;
        if (isOk && (await hasKeys(response.clone()))) return response;
        const why = isOk ? "no list of keys" : response.status;
        throw new IdentityError(`the identity provider's keys cannot be read: ${why}`, true);
      }),
    cooldownDuration: REFETCH_AFTER_MS,
    cacheMaxAge: KEYS_KEPT_MS,
  });
  keySets.keep(url, keySet);
  return keySet;
};

/** An answer that is no list of keys is a failure, too: nothing of it is kept, and the next sign-in would ask again. */
const hasKeys = async (response: Response): Promise<boolean> => {
  try {
    createLocalJWKSet(await response.json());
    return true;
  } catch {
    return false;
  }
};

interface Expected {
  readonly jwksUrl: string;
  readonly issuer: string;
  readonly audience: string;
}

/** The claims of a valid token; throws an IdentityError for any other. */
export const verifyToken = async (
  token: string,
  { jwksUrl, issuer, audience }: Expected,
  fetch: IdentityFetch,
  nowAt: number = Date.now(),
): Promise<JWTPayload & { readonly sub: string }> => {
  const keys = keySetAt(jwksUrl, fetch);
  const options = {
    issuer,
    audience,
    algorithms: ALGORITHMS,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    requiredClaims: ["exp", "sub"],
    currentDate: new Date(nowAt),
  };
  const verified = () => jwtVerify(token, keys, options).catch((error: unknown) => byOneOf(error, token, options));
  const { payload } = await verified()
    .catch(async (error: unknown) => {
      if (!(error instanceof errors.JWSSignatureVerificationFailed) || keys.coolingDown) throw error;
      await keys.reload();
      return verified();
    })
    .catch((error: unknown) => {
      throw explained(error);
    });
  if (payload.iat !== undefined && payload.iat > nowAt / 1000 + CLOCK_TOLERANCE_SECONDS) throw fromTheFuture();
  if (typeof payload.sub !== "string" || payload.sub === "")
    throw new IdentityError("the token names nobody: its sub is empty");
  if (payload.sub.length > MAX_SUBJECT_CHARS)
    throw new IdentityError(`the token's sub is longer than ${MAX_SUBJECT_CHARS} characters`);
  return payload as JWTPayload & { sub: string };
};

/** Of several keys that may have signed it, without an id or under the same: a provider that rotates them publishes both. */
const byOneOf = async (error: unknown, token: string, options: JWTVerifyOptions): Promise<JWTVerifyResult> => {
  if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
  let triedCount = 0;
  for await (const key of error) {
    triedCount += 1;
    if (triedCount > MAX_TRIED_KEYS) break;
    const found = await jwtVerify(token, key, options).catch((failure: unknown) => {
      if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
    });
    if (found) return found;
  }
  throw new errors.JWSSignatureVerificationFailed();
};

const fromTheFuture = (): IdentityError => new IdentityError("the token is from the future: a clock is wrong");

const explained = (error: unknown): IdentityError => {
  if (error instanceof IdentityError) return error;
  if (error instanceof errors.JWTExpired) return new IdentityError("the token has expired");
  if (error instanceof errors.JWTClaimValidationFailed) {
    const { claim, reason } = error;
    if (claim === "nbf" && reason === "check_failed") return fromTheFuture();
    return new IdentityError(
      reason === "missing" ? `the token has no ${claim}` : `the token's ${claim} is not the expected one`,
    );
  }
  if (error instanceof errors.JWKSNoMatchingKey)
    return new IdentityError("the token was signed with a key that the identity provider does not publish");
  if (error instanceof errors.JOSEAlgNotAllowed) return new IdentityError("the token's algorithm is not allowed");
  if (error instanceof errors.JWKSTimeout) return new IdentityError("the identity provider's keys do not come", true);
  return new IdentityError("the token is not valid: its signature does not fit, or it is malformed");
};
