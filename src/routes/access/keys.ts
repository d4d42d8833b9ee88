// A tenant's keys: create, list, rotate, revoke.

import {
  keyAnswer,
  keyIdParam,
  keyList,
  keyResource,
  newKeyRequest,
  patchKeyRequest,
  rotateKeyRequest,
  toKeyLimits,
} from "../../../contract/access/key.ts";
import { notFound } from "../../../domain/words/refusal.ts";
import { operation } from "../../endpoint/operation.ts";
import { type Endpoint, endpoint } from "../../endpoint/router.ts";
import { answer } from "../../http/answer.ts";
import { signingSecret } from "../../http/auth.ts";
import { mint } from "../../http/key-format.ts";
import { Refused } from "../../http/refused.ts";
import { ask } from "../../tenant/ask.ts";
import { asks } from "../../tenant/asks.ts";
import { wholeList } from "../../tenant/whole-list.ts";

const KEYS = "Keys";

const newKey = endpoint(
  {
    method: "post",
    path: "/api/keys",
    tag: KEYS,
    ...asks("createKey"),
    summary: "Create a key",
    body: newKeyRequest,
    answers: { 201: { description: "The key, with its secret: shown only once.", schema: keyAnswer } },
  },
  async (c, { body, token }) => {
    const minted = await mint(signingSecret(c.env), body.role, token.tenant, token.jurisdiction);
    const { id, name, role } = await ask(c, token, "createKey", {
      id: minted.id,
      name: body.name,
      role: body.role,
      hash: minted.hash,
      limits: body.limits == null ? null : toKeyLimits(body.limits),
      ...(body.weight === undefined ? {} : { weight: body.weight }),
    });
    return answer(c, { id, name, role, key: minted.token }, 201);
  },
);

const keys = endpoint(
  {
    method: "get",
    path: "/api/keys",
    lane: "heavy",
    tag: KEYS,
    ...asks("listKeys"),
    summary: "List all keys",
    answers: { 200: { description: "The keys, without their secrets.", schema: keyList } },
  },
  async (c, { token }) => {
    const first = await ask(c, token, "listKeys", null);
    return answer(c, await wholeList({ keys: [] }, first, (ids) => ask(c, token, "listKeys", { ids })));
  },
);

const patch = operation(
  "patchKey",
  {
    method: "patch",
    path: "/api/keys/{id}",
    tag: KEYS,
    summary: "Change a key's name, limits or weight",
    description: "`limits: null` removes all limits; given limits replace the current ones.",
    params: keyIdParam,
    body: patchKeyRequest,
    answers: { 200: { description: "The changed key.", schema: keyResource } },
  },
  ({ params, body }) => {
    const limits = body.limits == null ? body.limits : toKeyLimits(body.limits);
    return { id: params.id, name: body.name ?? null, limits, weight: body.weight };
  },
);

const rotate = endpoint(
  {
    method: "post",
    path: "/api/keys/{id}/rotate",
    tag: KEYS,
    ...asks("rotateKey"),
    summary: "Replace a key's secret",
    description: "The old secret gets 401 at once, or after `grace_seconds`.",
    params: keyIdParam,
    body: rotateKeyRequest,
    isBodyOptional: true,
    answers: {
      200: { description: "The key, with its new secret: shown only once.", schema: keyAnswer },
    },
  },
  async (c, { params, body, token }) => {
    const role = (await ask(c, token, "listKeys", { ids: [params.id] })).rows[0]?.role;
    if (role === undefined) throw new Refused(notFound("key", params.id));
    const minted = await mint(signingSecret(c.env), role, token.tenant, token.jurisdiction, params.id);
    const request = { id: params.id, hash: minted.hash, graceMs: body.grace_seconds * 1000 };
    const { id, name } = await ask(c, token, "rotateKey", request);
    return answer(c, { id, name, role, key: minted.token });
  },
);

const revoke = operation(
  "revokeKey",
  {
    method: "delete",
    path: "/api/keys/{id}",
    tag: KEYS,
    summary: "Revoke a key",
    description: "Its next request fails and its sockets close. The tenant's last admin key cannot be revoked.",
    params: keyIdParam,
    answers: { 204: { description: "Revoked." } },
  },
  ({ params }) => params,
);

export const keyRoutes: readonly Endpoint[] = [newKey, keys, patch, rotate, revoke];
