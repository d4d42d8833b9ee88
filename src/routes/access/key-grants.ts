// A personal key for a program: the person agrees in the dashboard and gets a code; the program fetches the key with the
// code and the secret whose digest it sent before (PKCE), so that a stolen code is worth nothing.

import { calculatePKCECodeChallenge } from "oauth4webapi";
import { keyGrantAnswer, keyGrantRequest, redeemAnswer, redeemRequest } from "../../../contract/access/key-grant.ts";
import { AUTHENTICATION_FAILED } from "../../../domain/access/key.ts";
import type { PersonRole } from "../../../domain/access/role-rules.ts";
import { type Endpoint, endpoint } from "../../endpoint/router.ts";
import { answer } from "../../http/answer.ts";
import { signingSecret } from "../../http/auth.ts";
import { mint, randomId } from "../../http/key-format.ts";
import { Refused, unwrap } from "../../http/refused.ts";
import { type SealedFor, seal, unseal } from "../../http/sealed.ts";
import { ask } from "../../tenant/ask.ts";
import { asks } from "../../tenant/asks.ts";
import { admission } from "../../tenant/tenant-administration.ts";
import type { TenantName } from "../../tenant/tenant-object.ts";

const KEYS = "Keys";
const MAX_BYTES = 4 * 1024;
const CODE: SealedFor = { purpose: "grant" };

/** What a code says, sealed: an unknown code wakes no tenant. */
interface Code extends TenantName {
  readonly grantId: string;
  readonly role: PersonRole;
}

const grant = endpoint(
  {
    method: "post",
    path: "/auth/grants",
    tag: KEYS,
    ...asks("grantKey", "forbidden"),
    summary: "Let a program have a key of one's own",
    description: "Only in a person's session. The program then fetches the key with `POST /auth/key`.",
    body: keyGrantRequest,
    answers: { 201: { description: "The code for the program.", schema: keyGrantAnswer } },
  },
  async (c, { body, token }) => {
    const id = randomId();
    const { role } = await ask(c, token, "grantKey", { id, ...body });
    const sealed: Code = { tenant: token.tenant, jurisdiction: token.jurisdiction, grantId: id, role };
    return answer(c, { code: await seal(signingSecret(c.env), CODE, JSON.stringify(sealed)), role }, 201);
  },
);

const redeem = endpoint(
  {
    method: "post",
    path: "/auth/key",
    operationId: "redeemKeyGrant",
    tag: KEYS,
    needs: "none",
    maxBodyBytes: MAX_BYTES,
    summary: "Fetch the key that a person has granted",
    body: redeemRequest,
    answers: { 201: { description: "The key, with its secret: shown only once.", schema: redeemAnswer } },
    refuses: ["authentication_failed", "forbidden", "overloaded"],
  },
  async (c, { body }) => {
    const secret = signingSecret(c.env);
    const code = await unseal(secret, CODE, body.code);
    if (code === null) throw new Refused(AUTHENTICATION_FAILED);
    const { grantId, role, ...name } = JSON.parse(code) as Code;
    const minted = await mint(secret, role, name.tenant, name.jurisdiction);
    const key = { id: minted.id, hash: minted.hash, role };
    const challenge = await calculatePKCECodeChallenge(body.verifier);
    const made = unwrap(await admission(c.env, name, "redeemKey", { grantId, challenge, key }));
    if (made === null) throw new Refused(AUTHENTICATION_FAILED);
    return answer(c, { id: made.id, name: made.name, role, key: minted.token, tenant: name.tenant }, 201);
  },
);

export const keyGrantRoutes: readonly Endpoint[] = [grant, redeem];
