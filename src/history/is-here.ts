// What may be done to a tenant's rows in one of the databases, asked in the statement that does it. Retention and syncs
// leave a tenant alone whose rows are being copied to another deployment, or have been.

/** The condition that a tenant is served here; `tenant` is a parameter, or a column with the name of its table. */
export const isHere = (tenant: string): string =>
  `NOT EXISTS (SELECT 1 FROM tenants AS moving WHERE moving.tenant = ${tenant} AND moving.away IS NOT NULL)`;

/** The condition that no later step of a move between databases has written here; `?1` is the tenant. */
export const isLatest = (move: number): string =>
  `NOT EXISTS (SELECT 1 FROM tenants AS moved WHERE moved.tenant = ?1 AND moved.history_move > ${move})`;

/** `history_move` of a tenant that is being deleted: later than every step of a move. */
export const ENDING = Number.MAX_SAFE_INTEGER;
