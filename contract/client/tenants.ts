// Tenants, with the operator's root key, and the steps of a tenant's move.

import type { KeyAnswer } from "../access/key.ts";
import type {
  ArrivalRequest,
  HistoryMoveAnswer,
  HistoryMoveRequest,
  MoveAnswer,
  MovedFile,
  MovedFileQuery,
  MovingTenant,
  RowsDigest,
  RowsPart,
  RowsQuery,
} from "../move.ts";
import type {
  NewAdminKeyRequest,
  NewTenantAnswer,
  NewTenantRequest,
  TenantBound,
  TenantList,
  TenantPatch,
} from "../tenant.ts";
import { type CallOptions, pathOf, RawBody, type Transport } from "./transport.ts";

export interface MovedFileOptions extends CallOptions {
  /** When the file ends (RFC 3339). */
  readonly until: string;
}

export const tenantVerbs = (transport: Transport) => ({
  create: (tenant: NewTenantRequest, options?: CallOptions) =>
    transport.post<NewTenantAnswer>("/admin/tenants", tenant, options),
  list: (options?: CallOptions) => transport.get<TenantList>("/admin/tenants", options),
  /** What it may store. */
  edit: (tenant: string, changes: TenantPatch, options?: CallOptions) =>
    transport.patch<TenantBound>(pathOf`/admin/tenants/${tenant}`, changes, options),
  /** A new admin key of the tenant, for when the others are lost. */
  createKey: (tenant: string, key: NewAdminKeyRequest, options?: CallOptions) =>
    transport.post<KeyAnswer>(pathOf`/admin/tenants/${tenant}/keys`, key, options),
  /** Stops the tenant for its move; returns what there is to copy. */
  leave: (tenant: string, to: string, options?: CallOptions) =>
    transport.post<MoveAnswer>(pathOf`/admin/tenants/${tenant}/move`, { to }, options, "safe"),
  /** Cancels its move, until it has left. */
  stay: (tenant: string, options?: CallOptions) => transport.remove(pathOf`/admin/tenants/${tenant}/move`, options),
  readRows: (tenant: string, query: RowsQuery, options?: CallOptions) =>
    transport.get<RowsPart>(pathOf`/admin/tenants/${tenant}/rows`, options, query),
  writeRows: (tenant: string, part: RowsPart, options?: CallOptions) =>
    transport.nothing({
      method: "POST",
      path: pathOf`/admin/tenants/${tenant}/rows`,
      body: part,
      repeats: "safe",
      options,
    }),
  /** The digest of a part, to compare both ends. */
  digestRows: (tenant: string, query: RowsQuery, options?: CallOptions) =>
    transport.get<RowsDigest>(pathOf`/admin/tenants/${tenant}/rows/digest`, options, query),
  /** The bytes of one of its files, or of what a batch made of it, as the answer's body. */
  readFile: (tenant: string, id: string, query: MovedFileQuery = {}, options?: CallOptions) =>
    transport.response({
      method: "GET",
      path: pathOf`/admin/tenants/${tenant}/files/${id}`,
      query,
      isLong: true,
      options,
    }),
  writeFile: (tenant: string, id: string, bytes: ReadableStream<Uint8Array>, { until, ...options }: MovedFileOptions) =>
    transport.json<MovedFile>({
      method: "PUT",
      path: pathOf`/admin/tenants/${tenant}/files/${id}`,
      query: { until },
      body: new RawBody(bytes, "application/octet-stream"),
      isLong: true,
      options,
    }),
  /** A step of its history's move to another database of the deployment: repeated with `next` until that is null. */
  moveHistory: (tenant: string, request: HistoryMoveRequest, options?: CallOptions) =>
    transport.post<HistoryMoveAnswer>(pathOf`/admin/tenants/${tenant}/database`, request, options, "safe"),
  cancelHistoryMove: (tenant: string, options?: CallOptions) =>
    transport.remove(pathOf`/admin/tenants/${tenant}/database`, options),
  /** Everything has arrived: from now on its callers get the new address. */
  left: (tenant: string, options?: CallOptions) =>
    transport.nothing({ method: "POST", path: pathOf`/admin/tenants/${tenant}/left`, repeats: "safe", options }),
  arrive: (tenant: string, arrival: ArrivalRequest, options?: CallOptions) =>
    transport.post<MovingTenant>(pathOf`/admin/tenants/${tenant}/arrive`, arrival, options, "safe"),
  arrived: (tenant: string, options?: CallOptions) =>
    transport.post<MovingTenant>(pathOf`/admin/tenants/${tenant}/arrived`, undefined, options, "safe"),
  /** Its keys and sockets end at once, its data is deleted. */
  remove: (tenant: string, options?: CallOptions) => transport.remove(pathOf`/admin/tenants/${tenant}`, options),
});
