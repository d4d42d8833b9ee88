// Tenants, with the operator's root key, and the steps of a tenant's move.

import type { KeyAnswer } from "../key.ts";
import type { ArrivalRequest, MoveAnswer, MovingTenant, RowsPart, RowsQuery } from "../move.ts";
import type { NewAdminKeyRequest, NewTenantAnswer, NewTenantRequest, TenantList } from "../tenant.ts";
import { type CallOptions, pathOf, type Transport } from "./transport.ts";

export const tenantVerbs = (transport: Transport) => ({
  create: (tenant: NewTenantRequest, options?: CallOptions) =>
    transport.json<NewTenantAnswer>({ method: "POST", path: "/admin/tenants", body: tenant, options }),
  list: (options?: CallOptions) => transport.json<TenantList>({ method: "GET", path: "/admin/tenants", options }),
  /** A new admin key of the tenant, for when the others are lost. */
  createKey: (tenant: string, key: NewAdminKeyRequest, options?: CallOptions) =>
    transport.json<KeyAnswer>({ method: "POST", path: pathOf`/admin/tenants/${tenant}/keys`, body: key, options }),
  /** Stops the tenant for its move; returns what there is to copy. */
  leave: (tenant: string, to: string, options?: CallOptions) =>
    transport.json<MoveAnswer>({ method: "POST", path: pathOf`/admin/tenants/${tenant}/move`, body: { to }, options }),
  /** Cancels its move. */
  stay: (tenant: string, options?: CallOptions) =>
    transport.nothing({ method: "DELETE", path: pathOf`/admin/tenants/${tenant}/move`, options }),
  readRows: (tenant: string, query: RowsQuery, options?: CallOptions) =>
    transport.json<RowsPart>({ method: "GET", path: pathOf`/admin/tenants/${tenant}/rows`, query, options }),
  writeRows: (tenant: string, part: RowsPart, options?: CallOptions) =>
    transport.nothing({
      method: "POST",
      path: pathOf`/admin/tenants/${tenant}/rows`,
      body: part,
      repeats: "safe",
      options,
    }),
  arrive: (tenant: string, arrival: ArrivalRequest, options?: CallOptions) =>
    transport.json<MovingTenant>({
      method: "POST",
      path: pathOf`/admin/tenants/${tenant}/arrive`,
      body: arrival,
      options,
    }),
  arrived: (tenant: string, options?: CallOptions) =>
    transport.json<MovingTenant>({ method: "POST", path: pathOf`/admin/tenants/${tenant}/arrived`, options }),
  /** Its keys and sockets end at once, its data is deleted. */
  remove: (tenant: string, options?: CallOptions) =>
    transport.nothing({ method: "DELETE", path: pathOf`/admin/tenants/${tenant}`, options }),
});
