// The config of signing in with the organisation's identity, and its last attempts.

import * as z from "zod";
import { type Claims, PERSON_ROLES, type RoleRule } from "../../domain/access/role-rules.ts";
import { identifier, instant, json, label } from "../words/field.ts";

const MAX_ROLE_RULES = 100;
const MAX_URL_CHARS = 2_048;
/** What only a regular expression has: as a pattern it would silently fit nobody. */
const LOOKS_LIKE_EXPRESSION = /\.\*|^\^|\$$|\\/;

const url = z.string().min(1, "must not be empty").max(MAX_URL_CHARS);
const word = label(200);

const pattern = word.refine(
  (text) => !LOOKS_LIKE_EXPRESSION.test(text),
  "is a pattern in which * stands for any characters, such as *@acme.com, and no regular expression",
);

const isOneGiven = ({ has, equals, matches }: Omit<RoleRule, "claim" | "role">): boolean =>
  [has, equals, matches].filter((one) => one !== undefined).length === 1;

export const roleRule = z
  .strictObject({
    claim: word.meta({ description: "a claim of exactly this name, else the one at this path with dots" }),
    has: word.optional().meta({ description: "the claim is a list with this entry, or this text" }),
    equals: z.union([word, z.number(), z.boolean()]).optional(),
    matches: pattern.optional().meta({ description: "`*` stands for any characters: `*@acme.com`" }),
    role: z.enum(PERSON_ROLES),
  })
  .refine(isOneGiven, "needs exactly one of has, equals and matches")
  .meta({ id: "RoleRule", examples: [{ claim: "groups", has: "ml-admins", role: "admin" }] });

const scope = identifier(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 100, "the characters of an OAuth scope");

const oidcFields = {
  issuer: url.meta({ description: "its discovery document is at `/.well-known/openid-configuration` below it" }),
  client_id: word,
  name: label(60).meta({ description: "what the sign-in button says" }),
  scopes: z.array(scope).min(1).max(20).default(["openid", "email", "profile"]),
};

const jwtHeader = z.strictObject({
  header: identifier(/^[A-Za-z0-9-]+$/, 64, "letters, digits and -").meta({ description: "`Cf-Access-Jwt-Assertion`" }),
  jwks_url: url,
  issuer: url,
  audience: word,
});

const rest = {
  jwt_header: jwtHeader.nullish(),
  roles: z.array(roleRule).max(MAX_ROLE_RULES).meta({ description: "the first rule that fits decides" }),
  keys_sign_in: z.boolean().default(true).meta({ description: "whether people may sign in with a key" }),
  renew_seconds: z.int().min(60).max(3600).default(3600),
  keys_valid_days: z.int().min(1).max(365).default(30),
};

interface Ways {
  readonly oidc?: object | null | undefined;
  readonly jwt_header?: object | null | undefined;
  readonly keys_sign_in: boolean;
}
const hasAWay = ({ oidc, jwt_header, keys_sign_in }: Ways): boolean =>
  keys_sign_in || oidc != null || jwt_header != null;
const NO_WAY = { path: ["keys_sign_in"], error: "nobody could sign in: configure oidc or jwt_header first" };

const SECRET = "left out: stays while issuer and client_id do; null removes it";

export const signInRequest = z
  .strictObject({
    oidc: z.strictObject({ ...oidcFields, client_secret: word.nullish().meta({ description: SECRET }) }).nullish(),
    ...rest,
  })
  .refine(hasAWay, NO_WAY)
  .meta({ id: "SignInRequest" });

export const signInResource = z
  .object({
    oidc: z.object({ ...oidcFields, has_client_secret: z.boolean() }).nullable(),
    ...rest,
    jwt_header: jwtHeader.nullable(),
    redirect_uri: z.string().meta({ description: "to register with the identity provider" }),
    from: z.enum(["tenant", "deployment", "none"]).meta({ description: "whose config this is" }),
  })
  .meta({ id: "SignInConfig" });

export type SignInInput = z.input<typeof signInRequest>;
export type SignInRequest = z.infer<typeof signInRequest>;
export type SignInResource = z.infer<typeof signInResource>;

/** As it is stored, and as the operator gives it for the deployment. */
export type SignInDocument = Omit<SignInRequest, "oidc" | "jwt_header"> & {
  readonly oidc: (Omit<NonNullable<SignInRequest["oidc"]>, "client_secret"> & { client_secret: string | null }) | null;
  readonly jwt_header: NonNullable<SignInRequest["jwt_header"]> | null;
};

/** Nobody has configured anything: keys sign in. */
export const NO_SIGN_IN: SignInDocument = {
  oidc: null,
  jwt_header: null,
  roles: [],
  keys_sign_in: true,
  renew_seconds: 3600,
  keys_valid_days: 30,
};

/** A secret that is left out stays, but never goes to another provider. */
export const toSignInDocument = (request: SignInRequest, before: SignInDocument | null): SignInDocument => {
  const { oidc, jwt_header } = request;
  if (oidc == null) return { ...request, oidc: null, jwt_header: jwt_header ?? null };
  const { client_secret: given, ...asked } = oidc;
  const known = before?.oidc;
  const isSame = known != null && known.issuer === oidc.issuer && known.client_id === oidc.client_id;
  const kept = isSame ? known.client_secret : null;
  const secret = given === undefined ? kept : given;
  return { ...request, oidc: { ...asked, client_secret: secret }, jwt_header: jwt_header ?? null };
};

/** Without the secret. */
export const presentSignIn = (
  document: SignInDocument,
  more: Pick<SignInResource, "redirect_uri" | "from">,
): SignInResource => {
  const { oidc, ...others } = document;
  if (oidc === null) return { ...others, oidc: null, ...more };
  const { client_secret, ...shown } = oidc;
  return { ...others, oidc: { ...shown, has_client_secret: client_secret !== null }, ...more };
};

const ATTEMPT_OUTCOMES = ["signed_in", "tested", "refused", "blocked", "full", "failed"] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

/** One sign-in, as the object keeps it. */
export interface Attempt {
  readonly at: number;
  readonly outcome: AttemptOutcome;
  readonly rule: RoleRule | null;
  readonly claims: Claims;
  readonly personId: string | null;
  readonly detail: string | null;
}

export const attemptList = z
  .object({
    attempts: z.array(
      z.object({
        at: instant,
        outcome: z.enum(ATTEMPT_OUTCOMES),
        rule: roleRule.nullable().meta({ description: "the rule that fitted" }),
        claims: z.record(z.string(), json).meta({ description: "the claims that rules look at" }),
        person_id: z.string().nullable(),
        detail: z.string().nullable().meta({ description: "why it failed" }),
      }),
    ),
  })
  .meta({ id: "SignInAttempts" });
export type SignInAttempts = z.infer<typeof attemptList>;
export type AttemptResource = z.infer<typeof attemptList>["attempts"][number];

/** What a page may offer before anyone has signed in. */
export const signInOffer = z
  .object({
    tenant: z.string(),
    oidc: z.object({ name: z.string() }).nullable().meta({ description: "the identity provider's button" }),
    jwt_header: z.boolean(),
    keys_sign_in: z.boolean(),
  })
  .meta({ id: "SignInOffer" });
export type SignInOffer = z.infer<typeof signInOffer>;
