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
  create: (key: NewKeyRequest, options?: CallOptions) => transport.post<KeyAnswer>("/api/keys", key, options),
  list: (options?: CallOptions) => transport.get<KeyList>("/api/keys", options),
  /** Changes name or limits; `limits: null` removes all limits. */
  edit: (id: string, changes: PatchKeyRequest, options?: CallOptions) =>
    transport.patch<KeyResource>(pathOf`/api/keys/${id}`, changes, options),
  rotate: (id: string, rotation: RotateKeyRequest = {}, options?: CallOptions) =>
    transport.post<KeyAnswer>(pathOf`/api/keys/${id}/rotate`, rotation, options),
  revoke: (id: string, options?: CallOptions) => transport.remove(pathOf`/api/keys/${id}`, options),
});
