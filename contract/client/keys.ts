// Keys.

import type {
  KeyAnswer,
  KeyList,
  KeyResource,
  NewKeyRequest,
  PatchKeyRequest,
  RotateKeyRequest,
} from "../access/key.ts";
import { type CallOptions, pathOf, type Transport } from "./transport.ts";

export const keyVerbs = (transport: Transport) => ({
  /** Only this answer contains the key's secret. */
  create: (key: NewKeyRequest, options?: CallOptions) =>
    transport.json<KeyAnswer>({ method: "POST", path: "/api/keys", body: key, options }),
  list: (options?: CallOptions) => transport.json<KeyList>({ method: "GET", path: "/api/keys", options }),
  /** Changes name or limits; `limits: null` removes all limits. */
  edit: (id: string, changes: PatchKeyRequest, options?: CallOptions) =>
    transport.json<KeyResource>({ method: "PATCH", path: pathOf`/api/keys/${id}`, body: changes, options }),
  rotate: (id: string, rotation: RotateKeyRequest = {}, options?: CallOptions) =>
    transport.json<KeyAnswer>({ method: "POST", path: pathOf`/api/keys/${id}/rotate`, body: rotation, options }),
  revoke: (id: string, options?: CallOptions) =>
    transport.nothing({ method: "DELETE", path: pathOf`/api/keys/${id}`, options }),
});
