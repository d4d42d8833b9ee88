// Tenants, keys, sessions and the audit log.

import type { AuditList, AuditQuery } from "../audit.ts";

import type { KeyAnswer, KeyList, KeyResource, NewKeyRequest, PatchKeyRequest, RotateKeyRequest } from "../key.ts";

import type { ArrivalRequest, MoveAnswer, MovingTenant, RowsPart, RowsQuery } from "../move.ts";

import type { SessionAnswer } from "../session.ts";
import type { NewAdminKeyRequest, NewTenantAnswer, NewTenantRequest, TenantList } from "../tenant.ts";
import { listing } from "./listing.ts";
import { type CallOptions, pathOf, type QueryOf, type Transport } from "./transport.ts";

export const keyVerbs = (transport: Transport) => ({
  /** Only this answer contains the key's secret. */
  create: (key: NewKeyRequest, options?: CallOptions) =>
    transport.json<KeyAnswer>({ method: "POST", path: "/api/keys", body: key, options }),
  list: (options?: CallOptions) => transport.json<KeyList>({ method: "GET", path: "/api/keys", options }),
  /** Changes name or limits; `limits: null` removes all limits. */
  patch: (id: string, patch: PatchKeyRequest, options?: CallOptions) =>
    transport.json<KeyResource>({ method: "PATCH", path: pathOf`/api/keys/${id}`, body: patch, options }),
  rotate: (id: string, rotation: RotateKeyRequest = {}, options?: CallOptions) =>
    transport.json<KeyAnswer>({ method: "POST", path: pathOf`/api/keys/${id}/rotate`, body: rotation, options }),
  revoke: (id: string, options?: CallOptions) =>
    transport.nothing({ method: "DELETE", path: pathOf`/api/keys/${id}`, options }),
});

/** With the operator's root key. */
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

/** The dashboard's cookie; `get` also returns the client's own key. */
export const sessionVerbs = (transport: Transport) => ({
  signIn: (key: string, options?: CallOptions) =>
    transport.json<SessionAnswer>({ method: "POST", path: "/session", body: { key }, options }),
  get: (options?: CallOptions) => transport.json<SessionAnswer>({ method: "GET", path: "/session", options }),
  signOut: (options?: CallOptions) => transport.nothing({ method: "DELETE", path: "/session", options }),
});

export const auditVerbs = (transport: Transport) => ({
  list: (query: QueryOf<AuditQuery> = {}, options?: CallOptions) =>
    listing(
      query,
      (asked) => transport.json<AuditList>({ method: "GET", path: "/api/audit", query: asked, options }),
      ({ entries }) => entries,
    ),
});
