// Keys of hosted providers that the coordinator calls itself.

import type { ProviderKeyList } from "../access/provider-key.ts";
import { type CallOptions, pathOf, type Transport } from "./transport.ts";

export const providerKeyVerbs = (transport: Transport) => ({
  /** Nothing ever shows the key again. */
  set: (provider: string, key: string, options?: CallOptions) =>
    transport.nothing({ method: "PUT", path: pathOf`/api/provider-keys/${provider}`, body: { key }, options }),
  list: (options?: CallOptions) => transport.get<ProviderKeyList>("/api/provider-keys", options),
  remove: (provider: string, options?: CallOptions) =>
    transport.remove(pathOf`/api/provider-keys/${provider}`, options),
});
